//! The queue of events of all simulations in model time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use causeway_types::Time;

/// Model time in picoseconds: an octet on a link of 100 Gbit/s takes 80.
pub type Picos = u64;

/// Picoseconds of a nanosecond.
pub(crate) const PICOS_PER_NANO: Picos = 1000;

/// Picoseconds of a microsecond.
pub(crate) const PICOS_PER_MICRO: f64 = 1e6;

/// Picoseconds of a second.
pub(crate) const PICOS_PER_SECOND: f64 = 1e12;

/// A time of state machines, whose times are nanoseconds.
pub(crate) const fn time(picos: Picos) -> Time {
    Time::from_nanos(picos / PICOS_PER_NANO)
}

/// The same the other way round.
pub(crate) const fn picos(time: Time) -> Picos {
    time.as_nanos() * PICOS_PER_NANO
}

/// Events by their time; those of one time in the order in which they were pushed. It has the random numbers of its simulation,
/// so that equal seeds give equal runs.
///
/// ```
/// use causeway_experiment::events::EventQueue;
///
/// let mut queue = EventQueue::with_seed(7);
/// queue.push(20, "later");
/// queue.push(10, "first");
/// queue.push(10, "second");
/// let events: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
/// assert_eq!(events, [(10, "first"), (10, "second"), (20, "later")]);
/// ```
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    events: BinaryHeap<Reverse<Entry<E>>>,
    pushed: u64,
    random: fastrand::Rng,
}

/// An event with its time and its number.
#[derive(Clone, Debug)]
struct Entry<E> {
    at: Picos,
    number: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<E> EventQueue<E> {
    /// An empty queue.
    pub fn with_seed(seed: u64) -> Self {
        Self { events: BinaryHeap::new(), pushed: 0, random: fastrand::Rng::with_seed(seed) }
    }

    /// An event happens at this time.
    pub fn push(&mut self, at: Picos, event: E) {
        self.events.push(Reverse(Entry { at, number: self.pushed, event }));
        self.pushed += 1;
    }

    /// The next event, with its time.
    pub fn pop(&mut self) -> Option<(Picos, E)> {
        self.events.pop().map(|Reverse(Entry { at, event, .. })| (at, event))
    }

    /// The next event, if it happens at this time or before, with its time.
    pub fn pop_until(&mut self, at: Picos) -> Option<(Picos, E)> {
        let is_due = self.events.peek().is_some_and(|Reverse(entry)| entry.at <= at);
        if is_due { self.pop() } else { None }
    }

    /// The random numbers of the simulation.
    pub const fn random(&mut self) -> &mut fastrand::Rng {
        &mut self.random
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  events at 10 and 20, asked for until 9, 10 and 30.
    // Output: none, the first, the second; then none.
    #[test]
    fn an_event_waits_for_its_time() {
        let mut queue = EventQueue::with_seed(0);
        queue.push(20, 'b');
        queue.push(10, 'a');
        let taken = [9, 10, 30, 30].map(|at| queue.pop_until(at));
        assert_eq!(taken, [None, Some((10, 'a')), Some((20, 'b')), None]);
    }

    // Input:  a thousand events at random times, of which many are equal, pushed and taken in turns; twice with one seed.
    // Output: they come by time, those of one time in the order of their numbers; both runs are equal.
    #[test]
    fn events_come_in_order() {
        let run = || {
            let mut queue = EventQueue::with_seed(5);
            let (mut taken, mut now) = (Vec::new(), 0);
            for number in 0..1000_u32 {
                let at = now + queue.random().u64(0..4);
                queue.push(at, number);
                if number % 3 > 0 {
                    let (at, event) = queue.pop().unwrap();
                    now = at;
                    taken.push((at, event));
                }
            }
            taken.extend(std::iter::from_fn(|| queue.pop()));
            taken
        };
        let taken = run();
        assert!(taken.len() == 1000 && taken.is_sorted(), "{taken:?}");
        assert_eq!(taken, run());
    }
}
