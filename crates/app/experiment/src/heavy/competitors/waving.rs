//! WavingSketch: J. Li et al., "WavingSketch: An Unbiased and Generic Sketch for Finding Top-k Items in Data Streams", KDD 2020.

use causeway_traffic::Key;

use super::{Counter, entries, identity};

/// Buckets of entries {identity, count, flag} and a waving counter. A flow without an entry adds its sign (plus or minus one, by hash)
/// to the waving counter, whose product with the sign is its estimate; if that is above the least entry, it takes the entry. The flag
/// says that the count is exact: packets of other entries are in the waving counter, too.
#[derive(Clone, Debug)]
pub struct WavingSketch {
    cells: usize,
    identity_bits: u32,
    entries: Vec<Cell>,
    waving: Vec<i32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    identity: u32,
    sign: i32,
    count: i32,
    is_exact: bool,
}

/// Bits of a waving counter.
const WAVING_BITS: usize = 32;
/// Bits of a count and its flag.
const COUNT_BITS: usize = 17;

/// Plus or minus one, by a bit of the key that no identity has.
const fn sign(key: Key) -> i32 {
    if key.0 >> 63 == 0 { 1 } else { -1 }
}

impl WavingSketch {
    /// With so many entries in a bucket.
    pub fn new(octets: usize, cells: usize, identity_bits: u32) -> Self {
        let bits = cells * (identity_bits as usize + COUNT_BITS) + WAVING_BITS;
        let buckets = entries(octets, bits);
        Self {
            cells,
            identity_bits,
            entries: vec![Cell::default(); buckets * cells],
            waving: vec![0; buckets],
        }
    }
}

impl Counter for WavingSketch {
    fn count(&mut self, key: Key) -> u32 {
        let identity = identity(key, self.identity_bits);
        let (place, sign) = (key.place(0, self.waving.len()), sign(key));
        let bucket = self.entries.get_mut(place * self.cells..(place + 1) * self.cells);
        let (Some(bucket), Some(waving)) = (bucket, self.waving.get_mut(place)) else { return 0 };
        if let Some(cell) = bucket.iter_mut().find(|cell| cell.identity == identity) {
            cell.count += 1;
            if !cell.is_exact {
                *waving += sign;
            }
            return cell.count.unsigned_abs();
        }
        if let Some(cell) = bucket.iter_mut().find(|cell| cell.identity == 0) {
            *cell = Cell { identity, sign, count: 1, is_exact: true };
            return 1;
        }
        *waving += sign;
        let estimate = *waving * sign;
        let Some(least) = bucket.iter_mut().min_by_key(|cell| cell.count) else { return 0 };
        if estimate <= least.count {
            return estimate.max(0).unsigned_abs();
        }
        let left = std::mem::replace(least, Cell { identity, sign, count: estimate, is_exact: false });
        if left.is_exact {
            *waving += left.count * left.sign;
        }
        estimate.unsigned_abs()
    }

    fn reset(&mut self) {
        self.entries.fill(Cell::default());
        self.waving.fill(0);
    }
}
