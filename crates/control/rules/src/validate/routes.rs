//! Where framed routes may lead.

use std::net::{Ipv4Addr, Ipv6Addr};

use causeway_types::{IpNet, Ipv4Net, Ipv6Net};

use crate::{LocalEndpoints, Pdi, Reason};

/// What no UE can have behind it: this network, loopback, link-local, multicast and reserved addresses.
const NEVER_V4: [Ipv4Net; 5] = [
    Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 8),
    Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(224, 0, 0, 0), 4),
    Ipv4Net::new_assert(Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The same of IPv6, and what stands for IPv4 addresses.
const NEVER_V6: [Ipv6Net; 4] = [
    Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 96),
    Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96),
    Ipv6Net::new_assert(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
    Ipv6Net::new_assert(Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8),
];

/// Packets to the prefix can be routed to a UE: it holds nothing of this network, loopback, link-local, multicast and
/// reserved addresses, which the default route does.
pub fn is_routable(net: &IpNet) -> bool {
    match net {
        IpNet::V4(net) => !NEVER_V4.iter().any(|never| never.contains(net) || net.contains(never)),
        IpNet::V6(net) => !NEVER_V6.iter().any(|never| never.contains(net) || net.contains(never)),
    }
}

/// Each framed route lies in a range of the data network, and holds nothing of the UPF's own.
pub(super) fn check(pdi: &Pdi, endpoints: &LocalEndpoints) -> Result<(), Reason> {
    pdi.framed_routes().iter().try_for_each(|net| {
        let allowed = endpoints.routable(pdi.network_instance.as_ref());
        let refused = |why| Err(Reason::RouteNotAllowed { net: *net, why });
        if !is_routable(net) {
            return refused("no UE can have this behind it");
        }
        if !allowed.into_iter().any(|range| range.contains(net)) {
            return refused(
                "it lies outside of the ranges that the configuration allows for the data network",
            );
        }
        match endpoints.barred.iter().any(|barred| barred.contains(net) || net.contains(barred)) {
            true => refused("it holds an address of the UPF, or of a network that the UPF is connected to"),
            false => Ok(()),
        }
    })
}
