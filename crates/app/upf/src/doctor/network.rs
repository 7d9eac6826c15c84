//! What the kernel does with packets between the UPF and the data networks.

use std::fs;
use std::net::IpAddr;
use std::process::Command;

use causeway_types::IpNet;

use super::Finding;
use super::nftables::{DroppingRule, Forwarded, Ruleset};
use crate::config::{GtpuMode, N6Mode, Session, Upf};
use crate::host_networks::HostNetworks;
use crate::open::{KernelForwarding, addresses, kernel_forwarding};

/// Octets of the outer IPv4, UDP and GTP-U headers, with a PDU Session Container.
const OUTER_IPV4: u32 = 44;

/// The same with IPv6.
const OUTER_IPV6: u32 = 64;

/// The routes of the kernel.
const ROUTES: &str = "/proc/net/route";
const ROUTES_IPV6: &str = "/proc/net/ipv6_route";

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
    findings.extend(reverse_path(upf, host));
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
    if upf.gtpu.mode == GtpuMode::Vxlan {
        // The interface is a segment.
        return findings;
    }
    for (n, server) in upf.gtpu.server.iter().enumerate() {
        let key = format!("upf.gtpu.server[{n}]");
        // What is missing is another finding.
        let addresses = addresses(&key, server.address, server.dev.as_deref()).unwrap_or_default();
        for ip in addresses {
            let Some(link) = host.link_of(ip) else { continue };
            let mtu = server.mtu.unwrap_or(link.mtu).min(link.mtu);
            let outer = if ip.is_ipv4() { OUTER_IPV4 } else { OUTER_IPV6 };
            let needed = largest + outer;
            if mtu >= needed {
                let state = format!("MTU {mtu} of {} holds N6 packets in tunnels ({needed})", link.name);
                findings.push(Finding::good(&key, state));
                continue;
            }
            findings.push(Finding::warning(
                &key,
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

/// The kernel accepts packets on N3 and N4, and from the default route, also if it would answer by another interface.
fn reverse_path(upf: &Upf, host: &HostNetworks) -> Option<Finding> {
    let n3 = upf.gtpu.server.iter().filter(|_| upf.gtpu.mode == GtpuMode::Udp);
    let n3 = n3.map(|server| (server.address, server.dev.as_deref()));
    let n4 = upf.pfcp.server.iter().map(|server| (server.address, server.dev.as_deref()));
    let addresses = n3.chain(n4).flat_map(|(ip, dev)| addresses("", ip, dev).unwrap_or_default());
    let used = addresses.filter(IpAddr::is_ipv4).filter_map(|ip| host.link_of(ip));
    let mut names: Vec<&str> = used.filter(|link| !link.is_local_only).map(|link| &*link.name).collect();
    let routes = fs::read_to_string(ROUTES).unwrap_or_default();
    names.extend(
        default_ipv4(&routes).filter(|_| upf.session.iter().any(|session| session.mode == N6Mode::Tun)),
    );
    names.sort_unstable();
    names.dedup();
    let value = |of: &str| fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{of}/rp_filter")).ok();
    of_reverse_path(&names, |of| value(of)?.trim().parse().ok())
}

/// `value`: that of the setting for an interface, or for `all`. The greater one is in force: 1 is strict, 2 is not.
fn of_reverse_path(names: &[&str], value: impl Fn(&str) -> Option<u8>) -> Option<Finding> {
    const SUBJECT: &str = "rp_filter";
    let all = value("all")?;
    let is_strict = |name: &&&str| value(name).unwrap_or_default().max(all) == 1;
    let strict: Vec<&str> = names.iter().filter(is_strict).copied().collect();
    if names.is_empty() {
        return None;
    }
    let state = |of: &[&str]| of.join(", ");
    if strict.is_empty() {
        return Some(Finding::good(SUBJECT, format!("not strict on {}", state(names))));
    }
    Some(Finding::warning(
        SUBJECT,
        format!(
            "strict on {}: the kernel drops IPv4 packets there from addresses that it would answer by another interface",
            state(&strict)
        ),
        "`sysctl -w net.ipv4.conf.all.rp_filter=2`, and a file in /etc/sysctl.d to keep it; nothing if all packets arrive by the \
         interface that leads back to their source",
    ))
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

/// Finds the interface of the default route in a table of the kernel.
type FindDefault = fn(&str) -> Option<&str>;

fn default_routes(subnets: &[IpNet]) -> Vec<Finding> {
    let by_version = [
        ("default route (IPv4)", ROUTES, subnets.iter().any(is_v4), default_ipv4 as FindDefault),
        ("default route (IPv6)", ROUTES_IPV6, subnets.iter().any(|net| !is_v4(net)), default_ipv6),
    ];
    let check = |(subject, file, _, default): (&str, &str, bool, FindDefault)| {
        if default(&fs::read_to_string(file).unwrap_or_default()).is_some() {
            return Finding::good(subject, "there is one");
        }
        let remedy =
            "UEs reach only networks to which this host has a route: `ip route add default via ROUTER`";
        Finding::warning(subject, "there is none", remedy)
    };
    by_version.into_iter().filter(|(_, _, is_needed, _)| *is_needed).map(check).collect()
}

/// The interface of a default route in /proc/net/route: interface, destination, gateway, ..., mask in the eighth column.
fn default_ipv4(table: &str) -> Option<&str> {
    table.lines().skip(1).find_map(|line| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        match columns[..] {
            [link, "00000000", _, _, _, _, _, "00000000", ..] => Some(link),
            _ => None,
        }
    })
}

/// The interface of a default route in /proc/net/ipv6_route: destination, its prefix length, ..., interface in the tenth column. The kernel
/// has an entry of its own on `lo`, which rejects.
fn default_ipv6(table: &str) -> Option<&str> {
    table.lines().find_map(|line| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        match columns[..] {
            [net, "00", _, _, _, _, _, _, _, link, ..]
                if net.bytes().all(|digit| digit == b'0') && link != "lo" =>
            {
                Some(link)
            }
            _ => None,
        }
    })
}

/// Rules of nftables (and of iptables over it) that drop forwarded packets, and that translate addresses.
fn firewall(upf: &Upf) -> Vec<Finding> {
    const SUBJECT: &str = "firewall";
    let listed = Command::new("nft").args(["-j", "list", "ruleset"]).output();
    let listed = listed.ok().filter(|output| output.status.success());
    let Some(rules) = listed.and_then(|output| Ruleset::parse(&output.stdout)) else {
        let state = "`nft -j list ruleset` does not answer";
        let remedy = "install the package nftables, and run this as root";
        let is_needed = upf.session.iter().any(|session| session.nat);
        return vec![match is_needed {
            true => Finding::failure(SUBJECT, format!("{state}, and `nat: true` needs nft"), remedy),
            false => Finding::warning(SUBJECT, format!("{state}: not checked"), remedy),
        }];
    };
    let pools: Vec<&Session> = upf.session.iter().filter(|session| session.mode == N6Mode::Tun).collect();
    let mut findings = drops(&rules, &pools);
    findings.push(translation(&rules, &pools));
    findings
}

/// Packets of a pool, in one direction.
fn forwarded<'a>(session: &'a Session, is_uplink: bool, devices: &'a [&'a str]) -> Forwarded<'a> {
    Forwarded { subnet: session.subnet, is_uplink, dev: &session.dev, other: None, devices }
}

fn devices<'a>(pools: &[&'a Session]) -> Vec<&'a str> {
    pools.iter().map(|session| &*session.dev).collect()
}

/// Rules and policies that drop packets of a pool between its device and the default route.
fn drops(rules: &Ruleset, pools: &[&Session]) -> Vec<Finding> {
    const SUBJECT: &str = "firewall";
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let (v4, v6) = (read(ROUTES), read(ROUTES_IPV6));
    let devices = devices(pools);
    let mut findings: Vec<Finding> = Vec::new();
    for session in pools {
        let other = if is_v4(&session.subnet) { default_ipv4(&v4) } else { default_ipv6(&v6) };
        let dropped = [true, false]
            .map(|is_uplink| rules.drop_of(Forwarded { other, ..forwarded(session, is_uplink, &devices) }));
        for (direction, drop) in ["from", "to"].into_iter().zip(dropped) {
            let Some(DroppingRule { family, table, chain, handle, does }) = drop else { continue };
            let by = handle
                .map_or("by its policy".to_owned(), |handle| format!("in the rule with handle {handle}"));
            findings.push(Finding::warning(
                SUBJECT,
                format!("table {family} {table}, chain {chain} {does} packets {direction} {} {by}", session.subnet),
                format!(
                    "accept packets from and to {} before (`nft -a list chain {family} {table} {chain}`; often Docker's or ufw's)",
                    session.dev
                ),
            ));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::good(SUBJECT, "no chain drops all forwarded packets of a pool"));
    }
    findings
}

fn translation(rules: &Ruleset, pools: &[&Session]) -> Finding {
    const SUBJECT: &str = "address translation";
    let is_private = |session: &&&Session| match session.subnet.addr() {
        IpAddr::V4(ip) => ip.is_private(),
        IpAddr::V6(ip) => ip.is_unique_local(),
    };
    let devices = devices(pools);
    let mut places = Vec::new();
    for session in pools.iter().filter(|session| !session.nat).filter(is_private) {
        let subnet = session.subnet;
        let Some(place) = rules.translation_of(forwarded(session, true, &devices)) else {
            let remedy = format!(
                "routers of the data network need a route to {subnet}; or set `nat: true` in upf.session"
            );
            let state = format!("{subnet} has private addresses, and no rule translates them");
            return Finding::warning(SUBJECT, state, remedy);
        };
        places.push(format!("{place} translates {subnet}"));
    }
    match places.is_empty() {
        true => Finding::good(SUBJECT, "as needed: no subnet without `nat` has private addresses"),
        false => Finding::good(SUBJECT, places.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  routing tables of the kernel with and without a default route.
    // Output: its interface where there is one; the kernel's own rejecting entry on lo is none.
    #[test]
    fn default_routes_are_found() {
        let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
        let default = "eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n";
        let net = "eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";
        let half = "eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000080\t0\t0\t0\n";
        assert_eq!(default_ipv4(&format!("{head}{net}{default}")), Some("eth0"));
        assert_eq!(default_ipv4(&format!("{head}{net}{half}")), None);
        assert_eq!(default_ipv4(""), None);
        let zero = "00000000000000000000000000000000";
        let entry =
            |link: &str| format!("{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200 {link}\n");
        assert_eq!(default_ipv6(&entry("eth0")), Some("eth0"));
        assert_eq!(default_ipv6(&entry("lo")), None);
    }

    // Input:  the settings of all interfaces and of single ones.
    // Output: an interface is strict where the greater one is 1.
    #[test]
    fn strict_interfaces_are_named() {
        let of = |all: Option<u8>, n3: u8, n6: u8| {
            let value = |name: &str| match name {
                "all" => all,
                "n3" => Some(n3),
                _ => Some(n6),
            };
            of_reverse_path(&["n3", "n6"], value)
        };
        let strict = |all, n3, n6| {
            let finding = of(Some(all), n3, n6).unwrap();
            assert_eq!(finding.remedy.is_some(), finding.state.starts_with("strict on "));
            finding.state.strip_prefix("strict on ").map(|rest| rest.split(':').next().unwrap().to_owned())
        };
        assert_eq!(strict(0, 0, 2), None);
        assert_eq!(strict(0, 1, 2).unwrap(), "n3");
        assert_eq!(strict(1, 0, 1).unwrap(), "n3, n6");
        assert_eq!(strict(1, 2, 0).unwrap(), "n6");
        assert_eq!(strict(2, 1, 1), None);
        assert_eq!(of(None, 1, 1), None);
        assert_eq!(of_reverse_path(&[], |_| Some(1)), None);
    }
}
