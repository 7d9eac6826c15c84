//! Properties of profile `direct`: numbers that stay, that follow from addresses, and that are not reused too soon.

use causeway_dataplane::{ApplyError, Dataplane, Disposition, DropReason, PacketEngine};
use causeway_model::{
    HeaderRemoval, Plan, PlanOptions, Qer, RateLimit, RuleSet, TosMarking, plan_modification,
};
use causeway_p4::profiles;
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, UdpRepr};
use causeway_slowpath::Limits;
use causeway_types::{Bitrate, FarId, PdrId, QerId, Qfi, QfiSet, Seid, Span, Time, UrrId};

use super::fixture::{
    SERVERS, START, UPF, buffering, from_gnb, from_network, gnb, on_switch, reply, request, session,
    slow_path, teid, to_gnb, topology, tunnelled, ue, volume,
};
use crate::SwitchPdr;
use crate::backend::local_model::parts;
use crate::backend::{InProcess, SourceGuardPool, StartError, Switch};
use crate::driver::Program;

pub(super) fn direct() -> InProcess {
    on_switch(&profiles::DIRECT)
}

pub(super) fn establish(upf: &mut InProcess, number: u8, rules: &RuleSet) {
    upf.apply(START, &Plan::install(Seid(number.into()), rules.clone())).unwrap();
}

fn numbers(upf: &mut InProcess, number: u8) -> Vec<u32> {
    let state = &upf.switch().session(number.into());
    state.placed.values().map(|placed| placed.number.0).collect()
}

fn entries(upf: &mut InProcess, table: &str) -> usize {
    let state = upf.switch().driver().state();
    let table = state.program().table_named(table).unwrap().id;
    state.entries(table).unwrap().count()
}

/// Counted user octets of the session, uplink and downlink.
pub(super) fn end(upf: &mut InProcess, number: u8) -> (u64, u64) {
    let usage = upf.apply(START, &Plan::removal(Seid(number.into()))).unwrap().usage;
    let volumes = || usage.iter().filter_map(|usage| usage.volume);
    (volumes().map(|volume| volume.uplink).sum(), volumes().map(|volume| volume.downlink).sum())
}

pub(super) fn up(upf: &mut InProcess, number: u8) -> Disposition {
    upf.process(START, &from_gnb(), &request(number, 72), &mut Vec::new())
}

pub(super) fn down(upf: &mut InProcess, number: u8) -> Disposition {
    upf.process(START, &from_network(), &reply(number, 172), &mut Vec::new())
}

// Input:  a session; packets both ways; a handover; idle, and active again; packets after each.
// Output: its rules have the numbers of TEID and UE all the time and no entries but those, and every octet is reported at its end.
#[test]
fn a_handover_changes_an_entry_and_no_number() {
    let mut upf = direct();
    let mut rules = session(3);
    establish(&mut upf, 3, &rules);
    let first = numbers(&mut upf, 3);
    assert_eq!(first, [0x1003, 0x40_0001]);
    assert_eq!((up(&mut upf, 3), down(&mut upf, 3)), (Disposition::Forwarded, Disposition::Forwarded));
    for far in [to_gnb(gnb(1, 3)), buffering(gnb(1, 3)), to_gnb(gnb(0, 3))] {
        let waits = far.action != to_gnb(gnb(0, 3)).action;
        let mut new = rules.clone();
        new.fars.insert(FarId(2), far);
        upf.apply(START, &plan_modification(Seid(3), &rules, &new, &PlanOptions::default())).unwrap();
        rules = new;
        assert_eq!(numbers(&mut upf, 3), first);
        assert_eq!(down(&mut upf, 3), if waits { Disposition::Buffered } else { Disposition::Forwarded });
    }
    assert_eq!((entries(&mut upf, "ul_sessions_low"), entries(&mut upf, "dl_sessions_low")), (1, 1));
    assert_eq!((entries(&mut upf, "ul_to_n6_simple"), entries(&mut upf, "dl_template")), (0, 1));
    // The buffered packet was transmitted when the session was active again.
    assert_eq!(end(&mut upf, 3), (100, 4 * 200));
    assert_eq!((entries(&mut upf, "dl_sessions_low"), entries(&mut upf, "dl_template")), (0, 0));
}

// Input:  a session whose uplink rule is counted for another URR from some moment on, with packets before and after.
// Output: it gets another number, with an entry of its own, and each URR has its own usage.
#[test]
fn what_counts_otherwise_has_another_number() {
    let mut upf = direct();
    let mut rules = session(0);
    rules.urrs.insert(UrrId(2), volume(2, None));
    establish(&mut upf, 0, &rules);
    up(&mut upf, 0);
    let mut new = rules.clone();
    new.pdrs.get_mut(&PdrId(1)).unwrap().urrs = vec![UrrId(2)];
    upf.apply(START, &plan_modification(Seid(0), &rules, &new, &PlanOptions::default())).unwrap();
    assert_eq!(numbers(&mut upf, 0)[0], 0x80_0000);
    assert_eq!(entries(&mut upf, "ul_sessions_low"), 0);
    up(&mut upf, 0);
    up(&mut upf, 0);
    let usage = upf.apply(START, &Plan::removal(Seid(0))).unwrap().usage;
    let mut octets: Vec<(UrrId, u64)> =
        usage.iter().map(|usage| (usage.urr, usage.volume.unwrap().total())).collect();
    octets.sort_unstable();
    assert_eq!(octets, [(UrrId(1), 100), (UrrId(2), 200)]);
}

// Input:  a session ends and another one has the same last bits of its TEID; a late packet of the first one.
// Output: the new one has the number, counted from zero, and the late packet is dropped.
#[test]
fn a_late_packet_of_a_former_session_is_dropped() {
    let mut upf = direct();
    establish(&mut upf, 5, &session(5));
    up(&mut upf, 5);
    assert_eq!(end(&mut upf, 5), (100, 0));
    let mut rules = session(5);
    let pdr = rules.pdrs.get_mut(&PdrId(1)).unwrap();
    pdr.pdi.tunnel = Some(causeway_types::FTeid { teid: teid(0x4_1005), addr: UPF.into() });
    establish(&mut upf, 5, &rules);
    assert_eq!(numbers(&mut upf, 5)[0], 0x1005);
    assert!(matches!(up(&mut upf, 5), Disposition::Dropped(_)));
    assert_eq!(end(&mut upf, 5), (0, 0));
}

// Input:  two sessions with the same last bits of their TEIDs at the same time; packets of the first.
// Output: the second has an entry of its own, and their packets are distinguished.
#[test]
fn a_number_has_one_rule_at_a_time() {
    let mut upf = direct();
    establish(&mut upf, 1, &session(1));
    let mut rules = session(2);
    let pdr = rules.pdrs.get_mut(&PdrId(1)).unwrap();
    pdr.pdi.tunnel = Some(causeway_types::FTeid { teid: teid(0x4_1001), addr: UPF.into() });
    pdr.pdi.qfis = QfiSet::from_iter(Qfi::new(9));
    establish(&mut upf, 2, &rules);
    assert_eq!((numbers(&mut upf, 1)[0], numbers(&mut upf, 2)[0]), (0x1001, 0x80_0000));
    assert_eq!((up(&mut upf, 1), entries(&mut upf, "ul_to_n6_simple")), (Disposition::Forwarded, 1));
    assert_eq!((end(&mut upf, 2), end(&mut upf, 1)), ((0, 0), (100, 0)));
}

// Input:  a session whose uplink is for several QoS flows; a packet of one of them with its last hop.
// Output: the software finds its rule, and drops it as the slow path does.
#[test]
fn the_last_hop_of_a_rule_of_several_flows() {
    let (mut upf, mut oracle) = (direct(), slow_path());
    let mut rules = session(0);
    let pdr = rules.pdrs.get_mut(&PdrId(1)).unwrap();
    pdr.pdi.qfis = QfiSet::from_iter([8, 9].into_iter().filter_map(Qfi::new));
    let ip = Ipv4Repr { ttl: 1, ..Ipv4Repr::new(ue(0), SERVERS[0], IpProtocol::UDP) };
    let mut user = Vec::new();
    let udp = UdpRepr { src_port: 40_000, dst_port: 53 };
    IpRepr::V4(ip).write_udp(udp, true, &[&[0; 72]], &mut user).unwrap();
    for plane in [&mut upf as &mut dyn PacketEngine, &mut oracle] {
        plane.apply(START, &Plan::install(Seid(0), rules.clone())).unwrap();
        for qfi in [8, 9] {
            let fate = plane.process(START, &from_gnb(), &tunnelled(0, Some(qfi), &user), &mut Vec::new());
            assert_eq!(fate, Disposition::Dropped(DropReason::TtlExpired), "QFI {qfi}");
        }
    }
}

// Input:  sessions whose uplink is for several QoS flows, until the table is full; one more.
// Output: it is refused with the table's name, and no state of it is left.
#[test]
fn a_full_table_is_named() {
    let mut program = Program::from(&profiles::DIRECT);
    program.tables.iter_mut().find(|table| table.name == "ul_to_n6_simple").unwrap().size = 3;
    let mut upf = InProcess::new(&program, topology(), Limits::default()).unwrap();
    let with_flows = |number: u8| {
        let mut rules = session(number);
        let pdr = rules.pdrs.get_mut(&PdrId(1)).unwrap();
        pdr.pdi.qfis = QfiSet::from_iter([8, 9].into_iter().filter_map(Qfi::new));
        Plan::install(Seid(number.into()), rules.clone())
    };
    upf.apply(START, &with_flows(0)).unwrap();
    let full = ApplyError::Full { table: "ul_to_n6_simple", capacity: 3 };
    assert_eq!(upf.apply(START, &with_flows(1)), Err(full));
    assert_eq!((entries(&mut upf, "ul_to_n6_simple"), entries(&mut upf, "ue_pools")), (2, 1));
    assert_eq!(upf.switch().len(), (1, 2));
}

// Input:  a session whose rules share a rate; one of them gets a second QoS flow, and an entry of its own.
// Output: simple rules have meters of sessions, others those of rules, and all are released.
#[test]
fn meters_are_of_two_kinds() {
    let mut upf = direct();
    let mut rules = session(0);
    let kbps = Bitrate::from_kbps(8000).unwrap();
    let mbr = Some(RateLimit { uplink: kbps, downlink: kbps });
    rules.qers.insert(QerId(1), Qer { mbr, qfi: Qfi::new(9), ..Qer::new(QerId(1)) });
    establish(&mut upf, 0, &rules);
    let mut new = rules.clone();
    let pdr = new.pdrs.get_mut(&PdrId(1)).unwrap();
    pdr.pdi.qfis = QfiSet::from_iter([8, 9].into_iter().filter_map(Qfi::new));
    upf.apply(START, &plan_modification(Seid(0), &rules, &new, &PlanOptions::default())).unwrap();
    let meters: Vec<bool> = upf.switch().session(0).meters.keys().map(|meter| meter.is_simple).collect();
    assert_eq!(meters, [true, false]);
    end(&mut upf, 0);
    let free = upf.switch().free_meters();
    assert_eq!((free[0], free[1]), (1, 2));
}

// Input:  a pool of UEs whose TEIDs end like their addresses; a session of it; a pool that is too large, and one whose TEIDs are.
// Output: one entry numbers the whole pool, both rules have the UE's number; the others are refused by name.
#[test]
fn a_pool_numbers_its_ues() {
    let program = Program::from(&profiles::DIRECT);
    let with_pool = |pool: &str, first_teid: u32| {
        let (model, program, config) = parts(&program, topology(), Limits::default()).unwrap();
        let guards = vec![SourceGuardPool { pool: pool.parse().unwrap(), network: None, first_teid }];
        Switch::new(model, &program, crate::backend::Config { guards, ..config })
    };
    let mut switch = with_pool("10.45.0.0/20", 0x1000).unwrap();
    let mut rules = session(0);
    let pdr = rules.pdrs.get_mut(&PdrId(1)).unwrap();
    pdr.pdi.tunnel = Some(causeway_types::FTeid { teid: teid(0x1002), addr: UPF.into() });
    pdr.removal = Some(HeaderRemoval::GTPU_IPV4);
    switch.apply(START, &Plan::install(Seid(0), rules.clone())).unwrap();
    let placed = &switch.session(0).placed;
    let numbers: Vec<SwitchPdr> = placed.values().map(|placed| placed.number).collect();
    assert_eq!(numbers, [SwitchPdr(0x1002), SwitchPdr(0x40_1002)]);
    let state = switch.driver().state();
    let pools = state.program().table_named("ue_pools").unwrap().id;
    assert_eq!(state.entries(pools).unwrap().count(), 1);
    let large = "10.44.0.0/14".parse().unwrap();
    assert_eq!(with_pool("10.44.0.0/14", 0).unwrap_err(), StartError::Numbers(large));
    let high = "10.45.0.0/16".parse().unwrap();
    assert_eq!(with_pool("10.45.0.0/16", 0xdd_0000).unwrap_err(), StartError::Numbers(high));
}

// Input:  packets; the switch restarts empty, with all counters at zero; more packets; the session ends, and another
//         one gets its numbers.
// Output: usage read before and after the restart is reported, to the octet, of both sessions.
#[test]
fn counters_begin_again_with_the_switch() {
    let mut upf = direct();
    establish(&mut upf, 0, &session(0));
    for _ in 0..5 {
        down(&mut upf, 0);
    }
    let later: Time = START + Span::from_secs(1);
    upf.switch().driver().restart(later);
    upf.advance(later);
    down(&mut upf, 0);
    assert_eq!(end(&mut upf, 0), (0, 6 * 200));
    establish(&mut upf, 0, &session(0));
    down(&mut upf, 0);
    up(&mut upf, 0);
    assert_eq!(end(&mut upf, 0), (100, 200));
}

// Input:  fifty sessions, each of which has its uplink packets marked differently; one of the first ends, and another
//         begins.
// Output: all templates with numbers are used, the other rules have entries with their action; a free number is reused.
#[test]
fn a_rule_whose_template_finds_no_number_says_what_it_does() {
    let mut upf = direct();
    let marked = |number: u8| {
        let mut rules = session(number);
        let far = rules.fars.get_mut(&FarId(1)).unwrap();
        far.forwarding.as_mut().unwrap().marking = Some(TosMarking::new(number << 2, 0xfc));
        rules
    };
    for number in 0..50 {
        establish(&mut upf, number, &marked(number));
    }
    // Each of these has an entry for every QFI.
    assert_eq!((entries(&mut upf, "ul_template"), entries(&mut upf, "ul_to_n6_simple")), (48, 2 * 64));
    assert_eq!((numbers(&mut upf, 47)[0], numbers(&mut upf, 48)[0]), (0x102f, 0x80_0000));
    assert_eq!((up(&mut upf, 47), up(&mut upf, 48)), (Disposition::Forwarded, Disposition::Forwarded));
    assert_eq!((end(&mut upf, 47), end(&mut upf, 48)), ((100, 0), (100, 0)));
    establish(&mut upf, 50, &marked(50));
    assert_eq!((entries(&mut upf, "ul_template"), entries(&mut upf, "ul_sessions_low")), (48, 48));
    assert_eq!(up(&mut upf, 50), Disposition::Forwarded);
}
