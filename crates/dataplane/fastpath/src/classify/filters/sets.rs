//! Filter sets that sessions share.

use std::sync::Arc;

use causeway_collections::PartitionedMap;
use causeway_types::Qfi;
use thiserror::Error;

use super::block::{Block, BlockLayout, Column, LANES};
use super::compile::{Rule, compile};
use super::key::{FullPacketKey, PacketKey};
use super::lane::{Lane, Masked, word};
use super::layout::layout;
use super::runs::Runs;
use super::scalar::ScalarFilter;
use super::scan::Memory;
use super::simd::Compare;
use super::{MAX_LANES, MAX_RULES};
use crate::table::index::ArenaError;

/// A filter set. Sets of equal content have the same id as long as one of them is in use.
///
/// The id of a set that needs no lanes encodes its content: it takes no memory and reads none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SetId(u32);

impl SetId {
    /// No packet matches. Also the id whose bits are all zero.
    pub const NOTHING: Self = Self(0);

    /// Every packet matches the first rule.
    pub const ANY: Self = Self(1);

    /// Packets with QFI 0, 1 and so on match the only rule.
    const FIRST_QFI: u32 = 2;

    /// The id of the set whose first block is block 0.
    const FIRST_BLOCK: u32 = Self::FIRST_QFI + Qfi::MAX as u32 + 1;

    /// The id with this number; no packet matches a number that no set has.
    pub const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    /// The id of a set that needs no lanes.
    fn without_lanes(lanes: &[Lane]) -> Option<Self> {
        let [only] = lanes else { return lanes.is_empty().then_some(Self::NOTHING) };
        if only.is_any() && only.rule == 0 {
            return Some(Self::ANY);
        }
        let qfi = (0..=Qfi::MAX).filter_map(Qfi::new).find(|qfi| *only == lane_of(*qfi))?;
        Some(Self(Self::FIRST_QFI + u32::from(qfi.value())))
    }

    /// The lane of a set that takes no memory.
    fn inline_lane(self) -> Option<Lane> {
        match self.0.checked_sub(Self::FIRST_QFI) {
            Some(raw) => Qfi::new(u8::try_from(raw).ok()?).map(lane_of),
            None => (self == Self::ANY).then(|| Lane::any(0)),
        }
    }
}

/// Why a set was refused. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum FilterSetError {
    /// More rules than a set can have.
    #[error("a filter set of {0} rules, of at most {MAX_RULES}")]
    Rules(usize),
    /// More lanes than a set can have.
    #[error("a filter set of more than {MAX_LANES} lanes")]
    Lanes,
    /// No contiguous memory for this many blocks of sixteen lanes.
    #[error("no memory for {0} filter blocks")]
    Blocks(usize),
}

/// The capacity for other columns per block: what IPv6 addresses at one end need.
const COLUMNS_PER_BLOCK: u32 = 3;

/// The block of a set without blocks.
const NO_BLOCK: u32 = u32::MAX;

/// A set in use.
#[derive(Debug)]
struct SharedSet {
    content: Arc<[Lane]>,
    users: u32,
}

/// The filter sets of one worker.
///
/// Owned by one thread. Matching takes no lock and allocates nothing; inserting and removing take time in proportion to
/// the set's lanes.
#[derive(Debug)]
pub struct FilterSets {
    compare: Compare,
    blocks: Runs<Block>,
    columns: Runs<Column>,
    ids: PartitionedMap<Arc<[Lane]>, SetId>,
    shared: PartitionedMap<SetId, SharedSet>,
    version: u64,
}

impl FilterSets {
    /// Without sets, with capacity for `blocks` blocks of sixteen lanes, 448 octets each. Memory is reserved now and
    /// taken as sets are inserted. Uses the fastest comparison that the processor supports.
    ///
    /// # Errors
    /// [`ArenaError`] when the system cannot reserve the address space.
    pub fn new(blocks: u32) -> Result<Self, ArenaError> {
        Self::comparing(blocks, Compare::best())
    }

    /// As [`FilterSets::new`], with a given comparison.
    ///
    /// # Errors
    /// As [`FilterSets::new`].
    pub fn comparing(blocks: u32, compare: Compare) -> Result<Self, ArenaError> {
        let blocks = blocks.min(u32::MAX - SetId::FIRST_BLOCK);
        let of_block = size_of::<Block>() + COLUMNS_PER_BLOCK as usize * size_of::<Column>();
        let none = |_| ArenaError::NoMemory { octets: (blocks as usize).saturating_mul(of_block) };
        Ok(Self {
            compare,
            blocks: Runs::new(blocks).map_err(none)?,
            columns: Runs::new(blocks.saturating_mul(COLUMNS_PER_BLOCK)).map_err(none)?,
            ids: PartitionedMap::default(),
            shared: PartitionedMap::default(),
            version: 0,
        })
    }

    /// The set of these rules, in order of precedence, with one more user.
    ///
    /// # Errors
    /// [`FilterSetError`], also where a rule needs too many lanes.
    pub fn insert(&mut self, rules: &[Rule]) -> Result<SetId, FilterSetError> {
        let lanes = compile(rules)?;
        if let Some(set) = SetId::without_lanes(&lanes) {
            return Ok(set);
        }
        if let Some(set) = self.ids.get(lanes.as_slice()).copied() {
            if let Some(shared) = self.shared.get_mut(&set) {
                shared.users += 1;
            }
            return Ok(set);
        }
        let set = self.place(&lanes)?;
        let content = Arc::<[Lane]>::from(lanes);
        self.ids.insert(content.clone(), set);
        self.shared.insert(set, SharedSet { content, users: 1 });
        self.version += 1;
        Ok(set)
    }

    /// Removes one user of the set. The set is freed with its last user, and its id may then become another set's.
    pub fn remove(&mut self, set: SetId) {
        let Some(shared) = self.shared.get_mut(&set) else { return };
        shared.users -= 1;
        if shared.users > 0 {
            return;
        }
        if let Some(shared) = self.shared.remove(&set) {
            self.ids.remove(&shared.content);
            self.version += 1;
            self.free(set.0 - SetId::FIRST_BLOCK, &shared.content);
        }
    }

    /// The index of the first rule of the set that the packet matches.
    ///
    /// `None` where it matches none, and for a set that is not in use.
    #[inline]
    pub fn first_match(&self, set: SetId, key: &FullPacketKey) -> Option<u8> {
        match set.0.checked_sub(SetId::FIRST_BLOCK) {
            Some(first) => {
                let memory = Memory { blocks: self.blocks.as_slice(), columns: self.columns.as_slice() };
                self.compare.first_fit(&memory, first, key)
            }
            None => fits_without_lanes(set, &key.key).then_some(0),
        }
    }

    /// The first block of a set; for a set without blocks, a number that no block has.
    pub(crate) const fn block_of(set: SetId) -> u32 {
        match set.0.checked_sub(SetId::FIRST_BLOCK) {
            Some(first) => first,
            None => NO_BLOCK,
        }
    }

    /// The comparison of these sets.
    pub(crate) const fn compare(&self) -> Compare {
        self.compare
    }

    /// As [`FilterSets::first_match_v4`], given the first block of the set from [`FilterSets::block_of`]. `None` also
    /// where the set compares fields that are not in the packet key and the local address.
    #[inline(always)]
    pub(crate) fn first_match_in_block(
        &self,
        (set, first): (SetId, u32),
        packet_key: impl Fn() -> PacketKey,
        local: impl Fn() -> u32,
        fits: &impl Fn(&Block, PacketKey) -> u16,
    ) -> Option<u8> {
        // `NO_BLOCK` is out of range.
        let Some(block) = self.blocks.as_slice().get(first as usize) else {
            return fits_without_lanes(set, &packet_key()).then_some(0);
        };
        match block.head.few {
            BlockLayout::MANY => self.compare.first_of_many(self.blocks.as_slice(), first, packet_key()),
            BlockLayout::OTHER if packet_key().may_have_spi() => None,
            BlockLayout::OTHER => self.first_match_v4(set, packet_key(), local()),
            _ => {
                let lanes = fits(block, packet_key());
                (lanes != 0).then(|| block.rules[lanes.trailing_zeros() as usize % LANES])
            }
        }
    }

    /// A number that changes with every change of the sets, after which an id may be another set's.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// The lanes of a set that IPv4 packets can match, in order, as scalars. `None` where some compare fields outside
    /// the packet key.
    pub fn scalar_filters(&self, set: SetId) -> Option<Vec<ScalarFilter>> {
        match self.shared.get(&set) {
            Some(shared) => ScalarFilter::of(&shared.content),
            None => ScalarFilter::of(set.inline_lane().as_slice()),
        }
    }

    /// Whether some filter matches IPv6 packets only.
    pub(crate) fn has_ipv6_filters(&self, set: SetId) -> bool {
        self.shared.get(&set).is_some_and(|shared| shared.content.iter().any(Lane::is_v6))
    }

    /// As [`FilterSets::first_match`] for an IPv4 packet without Security Parameter Index, given its packet key and the
    /// local address.
    pub fn first_match_v4(&self, set: SetId, packet_key: PacketKey, local: u32) -> Option<u8> {
        self.first_match(set, &FullPacketKey::of_v4(packet_key, local))
    }

    /// The number of sets that take memory. Those without lanes do not.
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Whether no set takes memory.
    pub fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }

    /// Blocks in use, of the capacity given to [`FilterSets::new`].
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    fn place(&mut self, lanes: &[Lane]) -> Result<SetId, FilterSetError> {
        let (mut blocks, columns) = layout(lanes);
        let full = FilterSetError::Blocks(blocks.len());
        let columns_at = self.columns.insert(&columns).ok_or(full)?;
        blocks.iter_mut().for_each(|block| block.others_at += columns_at);
        let Some(first) = self.blocks.insert(&blocks) else {
            self.columns.remove(columns_at, columns.len() as u32, Column::ANY);
            return Err(full);
        };
        Ok(SetId(first + SetId::FIRST_BLOCK))
    }

    fn free(&mut self, first: u32, lanes: &[Lane]) {
        let (blocks, columns) = layout(lanes);
        if let Some(block) = self.blocks.as_slice().get(first as usize) {
            self.columns.remove(block.others_at, columns.len() as u32, Column::ANY);
        }
        self.blocks.remove(first, blocks.len() as u32, Block::EMPTY);
    }
}

/// Matches the packets of a QFI.
fn lane_of(qfi: Qfi) -> Lane {
    Lane { word: Masked::default().and(word::qfi(qfi), word::qfi_mask(1)), ..Lane::any(0) }
}

/// Nothing, any packet, or those with one QFI.
#[inline]
fn fits_without_lanes(set: SetId, packet_key: &PacketKey) -> bool {
    match set.0.checked_sub(SetId::FIRST_QFI) {
        Some(raw) => packet_key.has_qfi(Qfi::from_low_bits(raw as u8)),
        None => set == SetId::ANY,
    }
}
