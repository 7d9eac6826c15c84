//! The flow table: storage and lookup of flow entries.
//!
//! A flow entry is stored at a direct position if possible: at the slot of a TEID that the UPF chose, or at the number
//! of an address in the UE pools. Other entries are stored behind those regions and found through an index. Each lookup
//! compares the entry with the key.

pub(crate) mod flow_entry;
pub mod index;
pub(crate) mod index_allocator;
pub(crate) mod key;
mod regions;

use std::ops::Range;

use causeway_collections::Prefaulter;
use causeway_dataplane::Topology;
use causeway_types::{IpNet, TeidScheme};

use crate::table::flow_entry::{FlowEntry, RuleEntry};
use crate::table::index::{
    AddressKey, Arena, ArenaError, Cuckoo, Pools, PrefixKey, TunnelKey, prefetch, request_prefault,
};
use crate::table::index_allocator::IndexAllocator;
use crate::table::key::FlowKey;
use regions::Regions;

/// Slots of TEIDs for each session.
const SLOTS_PER_SESSION: u32 = 4;

/// The maximum number of pool addresses with a direct position: those of two pools of 8 prefix bits.
const MAX_POOL_ENTRIES: u32 = 1 << 25;

/// Rule entries for each session.
const RULE_ENTRIES_PER_SESSION: u32 = 16;

/// Flow entries of 256 MiB.
const LARGE_TABLE: u32 = 1 << 22;

/// The flow table of one worker.
#[derive(Debug)]
pub(crate) struct FlowTable {
    scheme: TeidScheme,
    pools: Pools,
    /// First the entries of TEIDs, by slot; then those of pools, by number; then the others.
    entries: Arena<FlowEntry>,
    regions: Regions,
    /// One for each of these three regions, for the part that is allocated in order.
    ahead: [Prefaulter; 3],
    slots: u32,
    /// The highest entry of TEIDs, and of pools, that was ever in use: keys beyond it have no entry.
    last_slot: u32,
    last_number: u32,
    /// Entries in use.
    used_entries: u32,
    overflow: IndexAllocator,
    rules: Arena<RuleEntry>,
    rule_regions: Regions,
    rules_ahead: Prefaulter,
    rule_numbers: IndexAllocator,
    tunnels: Cuckoo<TunnelKey>,
    addresses: Cuckoo<AddressKey>,
    prefixes: Cuckoo<PrefixKey>,
    is_complete: bool,
}

impl FlowTable {
    /// An empty table with capacity for the entries of this many sessions.
    ///
    /// # Errors
    /// [`ArenaError`] when the system cannot reserve the address space.
    pub(crate) fn new(topology: &Topology, sessions: u32) -> Result<Self, ArenaError> {
        let slots = sessions.saturating_mul(SLOTS_PER_SESSION).min(TeidScheme::MAX_SLOT) + 1;
        let nets = topology.networks.iter().zip(0..).flat_map(|(network, index)| {
            let v4 = network
                .pools
                .iter()
                .filter_map(|pool| if let IpNet::V4(net) = pool { Some(*net) } else { None });
            v4.map(move |net| (index, net))
        });
        let pools = Pools::new(&nets.collect::<Vec<_>>(), MAX_POOL_ENTRIES);
        let first = slots + pools.slots();
        let others = sessions.saturating_mul(SLOTS_PER_SESSION).min(TeidScheme::MAX_SLOT);
        let rules = sessions.saturating_mul(RULE_ENTRIES_PER_SESSION).min(TeidScheme::MAX_SLOT * 4);
        Ok(Self {
            scheme: topology.teids,
            pools,
            entries: Arena::sparse((first + others) as usize)?,
            regions: Regions::new((first + others) as usize, size_of::<FlowEntry>()),
            ahead: [Prefaulter::new(Some(request_prefault)); 3],
            slots,
            last_slot: 0,
            last_number: 0,
            used_entries: 0,
            overflow: IndexAllocator::new(first, first + others),
            rules: Arena::sparse(rules as usize)?,
            rule_regions: Regions::new(rules as usize, size_of::<RuleEntry>()),
            rules_ahead: Prefaulter::new(Some(request_prefault)),
            rule_numbers: IndexAllocator::new(0, rules),
            tunnels: Cuckoo::new(others as usize)?,
            addresses: Cuckoo::new(others as usize)?,
            prefixes: Cuckoo::new(others as usize)?,
            is_complete: true,
        })
    }

    /// Whether there are more entries than the TLB covers, so that a prefetch takes longer.
    pub(crate) const fn is_large(&self) -> bool {
        self.used_entries > LARGE_TABLE
    }

    /// Whether every inserted key has its flow entry.
    pub(crate) const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The direct positions of the TEIDs of a batch, if the UPF chose them. Beyond the highest entry ever used, the
    /// result is entry 0, which is never in use: invented TEIDs do not cause memory accesses everywhere.
    #[inline]
    pub(crate) fn at_teids<const N: usize>(&self, teids: &[u32; N]) -> [u32; N] {
        let mut slots = self.scheme.slots(teids);
        for slot in &mut slots {
            *slot = if *slot <= self.last_slot { *slot } else { 0 };
        }
        slots
    }

    /// The direct position of an address, if it is in a pool.
    #[inline]
    pub(crate) fn at_address(&self, address: u32) -> Option<u32> {
        self.pools.slot(address).map(|number| self.slots + number)
    }

    /// The direct positions of these addresses, if they are in a pool and below the highest entry ever used; else a
    /// position without an entry.
    #[inline(always)]
    pub(crate) fn at_addresses<const N: usize>(&self, addresses: &[u32; N], entries: &mut [u32]) {
        let mut is_elsewhere = false;
        for (entry, address) in entries.iter_mut().zip(addresses) {
            let direct = self.pools.slot_in_largest(*address);
            is_elsewhere |= direct.is_none();
            let number = direct.map_or(0, |number| self.slots.wrapping_add(number));
            *entry = if number <= self.last_number { number } else { 0 };
        }
        if is_elsewhere && self.pools.are_several() {
            self.at_addresses_of_all_pools(addresses, entries);
        }
    }

    #[inline(never)]
    fn at_addresses_of_all_pools(&self, addresses: &[u32], entries: &mut [u32]) {
        let entries = entries.iter_mut().zip(addresses);
        entries.for_each(|(entry, address)| *entry = self.at_address(*address).unwrap_or(0));
    }

    /// Whether tunnels have entries outside their slots.
    #[inline]
    pub(crate) const fn has_indirect_tunnels(&self) -> bool {
        !self.tunnels.is_empty()
    }

    /// Whether IPv4 addresses have entries outside their numbers.
    #[inline]
    pub(crate) const fn has_indirect_addresses(&self) -> bool {
        !self.addresses.is_empty()
    }

    /// Prefetches an entry into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, number: u32) {
        prefetch(&self.entries, number as usize);
    }

    /// Prefetches the index bucket of a key that may have no direct position.
    #[inline]
    pub(crate) fn prefetch_index(&self, key: FlowKey) {
        match key {
            FlowKey::Tunnel(teid, local) if !self.tunnels.is_empty() => {
                self.tunnels.prefetch(self.tunnels.probe(&TunnelKey { teid, local: local.into() }));
            }
            FlowKey::Ipv4(network, address) if !self.addresses.is_empty() => {
                let key = AddressKey { address, network: network.into() };
                self.addresses.prefetch(self.addresses.probe(&key));
            }
            FlowKey::Ipv6(network, prefix) => {
                self.prefixes.prefetch(self.prefixes.probe(&PrefixKey { prefix, network: network.into() }));
            }
            FlowKey::Tunnel(..) | FlowKey::Ipv4(..) => {}
        }
    }

    /// The entry that the index leads to, not yet compared; prefetches it.
    #[inline]
    pub(crate) fn prefetch_indirect(&self, key: FlowKey) -> Option<u32> {
        let number = match key {
            FlowKey::Tunnel(..) if self.tunnels.is_empty() => None,
            FlowKey::Ipv4(..) if self.addresses.is_empty() => None,
            _ => self.find_indirect(key, |_| true),
        };
        number.iter().for_each(|number| self.prefetch(*number));
        number
    }

    /// The entry of a key; `near` and `indirect` are its candidates.
    #[inline]
    pub(crate) fn find(&self, key: FlowKey, direct: Option<u32>, indirect: Option<u32>) -> Option<u32> {
        let matches = |number: u32| self.entry(number).is_some_and(|entry| key.fits(entry));
        if direct.is_some_and(matches) {
            return direct;
        }
        // The index may lead to other entries first.
        if indirect.is_none_or(matches) { indirect } else { self.find_indirect(key, matches) }
    }

    #[inline]
    fn find_indirect(&self, key: FlowKey, matches: impl FnMut(u32) -> bool) -> Option<u32> {
        match key {
            FlowKey::Tunnel(teid, local) => {
                let key = TunnelKey { teid, local: local.into() };
                self.tunnels.find(self.tunnels.probe(&key), matches)
            }
            FlowKey::Ipv4(network, address) => {
                let key = AddressKey { address, network: network.into() };
                self.addresses.find(self.addresses.probe(&key), matches)
            }
            FlowKey::Ipv6(network, prefix) => {
                let key = PrefixKey { prefix, network: network.into() };
                self.prefixes.find(self.prefixes.probe(&key), matches)
            }
        }
    }

    /// A flow entry.
    #[inline]
    pub(crate) fn entry(&self, number: u32) -> Option<&FlowEntry> {
        self.entries.get(number as usize)
    }

    /// A flow entry, mutable.
    #[inline]
    pub(crate) fn entry_mut(&mut self, number: u32) -> Option<&mut FlowEntry> {
        self.entries.get_mut(number as usize)
    }

    /// Inserts a flow entry. Returns its number; `None` when the table is full.
    pub(crate) fn insert(&mut self, key: FlowKey, entry: FlowEntry) -> Option<u32> {
        let direct = self
            .slot_in_largest(key)
            .filter(|direct| self.entry(*direct).is_some_and(|entry| !entry.is_used()));
        let number = match direct {
            Some(direct) => direct,
            None => {
                let number = self.overflow.take(1).or_else(|| self.mark_incomplete())?;
                if !self.add_key(key, number) {
                    self.overflow.give_back(number, 1);
                    return None;
                }
                number
            }
        };
        self.prefault_ahead(
            number,
            if direct.is_none() { 2 } else { usize::from(!matches!(key, FlowKey::Tunnel(..))) },
        );
        *self.entry_mut(number)? = entry;
        self.regions.take(number, 1);
        self.used_entries += 1;
        match key {
            _ if direct != Some(number) => {}
            FlowKey::Tunnel(..) => self.last_slot = self.last_slot.max(number),
            FlowKey::Ipv4(..) | FlowKey::Ipv6(..) => self.last_number = self.last_number.max(number),
        }
        Some(number)
    }

    /// Adds one more key for an entry. `false`: the index is full.
    pub(crate) fn add_key(&mut self, key: FlowKey, number: u32) -> bool {
        let entered = match key {
            FlowKey::Tunnel(teid, local) => {
                self.tunnels.insert(&TunnelKey { teid, local: local.into() }, number)
            }
            FlowKey::Ipv4(network, address) => {
                self.addresses.insert(&AddressKey { address, network: network.into() }, number)
            }
            FlowKey::Ipv6(network, prefix) => {
                self.prefixes.insert(&PrefixKey { prefix, network: network.into() }, number)
            }
        };
        self.is_complete &= entered.is_ok();
        entered.is_ok()
    }

    /// Removes a key of this entry.
    pub(crate) fn remove_key(&mut self, key: FlowKey, number: u32) {
        match key {
            _ if self.slot_in_largest(key) == Some(number) => true,
            FlowKey::Tunnel(teid, local) => {
                self.tunnels.remove(&TunnelKey { teid, local: local.into() }, number)
            }
            FlowKey::Ipv4(network, address) => {
                self.addresses.remove(&AddressKey { address, network: network.into() }, number)
            }
            FlowKey::Ipv6(network, prefix) => {
                self.prefixes.remove(&PrefixKey { prefix, network: network.into() }, number)
            }
        };
    }

    /// Frees the entry.
    pub(crate) fn release(&mut self, number: u32) {
        if let Some(entry) = self.entry_mut(number) {
            *entry = FlowEntry::default();
            self.used_entries = self.used_entries.saturating_sub(1);
        }
        if let Some(region) = self.regions.leave(number, 1) {
            let region = region.start..region.end.min(self.entries.len());
            let is_free = self
                .entries
                .get(region.clone())
                .is_some_and(|entries| !entries.iter().any(FlowEntry::is_used));
            if is_free {
                self.entries.release(region);
            }
        }
        if self.overflow.is_one(number) {
            self.overflow.give_back(number, 1);
        }
    }

    /// Prefaults the entries behind this one, where a region is allocated in order.
    fn prefault_ahead(&mut self, number: u32, kind: usize) {
        let Range { start, end } = self.entries.as_ptr_range();
        if let Some(ahead) = self.ahead.get_mut(kind) {
            ahead.advance(start.wrapping_add(number as usize).cast(), end.cast());
        }
    }

    fn slot_in_largest(&self, key: FlowKey) -> Option<u32> {
        match key {
            FlowKey::Tunnel(teid, _) => Some(self.scheme.slots(&[teid])[0]).filter(|slot| *slot < self.slots),
            FlowKey::Ipv4(_, address) => self.at_address(address),
            FlowKey::Ipv6(..) => None,
        }
    }

    fn mark_incomplete(&mut self) -> Option<u32> {
        self.is_complete = false;
        None
    }

    /// Prefetches a rule entry into the cache.
    #[inline]
    pub(crate) fn prefetch_rule(&self, number: u32) {
        prefetch(&self.rules, number as usize);
    }

    /// A rule entry.
    pub(crate) fn rule(&self, number: u32) -> Option<&RuleEntry> {
        self.rules.get(number as usize)
    }

    /// A rule entry, mutable.
    #[inline]
    pub(crate) fn rule_mut(&mut self, number: u32) -> Option<&mut RuleEntry> {
        self.rules.get_mut(number as usize)
    }

    /// Allocates consecutive rule entries. Returns the number of the first; `None` when the table is full.
    pub(crate) fn take_rules(&mut self, count: u32) -> Option<u32> {
        let first = self.rule_numbers.take(count)?;
        let Range { start, end } = self.rules.as_ptr_range();
        self.rule_regions.take(first, count);
        self.rules_ahead.advance(start.wrapping_add(first as usize).cast(), end.cast());
        Some(first)
    }

    /// Frees the rule entries.
    pub(crate) fn release_rules(&mut self, first: u32, count: u32) {
        if let Some(entries) = self.rules.get_mut(first as usize..(first + count) as usize) {
            entries.fill(RuleEntry::default());
            self.rule_numbers.give_back(first, count);
            if let Some(region) = self.rule_regions.leave(first, count) {
                let region = region.start..region.end.min(self.rules.len());
                self.rules.release(region);
            }
        }
    }
}
