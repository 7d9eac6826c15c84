//! Sessions with timers in cold storage: all that is seen of them is as if they had stayed in memory.

use std::sync::{Arc, Mutex};

use causeway_cold::{MemoryStore, StoreFaults};
use causeway_model::{Monitoring, Usage, UsageLimits};
use causeway_types::{ReportingTriggers as Triggers, Span, UsageReportTrigger, WallClock, WallTime};

use super::cold::{pass, state, with_faults, with_store};
use super::*;

const HOUR: Span = Span::from_secs(3600);

/// The rules of [`rules`] with another URR.
fn with_urr(ue: u8, change: impl FnOnce(&mut Urr)) -> RuleSet {
    let mut rules = rules(ue);
    change(rules.urrs.get_mut(&UrrId(1)).unwrap());
    rules
}

fn periodic(ue: u8) -> RuleSet {
    with_urr(ue, |urr| (urr.period, urr.triggers) = (Some(HOUR), Triggers::PERIO))
}

fn is_cold(plane: &FastPath, seid: u64) -> bool {
    plane.dormant.cold_slot(Seid(seid)).is_some()
}

fn events(plane: &mut FastPath) -> Vec<Event> {
    std::iter::from_fn(|| plane.poll_event()).collect()
}

/// The usage reports of events.
fn reports(plane: &mut FastPath) -> Vec<(Seid, Usage)> {
    let usages = events(plane).into_iter().map(|event| match event {
        Event::Usage { session, usage } => {
            usage.into_iter().map(move |usage| (session, usage)).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    });
    usages.flatten().collect()
}

// Input:  sessions with each kind of timer: a period; a threshold, a quota and a holding time of time that runs from the first packet, or by
//         itself; a validity time; inactivity of a URR and of the session; a monitoring time with other limits behind it; the end of traffic;
//         events. Each has packets in the first minute, and then every other hour for a day, on a data plane with cold storage and on one without.
// Output: each is in cold storage before its timers and between them; the events, with all that they say, come at the same steps; the same
//         for the final reports.
#[test]
fn reports_of_sessions_in_cold_storage_are_those_of_sessions_in_memory() {
    let timed = |urr: &mut Urr| urr.method.duration = true;
    let wall = |after: Span| WallTime::from_nanos((at(0) + after).as_nanos());
    let mut inactive = rules(9);
    inactive.inactivity_timer = Some(HOUR);
    let cases: [RuleSet; 9] = [
        periodic(1),
        with_urr(2, |urr| {
            timed(urr);
            (urr.thresholds.time, urr.triggers) = (Some(HOUR), Triggers::TIMTH);
        }),
        with_urr(3, |urr| {
            timed(urr);
            urr.immediate_start = true;
            (urr.quotas.time, urr.triggers) = (Some(5 * HOUR), Triggers::TIMQU);
        }),
        with_urr(4, |urr| {
            urr.quotas.volume =
                Some(causeway_model::DirectionalLimit { total: Some(1000), uplink: None, downlink: None });
            (urr.holding_time, urr.triggers) = (Some(3 * HOUR), Triggers::QUHTI);
        }),
        with_urr(5, |urr| (urr.validity_time, urr.triggers) = (Some(2 * HOUR), Triggers::QUVTI)),
        with_urr(6, |urr| (urr.inactivity_timer, urr.triggers) = (Some(HOUR), Triggers::UPINT)),
        with_urr(7, |urr| {
            let thresholds = UsageLimits { time: Some(HOUR), ..UsageLimits::default() };
            timed(urr);
            urr.monitoring =
                Some(Monitoring { at: wall(6 * HOUR), thresholds, quotas: UsageLimits::default() });
            urr.triggers = Triggers::TIMTH;
        }),
        with_urr(8, |urr| {
            urr.method.events = true;
            urr.inactivity_detection = Some(HOUR / 2);
            urr.thresholds.events = Some(3);
            urr.triggers = Triggers::STOPT | Triggers::EVETH;
        }),
        inactive,
    ];
    let mut cold = with_store(plane_for(16), MemoryStore::default());
    let mut plain = plane_for(16);
    for plane in [&mut cold, &mut plain] {
        plane.set_wall_clock(at(0), WallClock::reading(wall(Span::ZERO), at(0)));
        for (seid, rules) in (1..).zip(&cases) {
            plane.apply(at(0), &Plan::install(Seid(seid), rules.clone())).unwrap();
        }
    }
    let (mut seen, mut was_cold) = (0, [0; 9]);
    for minute in 0..24 * 60_u64 {
        let now = at(minute * 60);
        if minute == 0 || minute % 120 == 30 {
            for ue in 1..=9 {
                let fates = [&mut cold, &mut plain].map(|plane| downlink(plane, ue, now));
                assert_eq!(fates[0], fates[1], "session {ue} at minute {minute}");
            }
        }
        pass(&mut cold, now);
        pass(&mut plain, now);
        cold.advance(now);
        plain.advance(now);
        let events = [&mut cold, &mut plain].map(events);
        assert_eq!(events[0], events[1], "minute {minute}");
        seen += events[0].len();
        for (seid, count) in (1..).zip(&mut was_cold) {
            *count += usize::from(is_cold(&cold, seid));
        }
        assert_eq!(cold.counters(), plain.counters());
    }
    assert!(seen > 60, "{seen} events");
    assert!(was_cold.iter().all(|count| *count > 600), "{was_cold:?} minutes in cold storage");
    assert!(state(&cold).loads > 100 && state(&cold).lost == 0);
    for seid in 1..=9 {
        let removal = Plan::removal(Seid(seid));
        let ends = [&mut cold, &mut plain].map(|plane| plane.apply(at(24 * 3600), &removal).unwrap());
        assert_eq!(ends[0], ends[1], "session {seid}");
    }
}

// Input:  sessions that are idle after a minute: one whose timer is due in less than that, and one whose timer is due in more.
// Output: the first stays in memory.
#[test]
fn a_session_whose_timer_is_due_soon_stays_in_memory() {
    let (mut plane, _) = with_faults();
    let soon = with_urr(1, |urr| (urr.period, urr.triggers) = (Some(Span::from_secs(55)), Triggers::PERIO));
    plane.apply(at(0), &Plan::install(Seid(1), soon)).unwrap();
    plane.apply(at(0), &Plan::install(Seid(2), periodic(2))).unwrap();
    pass(&mut plane, at(300));
    assert_eq!((is_cold(&plane, 1), is_cold(&plane, 2)), (false, true));
    assert_eq!(reports(&mut plane).len(), 5);
}

// Input:  two hundred sessions in cold storage whose reports are due at the same time.
// Output: each step loads 64 of them at most, and the next step is due at once; all report that time; they go to cold storage again in the same step.
#[test]
fn a_mass_expiry_is_spread_over_steps() {
    let mut plane = with_store(plane_for(256), MemoryStore::default());
    for ue in 1..=200_u8 {
        plane.apply(at(0), &Plan::install(Seid(ue.into()), periodic(ue))).unwrap();
    }
    pass(&mut plane, at(300));
    assert_eq!(state(&plane).cold, 200);
    let due = at(3600);
    pass(&mut plane, at(3599));
    let mut steps = Vec::new();
    while plane.next_deadline().is_some_and(|next| next <= due) {
        plane.advance(due);
        let reports = reports(&mut plane);
        assert!(reports.iter().all(|(_, usage)| (usage.start, usage.end) == (at(0), due)));
        steps.push(reports.len());
    }
    steps.retain(|reports| *reports > 0);
    assert_eq!((steps, state(&plane).cold), (vec![64, 64, 64, 8], 200));
}

// Input:  two hundred sessions in cold storage whose reports are due at the same time, on a disk that does not answer; then it does.
// Output: no more than 64 reads are under way, and the data plane sleeps between its steps; then all report that time.
#[test]
fn a_mass_expiry_leaves_the_disk_to_others() {
    let faults = Arc::new(Mutex::new(StoreFaults::default()));
    let mut plane = with_store(plane_for(256), MemoryStore::with_faults(Arc::clone(&faults)));
    for ue in 1..=200_u8 {
        plane.apply(at(0), &Plan::install(Seid(ue.into()), periodic(ue))).unwrap();
    }
    pass(&mut plane, at(3599));
    assert_eq!(state(&plane).cold, 200);
    faults.lock().unwrap().reads_wait = true;
    for millis in 0..2000 {
        let now = at(3600) + Span::from_millis(millis);
        plane.advance(now);
        plane.advance(now);
        assert!(plane.next_deadline().unwrap() > now);
    }
    assert_eq!((reports(&mut plane), state(&plane).cold), (vec![], 200));
    faults.lock().unwrap().reads_wait = false;
    let mut ends = Vec::new();
    for millis in (0..400).step_by(10) {
        let before = state(&plane).loads;
        plane.advance(at(3603) + Span::from_millis(millis));
        assert!(state(&plane).loads - before <= 128);
        ends.extend(reports(&mut plane).into_iter().map(|(seid, usage)| (seid, usage.end)));
    }
    ends.sort_unstable();
    assert_eq!(ends, (1..=200).map(|seid| (Seid(seid), at(3600))).collect::<Vec<_>>());
}

// Input:  a session whose report is due while a disk reads its record, for three seconds; then one whose record cannot be read for longer than
//         ten seconds.
// Output: the data plane does not wait, nor asks at each moment; the report of the first has its time. The second is lost under a name, and its period starts anew.
#[test]
fn a_report_is_made_when_a_disk_has_answered() {
    let (mut plane, faults) = with_faults();
    for ue in [1, 2] {
        plane.apply(at(0), &Plan::install(Seid(ue.into()), periodic(ue))).unwrap();
        assert_eq!(downlink(&mut plane, ue, at(u64::from(ue))), Disposition::Forwarded);
    }
    pass(&mut plane, at(3599));
    assert_eq!(state(&plane).cold, 2);
    faults.lock().unwrap().reads_wait = true;
    for now in [at(3600), at(3601), at(3602)] {
        plane.advance(now);
        assert!(plane.next_deadline().unwrap() > now);
    }
    assert_eq!(reports(&mut plane), []);
    faults.lock().unwrap().reads_wait = false;
    plane.advance(at(3603));
    plane.advance(at(3603));
    let ends: Vec<_> =
        reports(&mut plane).iter().map(|(seid, usage)| (*seid, usage.end, usage.triggers)).collect();
    let perio = UsageReportTrigger::PERIO;
    assert_eq!(ends, [1, 2].map(|seid| (Seid(seid), at(3600), perio)));
    pass(&mut plane, at(7100));
    assert_eq!(state(&plane).cold, 2);
    plane.apply(at(7100), &Plan::removal(Seid(1))).unwrap();
    *faults.lock().unwrap() = StoreFaults { reads_fail: true, ..StoreFaults::default() };
    pass(&mut plane, at(7209));
    assert_eq!((reports(&mut plane), state(&plane).lost), (vec![], 0));
    pass(&mut plane, at(7215));
    assert_eq!((reports(&mut plane), state(&plane).lost, state(&plane).cold), (vec![], 1, 1));
    *faults.lock().unwrap() = StoreFaults::default();
    pass(&mut plane, at(10_900));
    let reports = reports(&mut plane);
    let [(seid, usage)] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!((*seid, usage.end), (Seid(2), usage.start + HOUR));
    assert!(usage.start > at(7209) && usage.start < at(7212));
}

// Input:  a session with a monitoring time in cold storage; the wall clock is set forward.
// Output: it is loaded when the clock says so, and its thresholds are those behind the monitoring time.
#[test]
fn the_wall_clock_loads_a_session() {
    let (mut plane, _) = with_faults();
    let wall = |secs: u64| WallTime::from_secs(1_000_000 + secs);
    plane.set_wall_clock(at(0), WallClock::reading(wall(0), at(0)));
    let quotas = UsageLimits::default();
    let rules = with_urr(1, |urr| {
        urr.monitoring = Some(Monitoring { at: wall(10_000), thresholds: UsageLimits::default(), quotas });
    });
    plane.apply(at(0), &Plan::install(Seid(1), rules)).unwrap();
    assert_eq!(downlink(&mut plane, 1, at(1)), Disposition::Forwarded);
    pass(&mut plane, at(300));
    assert!(is_cold(&plane, 1));
    plane.set_wall_clock(at(300), WallClock::reading(wall(9_000), at(300)));
    pass(&mut plane, at(1299));
    assert!(is_cold(&plane, 1));
    let loads = state(&plane).loads;
    pass(&mut plane, at(1300));
    assert_eq!(state(&plane).loads, loads + 1);
    pass(&mut plane, at(1320));
    let parts: Vec<_> =
        reports(&mut plane).iter().map(|(_, usage)| (usage.end, usage.volume.unwrap().downlink)).collect();
    assert_eq!(parts[0], (at(1300), 28));
}

/// The usage reports of one session, in turn: what each part has of packets, and of octets.
fn parts_of(reports: &[(Seid, Usage)], seid: u64) -> Vec<(u64, u64)> {
    let own = reports.iter().filter(|(session, _)| *session == Seid(seid));
    own.map(|(_, usage)| usage.volume.unwrap())
        .map(|volume| (volume.uplink_packets + volume.downlink_packets, volume.total()))
        .collect()
}

// Input:  two hundred sessions with the same monitoring time, each with two packets before. At that time the last session has a packet on its
//         flow entry, the one before it a packet that reaches its threshold, which the slow path has, and the one before that is queried.
// Output: each step expires 64 timers at most, and the next step is due at once; all are split. The packet of the slow path and the answer to
//         the query come behind the monitoring time of their session. That of the flow entry counts before it, and once.
#[test]
fn a_monitoring_time_that_many_sessions_share_stops_no_packets() {
    let mut plane = plane_for(256);
    let wall = |after: u64| WallTime::from_nanos(at(after).as_nanos());
    plane.set_wall_clock(at(0), WallClock::reading(wall(0), at(0)));
    let due = at(600);
    for ue in 1..=200_u8 {
        let limits = UsageLimits::default;
        let monitoring = Monitoring { at: wall(600), thresholds: limits(), quotas: limits() };
        let total = (ue == 199).then_some(57);
        let rules = with_urr(ue, |urr| {
            urr.monitoring = Some(monitoring);
            urr.triggers = Triggers::VOLTH;
            urr.thresholds.volume =
                total.map(|_| causeway_model::DirectionalLimit { total, uplink: None, downlink: None });
        });
        plane.apply(at(0), &Plan::install(Seid(ue.into()), rules)).unwrap();
        for now in [at(590), at(591)] {
            assert_eq!(downlink(&mut plane, ue, now), Disposition::Forwarded);
        }
    }
    let on_flow_entries = plane.fast_path_packets();
    assert_eq!(
        (downlink(&mut plane, 200, due), plane.fast_path_packets()),
        (Disposition::Forwarded, on_flow_entries + 1)
    );
    assert_eq!(uplink(&mut plane, UPF.into(), 199, due), Disposition::Forwarded);
    let query = Plan::update(Seid(198), vec![Op::QueryUrr(UrrId(1))]);
    let answer = plane.apply(due, &query).unwrap().usage;
    assert_eq!(answer.iter().map(|usage| usage.volume.unwrap().total()).collect::<Vec<_>>(), [56, 0]);
    // The packets and the plan were three steps, and had two timers before their turn: six timers are left.
    let mut steps = 0;
    while plane.next_deadline().is_some_and(|next| next <= due) {
        plane.advance(due);
        steps += 1;
    }
    assert_eq!(steps, 1);
    pass(&mut plane, at(700));
    let reports = reports(&mut plane);
    assert_eq!(
        (parts_of(&reports, 1), parts_of(&reports, 197)),
        (vec![(2, 56), (0, 0)], vec![(2, 56), (0, 0)])
    );
    assert_eq!(
        (parts_of(&reports, 200), parts_of(&reports, 199)),
        (vec![(3, 84), (0, 0)], vec![(2, 56), (1, 28)])
    );
    assert_eq!(parts_of(&reports, 198), []);
    let sessions: std::collections::BTreeSet<_> = reports.iter().map(|(seid, _)| seid.0).collect();
    assert_eq!((reports.len(), sessions.len()), (398, 199));
    assert!(reports.iter().all(|(_, usage)| usage.start == due || usage.end == due));
    assert!(reports.iter().all(|(_, usage)| usage.last_packet.is_none_or(|last| last <= usage.end)));
}

// Input:  two hundred sessions with the same period, inactivity timer and quota holding time, one hundred of them with a packet half-way.
// Output: no step has the events of more than 64 sessions, three of each; all events come, each once.
#[test]
fn timers_that_many_sessions_share_are_spread_over_steps() {
    let mut plane = plane_for(256);
    for ue in 1..=200_u8 {
        let mut rules = with_urr(ue, |urr| {
            urr.quotas.volume =
                Some(causeway_model::DirectionalLimit { total: Some(1000), uplink: None, downlink: None });
            (urr.period, urr.holding_time) = (Some(HOUR), Some(HOUR));
            urr.triggers = Triggers::PERIO | Triggers::QUHTI;
        });
        rules.inactivity_timer = Some(HOUR);
        plane.apply(at(0), &Plan::install(Seid(ue.into()), rules)).unwrap();
    }
    for ue in 1..=100 {
        assert_eq!(downlink(&mut plane, ue, at(1800)), Disposition::Forwarded);
    }
    let (mut steps, mut all) = (Vec::new(), Vec::new());
    while let Some(now) = plane.next_deadline().filter(|next| *next <= at(7000)) {
        plane.advance(now);
        let events = events(&mut plane);
        steps.push(events.len());
        all.extend(events);
    }
    assert!(steps.iter().all(|events| *events <= 3 * 64), "{steps:?}");
    let inactive = all.iter().filter(|event| matches!(event, Event::Inactivity { .. })).count();
    let usages = all.iter().filter_map(|event| match event {
        Event::Usage { usage, .. } => usage.first(),
        _ => None,
    });
    let held = usages.clone().filter(|usage| usage.triggers.contains(UsageReportTrigger::QUHTI)).count();
    let periods = usages.filter(|usage| usage.triggers.contains(UsageReportTrigger::PERIO)).count();
    assert_eq!((inactive, held, periods), (200, 200, 200));
}

/// A UE with an IPv6 prefix, in the tunnel of its number.
fn rules_v6(ue: u8) -> RuleSet {
    let mut rules = rules(ue);
    let prefix = format!("2001:db8:0:{ue:x}::/64").parse().unwrap();
    for pdr in [PdrId(1), PdrId(2)] {
        let address = rules.pdrs.get_mut(&pdr).unwrap().pdi.ue.as_mut().unwrap();
        (address.v4, address.v6) = (None, Some(prefix));
    }
    rules
}

/// A Router Solicitation in the tunnel of a UE, and what was sent.
fn solicit(plane: &mut FastPath, ue: u8, now: Time) -> usize {
    use causeway_packet::{IpProtocol, Ipv6Repr, checksum::Checksum};
    let (src, dst) = (format!("fe80::{ue:x}").parse().unwrap(), "ff02::2".parse().unwrap());
    let mut body = [133, 0, 0, 0, 0, 0, 0, 0];
    let sum = Checksum::default().pseudo_v6(src, dst, IpProtocol::ICMPV6, body.len()).with(&body).finish();
    body[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut user = Vec::new();
    let repr = Ipv6Repr { hop_limit: 255, ..Ipv6Repr::new(src, dst, IpProtocol::ICMPV6) };
    repr.write(&body, &mut user).unwrap();
    let header = [0x30, 255, 0, u8::try_from(user.len()).unwrap(), 0, 0, 0, ue];
    let ingress = Ingress::Gtpu { local: UPF.into(), peer: (GNB, 2152).into(), tos: 0, hops: None };
    let mut sent = Vec::<(Egress, Vec<u8>)>::new();
    let fate = plane.process(now, &ingress, &[&header[..], &user].concat(), &mut sent);
    assert_eq!(fate, Disposition::Consumed);
    sent.len()
}

// Input:  two hundred UEs with IPv6 that solicit the UPF at the same time, on a data plane with cold storage; a day passes. One of them has a
//         FAR that buffers since its solicitation, until the end of the day.
// Output: all are in cold storage meanwhile. Each is advertised to four times, at least every 21,845 s and at intervals of their own, but for
//         the last one, which gets its advertisement when its FAR forwards again.
#[test]
fn sessions_in_cold_storage_are_advertised_to_again() {
    let mut topology = plane().topology.clone();
    topology.routing.router_advertisement = true;
    let plane = FastPath::new(topology, Limits { max_sessions: 256, ..Limits::default() }).unwrap();
    let mut plane = with_store(plane, MemoryStore::default());
    for ue in 1..=200 {
        plane.apply(at(0), &Plan::install(Seid(ue.into()), rules_v6(ue))).unwrap();
        assert_eq!(solicit(&mut plane, ue, at(1)), 1);
    }
    let far =
        |plane: &FastPath| plane.slow_path.rules_of(Seid(200)).unwrap().fars.get(&FarId(2)).unwrap().clone();
    let forwards = far(&plane);
    let buffers = Far { action: ApplyAction::Buffer { notify: false }, ..forwards.clone() };
    plane.apply(at(2), &Plan::update(Seid(200), vec![Op::PutFar(buffers.into())])).unwrap();
    let mut sent = Vec::<(Egress, Vec<u8>)>::new();
    let mut times = Vec::new();
    while let Some(next) = plane.next_deadline().filter(|next| *next <= at(86_000)) {
        plane.advance(next);
        let before = sent.len();
        plane.flush(&mut sent);
        times.extend((before..sent.len()).map(|_| next));
    }
    assert_eq!(state(&plane).cold, 200);
    let teid = |packet: &[u8]| u32::from_be_bytes(packet[4..8].try_into().unwrap());
    for ue in 1..=199_u32 {
        let own = sent.iter().zip(&times).filter(|((_, packet), _)| teid(packet) == 0x100 + ue);
        let own: Vec<_> = std::iter::once(at(1)).chain(own.map(|(_, time)| *time)).collect();
        let gaps: Vec<_> = own.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        assert!(gaps.iter().all(|gap| *gap == Span::from_secs(21_845 - u64::from(ue))), "{ue}: {gaps:?}");
        assert!(matches!(gaps.len(), 3 | 4), "{ue}: {gaps:?}");
    }
    assert!(sent.iter().all(|(_, packet)| teid(packet) != 0x100 + 200));
    sent.clear();
    plane.apply(at(86_001), &Plan::update(Seid(200), vec![Op::PutFar(forwards.into())])).unwrap();
    plane.flush(&mut sent);
    assert_eq!(sent.iter().map(|(_, packet)| teid(packet)).collect::<Vec<_>>(), [0x100 + 200]);
}
