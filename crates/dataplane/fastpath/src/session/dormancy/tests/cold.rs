use std::sync::{Arc, Mutex};

use causeway_cold::{ColdFile, ColdStore, MemoryStore, StoreFaults};
use causeway_dataplane::{ApplyError, BackendError, ColdStorageState, DropReason};
use causeway_types::Span;

use super::*;
use crate::ColdNotice;

/// Octets of a packet of [`downlink`].
const PACKET: u64 = 28;

/// The time after which sessions are idle here.
const IDLE: Span = Span::from_secs(60);

fn ignore(_: &ColdNotice) {}

fn with_store(store: impl ColdStore + 'static) -> FastPath {
    plane_for(8).with_cold_storage(Box::new(store), IDLE, ignore)
}

fn with_faults() -> (FastPath, Arc<Mutex<StoreFaults>>) {
    let faults = Arc::new(Mutex::new(StoreFaults::default()));
    (with_store(MemoryStore::with_faults(Arc::clone(&faults))), faults)
}

fn state(plane: &FastPath) -> ColdStorageState {
    plane.cold_storage().unwrap()
}

/// Passes the time, from deadline to deadline.
fn pass(plane: &mut FastPath, until: Time) {
    while let Some(next) = plane.next_deadline().filter(|next| *next <= until) {
        plane.advance(next);
    }
}

/// Three sessions of one profile; the second and third have had a packet 10 s after the first was established. They are idle since, and
/// in cold storage.
fn idle(plane: &mut FastPath) {
    let mut templates = Templates::default();
    establish(plane, &mut templates, 3);
    for ue in [2, 3] {
        assert_eq!(downlink(plane, ue, at(10)), Disposition::Forwarded);
    }
    pass(plane, at(30));
    assert_eq!((state(plane).cold, state(plane).evictions), (0, 0));
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
    let mut plane = with_store(store);
    idle(&mut plane);
    assert_eq!(downlink(&mut plane, 2, at(130)), Disposition::Forwarded);
    assert_eq!((state(&plane).cold, state(&plane).loads), (1, 1));
    assert_eq!(downlink(&mut plane, 2, at(131)), Disposition::Forwarded);
    assert_eq!(plane.fast_path_packets(), 1);
    pass(&mut plane, at(300));
    assert_eq!((state(&plane).cold, state(&plane).evictions), (2, 3));
    assert_eq!(end(&mut plane, 2, at(310)), (3 * PACKET, Some(at(10)), Some(at(131))));
    assert_eq!(end(&mut plane, 3, at(310)), (PACKET, Some(at(10)), Some(at(10))));
    assert_eq!((state(&plane).cold, state(&plane).loads, state(&plane).load_times.count()), (0, 3, 3));
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
    assert_eq!((state(&plane).cold, state(&plane).evictions), (1, 1));
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
    let mut plane = with_store(store);
    let mut templates = Templates::default();
    idle(&mut plane);
    for turn in 0..50 {
        let now = at(200 + turn * 200);
        if turn == 25 {
            change(&mut plane, &mut templates, 2, 200 + turn * 200, handover);
        }
        assert_eq!(downlink(&mut plane, 2, now), Disposition::Forwarded);
        pass(&mut plane, now + IDLE + IDLE);
        assert_eq!(state(&plane).cold, 2);
    }
    assert_eq!(end(&mut plane, 2, at(20_000)).0, 51 * PACKET);
}

// Input:  a session with a packet that waits for its UE, and one without.
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
    assert_eq!((state(&plane).cold, plane.slow_path.has(Seid(2))), (1, true));
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
