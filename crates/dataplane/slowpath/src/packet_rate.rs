//! The number of packets that a QER allows in one direction (TS 29.244 clause 5.4.15.2).

use causeway_model::{Allowance, PacketRate, Remaining};
use causeway_types::{Time, WallClock, WallTime};

/// Counts packets against a remainder that the SMF provides (Packet Rate Status), and after that against the rate.
///
/// A period begins when the rate is provisioned, or when the validity of the remainder ends, and the next one where
/// it ends. A used-up remainder is not renewed before its validity ends (clause 8.2.139): a new session must not
/// grant a UE what the old one denied it. The validity ends by the wall clock; the length of periods does not depend
/// on the wall clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PacketMeter {
    from_elsewhere: Option<(Remaining, WallTime)>,
    base: Period,
    additional: Option<Period>,
}

impl PacketMeter {
    /// A meter without counted packets. `from_elsewhere`: the remainder, and until when it is valid.
    pub(crate) fn new(rate: PacketRate, from_elsewhere: Option<(Remaining, WallTime)>, now: Time) -> Self {
        let period = |allowance| Period { allowance, start: now, used: 0 };
        Self { from_elsewhere, base: period(rate.base), additional: rate.additional.map(period) }
    }

    /// A packet may pass now.
    pub(crate) fn is_open(&self, now: Time, wall: WallClock) -> bool {
        let (left, _) = self.left(now, wall);
        left.packets > 0 || left.additional.is_some_and(|additional| additional > 0)
    }

    /// Counts a packet that passes: against the basic rate first, then against the additional one.
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

    /// The remainder, and its validity: the end of the longer of the two periods, so that a UPF that continues from
    /// there grants no more than was allowed.
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

    /// Its periods, when the remainder is no longer valid.
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

/// Consecutive periods of equal length, and the packets used in the one at `start`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Period {
    allowance: Allowance,
    start: Time,
    used: u16,
}

impl Period {
    /// When the period that contains `now` began.
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
    // Output: 2, none, 3, 3: the remainder is not renewed while it is valid, and the first period begins where it
    //         ends.
    #[test]
    fn the_provided_remainder_is_used_first() {
        let rate = PacketRate { base: per_minute(3), additional: None };
        let left = Remaining { packets: 2, additional: None };
        let until = WallTime::from_secs(1090);
        let mut meter = PacketMeter::new(rate, Some((left, until)), Time::from_secs(1000));
        let floods = [1000, 1089, 1090, 1150].map(|second| passed(&mut meter, second, 100));
        assert_eq!(floods, [2, 0, 3, 3]);
    }

    // Input:  a status whose validity has ended when it is received.
    // Output: it is ignored.
    #[test]
    fn an_expired_status_is_ignored() {
        let rate = PacketRate { base: per_minute(3), additional: None };
        let none = Remaining { packets: 0, additional: None };
        let mut meter = PacketMeter::new(rate, Some((none, WallTime::from_secs(1))), Time::from_secs(1000));
        assert_eq!(passed(&mut meter, 1000, 100), 3);
        assert_eq!(meter.left(Time::from_secs(1000), WallClock::default()).1, WallTime::from_secs(1060));
    }

    // Input:  2 packets left until the wall-clock time 10,090, then 3 a minute. At 10,010 it is set back by an hour;
    //         or forward by a minute, and at 10,021 by another.
    // Output: the remainder is valid for an hour longer; or until the clock is set forward for the second time, when
    //         the first period begins.
    #[test]
    fn the_validity_of_a_status_follows_the_wall_clock() {
        let rate = PacketRate { base: per_minute(3), additional: None };
        let left = Remaining { packets: 2, additional: None };
        let at = |wall, now| WallClock::reading(WallTime::from_secs(wall), Time::from_secs(now));
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
