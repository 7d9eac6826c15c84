//! Sessions requested with the same message template as others.

use causeway_dataplane::{BackendError, Event};
use causeway_model::{Plan, ProfiledSession, SessionChange};
use causeway_pfcp::*;
use causeway_types::{
    Bitrate, FSeid, FarId, NtpSeconds, QerId, Seid, Span, UrrId, UsageReportTrigger, WallClock, WallTime,
};
use proptest::prelude::*;

mod handover;

use handover::{Beside, Known, handover, tunnel_of_smf};

use crate::fixture::{Pace, Smf, TestN4, establishment, query, used};

/// An action of the SMF, the data plane or the clock.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A session with this number at the SMF, with one of several message templates. Numbers repeat: F-SEIDs and UE
    /// addresses do.
    Establish {
        number: u8,
        wording: u8,
        recovery: Option<u8>,
    },
    /// The last establishment again, from this port.
    Repeat(u16),
    /// The downlink is forwarded to this tunnel of this gNB; an End Marker may be sent to the previous tunnel.
    Handover {
        session: u8,
        teid: u8,
        gnb: u8,
        end_marker: bool,
        beside: Beside,
    },
    /// The downlink is buffered, or dropped.
    Release {
        session: u8,
        drops: bool,
    },
    Query(u8),
    Delete(u8),
    /// Queries a URR of the session, or an unknown one.
    Usage {
        session: u8,
        is_stray: bool,
    },
    /// The data plane applies the oldest plan, or fails.
    Apply {
        fails: bool,
    },
    Pace {
        held: bool,
    },
    /// Sets the wall clock to this offset in seconds from its start.
    WallClock(i16),
}

fn step() -> impl Strategy<Value = Step> {
    let recovery = proptest::option::weighted(0.2, 0..3_u8);
    prop_oneof![
        12 => (0..20_u8, 0..5_u8, recovery)
            .prop_map(|(number, variant, recovery)| Step::Establish { number, wording: variant, recovery }),
        1 => (8805..8807_u16).prop_map(Step::Repeat),
        8 => (any::<u8>(), 0..3_u8, 0..2_u8, any::<bool>(), proptest::sample::select(&Beside::ALL[..]))
            .prop_map(|(session, teid, gnb, end_marker, beside)| Step::Handover { session, teid, gnb, end_marker, beside }),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(session, drops)| Step::Release { session, drops }),
        1 => any::<u8>().prop_map(Step::Query),
        3 => any::<u8>().prop_map(Step::Delete),
        1 => (any::<u8>(), any::<bool>())
            .prop_map(|(session, is_stray)| Step::Usage { session, is_stray }),
        6 => proptest::bool::weighted(0.2).prop_map(|fails| Step::Apply { fails }),
        2 => any::<bool>().prop_map(|held| Step::Pace { held }),
        1 => any::<i16>().prop_map(Step::WallClock),
    ]
}

/// The octets of a request with a new message template: an unknown IE follows.
fn with_new_template(mut bytes: Vec<u8>, number: u32) -> Vec<u8> {
    bytes.extend([0x7f, 0x01, 0, 4]);
    bytes.extend(number.to_be_bytes());
    let length = u16::try_from(bytes.len() - 4).unwrap();
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// The template of sessions with bit rates and flow descriptions as session parameters.
const POLICY: u8 = 4;

fn set_policy(request: &mut SessionEstablishmentRequest<'static>, number: u8) {
    let texts: [&[u8]; 3] = [
        b"permit out ip from 10.0.0.1 to assigned",
        b"permit out 17 from 10.0.0.2 to assigned",
        b"permit out 17 from 10.0.0.2 53 to assigned",
    ];
    let rate = Bitrate::from_kbps(u64::from(number) * 1000).unwrap();
    let mbr = Some(Mbr { uplink: rate, downlink: rate });
    request.create_qers = [CreateQer { mbr, ..CreateQer::new(QerId(1), GateStatus::OPEN) }].into();
    let set = |pdr: CreatePdr<'static>| {
        let flow_description = Some(Octets(texts[usize::from(number) % texts.len()]));
        let filter = SdfFilter { flow_description, ..SdfFilter::default() };
        let qer_ids = [QerId(1)].into();
        CreatePdr { pdi: Pdi { sdf_filters: [filter].into(), ..pdr.pdi }, qer_ids, ..pdr }
    };
    request.create_pdrs = request.create_pdrs.iter().map(set).collect();
}

/// A fixture, the SMF in it, and the SMF's state.
struct Story {
    fixture: TestN4,
    smf: Smf,
    sessions: Vec<Known>,
    last: Vec<u8>,
    has_new_templates: bool,
}

impl Story {
    fn new(has_new_templates: bool) -> Self {
        let (mut n4, smf) = TestN4::associated();
        n4.plane.is_varied = true;
        Self { fixture: n4, smf, sessions: Vec::new(), last: Vec::new(), has_new_templates }
    }

    fn step(&mut self, at: u32, step: Step) {
        let known =
            |sessions: &[Known], at: u8| sessions.get(usize::from(at) % sessions.len().max(1)).cloned();
        let of = |sessions: &[Known], at: u8| known(sessions, at).map(|known| known.seid);
        match step {
            Step::Establish { number, wording: variant, recovery } => {
                let cp = FSeid { seid: Seid(number.into()), addr: self.smf.ip().into() };
                let mut request = establishment(self.smf.node_id(), cp);
                request.recovery_time_stamp =
                    recovery.map(|later| RecoveryTimeStamp(NtpSeconds(1000 + u32::from(later) / 2)));
                match variant {
                    0 => {}
                    1 => request.pdn_type = None,
                    2 => {
                        let chosen = |pdr: CreatePdr<'static>| {
                            let local_f_teid = pdr.pdi.local_f_teid.map(|_| tunnel_of_smf(cp.seid));
                            CreatePdr { pdi: Pdi { local_f_teid, ..pdr.pdi }, ..pdr }
                        };
                        request.create_pdrs = request.create_pdrs.iter().map(chosen).collect();
                    }
                    POLICY => set_policy(&mut request, number),
                    _ => {
                        let imsi =
                            [b"\x01\x02".as_slice(), b"\x03\x04", b"\x05\x06"][usize::from(number % 3)];
                        request.user_id = Some(UserId { imsi: Some(Octets(imsi)), ..UserId::default() });
                    }
                }
                let bytes = self.smf.request(Some(Seid(0)), request);
                self.last = if self.has_new_templates { with_new_template(bytes, at) } else { bytes };
                self.fixture.deliver(self.smf.addr, &self.last.clone());
            }
            Step::Repeat(port) if !self.last.is_empty() => {
                self.fixture.deliver((self.smf.ip(), port).into(), &self.last.clone());
            }
            Step::Handover { session, teid, gnb, end_marker, beside } => {
                if let Some(known) = known(&self.sessions, session) {
                    let request = handover((teid, gnb, end_marker), beside, &self.smf, &known);
                    self.ask(at, Some(known.seid), request);
                }
            }
            Step::Release { session, drops } => {
                let action = if drops { ApplyAction::DROP } else { ApplyAction::BUFF | ApplyAction::NOCP };
                let far = UpdateFar { apply_action: Some(action), ..UpdateFar::new(FarId(2)) };
                let update_fars = [far].into();
                let request =
                    SessionModificationRequest { update_fars, ..SessionModificationRequest::default() };
                self.ask(at, of(&self.sessions, session), request);
            }
            Step::Query(session) => self.ask(at, of(&self.sessions, session), query()),
            Step::Delete(session) => {
                self.ask(at, of(&self.sessions, session), SessionDeletionRequest::default());
            }
            Step::Usage { session, is_stray } => {
                let urr = UrrId(if is_stray { 9 } else { 1 });
                let usage = vec![used(self.fixture.now, urr, 1000, UsageReportTrigger::VOLTH)];
                if let Some(session) = of(&self.sessions, session) {
                    self.fixture.event(Event::Usage { session, usage });
                }
            }
            Step::Apply { fails } if !self.fixture.plane.held.is_empty() => match fails {
                true => self.fixture.fail_next(BackendError::TimedOut.into()),
                false => self.fixture.apply_next(),
            },
            Step::Pace { held } => self.fixture.plane.pace = if held { Pace::Held } else { Pace::AtOnce },
            Step::WallClock(seconds) => {
                let says = WallTime::from_nanos(self.fixture.now.as_nanos());
                let by = Span::from_secs(seconds.unsigned_abs().into());
                let says = if seconds < 0 { says - by } else { says + by };
                self.fixture.n4.set_wall_clock(WallClock::reading(says, self.fixture.now));
            }
            Step::Repeat(_) | Step::Apply { .. } => {}
        }
        self.fixture.drain();
        for (_, bytes) in &self.fixture.sent {
            self.sessions.extend(Known::of(bytes));
        }
    }

    fn ask<'a>(&mut self, at: u32, session: Option<Seid>, request: impl Into<Message<'a>>) {
        if let Some(session) = session {
            let bytes = self.smf.request(Some(session), request);
            let bytes = if self.has_new_templates { with_new_template(bytes, at) } else { bytes };
            self.fixture.deliver(self.smf.addr, &bytes);
        }
    }
}

proptest! {
    // Input:  an SMF that establishes, modifies and deletes sessions, with a data plane that is slow or fails; in a
    // second fixture each session request has a new message template.
    // Output: the same responses octet by octet, the same plans, notices, counters and occupancy.
    #[test]
    fn templated_requests_equal_decoded_ones(steps in proptest::collection::vec(step(), 1..100)) {
        let (mut one, mut other) = (Story::new(false), Story::new(true));
        for (at, step) in (0..).zip(steps) {
            one.step(at, step);
            other.step(at, step);
            prop_assert_eq!(one.fixture.sent.drain(..).collect::<Vec<_>>(), other.fixture.sent.drain(..).collect::<Vec<_>>());
            prop_assert_eq!(&one.fixture.plane.held, &other.fixture.plane.held);
            let notices = |story: &Story| story.fixture.notices.iter().map(ToString::to_string).collect::<Vec<_>>();
            prop_assert_eq!(notices(&one), notices(&other));
            prop_assert_eq!(one.fixture.n4.occupancy(), other.fixture.n4.occupancy());
            prop_assert_eq!(one.fixture.n4.counters(), other.fixture.n4.counters());
        }
    }
}

// Input:  sessions of one message template, each handed over to gNBs and back, also with one template, which repeats
// more or fewer of the session parameters; then with other contents.
// Output: after a while every plan is that of a known change, to any gNB; with the other contents never.
#[test]
fn a_repeated_handover_matches_its_template() {
    // Each part has templates of its own.
    if crate::PARTS > 1 {
        return;
    }
    for beside in Beside::ALL {
        let mut story = Story::new(false);
        let (mut unknown, mut met) = (Vec::new(), 0);
        for number in 0..12_u8 {
            story.fixture.plane.pace = Pace::AtOnce;
            story.step(0, Step::Establish { number, wording: 0, recovery: None });
            story.fixture.sent.clear();
            story.fixture.plane.pace = Pace::Held;
            let mut new = 0;
            for (teid, gnb) in [(1, 0), (2, 1), (1, number % 2), (2, 1 - number % 2)] {
                let (session, end_marker) = (number, true);
                story.step(0, Step::Handover { session, teid, gnb, end_marker, beside });
                let was_met = story
                    .fixture
                    .plane
                    .held
                    .iter()
                    .map(|(_, plan)| matches!(plan.change, SessionChange::Rebind(_)));
                was_met.for_each(|was_met| if was_met { met += 1 } else { new += 1 });
                story.step(0, Step::Apply { fails: false });
            }
            unknown.push(new);
        }
        let expected = match beside {
            Beside::Nothing | Beside::Smf | Beside::OtherSmf | Beside::Pdrs => (Some(&4), Some(&0)),
            // Rejected.
            Beside::UnknownSmf => (Some(&0), Some(&0)),
            Beside::OtherUe | Beside::OtherTunnel => {
                assert_eq!(met, 0, "{beside:?}");
                continue;
            }
        };
        assert_eq!((unknown.first(), unknown.last()), expected, "{beside:?}: {unknown:?}");
        assert!(unknown.is_sorted_by(|one, other| one >= other), "{beside:?}: {unknown:?}");
    }
}

// Input:  an SMF that chooses the tunnels of its sessions itself; then a session with a tunnel of another one.
// Output: from the third session on plans are those of profiled sessions; the last one is rejected.
#[test]
fn sessions_with_smf_assigned_tunnels_match_their_template() {
    // Each part has templates of its own.
    if crate::PARTS > 1 {
        return;
    }
    let mut story = Story::new(false);
    for number in 0..8 {
        story.fixture.plane.pace = Pace::Held;
        story.step(0, Step::Establish { number, wording: 2, recovery: None });
        let is_known = story.fixture.plane.held.iter().all(|(_, plan)| is_profiled(plan));
        assert_eq!(is_known, number >= 2, "{number}");
        story.step(0, Step::Apply { fails: false });
    }
    story.step(0, Step::Establish { number: 16, wording: 2, recovery: None });
    assert!(story.fixture.plane.held.is_empty());
    assert_eq!(story.fixture.n4.occupancy().sessions, 8);
}

// Input:  sessions that differ in bit rates and flow descriptions, which are handed over and deleted; in a second
// fixture with new message templates.
// Output: the same plans and responses. Sessions are profiled once flow descriptions of their length occurred twice,
// and their handovers once two of those with one length occurred.
#[test]
fn sessions_with_policy_parameters_match_when_repeated() {
    // Each part has templates of its own.
    if crate::PARTS > 1 {
        return;
    }
    let (mut one, mut other) = (Story::new(false), Story::new(true));
    let (mut known, mut moved) = (Vec::new(), Vec::new());
    let mut at = 0;
    let mut both = |step: Step| {
        at += 1;
        one.fixture.plane.pace = Pace::Held;
        other.fixture.plane.pace = Pace::Held;
        one.step(at, step);
        other.step(at, step);
        assert_eq!(one.fixture.plane.held, other.fixture.plane.held, "{step:?}");
        let plans = one.fixture.plane.held.iter().map(|(_, plan)| plan);
        known.extend(plans.clone().filter(|plan| is_profiled(plan)).map(|_| at));
        moved.extend(plans.filter(|plan| matches!(plan.change, SessionChange::Rebind(_))).map(|_| at));
        [&mut one, &mut other].into_iter().for_each(|story| story.step(at, Step::Apply { fails: false }));
        let sent = [&mut one, &mut other].map(|story| story.fixture.sent.drain(..).collect::<Vec<_>>());
        assert_eq!(sent[0], sent[1], "{step:?}");
    };
    for number in 1..=12 {
        both(Step::Establish { number, wording: POLICY, recovery: None });
    }
    for session in 4..12 {
        both(Step::Handover { session, teid: 1, gnb: 0, end_marker: false, beside: Beside::Nothing });
    }
    for session in 0..12 {
        both(Step::Delete(session));
    }
    assert_eq!(known, [4, 6, 7, 8, 9, 10, 11, 12]);
    assert_eq!(moved, [17, 18, 20]);
}

// Input:  sessions of one message template, some of which have reported usage before; then their deletions, with one
// kind of usage after the other. In a second fixture with new message templates.
// Output: the same responses octet by octet.
#[test]
fn templated_deletion_responses_equal_encoded_ones() {
    let (mut one, mut other) = (Story::new(false), Story::new(true));
    let mut at = 0;
    let mut both = |step: Step| {
        at += 1;
        one.step(at, step);
        other.step(at, step);
        let sent = one.fixture.sent.drain(..).collect::<Vec<_>>();
        assert_eq!(sent, other.fixture.sent.drain(..).collect::<Vec<_>>(), "{step:?}");
        sent.len()
    };
    for number in 0..60 {
        both(Step::Establish { number, wording: number % 2, recovery: None });
    }
    for session in (0..60).step_by(3) {
        assert_eq!(both(Step::Query(session)), 1);
    }
    for session in 0..60 {
        assert_eq!(both(Step::Delete(session)), 1);
    }
}

/// The plan installs a session of a shared profile.
fn is_profiled(plan: &Plan) -> bool {
    plan.change.installed().is_some_and(ProfiledSession::is_shared)
}
