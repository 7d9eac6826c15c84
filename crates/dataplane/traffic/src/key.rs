//! The identity of a flow, as a hash.

use std::net::{IpAddr, Ipv6Addr};

use causeway_types::Direction;

/// A flow: a hash of 64 bits of its identity, by [`FlowKeys`].
///
/// Detectors keep a few bits of it, so two flows can be taken for one; [`crate::sliding`] and [`crate::hk_ipg`] say
/// how many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(pub u64);

/// The identity of a transport flow. Ports are zero for protocols without.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FiveTuple {
    /// Source and destination address.
    pub addresses: (IpAddr, IpAddr),
    /// Source and destination port, host byte order.
    pub ports: (u16, u16),
    /// The protocol number of IPv4, or the next header of IPv6.
    pub protocol: u8,
}

impl FiveTuple {
    /// The address at the UE's end, the source of an uplink packet. Of an IPv6 address the upper 64 bits, since they
    /// name the UE.
    pub const fn ue(&self, direction: Direction) -> IpAddr {
        let address = match direction {
            Direction::Uplink => self.addresses.0,
            Direction::Downlink => self.addresses.1,
        };
        match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        }
    }
}

/// Makes keys. A seed that nobody outside knows keeps senders from choosing flows with equal keys.
///
/// The hash multiplies 64 by 64 bits for each word and folds the product. It is not cryptographic: a sender who sees which
/// flows are reported could learn about it over time. Such a sender gains little, since equal keys only compete for the
/// slots of one set.
#[derive(Clone, Copy, Debug)]
pub struct FlowKeys {
    seed: u64,
}

/// What a key is made of, so that equal words of different kinds differ.
#[derive(Clone, Copy)]
enum Kind {
    RulePair = 1,
    Ipv4 = 2,
    Ipv6 = 3,
    FiveTuple = 4,
}

/// Odd numbers with as many ones as zeros, and no pattern.
const MULTIPLIERS: [u64; 2] = [0xb492_b66f_be98_f273, 0x9ae1_6a3b_2f90_404f];

impl FlowKeys {
    /// Keys with this seed.
    pub const fn with_seed(seed: u64) -> Self {
        Self { seed: fold(seed ^ MULTIPLIERS[0], MULTIPLIERS[1]) }
    }

    /// The key of an uplink and downlink PDR pair of a session. `session` and `pair` are the caller's numbers of both.
    pub const fn rule_pair(self, session: u64, pair: u32) -> Key {
        self.start(Kind::RulePair).word(session).word(pair as u64).end()
    }

    /// The key of a UE address.
    pub const fn ue_address(self, address: IpAddr) -> Key {
        match address {
            IpAddr::V4(address) => self.start(Kind::Ipv4).word(address.to_bits() as u64).end(),
            IpAddr::V6(address) => self.start(Kind::Ipv6).wide(address.to_bits()).end(),
        }
    }

    /// The key of a transport flow in one direction.
    pub const fn five_tuple(self, flow: &FiveTuple) -> Key {
        let FiveTuple { addresses: (source, destination), ports, protocol } = *flow;
        let ends = (ports.0 as u64) << 32 | (ports.1 as u64) << 16 | protocol as u64;
        self.start(Kind::FiveTuple).address(source).address(destination).word(ends).end()
    }

    const fn start(self, kind: Kind) -> State {
        State { state: self.seed ^ kind as u64, seed: self.seed }
    }
}

/// A hash in progress.
#[derive(Clone, Copy)]
struct State {
    state: u64,
    seed: u64,
}

impl State {
    const fn word(self, word: u64) -> Self {
        // The seed stands on both sides, so that a word that makes one factor zero cannot be chosen without it.
        let state = fold(self.state ^ word, self.seed ^ MULTIPLIERS[0]) ^ word.rotate_left(32);
        Self { state, ..self }
    }

    const fn wide(self, wide: u128) -> Self {
        self.word((wide >> 64) as u64).word(wide as u64)
    }

    const fn address(self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => self.word(address.to_bits() as u64),
            IpAddr::V6(address) => self.wide(address.to_bits()),
        }
    }

    const fn end(self) -> Key {
        Key(fold(self.state ^ MULTIPLIERS[1], MULTIPLIERS[0]))
    }
}

/// The product of both, its halves added without carry.
pub(crate) const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    (product >> 64) as u64 ^ product as u64
}

impl Key {
    /// The place of the flow among `places` in way `way`: evenly spread, and independent in each way.
    pub const fn place(self, way: usize, places: usize) -> usize {
        let spread = fold(self.0 ^ MULTIPLIERS[1], MULTIPLIERS[0].wrapping_add((way as u64) << 1));
        ((spread as u128 * places as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    // Input:  keys of 100,000 consecutive sessions, of as many UE addresses and of as many ports of one pair of hosts.
    // Output: no two are equal, the low 15 bits are evenly used, and the places in each way are.
    #[test]
    fn similar_flows_have_unlike_keys() {
        let keys = FlowKeys::with_seed(7);
        let source = IpAddr::from([10, 0, 0, 1]);
        let tuple = |port: u32| FiveTuple {
            addresses: (source, source),
            ports: (port as u16, (port >> 16) as u16),
            protocol: 17,
        };
        let all: [Vec<Key>; 3] = [
            (0..100_000).map(|session| keys.rule_pair(session, 0)).collect(),
            (0..100_000).map(|low| keys.ue_address(Ipv4Addr::from_bits(0x0a00_0000 | low).into())).collect(),
            (0..100_000).map(|port| keys.five_tuple(&tuple(port))).collect(),
        ];
        for some in &all {
            assert_eq!(some.iter().collect::<HashSet<_>>().len(), some.len());
            for way in 0..8 {
                let mut counts = vec![0_u32; 100];
                some.iter().for_each(|key| counts[key.place(way, 100)] += 1);
                assert!(counts.iter().all(|count| (800..1200).contains(count)), "{way}: {counts:?}");
            }
            let mut low = vec![0_u32; 128];
            some.iter().for_each(|key| low[(key.0 % 128) as usize] += 1);
            assert!(low.iter().all(|count| (600..1000).contains(count)), "{low:?}");
        }
    }

    // Input:  the same UE with two seeds; IPv4 and IPv6 addresses with equal octets; both directions of a flow.
    // Output: different keys.
    #[test]
    fn seed_kind_and_direction_count() {
        let keys = FlowKeys::with_seed(1);
        let (one, two) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let wide = IpAddr::from(Ipv6Addr::from_bits(u128::from(0x0a00_0001_u32)));
        assert_ne!(keys.ue_address(one), FlowKeys::with_seed(2).ue_address(one));
        assert_ne!(keys.ue_address(one), keys.ue_address(wide));
        assert_ne!(keys.ue_address(one), keys.rule_pair(0x0a00_0001, 0));
        let there = FiveTuple { addresses: (one, two), ports: (1, 2), protocol: 6 };
        let back = FiveTuple { addresses: (two, one), ports: (2, 1), protocol: 6 };
        assert_ne!(keys.five_tuple(&there), keys.five_tuple(&back));
    }
}
