//! Checks of framed routes.

use std::net::{Ipv4Addr, Ipv6Addr};

use causeway_types::{IpNet, Ipv4Net, Ipv6Net};

use crate::Reason;
use causeway_model::{LocalEndpoints, Pdi};

/// Networks that are never behind a UE: this network, loopback, link-local, multicast and reserved addresses.
const NEVER_V4: [Ipv4Net; 5] = [
    Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 8),
    Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(224, 0, 0, 0), 4),
    Ipv4Net::new_assert(Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The same for IPv6, with the ranges for mapped IPv4 addresses.
const NEVER_V6: [Ipv6Net; 4] = [
    Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 96),
    Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96),
    Ipv6Net::new_assert(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
    Ipv6Net::new_assert(Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8),
];

/// Packets to the prefix can be routed to a UE: it contains no addresses of this network, loopback, link-local,
/// multicast and reserved ones, as the default route does.
pub fn is_routable(net: &IpNet) -> bool {
    match net {
        IpNet::V4(net) => !NEVER_V4.iter().any(|never| never.contains(net) || net.contains(never)),
        IpNet::V6(net) => !NEVER_V6.iter().any(|never| never.contains(net) || net.contains(never)),
    }
}

/// Each framed route lies in a range of the data network, and contains no address of the UPF.
pub(super) fn check(pdi: &Pdi, endpoints: &LocalEndpoints) -> Result<(), Reason> {
    pdi.framed_routes().iter().try_for_each(|net| {
        let allowed = endpoints.routable(pdi.network_instance.as_ref());
        let refused = |reason| Err(Reason::RouteNotAllowed { net: *net, why: reason });
        if !is_routable(net) {
            return refused("it cannot be behind a UE");
        }
        if !allowed.into_iter().any(|range| range.contains(net)) {
            return refused(
                "it lies outside of the ranges that the configuration allows for the data network",
            );
        }
        if endpoints.has_own_in(net) {
            return refused("it contains an address of the UPF or of its host");
        }
        match endpoints.neighbours.iter().any(|beside| beside.contains(net) || net.contains(beside)) {
            true => refused("it contains an address of a network that the UPF is connected to, or of an SMF"),
            false => Ok(()),
        }
    })
}

#[cfg(test)]
mod tests {
    use causeway_types::Interface;

    use super::*;
    use crate::testing::endpoints;

    fn refused(endpoints: &LocalEndpoints, route: &str) -> bool {
        let net = route.parse().expect("a prefix");
        let pdi = Pdi { routes: vec![net], ..Pdi::new(Interface::Core) };
        check(&pdi, endpoints).is_err()
    }

    // Input:  routes that contain a GTP-U address, the end of a tunnel over N6, a gateway, and a network beside the
    // UPF; the same next to each.
    // Output: those that contain one are refused, of IPv4 and IPv6, and only those.
    #[test]
    fn no_route_holds_what_is_not_behind_a_ue() {
        let neighbours = vec!["198.51.100.0/24".parse().expect("a prefix")];
        let endpoints = LocalEndpoints { neighbours, ..endpoints() };
        for route in [
            "192.0.2.1/32",
            "192.0.2.0/24",
            "192.0.2.6/32",
            "10.45.255.254/32",
            "10.45.0.0/16",
            "2001:db8::/64",
            "198.51.100.7/32",
            "198.51.0.0/16",
        ] {
            assert!(refused(&endpoints, route), "{route}");
        }
        for route in [
            "192.0.2.2/31",
            "192.0.2.7/32",
            "10.45.255.253/32",
            "10.46.0.0/16",
            "2001:db8:0:1::/64",
            "198.51.101.0/24",
        ] {
            assert!(!refused(&endpoints, route), "{route}");
        }
    }
}
