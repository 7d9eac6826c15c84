//! SALSA: R. Ben Basat, G. Einziger, M. Mitzenmacher, S. Vargaftik, "SALSA: Self-Adjusting Lean Streaming Analytics", ICDE 2021.

use causeway_traffic::Key;

use super::{Counter, entries};

/// A Count-Min sketch of 8-bit counts that merge with their neighbours when they overflow. The estimate is the least of the flow's
/// counts.
#[derive(Clone, Debug)]
pub struct Salsa {
    rows: Vec<Row>,
    is_conservative: bool,
}

/// Counts of 8 bits and a bit each that says whether they are merged.
const COUNT_BITS: usize = 9;
/// Counts merge up to 32 bits.
const MOST_MERGED: u8 = 2;

impl Salsa {
    /// With so many rows. With conservative updates only the least of the flow's counts grow.
    pub fn new(octets: usize, rows: usize, is_conservative: bool) -> Self {
        // A multiple of four, so that neighbours of all counts exist.
        let each = (entries(octets, COUNT_BITS) / rows / 4).max(1) * 4;
        Self { rows: vec![Row::new(each); rows], is_conservative }
    }

    fn least(&self, key: Key) -> u32 {
        self.rows
            .iter()
            .enumerate()
            .map(|(way, row)| row.value(key.place(way, row.values.len())))
            .min()
            .unwrap_or(0)
    }
}

impl Counter for Salsa {
    fn count(&mut self, key: Key) -> u32 {
        let least = self.least(key);
        for (way, row) in self.rows.iter_mut().enumerate() {
            let place = key.place(way, row.values.len());
            if !self.is_conservative || row.value(place) == least {
                row.increment(place);
            }
        }
        self.least(key)
    }

    fn reset(&mut self) {
        self.rows.iter_mut().for_each(|row| *row = Row::new(row.values.len()));
    }
}

/// A row. The value of a merged count is at the first of its places; `levels` has the power of two of its length.
#[derive(Clone, Debug)]
struct Row {
    values: Vec<u32>,
    levels: Vec<u8>,
}

impl Row {
    fn new(places: usize) -> Self {
        Self { values: vec![0; places], levels: vec![0; places] }
    }

    fn level(&self, place: usize) -> u8 {
        self.levels.get(place).copied().unwrap_or(0)
    }

    /// The first place of a count.
    fn first(&self, place: usize) -> usize {
        place >> self.level(place) << self.level(place)
    }

    fn value(&self, place: usize) -> u32 {
        self.values.get(self.first(place)).copied().unwrap_or(0)
    }

    fn increment(&mut self, place: usize) {
        let (level, first) = (self.level(place), self.first(place));
        let value = self.value(place).saturating_add(1);
        if u64::from(value) < 1 << (8 << level) || level >= MOST_MERGED {
            self.values.get_mut(first).into_iter().for_each(|stored| *stored = value);
            return;
        }
        let begin = place >> (level + 1) << (level + 1);
        let places = begin..begin + (2 << level);
        let greatest = places.clone().map(|place| self.value(place)).max().unwrap_or(0).max(value);
        for place in places {
            self.levels.get_mut(place).into_iter().for_each(|known| *known = level + 1);
        }
        self.values.get_mut(begin).into_iter().for_each(|stored| *stored = greatest);
    }
}
