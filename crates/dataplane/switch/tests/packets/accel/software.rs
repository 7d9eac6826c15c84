//! The software behind the switch: N4 and a slow path at the CPU port, which adopt what the switch hands over. Beside them are N4 and a slow
//! path that had every message and packet from the beginning.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use causeway_accel::switch::parse;
use causeway_dataplane::{
    Dataplane, Disposition, Egress, GtpuEndpoint, Ingress, Network, PacketEngine, Topology,
};
use causeway_model::{Adopted, Capabilities, LocalEndpoints, RuleSet};
use causeway_n4::{ApplyId, Config, DataPlaneNumbers, N4, Output, RestoreError};
use causeway_pfcp::{
    AssociationReleaseRequest, AssociationSetupRequest, CreatedPdr, FTeid, Header, HeartbeatResponse, Ie,
    Message, NodeId as Node, RawIes, RecoveryTimeStamp,
};
use causeway_slowpath::{Limits, SlowPath};
use causeway_switch::accel::{Direction, FIRST_TEID, SEIDS};
use causeway_types::{DualIp, FSeid, NetworkInstance, NodeId, NtpSeconds, Seid, Span, Time};

use super::frames::{GNB, SERVER, g_pdu, ie, ipv4, message, udp};
use super::random::{Live, N3, UPF, far_id, smf};

/// A message comes in this time; what ends is remembered for `LIFETIME`.
const STEP: Span = Span::from_millis(100);
const LIFETIME: Span = Span::from_secs(30);

/// N4 with its slow path.
struct Side {
    n4: N4,
    plane: SlowPath,
    /// Responses, and requests other than heartbeats.
    sent: VecDeque<(SocketAddr, Vec<u8>)>,
    /// What the slow path has sent.
    left: Vec<(Egress, Vec<u8>)>,
    /// Sessions of which the rules have changed, or which have ended.
    changed: BTreeSet<Seid>,
    recovery: [NtpSeconds; 2],
}

impl Side {
    fn new(
        endpoints: &LocalEndpoints,
        capabilities: Capabilities,
        numbers: Option<DataPlaneNumbers>,
    ) -> Self {
        let mut config = Config::new(NodeId::Ip(UPF.into()), DualIp::from(UPF));
        config.heartbeat.interval = Span::ZERO;
        config.answer_lifetime = LIFETIME;
        config.limits.sessions = 1000;
        (config.data_plane, config.seed) = (numbers, 77);
        let pools: Vec<_> = vec!["10.45.0.0/16".parse().unwrap(), "10.46.0.0/16".parse().unwrap()];
        let topology = Topology {
            gtpu: vec![GtpuEndpoint::new(N3.into())],
            networks: vec![
                Network::new(NetworkInstance::new("internet"), pools),
                Network::new(NetworkInstance::new("ims"), Vec::new()),
            ],
            ..Topology::default()
        };
        Self {
            n4: N4::new(config, capabilities, endpoints.clone(), NtpSeconds(3_900_000_000)),
            plane: SlowPath::new(topology, Limits::default()),
            sent: VecDeque::new(),
            left: Vec::new(),
            changed: BTreeSet::new(),
            recovery: [NtpSeconds(1000); 2],
        }
    }

    /// Does what N4 says, and answers its heartbeats as the SMFs do.
    fn drain(&mut self, now: Time) {
        while let Some(output) = self.n4.poll_output() {
            match output {
                Output::Send { to, bytes } if bytes.get(1) == Some(&1) => {
                    let number = usize::from(ipv4_of(to).octets()[3] - 20);
                    let answer = HeartbeatResponse::new(RecoveryTimeStamp(self.recovery[number]));
                    let sequence = Header::decode(&bytes).unwrap().0.sequence;
                    let mut octets = Vec::new();
                    Message::from(answer).encode(None, sequence, &mut octets).unwrap();
                    self.n4.datagram(now, to, &octets);
                }
                Output::Send { to, bytes } => self.sent.push_back((to, bytes)),
                Output::Apply { id, plan } => self.apply(now, id, &plan),
                Output::Applications(_) | Output::Notice(_) => {}
            }
        }
    }

    fn apply(&mut self, now: Time, id: ApplyId, plan: &causeway_model::Plan) {
        self.changed.insert(plan.session);
        let result = self.plane.apply(now, plan);
        assert!(result.is_ok(), "{plan:?}: {result:?}");
        self.plane.flush(&mut self.left);
        while let Some(event) = self.plane.poll_event() {
            self.n4.event(now, event);
        }
        self.n4.applied(now, id, result);
    }

    fn pass(&mut self, now: Time) {
        self.plane.advance(now);
        self.n4.timer(now);
        self.drain(now);
    }

    /// The response to a request.
    fn ask(&mut self, now: Time, from: SocketAddrV4, octets: &[u8]) -> Option<Vec<u8>> {
        self.n4.datagram(now, from.into(), octets);
        self.drain(now);
        let is_response = |(to, bytes): &(SocketAddr, Vec<u8>)| {
            *to == from.into() && matches!(bytes.get(1), Some(6 | 10 | 51 | 53 | 55))
        };
        let at = self.sent.iter().position(is_response)?;
        self.sent.remove(at).map(|(_, bytes)| bytes)
    }

    /// The requests of N4 since the last time, without their sequence numbers.
    fn reports(&mut self) -> Vec<Vec<u8>> {
        let is_request = |(_, octets): &(_, Vec<u8>)| octets.get(1) == Some(&56);
        let mut reports: Vec<_> = std::mem::take(&mut self.sent).into_iter().filter(is_request).collect();
        reports.iter_mut().filter_map(|(_, octets)| octets.get_mut(12..15)).for_each(|number| number.fill(0));
        reports.into_iter().map(|(_, octets)| octets).collect()
    }

    /// A packet: what becomes of it, and what has left.
    fn packet(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
    ) -> (Disposition, Vec<(Egress, Vec<u8>)>) {
        let disposition = self.plane.process(now, ingress, packet, &mut self.left);
        while let Some(event) = self.plane.poll_event() {
            self.n4.event(now, event);
        }
        self.drain(now);
        (disposition, std::mem::take(&mut self.left))
    }
}

fn ipv4_of(address: SocketAddr) -> Ipv4Addr {
    let SocketAddr::V4(address) = address else { panic!("{address}") };
    *address.ip()
}

/// Both, and how their numbers go together.
pub(super) struct Software {
    pub(super) now: Time,
    /// Behind the switch.
    own: Side,
    /// With all messages.
    whole: Side,
    /// By the SEID, and by the TEID, that the SMF knows: those of `whole`.
    seids: BTreeMap<u64, u64>,
    teids: BTreeMap<u32, u32>,
    /// Sessions of `whole`: their UE addresses, and the SEID that the SMF knows.
    there: BTreeMap<Seid, BTreeSet<Ipv4Addr>>,
    pub(super) alive: BTreeMap<Seid, u64>,
    /// Sessions of the software, by the SEID that the SMF knows.
    pub(super) sessions: BTreeMap<u64, Live>,
    /// Requests that the switch has answered; those of them that N4 can repeat.
    of_switch: BTreeSet<Vec<u8>>,
    known: BTreeSet<Vec<u8>>,
    /// By session of the software, the UE addresses; when an index is free again.
    ues: BTreeMap<Seid, BTreeSet<Ipv4Addr>>,
    resting: VecDeque<(Time, Ipv4Addr)>,
    /// What both slow paths have sent by changes of rules, such as buffered packets.
    pub(super) flushed: Vec<Vec<u8>>,
    packets: u32,
    /// Sequence number of the last request about an association.
    node_requests: u32,
    pub(super) counts: SoftwareCounts,
}

/// What happened.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct SoftwareCounts {
    /// Requests that N4 behind the switch has answered; those that it accepted.
    pub(super) answered: u32,
    pub(super) accepted: u32,
    /// Requests that the switch has answered before, answered again by the software.
    pub(super) repeated: u32,
    /// Requests about which the software knows nothing any more.
    pub(super) forgotten: u32,
    pub(super) adopted: u32,
    /// Of these, taken by the control plane for another session of the UE.
    pub(super) taken: u32,
    pub(super) ended: u32,
    pub(super) forwarded: [u32; 2],
    pub(super) buffered: u32,
}

impl Software {
    pub(super) fn new(now: Time, endpoints: &LocalEndpoints, capabilities: &Capabilities) -> Self {
        let [seid_mask, seid] = SEIDS;
        let numbers = DataPlaneNumbers { seid_mask, seid, first_teid: FIRST_TEID };
        let mut software = Self {
            now,
            own: Side::new(endpoints, *capabilities, Some(numbers)),
            whole: Side::new(endpoints, *capabilities, None),
            seids: BTreeMap::new(),
            teids: BTreeMap::new(),
            there: BTreeMap::new(),
            alive: BTreeMap::new(),
            flushed: Vec::new(),
            sessions: BTreeMap::new(),
            of_switch: BTreeSet::new(),
            known: BTreeSet::new(),
            ues: BTreeMap::new(),
            resting: VecDeque::new(),
            packets: 0,
            node_requests: 0,
            counts: SoftwareCounts::default(),
        };
        (0..2).for_each(|number| software.associate(number));
        software
    }

    /// The SMF sets its association up, with its Recovery Time Stamp.
    fn associate(&mut self, number: u8) {
        let stamp = RecoveryTimeStamp(self.own.recovery[usize::from(number)]);
        let setup = AssociationSetupRequest::new(Node::Ip(smf(number).into()), stamp);
        self.node_request(number, setup.into());
    }

    fn node_request(&mut self, number: u8, message: Message<'_>) {
        self.node_requests += 1;
        let mut octets = Vec::new();
        message.encode(None, self.node_requests, &mut octets).unwrap();
        for side in [&mut self.own, &mut self.whole] {
            let answer = side.ask(self.now, SocketAddrV4::new(smf(number), 8805), &octets);
            assert!(answer.is_some(), "{message:?}");
        }
    }

    /// The SMF has restarted: both N4s end its sessions.
    pub(super) fn restart(&mut self, number: u8) {
        for side in [&mut self.own, &mut self.whole] {
            let stamp = &mut side.recovery[usize::from(number)];
            *stamp = NtpSeconds(stamp.0 + 100);
        }
        self.associate(number);
        self.sessions_end(number);
    }

    /// The SMF ends its association: both N4s end its sessions.
    pub(super) fn end_association(&mut self, number: u8) {
        let release = AssociationReleaseRequest::new(Node::Ip(smf(number).into()));
        self.node_request(number, release.into());
        self.sessions_end(number);
    }

    fn sessions_end(&mut self, number: u8) {
        (0..60).for_each(|_| self.advance(self.now));
        for side in [&self.own, &self.whole] {
            let of_smf = side.n4.sessions().filter(|view| view.cp.addr.contains(smf(number).into())).count();
            assert_eq!(of_smf, 0, "the sessions of this SMF end");
        }
        self.sessions.retain(|_, live| live.smf != number);
    }

    /// The time of a message passes.
    pub(super) fn pass(&mut self) {
        self.advance(self.now + STEP);
    }

    /// It is that time.
    pub(super) fn advance(&mut self, now: Time) {
        self.now = now;
        self.own.pass(now);
        self.whole.pass(now);
        self.follow();
    }

    fn for_whole(&self, octets: &[u8]) -> Vec<u8> {
        let mut octets = octets.to_vec();
        let seid = u64::from_be_bytes(octets[4..12].try_into().unwrap());
        if let Some(there) = self.seids.get(&seid) {
            octets[4..12].copy_from_slice(&there.to_be_bytes());
        }
        octets
    }

    /// The switch has answered a request: so does N4 with all of them.
    pub(super) fn answered_by_switch(&mut self, from: SocketAddrV4, octets: &[u8], answer: &[u8]) {
        let translated = self.for_whole(octets);
        let mut of_whole = self.whole.ask(self.now, from, &translated).expect("N4 answers as well");
        self.follow();
        self.match_numbers(answer, &mut of_whole);
        assert_eq!(answer, of_whole, "to {octets:02x?}");
        self.of_switch.insert(octets.to_vec());
    }

    /// N4 takes a session over, once.
    pub(super) fn adopt(&mut self, adopted: &Adopted, live: &Live, is_taken: bool) {
        self.counts.adopted += 1;
        self.counts.taken += u32::from(is_taken);
        self.own.n4.adopt(self.now, adopted.clone()).unwrap();
        assert_eq!(
            self.own.n4.adopt(self.now, adopted.clone()),
            Err(RestoreError::Seid(adopted.seid)),
            "a second handover of a session is refused"
        );
        self.own.drain(self.now);
        self.known.insert(live.origin.clone());
        let there = Seid(self.seids[&adopted.seid.0]);
        let rules = self.own.n4.session(adopted.seid).expect("it is N4's").rules().into_owned();
        let of_whole = self.whole.n4.session(there).expect("both have it").rules().into_owned();
        assert_eq!(renamed(rules, &self.teids), of_whole);
        self.sessions.insert(adopted.seid.0, live.clone());
        self.follow();
    }

    /// A request that the switch gives to the software; `repeated`: the answer that it had from the switch, as the software knows it. Returns the
    /// answer.
    pub(super) fn request(
        &mut self,
        from: SocketAddrV4,
        octets: &[u8],
        repeated: Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let translated = self.for_whole(octets);
        let is_forgotten =
            self.of_switch.contains(octets) && !self.known.contains(octets) && repeated.is_none();
        // To N4 with all messages, it is a new request, too, if it comes from another port.
        let port = from.port() + u16::from(is_forgotten);
        let of_whole = self.whole.ask(self.now, SocketAddrV4::new(*from.ip(), port), &translated);
        let answer = match repeated {
            Some(answer) => {
                self.counts.repeated += 1;
                Some(answer)
            }
            None => self.own.ask(self.now, from, octets),
        };
        self.counts.forgotten += u32::from(is_forgotten);
        assert_eq!(answer.is_some(), of_whole.is_some(), "{octets:02x?}");
        let (Some(answer), Some(mut of_whole)) = (answer, of_whole) else {
            self.follow();
            return None;
        };
        self.counts.answered += 1;
        let is_accepted = answer.windows(5).any(|ie| ie == [0, 19, 0, 1, 1]);
        self.counts.accepted += u32::from(is_accepted);
        self.match_numbers(&answer, &mut of_whole);
        assert_eq!(answer, of_whole, "to {octets:02x?}");
        if octets[1] == 50 && is_accepted {
            self.established(from, octets, &answer);
        }
        self.follow();
        Some(answer)
    }

    fn established(&mut self, from: SocketAddrV4, octets: &[u8], answer: &[u8]) {
        let fields = parse(&octets[16..]).fields;
        let (Some(seid), teid) = numbers_of(answer) else { return };
        let live = Live {
            smf: from.ip().octets()[3] - 20,
            seid,
            of_crate: (0, 0),
            cp: (fields.get("cp_high") as u64) << 32 | fields.get("cp_low") as u64,
            ue: Ipv4Addr::from(fields.get("ue") as u32),
            teid: teid.first().copied().unwrap_or(0),
            has_qer: fields.form("form_qer") != 0,
            has_downlink: false,
            fars: [far_id(&fields), 0],
            origin: octets.to_vec(),
            last: octets.to_vec(),
        };
        self.sessions.insert(seid, live);
    }

    /// The numbers of both answers go together: those of the SMF's are put into the other.
    fn match_numbers(&mut self, answer: &[u8], of_whole: &mut [u8]) {
        let ((seid, teids), (seid_there, teids_there)) = (numbers_of(answer), numbers_of(of_whole));
        let (seid_at, teids_at) = places(of_whole);
        if let (Some(here), Some(there), Some(at)) = (seid, seid_there, seid_at) {
            self.seids.insert(here, there);
            if self.whole.n4.session(Seid(there)).is_some() {
                self.alive.insert(Seid(there), here);
            }
            of_whole[at..at + 8].copy_from_slice(&here.to_be_bytes());
        }
        assert_eq!(teids.len(), teids_there.len());
        for ((here, there), at) in teids.into_iter().zip(teids_there).zip(teids_at) {
            self.teids.insert(here, there);
            of_whole[at..at + 4].copy_from_slice(&here.to_be_bytes());
        }
    }

    /// Follows what N4 behind the switch has changed, and compares what both slow paths have sent by that, such as buffered packets.
    fn follow(&mut self) {
        let left = std::mem::take(&mut self.own.left);
        assert_eq!(left, std::mem::take(&mut self.whole.left));
        self.flushed.extend(left.into_iter().map(|(_, packet)| packet));
        let [own, whole] = [&mut self.own, &mut self.whole].map(Side::reports);
        assert_eq!(own, whole, "reports");
        for seid in std::mem::take(&mut self.whole.changed) {
            match self.whole.n4.session(seid) {
                Some(view) => _ = self.there.insert(seid, ues_of(&view.rules())),
                None => {
                    self.there.remove(&seid);
                    self.alive.remove(&seid);
                }
            }
        }
        for seid in std::mem::take(&mut self.own.changed) {
            let now: BTreeSet<Ipv4Addr> = match self.own.n4.session(seid) {
                Some(view) => ues_of(&view.rules()),
                None => {
                    self.counts.ended += 1;
                    self.sessions.remove(&seid.0);
                    BTreeSet::new()
                }
            };
            let before = self.ues.insert(seid, now.clone()).unwrap_or_default();
            let due = self.now + LIFETIME + STEP;
            self.resting.extend(before.difference(&now).map(|ue| (due, *ue)));
            if now.is_empty() {
                self.ues.remove(&seid);
            }
        }
    }

    /// The rules of a session of the software have its UE address still.
    pub(super) fn names_ue(&self, live: &Live) -> bool {
        self.ues.get(&Seid(live.seid)).is_some_and(|ues| ues.contains(&live.ue))
    }

    /// A UE address of which nobody can ask the software any more.
    pub(super) fn next_free(&mut self) -> Option<Ipv4Addr> {
        let (_, ue) = *self.resting.front().filter(|(due, _)| *due <= self.now)?;
        self.resting.pop_front();
        let is_used = |ue| self.ues.values().any(|ues| ues.contains(&ue));
        let is_resting = self.resting.iter().any(|(_, other)| *other == ue);
        if is_used(ue) || is_resting { self.next_free() } else { Some(ue) }
    }

    /// The index of this UE is the software's: it is released when no session has the UE for a while.
    pub(super) fn rests(&mut self, ue: Ipv4Addr) {
        self.resting.push_back((self.now + LIFETIME + STEP, ue));
    }

    /// A packet of a UE that the switch forwards (or drops) by itself: N4 and its slow path would do the same.
    pub(super) fn uplink_by_switch(&mut self, live: &Live, qfi: u8, is_forwarded: bool) {
        let (ingress, packet) = self.uplink_packet(self.teids[&live.teid], live.ue, qfi);
        let (disposition, _) = self.whole.packet(self.now, &ingress, &packet);
        assert_eq!(disposition == Disposition::Forwarded, is_forwarded, "{disposition:?}");
    }

    /// The same to a UE.
    pub(super) fn downlink_by_switch(&mut self, ue: Ipv4Addr, is_forwarded: bool) {
        let (ingress, packet) = self.downlink_packet(ue);
        let (disposition, _) = self.whole.packet(self.now, &ingress, &packet);
        assert_eq!(disposition == Disposition::Forwarded, is_forwarded, "{disposition:?}");
    }

    /// A packet of a UE that the switch gives to the software: both slow paths do the same, and forward the same octets.
    pub(super) fn uplink_by_software(&mut self, live: &Live, qfi: u8) {
        let (ingress, packet) = self.uplink_packet(live.teid, live.ue, qfi);
        let own = self.own.packet(self.now, &ingress, &packet);
        self.packets -= 1;
        let there = self.teids.get(&live.teid).copied().unwrap_or(live.teid);
        let (ingress, packet) = self.uplink_packet(there, live.ue, qfi);
        let whole = self.whole.packet(self.now, &ingress, &packet);
        assert_eq!(own.0, whole.0, "{live:?}");
        if own.0 == Disposition::Forwarded {
            assert_eq!(own.1, whole.1);
            self.counts.forwarded[0] += 1;
        }
        self.follow();
    }

    /// The same to a UE.
    pub(super) fn downlink_by_software(&mut self, ue: Ipv4Addr) {
        let (ingress, packet) = self.downlink_packet(ue);
        let own = self.own.packet(self.now, &ingress, &packet);
        let whole = self.whole.packet(self.now, &ingress, &packet);
        assert_eq!(own, whole, "{ue}");
        self.counts.forwarded[1] += u32::from(own.0 == Disposition::Forwarded);
        self.counts.buffered += u32::from(own.0 == Disposition::Buffered);
        self.follow();
    }

    /// Each packet has a number of its own.
    fn user_packet(&mut self, source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
        self.packets += 1;
        ipv4(source, destination, 17, &udp(1000, 2000, &self.packets.to_be_bytes()))
    }

    fn uplink_packet(&mut self, teid: u32, ue: Ipv4Addr, qfi: u8) -> (Ingress, Vec<u8>) {
        let peer = SocketAddr::from((GNB, 2152));
        let ingress = Ingress::Gtpu { local: N3.into(), peer, tos: 0, hops: None };
        let packet = self.user_packet(ue, SERVER);
        (ingress, g_pdu(teid, qfi, &packet))
    }

    fn downlink_packet(&mut self, ue: Ipv4Addr) -> (Ingress, Vec<u8>) {
        (Ingress::Ip { network: NetworkInstance::new("internet") }, self.user_packet(SERVER, ue))
    }
}

/// A numbered packet of a UE, or to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered {
    pub(super) ue: Ipv4Addr,
    pub(super) direction: Direction,
    /// Uplink: the TEID that the gNB knows, and the QFI.
    pub(super) teid: u32,
    pub(super) qfi: u8,
    pub(super) number: u32,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// It leaves: in this tunnel with this QFI, or without one.
    Left(Option<(u32, Ipv4Addr, u8)>),
    Buffered,
    Dropped,
}

impl Fate {
    fn of((disposition, left): (Disposition, Vec<(Egress, Vec<u8>)>)) -> Self {
        match (disposition, left.first()) {
            (Disposition::Forwarded, Some((Egress::Gtpu { peer, .. }, octets))) => {
                let teid = u32::from_be_bytes(octets[4..8].try_into().unwrap());
                let qfi = if octets[0] & 4 != 0 { octets[14] & 63 } else { 0 };
                Self::Left(Some((teid, ipv4_of(*peer), qfi)))
            }
            (Disposition::Forwarded, Some(_)) => Self::Left(None),
            (Disposition::Buffered, _) => Self::Buffered,
            _ => Self::Dropped,
        }
    }
}

/// Single packets, numbered, and the end of a world.
impl Software {
    fn numbered(&self, packet: &Numbered, of_whole: bool) -> (Ingress, Vec<u8>) {
        let payload = udp(1000, 2000, &packet.number.to_be_bytes());
        match packet.direction {
            Direction::Uplink => {
                let there = self.teids.get(&packet.teid).copied().filter(|_| of_whole);
                let peer = SocketAddr::from((GNB, 2152));
                let ingress = Ingress::Gtpu { local: N3.into(), peer, tos: 0, hops: None };
                let inner = ipv4(packet.ue, SERVER, 17, &payload);
                (ingress, g_pdu(there.unwrap_or(packet.teid), packet.qfi, &inner))
            }
            Direction::Downlink => {
                let ingress = Ingress::Ip { network: NetworkInstance::new("internet") };
                (ingress, ipv4(SERVER, packet.ue, 17, &payload))
            }
        }
    }

    /// What becomes of a packet where all sessions are.
    pub(super) fn fate_in_whole(&mut self, packet: &Numbered) -> Fate {
        let (ingress, octets) = self.numbered(packet, true);
        Fate::of(self.whole.packet(self.now, &ingress, &octets))
    }

    /// What becomes of a packet that the software has, the same in both. `session`: the one that its UE had when it came to the switch.
    pub(super) fn fate(&mut self, packet: &Numbered, session: Option<Seid>) -> Fate {
        let (ingress, octets) = self.numbered(packet, false);
        let fate = Fate::of(self.own.packet(self.now, &ingress, &octets));
        // Its session has ended since, and the switch has the next one of the UE.
        let is_late = || session != self.session_of(packet.ue) && !self.has(packet.ue);
        let may_be_dropped = session.is_none() || is_late();
        if !may_be_dropped || fate != Fate::Dropped {
            assert_eq!(fate, self.fate_in_whole(packet), "{packet:?}");
        }
        self.follow();
        fate
    }

    /// The session that has this UE, where all sessions are.
    pub(super) fn session_of(&self, ue: Ipv4Addr) -> Option<Seid> {
        self.there.iter().find(|(_, ues)| ues.contains(&ue)).map(|(session, _)| *session)
    }

    /// A session of the software has this UE.
    pub(super) fn has(&self, ue: Ipv4Addr) -> bool {
        self.ues.values().any(|ues| ues.contains(&ue))
    }

    /// N4 behind the switch has the session.
    pub(super) fn owns(&self, seid: u64) -> bool {
        self.own.n4.session(Seid(seid)).is_some()
    }

    /// All sessions are the software's, with the rules of those where all are.
    pub(super) fn assert_equal(&self) {
        assert_eq!(self.own.n4.session_count(), self.whole.n4.session_count());
        assert_eq!(self.alive.len(), self.whole.n4.session_count());
        for (there, here) in &self.alive {
            let of = |n4: &N4, seid| n4.session(seid).expect("it is there").rules().into_owned();
            assert_eq!(renamed(of(&self.own.n4, Seid(*here)), &self.teids), of(&self.whole.n4, *there));
        }
    }
}

/// UE addresses in the PDRs of a session.
fn ues_of(rules: &RuleSet) -> BTreeSet<Ipv4Addr> {
    rules.pdrs.values().filter_map(|pdr| pdr.pdi.ue?.v4).collect()
}

/// UE addresses that a request names in PDRs that it creates or updates.
pub(super) fn ues_named(octets: &[u8]) -> BTreeSet<Ipv4Addr> {
    fn within(ies: &[u8], found: &mut BTreeSet<Ipv4Addr>) {
        for ie in RawIes::new(ies).map_while(Result::ok) {
            match (ie.ie_type, ie.value) {
                (1 | 2 | 9, group) => within(group, found),
                (93, [flags, a, b, c, d, ..]) if flags & 2 != 0 => {
                    found.extend([Ipv4Addr::new(*a, *b, *c, *d)]);
                }
                _ => {}
            }
        }
    }
    let mut found = BTreeSet::new();
    octets.get(16..).into_iter().for_each(|ies| within(ies, &mut found));
    found
}

/// Where the UPF's SEID and the TEIDs are in a response.
fn places(response: &[u8]) -> (Option<usize>, Vec<usize>) {
    let (_, body, _) = Header::decode(response).unwrap();
    let offset = |part: &[u8]| part.as_ptr().addr() - response.as_ptr().addr();
    let (mut seid, mut teids) = (None, Vec::new());
    for ie in RawIes::new(body).map(Result::unwrap) {
        if ie.ie_type == FSeid::TYPE {
            seid = Some(offset(ie.value) + 1);
        }
        if ie.ie_type == <CreatedPdr<'_> as Ie<'_>>::TYPE {
            let inner = RawIes::new(ie.value).map(Result::unwrap).filter(|ie| ie.ie_type == FTeid::TYPE);
            teids.extend(inner.map(|ie| offset(ie.value) + 1));
        }
    }
    (seid, teids)
}

/// The UPF's SEID and the TEIDs in a response.
pub(super) fn numbers_of(response: &[u8]) -> (Option<u64>, Vec<u32>) {
    let (seid, teids) = places(response);
    let teid = |at: usize| u32::from_be_bytes(response[at..at + 4].try_into().unwrap());
    let seid = seid.map(|at| u64::from_be_bytes(response[at..at + 8].try_into().unwrap()));
    (seid, teids.into_iter().map(teid).collect())
}

/// The rules with the TEIDs of the other side.
fn renamed(mut rules: RuleSet, teids: &BTreeMap<u32, u32>) -> RuleSet {
    for tunnel in rules.pdrs.values_mut().filter_map(|pdr| pdr.pdi.tunnel.as_mut()) {
        tunnel.teid = causeway_types::Teid::new(teids[&tunnel.teid.value()]).unwrap();
    }
    rules
}

/// A request that is not of the class, or of the class and for a session of the software.
pub(super) fn complex(random: &mut fastrand::Rng, live: &Live, sequence: u32) -> Vec<u8> {
    let far = |at: usize| ie(108, live.fars[at].to_be_bytes());
    let update = |far: Vec<u8>, rest: &[u8]| ie(10, [&far, rest].concat());
    let tunnel = |teid: u8| {
        ie(11, [ie(42, [0]), ie(84, [&[1, 0, 0, 0, 0, teid][..], &GNB.octets()].concat())].concat())
    };
    let other_pdr = |id: u8, tunnel: &[u8], filter: &[u8]| {
        let filter = ie(23, [&[1, 0][..], &(filter.len() as u16).to_be_bytes(), filter].concat());
        let pdi =
            [ie(20, [0]), ie(21, tunnel), ie(93, [&[2][..], &live.ue.octets()].concat()), filter].concat();
        ie(1, [ie(56, [0, id]), ie(29, [0, 0, 0, 9]), ie(2, pdi), ie(95, [0]), far(0)].concat())
    };
    let ies = match random.u8(..14) {
        0 => update(far(1), &ie(44, [12])),
        1 => update(far(1), &ie(44, [4])),
        2 | 3 => update(far(1), &[ie(44, [2]), tunnel(random.u8(1..9))].concat()),
        4 => update(far(0), &ie(44, [random.u8(1..3)])),
        5 => other_pdr(3, &[5], b"permit out ip from any to assigned"),
        6 => other_pdr(4, &[13, 42], b"permit out 17 from any to assigned"),
        7 => ie(15, ie(56, [0, random.u8(1..5)])),
        8 => ie(16, far(1)),
        9 => {
            let qer = [ie(109, [0, 0, 0, 1]), ie(25, [random.u8(0..6)])].concat();
            ie(14, qer)
        }
        10 => ie(6, [ie(81, [0, 0, 0, 1]), ie(62, [2]), ie(37, [2, 0])].concat()),
        11 => ie(77, ie(81, [0, 0, 0, 1])),
        12 => vec![],
        _ => {
            return message(
                54,
                live.seid,
                sequence,
                &ie(57, [&[2][..], &live.cp.to_be_bytes(), &smf(live.smf).octets()].concat()),
            );
        }
    };
    message(52, live.seid, sequence, &ies)
}
