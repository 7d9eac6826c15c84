//! Routes of the main table, looked up by longest prefix.

use std::collections::HashMap;
use std::net::IpAddr;

use causeway_types::IpNet;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteNextHopFlags, RouteType,
    RouteVia,
};

use super::Link;

/// One next hop of a route.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RouteHop {
    /// Index of the outgoing link.
    pub link: u32,
    /// The gateway on that link. `None`: the destination itself.
    pub gateway: Option<IpAddr>,
}

/// A route of the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// The destination prefix.
    pub net: IpNet,
    /// The lowest metric is preferred among routes to the same prefix.
    pub metric: u32,
    /// The preferred source address of local packets.
    pub source: Option<IpAddr>,
    /// The next hops, in order. None: packets are dropped.
    pub hops: Vec<RouteHop>,
}

/// All routes by prefix.
#[derive(Default)]
pub struct Routes {
    by_prefix: HashMap<IpNet, Vec<Route>>,
    /// The number of prefixes of each length, IPv4 and IPv6.
    lengths: [Vec<usize>; 2],
}

impl Routes {
    /// Prefixes with a route.
    pub fn len(&self) -> usize {
        self.by_prefix.len()
    }

    /// There is no route.
    pub fn is_empty(&self) -> bool {
        self.by_prefix.is_empty()
    }

    /// Removes all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The route to an address: longest prefix, then lowest metric. O(prefix lengths in use).
    pub fn lookup(&self, ip: IpAddr) -> Option<&Route> {
        let lengths = self.lengths.get(family(ip))?;
        let used = lengths.iter().enumerate().rev().filter(|(_, count)| **count > 0);
        used.filter_map(|(length, _)| IpNet::new(ip, length as u8).ok())
            .find_map(|net| self.by_prefix.get(&net.trunc())?.first())
    }

    /// Adds a route. One with the same prefix and metric is replaced, or else gets the hops of the new one as well.
    pub fn insert(&mut self, mut route: Route, replace: bool) {
        route.net = route.net.trunc();
        let same_prefix = self.by_prefix.entry(route.net).or_default();
        if same_prefix.is_empty() {
            count(&mut self.lengths, route.net, |count| count + 1);
        }
        let Some(known) = same_prefix.iter_mut().find(|known| known.metric == route.metric) else {
            let at = same_prefix.partition_point(|known| known.metric < route.metric);
            return same_prefix.insert(at, route);
        };
        if replace || known.hops.is_empty() {
            *known = route;
        } else {
            let new: Vec<_> = route.hops.into_iter().filter(|hop| !known.hops.contains(hop)).collect();
            known.hops.extend(new);
        }
    }

    /// Removes the hops of `route`, and the route itself when none is left.
    pub fn remove(&mut self, route: &Route) {
        let net = route.net.trunc();
        let Some(same_prefix) = self.by_prefix.get_mut(&net) else { return };
        for known in same_prefix.iter_mut().filter(|known| known.metric == route.metric) {
            known.hops.retain(|hop| !route.hops.contains(hop));
        }
        same_prefix.retain(|known| known.metric != route.metric || !known.hops.is_empty());
        if same_prefix.is_empty() {
            self.by_prefix.remove(&net);
            count(&mut self.lengths, net, |count| count.saturating_sub(1));
        }
    }
}

const fn family(ip: IpAddr) -> usize {
    match ip {
        IpAddr::V4(_) => 0,
        IpAddr::V6(_) => 1,
    }
}

fn count(lengths: &mut [Vec<usize>; 2], net: IpNet, change: impl Fn(usize) -> usize) {
    let Some(lengths) = lengths.get_mut(family(net.addr())) else { return };
    lengths.resize(129, 0);
    if let Some(count) = lengths.get_mut(usize::from(net.prefix_len())) {
        *count = change(*count);
    }
}

impl Route {
    /// Where it leads, in words: `via 192.0.2.1 on eth0`.
    pub fn describe(&self, links: &[Link]) -> String {
        let hop = |hop: &RouteHop| {
            let known = links.iter().find(|link| link.index == hop.link);
            let name = known.map_or_else(|| format!("interface {}", hop.link), |link| link.name.clone());
            hop.gateway.map_or_else(|| format!("on {name}"), |gateway| format!("via {gateway} on {name}"))
        };
        match self.hops.is_empty() {
            true => "to nowhere".to_owned(),
            false => self.hops.iter().map(hop).collect::<Vec<_>>().join(" and "),
        }
    }

    /// The route in a message of the kernel. `None` for those that do not carry forwarded packets: of another table
    /// than main, for one type of service or source only, local and multicast ones.
    pub(super) fn from_message(message: &RouteMessage) -> Option<Self> {
        let header = &message.header;
        let hops = match header.kind {
            RouteType::Unicast => hops(message),
            RouteType::BlackHole | RouteType::Unreachable | RouteType::Prohibit => Vec::new(),
            _ => return None,
        };
        let plain = header.tos == 0 && header.source_prefix_length == 0;
        if !plain || header.flags.contains(RouteFlags::Cloned) || !is_main(message) {
            return None;
        }
        let unspecified = match header.address_family {
            AddressFamily::Inet => IpAddr::from([0; 4]),
            AddressFamily::Inet6 => IpAddr::from([0; 16]),
            _ => return None,
        };
        let mut route = Self { net: unspecified.into(), metric: 0, source: None, hops };
        let mut destination = unspecified;
        for attribute in &message.attributes {
            match attribute {
                RouteAttribute::Destination(address) => destination = ip(address)?,
                RouteAttribute::PrefSource(address) => route.source = ip(address),
                RouteAttribute::Priority(metric) => route.metric = *metric,
                _ => {}
            }
        }
        route.net = IpNet::new(destination, header.destination_prefix_length).ok()?;
        Some(route)
    }
}

fn is_main(message: &RouteMessage) -> bool {
    let table = message.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Table(table) => Some(*table),
        _ => None,
    });
    table.unwrap_or(u32::from(message.header.table)) == u32::from(RouteHeader::RT_TABLE_MAIN)
}

fn hops(message: &RouteMessage) -> Vec<RouteHop> {
    let several = message.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::MultiPath(hops) => Some(hops),
        _ => None,
    });
    let Some(several) = several else {
        let dead = message.header.flags.contains(RouteFlags::Dead);
        return hop(&message.attributes, None).filter(|_| !dead).into_iter().collect();
    };
    let alive = several.iter().filter(|next| !next.flags.contains(RouteNextHopFlags::Dead));
    alive.filter_map(|next| hop(&next.attributes, Some(next.interface_index))).collect()
}

fn hop(attributes: &[RouteAttribute], link: Option<u32>) -> Option<RouteHop> {
    let mut gateway = None;
    let mut link = link;
    for attribute in attributes {
        match attribute {
            RouteAttribute::Gateway(address) => gateway = ip(address),
            RouteAttribute::Via(RouteVia::Inet6(address)) => gateway = Some((*address).into()),
            RouteAttribute::Via(RouteVia::Inet(address)) => gateway = Some((*address).into()),
            RouteAttribute::Oif(index) => link = Some(*index),
            _ => {}
        }
    }
    link.map(|link| RouteHop { link, gateway })
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some((*address).into()),
        RouteAddress::Inet6(address) => Some((*address).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(net: &str, metric: u32, links: &[u32]) -> Route {
        let hops = links.iter().map(|link| RouteHop { link: *link, gateway: None }).collect();
        Route { net: net.parse().unwrap(), metric, source: None, hops }
    }

    fn links(routes: &Routes, ip: &str) -> Option<Vec<u32>> {
        routes.lookup(ip.parse().unwrap()).map(|route| route.hops.iter().map(|hop| hop.link).collect())
    }

    // Input:  a default route, a prefix with two metrics, a host route that drops, and an IPv6 prefix.
    // Output: the longest prefix wins, then the lowest metric; families do not mix.
    #[test]
    fn the_longest_prefix_and_the_lowest_metric_win() {
        let mut routes = Routes::default();
        for (net, metric, to) in
            [("0.0.0.0/0", 0, [1].as_slice()), ("10.0.0.0/8", 20, &[2]), ("10.0.0.0/8", 10, &[3])]
        {
            routes.insert(route(net, metric, to), false);
        }
        routes.insert(route("10.9.9.9/32", 0, &[]), false);
        routes.insert(route("2001:db8::/32", 0, &[6]), false);
        assert_eq!(links(&routes, "192.0.2.1"), Some(vec![1]));
        assert_eq!(links(&routes, "10.1.1.1"), Some(vec![3]));
        assert_eq!(links(&routes, "10.9.9.9"), Some(vec![]));
        assert_eq!(links(&routes, "2001:db8::1"), Some(vec![6]));
        assert_eq!(links(&routes, "2001:db9::1"), None);
    }

    // Input:  hops added to a route one by one, then removed one by one.
    // Output: the route stays while one is left; then the next shorter prefix is used.
    #[test]
    fn a_route_is_removed_with_its_last_hop() {
        let mut routes = Routes::default();
        routes.insert(route("10.0.0.0/8", 0, &[9]), false);
        routes.insert(route("10.1.0.0/16", 0, &[1]), false);
        routes.insert(route("10.1.0.0/16", 0, &[1, 2]), false);
        assert_eq!(links(&routes, "10.1.0.1"), Some(vec![1, 2]));
        routes.remove(&route("10.1.0.0/16", 0, &[1]));
        assert_eq!(links(&routes, "10.1.0.1"), Some(vec![2]));
        routes.insert(route("10.1.0.0/16", 0, &[4]), true);
        assert_eq!(links(&routes, "10.1.0.1"), Some(vec![4]));
        routes.remove(&route("10.1.0.0/16", 7, &[4]));
        routes.remove(&route("10.1.0.0/16", 0, &[4]));
        assert_eq!(links(&routes, "10.1.0.1"), Some(vec![9]));
        assert_eq!(routes.len(), 1);
    }
}
