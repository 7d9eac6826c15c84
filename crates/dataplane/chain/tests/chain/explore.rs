//! Explores all states of a model that keeps eight octets of each that it has seen, and whole only those that it has yet to leave. The checker
//! of `stateright` keeps all that wait in whole, breadth first: too many for models of hundreds of millions of states. It finds the shortest way to a bad state, this
//! one none.
//!
//! Two states with the same hash of 64 bits count as one. With 10^9 states one in forty runs has such a pair.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

use stateright::{Expectation, Model};

/// The set of states is divided, so that threads rarely wait for each other.
const SHARDS: usize = 256;

/// A thread with more states than this gives half of them to one that has none.
const MANY: usize = 64;

/// A fingerprint is a hash already.
#[derive(Clone, Copy, Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("fingerprints are numbers")
    }

    fn write_u64(&mut self, fingerprint: u64) {
        self.0 = fingerprint;
    }
}

type Shard = Mutex<HashSet<u64, BuildHasherDefault<Same>>>;

struct Exploration<M: Model> {
    seen: Vec<Shard>,
    states: AtomicUsize,
    /// States that wait for a thread without any, and how many threads have none.
    spare: Mutex<Vec<M::State>>,
    idle: AtomicUsize,
    /// By the place of its property: it was met.
    met: AtomicU64,
}

/// The number of states of a model, each of which has its properties.
///
/// # Panics
/// A state lacks a property, or no state has one that some must have.
pub(crate) fn explore<M>(model: &M, threads: usize) -> usize
where
    M: Model + Sync,
    M::State: Hash + std::fmt::Debug + Send,
{
    let exploration = Exploration::<M> {
        seen: (0..SHARDS).map(|_| Shard::default()).collect(),
        states: AtomicUsize::new(0),
        spare: Mutex::default(),
        idle: AtomicUsize::new(0),
        met: AtomicU64::new(0),
    };
    for state in model.init_states() {
        exploration.meet(model, state, &mut locked(&exploration.spare));
    }
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| exploration.work(model, threads));
        }
    });
    for (at, property) in model.properties().iter().enumerate() {
        let is_met = exploration.met.load(Relaxed) & 1 << at != 0;
        assert!(property.expectation != Expectation::Sometimes || is_met, "never: {}", property.name);
    }
    exploration.states.load(Relaxed)
}

impl<M> Exploration<M>
where
    M: Model,
    M::State: Hash + std::fmt::Debug,
{
    /// A state that a step has led to. It waits, if it is new.
    fn meet(&self, model: &M, state: M::State, waiting: &mut Vec<M::State>) {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        let hash = hasher.finish();
        if !locked(&self.seen[hash as usize % SHARDS]).insert(hash) {
            return;
        }
        self.states.fetch_add(1, Relaxed);
        for (at, property) in model.properties().iter().enumerate() {
            let has = (property.condition)(model, &state);
            match property.expectation {
                Expectation::Sometimes if has => drop(self.met.fetch_or(1 << at, Relaxed)),
                Expectation::Always => assert!(has, "not always: {}: {state:#?}", property.name),
                _ => {}
            }
        }
        waiting.push(state);
    }

    fn work(&self, model: &M, threads: usize) {
        let _guard = Ended(&self.idle);
        let (mut waiting, mut actions) = (Vec::new(), Vec::new());
        loop {
            let Some(state) = waiting.pop() else {
                match self.take(threads) {
                    Some(states) => waiting = states,
                    None => return,
                }
                continue;
            };
            model.actions(&state, &mut actions);
            for action in actions.drain(..) {
                if let Some(next) = model.next_state(&state, action) {
                    self.meet(model, next, &mut waiting);
                }
            }
            if waiting.len() > MANY && self.idle.load(Relaxed) > 0 {
                locked(&self.spare).extend(waiting.drain(..MANY / 2));
            }
        }
    }

    /// States of other threads; `None`: no thread has any.
    fn take(&self, threads: usize) -> Option<Vec<M::State>> {
        self.idle.fetch_add(1, Relaxed);
        loop {
            let mut spare = locked(&self.spare);
            if !spare.is_empty() {
                // Under the lock: a thread that gives states is not idle.
                self.idle.fetch_sub(1, Relaxed);
                return Some(std::mem::take(&mut *spare));
            }
            if self.idle.load(Relaxed) >= threads {
                return None;
            }
            drop(spare);
            thread::yield_now();
        }
    }
}

/// A thread that panics has no states any more: the others do not wait for it.
struct Ended<'a>(&'a AtomicUsize);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.fetch_add(1, Relaxed);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
