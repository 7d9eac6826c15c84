//! Which flows are heavy: exact counts in a sliding window, and in disjoint ones.

use std::collections::VecDeque;

use causeway_types::{Span, Time};

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// Packets.
    Packets,
    /// Octets.
    Octets,
}

impl Amount {
    /// What a packet of this many octets counts.
    pub const fn of(self, octets: u16) -> u64 {
        match self {
            Self::Packets => 1,
            Self::Octets => octets as u64,
        }
    }
}

/// The window in which flows are counted, but for that of a switch's own.
pub const WINDOW: Span = Span::from_secs(1);

/// Exact counts of all flows in any window: a flow is heavy from the packet on that makes the last window reach the threshold.
#[derive(Clone, Debug)]
pub struct Truth {
    amount: Amount,
    threshold: u64,
    window: Span,
    flows: Vec<Flow>,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    heavy_since: Option<Time>,
    last: VecDeque<(Time, u16)>,
    sum: u64,
}

impl Truth {
    /// No packets yet.
    pub const fn new(amount: Amount, threshold: u64, window: Span) -> Self {
        Self { amount, threshold, window, flows: Vec::new() }
    }

    /// Counts a packet. Times must not run back.
    pub fn observe(&mut self, flow: u32, octets: u16, now: Time) {
        let place = flow as usize;
        if place >= self.flows.len() {
            self.flows.resize_with(place + 1, Flow::default);
        }
        let Some(flow) = self.flows.get_mut(place).filter(|flow| flow.heavy_since.is_none()) else { return };
        while let Some((time, octets)) = flow.last.front().copied() {
            if now.since(time) < self.window {
                break;
            }
            flow.sum -= self.amount.of(octets);
            flow.last.pop_front();
        }
        flow.sum += self.amount.of(octets);
        flow.last.push_back((now, octets));
        if flow.sum >= self.threshold {
            // Only the first time matters, so the packets are forgotten.
            *flow = Flow { heavy_since: Some(now), ..Flow::default() };
        }
    }

    /// When each flow became heavy, by number.
    pub fn heavy_since(&self) -> impl Iterator<Item = Option<Time>> {
        self.flows.iter().map(|flow| flow.heavy_since)
    }
}

/// Exact counts of all flows in disjoint seconds, without limit of memory.
#[derive(Clone, Debug)]
pub struct Disjoint {
    amount: Amount,
    shift: Span,
    /// The second and the count of each flow.
    flows: Vec<(u64, u64)>,
}

impl Disjoint {
    /// No packets yet; seconds begin at whole seconds and this shift.
    pub const fn new(amount: Amount, shift: Span) -> Self {
        Self { amount, shift, flows: Vec::new() }
    }

    /// The number of the second at this time; zero is before the shift.
    pub fn second(&self, now: Time) -> u64 {
        (now + WINDOW - self.shift).as_nanos() / WINDOW.as_nanos() as u64
    }

    /// Counts a packet; returns the flow's count in its second.
    pub fn observe(&mut self, flow: u32, octets: u16, now: Time) -> u64 {
        let place = flow as usize;
        if place >= self.flows.len() {
            self.flows.resize(place + 1, (0, 0));
        }
        let second = self.second(now);
        let Some((last, count)) = self.flows.get_mut(place) else { return 0 };
        if *last != second {
            (*last, *count) = (second, 0);
        }
        *count += self.amount.of(octets);
        *count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  ten packets in 0.6 s, across the end of a second.
    // Output: ten in the sliding second; at most six in a disjoint one, and ten with seconds that begin in between.
    #[test]
    fn windows_differ_across_the_end_of_a_second() {
        let times = || (0..10).map(|packet| Time::from_secs(9) + Span::from_millis(640 + packet * 60));
        for (threshold, is_heavy) in [(10, true), (11, false)] {
            let mut truth = Truth::new(Amount::Packets, threshold, WINDOW);
            times().for_each(|now| truth.observe(3, 100, now));
            assert_eq!(truth.heavy_since().last().unwrap().is_some(), is_heavy);
        }
        let most = |shift: u64| {
            let mut exact = Disjoint::new(Amount::Octets, Span::from_millis(shift));
            times().map(|now| exact.observe(3, 100, now)).max()
        };
        assert_eq!((most(0), most(500)), (Some(600), Some(1000)));
    }

    // Input:  nine packets, a pause of a second, and one more; a window of a second, and one a little longer.
    // Output: not heavy: the first nine have left the window; heavy, as they are still in it.
    #[test]
    fn packets_leave_the_window() {
        for (window, expected) in [(1000, None), (1010, Some(Time::from_secs(6) + Span::from_millis(8)))] {
            let mut truth = Truth::new(Amount::Packets, 10, Span::from_millis(window));
            (0..9).for_each(|packet| truth.observe(0, 60, Time::from_secs(5) + Span::from_millis(packet)));
            truth.observe(0, 60, Time::from_secs(6) + Span::from_millis(8));
            assert_eq!(truth.heavy_since().collect::<Vec<_>>(), [expected]);
        }
    }
}
