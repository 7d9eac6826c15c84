//! Local addresses: whether an interface has them, other hosts can reach them, and their ports are free.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};

use super::{Finding, Interfaces};
use crate::config::{GtpuMode, Upf};
use crate::open;

pub(super) fn check(upf: &Upf, interfaces: &Interfaces) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (n, server) in upf.pfcp.server.iter().enumerate() {
        let key = format!("upf.pfcp.server[{n}]");
        let (address, dev) = (server.address, server.dev.as_deref());
        findings.extend(each(&key, address, dev, |ip| {
            let bound = UdpSocket::bind(SocketAddr::new(ip, server.port)).map(drop);
            of_socket(&key, "PFCP", "udp", SocketAddr::new(ip, server.port), bound)
        }));
    }
    if !upf.dataplane.is_switch() {
        findings.extend(gtpu(upf, interfaces));
    }
    for (n, server) in upf.metrics.server.iter().enumerate() {
        let key = format!("upf.metrics.server[{n}]");
        let bound = TcpListener::bind(server.socket()).map(drop);
        findings.push(of_socket(&key, "HTTP", "tcp", server.socket(), bound));
    }
    findings
}

fn gtpu(upf: &Upf, interfaces: &Interfaces) -> Vec<Finding> {
    let mut findings = Vec::new();
    if upf.gtpu.mode == GtpuMode::Vxlan {
        // Its addresses are those of a segment, not of the kernel.
        return findings;
    }
    for (n, server) in upf.gtpu.server.iter().enumerate() {
        let key = format!("upf.gtpu.server[{n}]");
        findings.extend(each(&key, server.address, server.dev.as_deref(), |ip| {
            let at = SocketAddr::new(ip, server.port);
            if upf.gtpu.mode == GtpuMode::Udp {
                return of_socket(&key, "GTP-U", "udp", at, UdpSocket::bind(at).map(drop));
            }
            match interfaces.link_of(ip) {
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
