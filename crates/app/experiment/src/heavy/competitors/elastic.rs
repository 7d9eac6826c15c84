//! Elastic Sketch: T. Yang et al., "Elastic Sketch: Adaptive and Fast Network-wide Measurements", SIGCOMM 2018.

use causeway_traffic::Key;

use super::{Counter, entries, identity};

/// The software version. The heavy part has buckets of seven entries {identity, positive votes, flag} and negative votes; the light part
/// is one array of 8-bit counts. A packet of a flow without an entry is a negative vote; when these are eight times the least
/// entry, that moves to the light part. The flag says that some of a flow's packets may be in the light part.
#[derive(Clone, Debug)]
pub struct ElasticSketch {
    heavy: Vec<Bucket>,
    light: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    cells: [Cell; CELLS],
    negative: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    identity: u32,
    votes: u32,
    flag: bool,
    /// Where the flow's packets are in the light part.
    light: usize,
}

const CELLS: usize = 7;
const IDENTITY_BITS: u32 = 32;
/// Lambda: how many negative votes there are for a positive one when the least entry moves.
const NEGATIVE_VOTES: u32 = 8;
/// Eight octets for each entry, and for the negative votes, as in the paper.
const BUCKET_BITS: usize = (CELLS + 1) * 64;

impl ElasticSketch {
    /// With this percentage of the memory for the heavy part. The paper has 25.
    pub fn new(octets: usize, heavy_percent: usize) -> Self {
        let heavy = octets * heavy_percent / 100;
        Self {
            heavy: vec![Bucket::default(); entries(heavy, BUCKET_BITS)],
            light: vec![0; entries(octets - heavy, 8)],
        }
    }

    fn add_light(&mut self, place: usize, packets: u32) -> u32 {
        let Some(count) = self.light.get_mut(place) else { return 0 };
        *count = u8::try_from(u32::from(*count) + packets).unwrap_or(u8::MAX);
        u32::from(*count)
    }
}

impl Counter for ElasticSketch {
    fn count(&mut self, key: Key) -> u32 {
        let identity = identity(key, IDENTITY_BITS);
        let light = key.place(1, self.light.len());
        let place = key.place(0, self.heavy.len());
        let Some(bucket) = self.heavy.get_mut(place) else { return 0 };
        if let Some(cell) = bucket.cells.iter_mut().find(|cell| cell.identity == identity) {
            cell.votes += 1;
            let (votes, flag) = (cell.votes, cell.flag);
            return if flag { votes + self.add_light(light, 0) } else { votes };
        }
        if let Some(cell) = bucket.cells.iter_mut().find(|cell| cell.votes == 0) {
            *cell = Cell { identity, votes: 1, flag: false, light };
            return 1;
        }
        bucket.negative += 1;
        let least = bucket.cells.iter_mut().min_by_key(|cell| cell.votes);
        let Some(least) = least.filter(|least| bucket.negative >= NEGATIVE_VOTES * least.votes) else {
            return self.add_light(light, 1);
        };
        let moved = std::mem::replace(least, Cell { identity, votes: 1, flag: true, light });
        bucket.negative = 1;
        self.add_light(moved.light, moved.votes);
        1 + self.add_light(light, 0)
    }

    fn reset(&mut self) {
        self.heavy.fill(Bucket::default());
        self.light.fill(0);
    }
}
