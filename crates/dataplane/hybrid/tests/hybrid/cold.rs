//! Software whose idle sessions are in cold storage: neither a packet nor a plan waits for a disk.

use std::sync::{Arc, Mutex};
use std::task::Poll;

use causeway_cold::{ColdStore, MemoryStore, ReadError, StoreFaults, StoreState};
use causeway_dataplane::{ApplyError, BackendError, Dataplane, Plan};
use causeway_hybrid::Wish;
use causeway_switch::model::Timing;
use causeway_types::{Direction, ReportingTriggers, Span, UrrId};
use proptest::prelude::*;

use crate::order::{SESSIONS, Step, play, step};
use crate::world::{GNBS, World, handover, rule, seid, session, strict};

const DOWN: Direction = Direction::Downlink;

/// The time after which sessions are idle here.
const IDLE: Span = Span::from_millis(50);

/// Longer than a packet is on its way to the software.
const A_WHILE: Span = Span::from_millis(1);

/// Sessions that report each 3,000 octets, on software with this store.
fn world(store: impl ColdStore + 'static, timing: Timing, seed: u64) -> World {
    let mut world = World::with_cold_storage(strict(), timing, seed, Box::new(store), IDLE);
    for number in 0..SESSIONS {
        world.establish(number, session(number, Some(3000)));
    }
    world
}

fn cold(world: &World) -> u64 {
    world.upf.cold_storage().unwrap().cold
}

/// The downlink of the first session moves to the switch, and has packets there.
fn promote(world: &mut World) {
    world.wish(Wish::Promote(rule(0, DOWN)));
    for _ in 0..3 {
        world.pass(A_WHILE);
        world.packet(0, DOWN, 100);
    }
}

/// A world in which all sessions have had a packet and are in cold storage, with the faults of its store.
fn idle() -> (World, Arc<Mutex<StoreFaults>>) {
    let faults = Arc::new(Mutex::new(StoreFaults::default()));
    let mut world = world(MemoryStore::with_faults(Arc::clone(&faults)), Timing::INSTANT, 1);
    for number in 0..SESSIONS {
        world.packet(number, DOWN, 100);
    }
    world.pass(20 * IDLE);
    assert_eq!(cold(&world), SESSIONS.into());
    (world, faults)
}

// Input:  sessions in cold storage; a packet, a handover and a deletion of one while the disk reads; a packet and a handover of another one, which is in memory; then
//         the disk answers.
// Output: the plans of the first are in flight, those of the second are not. Then the packet leaves to the old gNB, and the plans are applied in their
//         order.
#[test]
fn a_plan_about_a_cold_session_is_in_flight() {
    let (mut world, faults) = idle();
    world.packet(1, DOWN, 100);
    world.pass(A_WHILE);
    faults.lock().unwrap().reads_wait = true;
    world.packet(0, DOWN, 100);
    world.pass(A_WHILE);
    world.log.clear();
    let first = handover(1, 0);
    let submitted = world.submit(&first);
    let removal = Plan::removal(seid(0));
    let removed = world.submit(&removal);
    assert!(submitted.1.is_pending() && removed.1.is_pending());
    world.apply(&handover(1, 1));
    world.packet(1, DOWN, 100);
    world.pass(A_WHILE);
    assert_eq!(
        world.log.iter().map(|left| (left.0, left.3)).collect::<Vec<_>>(),
        [(1, Some(GNBS[1].into()))]
    );
    faults.lock().unwrap().reads_wait = false;
    world.wait(&first, submitted).unwrap();
    world.wait(&removal, removed).unwrap();
    assert_eq!(world.log.last().map(|left| (left.0, left.3)), Some((0, Some(GNBS[0].into()))));
    assert_eq!(world.reported[&0], [0, 200]);
    assert_eq!(world.upf.counters().sessions, u64::from(SESSIONS) - 1);
}

// Input:  a plan about a session in cold storage: its record cannot be read; then the disk does not answer for ten seconds.
// Output: it is refused under a name, and nothing has changed.
#[test]
fn a_plan_whose_session_cannot_be_read_is_refused() {
    let (mut world, faults) = idle();
    let refused = ApplyError::Backend(BackendError::ColdStorage);
    let plan = handover(1, 0);
    faults.lock().unwrap().reads_fail = true;
    let submitted = world.submit(&plan);
    assert_eq!(world.wait(&plan, submitted).unwrap_err(), refused);
    *faults.lock().unwrap() = StoreFaults { reads_wait: true, ..StoreFaults::default() };
    world.pass(Span::from_secs(1));
    let (submitted, begun) = (world.submit(&plan), world.now);
    assert!(submitted.1.is_pending());
    assert_eq!(world.wait(&plan, submitted).unwrap_err(), refused);
    assert!(world.now.since(begun) >= Span::from_secs(10));
    faults.lock().unwrap().reads_wait = false;
    world.apply(&plan);
    world.packet(0, DOWN, 100);
    world.pass(A_WHILE);
    assert_eq!(world.log.last().unwrap().3, Some(GNBS[1].into()));
    world.assert_all_reported(SESSIONS);
}

// Input:  a session whose downlink is on the switch, and which is without packets until the software has it in cold storage; a handover, and packets.
// Output: the handover is in flight while the disk reads; then packets go to the new gNB, and all octets are reported.
#[test]
fn a_plan_about_a_cold_session_on_the_switch_is_in_flight() {
    let faults = Arc::new(Mutex::new(StoreFaults::default()));
    let mut world = world(MemoryStore::with_faults(Arc::clone(&faults)), Timing::INSTANT, 2);
    world.packet(0, DOWN, 100);
    promote(&mut world);
    world.pass(Span::from_millis(40));
    assert!(world.upf.moves().is_settled(rule(0, DOWN)));
    world.pass(20 * IDLE);
    assert!(world.upf.moves().is_settled(rule(0, DOWN)) && cold(&world) == SESSIONS.into());
    faults.lock().unwrap().reads_wait = true;
    let plan = handover(1, 0);
    let submitted = world.submit(&plan);
    assert!(submitted.1.is_pending());
    faults.lock().unwrap().reads_wait = false;
    world.wait(&plan, submitted).unwrap();
    world.packet(0, DOWN, 100);
    world.pass(A_WHILE);
    assert_eq!(world.log.last().unwrap().3, Some(GNBS[1].into()));
    world.assert_all_reported(SESSIONS);
}

// Input:  sessions in cold storage, one of them with its downlink on the switch, whose reports are due while the disk reads, and any other read fails.
// Output: the UPF goes on, and nothing is lost; when the disk has answered, each reports once for each period.
#[test]
fn a_timer_of_a_cold_session_waits_for_no_disk() {
    let faults = Arc::new(Mutex::new(StoreFaults::default()));
    let store = Box::new(MemoryStore::with_faults(Arc::clone(&faults)));
    let mut world = World::with_cold_storage(strict(), Timing::INSTANT, 4, store, IDLE);
    for number in 0..SESSIONS {
        let mut rules = session(number, None);
        let urr = rules.urrs.get_mut(&UrrId(1)).unwrap();
        (urr.period, urr.triggers) = (Some(Span::from_secs(3)), ReportingTriggers::PERIO);
        world.establish(number, rules);
        world.packet(number, DOWN, 100);
    }
    promote(&mut world);
    world.pass(40 * IDLE);
    assert_eq!(cold(&world), SESSIONS.into());
    *faults.lock().unwrap() = StoreFaults { reads_wait: true, reads_fail: true, ..StoreFaults::default() };
    world.pass(40 * IDLE);
    let state = world.upf.cold_storage().unwrap();
    assert_eq!((state.cold, state.lost), (SESSIONS.into(), 0), "{state:?}");
    assert_eq!(world.reported.values().map(|octets| octets[1]).sum::<u64>(), 0);
    *faults.lock().unwrap() = StoreFaults::default();
    world.pass(10 * IDLE);
    assert_eq!(world.reported.values().map(|octets| octets[1]).collect::<Vec<_>>()[1..], [100; 3]);
    assert_eq!(world.upf.cold_storage().unwrap().lost, 0);
    world.assert_all_reported(SESSIONS);
}

/// A store on a slow disk: each read takes two looks at it.
#[derive(Debug, Default)]
struct Slow(MemoryStore, Vec<(u32, bool)>);

impl ColdStore for Slow {
    fn has_room(&self) -> bool {
        true
    }

    fn put(&mut self, number: u32, record: Vec<u8>) {
        self.forget(number);
        self.0.put(number, record);
    }

    fn read(&mut self, number: u32) -> Result<Vec<u8>, ReadError> {
        self.0.read(number)
    }

    fn begin_read(&mut self, number: u32) -> Poll<Result<Vec<u8>, ReadError>> {
        if self.1.iter().all(|(pending, _)| *pending != number) {
            self.1.push((number, false));
        }
        Poll::Pending
    }

    fn poll_read(&mut self) -> Option<(u32, Result<Vec<u8>, ReadError>)> {
        let read = self.1.iter().position(|(_, was_asked)| *was_asked).map(|at| self.1.remove(at).0);
        self.1.iter_mut().for_each(|(_, was_asked)| *was_asked = true);
        read.map(|number| (number, self.0.read(number)))
    }

    fn forget(&mut self, number: u32) {
        self.0.forget(number);
        self.1.retain(|(pending, _)| *pending != number);
    }

    fn state(&self) -> StoreState {
        self.0.state()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // Input:  any sequence of packets of four sessions, promotions, demotions, handovers, queries and pauses, in which sessions go to cold storage on a slow
    //         disk.
    // Output: each packet leaves once, in the order of its rule; all octets are reported once.
    #[test]
    fn cold_sessions_lose_double_and_reorder_nothing(steps in prop::collection::vec(step(), 1..200), seed in 0..1000_u64) {
        let mut world = world(Slow::default(), Timing::PAPER_ALL_DRIVER, seed);
        for steps in steps.chunks(20) {
            play(&mut world, steps);
            world.pass(10 * IDLE);
        }
        play(&mut world, &[Step::Query(0), Step::Handover(1, 1)]);
        world.assert_all_arrived();
        world.assert_all_reported(SESSIONS);
        let state = world.upf.cold_storage().unwrap();
        prop_assert!(state.loads > 0 && state.lost == 0, "{:?}", state);
    }
}
