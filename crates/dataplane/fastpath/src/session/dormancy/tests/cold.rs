use std::sync::{Arc, Mutex};

use std::task::Poll;

use causeway_cold::{ColdFile, ColdStore, MemoryStore, ReadError, StoreFaults, StoreState};
use causeway_dataplane::{ApplyError, BackendError, ColdStorageState, DropReason, PlanId};
use causeway_model::{DirectionalLimit, UrrPart};
use causeway_types::{Precedence, Span};
use proptest::prelude::*;

use super::*;
use crate::ColdNotice;

/// Octets of a packet of [`downlink`].
pub(super) const PACKET: u64 = 28;

/// The time after which sessions are idle here.
const IDLE: Span = Span::from_secs(60);

fn ignore(_: &ColdNotice) {}

pub(super) fn with_store(plane: FastPath, store: impl ColdStore + 'static) -> FastPath {
    plane.with_cold_storage(Box::new(store), IDLE, ignore)
}

pub(super) fn with_faults() -> (FastPath, Arc<Mutex<StoreFaults>>) {
    let faults = Arc::new(Mutex::new(StoreFaults::default()));
    (with_store(plane_for(8), MemoryStore::with_faults(Arc::clone(&faults))), faults)
}

pub(super) fn state(plane: &FastPath) -> ColdStorageState {
    plane.cold_storage().unwrap()
}

/// Passes the time, from deadline to deadline.
pub(super) fn pass(plane: &mut FastPath, until: Time) {
    while let Some(next) = plane.next_deadline().filter(|next| *next <= until) {
        plane.advance(next);
    }
}

/// Three sessions of one profile; the second and third have had a packet 10 s after the first was established. They are idle since, and
/// in cold storage. The first has had one 90 s later.
fn idle(plane: &mut FastPath) {
    let mut templates = Templates::default();
    establish(plane, &mut templates, 3);
    for ue in [2, 3] {
        assert_eq!(downlink(plane, ue, at(10)), Disposition::Forwarded);
    }
    pass(plane, at(30));
    assert_eq!((state(plane).cold, state(plane).evictions), (0, 0));
    assert_eq!(downlink(plane, 1, at(100)), Disposition::Forwarded);
    pass(plane, at(120));
    assert_eq!((state(plane).cold, state(plane).in_memory, state(plane).evictions), (2, 1, 2));
    assert_eq!((plane.slow_path.sessions(), plane.leases.len(), plane.counters().sessions), (1, 1, 3));
}

/// The downlink octets of the final report, and when its first and last packet came.
fn end(plane: &mut FastPath, seid: u64, now: Time) -> (u64, Option<Time>, Option<Time>) {
    let usage = plane.apply(now, &Plan::removal(Seid(seid))).unwrap().usage;
    let [usage] = &usage[..] else { panic!("{usage:?}") };
    (usage.volume.unwrap().downlink, usage.first_packet, usage.last_packet)
}

// Input:  sessions that are idle for a minute, with a store in a file; a packet for one of them, which is idle again; both are deleted.
// Output: they move to the store and back, once each time; usage is exact to the octet, with the times of the first packet and the last.
#[test]
fn idle_sessions_move_to_the_store_and_back() {
    let store = ColdFile::create(&std::env::temp_dir(), |notice| panic!("{notice}")).unwrap();
    let mut plane = with_store(plane_for(8), store);
    idle(&mut plane);
    assert_eq!(downlink(&mut plane, 2, at(130)), Disposition::Forwarded);
    assert_eq!((state(&plane).cold, state(&plane).loads), (1, 1));
    assert_eq!(downlink(&mut plane, 2, at(131)), Disposition::Forwarded);
    assert_eq!(plane.fast_path_packets(), 1);
    pass(&mut plane, at(300));
    assert_eq!((state(&plane).cold, state(&plane).evictions), (3, 4));
    assert_eq!(end(&mut plane, 2, at(310)), (3 * PACKET, Some(at(10)), Some(at(131))));
    assert_eq!(end(&mut plane, 3, at(310)), (PACKET, Some(at(10)), Some(at(10))));
    assert_eq!((state(&plane).cold, state(&plane).loads, state(&plane).load_times.count()), (1, 3, 3));
    assert_eq!((state(&plane).lost, state(&plane).read_errors, plane.counters().sessions), (0, 0, 1));
}

// Input:  a session in the store; an operator asks for its state and for what would become of a packet, twice.
// Output: the answers are those of a session in memory; it is in the store afterwards.
#[test]
fn a_query_leaves_a_session_in_the_store() {
    let (mut plane, _) = with_faults();
    idle(&mut plane);
    for _ in 0..2 {
        let state = plane.session_state(at(130), Seid(2)).unwrap();
        assert_eq!((state.last_packet, state.usage.len()), (Some(at(10)), 1));
        assert_eq!((self::state(&plane).cold, self::state(&plane).in_memory), (2, 1));
    }
    assert_eq!(end(&mut plane, 2, at(140)), (PACKET, Some(at(10)), Some(at(10))));
}

// Input:  a store that is full while sessions become idle; then it is not.
// Output: they stay in memory; then they move.
#[test]
fn sessions_stay_in_memory_while_the_store_is_full() {
    let (mut plane, faults) = with_faults();
    let mut templates = Templates::default();
    faults.lock().unwrap().is_full = true;
    establish(&mut plane, &mut templates, 3);
    assert_eq!(downlink(&mut plane, 2, at(10)), Disposition::Forwarded);
    pass(&mut plane, at(200));
    assert_eq!((state(&plane).cold, state(&plane).evictions), (0, 0));
    faults.lock().unwrap().is_full = false;
    pass(&mut plane, at(300));
    assert_eq!((state(&plane).cold, state(&plane).evictions), (2, 2));
    assert_eq!(end(&mut plane, 2, at(310)), (PACKET, Some(at(10)), Some(at(10))));
}

// Input:  a store that cannot be read for five seconds: packets, a handover, a deletion and a query meanwhile, and after.
// Output: packets are dropped under a name, plans are refused by the backend and nothing changes; then all is as it was.
#[test]
fn a_store_that_cannot_be_read_for_a_while_loses_nothing() {
    let (mut plane, faults) = with_faults();
    idle(&mut plane);
    faults.lock().unwrap().reads_fail = true;
    let dropped = Disposition::Dropped(DropReason::ExternalMemory);
    for tenths in 0..50 {
        assert_eq!(downlink(&mut plane, 2, at(130) + Span::from_millis(tenths * 100)), dropped);
    }
    let refused = Err(ApplyError::Backend(BackendError::ColdStorage));
    assert_eq!(plane.apply(at(135), &Plan::removal(Seid(2))), refused);
    let (old, mut new) = (rules(2), rules(2));
    let far = Far::forward(FarId(2), Forwarding::into_tunnel(Interface::Access, tunnel(0x999, GNB)));
    new.fars.insert(FarId(2), far);
    let plan = plan_modification(Seid(2), &old, &new, &PlanOptions::default());
    assert_eq!(plane.apply(at(135), &plan), refused);
    assert_eq!(plane.session_state(at(135), Seid(2)), None);
    assert_eq!(plane.counters().dropped(DropReason::ExternalMemory), 50);
    assert_eq!((state(&plane).cold, state(&plane).lost, plane.counters().sessions), (2, 0, 3));
    faults.lock().unwrap().reads_fail = false;
    assert_eq!(plane.apply(at(136), &plan).map(|_| ()), Ok(()));
    assert_eq!(downlink(&mut plane, 2, at(137)), Disposition::Forwarded);
    assert_eq!(end(&mut plane, 2, at(138)), (2 * PACKET, Some(at(10)), Some(at(137))));
}

// Input:  a record that is damaged; a store that cannot be read for longer than ten seconds.
// Output: the session goes on without the usage of before, which is counted as lost; nothing else changes.
#[test]
fn what_cannot_be_read_is_lost_under_a_name() {
    let (mut plane, faults) = with_faults();
    idle(&mut plane);
    faults.lock().unwrap().damages = true;
    assert_eq!(downlink(&mut plane, 2, at(130)), Disposition::Forwarded);
    assert_eq!((state(&plane).lost, state(&plane).read_errors, state(&plane).cold), (1, 1, 1));
    *faults.lock().unwrap() = StoreFaults { reads_fail: true, ..StoreFaults::default() };
    assert_eq!(downlink(&mut plane, 3, at(131)), Disposition::Dropped(DropReason::ExternalMemory));
    assert_eq!(state(&plane).lost, 1);
    assert_eq!(downlink(&mut plane, 3, at(142)), Disposition::Forwarded);
    assert_eq!((state(&plane).lost, state(&plane).cold), (2, 0));
    assert_eq!(end(&mut plane, 2, at(150)), (PACKET, Some(at(130)), Some(at(130))));
    assert_eq!(end(&mut plane, 3, at(150)), (PACKET, Some(at(142)), Some(at(142))));
}

// Input:  a session that moves to a file and is loaded fifty times, whether its record is written by then or not; a handover while it is there.
// Output: usage is exact to the octet.
#[test]
fn a_record_is_loaded_whether_it_is_written_or_not() {
    let store = ColdFile::create(&std::env::temp_dir(), |notice| panic!("{notice}")).unwrap();
    let mut plane = with_store(plane_for(8), store);
    let mut templates = Templates::default();
    idle(&mut plane);
    for turn in 0..50 {
        let now = at(200 + turn * 200);
        if turn == 25 {
            change(&mut plane, &mut templates, 2, 200 + turn * 200, handover);
        }
        assert_eq!(downlink(&mut plane, 2, now), Disposition::Forwarded);
        pass(&mut plane, now + IDLE + IDLE);
        assert_eq!(state(&plane).cold, 3);
    }
    assert_eq!(end(&mut plane, 2, at(20_000)).0, 51 * PACKET);
}

// Input:  a session with a packet that waits for its UE, and two without.
// Output: the first stays in memory.
#[test]
fn sessions_with_buffered_packets_stay_in_memory() {
    let (mut plane, _) = with_faults();
    let mut templates = Templates::default();
    establish(&mut plane, &mut templates, 3);
    for ue in [2, 3] {
        assert_eq!(downlink(&mut plane, ue, at(5)), Disposition::Forwarded);
    }
    change(&mut plane, &mut templates, 2, 10, |far| far.action = ApplyAction::Buffer { notify: true });
    assert_eq!(downlink(&mut plane, 2, at(11)), Disposition::Buffered);
    pass(&mut plane, at(300));
    assert_eq!((state(&plane).cold, plane.slow_path.has(Seid(2))), (2, true));
}

/// Downlink packets of a UE, numbered by their time: how many have been sent in this list, in order.
fn sent_to(sent: &[(Egress, Vec<u8>)]) -> usize {
    sent.iter().filter(|(egress, _)| matches!(egress, Egress::Gtpu { .. })).count()
}

// Input:  a store on a slow disk: three packets for a session in it, and one for another session; then the disk answers.
// Output: the three are held, and the other one passes; then they leave with the next flush, and the usage has their octets. Nothing is counted twice.
#[test]
fn packets_are_held_while_a_disk_reads() {
    let (mut plane, faults) = with_faults();
    idle(&mut plane);
    faults.lock().unwrap().reads_wait = true;
    let before = plane.counters();
    for millis in 0..3 {
        assert_eq!(downlink(&mut plane, 2, at(130) + Span::from_millis(millis)), Disposition::Buffered);
    }
    assert_eq!((state(&plane).held_packets, state(&plane).cold), (3, 2));
    assert_eq!(downlink(&mut plane, 1, at(131)), Disposition::Forwarded);
    let mut sent = Vec::new();
    plane.advance(at(132));
    plane.flush(&mut sent);
    assert_eq!((sent.len(), plane.counters().received()), (0, before.received() + 1));
    faults.lock().unwrap().reads_wait = false;
    // One that comes before the data plane has looked is behind them.
    assert_eq!(downlink(&mut plane, 2, at(133)), Disposition::Buffered);
    plane.advance(at(133));
    plane.flush(&mut sent);
    assert_eq!((sent_to(&sent), state(&plane).held_packets, state(&plane).loads), (4, 0, 1));
    assert_eq!(downlink(&mut plane, 2, at(134)), Disposition::Forwarded);
    let counters = plane.counters();
    assert_eq!((counters.received(), counters.forwarded), (before.received() + 6, before.forwarded + 6));
    assert_eq!(end(&mut plane, 2, at(140)), (6 * PACKET, Some(at(10)), Some(at(134))));
}

// Input:  two packets that are held; then the session is deleted, before the disk answers. The slot has another session then.
// Output: the plan reads the record itself. The packets leave before its result, and are in the final report; what the disk says later is of no
//         effect.
#[test]
fn a_plan_does_not_overtake_packets_that_are_held() {
    let (mut plane, faults) = with_faults();
    idle(&mut plane);
    faults.lock().unwrap().reads_wait = true;
    for seconds in [130, 131] {
        assert_eq!(downlink(&mut plane, 2, at(seconds)), Disposition::Buffered);
    }
    assert_eq!(end(&mut plane, 2, at(140)), (3 * PACKET, Some(at(10)), Some(at(140))));
    let mut sent = Vec::new();
    plane.flush(&mut sent);
    assert_eq!((sent_to(&sent), state(&plane).held_packets, state(&plane).cold), (2, 0, 1));
    faults.lock().unwrap().reads_wait = false;
    plane.advance(at(141));
    plane.flush(&mut sent);
    assert_eq!((sent.len(), state(&plane).loads, plane.counters().sessions), (2, 1, 2));
}

// Input:  more packets than are held of a session; then the record cannot be read.
// Output: those beyond the limit, and then the others, are dropped under a name.
#[test]
fn held_packets_that_cannot_go_on_are_dropped_under_a_name() {
    let (mut plane, faults) = with_faults();
    idle(&mut plane);
    faults.lock().unwrap().reads_wait = true;
    for _ in 0..64 {
        assert_eq!(downlink(&mut plane, 2, at(130)), Disposition::Buffered);
    }
    let dropped = Disposition::Dropped(DropReason::ExternalMemory);
    assert_eq!(downlink(&mut plane, 2, at(130)), dropped);
    *faults.lock().unwrap() = StoreFaults { reads_fail: true, ..StoreFaults::default() };
    plane.advance(at(131));
    assert_eq!(plane.counters().dropped(DropReason::ExternalMemory), 65);
    assert_eq!((state(&plane).held_packets, state(&plane).cold, state(&plane).lost), (0, 2, 0));
    *faults.lock().unwrap() = StoreFaults::default();
    assert_eq!(downlink(&mut plane, 2, at(132)), Disposition::Forwarded);
}

/// A change of the rules of one session, as no other has had it.
fn modify(
    plane: &mut FastPath,
    seid: u64,
    rules: &mut RuleSet,
    now: Time,
    act: impl FnOnce(&mut RuleSet, &mut PlanOptions),
) {
    let (mut new, mut options) = (rules.clone(), PlanOptions::default());
    act(&mut new, &mut options);
    plane.apply(now, &plan_modification(Seid(seid), rules, &new, &options)).unwrap();
    *rules = new;
}

/// Lets a session be without packets until it must be in cold storage.
fn rest(plane: &mut FastPath, seid: u64, now: Time) -> Time {
    let later = now + 3 * IDLE;
    pass(plane, later);
    assert!(plane.dormant.cold_slot(Seid(seid)).is_some(), "at {later:?}");
    later
}

// Input:  a session that no other is like, with a volume quota of 100 octets and a bit rate; between packets it is idle, and its SMF renews the quota, changes the
//         bit rate, adds a flow with a URR of its own, and removes the flow.
// Output: it is in cold storage after each change; the quota stops the packet that exceeds it, as often as it is renewed; the final reports have all octets.
#[test]
fn a_session_whose_rules_change_in_new_ways_goes_cold_again() {
    let (mut plane, _) = with_faults();
    let rate = |kbps| {
        let rate = Bitrate::from_kbps(kbps).unwrap();
        Qer {
            mbr: Some(RateLimit { uplink: rate, downlink: rate }),
            gbr: Some(RateLimit { uplink: rate, downlink: rate }),
            ..Qer::new(QerId(1))
        }
    };
    let quota = Some(DirectionalLimit { total: Some(100), uplink: None, downlink: None });
    let mut rules = rules(2);
    rules.urrs.get_mut(&UrrId(1)).unwrap().quotas.volume = quota;
    rules.qers.insert(QerId(1), rate(1000));
    rules.pdrs.get_mut(&PdrId(2)).unwrap().qers = vec![QerId(1)];
    plane.apply(at(0), &Plan::install(Seid(2), rules.clone())).unwrap();
    let mut now = rest(&mut plane, 2, at(0));
    let send = |plane: &mut FastPath, now| [0; 4].map(|_| downlink(plane, 2, now) == Disposition::Forwarded);
    assert_eq!(send(&mut plane, now), [true, true, true, false]);
    // The quota is used up: the SMF is asked for the next one meanwhile.
    now = rest(&mut plane, 2, now);
    assert_eq!(send(&mut plane, now), [false; 4]);
    now = rest(&mut plane, 2, now);
    for _ in 0..2 {
        modify(&mut plane, 2, &mut rules, now, |_, options| {
            options.renewed.insert(UrrId(1), [UrrPart::VolumeQuota].into());
            options.queries.insert(UrrId(1));
        });
        now = rest(&mut plane, 2, now);
        assert_eq!(send(&mut plane, now), [true, true, true, false]);
    }
    modify(&mut plane, 2, &mut rules, now, |rules, options| {
        rules.urrs.get_mut(&UrrId(1)).unwrap().quotas.volume = None;
        rules.qers.insert(QerId(1), rate(2000));
        options.queries.insert(UrrId(1));
    });
    now = rest(&mut plane, 2, now);
    assert_eq!(send(&mut plane, now), [true; 4]);
    now = rest(&mut plane, 2, now);
    modify(&mut plane, 2, &mut rules, now, |rules, _| {
        let filter = "permit out 17 from 8.8.8.8 53 to assigned".parse().unwrap();
        let mut flow = rules.pdrs[&PdrId(2)].clone();
        (flow.id, flow.urrs, flow.precedence) = (PdrId(3), vec![UrrId(2)], Precedence(1));
        flow.pdi.filters = vec![filter];
        rules.pdrs.insert(PdrId(3), flow);
        let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
        rules.urrs.insert(UrrId(2), Urr::new(UrrId(2), method));
    });
    let begun = now;
    now = rest(&mut plane, 2, now);
    assert_eq!(send(&mut plane, now), [true; 4]);
    now = rest(&mut plane, 2, now);
    let query = Plan::update(Seid(2), vec![Op::QueryUrr(UrrId(2))]);
    let usage = plane.apply(now, &query).unwrap().usage;
    assert_eq!((usage[0].start, usage[0].volume.unwrap().downlink), (begun, 4 * PACKET));
    modify(&mut plane, 2, &mut rules, now, |rules, _| {
        rules.pdrs.remove(&PdrId(3));
        rules.urrs.remove(&UrrId(2));
    });
    now = rest(&mut plane, 2, now);
    assert_eq!(send(&mut plane, now), [true; 4]);
    assert_eq!(end(&mut plane, 2, now).0, 8 * PACKET);
    assert_eq!((state(&plane).lost, plane.counters().sessions), (0, 0));
}

// Input:  three sessions with equal rules but for addresses, tunnels, bit rates and filters, each installed and changed as none before; one that also
//         forwards elsewhere.
// Output: the first three have one profile, the fourth its own.
#[test]
fn sessions_whose_rules_are_alike_share_an_own_profile() {
    let (mut plane, _) = with_faults();
    let mut all: Vec<RuleSet> = (1..=4).map(rules).collect();
    for (ue, rules) in (1..).zip(&mut all) {
        plane.apply(at(0), &Plan::install(Seid(ue), rules.clone())).unwrap();
        modify(&mut plane, ue, rules, at(1), |rules, _| {
            let rate = Bitrate::from_kbps(1000 * ue).unwrap();
            rules.qers.insert(
                QerId(1),
                Qer { mbr: Some(RateLimit { uplink: rate, downlink: rate }), ..Qer::new(QerId(1)) },
            );
            let pdr = rules.pdrs.get_mut(&PdrId(2)).unwrap();
            pdr.qers = vec![QerId(1)];
            pdr.pdi.filters = vec![format!("permit out 17 from 8.8.8.{ue} to assigned").parse().unwrap()];
            let forwarding = rules.fars.get_mut(&FarId(1)).unwrap().forwarding.as_mut().unwrap();
            forwarding.network_instance = (ue == 4).then(|| NetworkInstance::new("internet"));
        });
    }
    pass(&mut plane, at(200));
    let profiles: Vec<_> =
        (1..=4).map(|ue| std::ptr::from_ref(plane.dormant.state_of(Seid(ue)).unwrap().1)).collect();
    assert!(profiles[0] == profiles[1] && profiles[1] == profiles[2] && profiles[2] != profiles[3]);
    assert_eq!(state(&plane).cold, 4);
    for (ue, rules) in (1..).zip(&all) {
        plane.activate(Seid(ue), at(201)).unwrap();
        assert_eq!(plane.slow_path.rules_of(Seid(ue)), Some(rules));
    }
}

// Input:  more sessions than there may be own profiles, each with another volume threshold; some end.
// Output: those beyond stay in memory; when others have ended, as many of them go cold.
#[test]
fn own_profiles_are_bounded() {
    const MOST: u64 = 4096;
    let mut plane = plane_for(5000).with_cold_storage(Box::new(MemoryStore::default()), IDLE, ignore);
    for number in 0..MOST + 100 {
        let mut rules = rules(1);
        let [high, low] = (number as u16).to_be_bytes();
        for pdr in [PdrId(1), PdrId(2)] {
            let pdi = &mut rules.pdrs.get_mut(&pdr).unwrap().pdi;
            pdi.ue.as_mut().unwrap().v4 = Some(Ipv4Addr::new(10, 1, high, low));
            pdi.tunnel = pdi.tunnel.map(|_| tunnel(number as u32 + 1, UPF));
        }
        rules.fars.insert(
            FarId(2),
            Far::forward(
                FarId(2),
                Forwarding::into_tunnel(Interface::Access, tunnel(number as u32 + 1, GNB)),
            ),
        );
        let urr = rules.urrs.get_mut(&UrrId(1)).unwrap();
        urr.thresholds.volume =
            Some(DirectionalLimit { total: Some(1 + number), uplink: None, downlink: None });
        plane.apply(at(0), &Plan::install(Seid(number + 1), rules)).unwrap();
    }
    pass(&mut plane, at(400));
    assert_eq!(state(&plane).cold, MOST);
    let is_cold = |plane: &FastPath, seid: &u64| plane.dormant.cold_slot(Seid(*seid)).is_some();
    let ending: Vec<_> = (1..=MOST).filter(|seid| is_cold(&plane, seid)).take(50).collect();
    for seid in ending {
        plane.apply(at(400), &Plan::removal(Seid(seid))).unwrap();
    }
    pass(&mut plane, at(800));
    assert_eq!((state(&plane).cold, plane.counters().sessions), (MOST, MOST + 50));
}

fn submit(plane: &mut FastPath, number: u64, now: Time, plan: &Plan) -> Poll<Result<Applied, ApplyError>> {
    plane.advance(now);
    plane.submit(now, PlanId(number), plan)
}

/// Another gNB for the downlink of a session with these rules, and the rules then.
fn moved(ue: u8, rules: &RuleSet, teid: u32) -> (RuleSet, Plan) {
    let mut new = rules.clone();
    let far = Far::forward(FarId(2), Forwarding::into_tunnel(Interface::Access, tunnel(teid, GNB)));
    new.fars.insert(FarId(2), far);
    let plan = plan_modification(Seid(ue.into()), rules, &new, &PlanOptions::default());
    (new, plan)
}

// Input:  a store on a slow disk: a packet for a session in it, then a handover, a query, and its deletion; packets and a plan for another session; then the disk answers.
// Output: the plans are in flight; the other session goes on. Then they are applied in their order, behind the packet, which leaves by the old tunnel.
#[test]
fn a_plan_does_not_wait_for_a_disk() {
    let (mut plane, faults) = with_faults();
    idle(&mut plane);
    faults.lock().unwrap().reads_wait = true;
    assert_eq!(downlink(&mut plane, 2, at(130)), Disposition::Buffered);
    let (_, handover) = moved(2, &rules(2), 0x777);
    let query = Plan::update(Seid(2), vec![Op::QueryUrr(UrrId(1))]);
    for (number, plan) in (1..).zip([&handover, &query, &Plan::removal(Seid(2))]) {
        assert!(submit(&mut plane, number, at(131), plan).is_pending());
    }
    assert_eq!(plane.poll_applied(at(131)), None);
    assert_eq!(downlink(&mut plane, 1, at(132)), Disposition::Forwarded);
    assert!(submit(&mut plane, 4, at(132), &moved(1, &rules(1), 0x778).1).is_ready());
    assert_eq!((state(&plane).cold, state(&plane).held_packets, plane.counters().sessions), (2, 1, 3));
    faults.lock().unwrap().reads_wait = false;
    plane.advance(at(133));
    let mut done = Vec::new();
    while let Some((id, applied)) = plane.poll_applied(at(133)) {
        done.push((
            id,
            applied.unwrap().usage.iter().map(|usage| usage.volume.unwrap().downlink).collect::<Vec<_>>(),
        ));
    }
    assert_eq!(done, [(PlanId(1), vec![]), (PlanId(2), vec![2 * PACKET]), (PlanId(3), vec![0])]);
    let mut sent = Vec::new();
    plane.flush(&mut sent);
    let teids: Vec<_> =
        sent.iter().map(|(_, packet)| u32::from_be_bytes(packet[4..8].try_into().unwrap())).collect();
    assert_eq!((teids, state(&plane).loads, plane.counters().sessions), (vec![0x102], 1, 2));
    assert_eq!((plane.poll_applied(at(134)), state(&plane).cold), (None, 1));
}

// Input:  plans that are in flight while a disk reads: the record cannot be read; then the disk does not answer for ten seconds.
// Output: they are refused under a name, and nothing has changed: a later plan is applied.
#[test]
fn a_plan_that_cannot_go_on_is_refused() {
    let (mut plane, faults) = with_faults();
    idle(&mut plane);
    let refused = Err(ApplyError::Backend(BackendError::ColdStorage));
    faults.lock().unwrap().reads_wait = true;
    let removal = Plan::removal(Seid(2));
    for number in [1, 2] {
        assert!(submit(&mut plane, number, at(130), &removal).is_pending());
    }
    *faults.lock().unwrap() = StoreFaults { reads_fail: true, ..StoreFaults::default() };
    plane.advance(at(131));
    for number in [1, 2] {
        assert_eq!(plane.poll_applied(at(131)), Some((PlanId(number), refused.clone())));
    }
    *faults.lock().unwrap() = StoreFaults { reads_wait: true, ..StoreFaults::default() };
    assert!(submit(&mut plane, 3, at(132), &removal).is_pending());
    assert!(submit(&mut plane, 4, at(133), &Plan::removal(Seid(3))).is_pending());
    assert_eq!(plane.poll_applied(at(141)), None);
    plane.advance(at(142));
    assert_eq!(plane.poll_applied(at(142)), Some((PlanId(3), refused.clone())));
    assert_eq!(plane.poll_applied(at(142)), None);
    assert!(plane.next_deadline().unwrap() <= at(143));
    assert_eq!(plane.poll_applied(at(143)), Some((PlanId(4), refused)));
    assert_eq!((state(&plane).cold, state(&plane).lost, plane.counters().sessions), (2, 0, 3));
    faults.lock().unwrap().reads_wait = false;
    assert!(submit(&mut plane, 5, at(150), &removal).is_ready() || plane.poll_applied(at(150)).is_some());
    // The late answers have loaded both.
    assert_eq!((state(&plane).cold, plane.counters().sessions), (0, 2));
}

// Input:  a plan that is in flight while a disk reads; an operator asks for the state of the session, which reads it at once.
// Output: the session stays in memory, and the plan is applied without an answer of the disk.
#[test]
fn a_plan_goes_on_when_its_session_is_loaded_otherwise() {
    let (mut plane, faults) = with_faults();
    idle(&mut plane);
    faults.lock().unwrap().reads_wait = true;
    let (new, plan) = moved(2, &rules(2), 0x777);
    assert!(submit(&mut plane, 1, at(130), &plan).is_pending());
    assert_eq!(plane.session_state(at(131), Seid(2)).unwrap().last_packet, Some(at(10)));
    assert_eq!((state(&plane).cold, plane.slow_path.has(Seid(2))), (1, true));
    assert_eq!(plane.poll_applied(at(131)), Some((PlanId(1), Ok(Applied::default()))));
    assert_eq!(plane.slow_path.rules_of(Seid(2)), Some(&new));
    pass(&mut plane, at(300));
    assert_eq!(state(&plane).cold, 3);
}

/// A store that reads from a disk what a plan needs, and from memory what a packet needs: each read takes one look at it.
#[derive(Debug)]
struct SlowForPlans(MemoryStore, Arc<Mutex<bool>>, Vec<u32>);

impl ColdStore for SlowForPlans {
    fn has_room(&self) -> bool {
        true
    }

    fn put(&mut self, number: u32, record: Vec<u8>) {
        self.0.put(number, record);
        self.2.retain(|pending| *pending != number);
    }

    fn read(&mut self, number: u32) -> Result<Vec<u8>, ReadError> {
        self.0.read(number)
    }

    fn begin_read(&mut self, number: u32) -> Poll<Result<Vec<u8>, ReadError>> {
        if !*self.1.lock().unwrap() {
            return Poll::Ready(self.0.read(number));
        }
        self.2.push(number);
        Poll::Pending
    }

    fn poll_read(&mut self) -> Option<(u32, Result<Vec<u8>, ReadError>)> {
        let number = self.2.pop()?;
        Some((number, self.0.read(number)))
    }

    fn forget(&mut self, number: u32) {
        self.0.forget(number);
        self.2.retain(|pending| *pending != number);
    }

    fn state(&self) -> StoreState {
        self.0.state()
    }
}

proptest! {
    // Input:  random packets and plans of three sessions: handovers, quota renewals, other rates, queries, new flows, deletions; on a data plane whose
    //         sessions move to cold storage after each of them, with a disk that is slow for plans, and on one without cold storage.
    // Output: the same results, in the same order for each session, the same packets, events and counters.
    #[test]
    fn plans_in_flight_have_the_results_of_plans_at_once(steps in proptest::collection::vec((1..=3_u8, 0..9_u8, 1..5_u32), 1..40)) {
        let is_slow = Arc::new(Mutex::new(false));
        let store = SlowForPlans(MemoryStore::default(), Arc::clone(&is_slow), Vec::new());
        let mut cold = plane_for(8).with_cold_storage(Box::new(store), Span::ZERO, ignore);
        let mut plain = plane_for(8);
        let mut held: Vec<Option<RuleSet>> = vec![None; 4];
        for (at_step, (ue, what, value)) in (0..).zip(steps) {
            let now = at(10 * (1 + at_step));
            let seid = Seid(ue.into());
            let slot = &mut held[usize::from(ue)];
            let plan = match (slot.as_ref(), what) {
                (None, _) => {
                    let mut rules = rules(ue);
                    rules.urrs.get_mut(&UrrId(1)).unwrap().quotas.volume = Some(DirectionalLimit { total: Some(100), uplink: None, downlink: None });
                    *slot = Some(rules.clone());
                    Plan::install(seid, rules)
                }
                (Some(_), 0..=2) => {
                    let mut sent: [Vec<(Egress, Vec<u8>)>; 2] = Default::default();
                    let fates: Vec<_> = (0..value).map(|_| {
                        (downlink_to(&mut cold, ue, now, &mut sent[0]), downlink_to(&mut plain, ue, now, &mut sent[1]))
                    }).collect();
                    prop_assert!(fates.iter().all(|(one, other)| one == other), "{fates:?}");
                    prop_assert_eq!(&sent[0], &sent[1]);
                    continue;
                }
                (Some(_), 3) => {
                    *slot = None;
                    Plan::removal(seid)
                }
                (Some(old), _) => {
                    let (mut new, mut options) = (old.clone(), PlanOptions::default());
                    match what {
                        4 => new = moved(ue, old, 0x700 + value).0,
                        5 => drop(options.renewed.insert(UrrId(1), [UrrPart::VolumeQuota].into())),
                        6 => drop(options.queries.insert(UrrId(1))),
                        7 => {
                            let rate = Bitrate::from_kbps(u64::from(value)).unwrap();
                            let mbr = Some(RateLimit { uplink: rate, downlink: rate });
                            new.qers.insert(QerId(1), Qer { mbr, ..Qer::new(QerId(1)) });
                            new.pdrs.get_mut(&PdrId(2)).unwrap().qers = vec![QerId(1)];
                        }
                        _ => {
                            let mut flow = new.pdrs[&PdrId(2)].clone();
                            (flow.id, flow.precedence) = (PdrId(2 + value as u16), Precedence(value));
                            flow.urrs = vec![UrrId(1), UrrId(2)];
                            let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
                            new.urrs.insert(UrrId(2), Urr::new(UrrId(2), method));
                            new.pdrs.insert(flow.id, flow);
                        }
                    }
                    let plan = plan_modification(seid, old, &new, &options);
                    *slot = Some(new);
                    plan
                }
            };
            let expected = plain.apply(now, &plan);
            cold.advance(now);
            let was_cold = cold.dormant.cold_slot(seid).is_some();
            *is_slow.lock().unwrap() = true;
            let submitted = cold.submit(now, PlanId(at_step), &plan);
            *is_slow.lock().unwrap() = false;
            prop_assert_eq!(submitted.is_pending(), was_cold);
            let applied = match submitted {
                Poll::Ready(applied) => applied,
                Poll::Pending => {
                    let (id, applied) = cold.poll_applied(now).unwrap();
                    prop_assert_eq!(id, PlanId(at_step));
                    applied
                }
            };
            prop_assert_eq!(applied, expected);
            let mut sent: [Vec<(Egress, Vec<u8>)>; 2] = Default::default();
            cold.flush(&mut sent[0]);
            plain.flush(&mut sent[1]);
            prop_assert_eq!(&sent[0], &sent[1]);
            prop_assert_eq!(cold.poll_event(), plain.poll_event());
            prop_assert_eq!(cold.counters(), plain.counters());
        }
        prop_assert_eq!(state(&cold).lost, 0);
    }
}
