//! What the kernel does with packets between the UPF and the data networks.

use std::fs;
use std::net::IpAddr;
use std::process::Command;

use causeway_types::IpNet;

use super::Finding;
use crate::config::{N6Mode, Upf};
use crate::host_networks::HostNetworks;
use crate::open::{KernelForwarding, kernel_forwarding};

/// Octets of the outer IPv4, UDP and GTP-U headers, with a PDU Session Container.
const OUTER_IPV4: u32 = 44;

/// The same with IPv6.
const OUTER_IPV6: u32 = 64;

pub(super) fn check(upf: &Upf, host: &HostNetworks) -> Vec<Finding> {
    if upf.dataplane.is_switch() {
        return Vec::new();
    }
    let mut findings = mtus(upf, host);
    for (n, session) in upf.session.iter().enumerate() {
        let key = format!("upf.session[{n}]");
        findings.extend(
            host.conflict(session, |name| name == session.dev).map(|conflict| {
                Finding::failure(format!("{key}.subnet"), conflict.state(), conflict.remedy())
            }),
        );
        if session.mode == N6Mode::AfXdp && host.link(&session.dev).is_none() {
            let remedy = "create it, or correct the key";
            findings.push(Finding::failure(
                format!("{key}.dev"),
                format!("there is no interface {}", session.dev),
                remedy,
            ));
        }
    }
    let subnets = subnets_behind_tun(upf);
    if !subnets.is_empty() {
        findings.extend(forwarding(upf));
        findings.extend(default_routes(&subnets));
        findings.extend(firewall(upf));
    }
    findings
}

/// The subnets whose packets the kernel forwards.
fn subnets_behind_tun(upf: &Upf) -> Vec<IpNet> {
    upf.session.iter().filter(|session| session.mode == N6Mode::Tun).map(|session| session.subnet).collect()
}

const fn is_v4(net: &IpNet) -> bool {
    matches!(net, IpNet::V4(_))
}

/// Packets of the size that N6 admits fit into tunnels on N3.
fn mtus(upf: &Upf, host: &HostNetworks) -> Vec<Finding> {
    let largest = upf.session.iter().map(|session| session.mtu).max().unwrap_or(0);
    let mut findings = Vec::new();
    for (n, server) in upf.gtpu.server.iter().enumerate() {
        let Some(ip) = server.address else { continue };
        let Some(link) = host.link_of(ip) else { continue };
        let mtu = server.mtu.unwrap_or(link.mtu).min(link.mtu);
        let outer = if ip.is_ipv4() { OUTER_IPV4 } else { OUTER_IPV6 };
        let (key, needed) = (format!("upf.gtpu.server[{n}]"), largest + outer);
        if mtu >= needed {
            findings.push(Finding::good(
                key,
                format!("MTU {mtu} of {} holds N6 packets in tunnels ({needed})", link.name),
            ));
        } else {
            findings.push(Finding::warning(
                key,
                format!(
                    "MTU {mtu} of {}; an N6 packet of {largest} octets needs {needed} in its tunnel",
                    link.name
                ),
                format!(
                    "`ip link set dev {} mtu {needed}` on the whole path, or upf.session.mtu {}",
                    link.name,
                    mtu.saturating_sub(outer)
                ),
            ));
        }
    }
    findings
}

fn forwarding(upf: &Upf) -> impl Iterator<Item = Finding> {
    kernel_forwarding(upf).into_iter().map(|KernelForwarding { name, version, is_on }| {
        if is_on {
            return Finding::good(name, format!("the kernel forwards {version}"));
        }
        Finding::failure(
            name,
            format!("0: the kernel drops {version} packets between N6 and other interfaces"),
            format!("`sysctl -w {name}=1`, and a file in /etc/sysctl.d to keep it"),
        )
    })
}

fn default_routes(subnets: &[IpNet]) -> Vec<Finding> {
    let by_version = [
        (
            "default route (IPv4)",
            "/proc/net/route",
            subnets.iter().any(is_v4),
            has_default_ipv4 as fn(&str) -> bool,
        ),
        (
            "default route (IPv6)",
            "/proc/net/ipv6_route",
            subnets.iter().any(|net| !is_v4(net)),
            has_default_ipv6,
        ),
    ];
    let check = |(subject, file, _, has_default): (&str, &str, bool, fn(&str) -> bool)| {
        if has_default(&fs::read_to_string(file).unwrap_or_default()) {
            return Finding::good(subject, "there is one");
        }
        let remedy =
            "UEs reach only networks to which this host has a route: `ip route add default via ROUTER`";
        Finding::warning(subject, "there is none", remedy)
    };
    by_version.into_iter().filter(|(_, _, is_needed, _)| *is_needed).map(check).collect()
}

/// /proc/net/route: interface, destination, gateway, ..., mask in the eighth column.
fn has_default_ipv4(table: &str) -> bool {
    table.lines().skip(1).any(|line| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        matches!(columns[..], [_, "00000000", _, _, _, _, _, "00000000", ..])
    })
}

/// /proc/net/ipv6_route: destination, its prefix length, ..., interface in the tenth column. The kernel has an entry of its own
/// on `lo`, which rejects.
fn has_default_ipv6(table: &str) -> bool {
    table.lines().any(|line| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        matches!(columns[..], [net, "00", _, _, _, _, _, _, _, link, ..] if net.bytes().all(|digit| digit == b'0') && link != "lo")
    })
}

/// Rules of nftables (and of iptables over it) that drop forwarded packets, and that translate addresses.
fn firewall(upf: &Upf) -> Vec<Finding> {
    const SUBJECT: &str = "firewall";
    let listed = Command::new("nft").args(["list", "ruleset"]).output();
    let Some(rules) = listed.ok().filter(|output| output.status.success()) else {
        let state = "`nft list ruleset` does not answer";
        let remedy = "install the package nftables, and run this as root";
        let is_needed = upf.session.iter().any(|session| session.nat);
        return vec![match is_needed {
            true => Finding::failure(SUBJECT, format!("{state}, and `nat: true` needs nft"), remedy),
            false => Finding::warning(SUBJECT, format!("{state}: not checked"), remedy),
        }];
    };
    let rules = String::from_utf8_lossy(&rules.stdout);
    let drops = drops_forwarded(&rules);
    let filter = match drops {
        true => Finding::warning(
            SUBJECT,
            "a chain of forwarded packets has the policy drop",
            "accept packets from and to the devices of upf.session (as `nft list ruleset` shows, often Docker's or ufw's chain)",
        ),
        false => Finding::good(SUBJECT, "no chain drops forwarded packets by its policy"),
    };
    let by_kernel = upf.session.iter().filter(|session| session.mode == N6Mode::Tun && !session.nat);
    let others: Vec<IpNet> = by_kernel.map(|session| session.subnet).collect();
    vec![filter, translation(&rules, &others)]
}

/// A base chain at the hook `forward` has the policy drop.
fn drops_forwarded(rules: &str) -> bool {
    rules.lines().any(|line| line.contains("hook forward") && line.contains("policy drop"))
}

fn translation(rules: &str, subnets: &[IpNet]) -> Finding {
    const SUBJECT: &str = "address translation";
    let is_private = |net: &IpNet| match net.addr() {
        IpAddr::V4(ip) => ip.is_private(),
        IpAddr::V6(ip) => ip.is_unique_local(),
    };
    let Some(subnet) = subnets.iter().find(|net| is_private(net)) else {
        return Finding::good(SUBJECT, "as needed: no subnet without `nat` has private addresses");
    };
    if rules.contains("masquerade") || rules.contains("snat ") {
        return Finding::good(SUBJECT, "there is a rule for source addresses");
    }
    let remedy =
        format!("routers of the data network need a route to {subnet}; or set `nat: true` in upf.session");
    Finding::warning(SUBJECT, format!("{subnet} has private addresses, and no rule translates them"), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  routing tables of the kernel with and without a default route.
    // Output: found where there is one; the kernel's own rejecting entry on lo is none.
    #[test]
    fn default_routes_are_found() {
        let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
        let default = "eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n";
        let net = "eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";
        let half = "eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000080\t0\t0\t0\n";
        assert!(has_default_ipv4(&format!("{head}{net}{default}")));
        assert!(!has_default_ipv4(&format!("{head}{net}{half}")));
        assert!(!has_default_ipv4(""));
        let zero = "00000000000000000000000000000000";
        let entry =
            |link: &str| format!("{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200 {link}\n");
        assert!(has_default_ipv6(&entry("eth0")));
        assert!(!has_default_ipv6(&entry("lo")));
    }

    // Input:  rulesets with and without a dropping chain of forwarded packets, and with and without masquerading.
    // Output: the chain is found; a private subnet without a rule gets a remedy.
    #[test]
    fn rules_are_read() {
        let docker = "table ip filter {\n\tchain FORWARD {\n\t\ttype filter hook forward priority filter; policy drop;\n\t}\n}";
        assert!(drops_forwarded(docker));
        assert!(!drops_forwarded(&docker.replace("drop", "accept")));
        let private = ["10.45.0.0/16".parse().unwrap()];
        let finding = translation(docker, &private);
        assert!(finding.remedy.unwrap().contains("`nat: true`"));
        assert_eq!(translation("oifname eth0 masquerade", &private).remedy, None);
        assert_eq!(translation("", &["198.51.100.0/24".parse().unwrap()]).remedy, None);
    }
}
