//! Addresses of interfaces.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use causeway_ports::PortError;
use causeway_ports::netlink::Netlink;
use causeway_types::{DualIp, IpNet};

use crate::config::{Chain, Pfcp, Upf};
use crate::error::StartError;

/// The addresses of an item of a `server` list: its address, or all addresses of its interface.
pub(crate) fn addresses(
    key: &str,
    address: Option<IpAddr>,
    dev: Option<&str>,
) -> Result<Vec<IpAddr>, StartError> {
    match (address, dev) {
        (Some(address), _) => Ok(vec![address]),
        (None, Some(dev)) => of_interface(key, dev),
        (None, None) => Ok(Vec::new()),
    }
}

/// The addresses of a server, each with the one that is advertised instead, if there is one.
///
/// # Errors
/// An advertised address stands for none, or for several addresses of the interface.
pub(super) fn advertised(
    key: &str,
    addresses: &[IpAddr],
    advertise: &[IpAddr],
) -> Result<Vec<(IpAddr, Option<IpAddr>)>, StartError> {
    for instead in advertise {
        let count = addresses.iter().filter(|own| own.is_ipv4() == instead.is_ipv4()).count();
        if count != 1 {
            let (key, advertised) = (format!("{key}.advertise"), *instead);
            return Err(StartError::Advertise { key, advertised, count });
        }
    }
    let instead = |own: &IpAddr| advertise.iter().find(|instead| instead.is_ipv4() == own.is_ipv4()).copied();
    Ok(addresses.iter().map(|own| (*own, instead(own))).collect())
}

fn of_interface(key: &str, dev: &str) -> Result<Vec<IpAddr>, StartError> {
    let port = |source| StartError::Port { key: format!("{key}.dev"), source };
    let mut netlink = Netlink::open().map_err(port)?;
    let link = netlink.link(dev).map_err(port)?;
    let link = link.ok_or_else(|| port(PortError::InterfaceMissing { name: dev.to_owned() }))?;
    let all = netlink.addresses().map_err(port)?;
    let usable = |ip: &IpAddr| !matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let of_link = all.into_iter().filter(|(index, _)| *index == link.index).map(|(_, net)| net.addr());
    let addresses: Vec<IpAddr> = of_link.filter(usable).collect();
    if addresses.is_empty() {
        return Err(StartError::NoAddress { key: format!("{key}.dev"), dev: dev.to_owned() });
    }
    Ok(addresses)
}

/// The N4 addresses, each with its key.
///
/// # Errors
/// An interface does not exist or has no address.
pub(crate) fn n4_addresses(pfcp: &Pfcp) -> Result<Vec<(String, SocketAddr)>, StartError> {
    let mut found = Vec::new();
    for (n, server) in pfcp.server.iter().enumerate() {
        let key = format!("upf.pfcp.server[{n}]");
        let of_server = addresses(&key, server.address, server.dev.as_deref())?;
        found.extend(of_server.into_iter().map(|ip| (key.clone(), SocketAddr::new(ip, server.port))));
    }
    Ok(found)
}

/// The addresses of N4 that SMFs are told, one of each IP version: the first of the configuration, or what it advertises
/// instead.
///
/// # Errors
/// As for [`n4_addresses`], or an advertised address does not stand for one address.
pub(crate) fn advertised_n4_address(pfcp: &Pfcp) -> Result<DualIp, StartError> {
    let mut found = DualIp { v4: None, v6: None };
    for (n, server) in pfcp.server.iter().enumerate() {
        let key = format!("upf.pfcp.server[{n}]");
        let own = addresses(&key, server.address, server.dev.as_deref())?;
        for (own, instead) in advertised(&key, &own, &server.advertise)? {
            match instead.unwrap_or(own) {
                IpAddr::V4(ip) => found.v4 = found.v4.or(Some(ip)),
                IpAddr::V6(ip) => found.v6 = found.v6.or(Some(ip)),
            }
        }
    }
    Ok(found)
}

/// The networks that may set up associations: the configured SMFs and allowed networks; if there are none, loopback and
/// the networks of the interfaces that have these N4 addresses.
pub(crate) fn smf_networks(upf: &Upf, n4: &[SocketAddr]) -> Vec<IpNet> {
    let pfcp = &upf.pfcp;
    let mut all: Vec<IpNet> = pfcp.client.smf.iter().map(|smf| IpNet::from(smf.address)).collect();
    all.extend(pfcp.smf.iter().flat_map(|smf| &smf.address));
    if pfcp.allow.is_empty() {
        let loopback = [(IpAddr::from([127, 0, 0, 0]), 8), (IpAddr::from(Ipv6Addr::LOCALHOST), 128)];
        all.extend(loopback.into_iter().filter_map(|(ip, len)| IpNet::new(ip, len).ok()));
        all.extend(connected(&upf.chain, n4));
    }
    all.extend(&pfcp.allow);
    all
}

/// The networks of the interfaces that have these addresses; none if they cannot be read. Service addresses of a chain count as those of the
/// interfaces that announce them, whether or not this host has them.
pub(crate) fn connected(chain: &Chain, n4: &[SocketAddr]) -> Vec<IpNet> {
    let (of_service, own): (Vec<IpAddr>, Vec<IpAddr>) =
        n4.iter().map(SocketAddr::ip).partition(|ip| chain.has(*ip));
    let announcing: &[String] = if of_service.is_empty() { &[] } else { &chain.dev };
    let read = || {
        let mut netlink = Netlink::open()?;
        let mut links = Vec::new();
        for name in announcing {
            links.extend(netlink.link(name)?.map(|link| link.index));
        }
        Ok::<_, PortError>((links, netlink.addresses()?))
    };
    let (mut links, addresses) = read().unwrap_or_default();
    let is_ours = |net: &IpNet| own.contains(&net.addr());
    links.extend(addresses.iter().filter(|(_, net)| is_ours(net)).map(|(link, _)| *link));
    let of_links = addresses.into_iter().filter(|(link, _)| links.contains(link));
    let mut nets: Vec<IpNet> =
        of_links.map(|(_, net)| net.trunc()).filter(|net| !net.addr().is_loopback()).collect();
    nets.dedup();
    nets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PfcpServer;

    // Input:  N4 on two IPv4 addresses and an IPv6 address, of which the first advertises another address, and the last one
    //         of a version that it does not have.
    // Output: the advertised address and the IPv6 address are told; the latter is an error with its key.
    #[test]
    fn smfs_are_told_what_is_advertised() {
        let server = |address: &str, advertise: &[&str]| PfcpServer {
            advertise: advertise.iter().map(|ip| ip.parse().unwrap()).collect(),
            ..PfcpServer::at(address.parse().unwrap(), 8805)
        };
        let servers = vec![
            server("192.0.2.1", &["198.51.100.7"]),
            server("192.0.2.2", &["198.51.100.8"]),
            server("2001:db8::1", &[]),
        ];
        let mut pfcp = Pfcp { server: servers, ..Pfcp::default() };
        let advertised = advertised_n4_address(&pfcp).unwrap();
        assert_eq!((advertised.v4, advertised.v6), ("198.51.100.7".parse().ok(), "2001:db8::1".parse().ok()));
        pfcp.server[2] = server("2001:db8::1", &["198.51.100.9"]);
        let error = advertised_n4_address(&pfcp).unwrap_err().to_string();
        assert!(error.starts_with("upf.pfcp.server[2].advertise: 198.51.100.9 would stand for 0"), "{error}");
    }

    // Input:  the loopback interface, one that does not exist, and an address.
    // Output: the addresses of the first, the name of the second, the third as it is.
    #[test]
    fn an_interface_stands_for_its_addresses() {
        let lo = addresses("upf.pfcp.server[0]", None, Some("lo"));
        match lo {
            Ok(found) => assert!(found.contains(&IpAddr::from([127, 0, 0, 1])), "{found:?}"),
            // A namespace whose loopback interface is down has no address on it.
            Err(error) => assert!(error.to_string().contains("has no address"), "{error}"),
        }
        let missing = addresses("upf.pfcp.server[0]", None, Some("nonexistent0")).unwrap_err();
        assert!(
            missing
                .to_string()
                .starts_with("upf.pfcp.server[0].dev: interface nonexistent0 does not exist: create it")
        );
        let given: IpAddr = "2001:db8::1".parse().unwrap();
        assert_eq!(addresses("k", Some(given), Some("eth0")).unwrap(), [given]);
    }
}
