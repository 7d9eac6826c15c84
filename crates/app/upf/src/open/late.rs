//! Interfaces and addresses that are not there yet, for example because the network is still being set up.

use std::fmt;
use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};

use causeway_ports::netlink::Netlink;

use super::address::addresses;
use crate::config::{GtpuMode, N6Mode, Upf};
use crate::error::StartError;

/// What the configuration names and the host does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Missing {
    /// The key that names it.
    key: String,
    what: MissingItem,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum MissingItem {
    Interface(String),
    AddressOf(String),
    Address(IpAddr),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            MissingItem::Interface(name) => write!(f, "interface {name}"),
            MissingItem::AddressOf(name) => write!(f, "an address of interface {name}"),
            MissingItem::Address(address) => write!(f, "address {address}"),
        }?;
        write!(f, " ({})", self.key)
    }
}

/// The first interface or address of the configuration that is not there; the UPF creates others itself. Nothing is missing
/// where that cannot be told: then opening says what is wrong.
pub(crate) fn first_missing(upf: &Upf) -> Option<Missing> {
    let n4 = (0..).zip(&upf.pfcp.server).find_map(|(n, server)| {
        let is_here = !server.address.is_some_and(|ip| upf.chain.has(ip));
        is_here.then(|| of_server(format!("upf.pfcp.server[{n}]"), server.address, server.dev.as_deref()))?
    });
    let chain = || {
        let mut devices = upf.chain.dev.iter().filter(|_| upf.chain.is_on());
        devices.find_map(|dev| interface("upf.chain.dev".into(), dev))
    };
    n4.or_else(|| of_packets(upf)).or_else(chain).or_else(|| of_management(upf))
}

/// Those of packet ports; of a P4 switch they are elsewhere.
fn of_packets(upf: &Upf) -> Option<Missing> {
    if upf.remote_switch().is_some() {
        return None;
    }
    let n3 = (0..).zip(&upf.gtpu.server).find_map(|(n, server)| {
        let key = format!("upf.gtpu.server[{n}]");
        // Below IP the address need not be one of the kernel.
        let address = server.address.filter(|_| upf.gtpu.mode == GtpuMode::Udp);
        let dev = server.dev.as_deref();
        match (address.or(server.address), dev) {
            (Some(ip), _) if upf.chain.has(ip) => None,
            (Some(_), Some(dev)) => interface(format!("{key}.dev"), dev),
            _ => of_server(key, address, dev),
        }
    });
    let n6 = || {
        let mut sessions = (0..).zip(&upf.session).filter(|(_, session)| session.mode == N6Mode::AfXdp);
        sessions.find_map(|(n, session)| interface(format!("upf.session[{n}].dev"), &session.dev))
    };
    let bridges = || {
        let networks = (0..).zip(&upf.ethernet);
        let mut named = networks.filter_map(|(n, network)| Some((n, network.bridge.as_deref()?)));
        named.find_map(|(n, bridge)| interface(format!("upf.ethernet[{n}].bridge"), bridge))
    };
    n3.or_else(n6).or_else(bridges)
}

fn of_management(upf: &Upf) -> Option<Missing> {
    let metrics = (0..).zip(&upf.metrics.server);
    let metrics = metrics.map(|(n, server)| (format!("upf.metrics.server[{n}].address"), server.address));
    let others = (0..).zip(&upf.management.server);
    let others = others.map(|(n, server)| (format!("upf.management.server[{n}].address"), server.address));
    metrics.chain(others).find_map(|(key, ip)| address(key, ip))
}

/// What is missing of an item of a `server` list.
fn of_server(key: String, given: Option<IpAddr>, dev: Option<&str>) -> Option<Missing> {
    match (given, dev) {
        (Some(ip), _) => address(format!("{key}.address"), ip),
        (None, Some(dev)) => {
            let missing = interface(format!("{key}.dev"), dev);
            missing.or_else(|| match addresses(&key, None, Some(dev)) {
                Err(StartError::NoAddress { key, dev }) => {
                    Some(Missing { key, what: MissingItem::AddressOf(dev) })
                }
                Ok(all) => all.into_iter().find_map(|ip| address(format!("{key}.dev"), ip)),
                Err(_) => None,
            })
        }
        (None, None) => None,
    }
}

fn interface(key: String, name: &str) -> Option<Missing> {
    match Netlink::open().and_then(|mut netlink| netlink.link(name)) {
        Ok(None) => Some(Missing { key, what: MissingItem::Interface(name.to_owned()) }),
        Ok(Some(_)) | Err(_) => None,
    }
}

/// An address that no socket may have yet: it is on no interface, or is still checked for duplicates (RFC 4862 clause 5.4).
fn address(key: String, ip: IpAddr) -> Option<Missing> {
    let error = UdpSocket::bind((ip, 0)).err()?;
    let is_missing = error.kind() == ErrorKind::AddrNotAvailable;
    is_missing.then_some(Missing { key, what: MissingItem::Address(ip) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{EthernetNetwork, GtpuServer, PfcpServer, Session};

    // Input:  a UPF on loopback; then N4 on an address of documentation, N3 on an interface that does not exist, N6 likewise in both
    //         modes, a bridge, and the interface of a chain.
    // Output: nothing is missing; then each, by its name and key. A TUN device is not: the UPF creates it.
    #[test]
    fn what_is_missing_is_named() {
        let missing = |upf: &Upf| first_missing(upf).map(|missing| missing.to_string());
        let here = Upf::default();
        assert_eq!(missing(&here), None);
        let mut upf = here.clone();
        upf.pfcp.server = vec![PfcpServer::at([192, 0, 2, 77].into(), 8805)];
        assert_eq!(missing(&upf).as_deref(), Some("address 192.0.2.77 (upf.pfcp.server[0].address)"));
        let mut upf = here.clone();
        upf.gtpu.server =
            vec![GtpuServer { address: None, dev: Some("nowhere0".into()), ..GtpuServer::default() }];
        assert_eq!(missing(&upf).as_deref(), Some("interface nowhere0 (upf.gtpu.server[0].dev)"));
        let mut upf = here.clone();
        upf.session = vec![Session { dev: "nowhere1".into(), ..Session::default() }];
        assert_eq!(missing(&upf), None);
        upf.session[0].mode = N6Mode::AfXdp;
        assert_eq!(missing(&upf).as_deref(), Some("interface nowhere1 (upf.session[0].dev)"));
        let mut upf = here.clone();
        upf.chain.dev = vec!["lo".into(), "nowhere3".into()];
        assert_eq!(missing(&upf), None);
        upf.chain.member = Some(1);
        assert_eq!(missing(&upf).as_deref(), Some("interface nowhere3 (upf.chain.dev)"));
        let mut upf = here;
        upf.ethernet =
            vec![EthernetNetwork { bridge: Some("nowhere2".into()), ..EthernetNetwork::new("lan") }];
        assert_eq!(missing(&upf).as_deref(), Some("interface nowhere2 (upf.ethernet[0].bridge)"));
    }
}
