//! Rules with filters in profile `direct`: on the switch, by classes that all sessions share; in the software where
//! that is impossible.

use causeway_dataplane::{Dataplane, Disposition, PacketEngine};
use causeway_model::{
    ApplyAction, Far, FlowAddress, FlowDescription, FlowEnd, Pdr, Plan, PlanOptions, RuleSet, SdfFilter,
    Usage, plan_modification,
};
use causeway_p4::profiles;
use causeway_slowpath::Limits;
use causeway_types::{FarId, PdrId, Precedence, Qfi, QfiSet, Seid, Span, UrrId};

use super::direct::{direct, down, end, establish, up};
use super::fixture::{SERVERS, START, downlink, request, session, to_network, topology, uplink, volume};
use crate::backend::cpu_port::{in_udp, plain_frame};
use crate::backend::local_model::{N3, parts};
use crate::backend::{InProcess, Switch};
use crate::driver::Program;
use crate::model::Model;
use crate::model::upf::Upf;

/// The other end in a prefix of the first server, with all of its ports or one.
pub(super) fn filter(prefix: Option<u8>, port: Option<u16>) -> SdfFilter {
    let net = |prefix| FlowAddress::Net(format!("{}/{prefix}", SERVERS[0]).parse().unwrap());
    let address = prefix.map_or(FlowAddress::Any, net);
    let ports = port.map(|port| port..=port).into_iter().collect();
    SdfFilter::from(FlowDescription {
        protocol: None,
        remote: FlowEnd { address, ports },
        local: FlowEnd { address: FlowAddress::Assigned, ports: Vec::new() },
    })
}

/// A rule that the second URR counts.
fn with(mut pdr: Pdr, precedence: u32, filter: SdfFilter) -> Pdr {
    pdr.precedence = Precedence(precedence);
    pdr.pdi.filters = vec![filter];
    pdr.urrs = vec![UrrId(2)];
    pdr
}

/// A session for one QoS flow, with rules for these filters beside its own, all of the same precedence.
fn filtered(number: u8, filters: &[SdfFilter]) -> RuleSet {
    let mut rules = session(number);
    rules.urrs.insert(UrrId(2), volume(2, None));
    for (id, filter) in (3..).zip(filters) {
        for (id, pdr) in [(2 * id, uplink(2 * id, number)), (2 * id + 1, downlink(2 * id + 1, number))] {
            rules.pdrs.insert(PdrId(id), with(pdr, 10, filter.clone()));
        }
    }
    for id in rules.pdrs.keys().copied().collect::<Vec<_>>() {
        let pdr = rules.pdrs.get_mut(&id).unwrap();
        pdr.pdi.qfis = QfiSet::from_iter(pdr.pdi.tunnel.and(Qfi::new(9)));
    }
    rules
}

/// Rows of tables.
fn entries<const N: usize>(upf: &mut InProcess, tables: [&str; N]) -> [usize; N] {
    let state = upf.switch().driver().state();
    tables.map(|table| state.entries(state.program().table_named(table).unwrap().id).unwrap().count())
}

const CLASSES: [&str; 2] = ["filters_ul", "filters_dl"];
const ROWS: [&str; 4] = ["ul_to_n6_rules", "dl_from_n6_rules", "ul_to_n6_simple", "dl_from_n6_simple"];

/// Packets in both directions that the switch forwards without its software.
fn pass(upf: &mut InProcess, number: u8) {
    let before = upf.switch().software().counters().received();
    assert_eq!((up(upf, number), down(upf, number)), (Disposition::Forwarded, Disposition::Forwarded));
    assert_eq!(upf.switch().software().counters().received(), before, "the switch did it");
}

/// Octets that each URR has reported.
fn by_urr(usage: &[Usage]) -> [u64; 2] {
    let of = |urr: u32| usage.iter().filter(move |usage| usage.urr == UrrId(urr));
    [1, 2].map(|urr| of(urr).map(|usage| usage.volume.unwrap().total()).sum())
}

/// The same at the end of a session.
fn end_by_urr(upf: &mut InProcess, number: u8) -> [u64; 2] {
    by_urr(&upf.apply(START, &Plan::removal(Seid(number.into()))).unwrap().usage)
}

// Input:  two sessions with the same filter in each direction, and their packets; then both end.
// Output: the switch has one class in each direction and an entry of each session for it, and forwards by itself; usage
//         is of the URR of the rule with the filter; no state is left.
#[test]
fn sessions_share_filter_classes() {
    let mut upf = direct();
    for number in 0..2 {
        establish(&mut upf, number, &filtered(number, &[filter(Some(24), Some(53))]));
        upf.advance(START);
    }
    assert_eq!((entries(&mut upf, CLASSES), entries(&mut upf, ROWS)), ([1, 1], [2, 2, 2, 2]));
    assert_eq!(entries(&mut upf, ["ul_sessions_low", "dl_sessions_low"]), [0, 0]);
    (0..2).for_each(|number| pass(&mut upf, number));
    (0..2).for_each(|number| assert_eq!(end_by_urr(&mut upf, number), [0, 300]));
    upf.advance(START);
    assert_eq!((entries(&mut upf, CLASSES), entries(&mut upf, ROWS)), ([0, 0], [0; 4]));
}

// Input:  a session with a filter by address; then one with a filter by port, which drops matching packets; packets
//         that match both.
// Output: there is a class for the intersection; packets of the first session are forwarded and counted by its rule,
//         those of the second are dropped; when the second ends, one class is left, and the first session is
//         unaffected.
#[test]
fn an_intersection_is_of_the_rule_of_each_session() {
    let mut upf = direct();
    establish(&mut upf, 0, &filtered(0, &[filter(Some(24), None)]));
    let mut second = filtered(1, &[filter(None, Some(53))]);
    second.fars.insert(FarId(4), Far { id: FarId(4), action: ApplyAction::Drop, ..to_network() });
    second.pdrs.get_mut(&PdrId(6)).unwrap().far = FarId(4);
    establish(&mut upf, 1, &second);
    upf.advance(START);
    assert_eq!((entries(&mut upf, CLASSES), entries(&mut upf, ROWS)), ([3, 3], [4, 4, 2, 2]));
    pass(&mut upf, 0);
    assert!(matches!(up(&mut upf, 1), Disposition::Dropped(_)));
    assert_eq!(end_by_urr(&mut upf, 1), [0, 0]);
    upf.advance(START);
    assert_eq!((entries(&mut upf, CLASSES), entries(&mut upf, ROWS)), ([1, 1], [1, 1, 1, 1]));
    pass(&mut upf, 0);
    assert_eq!(end_by_urr(&mut upf, 0), [0, 600]);
}

// Input:  a session whose rule with a filter comes before its simple one, behind it, and is removed; packets in
//         between.
// Output: behind it, it needs no entry; without filters the rules are entries by number again; each URR has its own
//         usage.
#[test]
fn precedence_decides_between_filters_and_the_rest() {
    let mut upf = direct();
    let mut rules = filtered(0, &[filter(Some(32), None)]);
    establish(&mut upf, 0, &rules);
    upf.advance(START);
    pass(&mut upf, 0);
    let mut behind = rules.clone();
    for id in [6, 7] {
        behind.pdrs.get_mut(&PdrId(id)).unwrap().precedence = Precedence(300);
    }
    let mut usage = Vec::new();
    for (new, rows) in [(behind, [0, 0]), (filtered(0, &[]), [0, 0]), (rules.clone(), [1, 1])] {
        let plan = plan_modification(Seid(0), &rules, &new, &PlanOptions::default());
        usage.extend(upf.apply(START, &plan).unwrap().usage);
        upf.advance(START);
        assert_eq!(
            (entries(&mut upf, CLASSES), entries(&mut upf, ["ul_to_n6_rules", "dl_from_n6_rules"])),
            (rows, rows)
        );
        pass(&mut upf, 0);
        rules = new;
    }
    usage.extend(upf.apply(START, &Plan::removal(Seid(0))).unwrap().usage);
    assert_eq!(by_urr(&usage), [600, 600]);
}

// Input:  a filter that every packet of the UE matches.
// Output: its rules are simple, with the numbers of their session.
#[test]
fn a_filter_for_everything_is_none() {
    let mut upf = direct();
    establish(&mut upf, 0, &filtered(0, &[filter(None, None)]));
    assert_eq!(entries(&mut upf, ["ul_sessions_low", "dl_sessions_low", "filters_ul"]), [1, 1, 0]);
    pass(&mut upf, 0);
    assert_eq!(end_by_urr(&mut upf, 0), [0, 300]);
}

// Input:  a program whose tables of classes have one entry, or whose tables of rules have one; sessions with two
//         filters, and with one.
// Output: the software handles rules that do not fit, to the octet, and the switch the rest.
#[test]
fn sessions_without_table_space_use_the_slow_path() {
    for (tables, counts) in [(&CLASSES[..], ([1, 1], [1, 1])), (&ROWS[..2], ([1, 1], [1, 1]))] {
        let mut program = Program::from(&profiles::DIRECT);
        let small = program.tables.iter_mut().filter(|table| tables.contains(&table.name.as_str()));
        small.for_each(|table| table.size = 1);
        let mut upf = InProcess::new(&program, topology(), Limits::default()).unwrap();
        let one = filter(Some(24), None);
        establish(&mut upf, 0, &filtered(0, std::slice::from_ref(&one)));
        upf.advance(START);
        let two = if tables == CLASSES { vec![one, filter(None, Some(53))] } else { vec![one] };
        establish(&mut upf, 1, &filtered(1, &two));
        upf.advance(START);
        let rows = entries(&mut upf, ["ul_to_n6_rules", "dl_from_n6_rules"]);
        assert_eq!((entries(&mut upf, CLASSES), rows), counts);
        pass(&mut upf, 0);
        assert_eq!((up(&mut upf, 1), down(&mut upf, 1)), (Disposition::Forwarded, Disposition::Forwarded));
        assert_eq!((end(&mut upf, 0), end(&mut upf, 1)), ((100, 200), (100, 200)));
    }
}

// Input:  a switch that has less capacity for classes than its program states; two sessions with filters; the first
//         ends.
// Output: the software keeps the second, the write is tried once, and other rules are written.
#[test]
fn classes_that_the_switch_refuses_do_not_come() {
    let mut small = Program::from(&profiles::DIRECT);
    small.tables.iter_mut().find(|table| table.name == "filters_ul").unwrap().size = 1;
    let (model, ..) = parts(&small, topology(), Limits::default()).unwrap();
    let (_, program, config) =
        parts(&Program::from(&profiles::DIRECT), topology(), Limits::default()).unwrap();
    let mut switch: Switch<Model<Upf>> = Switch::new(model, &program, config).unwrap();
    for (number, filter) in
        [(0, filter(Some(24), None)), (1, filter(None, Some(53))), (2, filter(None, None))]
    {
        switch
            .apply(START, &Plan::install(Seid(number.into()), filtered(number, &[filter]).clone()))
            .unwrap();
        switch.run(START);
    }
    for number in 0..3 {
        assert_eq!(switch.session(number).filters.is_empty(), number != 0);
        let frame = in_udp(
            ([192, 0, 2, 11].into(), 2152),
            (super::fixture::UPF, 2152),
            (0, None),
            &request(number as u8, 72),
        );
        switch.driver().receive(START, N3, &plain_frame(&frame.unwrap()));
        switch.run(START);
        assert!(switch.driver().poll_sent().is_some(), "{number}");
    }
    assert_eq!(switch.statistics().rejected_background_writes, 0);
    assert_eq!(switch.statistics().refused, 0);
    for number in 0..3 {
        switch.apply(START, &Plan::removal(Seid(number))).unwrap();
        switch.run(START);
    }
    assert!(switch.is_empty());
}

// Input:  a session with filters, packets; the switch restarts empty; packets.
// Output: classes and entries are restored, and every octet is reported.
#[test]
fn classes_come_back_after_a_restart() {
    let mut upf = direct();
    establish(&mut upf, 0, &filtered(0, &[filter(Some(24), None), filter(None, Some(53))]));
    upf.advance(START);
    let all = (entries(&mut upf, CLASSES), entries(&mut upf, ROWS));
    assert_eq!(all.0, [3, 3]);
    pass(&mut upf, 0);
    upf.switch().read_all_counters();
    upf.advance(START + Span::from_millis(1));
    let later = START + Span::from_secs(1);
    upf.switch().driver().restart(later);
    upf.advance(later);
    assert_eq!((entries(&mut upf, CLASSES), entries(&mut upf, ROWS)), all);
    let mut out = Vec::new();
    let passed =
        upf.process(later, &super::fixture::from_network(), &super::fixture::reply(0, 172), &mut out);
    assert_eq!((passed, out.len()), (Disposition::Forwarded, 1));
    let usage = upf.apply(later, &Plan::removal(Seid(0))).unwrap().usage;
    assert_eq!(usage.iter().map(|usage| usage.volume.unwrap().total()).sum::<u64>(), 500);
}
