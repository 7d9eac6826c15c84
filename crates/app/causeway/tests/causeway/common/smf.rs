//! An SMF on a socket of its own.

use std::net::{Ipv4Addr, UdpSocket};

use causeway_pfcp::{
    ApplicationId, ApplyAction, AssociationSetupRequest, Cause, CreateFar, CreatePdr, CreateQer, CreateUrr,
    DestinationInterface, FTeid, ForwardingParameters, GateStatus, Mbr, MeasurementMethod, Message,
    NetworkInstance, NodeId, Octets, OuterHeaderCreation, OuterHeaderRemoval, Pdi, RecoveryTimeStamp,
    RemovedHeader, SessionDeletionRequest, SessionEstablishmentRequest, SessionModificationRequest,
    SourceInterface, UeIpAddress, UpdateFar, UserId, VolumeThreshold, Volumes,
};
use causeway_types::{
    Bitrate, DualIp, FSeid, FarId, NtpSeconds, PdrId, Precedence, QerId, Qfi, ReportingTriggers, Seid, UrrId,
};

use super::{PATIENCE, loopback};

/// A session that the UPF has accepted.
pub struct Session {
    pub seid: Seid,
    pub cp_seid: Seid,
    pub uplink: causeway_types::FTeid,
}

/// Requests under way at a time.
pub const WINDOW: usize = 32;

/// An SMF with many sessions.
pub struct Smf {
    socket: UdpSocket,
    pub address: Ipv4Addr,
    sequence: u32,
    sessions: u32,
    /// The Application ID of a PDR of sessions that come.
    pub application: Option<&'static str>,
}

impl Smf {
    pub fn associated(upf: Ipv4Addr) -> Self {
        let address = loopback();
        Self::named(upf, address, NodeId::Ip(address.into()))
    }

    /// An SMF at this address with this Node ID.
    pub fn named(upf: Ipv4Addr, address: Ipv4Addr, node: NodeId<'_>) -> Self {
        let socket = UdpSocket::bind((address, 8805)).unwrap();
        socket.connect((upf, 8805)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut smf = Self { socket, address, sequence: 0, sessions: 0, application: None };
        let stamp = RecoveryTimeStamp(NtpSeconds(0xe000_0000));
        let setup = AssociationSetupRequest::new(node, stamp);
        smf.send(setup.into(), None);
        smf.answer(|message| match message {
            Message::AssociationSetupResponse(response) => assert!(response.cause.is_accepted()),
            other => panic!("{other:?}"),
        });
        smf
    }

    fn send(&mut self, message: Message<'_>, seid: Option<Seid>) {
        self.sequence += 1;
        let mut octets = Vec::new();
        message.encode(seid, self.sequence & 0xff_ffff, &mut octets).unwrap();
        self.socket.send(&octets).unwrap();
    }

    /// The next answer; requests of the UPF are passed over.
    fn answer<T>(&self, of: impl FnOnce(Message<'_>) -> T) -> T {
        let mut buffer = vec![0; 65_535];
        loop {
            let len = self.socket.recv(&mut buffer).expect("an answer in time");
            let (header, body, _) = causeway_pfcp::Header::decode(&buffer[..len]).unwrap();
            let message = Message::decode(&header, body).unwrap();
            if !message.message_type().is_request() {
                return of(message);
            }
        }
    }

    /// Asks for sessions, so many at a time, until one is refused or there are so many: the UPF's ends, and the cause of the refusal.
    pub fn establish(&mut self, most: usize) -> (Vec<Seid>, Option<Cause>) {
        let (mut seids, mut refused) = (Vec::new(), None);
        while seids.len() < most && refused.is_none() {
            let asked = WINDOW.min(most - seids.len());
            (0..asked).for_each(|_| self.ask());
            for _ in 0..asked {
                let (cause, seid) = self.answer(|message| match message {
                    Message::SessionEstablishmentResponse(response) => (response.cause, response.up_f_seid),
                    other => panic!("{other:?}"),
                });
                seids.extend(seid.map(|f_seid| f_seid.seid));
                refused = Some(cause).filter(|cause| !cause.is_accepted()).or(refused);
            }
        }
        (seids, refused)
    }

    fn ask(&mut self) {
        self.sessions += 1;
        let cp = FSeid { seid: Seid(self.sessions.into()), addr: DualIp::from(self.address) };
        // From one gNB to another, since the daemon has no data network.
        let (mut pdrs, mut fars) = (Vec::new(), Vec::new());
        for id in [1, 2] {
            let pdi = Pdi {
                local_f_teid: Some(FTeid::Choose { v4: true, v6: false, choose_id: None }),
                ..Pdi::new(SourceInterface::Access)
            };
            pdrs.push(CreatePdr {
                outer_header_removal: Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4)),
                far_id: Some(FarId(id.into())),
                ..CreatePdr::new(PdrId(id), Precedence(255), pdi)
            });
            let gnb = DualIp::from(Ipv4Addr::new(192, 0, 2, 11));
            let forwarding = ForwardingParameters {
                outer_header_creation: Some(OuterHeaderCreation::gtpu(
                    self.sessions * 2 + u32::from(id),
                    gnb,
                )),
                ..ForwardingParameters::new(DestinationInterface::Access)
            };
            fars.push(CreateFar {
                forwarding_parameters: Some(forwarding),
                ..CreateFar::new(FarId(id.into()), ApplyAction::FORW)
            });
        }
        let node = NodeId::Ip(self.address.into());
        let request = SessionEstablishmentRequest::new(node, cp, pdrs, fars);
        self.send(request.into(), Some(Seid(0)));
    }

    /// The downlink of a session is dropped from now on.
    pub fn modify(&mut self, seid: Seid) -> Cause {
        let far = UpdateFar { apply_action: Some(ApplyAction::DROP), ..UpdateFar::new(FarId(2)) };
        let request =
            SessionModificationRequest { update_fars: [far].into(), ..SessionModificationRequest::default() };
        self.send(request.into(), Some(seid));
        self.answer(|message| match message {
            Message::SessionModificationResponse(response) => response.cause,
            other => panic!("{other:?}"),
        })
    }

    pub fn delete(&mut self, seids: &[Seid]) {
        for seids in seids.chunks(WINDOW) {
            for seid in seids {
                self.send(SessionDeletionRequest::default().into(), Some(*seid));
            }
            for _ in seids {
                self.answer(|message| match message {
                    Message::SessionDeletionResponse(response) => assert!(response.cause.is_accepted()),
                    other => panic!("{other:?}"),
                });
            }
        }
    }

    /// Sets up a session of this UE that counts, limits and marks packets between two gNBs, and names its user.
    pub fn establish_whole(&mut self, ue: Ipv4Addr, imsi: &str, gnb: Ipv4Addr) -> Session {
        self.sessions += 1;
        let cp_seid = Seid(self.sessions.into());
        let dnn = causeway_types::NetworkInstance::new("internet");
        let of_all = |pdr| CreatePdr { qer_ids: [QerId(1)].into(), urr_ids: [UrrId(1)].into(), ..pdr };
        let ue_address = |destination| UeIpAddress { ipv4: Some(ue), destination, ..UeIpAddress::default() };
        let application = self.application.map(|id| ApplicationId(id.as_bytes()));
        let (mut pdrs, mut fars) = (Vec::new(), Vec::new());
        for id in [1, 2] {
            let pdi = Pdi {
                local_f_teid: Some(FTeid::Choose { v4: true, v6: false, choose_id: None }),
                network_instance: Some(NetworkInstance::from(&dnn)),
                ue_ip_addresses: [ue_address(id == 2)].into(),
                qfis: [Qfi::new(9).unwrap()].into(),
                application_id: application.filter(|_| id == 2),
                ..Pdi::new(SourceInterface::Access)
            };
            pdrs.push(of_all(CreatePdr {
                outer_header_removal: Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4)),
                far_id: Some(FarId(id.into())),
                ..CreatePdr::new(PdrId(id), Precedence(255), pdi)
            }));
            let teid = self.sessions * 2 + u32::from(id);
            let forwarding = ForwardingParameters {
                outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, DualIp::from(gnb))),
                ..ForwardingParameters::new(DestinationInterface::Access)
            };
            fars.push(CreateFar {
                forwarding_parameters: Some(forwarding),
                ..CreateFar::new(FarId(id.into()), ApplyAction::FORW)
            });
        }
        let cp = FSeid { seid: cp_seid, addr: DualIp::from(self.address) };
        let mut request = SessionEstablishmentRequest::new(NodeId::Ip(self.address.into()), cp, pdrs, fars);
        let rate = Bitrate::from_kbps(50_000).unwrap();
        let qer = CreateQer {
            mbr: Some(Mbr { uplink: rate, downlink: rate }),
            qfi: Qfi::new(9),
            ..CreateQer::new(QerId(1), GateStatus::OPEN)
        };
        let threshold = Volumes { total: Some(1 << 20), ..Volumes::default() };
        let urr = CreateUrr {
            volume_threshold: Some(VolumeThreshold(threshold)),
            ..CreateUrr::new(UrrId(1), MeasurementMethod::VOLUM, ReportingTriggers::VOLTH)
        };
        request.create_qers = [qer].into();
        request.create_urrs = [urr].into();
        let digits: Vec<u8> = imsi.bytes().map(|digit| digit - b'0').chain([0x0f]).collect();
        let tbcd: Vec<u8> = digits.chunks(2).map(|two| two[0] | two[1] << 4).collect();
        request.user_id = Some(UserId { imsi: Some(Octets(&tbcd)), ..UserId::default() });
        self.send(request.into(), Some(Seid(0)));
        self.answer(|message| match message {
            Message::SessionEstablishmentResponse(response) => {
                assert!(response.cause.is_accepted(), "{:?} {:?}", response.cause, response.offending_ie);
                let created = response.created_pdrs.iter().find_map(|pdr| pdr.local_f_teid?.assigned());
                let uplink = created.expect("a tunnel");
                Session { seid: response.up_f_seid.expect("a SEID").seid, cp_seid, uplink }
            }
            other => panic!("{other:?}"),
        })
    }
}
