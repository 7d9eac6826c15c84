//! A bound on the events of a data plane.

use causeway_types::{Span, Time};

/// Events of one kind in a second, at most.
const EVENTS_PER_SECOND: u32 = 256;

/// At most 256 events of one kind in a second, so that nobody can flood those who listen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EventBudget {
    /// When the second began.
    begin: Time,
    taken: u32,
    /// Those of them whose time was not known. They count in the next second, too.
    untimed: u32,
}

impl EventBudget {
    /// Takes an event at this time. `false`: there were too many in the second.
    pub fn take(&mut self, now: Time) -> bool {
        if now.since(self.begin) >= Span::from_secs(1) {
            (self.begin, self.taken) = (now, std::mem::take(&mut self.untimed));
        }
        self.take_one()
    }

    /// The same, at a time that is not known, but not before that of the last event.
    pub fn take_untimed(&mut self) -> bool {
        let is_taken = self.take_one();
        self.untimed += u32::from(is_taken);
        is_taken
    }

    fn take_one(&mut self) -> bool {
        let is_taken = self.taken < EVENTS_PER_SECOND;
        self.taken += u32::from(is_taken);
        is_taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_secs(100) + Span::from_millis(millis)
    }

    /// How many of so many events are taken.
    fn taken(budget: &mut EventBudget, events: u32, now: Option<Time>) -> u32 {
        let mut take = || match now {
            Some(now) => budget.take(now),
            None => budget.take_untimed(),
        };
        (0..events).map(|_| u32::from(take())).sum()
    }

    // Input:  300 events at once, more within the second, and 300 when it is over; an event whose time is earlier.
    // Output: 256 are taken in each second, however early the time of an event is.
    #[test]
    fn a_second_has_so_many_events() {
        let mut budget = EventBudget::default();
        assert_eq!(taken(&mut budget, 300, Some(at(0))), 256);
        assert_eq!(taken(&mut budget, 5, Some(at(999))), 0);
        assert_eq!(taken(&mut budget, 300, Some(at(1000))), 256);
        assert_eq!(taken(&mut budget, 5, Some(at(500))), 0);
        assert_eq!(taken(&mut budget, 5, Some(at(2000))), 5);
    }

    // Input:  100 events at a known time, then 200 at a time that is not known; 300 ten seconds later, and after one second more.
    // Output: 156 of the 200 are taken, and leave 100 for the next second; all are there in the one after it.
    #[test]
    fn events_without_a_time_count_twice() {
        let mut budget = EventBudget::default();
        assert_eq!(taken(&mut budget, 100, Some(at(0))), 100);
        assert_eq!(taken(&mut budget, 200, None), 156);
        assert_eq!(taken(&mut budget, 300, Some(at(10_000))), 100);
        assert_eq!(taken(&mut budget, 300, Some(at(11_000))), 256);
    }
}
