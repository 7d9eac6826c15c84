//! Several parts of one placement, in several threads at once.

use std::iter;
use std::thread;

use super::*;

/// Parts of one placement on three workers.
fn offices(count: usize, most_sessions: usize, is_by_seid: bool) -> Vec<Office> {
    let topology = Topology { gtpu: vec![GtpuEndpoint::new(UPF.into())], ..Topology::default() };
    let first = Placement::with_directory(topology, most_sessions, (3, is_by_seid), 4 * most_sessions);
    let others = iter::repeat_with(|| first.beside()).take(count - 1).collect::<Vec<_>>();
    let directory = Arc::clone(first.directory());
    let all = iter::once(first).chain(others);
    all.map(|placement| Office { placement, directory: Arc::clone(&directory), plans: 0 }).collect()
}

/// No part has a session or a plan, and no key is left.
fn assert_empty(offices: &[&Office]) {
    for Office { placement, .. } in offices {
        let Sessions { placed, pending } = &placement.own;
        assert_eq!((placed.iter().count(), pending.iter().count()), (0, 0));
        assert!(placement.whole.loads().all(|load| load == 0));
        assert!(placement.whole.holders().is_empty());
    }
}

// Input:  two parts; a session of the first; one of the second with the same UE address, and one with a prefix around it; one that is elsewhere and
//         changes to a tunnel of the first; then the first session ends.
// Output: those of the UE are on one worker; the change is refused; the address keeps its owner until the last session ends.
#[test]
fn sessions_of_one_ue_are_on_one_worker_whatever_their_parts() {
    let mut both = offices(2, 100, true);
    let [one, other] = &mut both[..] else { unreachable!() };
    assert_eq!(one.create(1, vec![uplink(10), downlink("10.45.0.1", &[])]), Ok(1));
    assert_eq!(other.create(2, vec![uplink(11), downlink("10.45.0.1", &[])]), Ok(1));
    assert_eq!(other.create(5, vec![downlink("10.45.0.2", &["10.45.0.0/31"])]), Ok(1));
    assert_eq!(other.create(3, vec![uplink(13), downlink("10.45.0.3", &[])]), Ok(0));
    assert_eq!(other.change(3, vec![uplink(10)]), Err(ApplyError::TunnelInUse(tunnel(10, UPF))));
    assert_eq!((other.of_tunnel(10), other.of_ue("10.45.0.1")), (Some(1), Some(1)));
    one.remove(1);
    assert_eq!((one.of_tunnel(10), one.of_ue("10.45.0.1")), (None, Some(1)));
    assert_eq!(other.change(3, vec![uplink(10)]), Ok(0));
    [2, 3, 5].iter().for_each(|session| other.remove(*session));
    assert_empty(&[one, other]);
}

// Input:  two threads, each with a part, that establish and end sessions with one UE address, which their SEIDs would spread, ten thousand times.
// Output: a session is on the worker that owns the address, which is never that of two workers.
#[test]
fn sessions_of_one_ue_that_begin_at_once_are_on_one_worker() {
    let mut both = offices(2, 100, true);
    thread::scope(|scope| {
        for (number, office) in (1..).zip(&mut both) {
            scope.spawn(move || {
                for _ in 0..10_000 {
                    let ops = vec![uplink(number), downlink("10.45.0.1", &["10.60.0.0/16"])];
                    let worker = office.create(number.into(), ops).unwrap();
                    assert_eq!([office.of_ue("10.45.0.1"), office.of_ue("10.60.1.1")], [Some(worker); 2]);
                    office.remove(number.into());
                }
            });
        }
    });
    assert_empty(&both.iter().collect::<Vec<_>>());
}

// Input:  a limit of three sessions; three threads, each with a part, that establish two sessions and end them, five thousand times; then one part
//         establishes two, and another one two more.
// Output: there are never more than three; the last one is refused until one of the first part ends.
#[test]
fn all_parts_together_have_room_for_so_many_sessions() {
    let mut all = offices(3, 3, false);
    let full = || ApplyError::Full { table: "sessions", capacity: 3 };
    thread::scope(|scope| {
        for (number, office) in (0..).zip(&mut all) {
            scope.spawn(move || {
                for _ in 0..5000 {
                    let placed: Vec<u32> = [10 * number + 1, 10 * number + 2]
                        .into_iter()
                        .filter(|session| match office.create((*session).into(), vec![uplink(*session)]) {
                            Ok(_) => true,
                            Err(error) => {
                                assert_eq!(error, full());
                                false
                            }
                        })
                        .collect();
                    // Meanwhile nobody adds one.
                    let holders = office.placement.whole.holders();
                    assert!(office.placement.whole.loads().sum::<usize>() <= 3);
                    drop(holders);
                    placed.into_iter().for_each(|session| office.remove(session.into()));
                }
            });
        }
    });
    assert_empty(&all.iter().collect::<Vec<_>>());
    let [one, other, _] = &mut all[..] else { unreachable!() };
    assert!([1, 2].iter().all(|n| one.create(u64::from(*n), vec![uplink(*n)]).is_ok()));
    other.create(3, vec![uplink(3)]).unwrap();
    assert_eq!(other.create(4, vec![uplink(4)]), Err(full()));
    one.remove(1);
    other.create(4, vec![uplink(4)]).unwrap();
    one.remove(2);
    [3, 4].into_iter().for_each(|session| other.remove(session));
    assert_empty(&[one, other]);
}

/// A part whose thread places random plans.
struct RandomPart {
    office: Office,
    random: fastrand::Rng,
    templates: Templates,
    /// Its sessions.
    sessions: Vec<u64>,
    /// The values of those that there are once all plans are applied.
    values: BTreeMap<u64, Values>,
    /// The plans in flight, each with its session and the values of that before and after it.
    in_flight: VecDeque<(u32, u64, [Option<Values>; 2])>,
    /// All keys that sessions may have had.
    seen: BTreeSet<SessionKey>,
    refused: usize,
}

impl RandomPart {
    fn new(office: Office, sessions: Vec<u64>, seed: u64) -> Self {
        Self {
            office,
            random: fastrand::Rng::with_seed(seed),
            templates: Templates::default(),
            sessions,
            values: BTreeMap::new(),
            in_flight: VecDeque::new(),
            seen: BTreeSet::new(),
            refused: 0,
        }
    }

    /// Places a few plans together, and completes some of those in flight.
    fn turn(&mut self) {
        let mut plans = Vec::new();
        for _ in 0..self.random.usize(1..5) {
            let session = self.sessions[self.random.usize(..self.sessions.len())];
            let is_in_batch = plans.iter().any(|(_, plan, _): &(u32, Plan, _)| plan.session.0 == session);
            let is_ending =
                self.in_flight.iter().any(|(_, other, [_, after])| *other == session && after.is_none());
            if is_in_batch || is_ending {
                continue;
            }
            let before = self.values.get(&session);
            let after =
                (before.is_none() || self.random.u8(..4) > 0).then(|| Values::random(&mut self.random));
            let change = match &after {
                Some(after) => random_change(&mut self.random, &mut self.templates, before, after),
                None => SessionChange::Remove,
            };
            self.seen.extend(after.iter().flat_map(Values::keys));
            self.office.plans += 1;
            plans.push((self.office.plans, Plan { session: Seid(session), change }, after));
        }
        self.place(plans);
        while self.in_flight.len() > self.random.usize(..6) {
            self.complete_oldest();
        }
    }

    fn place(&mut self, plans: Vec<(u32, Plan, Option<Values>)>) {
        let (plans, afters): (Vec<_>, Vec<_>) =
            plans.into_iter().map(|(key, plan, after)| ((key, plan), after)).unzip();
        let mut workers = Vec::new();
        self.office.placement.assign_workers(&plans, &mut workers);
        for (((key, plan), after), worker) in plans.iter().zip(afters).zip(workers) {
            if worker.is_err() {
                self.refused += 1;
                continue;
            }
            let session = plan.session.0;
            let before = match &after {
                Some(after) => self.values.insert(session, after.clone()),
                None => self.values.remove(&session),
            };
            self.in_flight.push_back((*key, session, [before, after]));
        }
    }

    /// The worker applies the oldest plan, or refuses it, if no later one of its session follows.
    fn complete_oldest(&mut self) {
        let Some((key, session, [before, _])) = self.in_flight.pop_front() else { return };
        let is_last = self.in_flight.iter().all(|(_, other, _)| *other != session);
        let is_done = !is_last || self.random.u8(..4) > 0;
        self.office.placement.complete(key, is_done);
        if !is_done {
            self.values.remove(&session);
            before.into_iter().for_each(|before| drop(self.values.insert(session, before)));
        }
    }

    /// Ends all sessions.
    fn end(&mut self) {
        while !self.in_flight.is_empty() {
            self.complete_oldest();
        }
        mem::take(&mut self.values).into_keys().for_each(|session| self.office.remove(session));
    }
}

/// Checks the parts while no thread has them: each key of a session is owned by its worker, or by all workers if sessions of several send to one
/// tunnel; keys that no session has and no plan changes have no owner; sessions are counted.
fn check(parts: &[RandomPart]) {
    let whole = &parts[0].office.placement.whole;
    let owner = |key: SessionKey| whole.directory.owner(whole.name(key));
    let (mut loads, mut bound, mut held) = (vec![0; 3], BTreeMap::new(), BTreeSet::new());
    for Sessions { placed, pending } in parts.iter().map(|part| &part.office.placement.own) {
        for (seid, Placed { worker, keys }) in placed.iter() {
            let worker = *worker as usize;
            loads[worker] += 1;
            keys.visit(|key| {
                held.insert(key);
                if matches!(key, SessionKey::Remote(..)) {
                    assert!([Some(worker), Some(ALL_WORKERS)].contains(&owner(key)), "{seid:?}: {key:?}");
                } else {
                    assert_eq!(owner(key), Some(worker), "{seid:?}: {key:?}");
                    bound.insert(key, worker);
                }
            });
        }
        held.extend(pending.iter().flat_map(|(_, pending)| &pending.changes.keys).map(|key| key.key));
    }
    let nets: Vec<(IpNet, usize)> = bound
        .iter()
        .filter_map(|(key, worker)| if let SessionKey::Ue(net) = key { Some((*net, *worker)) } else { None })
        .collect();
    for (net, worker) in &nets {
        let within = nets.iter().filter(|(other, _)| net.contains(other));
        within.for_each(|(other, of_other)| assert_eq!(worker, of_other, "{net} and {other}"));
    }
    assert_eq!(whole.loads().collect::<Vec<_>>(), loads);
    let seen: BTreeSet<SessionKey> = parts.iter().flat_map(|part| &part.seen).copied().collect();
    (&seen - &held).into_iter().for_each(|key| assert_eq!(owner(key), None, "{key:?}"));
}

// Input:  three threads, each with a part, that place random establishments, changes and removals of a few sessions, which have tunnels, addresses,
//         routes and peers in common across parts; their results later, some of them refusals; sessions spread by load and by SEID.
// Output: whenever all threads rest, each key has its owner, and sessions with a key or overlapping prefixes in common are on one worker; nothing is
//         left at the end.
#[test]
fn parts_in_several_threads_agree() {
    for seed in 0..12 {
        let parts = (0_u64..).zip(offices(3, 1000, seed % 2 == 1));
        let mut parts: Vec<RandomPart> = parts
            .map(|(n, office)| {
                RandomPart::new(office, (0..6).map(|of_part| 3 * of_part + n).collect(), 3 * seed + n)
            })
            .collect();
        for _ in 0..20 {
            thread::scope(|scope| {
                for part in &mut parts {
                    scope.spawn(|| (0..40).for_each(|_| part.turn()));
                }
            });
            check(&parts);
        }
        assert!(parts.iter().all(|part| part.refused > 20), "seed {seed}");
        thread::scope(|scope| {
            for part in &mut parts {
                scope.spawn(|| part.end());
            }
        });
        check(&parts);
        assert_empty(&parts.iter().map(|part| &part.office).collect::<Vec<_>>());
    }
}
