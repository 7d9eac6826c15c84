//! N4 in several parts does what N4 in one part does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU8;

use causeway_dataplane::{BackendError, DownlinkData, Event};
use causeway_model::Pdr;
use causeway_n4::{Config, Heartbeat, Limits};
use causeway_pfcp::*;
use causeway_rules::AddressPool;
use causeway_types::{
    FSeid, NetworkInstance as Network, NtpSeconds, PdrId, Seid, Span, UrrId, UsageReportTrigger,
};
use proptest::prelude::*;

use crate::fixture::{
    Got, Pace, Smf, TestN4, activation, capabilities, config, encode, query, used, volume_urr, wrong_update,
};
use crate::requests::{Ue, Wanted, with};

/// What happens in a step. Three numbers choose the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Establish,
    /// With a CP F-SEID that another session has, or had.
    Reuse,
    Activate,
    Query,
    AddUrr,
    Wrong,
    Delete,
    /// The CP F-SEID of a session changes.
    MoveCp,
    /// Another SMF takes a session over.
    TakeOver,
    Bundle,
    Repeat,
    Usage,
    Downlink,
    Answer,
    Apply,
    Fail,
    Pass,
    Setup,
    Heartbeat,
    Restart,
    PrepareRelease,
    Release,
    DeleteSet,
    MoveSet,
    /// A heartbeat, an establishment and a heartbeat in one datagram.
    BundleOfNode,
    /// A setup with which sessions are retained.
    Retain,
    /// A path fails or recovers.
    Path,
    Pfds,
    /// The operator ends an association.
    End,
    /// The operator has an association released.
    AskForRelease,
    Drain,
    ShortOfMemory,
    /// Other address pools.
    Pools,
}

impl Kind {
    /// An establishment may replace others, of several parts.
    const fn is_about_one_session(self) -> bool {
        use Kind::*;
        matches!(self, Activate | Query | AddUrr | Wrong | Delete | MoveCp | TakeOver | Apply | Fail)
    }
}

type Step = (Kind, [u8; 3]);

fn step() -> impl Strategy<Value = Step> {
    use Kind::*;
    let of = |weight: u32, kind: Kind| (weight, Just(kind));
    let often = [of(12, Establish), of(2, Reuse), of(6, Activate), of(3, Query), of(2, AddUrr), of(2, Wrong)];
    let more = [of(7, Delete), of(3, MoveCp), of(2, TakeOver), of(3, Bundle), of(4, Repeat), of(5, Usage)];
    let plane = [of(3, Downlink), of(7, Answer), of(26, Apply), of(3, Fail), of(4, Pass)];
    let node = [of(2, Setup), of(1, Heartbeat), of(1, Restart), of(1, DeleteSet), of(1, MoveSet)];
    let others = [of(2, BundleOfNode), of(1, Retain), of(1, Path), of(1, Pfds)];
    let operator = [of(1, Drain), of(1, ShortOfMemory), of(1, Pools)];
    let all = often.into_iter().chain(more).chain(plane).chain(node).chain(others).chain(operator).collect();
    let rarely = prop::strategy::Union::new_weighted(all);
    let ends = prop_oneof![Just(PrepareRelease), Just(Release), Just(End), Just(AskForRelease)];
    let kind = prop_oneof![80 => rarely, 1 => ends];
    (kind, any::<[u8; 3]>())
}

/// A session set of some sessions.
const CSID: FqCsid<'static> = FqCsid { address: CsidAddress::Operator(7), csids: &[[0, 1]], node: None };

/// Framed routes, some inside others, and some that contain addresses of UEs.
const ROUTES: [&str; 6] =
    ["172.16.0.0/16", "172.16.1.0/24", "172.16.2.0/24", "172.17.0.0/24", "10.30.0.0/29", "10.30.0.0/24"];

/// One of the two that are compared.
struct Side {
    fixture: TestN4,
    /// The numbers of the sessions, in the order in which they were established.
    numbers: BTreeMap<Seid, usize>,
    seids: Vec<Seid>,
}

impl Side {
    fn new(config: Config, parts: u8) -> Self {
        let parts = NonZeroU8::new(parts).expect("there are some");
        let mut fixture = TestN4::in_parts(config, capabilities(), parts);
        fixture.plane.pace = Pace::Held;
        Self { fixture, numbers: BTreeMap::new(), seids: Vec::new() }
    }

    /// The SEID of a session; one that no session has if there is none with this number.
    fn seid(&self, number: usize) -> Seid {
        self.seids.get(number).copied().unwrap_or(Seid(9))
    }

    /// Numbers the sessions that are new among the plans in flight. Returns their number.
    fn number_sessions(&mut self) -> usize {
        let new = self.fixture.plane.held.iter().filter(|(_, plan)| plan.change.is_installation());
        let new: Vec<_> =
            new.map(|(_, plan)| plan.session).filter(|it| !self.numbers.contains_key(it)).collect();
        for seid in &new {
            self.numbers.insert(*seid, self.seids.len());
            self.seids.push(*seid);
        }
        new.len()
    }

    /// The messages sent since, without what is the UPF's choice: responses and requests.
    fn sent(&mut self) -> (Vec<Sent>, Vec<Sent>) {
        let sent: Vec<_> = self.fixture.sent.drain(..).collect();
        let all = sent.into_iter().map(|(to, bytes)| {
            let received = Got::from_bytes(&bytes);
            let text = self.text(&received);
            Sent { to, text, received }
        });
        all.partition(|sent| !sent.received.kind().is_request())
    }

    fn text(&self, received: &Got) -> String {
        let message = match received.message() {
            Message::SessionEstablishmentResponse(mut it) => {
                let session = it.up_f_seid.take().map(|up| self.numbers.get(&up.seid).copied());
                let chosen = |pdr: CreatedPdr<'_>| {
                    format!("{:?} {} {:?}", pdr.pdr_id, pdr.local_f_teid.is_some(), pdr.ue_ip_addresses)
                };
                let pdrs: Vec<_> = it.created_pdrs.iter().map(chosen).collect();
                it.created_pdrs = Many::default();
                format!("{session:?} {pdrs:?} {it:?}")
            }
            message => format!("{message:?}"),
        };
        let number = (!received.kind().is_request()).then_some(received.header.sequence);
        without_chosen(&format!("{number:?} {:?} {message}", received.header.seid))
    }

    fn notices(&mut self) -> Vec<String> {
        let notices = self.fixture.notices.drain(..).map(|notice| {
            let text = format!("{notice:?}");
            let name = text.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
            name.to_owned()
        });
        let mut all: Vec<_> = notices.collect();
        all.sort();
        all
    }

    /// The established sessions, without the UPF's numbers.
    fn sessions(&self) -> Vec<String> {
        let without_tunnel = |pdr: &Pdr| {
            let mut pdr = pdr.clone();
            let has_tunnel = pdr.pdi.tunnel.take().is_some();
            format!("{has_tunnel} {pdr:?}")
        };
        let sessions = self.fixture.n4.sessions().map(|it| {
            let rules = it.rules();
            let pdrs: Vec<_> = rules.pdrs.values().map(without_tunnel).collect();
            let rest = (&rules.fars, &rules.qers, &rules.urrs, &rules.bars, it.since, it.waiting_reports);
            let number = self.numbers.get(&it.seid);
            format!("{number:?} {:?} {:?} {:?} {pdrs:?} {rest:?}", it.cp, it.node, it.user())
        });
        let mut all: Vec<_> = sessions.map(|text| without_chosen(&text)).collect();
        all.sort();
        all
    }
}

/// The text without the addresses that the UPF chose.
fn without_chosen(text: &str) -> String {
    let mut parts = text.split("10.45.0.");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        all + "chosen" + part.trim_start_matches(|digit: char| digit.is_ascii_digit())
    })
}

/// A message of the UPF.
#[derive(Clone, Debug)]
struct Sent {
    to: SocketAddr,
    text: String,
    received: Got,
}

fn pool(range: &str) -> AddressPool {
    let (network, range) = (Network::new("internet"), range.parse().expect("a subnet"));
    AddressPool { network, range, name: None, reserved: Vec::new() }
}

/// N4 in one part and in several, with the same SMFs.
struct Both {
    sides: [Side; 2],
    config: Config,
    smfs: [Smf; 3],
    /// The CP F-SEIDs of all sessions, and their SMFs.
    cps: Vec<(usize, FSeid)>,
    /// Those that sessions get or got by a change.
    moved: BTreeSet<FSeid>,
    /// The last requests.
    last: VecDeque<(SocketAddr, [Vec<u8>; 2])>,
    /// Requests of the UPF.
    open: Vec<(SocketAddr, [Got; 2])>,
}

impl Both {
    fn new(limits: Limits, heartbeats: Span, parts: u8) -> Self {
        let address_pools = vec![pool("10.45.0.0/27")];
        let heartbeat = Heartbeat { interval: heartbeats, ..Heartbeat::default() };
        let config =
            Config { limits, heartbeat, address_pools, address_rest: Span::from_secs(3), ..config() };
        let sides = [Side::new(config.clone(), 1), Side::new(config.clone(), parts)];
        let smfs = [10, 11, 12].map(Smf::new);
        let (cps, moved) = (Vec::new(), BTreeSet::new());
        let mut both = Self { sides, config, smfs, cps, moved, last: VecDeque::new(), open: Vec::new() };
        (0..3).for_each(|smf| both.set_up(smf));
        both
    }

    /// The first two SMFs are of one set; the last supports the enhanced release. None wants to know the load: which
    /// message to an SMF has it depends on their order.
    fn set_up(&mut self, smf: usize) {
        let setup = self.setup(smf);
        self.request(smf, None, setup);
    }

    fn setup(&self, smf: usize) -> AssociationSetupRequest<'static> {
        let setup = self.smfs[smf].setup();
        let of_set = AssociationSetupRequest {
            cp_function_features: Some(CpFeatures::MPAS | CpFeatures::SSET),
            smf_set_id: Some(SmfSetId(Fqdn::new("set1.example"))),
            ..setup.clone()
        };
        let alone = AssociationSetupRequest { cp_function_features: Some(CpFeatures::EPFAR), ..setup };
        if smf < 2 { of_set } else { alone }
    }

    /// An SMF sends a request; about a session if that is given, and to no known SEID otherwise.
    fn request<'a>(&mut self, smf: usize, session: Option<usize>, message: impl Into<Message<'a>>) {
        let message = message.into();
        let smf = &mut self.smfs[smf];
        smf.sequence += 1;
        let is_of_node = !message.message_type().is_session_related();
        let bytes = self.sides.each_ref().map(|side| {
            let seid = session.map_or(Seid(0), |session| side.seid(session));
            encode((!is_of_node).then_some(seid), smf.sequence, message.clone())
        });
        let from = smf.addr;
        self.last.push_front((from, bytes.clone()));
        self.last.truncate(12);
        self.deliver(from, bytes);
    }

    fn deliver(&mut self, from: SocketAddr, bytes: [Vec<u8>; 2]) {
        for (side, bytes) in self.sides.iter_mut().zip(bytes) {
            side.fixture.deliver(from, &bytes);
        }
    }

    fn event(&mut self, event: impl Fn(Seid) -> Event, session: usize) {
        for side in &mut self.sides {
            let event = event(side.seid(session));
            side.fixture.event(event);
        }
    }

    /// A new CP F-SEID.
    fn cp(&mut self, smf: usize) -> FSeid {
        let cp = self.smfs[smf].f_seid();
        self.cps.push((smf, cp));
        cp
    }

    /// The same for a session that has another one.
    fn moved_cp(&mut self, smf: usize) -> FSeid {
        let cp = self.cp(smf);
        self.moved.insert(cp);
        cp
    }

    /// Two live sessions would have this CP F-SEID: one gets it already, by a change. Which of them counts then may differ.
    fn is_on_its_way(&self, cp: &FSeid) -> bool {
        self.moved.contains(cp) && !self.sides[0].fixture.n4.sessions().any(|session| session.cp == *cp)
    }

    /// A number of a session, often a late one; sometimes one that there is not yet.
    fn session(&self, pick: u8) -> usize {
        let count = self.sides[0].seids.len();
        (count + 1).saturating_sub(1 + usize::from(pick) % 12)
    }

    fn establish(&mut self, smf: usize, cp: FSeid, numbers: [u8; 3]) {
        let request = self.establishment(smf, cp, numbers);
        self.request(smf, None, request);
    }

    fn establishment(
        &self,
        smf: usize,
        cp: FSeid,
        [_, b, c]: [u8; 3],
    ) -> SessionEstablishmentRequest<'static> {
        let contested = Ue::At(Ipv4Addr::new(10, 30, 0, b % 12));
        let ue = [Ue::Own, Ue::Own, Ue::Chosen, Ue::Chosen, contested][usize::from(b) % 5];
        // The UPF does not choose these TEIDs: whether it has chosen one already may differ.
        let teid = (c % 7 == 0).then_some(0xffff_fff0 + u32::from(c / 7) % 8);
        let route = (c % 11 == 1).then(|| ROUTES[usize::from(c / 11) % ROUTES.len()]);
        let request = with(&self.smfs[smf], cp, Wanted { ue, teid, route });
        let fq_csids = if c % 13 == 2 { [CSID].into() } else { Many::default() };
        let later = NtpSeconds(self.smfs[smf].recovery.0 + u32::from(c % 17 == 3) * 100);
        let recovery_time_stamp = (c % 17 < 6).then_some(RecoveryTimeStamp(later));
        let user_id = (c % 19 == 4).then(|| UserId { imsi: Some(Octets(b"\x01\x02")), ..UserId::default() });
        SessionEstablishmentRequest { fq_csids, recovery_time_stamp, user_id, ..request }
    }

    /// The operator does something with both.
    fn operate(&mut self, act: impl Fn(&mut TestN4)) {
        for Side { fixture, .. } in &mut self.sides {
            act(fixture);
            fixture.drain();
        }
    }

    fn take(&mut self, (kind, numbers): Step) {
        let [a, b, c] = numbers;
        let (session, smf) = (self.session(a), usize::from(b) % 3);
        let of_session = Some(session);
        let owner = self.cps.len().checked_sub(1 + usize::from(a) % 12).map_or(smf, |at| self.cps[at].0);
        match kind {
            Kind::Establish => {
                let smf = usize::from(a) % 3;
                let cp = self.cp(smf);
                self.establish(smf, cp, numbers);
            }
            Kind::Reuse => {
                let at = self.cps.len().saturating_sub(1 + usize::from(a) % 12);
                let Some((smf, cp)) = self.cps.get(at).copied() else { return };
                if !self.is_on_its_way(&cp) {
                    self.establish(smf, cp, numbers);
                }
            }
            Kind::Activate => self.request(owner, of_session, activation(c.into())),
            Kind::Query => self.request(owner, of_session, query()),
            Kind::AddUrr => {
                let create_urrs = [volume_urr(2 + u32::from(c % 4))].into();
                let request =
                    SessionModificationRequest { create_urrs, ..SessionModificationRequest::default() };
                self.request(owner, of_session, request);
            }
            Kind::Wrong => self.request(owner, of_session, wrong_update()),
            Kind::Delete => self.request(owner, of_session, SessionDeletionRequest::default()),
            Kind::MoveCp => {
                let cp = self.moved_cp(owner);
                self.request(
                    owner,
                    of_session,
                    SessionModificationRequest { cp_f_seid: Some(cp), ..activation(c.into()) },
                );
            }
            Kind::TakeOver => {
                let (cp_f_seid, node_id) = (Some(self.moved_cp(smf)), Some(self.smfs[smf].node_id()));
                self.request(smf, of_session, SessionModificationRequest { cp_f_seid, node_id, ..query() });
            }
            Kind::Bundle => self.bundle(owner, numbers),
            Kind::Repeat => {
                let at = usize::from(a) % self.last.len();
                let (mut from, bytes) = self.last[at].clone();
                if b % 4 == 0 {
                    from.set_port(9000);
                }
                self.deliver(from, bytes);
            }
            Kind::Usage => {
                let now = self.sides[0].fixture.now;
                let usage = used(now, UrrId(1), c.into(), UsageReportTrigger::VOLTH);
                self.event(|session| Event::Usage { session, usage: vec![usage.clone()] }, session);
            }
            Kind::Downlink => {
                let data = DownlinkData { pdr: PdrId(2), qfi: None, dscp: None, status: None };
                self.event(|session| Event::DownlinkData { session, data }, session);
            }
            Kind::Answer => self.answer(numbers),
            Kind::Apply => self.apply(a, false),
            Kind::Fail => self.apply(a, true),
            Kind::Pass => {
                let span = Span::from_millis(u64::from(a) * 40);
                self.sides.iter_mut().for_each(|side| side.fixture.pass(span));
            }
            Kind::Setup => self.set_up(smf),
            Kind::Heartbeat | Kind::Restart => {
                let recovery = NtpSeconds(self.smfs[smf].recovery.0 + u32::from(kind == Kind::Restart));
                self.smfs[smf].recovery = recovery;
                self.request(smf, None, HeartbeatRequest::new(RecoveryTimeStamp(recovery)));
            }
            Kind::PrepareRelease => {
                let (flags, node) = (Some(AssociationUpdateFlags::PARPS), self.smfs[2].node_id());
                self.request(
                    2,
                    None,
                    AssociationUpdateRequest { flags, ..AssociationUpdateRequest::new(node) },
                );
            }
            Kind::Release => {
                self.request(smf, None, AssociationReleaseRequest::new(self.smfs[smf].node_id()));
            }
            Kind::DeleteSet => {
                let (fq_csids, node) = ([CSID].into(), self.smfs[smf].node_id());
                self.request(
                    smf,
                    None,
                    SessionSetDeletionRequest { fq_csids, ..SessionSetDeletionRequest::new(node) },
                );
            }
            Kind::MoveSet => {
                let addr = self.smfs[1 - smf.min(1)].ip().into();
                let mut info = SessionChangeInfo::new(AlternativeSmfIpAddress { addr, preferred: false });
                info.fq_csids = [CSID].into();
                self.request(smf, None, SessionSetModificationRequest::new(self.smfs[smf].node_id(), [info]));
            }
            Kind::BundleOfNode => self.bundle_of_node(smf, numbers),
            Kind::Retain => {
                self.smfs[smf].recovery.0 += u32::from(c % 2);
                let information = SessionRetentionInformation::default();
                let session_retention_information = Some(information);
                let setup = self.setup(smf);
                self.request(smf, None, AssociationSetupRequest { session_retention_information, ..setup });
            }
            Kind::Path => {
                let (local, peer) =
                    (Ipv4Addr::new(192, 0, 2, 100).into(), Ipv4Addr::new(192, 0, 2, 200).into());
                let event = [Event::PathDown { local, peer }, Event::PathUp { local, peer }];
                self.event(|_| event[usize::from(a) % 2].clone(), 0);
            }
            Kind::Pfds => {
                let contents =
                    PfdContents { domain_name: Some(Octets(b"a.example")), ..PfdContents::default() };
                let group = ApplicationIdsPfds {
                    pfd_contexts: [PfdContext::new([contents])].into(),
                    ..ApplicationIdsPfds::new(ApplicationId(if a % 2 == 0 { b"one" } else { b"two" }))
                };
                let request = PfdManagementRequest {
                    application_ids_pfds: [group].into(),
                    ..PfdManagementRequest::default()
                };
                self.request(smf, None, request);
            }
            Kind::End => {
                let node = self.smfs[smf].node();
                self.operate(|fixture| {
                    fixture.n4.end(fixture.now, &node);
                });
            }
            Kind::AskForRelease => {
                let node = self.smfs[smf].node();
                self.operate(|fixture| {
                    fixture.n4.release(fixture.now, &node);
                });
            }
            Kind::Drain => self.operate(|fixture| fixture.n4.set_draining(a % 4 == 0)),
            Kind::ShortOfMemory => self.operate(|fixture| fixture.n4.set_short_of_memory(a % 4 == 0)),
            Kind::Pools => {
                let ranges: &[&str] =
                    [&["10.45.0.0/28"][..], &["10.45.0.0/27"], &["10.45.0.64/28", "10.45.0.0/28"]]
                        [usize::from(a) % 3];
                let address_pools = ranges.iter().map(|range| pool(range)).collect();
                let config = Config { address_pools, ..self.config.clone() };
                self.operate(|fixture| fixture.n4.reconfigure(fixture.now, config.clone(), &[]));
            }
        }
    }

    /// Requests about several sessions in one datagram.
    fn bundle(&mut self, smf: usize, numbers: [u8; 3]) {
        let sessions = numbers.map(|pick| self.session(pick));
        let smf = &mut self.smfs[smf];
        let first = smf.sequence + 1;
        smf.sequence += 3;
        let bytes = self.sides.each_ref().map(|side| {
            let mut datagram = Vec::new();
            for (number, session) in (first..).zip(sessions) {
                let mut bytes = encode(Some(side.seid(session)), number, activation(number));
                bytes[0] |= if number == first + 2 { 0 } else { 4 };
                datagram.extend(bytes);
            }
            datagram
        });
        let from = smf.addr;
        self.deliver(from, bytes);
    }

    /// A heartbeat, an establishment and a heartbeat in one datagram; the heartbeats may show restarts.
    fn bundle_of_node(&mut self, smf: usize, numbers: [u8; 3]) {
        let cp = self.cp(smf);
        let request = self.establishment(smf, cp, numbers);
        let smf = &mut self.smfs[smf];
        let heartbeat = |smf: &mut Smf, is_later: bool| {
            smf.recovery.0 += u32::from(is_later);
            smf.request(None, HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery)))
        };
        let messages = [
            heartbeat(smf, numbers[0].is_multiple_of(2)),
            smf.request(Some(Seid(0)), request),
            heartbeat(smf, numbers[0].is_multiple_of(3)),
        ];
        let (from, datagram) = (smf.addr, crate::alone::with_follow_on(&messages));
        self.deliver(from, [datagram.clone(), datagram]);
    }

    /// An SMF responds to a request of the UPF.
    fn answer(&mut self, [a, b, c]: [u8; 3]) {
        if self.open.is_empty() {
            return;
        }
        let (to, received) = self.open.remove(usize::from(a) % self.open.len());
        let Some(smf) = self.smfs.iter().position(|smf| smf.addr == to) else { return };
        let recovery = RecoveryTimeStamp(self.smfs[smf].recovery);
        let node = self.smfs[smf].node_id();
        let (answer, seid): (Message<'_>, _) = match received[0].message() {
            Message::HeartbeatRequest(_) => (HeartbeatResponse::new(recovery).into(), None),
            Message::AssociationUpdateRequest(_) => {
                (AssociationUpdateResponse::new(node, Cause::RequestAccepted).into(), None)
            }
            Message::NodeReportRequest(_) => {
                (NodeReportResponse::new(node, Cause::RequestAccepted).into(), None)
            }
            Message::SessionReportRequest(_) => {
                let cause = match b % 12 {
                    0 => Cause::SessionContextNotFound,
                    1 => Cause::RequestRejected,
                    _ => Cause::RequestAccepted,
                };
                let cp_f_seid = (b % 12 == 2).then(|| self.moved_cp(smf));
                let fq_csid = (c % 8 == 0).then_some(CSID);
                (
                    SessionReportResponse { cp_f_seid, fq_csid, ..SessionReportResponse::new(cause) }.into(),
                    Some(Seid(0)),
                )
            }
            _ => return,
        };
        self.deliver(to, received.map(|it| encode(seid, it.header.sequence, answer.clone())));
    }

    /// The data planes apply a plan of the same session, or fail.
    fn apply(&mut self, pick: u8, fails: bool) {
        let [one, several] = &mut self.sides;
        let held = &mut one.fixture.plane.held;
        if held.is_empty() {
            return;
        }
        let at = usize::from(pick) % held.len();
        held.swap(0, at);
        let (_, plan) = &held[0];
        let seid = several.seid(one.numbers[&plan.session]);
        let held = &mut several.fixture.plane.held;
        let at = held.iter().position(|(_, plan)| plan.session == seid).expect("a plan of the same session");
        assert_eq!(held[at].1.ops().len(), plan.ops().len());
        held.swap(0, at);
        for side in [one, several] {
            side.fixture.plane.failures.extend(fails.then(|| BackendError::TimedOut.into()));
            side.fixture.apply_next();
        }
    }

    /// Both have done the same.
    fn compare(&mut self, step: Step) {
        let new = self.sides.each_mut().map(Side::number_sessions);
        assert_eq!(new[0], new[1], "new sessions");
        // What concerns several parts is sent part by part.
        let are_in_order = step.0.is_about_one_session();
        let [one, several] = self.sides.each_mut().map(Side::sent);
        let texts = |sent: &[Sent]| -> Vec<_> { sent.iter().map(|it| (it.to, it.text.clone())).collect() };
        let answers = [&one.0, &several.0].map(|answers| {
            let mut texts = texts(answers);
            match are_in_order {
                true => texts.sort_by_key(|(to, _)| *to),
                false => texts.sort(),
            }
            texts
        });
        assert_eq!(answers[0], answers[1], "responses");
        let requests = [one.1, several.1].map(|mut requests| {
            requests.sort_by(|one, other| (one.to, &one.text).cmp(&(other.to, &other.text)));
            requests
        });
        assert_eq!(texts(&requests[0]), texts(&requests[1]), "requests");
        let [one, several] = requests;
        let pairs = one.into_iter().zip(several);
        self.open.extend(pairs.map(|(one, several)| (one.to, [one.received, several.received])));
        let notices = self.sides.each_mut().map(Side::notices);
        assert_eq!(notices[0], notices[1], "notices");
        let occupancy = self.sides.each_ref().map(|side| side.fixture.n4.occupancy());
        assert_eq!(occupancy[0], occupancy[1]);
    }

    fn compare_all(&self) {
        let sessions = self.sides.each_ref().map(Side::sessions);
        assert_eq!(sessions[0], sessions[1]);
        let associations = self
            .sides
            .each_ref()
            .map(|side| side.fixture.n4.associations().map(|it| format!("{it:?}")).collect::<Vec<_>>());
        assert_eq!(associations[0], associations[1]);
        let counters = self.sides.each_ref().map(|side| {
            let counters = side.fixture.n4.counters();
            counters.messages().collect::<BTreeMap<_, _>>()
        });
        assert_eq!(counters[0], counters[1]);
        let pools = self.sides.each_ref().map(|side| side.fixture.n4.pools());
        assert_eq!(pools[0], pools[1]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    // Input:  the same random sequence of messages, plan results, events and times to N4 in one part, and in several that first handle
    //         alone what they can; with a limit of sessions that is never reached, or soon.
    // Output: the same responses in order, the same requests, notices and occupancy after each step; the same sessions, associations
    //         and counters in the end. SEIDs, TEIDs and sequence numbers may differ.
    #[test]
    fn several_parts_do_what_one_does(
        steps in prop::collection::vec(step(), 1..220), is_small: bool, beats: bool, parts in 2..6_u8,
    ) {
        let limits = Limits { sessions: if is_small { 16 } else { 100_000 }, ..Limits::default() };
        let mut both = Both::new(limits, if beats { Span::from_secs(5) } else { Span::ZERO }, parts);
        for step in steps {
            // No two steps are at the same time: N4 repeats requests in the order in which they were sent.
            both.sides.iter_mut().for_each(|side| side.fixture.pass(Span::from_millis(1)));
            both.take(step);
            both.compare(step);
        }
        both.compare_all();
        while !both.sides[0].fixture.plane.held.is_empty() {
            both.apply(0, false);
            both.compare((Kind::Apply, [0; 3]));
        }
        both.compare_all();
    }
}
