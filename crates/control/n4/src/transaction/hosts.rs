//! State of a bounded number of hosts.

use std::net::IpAddr;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use foldhash::fast::RandomState;

use crate::slab::Slab;

/// A hash table with a random seed of its own: peers choose the keys, and could otherwise make many of them collide.
type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;

/// By address. The last host found is checked first: most requests come from few hosts.
#[derive(Debug)]
pub(super) struct HostTable<H> {
    all: Slab<(IpAddr, H)>,
    by_address: HashMap<IpAddr, u32>,
    /// The index found last.
    last: AtomicU32,
}

impl<H> Default for HostTable<H> {
    fn default() -> Self {
        Self { all: Slab::default(), by_address: HashMap::default(), last: AtomicU32::default() }
    }
}

impl<H> HostTable<H> {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    #[inline]
    fn index_of(&self, ip: IpAddr) -> Option<u32> {
        let last = self.last.load(Relaxed);
        if self.all.get(last).is_some_and(|(known, _)| *known == ip) {
            return Some(last);
        }
        let index = self.by_address.get(&ip).copied()?;
        self.last.store(index, Relaxed);
        Some(index)
    }

    #[inline]
    pub(super) fn get(&self, ip: IpAddr) -> Option<&H> {
        self.all.get(self.index_of(ip)?).map(|(_, host)| host)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, ip: IpAddr) -> Option<&mut H> {
        let index = self.index_of(ip)?;
        self.all.get_mut(index).map(|(_, host)| host)
    }

    /// Inserts a new host.
    pub(super) fn insert(&mut self, ip: IpAddr, host: H) {
        let index = self.all.insert((ip, host));
        self.by_address.insert(ip, index);
    }

    pub(super) fn remove(&mut self, ip: IpAddr) -> Option<H> {
        let index = self.by_address.remove(&ip)?;
        self.all.remove(index).map(|(_, host)| host)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (IpAddr, &H)> {
        self.all.iter().map(|(ip, host)| (*ip, host))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (IpAddr, &mut H)> {
        self.all.iter_mut().map(|(ip, host)| (*ip, host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  three hosts; the second, found last, is removed, and another one takes its slot.
    // Output: each address finds its own state only, whichever was found last.
    #[test]
    fn hosts_are_distinguished() {
        let ip = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut hosts = HostTable::default();
        (1..=3).for_each(|number| hosts.insert(ip(number), number));
        assert_eq!((hosts.get(ip(2)), hosts.get(ip(4)), hosts.len()), (Some(&2), None, 3));
        assert_eq!((hosts.remove(ip(2)), hosts.remove(ip(2))), (Some(2), None));
        assert_eq!(hosts.get(ip(2)), None);
        hosts.insert(ip(4), 4);
        assert_eq!((hosts.get(ip(2)), hosts.get(ip(4))), (None, Some(&4)));
        assert_eq!(hosts.get_mut(ip(1)), Some(&mut 1));
        hosts.iter_mut().for_each(|(_, number)| *number += 10);
        let mut left: Vec<_> = hosts.iter().map(|(ip, number)| (ip, *number)).collect();
        left.sort_unstable();
        assert_eq!(left, [(ip(1), 11), (ip(3), 13), (ip(4), 14)]);
    }
}
