//! Accounts of profile `xplane` with XPLANE_WALK on BMv2: budgets and inactivity times hold on the switch, and it writes the whole account as the crate does.

use std::net::Ipv4Addr;

use causeway_dataplane::{Dataplane, Disposition, Egress, Event, Ingress, PacketEngine};
use causeway_model::{DirectionalLimit, MeasurementMethod, Plan, Urr, UsageLimits};
use causeway_types::{PdrId, QfiSet, ReportingTriggers, Seid, Span, Time, UrrId, Volume};
use causeway_xplane::XPlane;
use causeway_xplane::state::Account;

use crate::bmv2::{is_inside, run_inside};
use crate::frames::{GNB, UPF_N3, V4};
use crate::xplane::{
    ACCOUNT, FORWARDED, Form, GENERATION, Memory, SIZES, TEID, UPLINK, World, entry, ethernet, g_pdu,
    to_network, uplink_alone, upward,
};
use crate::xplane_walk::{Rule, TIME, Walks, target};
use crate::{N3, N6};

/// A packet of so many octets.
fn of(octets: usize) -> V4 {
    upward((1000, 2000), &vec![7; octets - 28])
}

/// A UE with an account, and a flow with an entry.
fn start(account: Account) -> Walks {
    let rules: &[Rule] = &[(QfiSet::EMPTY, vec![], target(0))];
    let mut walks = Walks::start(UPLINK, rules);
    grant(&mut walks, account);
    let place = SIZES.entries(UPLINK.flow_bucket(&of(40), 9));
    walks.world.write(place, entry(UPLINK, &of(40), Some(9), GENERATION, to_network()));
    walks
}

/// The software grants anew.
fn grant(walks: &mut Walks, account: Account) {
    walks.install_account(UPLINK, &[(QfiSet::EMPTY, vec![], target(0))], GENERATION, account);
    walks.counted = (account.packets, account.octets);
}

/// A packet passes, and is written into the account.
fn pass(walks: &mut Walks, packet: &V4) {
    walks.world.first_packet(UPLINK, N3, &g_pdu(packet, TEID, 9), packet, 9);
    walks.forwarded(UPLINK, packet);
    walks.close(UPLINK);
}

/// A packet is for the software, and the account remains as it is.
fn refuse(walks: &mut Walks, packet: &V4) {
    let before = walks.world.account(UPLINK);
    walks.world.first_packet(UPLINK, N3, &g_pdu(packet, TEID, 9), packet, 9);
    assert_eq!(walks.world.left(ACCOUNT), [UPLINK.tag(9), packet.octets()].concat());
    walks.close(UPLINK);
    assert_eq!(walks.world.account(UPLINK), before);
}

// Input:  an account with a budget of 150 octets, that has counted before, also drops: a packet of 60; then of 40 and of 60 in flight together; of 50; of 32. A new grant
//         without a budget.
// Output: the second one of 60 and the last are for the software, and change nothing: one of as many octets as remain passes. Memory has the account as the
//         crate would write it: budget, packets, octets, and the time of the last packet that passed.
#[test]
fn a_budget_is_not_exceeded() {
    if !is_inside() {
        return run_inside("xplane_accounts::a_budget_is_not_exceeded");
    }
    let before = Account {
        budget: 150,
        idle_limit: Span::MAX,
        packets: 5,
        octets: (1 << 33) + 500,
        dropped_packets: 2,
        dropped_octets: 77,
        last_arrival: None,
        last_pass: Time::from_nanos(9),
    };
    let mut walks = start(before);
    pass(&mut walks, &of(60));
    let first = walks.world.account(UPLINK);
    walks.world.put(N3, &g_pdu(&of(40), TEID, 9));
    let mut requests = vec![walks.world.load(UPLINK)];
    requests.extend(walks.world.store_and_fetch(UPLINK, &of(40), 9));
    walks.world.put(N3, &g_pdu(&of(60), TEID, 9));
    requests.extend(walks.world.store_and_fetch(UPLINK, &of(60), 9));
    walks.world.answer(&requests);
    walks.forwarded(UPLINK, &of(40));
    assert_eq!(walks.world.left(ACCOUNT), [UPLINK.tag(9), of(60).octets()].concat());
    walks.close(UPLINK);
    pass(&mut walks, &of(50));
    refuse(&mut walks, &of(32));
    let after = walks.world.account(UPLINK);
    assert!(first.last_pass < after.last_pass);
    let times = Account { last_arrival: after.last_arrival, last_pass: after.last_pass, ..before };
    assert_eq!(after, Account { budget: 0, packets: 8, octets: before.octets + 150, ..times });
    grant(&mut walks, Account { budget: u64::MAX, ..after });
    pass(&mut walks, &of(1000));
    assert_eq!((walks.world.account(UPLINK).budget, walks.world.outcomes(FORWARDED)), (u64::MAX - 1000, 4));
}

// Input:  an account with an inactivity time of 10,000 s, whose last packet is later than now: a packet, and another one; one when 10,000 s more have passed; a new
//         grant.
// Output: a time before the last packet is none; the third is for the software, and changes nothing; after the grant packets pass.
#[test]
fn an_inactive_account_is_the_softwares() {
    if !is_inside() {
        return run_inside("xplane_accounts::an_inactive_account_is_the_softwares");
    }
    let idle = Span::from_secs(10_000);
    let later = Time::from_nanos(TIME) + Span::from_secs(1_000_000);
    let mut walks =
        start(Account { budget: 1 << 40, idle_limit: idle, last_pass: later, ..Account::default() });
    pass(&mut walks, &of(60));
    pass(&mut walks, &of(60));
    walks.world.set_time(TIME + 10_000_000_000_000);
    refuse(&mut walks, &of(60));
    let granted = Account { last_pass: walks.world.clock(), ..walks.world.account(UPLINK) };
    grant(&mut walks, granted);
    pass(&mut walks, &of(60));
    assert_eq!((walks.world.counted(UPLINK), walks.world.outcomes(FORWARDED)), ((3, 180), 3));
}

// Input:  a session with a URR that reports each 1,000 octets: the first packet by the software, which grants; then packets of 100 octets, by the switch as long as it
//         has a budget, with one of the software between; then by the software; then the session is deleted.
// Output: both count in one account; the report has all octets of both up to the threshold, and the last one the rest, with the time of the last packet, which the
//         switch has written.
#[test]
fn a_urr_is_counted_by_both() {
    if !is_inside() {
        return run_inside("xplane_accounts::a_urr_is_counted_by_both");
    }
    let mut world = World::start_with(Form::Walks);
    world.set_time(world.now.as_nanos());
    let (mut software, seid) = (world.software(), Seid(7));
    let mut rules = uplink_alone();
    let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
    let volume = Some(DirectionalLimit { total: Some(1000), ..DirectionalLimit::default() });
    let urr = Urr {
        triggers: ReportingTriggers::VOLTH,
        thresholds: UsageLimits { volume, ..UsageLimits::default() },
        inactivity_detection: Some(Span::from_secs(36_000)),
        ..Urr::new(UrrId(1), method)
    };
    rules.urrs.insert(UrrId(1), urr);
    rules.pdrs.get_mut(&PdrId(1)).unwrap().urrs.push(UrrId(1));
    software.apply(world.now, &Plan::install(seid, rules)).unwrap();
    world.set_generation(UPLINK, software.pipeline().generation(&UPLINK.key()));
    let packet = of(100);
    // Its time stands, so that of the switch is later.
    let by_software = |world: &World, software: &mut XPlane<Memory>| {
        let peer = (Ipv4Addr::from(GNB), 2152).into();
        let ingress = Ingress::Gtpu { local: UPF_N3.into(), peer, tos: 0, hops: None };
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        let frame = g_pdu(&packet, TEID, 9);
        let done = software.process(world.now, &ingress, &frame[14 + 28..], &mut sent);
        assert_eq!((done, sent.len()), (Disposition::Forwarded, 1));
    };
    let by_switch = |world: &mut World, passes: bool| {
        world.first_packet(UPLINK, N3, &g_pdu(&packet, TEID, 9), &packet, 9);
        let mut counted = world.counted(UPLINK);
        if passes {
            assert_eq!(world.next(N6), ethernet(&packet.hop().octets()));
            counted = (counted.0 + 1, counted.1 + 100);
        } else {
            assert_eq!(world.left(ACCOUNT), [UPLINK.tag(9), packet.octets()].concat());
        }
        let end = [world.save(UPLINK, counted.0, counted.1), world.close(UPLINK)];
        world.answer(&end);
        world.wait_for_end(UPLINK);
        assert_eq!(world.counted(UPLINK), counted);
    };
    // The second one of the software finds no entry, and writes it.
    by_software(&world, &mut software);
    by_software(&world, &mut software);
    (0..3).for_each(|_| by_switch(&mut world, true));
    by_software(&world, &mut software);
    (0..3).for_each(|_| by_switch(&mut world, true));
    // 900 octets have passed: another 100 would reach the threshold.
    by_switch(&mut world, false);
    assert!(software.poll_event().is_none());
    by_software(&world, &mut software);
    let uplink = |octets| Volume { uplink: octets, uplink_packets: octets / 100, ..Volume::ZERO };
    let Some(Event::Usage { usage, .. }) = software.poll_event() else { panic!("no report") };
    assert_eq!(usage.iter().map(|usage| usage.volume).collect::<Vec<_>>(), [Some(uplink(1000))]);
    // The first packet after a report is the software's: it has the time of the first packet.
    by_switch(&mut world, false);
    by_software(&world, &mut software);
    (0..3).for_each(|_| by_switch(&mut world, true));
    let last = world.account(UPLINK).last_pass;
    let applied = software.apply(world.clock(), &Plan::removal(seid)).unwrap();
    assert_eq!(applied.usage[0].volume, Some(uplink(400)));
    assert_eq!(applied.usage[0].last_packet, Some(last));
    assert_eq!(world.outcomes(FORWARDED), 9);
}
