//! One range of addresses that the UPF allocates.

use std::collections::VecDeque;

use causeway_types::{IpNet, Span, Time};

use super::prefix_map::{Family, Prefix, PrefixMap, span};

/// Maximum number of quarantined addresses before one whose quarantine is over is preferred to one that was never
/// used: bounds the memory of a wide range.
const MAX_QUARANTINED: usize = 1 << 16;

/// The prefixes of sessions.
pub(super) trait InUse {
    /// A prefix of a session that shares an address with this one.
    fn within(&self, block: Prefix) -> Option<Prefix>;
}

/// A range, and the parts of it that must not be allocated now.
///
/// Addresses that were never used come first, then released ones, the oldest first, and none before its quarantine
/// is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pool {
    family: Family,
    range: Prefix,
    /// The first address that was never allocated.
    next_unused: Option<u128>,
    /// Released blocks, the first to be reused first.
    quarantined: VecDeque<(Time, Prefix)>,
    /// Quarantined and reserved blocks.
    unavailable: PrefixMap<()>,
    /// A block that the search has passed may be free now.
    has_freed_blocks: bool,
    /// The number of allocated blocks.
    allocated: u64,
}

impl Pool {
    /// `reserved` are addresses inside the range that must not be allocated, for example the gateway. The first and
    /// the last address of an IPv4 range of more than two are excluded too.
    pub(super) fn new(range: &IpNet, barred: impl Iterator<Item = IpNet>) -> Self {
        let family = Family::of(range);
        let range = Prefix::of(range);
        let mut idle = PrefixMap::new(family);
        if family == Family::V4 && range.len < 31 {
            for first in [range.first, range.last(family)] {
                idle.entry(Prefix { first, len: 32 });
            }
        }
        for net in barred.filter(|net| Family::of(net) == family) {
            idle.entry(Prefix::of(&net));
        }
        Self {
            family,
            range,
            next_unused: Some(range.first),
            quarantined: VecDeque::new(),
            unavailable: idle,
            has_freed_blocks: false,
            allocated: 0,
        }
    }

    /// The number of its addresses: IPv4 addresses, or /64 prefixes (TS 29.244 table 7.4.4.3.1-1).
    pub(super) fn size(&self) -> u64 {
        let (bits, left_out) = match self.family {
            Family::V4 => (32 - u32::from(self.range.len), if self.range.len < 31 { 2 } else { 0 }),
            Family::V6 => (64_u32.saturating_sub(self.range.len.into()), 0),
        };
        1_u64.checked_shl(bits).unwrap_or(u64::MAX).saturating_sub(left_out)
    }

    /// The addresses.
    pub(super) const fn range(&self) -> Prefix {
        self.range
    }

    /// The number of allocated blocks.
    pub(super) const fn allocated(&self) -> u64 {
        self.allocated
    }

    /// The block lies inside the range.
    pub(super) fn covers(&self, block: Prefix) -> bool {
        block.len >= self.range.len
            && self.range.first <= block.first
            && block.first <= self.range.last(self.family)
    }

    /// The range can hold a block of this length.
    pub(super) const fn has_room_for(&self, len: u8) -> bool {
        self.range.len <= len
    }

    /// Takes the next free block of this length that is not in `used`.
    pub(super) fn take(&mut self, len: u8, now: Time, used: &impl InUse) -> Option<Prefix> {
        let block = self.next(len, now, used)?;
        self.allocated += 1;
        Some(block)
    }

    fn next(&mut self, len: u8, now: Time, used: &impl InUse) -> Option<Prefix> {
        if self.quarantined.len() > MAX_QUARANTINED
            && let Some(block) = self.take_quarantined(len, now, used)
        {
            return Some(block);
        }
        if let Some(from) = self.next_unused
            && let Some(block) = self.search(from, len, used)
        {
            self.next_unused = block.last(self.family).checked_add(1).filter(|next| self.is_inside(*next));
            return Some(block);
        }
        self.take_quarantined(len, now, used).or_else(|| self.reclaim(len, now, used))
    }

    /// Releases a block; it is reused after its quarantine.
    pub(super) fn release(&mut self, block: Prefix, now: Time, quarantine: Span) {
        self.allocated = self.allocated.saturating_sub(1);
        self.quarantine(block, now, quarantine);
    }

    /// A block that another pool had allocated is released: it is in quarantine here, too.
    pub(super) fn quarantine(&mut self, block: Prefix, now: Time, quarantine: Span) {
        self.unavailable.entry(block);
        self.quarantined.push_back((now + quarantine, block));
    }

    /// A block inside the range that an SMF had assigned is released.
    pub(super) const fn mark_freed(&mut self) {
        self.has_freed_blocks = true;
    }

    /// Undoes an allocation before any peer saw the block, which may be allocated again immediately.
    pub(super) fn undo_take(&mut self, block: Prefix) {
        self.allocated = self.allocated.saturating_sub(1);
        self.unavailable.entry(block);
        self.quarantined.push_front((Time::default(), block));
    }

    /// The block of this length that was released first, if its quarantine is over. Blocks that an SMF assigned
    /// meanwhile go to the end.
    fn take_quarantined(&mut self, len: u8, now: Time, used: &impl InUse) -> Option<Prefix> {
        let at = self
            .quarantined
            .iter()
            .take_while(|(until, _)| *until <= now)
            .position(|(_, block)| block.len == len && used.within(*block).is_none())?;
        let (_, block) = self.quarantined.remove(at)?;
        self.unavailable.remove(block);
        Some(block)
    }

    /// Frees all blocks whose quarantine is over, whatever their length, and searches once more.
    fn reclaim(&mut self, len: u8, now: Time, used: &impl InUse) -> Option<Prefix> {
        let over = self.quarantined.iter().take_while(|(until, _)| *until <= now).count();
        if over == 0 && !std::mem::take(&mut self.has_freed_blocks) {
            return None;
        }
        for (_, block) in self.quarantined.drain(..over) {
            self.unavailable.remove(block);
        }
        let block = self.search(self.range.first, len, used)?;
        // Freed blocks may lie anywhere, so the next search also starts from the beginning.
        self.next_unused = Some(self.range.first);
        Some(block)
    }

    /// The first free block of this length at or above `from`.
    fn search(&self, from: u128, len: u8, used: &impl InUse) -> Option<Prefix> {
        let mask = span(len, self.family);
        let mut first = from.checked_add(mask)? & !mask;
        while self.is_inside(first) {
            let block = Prefix { first, len };
            let idle = || self.unavailable.overlapping(block).map(|(held, ())| held).next();
            let Some(held) = used.within(block).or_else(idle) else { return Some(block) };
            let beyond = held.last(self.family).max(block.last(self.family));
            first = beyond.checked_add(1)?.checked_add(mask)? & !mask;
        }
        None
    }

    fn is_inside(&self, address: u128) -> bool {
        (self.range.first..=self.range.last(self.family)).contains(&address)
    }
}
