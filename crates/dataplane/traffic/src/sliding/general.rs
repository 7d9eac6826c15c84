//! The general form: slots of one word.

use causeway_types::Time;

use super::clock::{Clock, Instant, Step};
use super::{MOST_WAYS, Placement, Rules, SlidingConfig};
use crate::config::ConfigError;
use crate::{Key, Outcome, Random, Statistics};

/// The detector for software: each slot is one word of 64 bits.
///
/// A packet reads all ways of its flow. With [`Placement::Together`] and eight ways these are one cache line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sliding {
    slots: Box<[Slot]>,
    ways: usize,
    places: usize,
    placement: Placement,
    layout: Layout,
    rules: Rules,
    clock: Clock,
    random: Random,
    statistics: Statistics,
}

/// The state of a slot, from the lowest bit: counts of 8 bits from the current sub-window to the oldest, up to bit 39; the low bits of
/// the number of the current sub-window, 8 bits; identity, 15 bits; and whether the flow is heavy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Slot(u64);

/// The lowest bits of fields in a slot.
const EPOCH: u32 = 40;
const IDENTITY: u32 = 48;
const HEAVY: u64 = 1 << 63;

impl Slot {
    const fn new(identity: u16, epoch: u8, counts: u64) -> Self {
        Self((identity as u64) << IDENTITY | (epoch as u64) << EPOCH | counts)
    }

    const fn identity(self) -> u16 {
        (self.0 >> IDENTITY) as u16 & 0x7fff
    }

    /// One if it is a slot of this flow.
    const fn is_of(self, identity: u16) -> u32 {
        (self.identity() == identity) as u32
    }

    const fn is_heavy(self) -> bool {
        self.0 & HEAVY != 0
    }

    /// The counts, as of another current sub-window: those that are too old are dropped.
    const fn counts(self, epoch: u8, layout: Layout) -> u64 {
        let passed = epoch.wrapping_sub((self.0 >> EPOCH) as u8);
        // Five counts are all that there are.
        let passed = if passed > 5 { 5 } else { passed as u32 };
        ((self.0 & ((1 << EPOCH) - 1)) << (8 * passed)) & layout.counts
    }
}

/// Where counts lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Layout {
    /// The bits of all counts.
    counts: u64,
    /// The lowest bit of the oldest.
    oldest: u32,
}

impl Layout {
    const fn of(config: &SlidingConfig) -> Self {
        let oldest = 8 * config.sub_windows as u32;
        Self { counts: (1 << (oldest + 8)) - 1, oldest }
    }

    /// The estimate for the window.
    const fn units(self, counts: u64, rules: &Rules, position: u8) -> u32 {
        let others = counts & ((1 << self.oldest) - 1);
        let pairs = (others & 0x00ff_00ff) + ((others >> 8) & 0x00ff_00ff);
        let sum = (pairs + (pairs >> 16)) as u32 & 0xffff;
        sum + rules.part((counts >> self.oldest) as u8, position)
    }
}

impl Sliding {
    /// An empty detector.
    ///
    /// # Errors
    /// [`ConfigError`] when a number is out of range, or the threshold is more than the counts can hold.
    pub fn new(config: &SlidingConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let places = config.slots / config.ways;
        Ok(Self {
            slots: vec![Slot::default(); places * config.ways].into(),
            ways: config.ways,
            places,
            placement: config.placement,
            layout: Layout::of(config),
            rules: Rules::of(config),
            clock: Clock::new(config.sub_window, config.sub_windows),
            random: Random::with_seed(config.seed),
            statistics: Statistics::default(),
        })
    }

    /// Counts a packet of this many octets.
    pub fn observe(&mut self, key: Key, octets: u32, now: Time) -> Outcome {
        let weight = self.rules.unit.draw(octets, &mut self.random);
        self.observe_units(key, weight, now)
    }

    /// Where in memory the first way of a flow is, to prefetch it.
    #[inline]
    pub fn address(&self, key: Key) -> *const u8 {
        let ways = if self.placement == Placement::Together { self.ways } else { 1 };
        let first = self.slots.get(key.place(0, self.places) * ways..).unwrap_or_default();
        first.as_ptr().cast()
    }

    /// Counts a packet of this many units: [`Unit::draw`](crate::Unit::draw) with a generator of the caller.
    pub fn observe_units(&mut self, key: Key, weight: u8, now: Time) -> Outcome {
        match self.clock.advance(now) {
            Step::Forward => {}
            Step::Earlier => self.statistics.earlier_packets += 1,
            Step::Restart => {
                self.slots.fill(Slot::default());
                self.statistics.restarts += 1;
            }
        }
        let identity = self.rules.identity(key);
        let (view, first) = (self.view(), key.place(0, self.places));
        if self.placement == Placement::Together && self.ways == MOST_WAYS {
            // The common case: one cache line, whose ways are all compared before the first branch, since it cannot be predicted which
            // of them it is.
            let line = self.slots.get_mut(first * MOST_WAYS..).and_then(|slots| slots.first_chunk_mut());
            let Some(line): Option<&mut [Slot; MOST_WAYS]> = line else { return Outcome::Untracked };
            let own = line.iter().enumerate().fold(0, |own, (way, slot)| own | slot.is_of(identity) << way);
            if let Some(slot) = line.get_mut(own.trailing_zeros() as usize) {
                return view.count(slot, weight, &mut self.statistics);
            }
            let least = view.least(line.iter().copied());
            return self.contend(identity, weight, least, |way| first * MOST_WAYS + way);
        }
        let places = self.places_of(key, first);
        if let Some(slot) = self.own(identity, &places).and_then(|place| self.slots.get_mut(place)) {
            return view.count(slot, weight, &mut self.statistics);
        }
        let open = places.iter().take(self.ways);
        let least = view.least(open.map(|place| self.slots.get(*place).copied().unwrap_or_default()));
        self.contend(identity, weight, least, |way| places.get(way).copied().unwrap_or(usize::MAX))
    }

    /// The estimate for a flow's window at the time of the latest packet, in units; none without a slot.
    pub fn measured(&self, key: Key) -> Option<u32> {
        let places = self.places_of(key, key.place(0, self.places));
        let slot = self.slots.get(self.own(self.rules.identity(key), &places)?)?;
        Some(self.view().units(*slot))
    }

    /// What the detector has counted.
    pub const fn statistics(&self) -> Statistics {
        self.statistics
    }

    const fn view(&self) -> View {
        let Instant { index, position } = self.clock.instant();
        View { epoch: index as u8, position, layout: self.layout, rules: self.rules }
    }

    /// The numbers of the slots that are open to a flow, whose place in the first way is known.
    fn places_of(&self, key: Key, first: usize) -> [usize; MOST_WAYS] {
        let place = |way: usize| match self.placement {
            Placement::Together => first * self.ways + way,
            Placement::Apart if way == 0 => first,
            Placement::Apart => way * self.places + key.place(way, self.places),
        };
        std::array::from_fn(|way| if way < self.ways { place(way) } else { usize::MAX })
    }

    /// The number of the flow's slot.
    fn own(&self, identity: u16, places: &[usize; MOST_WAYS]) -> Option<usize> {
        let own = places.iter().enumerate().take(self.ways).fold(0, |own, (way, place)| {
            own | self.slots.get(*place).map_or(0, |slot| slot.is_of(identity)) << way
        });
        places.get(own.trailing_zeros() as usize).copied()
    }

    /// Gives the slot with the least estimate to the flow, or not.
    fn contend(
        &mut self,
        identity: u16,
        weight: u8,
        (units, way): (u32, usize),
        place: impl Fn(usize) -> usize,
    ) -> Outcome {
        if !Rules::takes(weight, units, self.random.bits()) {
            return Outcome::Untracked;
        }
        let view = self.view();
        let Some(slot) = self.slots.get_mut(place(way)) else { return Outcome::Untracked };
        self.statistics.replacements += u64::from(units > 0);
        *slot = Slot::new(identity, view.epoch, 0);
        view.count(slot, weight, &mut self.statistics)
    }
}

/// What it takes to read slots at a time.
#[derive(Clone, Copy, Debug)]
struct View {
    /// The low bits of the number of the current sub-window.
    epoch: u8,
    /// How much of it has passed, in 256ths.
    position: u8,
    layout: Layout,
    rules: Rules,
}

impl View {
    /// The estimate of a slot for the window.
    const fn units(&self, slot: Slot) -> u32 {
        self.layout.units(slot.counts(self.epoch, self.layout), &self.rules, self.position)
    }

    /// The least estimate, and its way; of equal ones the first.
    fn least(&self, slots: impl Iterator<Item = Slot>) -> (u32, usize) {
        let estimates = slots.enumerate().map(|(way, slot)| self.units(slot) << 3 | way as u32);
        let least = estimates.fold(u32::MAX, u32::min);
        (least >> 3, (least & 7) as usize)
    }

    /// Counts a packet in its flow's slot.
    fn count(&self, slot: &mut Slot, weight: u8, statistics: &mut Statistics) -> Outcome {
        let counts = slot.counts(self.epoch, self.layout);
        let room = u8::MAX - counts as u8;
        if weight > room {
            statistics.saturations += 1;
        }
        let counts = counts + u64::from(weight.min(room));
        let units = self.layout.units(counts, &self.rules, self.position);
        let was_heavy = slot.is_heavy();
        let is_heavy = self.rules.is_heavy(was_heavy, units);
        *slot = Slot(Slot::new(slot.identity(), self.epoch, counts).0 | u64::from(is_heavy) << 63);
        match (was_heavy, is_heavy) {
            (_, false) => Outcome::Light,
            (true, true) => Outcome::Heavy,
            (false, true) => {
                statistics.reports += 1;
                Outcome::Report { measured: units }
            }
        }
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
        let mut detector = Sliding::new(&SlidingConfig::with_slots(64)).unwrap();
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
            let mut detector = Sliding::new(&SlidingConfig::with_slots(64)).unwrap();
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
            let mut detector = Sliding::new(&config).unwrap();
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
            let mut detector = Sliding::new(&config).unwrap();
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
        let mut detector = Sliding::new(&SlidingConfig::with_slots(64)).unwrap();
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
        let mut detector = Sliding::new(&SlidingConfig::with_slots(64)).unwrap();
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
    // Output: its old packets do not count after the pause, but for pauses of a multiple of 64 s, after which they seem fresh.
    #[test]
    fn old_counts_leave() {
        for pause in 2..600 {
            let mut detector = Sliding::new(&SlidingConfig::with_slots(4)).unwrap();
            (0..200).for_each(|_| {
                detector.observe(key(1), 1000, at(0));
            });
            detector.observe(key(1), 1000, at(pause * 1000));
            let expected = if pause % 64 <= 1 { 2..=201 } else { 1..=1 };
            assert!(expected.contains(&detector.measured(key(1)).unwrap()), "{pause}");
        }
    }
}
