//! Random sequences: SMFs, a slow and failing data plane, lost messages, time.

use causeway_dataplane::{ApplyError, BackendError, DownlinkData, Event};
use causeway_n4::{Config, Heartbeat, Occupancy, PathFailure};
use causeway_pfcp::*;
use causeway_types::{FSeid, NtpSeconds, PdrId, Seid, Span};
use proptest::prelude::*;

use crate::fixture::{Pace, Smf, TestN4, activation, config, establishment, query};

/// One event.
#[derive(Clone, Copy, Debug)]
enum Step {
    Setup,
    Establish,
    Modify(u8),
    Query(u8),
    Delete(u8),
    Release,
    PrepareRelease,
    DeleteSet,
    MoveSet,
    SameAddress(u8),
    TakeOver(u8),
    Restart,
    Repeat,
    AnswerOurs(u8),
    Usage(u8),
    Downlink(u8),
    Apply(u8),
    Fail(u8),
    Pass(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::Setup),
        6 => Just(Step::Establish),
        4 => any::<u8>().prop_map(Step::Modify),
        2 => any::<u8>().prop_map(Step::Query),
        3 => any::<u8>().prop_map(Step::Delete),
        1 => Just(Step::Release),
        1 => Just(Step::PrepareRelease),
        1 => Just(Step::DeleteSet),
        1 => Just(Step::MoveSet),
        2 => any::<u8>().prop_map(Step::SameAddress),
        2 => any::<u8>().prop_map(Step::TakeOver),
        1 => Just(Step::Restart),
        2 => Just(Step::Repeat),
        4 => any::<u8>().prop_map(Step::AnswerOurs),
        3 => any::<u8>().prop_map(Step::Usage),
        2 => any::<u8>().prop_map(Step::Downlink),
        9 => any::<u8>().prop_map(Step::Apply),
        2 => any::<u8>().prop_map(Step::Fail),
        3 => any::<u8>().prop_map(Step::Pass),
    ]
}

/// A session set of some sessions.
const CSID: FqCsid<'static> = FqCsid { address: CsidAddress::Operator(7), csids: &[[0, 1]], node: None };

/// The SMF belongs to a set, and supports the enhanced release.
fn setup(smf: &Smf) -> AssociationSetupRequest<'static> {
    let addr = std::net::Ipv4Addr::new(192, 0, 2, 12).into();
    AssociationSetupRequest {
        cp_function_features: Some(CpFeatures::EPFAR | CpFeatures::SSET),
        alternative_smf_ip_addresses: [AlternativeSmfIpAddress { addr, preferred: true }].into(),
        ..smf.setup()
    }
}

/// The SMF's side: its sessions, and its last request.
struct Story {
    fixture: TestN4,
    smf: Smf,
    sessions: Vec<Seid>,
    last: Vec<u8>,
}

impl Story {
    fn session(&self, pick: u8) -> Seid {
        self.sessions.get(usize::from(pick) % self.sessions.len().max(1)).copied().unwrap_or(Seid(9))
    }

    fn request<'a>(&mut self, seid: Option<Seid>, message: impl Into<Message<'a>>) {
        self.last = self.fixture.send(&mut self.smf, seid, message);
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Setup => self.request(None, setup(&self.smf)),
            Step::Establish => {
                let request = establishment(self.smf.node_id(), self.smf.f_seid());
                self.request(Some(Seid(0)), request);
            }
            Step::Modify(pick) => self.request(Some(self.session(pick)), activation(pick.into())),
            Step::Query(pick) => self.request(Some(self.session(pick)), query()),
            Step::Delete(pick) => self.request(Some(self.session(pick)), SessionDeletionRequest::default()),
            Step::PrepareRelease => {
                let flags = Some(AssociationUpdateFlags::PARPS);
                let node = self.smf.node_id();
                self.request(None, AssociationUpdateRequest { flags, ..AssociationUpdateRequest::new(node) });
            }
            Step::DeleteSet => {
                let node = self.smf.node_id();
                let fq_csids = [CSID].into();
                self.request(
                    None,
                    SessionSetDeletionRequest { fq_csids, ..SessionSetDeletionRequest::new(node) },
                );
            }
            Step::MoveSet => {
                let addr = std::net::Ipv4Addr::new(192, 0, 2, 12).into();
                let mut info = SessionChangeInfo::new(AlternativeSmfIpAddress { addr, preferred: false });
                info.fq_csids = [CSID].into();
                self.request(None, SessionSetModificationRequest::new(self.smf.node_id(), [info]));
            }
            Step::SameAddress(pick) => {
                let cp_f_seid = self.smf.f_seid();
                let older = FSeid { seid: Seid(u64::from(pick % 8)), ..cp_f_seid };
                let request = establishment(self.smf.node_id(), older);
                let fq_csids = [CSID].into();
                self.request(Some(Seid(0)), SessionEstablishmentRequest { cp_f_seid, fq_csids, ..request });
            }
            Step::TakeOver(pick) => {
                let cp_f_seid = Some(self.smf.f_seid());
                let node_id = Some(self.smf.node_id());
                let request = SessionModificationRequest { cp_f_seid, node_id, ..query() };
                self.request(Some(self.session(pick)), request);
            }
            Step::Release => self.request(None, AssociationReleaseRequest::new(self.smf.node_id())),
            Step::Restart => {
                self.smf.recovery = NtpSeconds(self.smf.recovery.0 + 1);
                let recovery = RecoveryTimeStamp(self.smf.recovery);
                self.request(None, HeartbeatRequest::new(recovery));
            }
            Step::Repeat => self.fixture.deliver(self.smf.addr, &self.last.clone()),
            Step::AnswerOurs(pick) => self.answer_ours(pick),
            Step::Usage(pick) => self.fixture.uses(self.session(pick), 100),
            Step::Downlink(pick) => {
                let session = self.session(pick);
                let data = DownlinkData { pdr: PdrId(2), qfi: None, dscp: None, status: None };
                self.fixture.event(Event::DownlinkData { session, data });
            }
            Step::Apply(pick) => self.apply(pick, None),
            Step::Fail(pick) => self.apply(pick, Some(BackendError::TimedOut.into())),
            Step::Pass(pick) => self.fixture.pass(Span::from_millis(u64::from(pick) * 40)),
        }
    }

    /// Plans are applied in any order.
    fn apply(&mut self, pick: u8, failure: Option<ApplyError>) {
        if self.fixture.plane.held.is_empty() {
            return;
        }
        let at = usize::from(pick) % self.fixture.plane.held.len();
        self.fixture.plane.held.swap(0, at);
        self.fixture.plane.failures.extend(failure);
        self.fixture.apply_next();
    }

    /// Reads the UPF's messages; responds to some of its requests, and loses others.
    fn answer_ours(&mut self, pick: u8) {
        let answers = !pick.is_multiple_of(3);
        while let Some(received) = self.fixture.try_next(self.smf.addr) {
            let known = |session: Option<Seid>| session.unwrap_or(Seid(0));
            match received.message() {
                Message::SessionEstablishmentResponse(it) => {
                    self.sessions.extend(it.up_f_seid.map(|it| it.seid));
                }
                Message::HeartbeatRequest(_) if answers => {
                    self.fixture.deliver(self.smf.addr, &self.smf.heartbeat_response(&received));
                }
                Message::SessionReportRequest(_) if answers => {
                    let cause =
                        if pick % 7 == 1 { Cause::SessionContextNotFound } else { Cause::RequestAccepted };
                    let answer = Smf::report_response(&received, known(received.header.seid), cause);
                    self.fixture.deliver(self.smf.addr, &answer);
                }
                _ => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    // Input:  any 150 events in any order, then the data plane catches up, the SMF releases, a minute passes.
    // Output: no panic; nothing is left, in N4 or in the data plane.
    #[test]
    fn nothing_is_left_in_the_end(steps in prop::collection::vec(step(), 1..150), purge: bool) {
        let heartbeat = Heartbeat { interval: Span::from_secs(5), ..Heartbeat::default() };
        let on_path_failure = if purge { PathFailure::Purge } else { PathFailure::Keep };
        let (mut n4, smf) = TestN4::associated_with(Config { heartbeat, on_path_failure, ..config() });
        n4.plane.pace = Pace::Held;
        let mut story = Story { fixture: n4, smf, sessions: Vec::new(), last: Vec::new() };
        for step in steps {
            story.take(step);
            let occupancy = story.fixture.n4.occupancy();
            prop_assert_eq!(occupancy.plans, story.fixture.plane.held.len());
        }
        while !story.fixture.plane.held.is_empty() {
            story.apply(0, None);
        }
        story.fixture.plane.pace = Pace::AtOnce;
        story.request(None, AssociationReleaseRequest::new(story.smf.node_id()));
        story.fixture.pass(Span::from_secs(60));
        prop_assert_eq!(story.fixture.n4.occupancy(), Occupancy::default());
        prop_assert_eq!((story.fixture.plane.sessions(), story.fixture.n4.next_timer()), (0, None));
    }
}
