//! The interfaces, addresses and routes of the host, and the pools that would take some of them.

use std::fmt;
use std::net::IpAddr;

use causeway_ports::PortError;
use causeway_ports::netlink::{Link, Netlink, Route};
use causeway_types::IpNet;

use crate::config::{N6Mode, Session};

/// The metric of a route to an IPv6 prefix that is added without one. Of IPv4 it is 0.
const METRIC_OF_IPV6: u32 = 1024;

/// The interfaces and addresses of the host, and its routes to pools.
#[derive(Debug)]
pub(crate) struct HostNetworks {
    pub(crate) links: Vec<Link>,
    pub(crate) addresses: Vec<(u32, IpNet)>,
    /// The routes to exactly the subnets of the pools.
    pub(crate) routes: Vec<Route>,
}

impl HostNetworks {
    /// Asks the kernel, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel does not respond.
    pub(crate) fn read(sessions: &[Session]) -> Result<Self, PortError> {
        let mut netlink = Netlink::open()?;
        let subnets: Vec<IpNet> = sessions.iter().map(|session| session.subnet).collect();
        let (links, addresses) = (netlink.links()?, netlink.addresses()?);
        Ok(Self { links, addresses, routes: netlink.routes_to(&subnets)? })
    }

    pub(crate) fn link(&self, name: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.name == name)
    }

    /// The interface that has an address.
    pub(crate) fn link_of(&self, ip: IpAddr) -> Option<&Link> {
        let (index, _) = self.addresses.iter().find(|(_, net)| net.addr() == ip)?;
        self.links.iter().find(|link| link.index == *index)
    }

    /// What a pool would take from the host. `is_own`: an interface of this name is the pool's own.
    pub(crate) fn conflict(&self, session: &Session, is_own: impl Fn(&str) -> bool) -> Option<PoolConflict> {
        // A segment is another world: its addresses are not those of the kernel.
        if session.mode == N6Mode::Vxlan {
            return None;
        }
        let subnet = session.subnet;
        let name = |index: u32| self.links.iter().find(|link| link.index == index).map(|link| &*link.name);
        let is_foreign = |index: u32| !name(index).is_some_and(&is_own);
        let meets = |net: &IpNet| {
            subnet.contains(&net.addr()) || net.contains(&subnet.addr()) && !net.addr().is_loopback()
        };
        if let Some((index, net)) =
            self.addresses.iter().find(|(index, net)| is_foreign(*index) && meets(net))
        {
            let link = name(*index).unwrap_or("another interface").to_owned();
            return Some(PoolConflict::Address { subnet, net: *net, link });
        }
        // Packets of mode af_xdp do not follow the routes of the kernel.
        let routes = self.routes.iter().filter(|route| session.mode == N6Mode::Tun && route.net == subnet);
        let own_metric = if subnet.addr().is_ipv4() { 0 } else { METRIC_OF_IPV6 };
        // One that drops packets may stand behind that of the pool.
        let mut taken = routes.filter(|route| match route.hops.is_empty() {
            true => route.metric <= own_metric,
            false => route.hops.iter().any(|hop| is_foreign(hop.link)),
        });
        let route = taken.next()?.describe(&self.links);
        Some(PoolConflict::Route { subnet, route })
    }
}

/// What a pool would take from the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PoolConflict {
    /// Another interface has an address in the pool, or the pool is in its network.
    Address {
        /// The pool.
        subnet: IpNet,
        /// The address with its prefix.
        net: IpNet,
        /// The interface.
        link: String,
    },
    /// The host routes the pool elsewhere.
    Route {
        /// The pool.
        subnet: IpNet,
        /// Where the route leads.
        route: String,
    },
}

impl PoolConflict {
    /// The conflict, without the remedy.
    pub(crate) fn state(&self) -> String {
        match self {
            Self::Address { subnet, net, link } => format!("{subnet} overlaps {net} of {link}"),
            Self::Route { subnet, route } => format!("{subnet} is routed {route} already"),
        }
    }

    pub(crate) fn remedy(&self) -> String {
        match self {
            Self::Address { link, .. } => format!(
                "choose a subnet that no interface of this host uses; if {link} is of a UPF that runs here, \
                 examine its configuration: `causeway doctor --config FILE`"
            ),
            Self::Route { subnet, .. } => {
                format!("choose another subnet, or remove that route: `ip route del {subnet}`")
            }
        }
    }
}

impl fmt::Display for PoolConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.state(), self.remedy())
    }
}

impl std::error::Error for PoolConflict {}

#[cfg(test)]
mod tests {
    use causeway_ports::netlink::RouteHop;

    use super::*;

    /// Interface 2 is eth0 with an address, interface 3 the device of the pool.
    fn host(routes: Vec<Route>) -> HostNetworks {
        let link = |index, name: &str| Link { index, name: name.into(), ..Link::default() };
        HostNetworks {
            links: vec![link(1, "lo"), link(2, "eth0"), link(3, "n6")],
            addresses: [(1, "127.0.0.1/8"), (1, "::1/128"), (2, "192.0.2.9/24"), (3, "10.45.0.1/16")]
                .map(|(index, net)| (index, net.parse().unwrap()))
                .into(),
            routes,
        }
    }

    fn conflict(host: &HostNetworks, subnet: &str, mode: N6Mode) -> Option<String> {
        let session =
            Session { subnet: subnet.parse().unwrap(), dev: "n6".into(), mode, ..Session::default() };
        host.conflict(&session, |name| name == "n6").map(|conflict| conflict.state())
    }

    // Input:  pools beside, around and inside the networks of interfaces: another one, and that of the pool itself.
    // Output: those that meet the network of the other one, but not behind a segment.
    #[test]
    fn a_pool_meets_no_network_of_another_interface() {
        let host = host(Vec::new());
        let of = |subnet| conflict(&host, subnet, N6Mode::Tun);
        assert_eq!(of("10.45.0.0/16"), None);
        assert_eq!(of("192.0.3.0/24"), None);
        assert_eq!(of("2001:db8::/48"), None);
        for subnet in ["192.0.0.0/16", "192.0.2.0/24", "192.0.2.64/26"] {
            assert_eq!(of(subnet).unwrap(), format!("{subnet} overlaps 192.0.2.9/24 of eth0"));
            assert!(conflict(&host, subnet, N6Mode::AfXdp).is_some());
            assert_eq!(conflict(&host, subnet, N6Mode::Vxlan), None);
        }
    }

    // Input:  routes to a pool: by its own device; by another one, with and without a gateway, at any metric; by both; one
    //         that drops packets, at the metric of the pool's own route and behind it.
    // Output: all that lead elsewhere, and the one that the pool's route would replace; of mode tun only.
    #[test]
    fn a_pool_takes_no_route() {
        let hop =
            |link, gateway: Option<&str>| RouteHop { link, gateway: gateway.map(|ip| ip.parse().unwrap()) };
        let route = |metric, hops: &[RouteHop]| Route {
            net: "10.45.0.0/16".parse().unwrap(),
            metric,
            source: None,
            hops: hops.to_vec(),
        };
        let of = |routes| conflict(&host(routes), "10.45.0.0/16", N6Mode::Tun);
        assert_eq!(of(vec![route(0, &[hop(3, None)])]), None);
        let foreign = route(0, &[hop(2, Some("192.0.2.1"))]);
        let state = "10.45.0.0/16 is routed via 192.0.2.1 on eth0 already";
        assert_eq!(of(vec![foreign.clone()]).unwrap(), state);
        assert_eq!(conflict(&host(vec![foreign]), "10.45.0.0/16", N6Mode::AfXdp), None);
        let behind = vec![route(0, &[hop(3, None)]), route(100, &[hop(2, None)])];
        assert_eq!(of(behind).unwrap(), "10.45.0.0/16 is routed on eth0 already");
        let both = route(0, &[hop(3, None), hop(2, None)]);
        assert_eq!(of(vec![both]).unwrap(), "10.45.0.0/16 is routed on n6 and on eth0 already");
        assert_eq!(of(vec![route(0, &[])]).unwrap(), "10.45.0.0/16 is routed to nowhere already");
        assert_eq!(of(vec![route(20, &[])]), None);
    }
}
