//! Plans in flight on a switch that may be away: none waits for it longer than a timeout.

use std::collections::{HashMap, VecDeque};

use causeway_types::{Span, Time};
use foldhash::fast::RandomState;

use super::notice::Notice;
use super::operation::Operation;

/// Plans in flight, each with what its owner keeps of it, and since when the switch is away.
///
/// A plan is to be refused at once when the switch has been away for longer than the timeout
/// ([`PlansInFlight::are_refused`]), and to be abandoned when it has been in flight for as long
/// ([`PlansInFlight::expire`]).
#[derive(Debug)]
pub struct PlansInFlight<T> {
    /// `None`: the switch is never away, and plans take as long as they take.
    timeout: Option<Span>,
    away: Option<Time>,
    plans: HashMap<Operation, T, RandomState>,
    /// When plans exceed the timeout, in the order of their submission. The first one has not ended.
    deadlines: VecDeque<(Time, Operation)>,
}

impl<T> PlansInFlight<T> {
    /// No plan is in flight.
    pub fn new(timeout: Option<Span>) -> Self {
        Self { timeout, away: None, plans: HashMap::default(), deadlines: VecDeque::new() }
    }

    /// The switch is unreachable or not ready from now on.
    pub fn set_away(&mut self, now: Time) {
        self.away = self.away.or(Some(now));
    }

    /// Follows a notice of the switch.
    pub fn follow(&mut self, now: Time, notice: &Notice) {
        match notice {
            Notice::Reconciled(_) => self.away = None,
            Notice::Down | Notice::Superseded => self.set_away(now),
            Notice::Refused { .. }
            | Notice::Closed { .. }
            | Notice::Firewall(_)
            | Notice::Model { .. }
            | Notice::ClassesUnread { .. } => {}
        }
    }

    /// Whether the switch is unreachable or not ready.
    pub const fn is_away(&self) -> bool {
        self.away.is_some()
    }

    /// Whether plans are refused at once: the switch has been away for too long.
    pub fn are_refused(&self, now: Time) -> bool {
        let waits = |(since, timeout)| now.since(since) > timeout;
        self.away.zip(self.timeout).is_some_and(waits)
    }

    /// A plan is in flight.
    pub fn begin(&mut self, now: Time, operation: Operation, plan: T) {
        self.plans.insert(operation, plan);
        if let Some(timeout) = self.timeout {
            self.deadlines.push_back((now + timeout, operation));
        }
    }

    /// An operation has ended: its plan, unless it was none or was abandoned.
    pub fn end(&mut self, operation: Operation) -> Option<T> {
        let plan = self.plans.remove(&operation)?;
        self.forget_ended();
        Some(plan)
    }

    /// The next plan that has exceeded the timeout, with its operation, which is to be abandoned.
    pub fn expire(&mut self, now: Time) -> Option<(Operation, T)> {
        let (_, operation) = self.deadlines.front().copied().filter(|(until, _)| *until <= now)?;
        Some((operation, self.end(operation)?))
    }

    /// When the next plan exceeds the timeout.
    pub fn next_deadline(&self) -> Option<Time> {
        self.deadlines.front().map(|(until, _)| *until)
    }

    fn forget_ended(&mut self) {
        while self.deadlines.front().is_some_and(|(_, operation)| !self.plans.contains_key(operation)) {
            self.deadlines.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  plans at 0, 1 and 2 s with a timeout of 2 s, of which the second ends at once; the switch is away from 1 s on.
    // Output: the first exceeds the timeout at 2 s, the third at 4 s, each once, and the second never; further plans are refused from
    //         after 3 s on.
    #[test]
    fn a_plan_waits_no_longer_than_the_timeout() {
        let mut plans = PlansInFlight::new(Some(Span::from_secs(2)));
        let at = Time::from_secs;
        for number in 0..3 {
            plans.begin(at(number), Operation(number), number);
        }
        plans.follow(at(1), &Notice::Down);
        assert_eq!((plans.end(Operation(1)), plans.end(Operation(1))), (Some(1), None));
        assert_eq!((plans.next_deadline(), plans.expire(at(1))), (Some(at(2)), None));
        assert_eq!((plans.expire(at(2)), plans.expire(at(3))), (Some((Operation(0), 0)), None));
        assert_eq!([3, 4].map(|second| plans.are_refused(at(second))), [false, true]);
        assert_eq!((plans.next_deadline(), plans.expire(at(9))), (Some(at(4)), Some((Operation(2), 2))));
        assert_eq!((plans.next_deadline(), plans.end(Operation(2))), (None, None));
    }

    // Input:  a plan on a switch that is never away.
    // Output: it has all the time.
    #[test]
    fn without_a_timeout_a_plan_waits() {
        let mut plans = PlansInFlight::new(None);
        plans.begin(Time::default(), Operation(0), ());
        assert_eq!((plans.next_deadline(), plans.expire(Time::from_secs(1_000_000))), (None, None));
        assert_eq!(plans.end(Operation(0)), Some(()));
    }
}
