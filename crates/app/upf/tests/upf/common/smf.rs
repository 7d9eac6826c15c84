//! An SMF on a real socket, one request at a time.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use causeway_pfcp::testing::{
    downlink_far, downlink_far_to, downlink_pdr, uplink_far, uplink_pdr, volume_urr,
};
use causeway_pfcp::{
    ActivationTime, ApplicationId, ApplyAction, AssociationSetupRequest, AssociationUpdateResponse, Cause,
    CreatePdr, CreateQer, CreateUrr, DestinationInterface, FTeid, ForwardingPolicy, FramedIpv6Route,
    FramedRoute, GateStatus, Header, HeartbeatRequest, HeartbeatResponse, InactivityDetectionTime,
    MeasurementMethod, Message, NetworkInstance, NodeId, NodeReportResponse, NodeReportType, Octets,
    OuterHeaderCreation, Pdi, QueryUrr, RecoveryTimeStamp, SNssai, SdfFilter, SessionDeletionRequest,
    SessionEstablishmentRequest, SessionModificationFlags, SessionModificationRequest, SessionReportResponse,
    UpdateFar, UpdateForwardingParameters, UpdatePdr, UsageReport, UserId,
};
use causeway_types::{
    DualIp, FSeid, FTeid as Tunnel, FarId, NtpSeconds, PdrId, Precedence, QerId, Qfi, ReportingTriggers,
    Seid, Teid, UrrId, UsageReportTrigger,
};

use super::{PATIENCE, UE};

const RECOVERY: RecoveryTimeStamp = RecoveryTimeStamp(NtpSeconds(0xe000_0000));
const CP_SEID: Seid = Seid(0x51);
const URR: UrrId = UrrId(1);

/// The SMF. Requests are sent from its address to the UPF's.
pub struct Smf {
    address: IpAddr,
    socket: UdpSocket,
    sequence: u32,
    sessions: u64,
}

/// A session that the UPF has accepted.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    pub up_seid: Seid,
    pub cp_seid: Seid,
    pub uplink: Tunnel,
}

impl Smf {
    pub fn new(address: IpAddr, upf: SocketAddr) -> Self {
        let socket = UdpSocket::bind((address, 0)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.connect(upf).unwrap();
        Self { address, socket, sequence: 0, sessions: 0 }
    }

    /// With a socket that is there already, in whatever network namespace.
    pub fn over(socket: UdpSocket, upf: SocketAddr) -> Self {
        let address = socket.local_addr().unwrap().ip();
        socket.connect(upf).unwrap();
        Self { address, socket, sequence: 0, sessions: 0 }
    }

    pub fn local(&self) -> SocketAddr {
        self.socket.local_addr().unwrap()
    }

    pub fn node(&self) -> NodeId<'static> {
        NodeId::Ip(self.address)
    }

    pub fn send(&self, message: Message<'_>, seid: Option<Seid>, sequence: u32) {
        let mut octets = Vec::new();
        message.encode(seid, sequence, &mut octets).unwrap();
        self.socket.send(&octets).unwrap();
    }

    /// Sends a datagram as it stands.
    pub fn send_raw(&self, octets: &[u8]) {
        self.socket.send(octets).unwrap();
    }

    /// A request for a session of this UE that buffers its downlink, and notifies.
    pub fn request_for(&self, cp: FSeid, ue: Ipv4Addr) -> SessionEstablishmentRequest<'static> {
        let (pdrs, fars) = ([uplink_pdr(ue), downlink_pdr(ue)], [uplink_far(), downlink_far()]);
        SessionEstablishmentRequest::new(self.node(), cp, pdrs, fars)
    }

    /// A URR that counts volumes.
    pub fn counting(&self) -> CreateUrr<'static> {
        urr()
    }

    /// Answers a heartbeat of the UPF; as an SMF that has restarted if it `is_new`.
    pub fn answer_heartbeat(&self, sequence: u32, is_new: bool) {
        let recovery = RecoveryTimeStamp(NtpSeconds(RECOVERY.0.0 + u32::from(is_new)));
        self.send(HeartbeatResponse::new(recovery).into(), None, sequence);
    }

    /// The next datagram.
    pub fn receive(&self) -> Vec<u8> {
        let mut buffer = vec![0; 65_535];
        let len = self.socket.recv(&mut buffer).expect("a message in time");
        buffer.truncate(len);
        buffer
    }

    /// What has arrived already, without waiting.
    pub fn receive_waiting(&self) -> Vec<Vec<u8>> {
        self.socket.set_nonblocking(true).unwrap();
        let mut buffer = vec![0; 65_535];
        let next = || self.socket.recv(&mut buffer).ok().map(|len| buffer[..len].to_vec());
        let waiting = std::iter::from_fn(next).collect();
        self.socket.set_nonblocking(false).unwrap();
        waiting
    }

    pub fn request(&mut self, message: Message<'_>, seid: Option<Seid>) -> Vec<u8> {
        self.sequence += 1;
        self.send(message, seid, self.sequence);
        loop {
            let received = self.receive();
            // On a busy machine the UPF sends some, too.
            if !matches!(decode(&received).1, Message::HeartbeatRequest(_)) {
                return received;
            }
        }
    }

    pub fn heartbeat(&mut self) {
        let answer = self.request(HeartbeatRequest::new(RECOVERY).into(), None);
        assert!(matches!(decode(&answer).1, Message::HeartbeatResponse(_)));
    }

    /// An Association Setup Request in its name, as octets; of an SMF that has restarted if it `is_new`.
    pub fn association(&self, is_new: bool) -> Vec<u8> {
        let recovery = RecoveryTimeStamp(NtpSeconds(RECOVERY.0.0 + u32::from(is_new)));
        let mut octets = Vec::new();
        let request = Message::from(AssociationSetupRequest::new(self.node(), recovery));
        request.encode(None, 0x77, &mut octets).unwrap();
        octets
    }

    pub fn associate(&mut self) -> Cause {
        let request = AssociationSetupRequest::new(self.node(), RECOVERY);
        match decode(&self.request(request.into(), None)).1 {
            Message::AssociationSetupResponse(response) => response.cause,
            other => panic!("{other:?}"),
        }
    }

    /// A session of the first UE that buffers its downlink and notifies.
    pub fn establish(&mut self) -> Session {
        self.establish_with(uplink_pdr(UE), downlink_pdr(UE), None, None)
    }

    /// A session that buffers its downlink, notifies, and counts volumes.
    pub fn establish_counting(&mut self, ue: Ipv4Addr) -> Session {
        let counting = |pdr: CreatePdr<'static>| CreatePdr { urr_ids: [URR].into(), ..pdr };
        self.establish_with(counting(uplink_pdr(ue)), counting(downlink_pdr(ue)), Some(urr()), None)
    }

    /// The same, with an uplink that is active from this time on.
    pub fn establish_counting_from(&mut self, ue: Ipv4Addr, from: NtpSeconds) -> Session {
        let counting = |pdr: CreatePdr<'static>| CreatePdr { urr_ids: [URR].into(), ..pdr };
        let uplink = CreatePdr { activation_time: Some(ActivationTime(from)), ..counting(uplink_pdr(ue)) };
        self.establish_with(uplink, counting(downlink_pdr(ue)), Some(urr()), None)
    }

    /// The start and the end of what was counted since the last report, which is asked for.
    pub fn query_times(&mut self, session: Session) -> (NtpSeconds, NtpSeconds) {
        let query_urrs = [QueryUrr::new(URR)].into();
        let request = SessionModificationRequest { query_urrs, ..SessionModificationRequest::default() };
        match decode(&self.request(request.into(), Some(session.up_seid))).1 {
            Message::SessionModificationResponse(response) => {
                let report = response.usage_reports.iter().next().unwrap();
                (report.start_time.unwrap().0, report.end_time.unwrap().0)
            }
            other => panic!("{other:?}"),
        }
    }

    /// The Recovery Time Stamp of the UPF.
    pub fn recovery_of_upf(&mut self) -> NtpSeconds {
        match decode(&self.request(HeartbeatRequest::new(RECOVERY).into(), None)).1 {
            Message::HeartbeatResponse(response) => response.recovery_time_stamp.0,
            other => panic!("{other:?}"),
        }
    }

    /// Asks for a session for each of these UEs, for a few at a time, so that no socket buffer is full; how many are accepted.
    pub fn establish_all(&mut self, ues: &[Ipv4Addr]) -> usize {
        ues.chunks(32).map(|ues| self.establish_some(ues)).sum()
    }

    fn establish_some(&mut self, ues: &[Ipv4Addr]) -> usize {
        for ue in ues {
            let cp = FSeid { seid: Seid(CP_SEID.0 + self.sessions), addr: DualIp::from(self.address) };
            (self.sessions, self.sequence) = (self.sessions + 1, self.sequence + 1);
            let (pdrs, fars) = ([uplink_pdr(*ue), downlink_pdr(*ue)], [uplink_far(), downlink_far()]);
            let request = SessionEstablishmentRequest::new(self.node(), cp, pdrs, fars);
            self.send(request.into(), Some(Seid(0)), self.sequence);
        }
        let (mut answered, mut accepted) = (0, 0);
        let start = Instant::now();
        while answered < ues.len() {
            // The UPF may send heartbeats meanwhile.
            if let Message::SessionEstablishmentResponse(response) = decode(&self.receive()).1 {
                answered += 1;
                accepted += usize::from(response.cause.is_accepted());
            }
            assert!(start.elapsed() < PATIENCE, "{answered} of {} requests are answered", ues.len());
        }
        accepted
    }

    /// The same as [`Smf::establish`], whatever comes of it.
    pub fn try_establish(&mut self, ue: Ipv4Addr) -> Cause {
        let cp = FSeid { seid: Seid(CP_SEID.0 + self.sessions), addr: DualIp::from(self.address) };
        self.sessions += 1;
        let (pdrs, fars) = ([uplink_pdr(ue), downlink_pdr(ue)], [uplink_far(), downlink_far()]);
        let request = SessionEstablishmentRequest::new(self.node(), cp, pdrs, fars);
        match decode(&self.request(request.into(), Some(Seid(0)))).1 {
            Message::SessionEstablishmentResponse(response) => response.cause,
            other => panic!("{other:?}"),
        }
    }

    /// The same with framed routes behind the UE; whatever comes of it.
    pub fn try_establish_with_routes(&mut self, ue: Ipv4Addr, routes: &[&str]) -> (Cause, Option<u16>, Seid) {
        let sequence = self.send_routes(ue, routes);
        loop {
            let answer = self.receive();
            let (header, message) = decode(&answer);
            match message {
                Message::SessionEstablishmentResponse(it) if header.sequence == sequence => {
                    let seid = it.up_f_seid.map_or(Seid(0), |f_seid| f_seid.seid);
                    return (it.cause, it.offending_ie.map(|ie| ie.0), seid);
                }
                _ => {}
            }
        }
    }

    /// Asks for such a session, and does not wait. Returns the sequence number.
    pub fn send_routes(&mut self, ue: Ipv4Addr, routes: &[&str]) -> u32 {
        let cp = FSeid { seid: Seid(CP_SEID.0 + self.sessions), addr: DualIp::from(self.address) };
        (self.sessions, self.sequence) = (self.sessions + 1, self.sequence + 1);
        let downlink = downlink_pdr(ue);
        let (v4, v6): (Vec<&str>, Vec<&str>) = routes.iter().copied().partition(|route| !route.contains(':'));
        let pdi = Pdi {
            framed_routes: v4.iter().map(|route| FramedRoute(route.as_bytes())).collect(),
            framed_ipv6_routes: v6.iter().map(|route| FramedIpv6Route(route.as_bytes())).collect(),
            ..downlink.pdi.clone()
        };
        let pdrs = [uplink_pdr(ue), CreatePdr { pdi, ..downlink }];
        let request = SessionEstablishmentRequest::new(self.node(), cp, pdrs, [uplink_far(), downlink_far()]);
        self.send(request.into(), Some(Seid(0)), self.sequence);
        self.sequence
    }

    /// The same, for a flow of this QFI.
    pub fn establish_flow(&mut self, ue: Ipv4Addr, qfi: Qfi) -> Session {
        let of_flow =
            |pdr: CreatePdr<'static>| CreatePdr { urr_ids: [URR].into(), qer_ids: [QerId(1)].into(), ..pdr };
        let qer = CreateQer { qfi: Some(qfi), ..CreateQer::new(QerId(1), GateStatus::OPEN) };
        self.establish_with(of_flow(uplink_pdr(ue)), of_flow(downlink_pdr(ue)), Some(urr()), Some(qer))
    }

    /// The same in a data network.
    pub fn establish_flow_in(&mut self, ue: Ipv4Addr, network: &str, qfi: Qfi) -> Session {
        let network = causeway_types::NetworkInstance::new(network);
        let name = || Some(NetworkInstance::from(&network));
        let mut pdrs = [uplink_pdr(ue), downlink_pdr(ue)];
        for pdr in &mut pdrs {
            (pdr.urr_ids, pdr.qer_ids) = ([URR].into(), [QerId(1)].into());
        }
        pdrs[1].pdi.network_instance = name();
        let mut fars = [uplink_far(), downlink_far()];
        if let Some(parameters) = &mut fars[0].forwarding_parameters {
            parameters.network_instance = name();
        }
        let mut request = SessionEstablishmentRequest::new(self.node(), self.next_seid(), pdrs, fars);
        request.create_urrs = [urr()].into();
        request.create_qers =
            [CreateQer { qfi: Some(qfi), ..CreateQer::new(QerId(1), GateStatus::OPEN) }].into();
        self.accepted(request)
    }

    fn establish_with(
        &mut self,
        uplink: CreatePdr<'_>,
        downlink: CreatePdr<'_>,
        urr: Option<CreateUrr<'_>>,
        qer: Option<CreateQer<'_>>,
    ) -> Session {
        let (cp, pdrs) = (self.next_seid(), [uplink, downlink]);
        let fars = [uplink_far(), downlink_far()];
        let mut request = SessionEstablishmentRequest::new(self.node(), cp, pdrs, fars);
        request.create_urrs = urr.into_iter().collect();
        request.create_qers = qer.into_iter().collect();
        self.accepted(request)
    }

    /// A session that forwards both ways from the beginning.
    pub fn establish_forwarding(&mut self, ue: Ipv4Addr, teid: Teid, gnb: Ipv4Addr) -> Session {
        let (cp, pdrs) = (self.next_seid(), [uplink_pdr(ue), downlink_pdr(ue)]);
        let fars = [uplink_far(), downlink_far_to(teid.value(), gnb)];
        self.accepted(SessionEstablishmentRequest::new(self.node(), cp, pdrs, fars))
    }

    /// The same, of a network slice with this Slice/Service Type.
    pub fn establish_of_slice(&mut self, ue: Ipv4Addr, sst: u8, teid: Teid, gnb: Ipv4Addr) -> Session {
        let (cp, pdrs) = (self.next_seid(), [uplink_pdr(ue), downlink_pdr(ue)]);
        let fars = [uplink_far(), downlink_far_to(teid.value(), gnb)];
        let mut request = SessionEstablishmentRequest::new(self.node(), cp, pdrs, fars);
        request.s_nssai = Some(SNssai { sst, sd: SNssai::NO_SD });
        self.accepted(request)
    }

    /// A session whose uplink names this forwarding policy; whatever comes of it.
    pub fn try_establish_steered(&mut self, ue: Ipv4Addr, policy: &str) -> Result<Session, Cause> {
        let (cp, pdrs) = (self.next_seid(), [uplink_pdr(ue), downlink_pdr(ue)]);
        let mut fars = [uplink_far(), downlink_far()];
        if let Some(parameters) = &mut fars[0].forwarding_parameters {
            parameters.forwarding_policy = Some(ForwardingPolicy(Octets(policy.as_bytes())));
        }
        let request = SessionEstablishmentRequest::new(self.node(), cp, pdrs, fars);
        let answer = self.request(request.into(), Some(Seid(0)));
        let Message::SessionEstablishmentResponse(response) = decode(&answer).1 else {
            panic!("{answer:02x?}")
        };
        if !response.cause.is_accepted() {
            return Err(response.cause);
        }
        let uplink = response.created_pdrs.iter().find_map(|pdr| pdr.local_f_teid?.assigned()).unwrap();
        Ok(Session { up_seid: response.up_f_seid.unwrap().seid, cp_seid: cp.seid, uplink })
    }

    /// The same in this data network, and counting volumes.
    pub fn establish_in(&mut self, ue: Ipv4Addr, network: &str, teid: Teid, gnb: Ipv4Addr) -> Session {
        let network = causeway_types::NetworkInstance::new(network);
        let name = || Some(NetworkInstance::from(&network));
        let (cp, mut pdrs) = (self.next_seid(), [uplink_pdr(ue), downlink_pdr(ue)]);
        pdrs.iter_mut().for_each(|pdr| pdr.urr_ids = [URR].into());
        pdrs[1].pdi.network_instance = name();
        let mut fars = [uplink_far(), downlink_far_to(teid.value(), gnb)];
        if let Some(parameters) = &mut fars[0].forwarding_parameters {
            parameters.network_instance = name();
        }
        let mut request = SessionEstablishmentRequest::new(self.node(), cp, pdrs, fars);
        request.create_urrs = [urr()].into();
        self.accepted(request)
    }

    /// The same. Downlink packets of the application match PDR 3, which gives them the QFI; start and stop of its traffic are reported, the
    /// latter after a second of silence.
    pub fn establish_detecting(
        &mut self,
        ue: Ipv4Addr,
        teid: Teid,
        gnb: Ipv4Addr,
        app: &str,
        (plain_qfi, qfi): (Option<Qfi>, Qfi),
    ) -> Session {
        let plain_qers = plain_qfi.map(|_| QerId(2)).into_iter().collect();
        let plain = CreatePdr { qer_ids: plain_qers, ..downlink_pdr(ue) };
        let pdi = Pdi { application_id: Some(ApplicationId(app.as_bytes())), ..plain.pdi.clone() };
        let (urr_ids, qer_ids) = ([URR].into(), [QerId(1)].into());
        let detecting = CreatePdr {
            urr_ids,
            qer_ids,
            far_id: plain.far_id,
            ..CreatePdr::new(PdrId(3), Precedence(100), pdi)
        };
        let (cp, pdrs) = (self.next_seid(), [uplink_pdr(ue), plain, detecting]);
        let mut request = SessionEstablishmentRequest::new(
            self.node(),
            cp,
            pdrs,
            [uplink_far(), downlink_far_to(teid.value(), gnb)],
        );
        let triggers = ReportingTriggers::START | ReportingTriggers::STOPT;
        let urr = CreateUrr {
            inactivity_detection_time: Some(InactivityDetectionTime(1)),
            ..CreateUrr::new(URR, MeasurementMethod::VOLUM | MeasurementMethod::DURAT, triggers)
        };
        request.create_urrs = [urr].into();
        let qers =
            [(QerId(1), Some(qfi)), (QerId(2), plain_qfi)].into_iter().filter(|(_, qfi)| qfi.is_some());
        let qer = |(id, qfi)| CreateQer { qfi, ..CreateQer::new(id, GateStatus::OPEN) };
        request.create_qers = qers.map(qer).collect();
        self.accepted(request)
    }

    /// Accepts the reports of this datagram, if it is a Session Report Request: the Application ID of each, and whether its traffic
    /// starts.
    pub fn accept_detections(&self, session: Session, datagram: &[u8]) -> Vec<(String, bool)> {
        let (header, message) = decode(datagram);
        let Message::SessionReportRequest(report) = message else { return Vec::new() };
        assert_eq!(header.seid, Some(session.cp_seid));
        let accepted = SessionReportResponse::new(Cause::RequestAccepted);
        self.send(accepted.into(), Some(session.up_seid), header.sequence);
        let told = report.usage_reports.iter().map(|usage| {
            let detected = usage.application_detection_information.as_ref().unwrap();
            let is_start = usage.usage_report_trigger.contains(UsageReportTrigger::START);
            assert_ne!(is_start, usage.usage_report_trigger.contains(UsageReportTrigger::STOPT));
            (String::from_utf8(detected.application_id.0.to_vec()).unwrap(), is_start)
        });
        told.collect()
    }

    /// The same; returns the F-SEID and the F-TEID that the UPF tells.
    pub fn told(&mut self, ue: Ipv4Addr, teid: Teid, gnb: Ipv4Addr) -> (FSeid, Tunnel) {
        let (cp, pdrs) = (self.next_seid(), [uplink_pdr(ue), downlink_pdr(ue)]);
        let fars = [uplink_far(), downlink_far_to(teid.value(), gnb)];
        let request = SessionEstablishmentRequest::new(self.node(), cp, pdrs, fars);
        let answer = self.request(request.into(), Some(Seid(0)));
        let Message::SessionEstablishmentResponse(response) = decode(&answer).1 else {
            panic!("{answer:02x?}")
        };
        let Some(tunnel) = response.created_pdrs.iter().find_map(|pdr| pdr.local_f_teid?.assigned()) else {
            panic!("{response:?}")
        };
        (response.up_f_seid.unwrap(), tunnel)
    }

    /// The same, with so many PDRs of each direction that are tried first and fit no packet: what the session's packets cost grows with
    /// them.
    pub fn establish_costly(&mut self, ue: Ipv4Addr, teid: Teid, gnb: Ipv4Addr, pdrs: u16) -> Session {
        let choose = Some(FTeid::Choose { v4: true, v6: false, choose_id: Some(1) });
        let flows: Vec<String> =
            (0..pdrs).map(|n| format!("permit out udp from 203.0.113.9 {} to assigned", n + 1)).collect();
        let filtered = |id: usize, flow, pdr: CreatePdr<'static>| {
            let flow_description = Some(Octets(flow));
            let filter = SdfFilter { flow_description, ..SdfFilter::default() };
            let pdi = Pdi { sdf_filters: vec![filter].into(), ..pdr.pdi };
            CreatePdr { pdr_id: PdrId(id as u16), precedence: Precedence(1), pdi, ..pdr }
        };
        let up = || {
            let pdr = uplink_pdr(ue);
            CreatePdr { pdi: Pdi { local_f_teid: choose, ..pdr.pdi }, ..pdr }
        };
        let (cp, mut all) = (self.next_seid(), vec![up(), downlink_pdr(ue)]);
        for (n, flow) in flows.iter().map(String::as_bytes).enumerate() {
            all.push(filtered(10 + 2 * n, flow, up()));
            all.push(filtered(11 + 2 * n, flow, downlink_pdr(ue)));
        }
        self.accepted(SessionEstablishmentRequest::new(
            self.node(),
            cp,
            all,
            [uplink_far(), downlink_far_to(teid.value(), gnb)],
        ))
    }

    /// The same, of a user with this IMSI, whose digits are 15.
    pub fn establish_of(&mut self, imsi: &str, ue: Ipv4Addr, teid: Teid, gnb: Ipv4Addr) -> Session {
        let digits: Vec<u8> = imsi.bytes().map(|digit| digit - b'0').chain([0x0f]).collect();
        let tbcd: Vec<u8> = digits.chunks(2).map(|two| two[0] | two[1] << 4).collect();
        let (cp, pdrs) = (self.next_seid(), [uplink_pdr(ue), downlink_pdr(ue)]);
        let mut request = SessionEstablishmentRequest::new(
            self.node(),
            cp,
            pdrs,
            [uplink_far(), downlink_far_to(teid.value(), gnb)],
        );
        request.user_id = Some(UserId { imsi: Some(Octets(&tbcd)), ..UserId::default() });
        self.accepted(request)
    }

    fn next_seid(&mut self) -> FSeid {
        self.sessions += 1;
        FSeid { seid: Seid(CP_SEID.0 + self.sessions - 1), addr: DualIp::from(self.address) }
    }

    fn accepted(&mut self, request: SessionEstablishmentRequest<'_>) -> Session {
        let cp_seid = request.cp_f_seid.seid;
        let answer = self.request(request.into(), Some(Seid(0)));
        let Message::SessionEstablishmentResponse(response) = decode(&answer).1 else {
            panic!("{answer:02x?}")
        };
        assert!(response.cause.is_accepted(), "{:?} {:?}", response.cause, response.offending_ie);
        let created = response.created_pdrs.iter().find_map(|pdr| pdr.local_f_teid?.assigned());
        Session { up_seid: response.up_f_seid.unwrap().seid, cp_seid, uplink: created.unwrap() }
    }

    /// A session whose uplink this URR measures.
    pub fn establish_measured(&mut self, ue: Ipv4Addr, urr: CreateUrr<'static>) -> Session {
        let measured = CreatePdr { urr_ids: [urr.urr_id].into(), ..uplink_pdr(ue) };
        self.establish_with(measured, downlink_pdr(ue), Some(urr), None)
    }

    /// Lets the downlink out to a gNB.
    pub fn forward(&mut self, session: Session, teid: Teid, gnb: Ipv4Addr) {
        self.lead(session, (FarId(2), DestinationInterface::Access), (teid, gnb), None);
    }

    /// The same; whether the UPF accepts it.
    pub fn try_forward(&mut self, session: Session, teid: Teid, gnb: Ipv4Addr) -> bool {
        self.try_lead(session, (FarId(2), DestinationInterface::Access), (teid, gnb), None)
    }

    /// Leads the uplink into the tunnel of another UPF.
    pub fn relay(&mut self, session: Session, teid: Teid, upf: Ipv4Addr) {
        self.lead(session, (FarId(1), DestinationInterface::Core), (teid, upf), None);
    }

    /// Lets the downlink out to another gNB, and has the old one told.
    pub fn hand_over(&mut self, session: Session, teid: Teid, gnb: Ipv4Addr) {
        let flags = Some(SessionModificationFlags::SNDEM);
        self.lead(session, (FarId(2), DestinationInterface::Access), (teid, gnb), flags);
    }

    fn lead(
        &mut self,
        session: Session,
        far: (FarId, DestinationInterface),
        peer: (Teid, Ipv4Addr),
        flags: Option<SessionModificationFlags>,
    ) {
        assert!(self.try_lead(session, far, peer, flags), "the UPF refuses the change");
    }

    fn try_lead(
        &mut self,
        session: Session,
        (far, side): (FarId, DestinationInterface),
        (teid, peer): (Teid, Ipv4Addr),
        flags: Option<SessionModificationFlags>,
    ) -> bool {
        let request = leading((far, side), (teid, peer), flags);
        match decode(&self.request(request.into(), Some(session.up_seid))).1 {
            Message::SessionModificationResponse(response) => response.cause.is_accepted(),
            other => panic!("{other:?}"),
        }
    }

    /// Gives the downlink PDR a route behind the UE.
    pub fn add_framed_route(&mut self, session: Session, route: &str) {
        let pdi = Pdi { framed_routes: [FramedRoute(route.as_bytes())].into(), ..downlink_pdr(UE).pdi };
        let pdr = UpdatePdr { pdi: Some(pdi), ..UpdatePdr::new(PdrId(2)) };
        let request =
            SessionModificationRequest { update_pdrs: [pdr].into(), ..SessionModificationRequest::default() };
        match decode(&self.request(request.into(), Some(session.up_seid))).1 {
            Message::SessionModificationResponse(response) => assert!(response.cause.is_accepted()),
            other => panic!("{other:?}"),
        }
    }

    /// Asks for what was counted since the last report: octets from and to the UE.
    pub fn query(&mut self, session: Session) -> (u64, u64) {
        self.try_query(session).expect("the UPF refuses the query")
    }

    /// The same, or the cause for which it is refused.
    pub fn try_query(&mut self, session: Session) -> Result<(u64, u64), Cause> {
        let query_urrs = [QueryUrr::new(URR)].into();
        let request = SessionModificationRequest { query_urrs, ..SessionModificationRequest::default() };
        match decode(&self.request(request.into(), Some(session.up_seid))).1 {
            Message::SessionModificationResponse(response) if response.cause.is_accepted() => {
                Ok(volumes(response.usage_reports.iter().next().unwrap()))
            }
            Message::SessionModificationResponse(response) => Err(response.cause),
            other => panic!("{other:?}"),
        }
    }

    /// Ends a session. Returns what was counted since the last report, if that was wanted: octets from and to the UE.
    pub fn delete(&mut self, session: Session) -> Option<(u64, u64)> {
        self.try_delete(session).expect("the UPF refuses the deletion")
    }

    /// The same, or the cause for which it is refused.
    pub fn try_delete(&mut self, session: Session) -> Result<Option<(u64, u64)>, Cause> {
        let request = SessionDeletionRequest::default();
        match decode(&self.request(request.into(), Some(session.up_seid))).1 {
            Message::SessionDeletionResponse(response) if response.cause.is_accepted() => {
                Ok(response.usage_reports.iter().next().map(volumes))
            }
            Message::SessionDeletionResponse(response) => Err(response.cause),
            other => panic!("{other:?}"),
        }
    }

    /// Waits for a Session Report Request with downlink data and accepts it.
    pub fn accept_downlink_data(&self, session: Session) -> PdrId {
        let octets = self.receive();
        let (header, message) = decode(&octets);
        let Message::SessionReportRequest(report) = message else { panic!("{message:?}") };
        assert_eq!(header.seid, Some(session.cp_seid));
        let accepted = SessionReportResponse::new(Cause::RequestAccepted);
        self.send(accepted.into(), Some(session.up_seid), header.sequence);
        report.downlink_data_report.iter().flat_map(|data| data.pdr_ids.iter()).next().unwrap()
    }

    /// Waits for a Node Report Request and accepts it; what it reports.
    pub fn accept_node_report(&self) -> NodeReportType {
        let octets = self.receive();
        let (header, message) = decode(&octets);
        let Message::NodeReportRequest(report) = message else { panic!("{message:?}") };
        let accepted = NodeReportResponse::new(self.node(), Cause::RequestAccepted);
        self.send(accepted.into(), None, header.sequence);
        report.node_report_type
    }

    /// Waits for the UPF to ask for the release of the association, agrees, and lets go.
    pub fn release(&mut self) {
        let octets = self.receive();
        let (header, message) = decode(&octets);
        assert!(matches!(message, Message::AssociationUpdateRequest(_)), "{message:?}");
        let accepted = AssociationUpdateResponse::new(self.node(), Cause::RequestAccepted);
        self.send(accepted.into(), None, header.sequence);
        let release = causeway_pfcp::AssociationReleaseRequest::new(self.node());
        let answer = self.request(release.into(), None);
        assert!(matches!(decode(&answer).1, Message::AssociationReleaseResponse(_)));
    }

    /// Nothing arrives for a while.
    pub fn hears_nothing(&self) {
        self.socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        assert!(self.socket.recv(&mut [0; 16]).is_err());
        self.socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
}

/// Decodes a message.
pub fn decode(octets: &[u8]) -> (Header, Message<'_>) {
    let (header, body, _) = Header::decode(octets).unwrap();
    (header, Message::decode(&header, body).unwrap())
}

fn volumes(report: UsageReport<'_>) -> (u64, u64) {
    let octets = report.volume_measurement.unwrap().octets;
    (octets.uplink.unwrap(), octets.downlink.unwrap())
}

/// A modification that leads a FAR into a tunnel.
pub fn leading(
    (far, side): (FarId, DestinationInterface),
    (teid, peer): (Teid, Ipv4Addr),
    flags: Option<SessionModificationFlags>,
) -> SessionModificationRequest<'static> {
    let parameters = UpdateForwardingParameters {
        destination_interface: Some(side),
        outer_header_creation: Some(OuterHeaderCreation::gtpu(teid.value(), DualIp::from(peer))),
        flags,
        ..UpdateForwardingParameters::default()
    };
    let far = UpdateFar {
        apply_action: Some(ApplyAction::FORW),
        update_forwarding_parameters: Some(parameters),
        ..UpdateFar::new(far)
    };
    SessionModificationRequest { update_fars: [far].into(), ..SessionModificationRequest::default() }
}

/// Counts volumes, with a threshold that no test reaches.
fn urr() -> CreateUrr<'static> {
    volume_urr(URR.0, 1 << 40)
}
