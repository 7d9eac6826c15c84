//! The lines, and how packets find them.
//!
//! A line lies where its key says, if it can: at the slot of a TEID that the UPF chose, or at the number of an address in
//! the UE pools. The others lie behind those, and tables lead there. In any case the line is compared with the key.

use std::ops::Range;

use causeway_dataplane::Topology;
use causeway_rules::{Prefaulter, TeidScheme};
use causeway_types::IpNet;

use crate::index::{AddressKey, Arena, ArenaError, Cuckoo, Pools, PrefixKey, TunnelKey, prefetch, prepare};
use crate::key::Key;
use crate::line::{Line, RuleLine};
use crate::numbers::Numbers;
use regions::Regions;

mod regions;
mod rules;

/// Slots of TEIDs for each session.
const SLOTS_PER_SESSION: u32 = 4;

/// Addresses of pools that have a line of their own, at most: those of two pools of 8 bits.
const NUMBERED: u32 = 1 << 25;

/// Lines of rules for each session.
const RULES_PER_SESSION: u32 = 16;

/// Lines of 256 MiB.
const LARGE: u32 = 1 << 22;

/// The lines of one worker.
#[derive(Debug)]
pub(crate) struct Table {
    scheme: TeidScheme,
    pools: Pools,
    /// First those of TEIDs, by slot; then those of pools, by number; then the others.
    lines: Arena<Line>,
    regions: Regions,
    /// Of each of these three, as far as they have been used in order.
    ahead: [Prefaulter; 3],
    slots: u32,
    /// The last line that was ever in use of those of TEIDs, and of those of pools: what looks for one behind is for nobody.
    last_slot: u32,
    last_number: u32,
    /// Lines in use.
    taken: u32,
    others: Numbers,
    rules: Arena<RuleLine>,
    rule_regions: Regions,
    rules_ahead: Prefaulter,
    rule_numbers: Numbers,
    tunnels: Cuckoo<TunnelKey>,
    addresses: Cuckoo<AddressKey>,
    prefixes: Cuckoo<PrefixKey>,
    is_complete: bool,
}

impl Table {
    /// No lines, and room for those of so many sessions.
    ///
    /// # Errors
    /// [`ArenaError`] when the system has not even the addresses.
    pub(crate) fn new(topology: &Topology, sessions: u32) -> Result<Self, ArenaError> {
        let slots = sessions.saturating_mul(SLOTS_PER_SESSION).min(TeidScheme::MAX_SLOT) + 1;
        let nets = topology.networks.iter().zip(0..).flat_map(|(network, index)| {
            let v4 = network
                .pools
                .iter()
                .filter_map(|pool| if let IpNet::V4(net) = pool { Some(*net) } else { None });
            v4.map(move |net| (index, net))
        });
        let pools = Pools::new(&nets.collect::<Vec<_>>(), NUMBERED);
        let first = slots + pools.slots();
        let others = sessions.saturating_mul(SLOTS_PER_SESSION).min(TeidScheme::MAX_SLOT);
        let rules = sessions.saturating_mul(RULES_PER_SESSION).min(TeidScheme::MAX_SLOT * 4);
        Ok(Self {
            scheme: topology.teids,
            pools,
            lines: Arena::sparse((first + others) as usize)?,
            regions: Regions::new((first + others) as usize, size_of::<Line>()),
            ahead: [Prefaulter::new(Some(prepare)); 3],
            slots,
            last_slot: 0,
            last_number: 0,
            taken: 0,
            others: Numbers::new(first, first + others),
            rules: Arena::sparse(rules as usize)?,
            rule_regions: Regions::new(rules as usize, size_of::<RuleLine>()),
            rules_ahead: Prefaulter::new(Some(prepare)),
            rule_numbers: Numbers::new(0, rules),
            tunnels: Cuckoo::new(others as usize)?,
            addresses: Cuckoo::new(others as usize)?,
            prefixes: Cuckoo::new(others as usize)?,
            is_complete: true,
        })
    }

    /// There are more lines than the core finds the pages of without looking for them, so that it takes longer to fetch one.
    pub(crate) const fn is_large(&self) -> bool {
        self.taken > LARGE
    }

    /// Every key that was entered has its line.
    pub(crate) const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Where the lines of the TEIDs of a batch lie, if the UPF chose them. Where no line ever was it is the first one, which nobody has:
    /// TEIDs that are made up do not lead all over the memory.
    #[inline]
    pub(crate) fn at_teids<const N: usize>(&self, teids: &[u32; N]) -> [u32; N] {
        let mut slots = self.scheme.slots(teids);
        for slot in &mut slots {
            *slot = if *slot <= self.last_slot { *slot } else { 0 };
        }
        slots
    }

    /// Where the line of an address lies, if it is in a pool.
    #[inline]
    pub(crate) fn at_address(&self, address: u32) -> Option<u32> {
        self.pools.slot(address).map(|number| self.slots + number)
    }

    /// Where the lines of these addresses lie, if they are in a pool and one ever was there; else none's.
    #[inline(always)]
    pub(crate) fn at_addresses<const N: usize>(&self, addresses: &[u32; N], lines: &mut [u32]) {
        let mut is_elsewhere = false;
        for (line, address) in lines.iter_mut().zip(addresses) {
            let near = self.pools.near(*address);
            is_elsewhere |= near.is_none();
            let number = near.map_or(0, |number| self.slots.wrapping_add(number));
            *line = if number <= self.last_number { number } else { 0 };
        }
        if is_elsewhere && self.pools.are_several() {
            self.at_any_addresses(addresses, lines);
        }
    }

    #[inline(never)]
    fn at_any_addresses(&self, addresses: &[u32], lines: &mut [u32]) {
        let lines = lines.iter_mut().zip(addresses);
        lines.for_each(|(line, address)| *line = self.at_address(*address).unwrap_or(0));
    }

    /// There are tunnels whose lines do not lie at their slots.
    #[inline]
    pub(crate) const fn has_far_tunnels(&self) -> bool {
        !self.tunnels.is_empty()
    }

    /// There are IPv4 addresses whose lines do not lie at their numbers.
    #[inline]
    pub(crate) const fn has_far_addresses(&self) -> bool {
        !self.addresses.is_empty()
    }

    /// Fetches a line into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, number: u32) {
        prefetch(&self.lines, number as usize);
    }

    /// Fetches what leads to the line of a key that may not lie near.
    #[inline]
    pub(crate) fn prefetch_far(&self, key: Key) {
        match key {
            Key::Tunnel(teid, local) if !self.tunnels.is_empty() => {
                self.tunnels.prefetch(self.tunnels.probe(&TunnelKey { teid, local: local.into() }));
            }
            Key::Ipv4(network, address) if !self.addresses.is_empty() => {
                let key = AddressKey { address, network: network.into() };
                self.addresses.prefetch(self.addresses.probe(&key));
            }
            Key::Ipv6(network, prefix) => {
                self.prefixes.prefetch(self.prefixes.probe(&PrefixKey { prefix, network: network.into() }));
            }
            Key::Tunnel(..) | Key::Ipv4(..) => {}
        }
    }

    /// The line that the tables lead to, which is not compared yet, and fetches it.
    #[inline]
    pub(crate) fn approach(&self, key: Key) -> Option<u32> {
        let number = match key {
            Key::Tunnel(..) if self.tunnels.is_empty() => None,
            Key::Ipv4(..) if self.addresses.is_empty() => None,
            _ => self.find_far(key, |_| true),
        };
        number.iter().for_each(|number| self.prefetch(*number));
        number
    }

    /// The line of a key; `near` and `far` are where it may lie.
    #[inline]
    pub(crate) fn find(&self, key: Key, near: Option<u32>, far: Option<u32>) -> Option<u32> {
        let is_it = |number: u32| self.line(number).is_some_and(|line| key.fits(line));
        if near.is_some_and(is_it) {
            return near;
        }
        // The tables may lead to others first.
        if far.is_none_or(is_it) { far } else { self.find_far(key, is_it) }
    }

    #[inline]
    fn find_far(&self, key: Key, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        match key {
            Key::Tunnel(teid, local) => {
                let key = TunnelKey { teid, local: local.into() };
                self.tunnels.find(self.tunnels.probe(&key), is_it)
            }
            Key::Ipv4(network, address) => {
                let key = AddressKey { address, network: network.into() };
                self.addresses.find(self.addresses.probe(&key), is_it)
            }
            Key::Ipv6(network, prefix) => {
                let key = PrefixKey { prefix, network: network.into() };
                self.prefixes.find(self.prefixes.probe(&key), is_it)
            }
        }
    }

    /// A line.
    #[inline]
    pub(crate) fn line(&self, number: u32) -> Option<&Line> {
        self.lines.get(number as usize)
    }

    /// A line, to be written.
    #[inline]
    pub(crate) fn line_mut(&mut self, number: u32) -> Option<&mut Line> {
        self.lines.get_mut(number as usize)
    }

    /// Enters a line. Returns its number; `None` where there is no room.
    pub(crate) fn insert(&mut self, key: Key, line: Line) -> Option<u32> {
        let near = self.near(key).filter(|near| self.line(*near).is_some_and(|line| !line.is_taken()));
        let number = match near {
            Some(near) => near,
            None => {
                let number = self.others.take(1).or_else(|| self.give_up())?;
                if !self.lead(key, number) {
                    self.others.give_back(number, 1);
                    return None;
                }
                number
            }
        };
        self.make_ready(
            number,
            if near.is_none() { 2 } else { usize::from(!matches!(key, Key::Tunnel(..))) },
        );
        *self.line_mut(number)? = line;
        self.regions.take(number, 1);
        self.taken += 1;
        match key {
            _ if near != Some(number) => {}
            Key::Tunnel(..) => self.last_slot = self.last_slot.max(number),
            Key::Ipv4(..) | Key::Ipv6(..) => self.last_number = self.last_number.max(number),
        }
        Some(number)
    }

    /// Lets one more key lead to a line. `false`: there is no room.
    pub(crate) fn lead(&mut self, key: Key, number: u32) -> bool {
        let entered = match key {
            Key::Tunnel(teid, local) => self.tunnels.insert(&TunnelKey { teid, local: local.into() }, number),
            Key::Ipv4(network, address) => {
                self.addresses.insert(&AddressKey { address, network: network.into() }, number)
            }
            Key::Ipv6(network, prefix) => {
                self.prefixes.insert(&PrefixKey { prefix, network: network.into() }, number)
            }
        };
        self.is_complete &= entered.is_ok();
        entered.is_ok()
    }

    /// A key leads to this line no more.
    pub(crate) fn forget(&mut self, key: Key, number: u32) {
        match key {
            _ if self.near(key) == Some(number) => true,
            Key::Tunnel(teid, local) => self.tunnels.remove(&TunnelKey { teid, local: local.into() }, number),
            Key::Ipv4(network, address) => {
                self.addresses.remove(&AddressKey { address, network: network.into() }, number)
            }
            Key::Ipv6(network, prefix) => {
                self.prefixes.remove(&PrefixKey { prefix, network: network.into() }, number)
            }
        };
    }

    /// The line is free.
    pub(crate) fn release(&mut self, number: u32) {
        if let Some(line) = self.line_mut(number) {
            *line = Line::default();
            self.taken = self.taken.saturating_sub(1);
        }
        if let Some(region) = self.regions.leave(number, 1) {
            let region = region.start..region.end.min(self.lines.len());
            let is_free =
                self.lines.get(region.clone()).is_some_and(|lines| !lines.iter().any(Line::is_taken));
            if is_free {
                self.lines.release(region);
            }
        }
        if self.others.is_one(number) {
            self.others.give_back(number, 1);
        }
    }

    /// The lines behind this one will be used soon, where lines of a kind are used in order.
    fn make_ready(&mut self, number: u32, kind: usize) {
        let Range { start, end } = self.lines.as_ptr_range();
        if let Some(ahead) = self.ahead.get_mut(kind) {
            ahead.advance(start.wrapping_add(number as usize).cast(), end.cast());
        }
    }

    fn near(&self, key: Key) -> Option<u32> {
        match key {
            Key::Tunnel(teid, _) => Some(self.scheme.slots(&[teid])[0]).filter(|slot| *slot < self.slots),
            Key::Ipv4(_, address) => self.at_address(address),
            Key::Ipv6(..) => None,
        }
    }

    fn give_up(&mut self) -> Option<u32> {
        self.is_complete = false;
        None
    }
}
