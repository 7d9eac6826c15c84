//! Filter sets that sessions share.

use std::sync::Arc;

use causeway_rules::PartitionedMap;
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
use crate::index::ArenaError;

/// A filter set. Sets of equal content have the same id as long as one of them is in use.
///
/// A set whose answer needs no lanes is its own content: it takes no memory and reads none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SetId(u32);

impl SetId {
    /// No packet fits. Also the id whose bits are all zero.
    pub const NOTHING: Self = Self(0);

    /// Every packet fits the first rule.
    pub const ANY: Self = Self(1);

    /// Packets with QFI 0, 1 and so on fit the only rule.
    const FIRST_QFI: u32 = 2;

    /// The set whose first block is the first of all.
    const FIRST_BLOCK: u32 = Self::FIRST_QFI + Qfi::MAX as u32 + 1;

    /// The id whose number this is; of a number that is no set's, nothing fits.
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
    #[error("{0} rules in a filter set that has room for {MAX_RULES}")]
    Rules(usize),
    /// More lanes than a set can have.
    #[error("a filter set that needs more than {MAX_LANES} lanes")]
    Lanes,
    /// No room for so many blocks of sixteen lanes in one piece.
    #[error("no room for {0} blocks of filters")]
    Blocks(usize),
}

/// Columns beyond its own that there is room for, for each block: what IPv6 addresses at one end need.
const COLUMNS_PER_BLOCK: u32 = 3;

/// Where a set has none.
const NO_BLOCK: u32 = u32::MAX;

/// A set in use.
#[derive(Debug)]
struct SharedSet {
    content: Arc<[Lane]>,
    users: u32,
}

/// The filter sets of one worker.
///
/// Owned by one thread. Matching takes no lock and no memory; inserting and removing take time in proportion to the
/// set's lanes.
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
    /// No sets, and room for as many blocks of sixteen lanes, 448 octets each, as `blocks` says. Memory is
    /// reserved here and used as sets come. Comparing is done in the fastest way that this machine has.
    ///
    /// # Errors
    /// [`ArenaError`] when the system has not even the addresses.
    pub fn new(blocks: u32) -> Result<Self, ArenaError> {
        Self::comparing(blocks, Compare::best())
    }

    /// As [`FilterSets::new`], comparing in a chosen way.
    ///
    /// # Errors
    /// As there.
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

    /// The set of these rules, in the order in which they are tried, with one user more.
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

    /// One user of the set is gone; with the last one goes the set, and its id may come back as another's.
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

    /// The index of the first rule of the set that the packet fits.
    ///
    /// `None` where it fits none, and for a set that is not in use.
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

    /// The first block of a set; of a set without, a number that no block has.
    pub(crate) const fn block_of(set: SetId) -> u32 {
        match set.0.checked_sub(SetId::FIRST_BLOCK) {
            Some(first) => first,
            None => NO_BLOCK,
        }
    }

    /// How these sets are compared.
    pub(crate) const fn compare(&self) -> Compare {
        self.compare
    }

    /// As [`FilterSets::first_match_v4`] in the set with this first block, as [`FilterSets::block_of`] says. `None` also for a
    /// packet that may have what its gist and its local address do not say, where the set asks for that.
    #[inline(always)]
    pub(crate) fn first_match_in_block(
        &self,
        (set, first): (SetId, u32),
        packet_key: impl Fn() -> PacketKey,
        local: impl Fn() -> u32,
        fits: &impl Fn(&Block, PacketKey) -> u16,
    ) -> Option<u8> {
        // `NO_BLOCK` is none of them.
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

    /// Another number after every change: an id may be another set's then.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// The lanes of a set that IPv4 packets can fit, in their order, each by itself. `None` where some are about more than the gist.
    pub fn scalar_filters(&self, set: SetId) -> Option<Vec<ScalarFilter>> {
        match self.shared.get(&set) {
            Some(shared) => ScalarFilter::of(&shared.content),
            None => ScalarFilter::of(set.inline_lane().as_slice()),
        }
    }

    /// Some filter is about IPv6 packets alone.
    pub(crate) fn has_ipv6_filters(&self, set: SetId) -> bool {
        self.shared.get(&set).is_some_and(|shared| shared.content.iter().any(Lane::is_v6))
    }

    /// As [`FilterSets::first_match`] for an IPv4 packet without Security Parameter Index, given its gist and the local address.
    pub fn first_match_v4(&self, set: SetId, packet_key: PacketKey, local: u32) -> Option<u8> {
        self.first_match(set, &FullPacketKey::of_v4(packet_key, local))
    }

    /// Sets that take memory. Those without lanes do not.
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// No set takes memory.
    pub fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }

    /// Blocks in use, of those that [`FilterSets::new`] made room for.
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

/// Fits the packets of a QFI.
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
