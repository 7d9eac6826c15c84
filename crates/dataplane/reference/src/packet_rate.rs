//! The number of packets that a QER allows in one direction (TS 29.244 clause 5.4.15.2).

use causeway_rules::{Allowance, PacketRate, Remaining};
use causeway_types::{Time, WallClock, WallTime};

/// Counts packets against what is left from elsewhere, and after that against the rate.
///
/// A period begins when the rate is provisioned, or when what was left from elsewhere is no longer valid, and
/// the next one where it ends. What was left from elsewhere and is used up is not renewed before its validity ends
/// (clause 8.2.139): a new session must not give a UE what the old one denied it. That validity ends by the wall clock; periods are
/// as long as they are, whatever the wall clock is set to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PacketMeter {
    from_elsewhere: Option<(Remaining, WallTime)>,
    base: Period,
    additional: Option<Period>,
}

impl PacketMeter {
    /// Nothing counted yet. `from_elsewhere`: what is left, and until when no more than that may pass.
    pub(crate) fn new(rate: PacketRate, from_elsewhere: Option<(Remaining, WallTime)>, now: Time) -> Self {
        let period = |allowance| Period { allowance, start: now, used: 0 };
        Self { from_elsewhere, base: period(rate.base), additional: rate.additional.map(period) }
    }

    /// A packet may pass now.
    pub(crate) fn is_open(&self, now: Time, wall: WallClock) -> bool {
        let (left, _) = self.left(now, wall);
        left.packets > 0 || left.additional.is_some_and(|additional| additional > 0)
    }

    /// Counts a packet that passes: usual ones first.
    pub(crate) fn take(&mut self, now: Time, wall: WallClock) {
        if let Some((left, _)) = self.from_elsewhere.as_mut().filter(|(_, until)| wall.at(now) < *until) {
            return take_remaining(left);
        }
        (self.base, self.additional) = self.periods(wall);
        self.from_elsewhere = None;
        self.base.advance(now);
        match &mut self.additional {
            Some(additional) if self.base.left(now) == 0 => {
                additional.advance(now);
                additional.used = additional.used.saturating_add(1);
            }
            _ => self.base.used = self.base.used.saturating_add(1),
        }
    }

    /// What is left, and until when: the end of the longer of the two periods, so that nobody who goes on from
    /// there gives more than was allowed.
    pub(crate) fn left(&self, now: Time, wall: WallClock) -> (Remaining, WallTime) {
        if let Some((left, until)) = self.from_elsewhere.filter(|(_, until)| wall.at(now) < *until) {
            return (left, until);
        }
        let (usual, additional) = self.periods(wall);
        let left = Remaining {
            packets: usual.left(now),
            additional: additional.map(|additional| additional.left(now)),
        };
        let ends = additional.map_or(Time::default(), |additional| additional.end(now));
        (left, wall.at(usual.end(now).max(ends)))
    }

    /// Its periods, when what was left from elsewhere is valid no longer.
    fn periods(&self, wall: WallClock) -> (Period, Option<Period>) {
        let begun = |period: Period| match self.from_elsewhere {
            Some((_, until)) => Period { start: wall.reaches(until).max(period.start), ..period },
            None => period,
        };
        (begun(self.base), self.additional.map(begun))
    }
}

fn take_remaining(left: &mut Remaining) {
    match &mut left.additional {
        Some(additional) if left.packets == 0 => *additional = additional.saturating_sub(1),
        _ => left.packets = left.packets.saturating_sub(1),
    }
}

/// Equal periods one after the other, and what was used of the one at `start`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Period {
    allowance: Allowance,
    start: Time,
    used: u16,
}

impl Period {
    /// When the period that holds `now` began.
    fn start_at(&self, now: Time) -> Time {
        let period = self.allowance.period.as_nanos().max(1);
        let whole = now.since(self.start).as_nanos() / period * period;
        Time::from_nanos(self.start.as_nanos().saturating_add(u64::try_from(whole).unwrap_or(u64::MAX)))
    }

    fn end(&self, now: Time) -> Time {
        self.start_at(now) + self.allowance.period
    }

    fn left(&self, now: Time) -> u16 {
        let used = if self.start_at(now) == self.start { self.used } else { 0 };
        self.allowance.packets.saturating_sub(used)
    }

    fn advance(&mut self, now: Time) {
        let start = self.start_at(now);
        if start != self.start {
            (self.start, self.used) = (start, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use causeway_types::Span;

    use super::*;

    fn per_minute(packets: u16) -> Allowance {
        Allowance { packets, period: Span::from_secs(60) }
    }

    /// How many of `offered` packets pass at this second.
    fn passed(meter: &mut PacketMeter, second: u64, offered: usize) -> usize {
        passed_by(meter, second, offered, WallClock::default())
    }

    fn passed_by(meter: &mut PacketMeter, second: u64, offered: usize, wall: WallClock) -> usize {
        let now = Time::from_secs(second);
        (0..offered).take_while(|_| meter.is_open(now, wall).then(|| meter.take(now, wall)).is_some()).count()
    }

    // Input:  3 packets a minute and 2 additional ones an hour; floods in the first three minutes and after an hour.
    // Output: 5, 3, 3, and 5 again.
    #[test]
    fn additional_packets_have_their_own_period() {
        let additional = Some(Allowance { packets: 2, period: Span::from_secs(3600) });
        let rate = PacketRate { base: per_minute(3), additional };
        let mut meter = PacketMeter::new(rate, None, Time::from_secs(1000));
        let floods = [1000, 1060, 1179, 4600].map(|second| passed(&mut meter, second, 100));
        assert_eq!(floods, [5, 3, 3, 5]);
    }

    // Input:  2 packets left until second 1090, then 3 a minute; floods at 1000, 1089, 1090 and 1150.
    // Output: 2, none, 3, 3: what was left is not renewed while it is valid, and the first period begins where it ends.
    #[test]
    fn what_is_left_from_elsewhere_comes_first() {
        let rate = PacketRate { base: per_minute(3), additional: None };
        let left = Remaining { packets: 2, additional: None };
        let until = WallTime::from_secs(1090);
        let mut meter = PacketMeter::new(rate, Some((left, until)), Time::from_secs(1000));
        let floods = [1000, 1089, 1090, 1150].map(|second| passed(&mut meter, second, 100));
        assert_eq!(floods, [2, 0, 3, 3]);
    }

    // Input:  a status that is valid no longer when it comes.
    // Output: it means nothing.
    #[test]
    fn a_status_of_the_past_means_nothing() {
        let rate = PacketRate { base: per_minute(3), additional: None };
        let none = Remaining { packets: 0, additional: None };
        let mut meter = PacketMeter::new(rate, Some((none, WallTime::from_secs(1))), Time::from_secs(1000));
        assert_eq!(passed(&mut meter, 1000, 100), 3);
        assert_eq!(meter.left(Time::from_secs(1000), WallClock::default()).1, WallTime::from_secs(1060));
    }

    // Input:  2 packets left until the wall clock says 10,090, then 3 a minute. At 10,010 it is set back by an hour; or forward by a minute,
    //         and at 10,021 by another.
    // Output: what is left holds for an hour longer; or until it is set forward for the second time, when the first period begins.
    #[test]
    fn the_wall_clock_says_how_long_a_status_is_valid() {
        let rate = PacketRate { base: per_minute(3), additional: None };
        let left = Remaining { packets: 2, additional: None };
        let at = |wall, now| WallClock::saying(WallTime::from_secs(wall), Time::from_secs(now));
        let new =
            || PacketMeter::new(rate, Some((left, WallTime::from_secs(10_090))), Time::from_secs(10_000));
        let (mut meter, back) = (new(), at(6410, 10_010));
        let floods = [10_090, 13_689, 13_690].map(|second| passed_by(&mut meter, second, 9, back));
        assert_eq!(floods, [2, 0, 3]);
        let (mut meter, once, again) = (new(), at(10_070, 10_010), at(10_141, 10_021));
        assert_eq!(passed_by(&mut meter, 10_010, 9, once), 2);
        let floods = [10_021, 10_080, 10_081].map(|second| passed_by(&mut meter, second, 9, again));
        assert_eq!(floods, [3, 0, 3]);
        assert_eq!(meter.left(Time::from_secs(10_081), again).1, WallTime::from_secs(10_261));
    }
}
