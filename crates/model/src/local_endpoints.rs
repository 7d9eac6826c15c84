//! The GTP-U addresses and data networks that rules may name.

use std::net::{IpAddr, Ipv4Addr};

use causeway_types::{DualIp, IpNet, NetworkInstance};

use crate::PolicyName;

/// The topology around the UPF, as far as rules refer to it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LocalEndpoints {
    /// The addresses at which GTP-U arrives, the preferred first.
    pub gtpu: Vec<LocalEndpoint>,
    /// The data networks (N6) of IP packets, the default first.
    pub networks: Vec<NetworkInstance>,
    /// The data networks (N6) of Ethernet frames, the default first.
    pub ethernet: Vec<NetworkInstance>,
    /// The local ends of tunnels over N6.
    pub n6_tunnels: Vec<N6Address>,
    /// The forwarding policies that FARs may refer to.
    pub policies: Vec<KnownPolicy>,
    /// The prefixes that framed routes of each data network may lie in.
    pub routable: Vec<(NetworkInstance, Vec<IpNet>)>,
    /// Networks beside the UPF, and so behind no UE: those that its host is connected to, and SMFs.
    pub neighbours: Vec<IpNet>,
    /// The addresses of the UPF's host that are not tunnel ends, and so no UE's: gateways, N4 and others; sorted.
    pub own: Vec<IpAddr>,
}

/// A forwarding policy as far as rules are checked against it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownPolicy {
    /// Its name.
    pub name: PolicyName,
    /// It answers HTTP requests locally, so the FAR need not forward.
    pub answers_http: bool,
}

/// The local end of the tunnels of one data network (N6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct N6Address {
    /// IPv4, IPv6 or both.
    pub addr: DualIp,
    /// The data network.
    pub network: NetworkInstance,
}

/// A GTP-U address of the UPF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalEndpoint {
    /// IPv4, IPv6 or both.
    pub addr: DualIp,
    /// The network instance it serves; `None` serves all.
    pub network_instance: Option<NetworkInstance>,
}

impl LocalEndpoints {
    /// The endpoints that serve a network instance: its own first, then those that serve all. Without a network
    /// instance: all endpoints, those that serve all first.
    fn serving<'a>(
        &'a self,
        instance: Option<&'a NetworkInstance>,
    ) -> impl Iterator<Item = &'a LocalEndpoint> {
        let named = self.gtpu.iter().filter(move |endpoint| match instance {
            Some(_) => endpoint.network_instance.as_ref() == instance,
            None => false,
        });
        let general = self.gtpu.iter().filter(|endpoint| endpoint.network_instance.is_none());
        let others = self
            .gtpu
            .iter()
            .filter(move |endpoint| instance.is_none() && endpoint.network_instance.is_some());
        named.chain(general).chain(others)
    }

    /// The addresses for a tunnel of a network instance. A requested version that no endpoint has is left out;
    /// empty if none is left.
    pub fn addresses(&self, instance: Option<&NetworkInstance>, v4: bool, v6: bool) -> DualIp {
        let serving = || self.serving(instance).map(|endpoint| endpoint.addr);
        DualIp {
            v4: serving().find_map(|addr| addr.v4).filter(|_| v4),
            v6: serving().find_map(|addr| addr.v6).filter(|_| v6),
        }
    }

    /// GTP-U of this network instance arrives at this address.
    pub fn is_local(&self, ip: IpAddr, instance: Option<&NetworkInstance>) -> bool {
        self.serving(instance).any(|endpoint| endpoint.addr.contains(ip))
    }

    /// GTP-U can be sent to this address, by its IP version.
    pub fn can_send_to(&self, ip: IpAddr) -> bool {
        self.gtpu.iter().any(|endpoint| match ip {
            IpAddr::V4(_) => endpoint.addr.v4.is_some(),
            IpAddr::V6(_) => endpoint.addr.v6.is_some(),
        })
    }

    /// The prefixes that framed routes of a data network may lie in; of any, if it is not a local data network.
    pub fn routable(&self, network: Option<&NetworkInstance>) -> impl Iterator<Item = &IpNet> {
        let network = network.filter(|network| self.is_network(network));
        let of_network =
            self.routable.iter().filter(move |(of, _)| network.is_none_or(|network| network == of));
        of_network.flat_map(|(_, ranges)| ranges)
    }

    /// A UE may have the address.
    ///
    /// # Errors
    /// Why no UE can have it.
    pub fn check_ue(&self, ip: IpAddr) -> Result<(), &'static str> {
        match unusable(ip) {
            Some(reason) => Err(reason),
            None if ip.is_loopback() => Err("a UE cannot have a loopback address"),
            None if self.is_own(ip) => Err("it is an address of this UPF or of its host"),
            None => Ok(()),
        }
    }

    /// A tunnel may lead to the address. Loopback addresses belong to gNBs on this host, if a local GTP-U address
    /// is one, too.
    ///
    /// # Errors
    /// Why no tunnel can end there.
    pub fn check_peer(&self, ip: IpAddr) -> Result<(), &'static str> {
        match unusable(ip) {
            Some(reason) => Err(reason),
            None if ip.is_loopback() && !self.is_inside() => Err("a peer cannot have a loopback address"),
            None if self.is_tunnel_end(ip) => Err("it is an address of this UPF"),
            None => Ok(()),
        }
    }

    /// The address is a common one of another host, UE or peer: [`LocalEndpoints::check_peer`] accepts it. It may
    /// accept other addresses as well.
    #[inline]
    pub fn is_usual(&self, ip: Ipv4Addr) -> bool {
        let [first, ..] = ip.octets();
        (1..224).contains(&first)
            && (!ip.is_loopback() || self.is_inside())
            && !self.gtpu.iter().any(|end| end.addr.v4 == Some(ip))
            && !self.n6_tunnels.iter().any(|end| end.addr.v4 == Some(ip))
    }

    /// GTP-U arrives at a loopback address.
    fn is_inside(&self) -> bool {
        self.gtpu.iter().any(|end| end.addr.iter().any(|ip| ip.is_loopback()))
    }

    /// The address is one of the other addresses of this host.
    pub fn has_local(&self, ip: Ipv4Addr) -> bool {
        self.own.binary_search(&ip.into()).is_ok()
    }

    /// GTP-U, or a tunnel over N6, ends at this address of the UPF.
    fn is_tunnel_end(&self, ip: IpAddr) -> bool {
        self.gtpu.iter().any(|end| end.addr.contains(ip))
            || self.n6_tunnels.iter().any(|end| end.addr.contains(ip))
    }

    /// An address of this UPF or of its host lies in the prefix.
    pub fn has_own_in(&self, net: &IpNet) -> bool {
        let ends = self.gtpu.iter().map(|end| end.addr).chain(self.n6_tunnels.iter().map(|end| end.addr));
        let next = self.own.partition_point(|ip| *ip < net.network());
        self.own.get(next).is_some_and(|ip| net.contains(ip))
            || ends.flat_map(|addr| addr.iter()).any(|ip| net.contains(&ip))
    }

    fn is_own(&self, ip: IpAddr) -> bool {
        self.is_tunnel_end(ip) || self.own.binary_search(&ip).is_ok()
    }

    /// The forwarding policy of that name.
    pub fn policy(&self, name: &PolicyName) -> Option<&KnownPolicy> {
        self.policies.iter().find(|policy| policy.name == *name)
    }

    /// Tunnels over N6 of this IP version can end at the UPF, in this network or, without one, in the default.
    pub fn has_n6_tunnel(&self, network: Option<&NetworkInstance>, v6: bool) -> bool {
        let network = network.or(self.networks.first());
        let of_network = self.n6_tunnels.iter().filter(|end| Some(&end.network) == network);
        of_network.map(|end| end.addr).any(|addr| if v6 { addr.v6.is_some() } else { addr.v4.is_some() })
    }

    /// The network instance is a data network or serves GTP-U.
    pub fn knows(&self, instance: &NetworkInstance) -> bool {
        self.is_network(instance)
            || self.is_ethernet(instance)
            || self.gtpu.iter().any(|endpoint| endpoint.network_instance.as_ref() == Some(instance))
    }

    /// The network instance is a data network of IP packets.
    pub fn is_network(&self, instance: &NetworkInstance) -> bool {
        self.networks.contains(instance)
    }

    /// The network instance is a data network of Ethernet frames.
    pub fn is_ethernet(&self, instance: &NetworkInstance) -> bool {
        self.ethernet.contains(instance)
    }
}

/// Why no host can have the address, if none can.
fn unusable(ip: IpAddr) -> Option<&'static str> {
    let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    let is_mapped = matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some());
    match () {
        () if ip.is_unspecified() => Some("no host has the unspecified address"),
        () if ip.is_multicast() => Some("no host has a multicast address"),
        () if is_broadcast => Some("no host has the broadcast address"),
        () if is_mapped => Some("no host has an IPv4-mapped address"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(addr: &str, instance: Option<&str>) -> LocalEndpoint {
        let addr: IpAddr = addr.parse().unwrap();
        LocalEndpoint { addr: addr.into(), network_instance: instance.map(NetworkInstance::new) }
    }

    fn endpoints() -> LocalEndpoints {
        LocalEndpoints {
            gtpu: vec![
                endpoint("192.0.2.1", Some("access")),
                endpoint("192.0.2.2", None),
                endpoint("2001:db8::2", None),
            ],
            networks: vec![NetworkInstance::new("internet")],
            ..LocalEndpoints::default()
        }
    }

    // Input:  endpoints of the instance `access` and of all instances, the IPv6 one separate.
    // Output: the instance's own address where it has one, the general one elsewhere.
    #[test]
    fn an_instance_prefers_its_own_endpoint() {
        let all = endpoints();
        let access = NetworkInstance::new("access");
        let internet = NetworkInstance::new("internet");
        let shown = |instance, v4, v6| all.addresses(instance, v4, v6).to_string();
        assert_eq!(shown(Some(&access), true, true), "192.0.2.1/2001:db8::2");
        assert_eq!(shown(Some(&internet), true, true), "192.0.2.2/2001:db8::2");
        assert_eq!(shown(None, true, false), "192.0.2.2");
        assert_eq!(shown(None, false, true), "2001:db8::2");
    }

    // Input:  an address of another instance, and one that is not local.
    // Output: neither is local for `internet`; the first is for `access`.
    #[test]
    fn an_address_is_local_to_its_instance() {
        let all = endpoints();
        let access: IpAddr = "192.0.2.1".parse().unwrap();
        assert!(all.is_local(access, Some(&NetworkInstance::new("access"))));
        assert!(!all.is_local(access, Some(&NetworkInstance::new("internet"))));
        assert!(all.is_local(access, None));
        assert!(!all.is_local("192.0.2.9".parse().unwrap(), None));
    }

    // Input:  only an endpoint of the instance `access`.
    // Output: nothing serves `internet`, so no address is given out.
    #[test]
    fn no_endpoint_no_address() {
        let mut all = endpoints();
        all.gtpu.truncate(1);
        assert!(all.addresses(Some(&NetworkInstance::new("internet")), true, true).is_empty());
        assert!(!all.addresses(None, true, true).is_empty());
        assert!(!all.can_send_to("2001:db8::9".parse().unwrap()));
    }
}
