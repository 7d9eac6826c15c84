//! The interfaces, addresses and routes of the host, and the pools that would take some of them.

use std::net::IpAddr;
use std::{fmt, fs};

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
        if session.mode == N6Mode::Tun
            && subnet.addr().is_ipv6()
            && let Some(sysctl) = ipv6_off(&session.dev, |path| fs::read_to_string(path).ok())
        {
            return Some(PoolConflict::Ipv6Off { subnet, sysctl });
        }
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

/// The setting that switches IPv6 off on a device, which need not exist.
fn ipv6_off(dev: &str, read: impl Fn(&str) -> Option<String>) -> Option<String> {
    let value = |of: &str| read(&format!("/proc/sys/net/ipv6/conf/{of}/disable_ipv6"));
    let is_off = |value: &str| value.trim() == "1";
    // A new device has the value of `default`. That of `all` is in force on a device only as far as it was copied to it.
    let (of, value_of_device) = match value(dev) {
        Some(value) => (dev, value),
        None => ("default", value("default")?),
    };
    let of = if value("all").is_some_and(|value| is_off(&value)) { "all" } else { of };
    is_off(&value_of_device).then(|| format!("net.ipv6.conf.{of}.disable_ipv6"))
}

/// What a pool would take from the host, or what the host denies it.
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
    /// IPv6 is switched off in the kernel.
    Ipv6Off {
        /// The pool.
        subnet: IpNet,
        /// The setting of the kernel.
        sysctl: String,
    },
}

impl PoolConflict {
    /// The conflict, without the remedy.
    pub(crate) fn state(&self) -> String {
        match self {
            Self::Address { subnet, net, link } => format!("{subnet} overlaps {net} of {link}"),
            Self::Route { subnet, route } => format!("{subnet} is routed {route} already"),
            Self::Ipv6Off { subnet, sysctl } => {
                format!("{subnet} needs IPv6, which the kernel has switched off ({sysctl} is 1)")
            }
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
            Self::Ipv6Off { sysctl, .. } => {
                format!("`sysctl -w {sysctl}=0`, and a file in /etc/sysctl.d to keep it; or remove the pool")
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

    // Input:  the settings of a device that exists and of one that does not, with IPv6 on and off, there or everywhere.
    // Output: the setting that switches IPv6 off, if one does.
    #[test]
    fn the_setting_that_switches_ipv6_off_is_named() {
        let of = |settings: &[(&str, &str)]| {
            ipv6_off("n6", |path| {
                let name = path.strip_prefix("/proc/sys/net/ipv6/conf/")?.strip_suffix("/disable_ipv6")?;
                settings.iter().find(|(of, _)| *of == name).map(|(_, value)| format!("{value}\n"))
            })
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("all", "0"), ("default", "0"), ("n6", "0")]), None);
        assert_eq!(of(&[("all", "1"), ("default", "1")]).unwrap(), "net.ipv6.conf.all.disable_ipv6");
        assert_eq!(of(&[("all", "0"), ("default", "1")]).unwrap(), "net.ipv6.conf.default.disable_ipv6");
        assert_eq!(
            of(&[("all", "0"), ("default", "0"), ("n6", "1")]).unwrap(),
            "net.ipv6.conf.n6.disable_ipv6"
        );
        assert_eq!(of(&[("all", "1"), ("default", "1"), ("n6", "0")]), None);
    }
}
