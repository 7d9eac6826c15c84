//! Prefilters for addresses that UEs cannot reach: a fast check of many packets together, which mostly excludes them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use causeway_dataplane::BlockedAddresses;

/// Multipliers that spread addresses over the bits of a word.
const SPREAD: u32 = 0x9e37_79b1;
const SPREAD_V6: u64 = 0x9e37_79b9_7f4a_7c15;

/// The upper half of the NAT64 prefix.
const NAT64: u64 = 0x0064_ff9b_0000_0000;

/// A prefilter for IPv4 addresses: each address sets a bit of each word.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ipv4Prefilter {
    words: [u32; 2],
}

/// The same for IPv6.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ipv6Prefilter {
    words: [u64; 2],
}

impl Ipv4Prefilter {
    /// Whether the address may be one. Without branches, since it is computed for many packets together.
    #[inline(always)]
    pub(crate) const fn may_contain(self, address: u32) -> bool {
        let hash = address.wrapping_mul(SPREAD);
        let both = self.words[0] >> (hash >> 27) & self.words[1] >> (hash >> 22 & 31);
        let first = address >> 24;
        (both & 1 != 0) | (first == 0) | (first == 127) | (first >= 224)
    }

    fn add(&mut self, first: Ipv4Addr, last: Ipv4Addr) {
        let (first, last) = (u32::from(first), u32::from(last));
        match last - first {
            // The first octet is checked separately.
            _ if matches!((first >> 24, last >> 24), (0, 0) | (127, 127) | (224.., _)) => {}
            0..64 => (first..=last).for_each(|address| {
                let hash = address.wrapping_mul(SPREAD);
                self.words[0] |= 1 << (hash >> 27);
                self.words[1] |= 1 << (hash >> 22 & 31);
            }),
            _ => self.words = [u32::MAX; 2],
        }
    }
}

impl Ipv6Prefilter {
    /// Whether it may be one, given both halves of the address.
    #[inline(always)]
    pub(crate) const fn may_contain(self, (upper, lower): (u64, u64)) -> bool {
        let hash = (upper ^ lower.rotate_left(29)).wrapping_mul(SPREAD_V6);
        let both = self.words[0] >> (hash >> 58) & self.words[1] >> (hash >> 52 & 63);
        (both & 1 != 0) | (upper == 0) | (upper >> 56 == 0xff) | (upper == NAT64)
    }

    fn add(&mut self, first: Ipv6Addr, last: Ipv6Addr) {
        let (first, last) = (u128::from(first), u128::from(last));
        let upper = ((first >> 64) as u64, (last >> 64) as u64);
        match last - first {
            _ if matches!(upper, (0, 0) | (NAT64, NAT64)) || upper.0 >> 56 == 0xff => {}
            0..64 => (first..=last).for_each(|address| {
                let hash =
                    ((address >> 64) as u64 ^ (address as u64).rotate_left(29)).wrapping_mul(SPREAD_V6);
                self.words[0] |= 1 << (hash >> 58);
                self.words[1] |= 1 << (hash >> 52 & 63);
            }),
            _ => self.words = [u64::MAX; 2],
        }
    }
}

/// Prefilters for blocked addresses and these addresses.
pub(crate) fn prefilters(
    blocked: &BlockedAddresses,
    others: impl Iterator<Item = IpAddr>,
) -> (Ipv4Prefilter, Ipv6Prefilter) {
    let (mut v4, mut v6) = (Ipv4Prefilter::default(), Ipv6Prefilter::default());
    blocked.v4().for_each(|(first, last)| v4.add(first, last));
    blocked.v6().for_each(|(first, last)| v6.add(first, last));
    others.for_each(|address| match address {
        IpAddr::V4(address) => v4.add(address, address),
        IpAddr::V6(address) => v6.add(address, address),
    });
    (v4, v6)
}

#[cfg(test)]
mod tests {
    use causeway_dataplane::{HostReachability, Topology};
    use causeway_types::IpNet;
    use proptest::prelude::*;

    use super::*;

    fn net() -> impl Strategy<Value = IpNet> {
        let v4 = (any::<u32>(), 0..=32_u8).prop_map(|(ip, len)| (IpAddr::V4(ip.into()), len));
        let v6 = (any::<u128>(), 0..=128_u8).prop_map(|(ip, len)| (IpAddr::V6(ip.into()), len));
        prop_oneof![v4, v6].prop_map(|(ip, len)| IpNet::new(ip, len).unwrap().trunc())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 1024 }))]

        // Input:  random prefixes of the host, random exceptions, and addresses in and near them.
        // Output: the prefilter reports each blocked address.
        #[test]
        fn no_blocked_address_is_missed(
            addresses in proptest::collection::vec(net(), 0..6),
            open in proptest::collection::vec(net(), 0..3),
            others in proptest::collection::vec((net(), any::<u128>()), 0..32),
        ) {
            let asked = addresses.iter().chain(&open).flat_map(|net| [net.network(), net.broadcast()]);
            let mut asked: Vec<IpAddr> = asked.collect();
            asked.extend(others.iter().map(|(net, _)| net.network()));
            let topology = Topology { host: HostReachability { addresses, reachable: open }, ..Topology::default() };
            let blocked = topology.blocked_addresses();
            let (v4, v6) = prefilters(&blocked, std::iter::empty());
            for ip in asked {
                let may_be = match ip {
                    IpAddr::V4(ip) => v4.may_contain(ip.into()),
                    IpAddr::V6(ip) => v6.may_contain(((u128::from(ip) >> 64) as u64, u128::from(ip) as u64)),
                };
                prop_assert!(may_be || !blocked.contains(ip), "{}", ip);
            }
        }
    }

    // Input:  a UPF with four addresses; a hundred thousand other destinations.
    // Output: the prefilter reports very few of them.
    #[test]
    fn other_addresses_rarely_match() {
        let addresses = ["192.0.2.1/32", "192.0.2.7/32", "198.51.100.1/32", "10.45.0.1/32"];
        let addresses = addresses.map(|net| net.parse().unwrap()).to_vec();
        let topology = Topology {
            host: HostReachability { addresses, ..HostReachability::default() },
            ..Topology::default()
        };
        let (v4, _) = prefilters(&topology.blocked_addresses(), std::iter::empty());
        let others = (0..100_000_u32).map(|at| 0x0800_0000 + at.wrapping_mul(0x9e37) % 0x1000_0000);
        let taken = others.filter(|address| v4.may_contain(*address)).count();
        assert!(taken < 5_000, "{taken}");
    }
}
