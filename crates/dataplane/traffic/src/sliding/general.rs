//! The general form: any number of sub-windows and ways.

use causeway_types::Time;

use super::clock::{Clock, Instant, Step};
use super::{MOST_WAYS, Placement, Rules, SlidingConfig};
use crate::config::ConfigError;
use crate::{Key, Outcome, Random, Statistics};

/// A detector with slots of `COUNTS` sub-windows: the current one, and one less full ones than the slot has counts.
///
/// A packet of a flow with a slot touches that slot; a packet of another flow ages and compares all its ways. `COUNTS` is
/// from 2 to 17; with five counts a slot has 8 octets.
#[derive(Clone, Debug)]
pub struct Sliding<const COUNTS: usize> {
    slots: Box<[Slot<COUNTS>]>,
    ways: usize,
    places: usize,
    placement: Placement,
    rules: Rules,
    clock: Clock,
    random: Random,
    statistics: Statistics,
}

/// The state of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot<const COUNTS: usize> {
    /// The identity bits of the flow; the highest bit says that it is heavy.
    owner: u16,
    /// The low bits of the sub-window of the first count.
    epoch: u8,
    /// Units in the current sub-window, the one before, and so on.
    counts: [u8; COUNTS],
}

/// The bit of the owner that says that the flow is heavy.
const HEAVY: u16 = 1 << 15;

impl<const COUNTS: usize> Slot<COUNTS> {
    const EMPTY: Self = Self { owner: 0, epoch: 0, counts: [0; COUNTS] };

    const fn identity(&self) -> u16 {
        self.owner & !HEAVY
    }

    /// Drops the counts that are older than the ring.
    fn age(&mut self, now: Instant) {
        let passed = usize::from((now.index as u8).wrapping_sub(self.epoch));
        if passed > 0 {
            let kept = COUNTS.saturating_sub(passed);
            self.counts.copy_within(..kept, COUNTS - kept);
            self.counts.iter_mut().take(passed).for_each(|count| *count = 0);
            self.epoch = now.index as u8;
        }
    }

    /// The estimate of an aged slot.
    fn units(&self, rules: &Rules, now: Instant) -> u32 {
        let Some((oldest, others)) = self.counts.split_last() else { return 0 };
        let sum: u32 = others.iter().map(|count| u32::from(*count)).sum();
        sum + rules.part(*oldest, now.position)
    }

    /// Adds to the current count; returns whether it was at its limit.
    fn add(&mut self, weight: u8) -> bool {
        let Some(current) = self.counts.first_mut() else { return false };
        let is_cut = *current > u8::MAX - weight;
        *current = current.saturating_add(weight);
        is_cut
    }
}

impl<const COUNTS: usize> Sliding<COUNTS> {
    /// An empty detector.
    ///
    /// # Errors
    /// [`ConfigError`] when a number is out of range, or the threshold is not reachable with `COUNTS`.
    pub fn new(config: &SlidingConfig) -> Result<Self, ConfigError> {
        config.check(COUNTS)?;
        let places = config.slots / config.ways;
        Ok(Self {
            slots: vec![Slot::EMPTY; places * config.ways].into(),
            ways: config.ways,
            places,
            placement: config.placement,
            rules: Rules::of(config),
            clock: Clock::new(config.sub_window, COUNTS.saturating_sub(1)),
            random: Random::with_seed(config.seed),
            statistics: Statistics::default(),
        })
    }

    /// Counts a packet of this many octets.
    pub fn observe(&mut self, key: Key, octets: u32, now: Time) -> Outcome {
        match self.clock.advance(now) {
            Step::Forward => {}
            Step::Earlier => self.statistics.earlier_packets += 1,
            Step::Restart => {
                self.slots.fill(Slot::EMPTY);
                self.statistics.restarts += 1;
            }
        }
        let bits = if self.rules.unit.has_remainder() { self.random.bits() } else { 0 };
        let weight = self.rules.unit.units(octets, bits);
        let places = self.places_of(key);
        match self.own(key, &places) {
            Some(place) => self.count(place, weight),
            None => self.contend(key, weight, &places),
        }
    }

    /// The estimate for a flow's window at the time of the latest packet, in units; none without a slot.
    pub fn measured(&self, key: Key) -> Option<u32> {
        let now = self.clock.instant();
        let mut slot = *self.slots.get(self.own(key, &self.places_of(key))?)?;
        slot.age(now);
        Some(slot.units(&self.rules, now))
    }

    /// What the detector has counted.
    pub const fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The numbers of the slots that are open to a flow.
    fn places_of(&self, key: Key) -> [usize; MOST_WAYS] {
        let first = key.place(0, self.places);
        let mut places = [usize::MAX; MOST_WAYS];
        for (way, place) in places.iter_mut().enumerate().take(self.ways) {
            *place = match self.placement {
                Placement::Together => first * self.ways + way,
                Placement::Apart if way == 0 => first,
                Placement::Apart => way * self.places + key.place(way, self.places),
            };
        }
        places
    }

    /// The number of the flow's slot.
    fn own(&self, key: Key, places: &[usize; MOST_WAYS]) -> Option<usize> {
        let identity = self.rules.identity(key);
        let is_own = |place: &usize| self.slots.get(*place).is_some_and(|slot| slot.identity() == identity);
        places.iter().take(self.ways).copied().find(is_own)
    }

    /// Counts a packet in its flow's slot.
    fn count(&mut self, place: usize, weight: u8) -> Outcome {
        let now = self.clock.instant();
        let Some(slot) = self.slots.get_mut(place) else { return Outcome::Untracked };
        slot.age(now);
        self.statistics.saturations += u64::from(slot.add(weight));
        let units = slot.units(&self.rules, now);
        let was_heavy = slot.owner & HEAVY != 0;
        if !self.rules.is_heavy(was_heavy, units) {
            slot.owner &= !HEAVY;
            return Outcome::Light;
        }
        if was_heavy {
            return Outcome::Heavy;
        }
        slot.owner |= HEAVY;
        self.statistics.reports += 1;
        Outcome::Report { measured: units }
    }

    /// Gives a slot to the flow, or not.
    fn contend(&mut self, key: Key, weight: u8, places: &[usize; MOST_WAYS]) -> Outcome {
        let now = self.clock.instant();
        let mut least = (u32::MAX, usize::MAX);
        for place in places.iter().take(self.ways) {
            let Some(slot) = self.slots.get_mut(*place) else { continue };
            slot.age(now);
            let units = slot.units(&self.rules, now);
            if units < least.0 {
                least = (units, *place);
            }
        }
        let (units, place) = least;
        if !Rules::takes(weight, units, self.random.bits()) {
            return Outcome::Untracked;
        }
        let Some(slot) = self.slots.get_mut(place) else { return Outcome::Untracked };
        *slot = Slot { owner: self.rules.identity(key), epoch: now.index as u8, counts: [0; COUNTS] };
        self.statistics.replacements += u64::from(units > 0);
        self.count(place, weight)
    }
}

#[cfg(test)]
mod tests {
    use causeway_types::Span;

    use super::*;
    use crate::{FlowKeys, Unit};

    fn key(flow: u64) -> Key {
        FlowKeys::with_seed(3).rule_pair(flow, 0)
    }

    fn at(millis: u64) -> Time {
        Time::from_secs(1000) + Span::from_millis(millis)
    }

    // Input:  125 packets within one millisecond; 124.
    // Output: a report at the 125th packet, and only then; none.
    #[test]
    fn a_burst_is_heavy_at_its_last_packet() {
        let mut detector = Sliding::<5>::new(&SlidingConfig::with_slots(64)).unwrap();
        let reports: Vec<u32> =
            (1..=200).filter(|_| detector.observe(key(1), 1000, at(900)).is_report()).collect();
        assert_eq!(reports, [125]);
        assert!((1..=124).all(|_| detector.observe(key(2), 1000, at(900)) == Outcome::Light));
        assert_eq!(detector.measured(key(2)), Some(124));
        assert_eq!(detector.measured(key(3)), None);
    }

    // Input:  a flow whose rate is by turns 20 % above and 20 % below the threshold, a second each, for a minute; one that
    //         pauses for two seconds each time.
    // Output: one report; one for each turn.
    #[test]
    fn a_flow_that_toggles_is_reported_once() {
        let reports = |pause: u64| {
            let mut detector = Sliding::<5>::new(&SlidingConfig::with_slots(64)).unwrap();
            let mut reports = 0;
            for turn in 0..30 {
                let begin = turn * (2000 + pause);
                let above = (0..150).map(|packet| begin + packet * 1000 / 150);
                let below = (0..100).map(|packet| begin + 1000 + packet * 10);
                for millis in above.chain(below) {
                    reports += u32::from(detector.observe(key(1), 1000, at(millis)).is_report());
                }
            }
            assert_eq!(detector.statistics().reports, u64::from(reports));
            reports
        };
        assert_eq!((reports(0), reports(2000)), (1, 30));
    }

    // Input:  60-octet packets at 125 a second and 1450-octet packets at 87 a second, for 20 s, a threshold of 125,000
    //         octets; ten seeds.
    // Output: the first is never heavy, the second always.
    #[test]
    fn octets_decide_where_they_are_counted() {
        for seed in 0..10 {
            let config = SlidingConfig {
                threshold: 125_000,
                unit: Unit::KIBI_OCTETS,
                seed,
                ..SlidingConfig::with_slots(64)
            };
            let mut detector = Sliding::<5>::new(&config).unwrap();
            let mut reports = |octets: u32, rate: u64| -> u64 {
                let times = (0..20 * rate).map(|packet| at(packet * 1000 / rate));
                let before = detector.statistics().reports;
                times.for_each(|now| {
                    detector.observe(key(octets.into()), octets, now);
                });
                detector.statistics().reports - before
            };
            assert_eq!(reports(60, 125), 0);
            assert!(reports(1450, 87) > 0);
        }
    }

    // Input:  a flow of 250 packets a second; after a second, 67,000 other flows of one packet each second into 64 slots, for
    //         three seconds; each placement.
    // Output: the flow keeps its slot and its count, it alone is reported, and replacements are counted.
    #[test]
    fn a_flood_of_small_flows_takes_no_heavy_slot() {
        for placement in [Placement::Apart, Placement::Together] {
            let config = SlidingConfig { placement, ways: 8, ..SlidingConfig::with_slots(64) };
            let mut detector = Sliding::<5>::new(&config).unwrap();
            for step in 0..4000_u64 {
                if step % 4 == 0 {
                    detector.observe(key(0), 1000, at(step));
                }
                let others = if step < 1000 { 0 } else { 67 };
                for other in 0..others {
                    let outcome = detector.observe(key(1 + step * 67 + other), 1000, at(step));
                    assert!(!outcome.is_report());
                }
            }
            assert_eq!(detector.statistics().reports, 1);
            assert!((245..=251).contains(&detector.measured(key(0)).unwrap()));
            assert!(detector.statistics().replacements > 1000);
        }
    }

    // Input:  a thousand packets in one sub-window.
    // Output: the count stops at 255; what could not be counted is.
    #[test]
    fn a_full_count_stops() {
        let mut detector = Sliding::<5>::new(&SlidingConfig::with_slots(64)).unwrap();
        (0..1000).for_each(|_| {
            detector.observe(key(1), 1000, at(0));
        });
        assert_eq!(detector.measured(key(1)), Some(255));
        assert_eq!(detector.statistics().saturations, 745);
    }

    // Input:  packets that are earlier by half a second, then by an hour, and go on there.
    // Output: the first count, as of the latest time; then everything is forgotten, and flows are found again.
    #[test]
    fn time_that_runs_back_is_counted() {
        let mut detector = Sliding::<5>::new(&SlidingConfig::with_slots(64)).unwrap();
        (0..100).for_each(|_| {
            detector.observe(key(1), 1000, at(500));
        });
        (0..24).for_each(|_| {
            detector.observe(key(1), 1000, at(0));
        });
        assert!(detector.observe(key(1), 1000, at(0)).is_report());
        assert_eq!(detector.statistics().earlier_packets, 25);
        let hour = Time::from_secs(1000) - Span::from_secs(600);
        assert_eq!(detector.observe(key(1), 1000, hour), Outcome::Light);
        assert_eq!((detector.measured(key(1)), detector.statistics().restarts), (Some(1), 1));
        let later = |packet: u64| hour + Span::from_millis(packet * 4);
        assert!((1..250).any(|packet| detector.observe(key(1), 1000, later(packet)).is_report()));
    }

    // Input:  a heavy flow that pauses for 0 to 600 s.
    // Output: its old packets do not count after the pause, but for a pause of 64 s, where a slot that nothing visits seems
    //         fresh.
    #[test]
    fn old_counts_leave() {
        for pause in 2..600 {
            let mut detector = Sliding::<5>::new(&SlidingConfig::with_slots(4)).unwrap();
            (0..200).for_each(|_| {
                detector.observe(key(1), 1000, at(0));
            });
            detector.observe(key(1), 1000, at(pause * 1000));
            let expected = if pause % 64 <= 1 { 2..=201 } else { 1..=1 };
            assert!(expected.contains(&detector.measured(key(1)).unwrap()), "{pause}");
        }
    }
}
