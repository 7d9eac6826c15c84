//! Application classes: sessions that the switch measures, on the model, beside the slow path, which measures itself.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

use causeway_dataplane::{
    ApplyError, Dataplane, Disposition, Egress, Event, PacketEngine, Plan, SessionClasses,
};
use causeway_model::{
    ApplicationId, Applications, PacketRates, Pdi, Pdr, Qer, RuleSet, TrafficClasses, Usage,
};
use causeway_p4::{Contract, profiles};
use causeway_packet::gtpu::Packet;
use causeway_slowpath::Limits;
use causeway_traffic::classes::{Feature, Node, Tree};
use causeway_types::{
    PdrId, Precedence, QerId, Qfi, ReportingTriggers, Seid, Span, Time, UrrId, UsageReportTrigger,
};

use super::fixture::{
    events, from_gnb, from_network, hip4, reply, request, session, slow_path, topology, ue,
};
use crate::Count;
use crate::backend::in_process::WithPorts;
use crate::backend::local_model::parts;
use crate::backend::{InProcess, Notice};
use crate::driver::{Outcome, Program, Register, Request, SwitchDriver, Ticket};
use crate::model::Model;
use crate::model::upf::{Punt, Upf};

/// A window of the switch, 2^28 ns.
const WINDOW: u64 = 1 << 28;
/// The QFIs of other traffic, of a game, and of a call.
const OTHER: u8 = 9;
const GAME: u8 = 5;
const CALL: u8 = 6;

/// The begin of a window, long after the start of the fixture.
fn window(number: u64) -> Time {
    Time::from_nanos((super::fixture::START.as_nanos() / WINDOW + 10 + number) * WINDOW)
}

/// Downlink packets of more than 600 octets on average are the first of these classes, smaller ones the second if there is one.
fn applications(classes: &[&str]) -> Arc<Applications> {
    of_windows(268, classes)
}

fn of_windows(millis: u32, classes: &[&str]) -> Arc<Applications> {
    let small = u8::try_from(classes.len() - 1).unwrap() * 2;
    let nodes = vec![
        Node::Split { feature: Feature::DownlinkSize, threshold: 600 * 16, below: 1, above: 2 },
        Node::Leaf { class: small },
        Node::Leaf { class: 1 },
    ];
    let names: Vec<String> = std::iter::once(&"other").chain(classes).map(ToString::to_string).collect();
    let tree = Tree::new(nodes, names.len()).unwrap();
    let classes =
        TrafficClasses::new(&causeway_traffic::classes::Model::new(names, millis, 2, tree).unwrap()).unwrap();
    Arc::new(Applications::default().with_classes(Some(Arc::new(classes))))
}

fn with_classes(contract: &Contract) -> Program {
    Program::from(contract).with_application_classes()
}

fn on_switch(program: &Program) -> InProcess {
    InProcess::new(program, topology(), Limits::default()).unwrap()
}

/// A downlink PDR of an application before all others, with this QFI and URR.
fn of_application(rules: &mut RuleSet, id: u16, application: &str, qfi: u8, urr: u32) {
    let plain = rules.pdrs.get(&PdrId(2)).unwrap().clone();
    let pdi = Pdi { application: Some(ApplicationId::from(application)), ..plain.pdi.clone() };
    let qer = QerId(u32::from(qfi));
    rules.qers.insert(qer, Qer { qfi: Qfi::new(qfi), ..Qer::new(qer) });
    let precedence = Precedence(100 + u32::from(id));
    let pdr = Pdr { id: PdrId(id), precedence, pdi, qers: vec![qer], urrs: vec![UrrId(urr)], ..plain };
    rules.pdrs.insert(pdr.id, pdr);
    let mut measured = super::fixture::volume(urr, None);
    measured.triggers = ReportingTriggers::START | ReportingTriggers::STOPT;
    measured.inactivity_detection = Some(Span::from_secs(1));
    rules.urrs.insert(measured.id, measured);
}

/// A session of this UE with a PDR of class `game` and one of class `call`.
fn player(number: u8) -> RuleSet {
    let mut rules = session(number);
    of_application(&mut rules, 3, "game", GAME, 3);
    of_application(&mut rules, 4, "call", CALL, 4);
    rules
}

/// The QFI of a packet to a gNB.
fn qfi_of(out: &[(Egress, Vec<u8>)]) -> Option<u8> {
    let packet = Packet::parse(&out.last()?.1).unwrap();
    packet.extensions.pdu_session().map(|container| container.qfi().value())
}

/// Sends in a window eight packets of this size to a UE and four from it: the QFIs of the former.
fn play(plane: &mut dyn PacketEngine, number: u64, ue: u8, octets: usize) -> Vec<u8> {
    let mut seen = Vec::new();
    for step in 0..8 {
        let now = window(number) + Span::from_millis(20 * step);
        plane.advance(now);
        let mut out: Vec<(Egress, Vec<u8>)> = Vec::new();
        let fate = plane.process(now, &from_network(), &reply(ue, octets), &mut out);
        assert_eq!(fate, Disposition::Forwarded, "window {number}, packet {step}");
        seen.push(qfi_of(&out).unwrap());
        if step % 2 == 1 {
            let fate = plane.process(now, &from_gnb(), &request(ue, 60), &mut out);
            assert_eq!(fate, Disposition::Forwarded, "window {number}, packet {step}");
        }
    }
    seen
}

/// What an SMF was told: the applications of reports of start (true) and stop, with their PDRs; and the octets of each URR.
#[derive(Debug, Default)]
struct Told {
    traffic: Vec<(String, u16, bool)>,
    octets: BTreeMap<u32, u64>,
    /// What operators were told: the former class and the new one.
    classes: Vec<[String; 2]>,
}

impl Told {
    fn count(&mut self, usage: &Usage) {
        let octets = usage.volume.map_or(0, |volume| volume.uplink + volume.downlink);
        *self.octets.entry(usage.urr.0).or_default() += octets;
    }

    fn listen(&mut self, plane: &mut dyn PacketEngine) {
        for event in events(plane) {
            if let Event::ClassChange { session, change } = &event {
                assert_eq!((*session, change.ue), (Seid(1), Some(IpAddr::V4(ue(0)).into())));
                self.classes.push([&change.from, &change.to].map(ToString::to_string));
                continue;
            }
            let Event::Usage { usage, .. } = event else { panic!("{event:?}") };
            for usage in usage {
                let detected = usage.detected.as_ref().unwrap();
                let is_start = usage.triggers.contains(UsageReportTrigger::START);
                assert_ne!(is_start, usage.triggers.contains(UsageReportTrigger::STOPT));
                self.traffic.push((detected.application.to_string(), detected.pdr.0, is_start));
                self.count(&usage);
            }
        }
    }
}

/// The register with the classes of places.
fn register(upf: &mut InProcess, place: u32) -> u32 {
    let state = upf.switch().driver().state();
    let id = state.program().register_named("class_of_sessions").map(|register: &Register| register.id);
    state.register(id.unwrap(), place).unwrap()[0]
}

/// A UE plays, calls, and is silent: the QFIs of its packets by window, and what the SMF is told to the end of the session.
fn story(plane: &mut dyn PacketEngine) -> (Vec<Vec<u8>>, Told) {
    plane.set_applications(&applications(&["game", "call"]));
    plane.apply(window(0), &Plan::install(Seid(1), player(0))).unwrap();
    let (mut seen, mut told) = (Vec::new(), Told::default());
    for number in 0..12 {
        seen.push(play(plane, number, 0, if number < 6 { 1000 } else { 100 }));
        told.listen(plane);
    }
    for number in 12..20 {
        plane.advance(window(number));
        told.listen(plane);
    }
    seen.push(play(plane, 20, 0, 1000));
    for number in 21..30 {
        plane.advance(window(number));
        told.listen(plane);
    }
    let applied = plane.apply(window(30), &Plan::removal(Seid(1))).unwrap();
    applied.usage.iter().for_each(|usage| told.count(usage));
    (seen, told)
}

/// On the switch the first packet after a window is that with which the class changes; in software the timer of the window before it.
fn compared(contract: &Contract) {
    let mut upf = on_switch(&with_classes(contract));
    let mut slow = slow_path();
    let (on_switch, in_software) = (story(&mut upf), story(&mut slow));
    let game = [vec![GAME; 7], vec![CALL; 7], vec![OTHER; 7]];
    let later = |seen: &[Vec<u8>]| seen.iter().map(|window| window[1..].to_vec()).collect::<Vec<_>>();
    let [of_game, of_call, of_other] = &game;
    let phases = later(&on_switch.0);
    assert_eq!(phases[..2], [of_other.clone(), of_other.clone()], "{:?}", on_switch.0);
    assert!(phases[2..6].iter().all(|window| window == of_game), "{:?}", on_switch.0);
    assert!(phases[8..12].iter().all(|window| window == of_call), "{:?}", on_switch.0);
    assert_eq!(&phases[12], of_other, "{:?}", on_switch.0);
    // The windows of the slow path begin with its first packet and are up to half a millisecond shorter, so they are those of the switch.
    assert_eq!(phases, later(&in_software.0));
    let (start, stop) = (true, false);
    let told = [("game", 3, start), ("call", 4, start), ("game", 3, stop), ("call", 4, stop)];
    let told = told.map(|(name, pdr, start)| (name.to_owned(), pdr, start));
    assert_eq!(in_software.1.traffic, told);
    // No timer has ended the call on the switch: its first packet after the silence is of it.
    let [_, call, _, stopped] = told.clone();
    assert_eq!(on_switch.1.traffic, [&told[..], &[call, stopped]].concat());
    let classes =
        [["other", "game"], ["game", "call"], ["call", "other"]].map(|change| change.map(str::to_owned));
    assert_eq!((&on_switch.1.classes[..], &in_software.1.classes[..]), (&classes[..], &classes[..]));
    // Each octet counts for the URR of the PDR that its packet has matched.
    let octets = |qfi: u8, seen: &[Vec<u8>]| {
        let of = |(number, window): (usize, &Vec<u8>)| {
            let size = if number < 6 || number == 12 { 1028 } else { 128 };
            window.iter().filter(|seen| **seen == qfi).count() as u64 * size
        };
        seen.iter().enumerate().map(of).sum::<u64>()
    };
    let uplink = 13 * 4 * 88;
    for (seen, told) in [&on_switch, &in_software] {
        let expected = [(1, octets(OTHER, seen) + uplink), (3, octets(GAME, seen)), (4, octets(CALL, seen))];
        assert_eq!(told.octets, BTreeMap::from(expected));
    }
    assert!(upf.switch().is_empty());
}

// Input:  a session with PDRs of the classes `game` and `call`, each with a QFI and a URR that reports start and stop; six windows of large packets, six of
//         small ones, eight of silence, and one more.
// Output: from the third window on the packets of a game have its QFI, those of a call likewise, and after the silence none; on the switch
//         from the second packet of the window on. Start and stop are reported as by the slow path, and once more for the first packet after the silence. Each octet is in the report of the URR whose PDR its packet matched.
//         Operators are told the same three changes of the class.
#[test]
fn the_switch_measures_as_the_slow_path() {
    compared(&profiles::HIP4);
}

// Input:  the same in profile `direct`, whose uplink packets have the TEID as their number.
// Output: the same.
#[test]
fn rules_by_index_are_measured() {
    compared(&profiles::DIRECT);
}

/// A driver whose switch sends no copies that say a class or a heavy hitter.
#[derive(Debug)]
pub(super) struct WithoutCopies(pub(super) Model<Upf>);

impl SwitchDriver for WithoutCopies {
    fn submit(&mut self, now: Time, request: Request) -> Ticket {
        self.0.submit(now, request)
    }

    fn poll(&mut self, now: Time) -> Option<(Ticket, Outcome)> {
        self.0.poll(now)
    }

    fn next_event(&self) -> Option<Time> {
        self.0.next_event()
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        let frames = std::iter::from_fn(|| self.0.poll_packet(now));
        let copies = [Punt::ApplicationClass, Punt::HeavyHitter].map(|code| code as u8);
        let mut others = frames.filter(|frame| !copies.contains(&frame[14]));
        others.next()
    }
}

impl WithPorts for WithoutCopies {
    fn receive(&mut self, now: Time, port: u16, frame: &[u8]) {
        self.0.receive(now, port, frame);
    }

    fn poll_sent(&mut self) -> Option<(u16, Vec<u8>)> {
        WithPorts::poll_sent(&mut self.0)
    }

    fn indexed_counts(&mut self, counter: u32, indices: &[u32]) -> Vec<Count> {
        self.0.indexed_counts(counter, indices)
    }
}

/// Plays in these windows: the QFI that the last packets of each have.
fn play_all(plane: &mut dyn PacketEngine, windows: Range<u64>, ue: u8, octets: usize) -> Vec<u8> {
    windows.map(|number| *play(plane, number, ue, octets).last().unwrap()).collect()
}

/// The changes of classes that operators are told.
fn changes(plane: &mut dyn PacketEngine) -> Vec<[String; 2]> {
    let names = |event| match event {
        Event::ClassChange { change, .. } => Some([&change.from, &change.to].map(ToString::to_string)),
        _ => None,
    };
    events(plane).into_iter().filter_map(names).collect()
}

fn notices(upf: &mut InProcess) -> Vec<Notice> {
    std::iter::from_fn(|| upf.switch().poll_notice()).collect()
}

// Input:  a switch whose copies are all lost, with readings of its counters each 20 ms.
// Output: the class of the session is found by reading, and counted so. Operators are told all the same, and how many sessions have it.
#[test]
fn a_lost_copy_is_found_by_reading() {
    let program = with_classes(&profiles::HIP4);
    let (model, program, _) = parts(&program, topology(), Limits::default()).unwrap();
    let driver = WithoutCopies(model);
    let mut upf = InProcess::with_driver(driver, &program, topology(), Limits::default()).unwrap();
    upf.switch().set_counter_interval(Span::from_millis(20));
    upf.set_applications(&applications(&["game"]));
    upf.apply(window(0), &Plan::install(Seid(1), player(0))).unwrap();
    assert_eq!(play_all(&mut upf, 0..4, 0, 1000), [OTHER, OTHER, GAME, GAME]);
    let sessions = vec![("other".into(), 0), ("game".into(), 1)];
    assert_eq!(upf.session_classes(), SessionClasses { sessions, changes: 1, unsaid: 0 });
    assert_eq!(upf.application_class(Seid(1)), Some("game".into()));
    assert_eq!(play_all(&mut upf, 4..8, 0, 100), [GAME, GAME, OTHER, OTHER]);
    assert_eq!(changes(&mut upf), [["other", "game"], ["game", "other"]]);
    let counts = upf.switch().statistics();
    assert_eq!((counts.class_changes, counts.class_changes_found_by_reading), (2, 2));
}

// Input:  a session that plays under a model with class `game`; then under one that has `call` instead, for the same packets; then under one with windows of 300 ms.
// Output: the switch says `game`; with the second model the session is of other traffic, until its windows have ended four times, then `call`. The third
//         does not fit: the operator is told why, and the software measures the session, whose packets it has. A change of the class is told with each.
#[test]
fn a_model_is_replaced() {
    let mut upf = on_switch(&with_classes(&profiles::HIP4));
    upf.set_applications(&applications(&["game"]));
    upf.apply(window(0), &Plan::install(Seid(1), player(0))).unwrap();
    assert_eq!(play_all(&mut upf, 0..4, 0, 1000), [OTHER, OTHER, GAME, GAME]);
    assert_eq!(register(&mut upf, 0), 1);
    assert_eq!(changes(&mut upf), [["other", "game"]]);
    upf.set_applications(&applications(&["call"]));
    assert_eq!(play_all(&mut upf, 4..9, 0, 1000), [OTHER; 5]);
    assert_eq!(register(&mut upf, 0), 0);
    assert_eq!(changes(&mut upf), [["game", "other"]]);
    assert_eq!(play_all(&mut upf, 9..13, 0, 1000)[2..], [CALL, CALL]);
    assert_eq!(upf.switch().session(1).measured.map(|measured| measured.class), Some(1));
    assert_eq!(notices(&mut upf), []);

    upf.set_applications(&of_windows(300, &["call"]));
    assert_eq!(play_all(&mut upf, 13..17, 0, 1000), [OTHER, OTHER, CALL, CALL]);
    let [Notice::Model { reason }] = &notices(&mut upf)[..] else { panic!("the operator is not told") };
    assert!(reason.contains("windows of 300 ms"), "{reason}");
    assert_eq!(upf.switch().session(1).measured, None);
    assert_eq!(changes(&mut upf), [["other", "call"], ["call", "other"], ["other", "call"]]);
    let counts = upf.switch().statistics();
    assert_eq!((counts.sessions_classified_in_software, counts.sessions_without_class_place), (1, 0));
    assert!(upf.switch().software().counters().forwarded > 40);
    // It fits again: the switch measures anew.
    upf.set_applications(&applications(&["game"]));
    assert_eq!(play_all(&mut upf, 17..26, 0, 1000)[6..], [GAME; 3]);
    assert_eq!(changes(&mut upf), [["call", "other"], ["other", "game"]]);
    assert!(upf.switch().session(1).measured.is_some());
}

// Input:  a switch with one place; two sessions that play; the first is deleted; then one that asks for a packet rate, which the switch does not limit.
// Output: the second is in the software, which finds its class; it moves to the place after that has rested. The third is in the software.
#[test]
fn sessions_without_a_place_are_in_the_software() {
    let mut program = with_classes(&profiles::HIP4);
    program.registers.iter_mut().for_each(|register| register.size = 1);
    let mut upf = on_switch(&program);
    upf.set_applications(&applications(&["game"]));
    for number in 0..2 {
        upf.apply(window(0), &Plan::install(Seid(1 + u64::from(number)), player(number))).unwrap();
    }
    let measured = |upf: &mut InProcess, seid| upf.switch().session(seid).measured.is_some();
    assert_eq!((measured(&mut upf, 1), measured(&mut upf, 2)), (true, false));
    assert_eq!(upf.switch().statistics().sessions_without_class_place, 1);
    assert_eq!(play_all(&mut upf, 0..3, 1, 1000), [OTHER, OTHER, GAME]);
    assert_eq!(play_all(&mut upf, 3..6, 0, 1000), [OTHER, OTHER, GAME]);
    upf.apply(window(6), &Plan::removal(Seid(1))).unwrap();
    upf.advance(window(9));
    assert!(!measured(&mut upf, 2));
    upf.advance(window(11));
    assert!(measured(&mut upf, 2));
    // What the first session left at the place does not count.
    assert_eq!(play_all(&mut upf, 11..15, 1, 1000), [OTHER, OTHER, GAME, GAME]);

    let mut limited = player(2);
    let rate = Some(PacketRates { uplink: None, downlink: None });
    limited.qers.insert(QerId(1), Qer { packet_rate: rate, ..limited.qers.get(&QerId(1)).unwrap().clone() });
    upf.apply(window(15), &Plan::install(Seid(3), limited)).unwrap();
    assert!(!measured(&mut upf, 3));
    assert_eq!(upf.switch().statistics().sessions_classified_in_software, 1);
    assert_eq!(play_all(&mut upf, 15..18, 2, 1000), [OTHER, OTHER, GAME]);
    for seid in [2, 3] {
        upf.apply(window(19), &Plan::removal(Seid(seid))).unwrap();
    }
    assert!(upf.switch().is_empty());
}

// Input:  profile `direct`; a session that the software has, as it asks for a packet rate. Of its uplink PDRs the first is for the class `game` without a QFI, the
//         second for one QFI; packets of that QFI, of no class.
// Output: the software knows the QFI of the packets: they match the second PDR.
#[test]
fn software_knows_the_qfi_behind_a_pdr_of_an_application() {
    let mut upf = on_switch(&with_classes(&profiles::DIRECT));
    upf.set_applications(&applications(&["game"]));
    let mut rules = player(0);
    let rate = Some(PacketRates { uplink: None, downlink: None });
    rules.qers.insert(QerId(1), Qer { packet_rate: rate, ..rules.qers.get(&QerId(1)).unwrap().clone() });
    let mut plain = rules.pdrs.get(&PdrId(1)).unwrap().clone();
    let pdi = Pdi { application: Some(ApplicationId::from("game")), ..plain.pdi.clone() };
    let of_game = Pdr { id: PdrId(5), precedence: Precedence(100), pdi, ..plain.clone() };
    plain.pdi.qfis.insert(Qfi::new(9).unwrap());
    for pdr in [plain, of_game] {
        rules.pdrs.insert(pdr.id, pdr);
    }
    upf.apply(window(0), &Plan::install(Seid(1), rules)).unwrap();
    assert_eq!(upf.switch().statistics().sessions_classified_in_software, 1);
    let fate = upf.process(window(0), &from_gnb(), &request(0, 60), &mut Vec::new());
    assert_eq!(fate, Disposition::Forwarded);
}

// Input:  a session that plays, and a switch that restarts empty.
// Output: it is of other traffic then, as the switch knows no more, and of its class after two windows; operators are told.
#[test]
fn a_restarted_switch_measures_anew() {
    let mut upf = on_switch(&with_classes(&profiles::HIP4));
    upf.set_applications(&applications(&["game"]));
    upf.apply(window(0), &Plan::install(Seid(1), player(0))).unwrap();
    assert_eq!(play_all(&mut upf, 0..4, 0, 1000), [OTHER, OTHER, GAME, GAME]);
    upf.switch().driver().restart(window(4));
    upf.advance(window(4));
    assert_eq!(play_all(&mut upf, 4..8, 0, 1000), [OTHER, OTHER, GAME, GAME]);
    assert_eq!(changes(&mut upf), [["other", "game"], ["game", "other"], ["other", "game"]]);
}

// Input:  a program without application classes; a session with PDRs of classes. One with them, and a PDR of an application that is not known.
// Output: the former has no such capability, and refuses the session; the latter accepts it, and no packet matches that PDR.
#[test]
fn without_the_block_such_rules_are_refused() {
    let mut upf = hip4();
    upf.set_applications(&applications(&["game"]));
    assert!(!upf.capabilities().application_classes);
    let refused = upf.apply(window(0), &Plan::install(Seid(1), player(0)));
    assert_eq!(refused, Err(ApplyError::Unsupported("predefined rules and applications")));
    let mut upf = on_switch(&with_classes(&profiles::HIP4));
    assert!(upf.capabilities().application_classes && !upf.capabilities().application_detection);
    upf.apply(window(0), &Plan::install(Seid(1), player(0))).unwrap();
    assert_eq!(play_all(&mut upf, 0..4, 0, 1000), [OTHER; 4]);
    assert_eq!(upf.switch().session(1).measured, None);
}
