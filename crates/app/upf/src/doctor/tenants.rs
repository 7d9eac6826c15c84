//! VXLAN segments, and the firewall.

use std::net::{SocketAddr, UdpSocket};

use causeway_packet::vxlan::PORT;
use causeway_ports::vxlan::overhead;

use super::Finding;
use super::addresses::of_socket;
use crate::config::{N6Mode, Upf};
use crate::host_networks::HostNetworks;

pub(super) fn check(upf: &Upf, host: &HostNetworks) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A switch has the addresses of its segments.
    let of_host = upf.vxlan.iter().enumerate().filter(|_| upf.remote_switch().is_none());
    for (n, segment) in of_host {
        let (key, at) = (format!("upf.vxlan[{n}]"), SocketAddr::new(segment.local, PORT));
        let is_first = upf.vxlan[..n].iter().all(|earlier| earlier.local != segment.local);
        if is_first {
            findings.push(of_socket(&key, "VXLAN", "udp", at, UdpSocket::bind(at).map(drop)));
        }
        let Some(link) = host.link_of(segment.local) else { continue };
        let possible = link.mtu.saturating_sub(overhead(segment.local.is_ipv4()));
        let is_its = |dev: &str, mode| dev == segment.name && mode == N6Mode::Vxlan;
        for session in upf.session.iter().filter(|session| is_its(&session.dev, session.mode)) {
            if session.mtu > possible {
                let needed = session.mtu + overhead(segment.local.is_ipv4());
                findings.push(Finding::warning(
                    &key,
                    format!(
                        "MTU {} of {}: the MTU of the segment is {possible}, not {}",
                        link.mtu, link.name, session.mtu
                    ),
                    format!(
                        "`ip link set dev {} mtu {needed}` on the whole path, or upf.session.mtu {possible}",
                        link.name
                    ),
                ));
            }
        }
    }
    if upf.firewall.compiled.is_some() && !upf.ethernet.is_empty() {
        findings.push(Finding::warning(
            "upf.firewall",
            "frames of Ethernet sessions are not subject to the firewall".to_owned(),
            "filter at the bridge of upf.ethernet, for example with nftables",
        ));
    }
    findings
}
