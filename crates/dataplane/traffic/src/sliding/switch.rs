//! The form for a P4 switch: one register array for each field, each accessed once for a packet.

use causeway_types::Time;

use super::clock::{Clock, Instant, Step};
use super::{MOST_SUB_WINDOWS, MOST_WAYS, Placement, Rules, SlidingConfig};
use crate::config::{ConfigError, in_range};
use crate::{Key, Outcome, Random, Statistics};

/// The detector as register arrays: in each way one of identities, one of pairs {epoch, count} for each of `q + 1`
/// sub-windows, and one of heavy flags.
///
/// A sub-window's array is the one of its number modulo `q + 1`. A pair is worth nothing unless its epoch is the sub-window that
/// is asked for, so nothing has to be reset when a sub-window begins. A packet reads and writes each array of a way once: the
/// identity, then the pairs, of which it adds to the current one if the identity is its own, then the flag. Only a packet that
/// takes a slot passes a second time, which writes the same arrays.
///
/// Estimates, decisions and random numbers are those of [`Sliding`](super::Sliding) with the same configuration. Epochs have 8 bits:
/// pairs that are a multiple of 256 sub-windows old seem fresh, in a slot that its flow did not use in between.
#[derive(Clone, Debug)]
pub struct SwitchSliding {
    ways: Vec<Way>,
    places: usize,
    sub_windows: u8,
    rules: Rules,
    clock: Clock,
    random: Random,
    statistics: Statistics,
}

/// What the register arrays have at a place of a way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SwitchSlot {
    /// The flow's identity.
    pub owner: u16,
    /// Epoch and count in each sub-window's array; zero beyond the last one.
    pub pairs: [(u8, u8); MOST_SUB_WINDOWS as usize + 1],
    /// Whether the flow is heavy.
    pub is_heavy: bool,
}

/// The register arrays of a way.
#[derive(Clone, Debug)]
struct Way {
    owners: Box<[u16]>,
    /// Of each sub-window.
    pairs: Box<[Box<[Pair]>]>,
    heavy: Box<[bool]>,
}

/// Both words of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Pair {
    epoch: u8,
    count: u8,
}

impl Pair {
    /// The count, if it is of this sub-window.
    const fn of(self, index: u64) -> u8 {
        if self.epoch == index as u8 { self.count } else { 0 }
    }
}

impl Way {
    fn new(places: usize, sub_windows: u8) -> Self {
        Self {
            owners: vec![0; places].into(),
            pairs: (0..=sub_windows).map(|_| vec![Pair::default(); places].into()).collect(),
            heavy: vec![false; places].into(),
        }
    }

    /// The count at a place, `back` sub-windows ago.
    fn count(&self, place: usize, now: Instant, back: usize) -> u8 {
        let Some(index) = now.index.checked_sub(back as u64) else { return 0 };
        let pair =
            self.pairs.get((index % self.pairs.len() as u64) as usize).and_then(|array| array.get(place));
        pair.map_or(0, |pair| pair.of(index))
    }

    fn slot(&self, place: usize) -> Option<SwitchSlot> {
        let pair = |array: usize| {
            let pair = self.pairs.get(array).and_then(|array| array.get(place)).copied().unwrap_or_default();
            (pair.epoch, pair.count)
        };
        let (owner, is_heavy) = (*self.owners.get(place)?, *self.heavy.get(place)?);
        Some(SwitchSlot { owner, pairs: std::array::from_fn(pair), is_heavy })
    }

    fn units(&self, place: usize, rules: &Rules, now: Instant) -> u32 {
        let oldest = self.pairs.len() - 1;
        let sum: u32 = (0..oldest).map(|back| u32::from(self.count(place, now, back))).sum();
        sum + rules.part(self.count(place, now, oldest), now.position)
    }

    /// Adds to the current pair; returns whether the count was at its limit.
    fn add(&mut self, place: usize, now: Instant, weight: u8) -> bool {
        let current = (now.index % self.pairs.len() as u64) as usize;
        let array = self.pairs.get_mut(current);
        let Some(pair) = array.and_then(|array| array.get_mut(place)) else { return false };
        let count = pair.of(now.index);
        *pair = Pair { epoch: now.index as u8, count: count.saturating_add(weight) };
        count > u8::MAX - weight
    }

    /// The second pass: the place belongs to another flow, which has counted nothing.
    fn give(&mut self, place: usize, owner: u16) {
        self.owners.get_mut(place).into_iter().for_each(|known| *known = owner);
        self.heavy.get_mut(place).into_iter().for_each(|heavy| *heavy = false);
        self.pairs.iter_mut().filter_map(|array| array.get_mut(place)).for_each(|pair| pair.count = 0);
    }
}

impl SwitchSliding {
    /// An empty detector.
    ///
    /// # Errors
    /// [`ConfigError`] as [`Sliding::new`](super::Sliding::new); and when the ways do not lie apart.
    pub fn new(config: &SlidingConfig) -> Result<Self, ConfigError> {
        config.check()?;
        in_range("ways side by side", u64::from(config.placement == Placement::Together), 0, 0)?;
        let places = config.slots / config.ways;
        Ok(Self {
            ways: (0..config.ways).map(|_| Way::new(places, config.sub_windows)).collect(),
            places,
            sub_windows: config.sub_windows,
            rules: Rules::of(config),
            clock: Clock::new(config.sub_window, config.sub_windows),
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
                self.ways.iter_mut().for_each(|way| *way = Way::new(self.places, self.sub_windows));
                self.statistics.restarts += 1;
            }
        }
        let weight = self.rules.unit.draw(octets, &mut self.random);
        match self.own(key) {
            Some((way, place)) => self.count(way, place, weight),
            None => self.contend(key, weight),
        }
    }

    /// The estimate for a flow's window at the time of the latest packet, in units; none without a slot.
    pub fn measured(&self, key: Key) -> Option<u32> {
        let (way, place) = self.own(key)?;
        Some(self.ways.get(way)?.units(place, &self.rules, self.clock.instant()))
    }

    /// What stands at a place of a way; `None` if there is none. [`Key::place`] says where a flow's are.
    pub fn slot(&self, way: usize, place: usize) -> Option<SwitchSlot> {
        self.ways.get(way)?.slot(place)
    }

    /// What the detector has counted. Each replacement is a second pass of a packet.
    pub const fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The ways with the places of a flow.
    fn places_of(&self, key: Key) -> impl Iterator<Item = (usize, usize)> + use<> {
        let places = self.places;
        (0..self.ways.len().min(MOST_WAYS)).map(move |way| (way, key.place(way, places)))
    }

    /// Way and place of the flow's slot.
    fn own(&self, key: Key) -> Option<(usize, usize)> {
        let identity = self.rules.identity(key);
        self.places_of(key).find(|(way, place)| {
            self.ways.get(*way).and_then(|way| way.owners.get(*place)) == Some(&identity)
        })
    }

    fn count(&mut self, way: usize, place: usize, weight: u8) -> Outcome {
        let now = self.clock.instant();
        let Some(way) = self.ways.get_mut(way) else { return Outcome::Untracked };
        self.statistics.saturations += u64::from(way.add(place, now, weight));
        let units = way.units(place, &self.rules, now);
        let Some(heavy) = way.heavy.get_mut(place) else { return Outcome::Untracked };
        let was_heavy = std::mem::replace(heavy, self.rules.is_heavy(*heavy, units));
        match (was_heavy, *heavy) {
            (_, false) => Outcome::Light,
            (true, true) => Outcome::Heavy,
            (false, true) => {
                self.statistics.reports += 1;
                Outcome::Report { measured: units }
            }
        }
    }

    fn contend(&mut self, key: Key, weight: u8) -> Outcome {
        let now = self.clock.instant();
        let units = |(way, place): (usize, usize)| {
            self.ways.get(way).map(|array| (array.units(place, &self.rules, now), way, place))
        };
        let least = self.places_of(key).filter_map(units).min_by_key(|(units, ..)| *units);
        let Some((units, way, place)) = least else { return Outcome::Untracked };
        if !Rules::takes(weight, units, self.random.bits()) {
            return Outcome::Untracked;
        }
        let identity = self.rules.identity(key);
        self.ways.get_mut(way).into_iter().for_each(|way| way.give(place, identity));
        self.statistics.replacements += u64::from(units > 0);
        self.count(way, place, weight)
    }
}
