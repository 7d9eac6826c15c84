//! Where the tables are in external memory.
//!
//! | table | place | one of them |
//! |---|---|---|
//! | UE table | first | a bucket of two records: header and state of both, then actions and PDRs of each |
//! | flow table | behind it | a bucket of two entries, and space for a packet of one of its flows |
//! | rings | behind it | places for packets of flows that are looked up, one behind the other |
//! | paging rings | last | places for packets of idle UEs, one behind the other |
//!
//! A hash of UE or flow chooses the bucket ([`Sizes::ue_bucket`], [`Sizes::flow_bucket`]). P4 profile `xplane` has the same one, so that a switch and
//! this crate find each other's records. It has no seed: who chooses addresses and ports can fill a bucket. What does not fit is for the slow path.
//!
//! Header and state of both records of a bucket come in one read, and so do the actions and the first block of a record.

use causeway_memory::{Place, Region, Rights, Rkey};

use crate::flows::{ENTRIES, ENTRY};
use crate::key::{FlowKey, UeKey};
use crate::ue_table::{BLOCK, FIRST_BLOCK, HEAD, HEADER, RULES};

/// Records of a bucket of the UE table.
pub(crate) const UE_WAYS: usize = 2;
/// Octets in front of a packet in memory: the number of the packet.
pub(crate) const TAG: usize = 8;
/// Octets of the longest packet, with its GTP-U header; longer ones are for the slow path.
pub(crate) const MAX_PACKET: usize = 2048;

const PACKET: usize = TAG + MAX_PACKET;
const UE_BUCKET: usize = UE_WAYS * (HEAD + RULES);
pub(crate) const FLOW_BUCKET: usize = ENTRIES + PACKET;

/// The place of a state in the UE table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StatePlace(pub(crate) u64);

impl StatePlace {
    /// The state of a record: the bucket and its place there, 0 or 1.
    pub fn new(bucket: u64, way: usize) -> Self {
        Self(bucket.wrapping_mul(UE_WAYS as u64).wrapping_add(way as u64))
    }
}

/// The sizes of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Buckets of the UE table, two lookup keys each.
    pub ue_buckets: u64,
    /// Buckets of the flow table, two flows each; at least as many as there are queue pairs.
    pub flow_buckets: u64,
    /// Rings: flows that are looked up in the UE table at a time.
    pub rings: u32,
    /// Packets of a ring.
    pub ring: u32,
    /// Paging rings: sessions with packets for an idle UE in external memory at a time.
    pub paging_rings: u32,
    /// Packets of a paging ring.
    pub paging_ring: u32,
}

impl Default for Sizes {
    /// For some thousand UEs, of which 64 have packets waiting: 45 MB.
    fn default() -> Self {
        Self {
            ue_buckets: 1 << 12,
            flow_buckets: 1 << 12,
            rings: 16,
            ring: 64,
            paging_rings: 64,
            paging_ring: 128,
        }
    }
}

/// The tables in a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    sizes: Sizes,
    base: Place,
}

impl Sizes {
    /// Octets of the region that the tables need.
    pub const fn octets(&self) -> u64 {
        self.ue_buckets * UE_BUCKET as u64
            + self.flow_buckets * FLOW_BUCKET as u64
            + self.rings as u64 * self.ring as u64 * PACKET as u64
            + self.paging_rings as u64 * self.paging_ring as u64 * PACKET as u64
    }

    /// Where the header of a record is, as octets from the start of the tables: the bucket and its place there, 0 or 1. Its state is 64 octets
    /// behind it.
    pub const fn record(&self, bucket: u64, way: usize) -> u64 {
        bucket * UE_BUCKET as u64 + (way * HEAD) as u64
    }

    /// Where the entries of a bucket of the flow table are, as octets from the start of the tables: 160 octets each. The packet is behind them.
    pub const fn entries(&self, bucket: u64) -> u64 {
        self.ue_buckets * UE_BUCKET as u64 + bucket * FLOW_BUCKET as u64
    }

    /// The bucket of a lookup key.
    pub fn ue_bucket(&self, ue: &UeKey) -> u64 {
        u64::from(ue.hash()) % self.ue_buckets.max(1)
    }

    /// The bucket of a flow, with so many queue pairs. Flows of one bucket use one queue pair: its packets are written and read in order.
    pub fn flow_bucket(&self, ue: &UeKey, flow: &FlowKey, pairs: u64) -> u64 {
        let of_pair = (self.flow_buckets / pairs.max(1)).max(1);
        (u64::from(flow.hash(ue)) % of_pair * pairs + ue.queue_pair(pairs)) % self.flow_buckets.max(1)
    }

    /// A region of zeroes for these tables. `None`: it is larger than an address space.
    pub fn region(&self) -> Option<Region> {
        Region::new(0, usize::try_from(self.octets()).ok()?, Rights::all())
    }
}

impl Layout {
    pub(crate) const fn new(sizes: Sizes, base: Place) -> Self {
        Self { sizes, base }
    }

    pub(crate) const fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    fn at(&self, offset: u64) -> Place {
        Place { rkey: self.base.rkey, address: self.base.address + offset }
    }

    /// Headers and states of a bucket, and their octets.
    pub(crate) fn ue_heads(&self, bucket: u64) -> (Place, u32) {
        (self.at(bucket * UE_BUCKET as u64), (UE_WAYS * HEAD) as u32)
    }

    pub(crate) fn ue_header(&self, bucket: u64, way: usize) -> Place {
        self.at(self.sizes.record(bucket, way))
    }

    pub(crate) fn ue_state(&self, bucket: u64, way: usize) -> Place {
        self.at(self.sizes.record(bucket, way) + HEADER as u64)
    }

    /// The same by its place. One that is not in the table is the first: what is read from memory may be anything.
    pub(crate) fn state(&self, place: StatePlace) -> Place {
        let bucket = place.0 / UE_WAYS as u64;
        let is_there = bucket < self.sizes.ue_buckets.max(1);
        self.ue_state(if is_there { bucket } else { 0 }, (place.0 % UE_WAYS as u64) as usize)
    }

    /// Actions and PDRs of a record.
    pub(crate) fn ue_rules(&self, bucket: u64, way: usize) -> Place {
        self.at(bucket * UE_BUCKET as u64 + (UE_WAYS * HEAD + way * RULES) as u64)
    }

    /// A block of PDRs, the first with the actions in front of it, and its octets.
    pub(crate) fn ue_block(&self, bucket: u64, way: usize, block: usize) -> (Place, u32) {
        let rules = self.ue_rules(bucket, way);
        if block == 0 {
            return (rules, FIRST_BLOCK as u32);
        }
        let offset = FIRST_BLOCK + (block - 1) * BLOCK;
        (Place { address: rules.address + offset as u64, ..rules }, BLOCK as u32)
    }

    fn flow_offset(&self, bucket: u64) -> u64 {
        self.sizes.entries(bucket)
    }

    /// The entries of a bucket; the packet is behind them.
    pub(crate) fn flow_entries(&self, bucket: u64) -> Place {
        self.at(self.flow_offset(bucket))
    }

    pub(crate) fn flow_entry(&self, bucket: u64, way: usize) -> Place {
        self.at(self.flow_offset(bucket) + (way * ENTRY) as u64)
    }

    pub(crate) fn flow_packet(&self, bucket: u64) -> Place {
        self.at(self.flow_offset(bucket) + ENTRIES as u64)
    }

    /// The place of a packet in a ring.
    pub(crate) fn ring_packet(&self, ring: usize, position: u64) -> Place {
        let rings = self.flow_offset(self.sizes.flow_buckets);
        self.packet_of(rings, self.sizes.ring, ring, position)
    }

    /// The place of a packet in a paging ring.
    pub(crate) fn paging_packet(&self, ring: usize, position: u64) -> Place {
        let packets = u64::from(self.sizes.rings) * u64::from(self.sizes.ring);
        let rings = self.flow_offset(self.sizes.flow_buckets) + packets * PACKET as u64;
        self.packet_of(rings, self.sizes.paging_ring, ring, position)
    }

    fn packet_of(&self, rings: u64, size: u32, ring: usize, position: u64) -> Place {
        let places = u64::from(size.max(1));
        self.at(rings + (ring as u64 * places + position % places) * PACKET as u64)
    }
}

/// The key of the region of a model.
pub const MODEL_RKEY: Rkey = Rkey(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::UE_KEY;
    use crate::local_state::{LocalStateConfig, WAYS};
    use crate::state::STATE_OCTETS;

    const EMPTY: Sizes =
        Sizes { ue_buckets: 0, flow_buckets: 0, rings: 0, ring: 0, paging_rings: 0, paging_ring: 0 };

    // Input:  tables for the UEs and flows of X-PLANE section 6: two lookup keys a UE, which share a bucket, and two flows a bucket; rings of 128 packets for 40 %
    //         of the UEs; 26,000 entries of the local state table with key, packets in flight and state.
    // Output: the octets that docs/xplane.md has beside the paper's.
    #[test]
    fn the_tables_of_the_paper_in_octets() {
        let tables = |ues: u64, flows: u64| Sizes {
            ue_buckets: 2 * ues / UE_WAYS as u64,
            flow_buckets: flows / crate::flows::WAYS as u64,
            ..EMPTY
        };
        assert_eq!(tables(1_000_000, 10_000_000).octets(), 16_024_000_000);
        assert_eq!(tables(8_000_000, 64_000_000).octets(), 109_184_000_000);
        let rings = Sizes { paging_rings: 400_000, paging_ring: 128, ..EMPTY };
        assert_eq!(rings.octets(), 105_267_200_000);
        let entries = LocalStateConfig::default().buckets * WAYS;
        assert_eq!((entries, entries * (UE_KEY + size_of::<u64>() + STATE_OCTETS)), (26_000, 16_432_000));
    }
}
