//! Destination addresses that UEs cannot reach: addresses of the host that the UPF runs on, and unroutable addresses.
//!
//! The kernel delivers packets to local addresses to local sockets: PFCP to the N4 address, GTP-U to the N3 address,
//! and other services. Without this check, a UE could reach them. So each data plane drops such packets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use causeway_types::{IpNet, Ipv4Net, Ipv4Subnets, Ipv6Net, Ipv6Subnets};

use crate::{DropReason, Topology};

/// Addresses of the host that the UPF runs on, from the configuration and the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostReachability {
    /// Local addresses of the host beside those of the topology: N4, management, all interfaces.
    pub addresses: Vec<IpNet>,
    /// Exceptions: addresses that UEs can reach although they are in `addresses`.
    pub reachable: Vec<IpNet>,
}

/// Addresses that UEs cannot reach.
///
/// Sorted ranges without overlap: a lookup is a binary search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockedAddresses {
    v4: Vec<Range<u32>>,
    v6: Vec<Range<u128>>,
    /// The gateways of each data network of the topology. They respond to ICMP Echo Requests.
    gateways: Vec<Vec<IpAddr>>,
}

/// The first and the last address.
type Range<T> = (T, T);

/// Unroutable destinations: "this network", loopback, multicast and the broadcast address (RFC 6890).
const UNROUTABLE_V4: [Range<u32>; 4] =
    [(0, 0x00ff_ffff), (0x7f00_0000, 0x7fff_ffff), (0xe000_0000, 0xefff_ffff), (0xffff_ffff, 0xffff_ffff)];

/// The unspecified address, the loopback address, IPv4-compatible addresses (80 zero bits before an IPv4 address),
/// IPv4-mapped addresses and multicast (RFC 4291 clauses 2.5 and 2.7).
const UNROUTABLE_V6: [Range<u128>; 3] =
    [(0, 0xffff_ffff), (0xffff_0000_0000, 0xffff_ffff_ffff), (0xff << 120, u128::MAX)];

/// The IP protocols of ICMP and ICMPv6.
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

/// The well-known prefix of NAT64, which contains IPv4 addresses (RFC 6052 clause 2.1).
const NAT64: u128 = 0x0064_ff9b << 96;

impl Topology {
    /// The addresses that UEs cannot reach.
    pub fn blocked_addresses(&self) -> BlockedAddresses {
        let host = self.host.addresses.iter().map(range_of);
        let gtpu = self.gtpu.iter().flat_map(|end| end.addr.iter().collect::<Vec<_>>());
        let n6 = self.n6_tunnels.iter().flat_map(|end| end.addr.iter().collect::<Vec<_>>());
        let gateways = self.networks.iter().flat_map(|network| network.gateways.iter().copied());
        let own = gtpu.chain(n6).chain(gateways).map(|ip| range_of(&IpNet::from(ip)));
        let (mut v4, mut v6) = (UNROUTABLE_V4.to_vec(), UNROUTABLE_V6.to_vec());
        for range in host.chain(own) {
            match range {
                IpRange::V4((first, last)) => {
                    v4.push((first, last));
                    v6.push((NAT64 | u128::from(first), NAT64 | u128::from(last)));
                }
                IpRange::V6(range) => v6.push(range),
            }
        }
        let (mut open_v4, mut open_v6) = (Vec::new(), Vec::new());
        for range in self.host.reachable.iter().map(range_of) {
            match range {
                IpRange::V4((first, last)) => {
                    open_v4.push((first, last));
                    open_v6.push((NAT64 | u128::from(first), NAT64 | u128::from(last)));
                }
                IpRange::V6(range) => open_v6.push(range),
            }
        }
        BlockedAddresses {
            v4: subtract_ranges(merge_ranges(v4), &open_v4, |end| (end.checked_sub(1), end.checked_add(1))),
            v6: subtract_ranges(merge_ranges(v6), &open_v6, |end| (end.checked_sub(1), end.checked_add(1))),
            gateways: self.networks.iter().map(|network| network.gateways.clone()).collect(),
        }
    }
}

impl BlockedAddresses {
    /// Whether the address is blocked, whatever the protocol.
    pub fn contains(&self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V4(ip) => is_in(&self.v4, ip.into()),
            IpAddr::V6(ip) => is_in(&self.v6, ip.into()),
        }
    }

    /// The drop reason of a packet to this destination, through the data network with this index in the topology.
    /// `None`: the packet may pass. ICMP messages to a gateway of that network pass.
    pub fn egress_drop_reason(&self, network: usize, dst: IpAddr, protocol: u8) -> Option<DropReason> {
        if !self.contains(dst) {
            return None;
        }
        let is_icmp = protocol == if dst.is_ipv4() { ICMP } else { ICMPV6 };
        if is_icmp && self.gateways.get(network).is_some_and(|gateways| gateways.contains(&dst)) {
            return None;
        }
        Some(if is_unroutable(dst) { DropReason::Unroutable } else { DropReason::LocalAddress })
    }

    /// Blocked ranges of IPv4 addresses, as (first, last), sorted.
    pub fn v4(&self) -> impl Iterator<Item = (Ipv4Addr, Ipv4Addr)> {
        self.v4.iter().map(|(first, last)| (Ipv4Addr::from_bits(*first), Ipv4Addr::from_bits(*last)))
    }

    /// Blocked ranges of IPv6 addresses, as (first, last), sorted.
    pub fn v6(&self) -> impl Iterator<Item = (Ipv6Addr, Ipv6Addr)> {
        self.v6.iter().map(|(first, last)| (Ipv6Addr::from_bits(*first), Ipv6Addr::from_bits(*last)))
    }

    /// All blocked addresses as prefixes without overlap, each with its drop reason. Exceptions are in no prefix.
    pub fn nets(&self) -> impl Iterator<Item = (IpNet, DropReason)> {
        let v4 = by_reason(&self.v4, &UNROUTABLE_V4, |end| (end.checked_sub(1), end.checked_add(1)));
        let v4 = v4.flat_map(|((first, last), reason)| {
            let nets = Ipv4Subnets::new(Ipv4Addr::from_bits(first), Ipv4Addr::from_bits(last), 0);
            nets.map(move |net| (IpNet::V4(net), reason))
        });
        let v6 = by_reason(&self.v6, &UNROUTABLE_V6, |end| (end.checked_sub(1), end.checked_add(1)));
        let v6 = v6.flat_map(|((first, last), reason)| {
            let nets = Ipv6Subnets::new(Ipv6Addr::from_bits(first), Ipv6Addr::from_bits(last), 0);
            nets.map(move |net| (IpNet::V6(net), reason))
        });
        v4.chain(v6)
    }
}

/// Whether no other host has the address: loopback, multicast, broadcast, unspecified or IPv4-mapped.
pub fn is_unroutable(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_in(&UNROUTABLE_V4, ip.into()),
        IpAddr::V6(ip) => is_in(&UNROUTABLE_V6, ip.into()),
    }
}

enum IpRange {
    V4(Range<u32>),
    V6(Range<u128>),
}

fn range_of(net: &IpNet) -> IpRange {
    match net {
        IpNet::V4(net) => IpRange::V4(range_v4(*net)),
        IpNet::V6(net) => IpRange::V6(range_v6(*net)),
    }
}

fn range_v4(net: Ipv4Net) -> Range<u32> {
    (net.network().into(), net.broadcast().into())
}

fn range_v6(net: Ipv6Net) -> Range<u128> {
    (net.network().into(), net.broadcast().into())
}

fn is_in<T: Copy + Ord>(ranges: &[Range<T>], address: T) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= address);
    after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|(_, last)| address <= *last)
}

/// Sorts the ranges and merges those that overlap.
fn merge_ranges<T: Copy + Ord>(mut ranges: Vec<Range<T>>) -> Vec<Range<T>> {
    ranges.sort_unstable();
    let mut joined: Vec<Range<T>> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match joined.last_mut() {
            Some((_, held)) if first <= *held => *held = last.max(*held),
            _ => joined.push((first, last)),
        }
    }
    joined
}

/// Removes the ranges `taken` from `ranges`. `beside` returns the addresses before and after an address, if they exist.
fn subtract_ranges<T: Copy + Ord>(
    ranges: Vec<Range<T>>,
    taken: &[Range<T>],
    beside: impl Fn(T) -> (Option<T>, Option<T>),
) -> Vec<Range<T>> {
    taken.iter().fold(ranges, |ranges, (from, to)| {
        let parts = ranges.into_iter().flat_map(|(first, last)| {
            if last < *from || *to < first {
                return [Some((first, last)), None];
            }
            let before = beside(*from).0.filter(|end| first <= *end && first < *from).map(|end| (first, end));
            let behind =
                beside(*to).1.filter(|start| *start <= last && *to < last).map(|start| (start, last));
            [before, behind]
        });
        parts.flatten().collect()
    })
}

/// Splits the ranges where the drop reason changes. `beside` as in [`subtract_ranges`].
fn by_reason<T: Copy + Ord>(
    ranges: &[Range<T>],
    unroutable: &[Range<T>],
    beside: impl Fn(T) -> (Option<T>, Option<T>),
) -> impl Iterator<Item = (Range<T>, DropReason)> {
    let within = |(first, last): &Range<T>| {
        let parts = unroutable.iter().map(|(from, to)| (*first.max(from), *last.min(to)));
        parts.filter(|(first, last)| first <= last).collect::<Vec<_>>()
    };
    let unroutable_ones: Vec<Range<T>> = ranges.iter().flat_map(within).collect();
    let own = subtract_ranges(ranges.to_vec(), unroutable, beside).into_iter();
    let own = own.map(|range| (range, DropReason::LocalAddress));
    own.chain(unroutable_ones.into_iter().map(|range| (range, DropReason::Unroutable)))
}

#[cfg(test)]
mod tests {
    use causeway_types::{DualIp, NetworkInstance};

    use super::*;
    use crate::{GtpuEndpoint, Network};

    fn blocked_addresses(addresses: &[&str], open: &[&str]) -> BlockedAddresses {
        let nets = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let network = |name, gateway: &str| Network {
            gateways: vec![gateway.parse().unwrap()],
            ..Network::new(NetworkInstance::new(name), Vec::new())
        };
        let topology = Topology {
            gtpu: vec![GtpuEndpoint::new(DualIp::from(Ipv4Addr::new(192, 0, 2, 1)))],
            networks: vec![network("internet", "10.45.0.1"), network("ims", "10.46.0.1")],
            host: HostReachability { addresses: nets(addresses), reachable: nets(open) },
            ..Topology::default()
        };
        topology.blocked_addresses()
    }

    // Input:  a UPF with a GTP-U address and gateways, on a host with more addresses, of which two are exceptions.
    // Output: local addresses are blocked except the exceptions, also as IPv6 addresses that contain them; unroutable
    //         addresses are blocked; adjacent addresses are not.
    #[test]
    fn local_addresses_are_blocked() {
        let blocked = blocked_addresses(
            &["192.0.2.64/30", "2001:db8:ffff::1/128", "203.0.113.0/24"],
            &["203.0.113.5/32", "192.0.2.66/31"],
        );
        let own = ["192.0.2.1", "192.0.2.64", "192.0.2.65", "2001:db8:ffff::1", "203.0.113.4", "203.0.113.6"];
        let own = own.into_iter().chain(["64:ff9b::192.0.2.1", "10.46.0.1", "203.0.113.255"]);
        let unroutable_ones =
            ["127.0.0.1", "0.0.0.0", "224.0.0.251", "255.255.255.255", "::1", "::", "ff0e::1"];
        let unroutable_ones =
            unroutable_ones.into_iter().chain(["::ffff:192.0.2.1", "::ffff:8.8.8.8", "::192.0.2.1"]);
        let free = ["192.0.2.0", "192.0.2.2", "192.0.2.66", "192.0.2.67", "203.0.113.5", "203.0.114.0"];
        let free =
            free.into_iter().chain(["64:ff9b::8.8.8.8", "2001:db8:ffff::2", "240.0.0.1", "126.255.255.255"]);
        for (addresses, reason) in [
            (own.collect::<Vec<_>>(), Some(DropReason::LocalAddress)),
            (unroutable_ones.collect(), Some(DropReason::Unroutable)),
            (free.collect(), None),
        ] {
            for text in addresses {
                assert_eq!(blocked.egress_drop_reason(0, text.parse().unwrap(), 17), reason, "{text}");
            }
        }
    }

    // Input:  ICMP Echo Requests and UDP datagrams to the gateway of a network and to that of another network.
    // Output: only ICMP to the gateway of the UE's network passes; everything passes where the gateway is an exception.
    #[test]
    fn a_gateway_answers_pings() {
        let gateway = "10.45.0.1".parse().unwrap();
        let guarded = blocked_addresses(&[], &[]);
        assert_eq!(guarded.egress_drop_reason(0, gateway, ICMP), None);
        assert_eq!(guarded.egress_drop_reason(0, gateway, ICMPV6), Some(DropReason::LocalAddress));
        assert_eq!(guarded.egress_drop_reason(0, gateway, 17), Some(DropReason::LocalAddress));
        assert_eq!(guarded.egress_drop_reason(1, gateway, ICMP), Some(DropReason::LocalAddress));
        assert_eq!(blocked_addresses(&[], &["10.45.0.1/32"]).egress_drop_reason(0, gateway, 17), None);
    }

    // Input:  blocked addresses and exceptions, prefixes that contain unroutable addresses, and all addresses; the ends
    //         of each prefix and addresses of all kinds.
    // Output: a blocked address is in one prefix with its reason; other addresses are in none.
    #[test]
    fn prefixes_equal_the_blocked_addresses() {
        let blocked = [
            blocked_addresses(
                &["192.0.2.64/30", "203.0.113.0/24", "2001:db8:ffff::/64"],
                &["203.0.113.5/32", "ff0e::/16"],
            ),
            blocked_addresses(
                &["0.0.0.0/0", "::/0"],
                &["10.45.0.1/32", "127.0.0.0/9", "64:ff9b::10.45.0.1/128"],
            ),
            blocked_addresses(&["0.0.0.0/0", "::/0"], &[]),
            blocked_addresses(&["126.0.0.0/7"], &["0.0.0.0/0", "::/0"]),
        ];
        for blocked in blocked {
            let nets: Vec<_> = blocked.nets().collect();
            let ends = nets.iter().flat_map(|(net, _)| [net.network(), net.broadcast()]);
            let others =
                ["192.0.2.1", "203.0.113.5", "203.0.113.6", "10.45.0.1", "8.8.8.8", "127.0.0.1", "128.0.0.0"]
                    .into_iter()
                    .chain([
                        "::1",
                        "::1:0:0",
                        "64:ff9b::cb00:7105",
                        "2001:db8:ffff::9",
                        "ff0e::1",
                        "ff0f::1",
                    ]);
            for ip in ends.chain(others.map(|text| text.parse().unwrap())).collect::<Vec<IpAddr>>() {
                let found: Vec<_> =
                    nets.iter().filter(|(net, _)| net.contains(&ip)).map(|(_, it)| *it).collect();
                // No protocol number is ICMP in both versions: no gateway exception applies.
                assert_eq!(found, Vec::from_iter(blocked.egress_drop_reason(0, ip, 17)), "{ip}");
            }
        }
    }

    // Input:  exceptions for all addresses; the first and the last address.
    // Output: nothing is blocked, and nothing overflows.
    #[test]
    fn everything_can_be_an_exception() {
        let blocked = blocked_addresses(&["0.0.0.0/0", "::/0"], &["0.0.0.0/0", "::/0"]);
        assert_eq!((blocked.v4().count(), blocked.v6().count()), (0, 0));
        assert!(
            !blocked.contains(Ipv4Addr::BROADCAST.into()) && !blocked.contains(Ipv6Addr::UNSPECIFIED.into())
        );
    }
}
