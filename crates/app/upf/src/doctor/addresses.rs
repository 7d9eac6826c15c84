//! Local addresses: whether an interface has them, other hosts can reach them, and their ports are free.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;

use super::Finding;
use crate::chain::DEVICE;
use crate::config::{GtpuMode, ManagementAccess, Upf};
use crate::host_networks::HostNetworks;
use crate::open::{self, AccessError, ManagementControl};

pub(super) fn check(upf: &Upf, host: &HostNetworks) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (n, server) in upf.pfcp.server.iter().enumerate() {
        let key = format!("upf.pfcp.server[{n}]");
        let (address, dev) = (server.address, server.dev.as_deref());
        if let Some(ip) = address.filter(|ip| upf.chain.has(*ip)) {
            findings.push(of_service(&key, "PFCP", ip, host));
            continue;
        }
        findings.extend(each(&key, address, dev, |ip| {
            let bound = UdpSocket::bind(SocketAddr::new(ip, server.port)).map(drop);
            of_socket(&key, "PFCP", "udp", SocketAddr::new(ip, server.port), bound)
        }));
    }
    if !upf.dataplane.is_switch() {
        findings.extend(gtpu(upf, host));
    }
    if upf.chain.is_on() {
        findings.extend(upf.chain.dev.iter().map(|dev| of_announcements(dev, host)));
    }
    for (n, server) in upf.metrics.server.iter().enumerate() {
        let key = format!("upf.metrics.server[{n}]");
        let bound = TcpListener::bind(server.socket()).map(drop);
        findings.push(of_socket(&key, "HTTP", "tcp", server.socket(), bound));
    }
    findings.extend(management(&upf.management));
    findings
}

/// The findings on access to the management API: its addresses, its files and its Unix socket.
fn management(access: &ManagementAccess) -> Vec<Finding> {
    const SOCKET: &str = "upf.management.socket";
    let mut findings = Vec::new();
    for (n, server) in access.server.iter().enumerate() {
        let key = format!("upf.management.server[{n}]");
        let bound = TcpListener::bind(server.socket()).map(drop);
        findings.push(of_socket(&key, "HTTP", "tcp", server.socket(), bound));
    }
    if let Err((key, error)) = ManagementControl::prepare(access) {
        let remedy = "give a file that is there and fits, readable by the user of the UPF";
        findings.push(Finding::failure(key, error.to_string(), remedy));
    }
    let Some(path) = &access.socket.path else { return findings };
    let shown = path.display();
    findings.push(match open::check_unix(path, &access.socket) {
        Ok(()) => Finding::good(SOCKET, format!("{shown}, free")),
        Err(AccessError::Socket { source, .. }) if source.kind() == ErrorKind::AddrInUse => {
            let remedy = "as it should be if this UPF is running; otherwise `ss -lxp` names the process";
            Finding::warning(SOCKET, format!("{shown}, in use"), remedy)
        }
        // Service managers make such folders at the start.
        Err(AccessError::Socket { source, .. })
            if source.kind() == ErrorKind::NotFound && path.parent().and_then(Path::parent) == Some(Path::new("/run")) =>
        {
            let remedy = "none if a service manager makes it (RuntimeDirectory of causeway.service); otherwise create it";
            Finding::warning(SOCKET, format!("{shown}: its folder does not exist now"), remedy)
        }
        Err(error) => Finding::failure(SOCKET, error.to_string(), "correct the key, or what it names"),
    });
    findings
}

fn gtpu(upf: &Upf, host: &HostNetworks) -> Vec<Finding> {
    let mut findings = Vec::new();
    if upf.gtpu.mode == GtpuMode::Vxlan {
        // Its addresses are those of a segment, not of the kernel.
        return findings;
    }
    for (n, server) in upf.gtpu.server.iter().enumerate() {
        let key = format!("upf.gtpu.server[{n}]");
        if let Some(ip) = server.address.filter(|ip| upf.chain.has(*ip)) {
            findings.push(of_service(&key, "GTP-U", ip, host));
            continue;
        }
        findings.extend(each(&key, server.address, server.dev.as_deref(), |ip| {
            let at = SocketAddr::new(ip, server.port);
            if upf.gtpu.mode == GtpuMode::Udp {
                return of_socket(&key, "GTP-U", "udp", at, UdpSocket::bind(at).map(drop));
            }
            match host.link_of(ip) {
                Some(link) if link.up => {
                    Finding::good(&key, format!("GTP-U on {ip}, interface {}", link.name))
                }
                Some(link) => {
                    let remedy = format!("`ip link set dev {} up`", link.name);
                    Finding::failure(&key, format!("interface {} is down", link.name), remedy)
                }
                None => no_address(&key, ip),
            }
        }));
        let loopback = server.address.filter(IpAddr::is_loopback);
        if let Some(ip) = loopback.filter(|_| upf.pfcp.server.iter().any(|n4| n4.address != server.address)) {
            findings.push(Finding::warning(
                &key,
                format!("{ip} is a loopback address: no gNB on another host reaches it"),
                "give an address of the interface towards the gNBs",
            ));
        }
    }
    findings
}

/// The finding on a service address of a chain: the primary alone has it, on a device of its own.
fn of_service(key: &str, protocol: &str, ip: IpAddr, host: &HostNetworks) -> Finding {
    match host.link_of(ip) {
        None => Finding::good(
            key,
            format!("{protocol} on {ip}, which this host gets when it is the primary of the chain"),
        ),
        Some(link) if link.name == DEVICE => {
            Finding::good(key, format!("{protocol} on {ip}, as the primary of the chain"))
        }
        Some(link) => Finding::failure(
            key,
            format!("interface {} has {ip}, also while the other member is the primary", link.name),
            format!("remove it: `ip address del {ip}/PREFIX dev {}`", link.name),
        ),
    }
}

/// The finding on an interface on which the primary announces the service addresses.
fn of_announcements(dev: &str, host: &HostNetworks) -> Finding {
    const KEY: &str = "upf.chain.dev";
    match host.link(dev) {
        None => {
            Finding::failure(KEY, format!("there is no interface {dev}"), "create it, or correct the key")
        }
        Some(link) if link.mac.is_none() => Finding::failure(
            KEY,
            format!("{dev} has no MAC address: addresses cannot be announced on it"),
            "give an Ethernet interface",
        ),
        Some(link) if !link.up => {
            Finding::failure(KEY, format!("interface {dev} is down"), format!("`ip link set dev {dev} up`"))
        }
        Some(_) => Finding::good(KEY, format!("the primary announces the service addresses on {dev}")),
    }
}

/// The findings on each address of an item of a `server` list.
fn each(
    key: &str,
    address: Option<IpAddr>,
    dev: Option<&str>,
    check: impl Fn(IpAddr) -> Finding,
) -> Vec<Finding> {
    match open::addresses(key, address, dev) {
        Ok(addresses) => addresses.into_iter().map(check).collect(),
        Err(error) => {
            vec![Finding::failure(key, error.to_string(), "create the interface, or correct the key")]
        }
    }
}

/// The finding on a socket that was opened and closed again.
pub(super) fn of_socket(
    key: &str,
    protocol: &str,
    transport: &str,
    at: SocketAddr,
    bound: io::Result<()>,
) -> Finding {
    match bound.map_err(|error| (error.kind(), error)) {
        Ok(()) => Finding::good(key, format!("{protocol} on {at}, free")),
        Err((ErrorKind::AddrInUse, _)) => Finding::warning(
            key,
            format!("{protocol} on {at}, in use"),
            format!(
                "as it should be if this UPF is running; otherwise `ss -lnp --{transport} sport = :{}` names the process",
                at.port()
            ),
        ),
        Err((ErrorKind::AddrNotAvailable, _)) => no_address(key, at.ip()),
        Err((_, error)) => Finding::failure(key, format!("{protocol} on {at}: {error}"), "run as root"),
    }
}

fn no_address(key: &str, ip: IpAddr) -> Finding {
    let remedy = format!("`ip address add {ip}/PREFIX dev INTERFACE`, or correct the key");
    Finding::failure(key, format!("no interface of this host has {ip}"), remedy)
}

#[cfg(test)]
mod tests {
    use causeway_ports::netlink::Link;
    use causeway_types::MacAddr;

    use super::*;
    use crate::config::{Config, Overrides};
    use crate::doctor::Verdict;

    // Input:  a member of a chain on a host without its service address; on the primary; on a host that has the address on an interface, and not the interface of
    //         `chain.dev`; with that interface down, or without MAC address.
    // Output: nothing to do; nothing to do; what is wrong, and that the address is to be removed, not added.
    #[test]
    fn a_service_address_is_on_no_interface_of_a_member() {
        let text = "upf: {pfcp: {server: [{address: 192.0.2.10}]}, gtpu: {server: [{address: 192.0.2.10}]}, \
                    chain: {member: 1, listen: 192.0.2.1, peer: 192.0.2.2, coordinator: 192.0.2.3, address: 192.0.2.10, dev: eth0}}";
        let upf = Config::parse(None, text, &Overrides::default()).unwrap().upf;
        let ethernet = |name: &str| Link {
            index: 2,
            name: name.into(),
            mac: Some(MacAddr([2, 0, 0, 0, 0, 1])),
            up: true,
            ..Link::default()
        };
        let (eth0, service) = (ethernet("eth0"), "192.0.2.10/32".parse().unwrap());
        let device = Link { index: 7, mac: None, ..ethernet(DEVICE) };
        let own = (2, "192.0.2.1/24".parse().unwrap());
        let of = |links: Vec<Link>, addresses| {
            let mut findings = check(&upf, &HostNetworks { links, addresses, routes: Vec::new() });
            findings.retain(|finding| !finding.subject.starts_with("upf.metrics"));
            findings
        };
        for good in
            [of(vec![eth0.clone()], vec![own]), of(vec![eth0.clone(), device], vec![own, (7, service)])]
        {
            assert_eq!(good.len(), 3, "{good:?}");
            assert!(good.iter().all(|finding| finding.verdict == Verdict::Good), "{good:?}");
        }
        let bad = of(vec![ethernet("eth1")], vec![(2, service)]);
        let states: Vec<&str> = bad.iter().map(|finding| finding.state.as_str()).collect();
        let has = "interface eth1 has 192.0.2.10, also while the other member is the primary";
        assert_eq!(states, [has, has, "there is no interface eth0"]);
        let remedies = || bad.iter().filter_map(|finding| finding.remedy.as_deref());
        assert!(remedies().any(|remedy| remedy.contains("ip address del 192.0.2.10")));
        assert!(remedies().all(|remedy| !remedy.contains("ip address add")));
        for (link, what) in
            [(Link { up: false, ..eth0.clone() }, "is down"), (Link { mac: None, ..eth0 }, "no MAC")]
        {
            let found = of(vec![link], vec![own]);
            assert!(found.iter().any(|finding| finding.state.contains(what)), "{what}: {found:?}");
        }
    }
}
