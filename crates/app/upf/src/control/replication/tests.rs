//! Usage over take-overs: N4 and a fast path of a primary that fails at any step, and whatever of its changes the standby has.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};

use causeway_chain::Octets;
use causeway_dataplane::{
    Applied, ApplyError, Dataplane, Disposition, Egress, Event, GtpuEndpoint, Ingress, Network, Op,
    PacketEngine, Topology,
};
use causeway_fastpath::FastPath;
use causeway_model::{Capabilities, LocalEndpoint, LocalEndpoints, Plan};
use causeway_n4::{ApplyId, Config, Output};
use causeway_pfcp::NodeId;
use causeway_pfcp::testing::{downlink_far_to, downlink_pdr, uplink_far, uplink_pdr, volume_urr};
use causeway_pfcp::*;
use causeway_slowpath::Limits;
use causeway_types::{DualIp, FSeid, NetworkInstance, PdrId, ReportingTriggers, UrrId, UsageReportTrigger};
use proptest::prelude::*;

use super::*;
use crate::chain::has_no_responses;

const UPF_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 50);
const SMF: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 10)), 8805);
const INTERVAL: Span = Span::from_millis(1000);

/// Octets of each packet.
const PACKET: u64 = 100;
/// The threshold of URR 1, and the quota of URR 2, in octets.
const THRESHOLD: u64 = 700;
const QUOTA: u64 = 1500;
const SESSIONS: usize = 3;
const URRS: usize = 2;

#[derive(Clone, Debug)]
enum Action {
    /// Packets to the UE of this session.
    Packets(usize, u8),
    /// Time passes, so many milliseconds.
    Wait(u64),
    /// The packet threads are asked for usage, whatever the time.
    Ask,
    /// What packet threads have sent reaches N4: so many messages.
    Report(usize),
    /// The standby has so many changes more, and the primary knows it of all but the last few.
    Record(usize),
    Acknowledge(usize),
    /// The SMF gets so many datagrams, and answers each; the answers are lost.
    Deliver(usize, bool),
    /// The SMF queries URR 2.
    Query(usize),
    /// The SMF removes URR 1, or creates another one with its id.
    Replace(usize),
    /// The primary fails.
    Fail,
}

fn action() -> impl Strategy<Value = Action> {
    let session = 0..SESSIONS;
    prop_oneof![
        8 => (session.clone(), 1..6_u8).prop_map(|(session, count)| Action::Packets(session, count)),
        3 => (1..700_u64).prop_map(Action::Wait),
        4 => Just(Action::Ask),
        6 => (1..6_usize).prop_map(Action::Report),
        5 => (1..8_usize).prop_map(Action::Record),
        5 => (1..8_usize).prop_map(Action::Acknowledge),
        5 => (1..4_usize, proptest::bool::weighted(0.2)).prop_map(|(count, lost)| Action::Deliver(count, lost)),
        1 => session.clone().prop_map(Action::Query),
        1 => session.prop_map(Action::Replace),
        1 => Just(Action::Fail),
    ]
}

/// What a packet thread sends to the control thread.
#[derive(Debug)]
enum FromThread {
    Applied(ApplyId, Result<Applied, ApplyError>),
    Event(Event),
    Usage(Vec<(Seid, Vec<u8>)>, Forwarded),
}

/// Octets that were forwarded while a URR was there, by session.
type Forwarded = [[u64; URRS]; SESSIONS];

/// The SMF: what it was told, and what it answers.
#[derive(Default)]
struct TestSmf {
    sequence: u32,
    seids: [Option<Seid>; SESSIONS],
    /// Answers by the UPF's sequence numbers: a retransmission gets the same.
    answered: BTreeMap<u32, Vec<u8>>,
    /// Requests without a response, which it repeats.
    open: BTreeMap<u32, (usize, Vec<u8>)>,
    /// Octets of each URR.
    reported: Forwarded,
    granted: [u64; SESSIONS],
    /// The sessions without URR 1.
    lacks_first: [bool; SESSIONS],
}

struct World {
    now: Time,
    n4: N4,
    plane: FastPath,
    replication: Replication,
    next_change: Box<dyn FnMut() -> Option<Change>>,
    /// Changes that the standby does not have, the oldest first, with what was forwarded when the usage in them was measured.
    changes: VecDeque<(Change, Option<Forwarded>)>,
    /// Those that it has, and that the primary knows nothing of.
    recorded: u64,
    acknowledged: u64,
    standby: BTreeMap<Octets, (Option<Octets>, Vec<Octets>)>,
    /// Grows from one primary to the next.
    start: u32,
    /// What was forwarded when the usage that the standby has was measured.
    covered: Forwarded,
    /// What may be lost with primaries so far.
    lost: Forwarded,
    threads: VecDeque<FromThread>,
    left: VecDeque<Output>,
    network: VecDeque<Vec<u8>>,
    smf: TestSmf,
    forwarded: Forwarded,
    /// The data plane has URR 1 of the session.
    has_first: [bool; SESSIONS],
}

fn topology() -> Topology {
    let pools = "10.0.0.0/8".parse().into_iter().collect();
    Topology {
        gtpu: vec![GtpuEndpoint::new(UPF_ADDRESS.into())],
        networks: vec![Network::new(NetworkInstance::new("internet"), pools)],
        ..Topology::default()
    }
}

fn n4(primary: u32) -> N4 {
    let mut config = Config::new(causeway_types::NodeId::Ip(UPF_ADDRESS.into()), UPF_ADDRESS.into());
    config.heartbeat.interval = Span::ZERO;
    let endpoints = LocalEndpoints {
        gtpu: vec![LocalEndpoint { addr: DualIp::from(UPF_ADDRESS), network_instance: None }],
        networks: vec![NetworkInstance::new("internet")],
        ..LocalEndpoints::default()
    };
    let capabilities = Capabilities { outer_ipv6: false, ..Capabilities::all(64, 16) };
    let mut n4 = N4::new(config, capabilities, endpoints, NtpSeconds(3_900_000_000));
    n4.number_from(NtpSeconds(3_900_000_000), primary);
    n4
}

fn plane() -> FastPath {
    FastPath::new(topology(), Limits { max_sessions: 64, ..Limits::default() }).unwrap()
}

fn ue(session: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, 1 + session as u8)
}

fn identity() -> Identity {
    Identity { recovery: NtpSeconds(3_900_000_000), secret: [1, 2, 3] }
}

fn volumes(total: u64) -> Volumes {
    Volumes { total: Some(total), uplink: None, downlink: None }
}

fn establishment(session: usize) -> SessionEstablishmentRequest<'static> {
    let mut pdrs = [uplink_pdr(ue(session)), downlink_pdr(ue(session))];
    pdrs.iter_mut().for_each(|pdr| pdr.urr_ids = [UrrId(1), UrrId(2)].into());
    let fars = [uplink_far(), downlink_far_to(7 + session as u32, GNB)];
    let quota = CreateUrr {
        volume_quota: Some(VolumeQuota(volumes(QUOTA))),
        ..CreateUrr::new(UrrId(2), MeasurementMethod::VOLUM, ReportingTriggers::VOLQU)
    };
    let cp = FSeid { seid: Seid(1 + session as u64), addr: SMF.ip().into() };
    SessionEstablishmentRequest {
        create_urrs: [volume_urr(1, THRESHOLD), quota].into(),
        pdn_type: Some(PdnType::Ipv4),
        ..SessionEstablishmentRequest::new(NodeId::Ip(SMF.ip()), cp, pdrs, fars)
    }
}

impl World {
    fn new() -> Self {
        let mut world = Self::with(Time::from_secs(1_700_000_000), BTreeMap::new(), 1);
        let setup = AssociationSetupRequest::new(NodeId::Ip(SMF.ip()), RecoveryTimeStamp(NtpSeconds(1000)));
        world.request(None, 0, setup.into());
        world.settle();
        for session in 0..SESSIONS {
            world.request(Some(Seid(0)), session, establishment(session).into());
            world.settle();
            assert!(world.smf.seids[session].is_some());
            world.smf.granted[session] = QUOTA;
        }
        world
    }

    /// A primary with what the standby had.
    fn with(now: Time, standby: BTreeMap<Octets, (Option<Octets>, Vec<Octets>)>, start: u32) -> Self {
        let record = |(key, (state, responses)): (&Octets, &(Option<Octets>, Vec<Octets>))| Record {
            key: key.clone(),
            state: state.clone(),
            responses: responses.clone(),
        };
        let (head, next_change) = ChainHead::detached(standby.iter().map(record).collect());
        let mut world = Self {
            now,
            n4: n4(start),
            plane: plane(),
            replication: Replication::new(head, INTERVAL),
            next_change: Box::new(next_change),
            changes: VecDeque::new(),
            recorded: 0,
            acknowledged: 0,
            standby,
            start,
            covered: [[0; URRS]; SESSIONS],
            lost: [[0; URRS]; SESSIONS],
            threads: VecDeque::new(),
            left: VecDeque::new(),
            network: VecDeque::new(),
            smf: TestSmf::default(),
            forwarded: [[0; URRS]; SESSIONS],
            has_first: [true; SESSIONS],
        };
        world.replication.begin(now, &mut world.n4, identity());
        let plans: Vec<(ApplyId, Plan)> = std::iter::from_fn(|| world.n4.poll_output())
            .filter_map(
                |output| if let Output::Apply { id, plan } = output { Some((id, plan)) } else { None },
            )
            .collect();
        for (id, plan) in plans {
            world.note_urrs(&plan);
            let applied = world.plane.apply(now, &plan);
            world.n4.applied(now, id, applied);
        }
        for usage in world.replication.record_changes(now, &mut world.n4) {
            for RestoredUsage { session, snapshot, urrs } in usage.iter() {
                assert!(world.plane.restore_usage(now, *session, snapshot, urrs));
            }
        }
        world.take_events();
        world
    }

    /// The primary fails; another one begins with what the standby has.
    fn fail(&mut self) {
        let of = |at: usize, urr: usize| self.lost[at][urr] + self.forwarded[at][urr] - self.covered[at][urr];
        let lost = std::array::from_fn(|at| std::array::from_fn(|urr| of(at, urr)));
        let next = Self::with(self.now + Span::from_millis(300), self.standby.clone(), self.start + 1);
        let old = std::mem::replace(self, next);
        self.lost = lost;
        (self.smf, self.forwarded, self.covered) = (old.smf, old.forwarded, old.forwarded);
    }

    fn request(&mut self, seid: Option<Seid>, session: usize, message: Message<'_>) {
        self.smf.sequence += 1;
        let mut octets = Vec::new();
        message.encode(seid, self.smf.sequence, &mut octets).unwrap();
        self.smf.open.insert(self.smf.sequence, (session, octets.clone()));
        self.arrives(&octets);
    }

    fn arrives(&mut self, octets: &[u8]) {
        self.n4.datagram(self.now, SMF, octets);
        self.follow();
    }

    /// As the control thread does it: what has changed is recorded, then outputs are executed.
    fn follow(&mut self) {
        let mut associations = false;
        while let Some(output) = self.n4.poll_output() {
            associations |= matches!(output, Output::Send { .. });
            self.left.push_back(output);
        }
        self.replication.follow(&mut self.n4, associations);
        self.take_changes(None);
        while let Some(output) = self.left.pop_front() {
            match output {
                Output::Send { to, bytes } => {
                    assert_eq!(to, SMF);
                    if let Some((_, octets)) = self.replication.hold(to, bytes) {
                        self.network.push_back(octets);
                    }
                }
                Output::Apply { id, plan } => {
                    self.plane.advance(self.now);
                    self.take_events();
                    let applied = self.plane.apply(self.now, &plan);
                    self.note_urrs(&plan);
                    self.threads.push_back(FromThread::Applied(id, applied));
                    self.take_events();
                }
                _ => {}
            }
        }
    }

    fn take_changes(&mut self, measured: Option<Forwarded>) {
        while let Some(change) = (self.next_change)() {
            self.changes.push_back((change, measured));
        }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.plane.poll_event() {
            self.threads.push_back(FromThread::Event(event));
        }
    }

    fn packets(&mut self, session: usize, count: u8) {
        for _ in 0..count {
            let mut packet = vec![0x45, 0, 0, PACKET as u8, 0, 0, 0x40, 0, 64, 17, 0, 0, 8, 8, 8, 8];
            packet.extend(ue(session).octets());
            packet.extend([0, 53, 0x12, 0x34, 0, PACKET as u8 - 20, 0, 0]);
            packet.resize(PACKET as usize, 0);
            let sum = causeway_packet::checksum::checksum(&packet[..20]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
            let ingress = Ingress::Ip { network: NetworkInstance::new("internet") };
            let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
            if self.plane.process(self.now, &ingress, &packet, &mut sent) == Disposition::Forwarded {
                self.forwarded[session][0] += if self.has_first[session] { PACKET } else { 0 };
                self.forwarded[session][1] += PACKET;
            }
            self.take_events();
        }
    }

    fn ask(&mut self) {
        // A round of a few sessions is one step.
        self.now = self.now + INTERVAL;
        self.plane.advance(self.now);
        self.take_events();
        let may_ask = self.replication.next_usage_step().is_some();
        let sessions = self.replication.ask_for_usage(self.now, &self.n4);
        assert_eq!(sessions.is_empty(), !may_ask, "all sessions are asked for in one step");
        self.take_changes(None);
        if !sessions.is_empty() {
            self.replication.asked_for_usage(1);
            let of = |(seid, since): &(Seid, Time)| {
                Some((*seid, self.plane.usage_snapshot(self.now, *seid, *since)?))
            };
            let snapshots = sessions.iter().filter_map(of).collect();
            self.threads.push_back(FromThread::Usage(snapshots, self.forwarded));
        }
    }

    fn report(&mut self, count: usize) {
        for _ in 0..count {
            match self.threads.pop_front() {
                None => return,
                Some(FromThread::Applied(id, result)) => self.n4.applied(self.now, id, result),
                Some(FromThread::Event(event)) => self.n4.event(self.now, event),
                Some(FromThread::Usage(snapshots, forwarded)) => {
                    self.replication.usage_measured(&self.n4, snapshots);
                    self.take_changes(Some(forwarded));
                }
            }
            self.follow();
        }
    }

    fn record(&mut self, count: usize) {
        for _ in 0..count {
            let Some((change, measured)) = self.changes.pop_front() else { return };
            let held = self.standby.entry(change.key).or_default();
            held.0 = change.state;
            if held.1.len() == causeway_chain::OPEN_REQUESTS {
                let empty = held.1.iter().position(|responses| has_no_responses(responses));
                held.1.remove(empty.unwrap_or(0));
            }
            held.1.push(change.responses);
            self.recorded += 1;
            if let Some(forwarded) = measured {
                self.covered = forwarded;
            }
        }
    }

    fn acknowledge(&mut self, count: usize) {
        self.acknowledged = (self.acknowledged + count as u64).min(self.recorded);
        self.replication.acknowledged(self.acknowledged);
        while let Some((_, octets)) = self.replication.release() {
            self.network.push_back(octets);
        }
    }

    /// The SMF gets datagrams, and repeats requests without a response.
    fn deliver(&mut self, count: usize, is_lost: bool) {
        for _ in 0..count {
            let Some(octets) = self.network.pop_front() else { return };
            for answer in self.smf.receive(&octets) {
                if !is_lost {
                    self.arrives(&answer);
                }
            }
        }
    }

    /// Everything arrives, until nothing is left to do.
    fn settle(&mut self) {
        for _ in 0..64 {
            let open: Vec<Vec<u8>> = self.smf.open.values().map(|(_, octets)| octets.clone()).collect();
            for _ in 0..32 {
                self.report(usize::MAX);
                self.record(usize::MAX);
                self.acknowledge(1 << 20);
                self.deliver(usize::MAX, false);
            }
            if self.smf.open.is_empty()
                && self.network.is_empty()
                && self.n4.occupancy().unanswered_requests == 0
            {
                return;
            }
            self.wait(Span::from_secs(3));
            open.iter().for_each(|octets| self.arrives(octets));
        }
        panic!("the SMF gets no response: {:?}", self.smf.open);
    }

    fn wait(&mut self, span: Span) {
        self.now = self.now + span;
        self.plane.advance(self.now);
        self.take_events();
        self.n4.timer(self.now);
        self.follow();
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Packets(session, count) => self.packets(session, count),
            Action::Wait(millis) => self.wait(Span::from_millis(millis)),
            Action::Ask => self.ask(),
            Action::Report(count) => self.report(count),
            Action::Record(count) => self.record(count),
            Action::Acknowledge(count) => self.acknowledge(count),
            Action::Deliver(count, is_lost) => self.deliver(count, is_lost),
            Action::Query(session) => {
                let request = SessionModificationRequest {
                    query_urrs: [QueryUrr::new(UrrId(2))].into(),
                    ..SessionModificationRequest::default()
                };
                self.ask_smf(session, request.into());
            }
            Action::Replace(session) => {
                let measured =
                    |pdr| UpdatePdr { urr_ids: [UrrId(1), UrrId(2)].into(), ..UpdatePdr::new(PdrId(pdr)) };
                let none = SessionModificationRequest::default();
                let request = match self.smf.lacks_first[session] {
                    false => {
                        SessionModificationRequest { remove_urrs: [RemoveUrr::new(UrrId(1))].into(), ..none }
                    }
                    true => SessionModificationRequest {
                        create_urrs: [volume_urr(1, THRESHOLD)].into(),
                        update_pdrs: [measured(1), measured(2)].into(),
                        ..none
                    },
                };
                if self.ask_smf(session, request.into()) {
                    self.smf.lacks_first[session] = !self.smf.lacks_first[session];
                }
            }
            Action::Fail => self.fail(),
        }
    }

    /// An SMF has one request of a session open at a time.
    fn ask_smf(&mut self, session: usize, message: Message<'_>) -> bool {
        let is_idle = self.smf.open.values().all(|(open, _)| *open != session);
        if is_idle {
            self.request(self.smf.seids[session], session, message);
        }
        is_idle
    }

    /// What the data plane has of URR 1 from now on.
    fn note_urrs(&mut self, plan: &Plan) {
        let Some(session) = self.n4.session_index(plan.session).map(|index| index as usize) else { return };
        if let Some(installed) = plan.change.installed() {
            self.has_first[session] = installed.rules().urrs.contains_key(&UrrId(1));
        }
        for op in plan.ops().iter() {
            match op {
                Op::PutUrr(urr) if urr.id == UrrId(1) => self.has_first[session] = true,
                Op::RemoveUrr(UrrId(1)) => self.has_first[session] = false,
                _ => {}
            }
        }
    }
}

impl TestSmf {
    /// Takes a datagram. Returns what it sends.
    fn receive(&mut self, octets: &[u8]) -> Vec<Vec<u8>> {
        let (header, body, _) = Header::decode(octets).unwrap();
        let message = Message::decode(&header, body).unwrap();
        if let Message::SessionReportRequest(request) = &message {
            return self.reported(&header, request);
        }
        let Some((session, _)) = self.open.remove(&header.sequence) else { return Vec::new() };
        let usage = match &message {
            Message::AssociationSetupResponse(_) | Message::AssociationReleaseResponse(_) => {
                return Vec::new();
            }
            Message::SessionEstablishmentResponse(response) => {
                self.seids[session] = response.up_f_seid.map(|it| it.seid);
                return Vec::new();
            }
            Message::SessionModificationResponse(response) => {
                assert!(response.cause.is_accepted(), "{response:?}");
                &response.usage_reports
            }
            Message::SessionDeletionResponse(response) => {
                assert!(response.cause.is_accepted(), "{response:?}");
                &response.usage_reports
            }
            other => panic!("{other:?}"),
        };
        let reports: Vec<_> = usage.iter().collect();
        self.count(session, &reports);
        Vec::new()
    }

    fn count(&mut self, session: usize, reports: &[UsageReport<'_>]) {
        for report in reports {
            let octets = report.volume_measurement.map_or(0, |volume| volume.octets.total.unwrap_or(0));
            self.reported[session][report.urr_id.0 as usize - 1] += octets;
        }
    }

    fn reported(&mut self, header: &Header, request: &SessionReportRequest<'_>) -> Vec<Vec<u8>> {
        if let Some(answer) = self.answered.get(&header.sequence) {
            return vec![answer.clone()];
        }
        let session = header.seid.unwrap().0 as usize - 1;
        let reports: Vec<_> = request.usage_reports.iter().collect();
        self.count(session, &reports);
        let mut answer = Vec::new();
        let response = SessionReportResponse::new(Cause::RequestAccepted);
        Message::from(response).encode(self.seids[session], header.sequence, &mut answer).unwrap();
        self.answered.insert(header.sequence, answer.clone());
        let mut sent = vec![answer];
        let is_exhausted = |report: &UsageReport<'_>| {
            report.urr_id == UrrId(2) && report.usage_report_trigger.contains(UsageReportTrigger::VOLQU)
        };
        let is_idle = self.open.values().all(|(open, _)| *open != session);
        if reports.iter().any(is_exhausted) && is_idle {
            self.sequence += 1;
            self.granted[session] += QUOTA;
            let update =
                UpdateUrr { volume_quota: Some(VolumeQuota(volumes(QUOTA))), ..UpdateUrr::new(UrrId(2)) };
            let request = SessionModificationRequest {
                update_urrs: [update].into(),
                ..SessionModificationRequest::default()
            };
            let mut octets = Vec::new();
            Message::from(request).encode(self.seids[session], self.sequence, &mut octets).unwrap();
            self.open.insert(self.sequence, (session, octets.clone()));
            sent.push(octets);
        }
        sent
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    // Input:  packets of three sessions, thresholds and quotas reached, queries, a URR that is replaced, snapshots, and messages between threads, members and the SMF
    //         that are under way for any time, lost, or repeated; the primary fails at any step, and the standby has any part of its last changes. At the end
    //         the SMF deletes the sessions.
    // Output: the SMF was told of each URR no more than what was forwarded, and of all but what was forwarded since the last snapshot that the standby had
    //         when the primary failed. No more passes than the quotas and what was lost.
    #[test]
    fn usage_is_reported_once_whenever_the_primary_fails(
        actions in proptest::collection::vec(action(), 1..150),
    ) {
        let mut world = World::new();
        for action in actions {
            world.act(action);
        }
        world.settle();
        for session in 0..SESSIONS {
            let seid = world.smf.seids[session];
            world.request(seid, session, SessionDeletionRequest::default().into());
        }
        world.settle();
        for session in 0..SESSIONS {
            for urr in 0..URRS {
                let (forwarded, lost) = (world.forwarded[session][urr], world.lost[session][urr]);
                let reported = world.smf.reported[session][urr];
                prop_assert!(reported <= forwarded, "URR {}: {reported} of {forwarded} were reported", urr + 1);
                prop_assert!(
                    reported + lost >= forwarded,
                    "URR {}: {reported} of {forwarded} were reported, and {lost} may be lost", urr + 1
                );
            }
            let (forwarded, lost) = (world.forwarded[session][1], world.lost[session][1]);
            let granted = world.smf.granted[session] + lost;
            prop_assert!(forwarded <= granted, "{forwarded} passed, {granted} were granted or lost");
        }
    }
}

// Input:  two associations, then 100 that begin and end beside them, each of another node; the primary fails; one of the two ends, and two others begin.
// Output: there are three records of associations at most, since places are taken again; the next primary has the associations, and goes on with their places.
#[test]
fn places_of_associations_are_taken_again() {
    let mut world = World::new();
    let mut keys = BTreeSet::new();
    let begin = |world: &mut World, name: &str| {
        let node = NodeId::Fqdn(Fqdn::new(name));
        let setup = AssociationSetupRequest::new(node, RecoveryTimeStamp(NtpSeconds(1000)));
        world.request(None, 0, setup.into());
    };
    let end = |world: &mut World, name: &str| {
        world.request(None, 0, AssociationReleaseRequest::new(NodeId::Fqdn(Fqdn::new(name))).into());
    };
    let settle = |world: &mut World, keys: &mut BTreeSet<Octets>| {
        let of_association =
            |(change, _): &(Change, Option<Forwarded>)| change.key.first() == Some(&ASSOCIATION);
        keys.extend(
            world.changes.iter().filter(|it| of_association(it)).map(|(change, _)| change.key.clone()),
        );
        world.settle();
    };
    begin(&mut world, "stays.example");
    settle(&mut world, &mut keys);
    for number in 0..100 {
        begin(&mut world, &format!("smf{number}.example"));
        settle(&mut world, &mut keys);
        end(&mut world, &format!("smf{number}.example"));
        settle(&mut world, &mut keys);
    }
    world.fail();
    let names = |world: &World| {
        world.n4.association_records().map(|(node, _)| node.to_string()).collect::<BTreeSet<_>>()
    };
    assert_eq!(names(&world), BTreeSet::from([SMF.ip().to_string(), "stays.example".into()]));
    end(&mut world, "stays.example");
    settle(&mut world, &mut keys);
    for name in ["one.example", "two.example"] {
        begin(&mut world, name);
        settle(&mut world, &mut keys);
    }
    assert_eq!(names(&world).len(), 3);
    assert_eq!(keys.len(), 2, "of the three, that of World::new was there before: {keys:?}");
    let recorded =
        world.standby.iter().filter(|(key, (state, _))| key.first() == Some(&ASSOCIATION) && state.is_some());
    assert_eq!(recorded.count(), 3);
}
