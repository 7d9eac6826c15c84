//! Checks whether the kernel forwards packets between N6 and other networks.

use std::collections::BTreeSet;

use causeway_types::IpNet;

use crate::config::{N6Mode, Upf};

const IPV4: (&str, &str) = ("/proc/sys/net/ipv4/ip_forward", "net.ipv4.ip_forward");
const IPV6: (&str, &str) = ("/proc/sys/net/ipv6/conf/all/forwarding", "net.ipv6.conf.all.forwarding");

/// A line for each IP version of the pools that the kernel does not forward, with the command that enables it. The
/// operator decides on the setting.
pub(crate) fn forwarding_advice(upf: &Upf) -> Vec<String> {
    if upf.remote_switch().is_some() {
        return Vec::new();
    }
    let off = kernel_forwarding(upf).into_iter().filter(|setting| !setting.is_on);
    off.map(|setting| advice(setting.version, setting.name)).chain(own_address_advice(upf)).collect()
}

/// Whether the kernel forwards packets of an IP version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KernelForwarding {
    /// `IPv4` or `IPv6`.
    pub(crate) version: &'static str,
    /// The name of the setting.
    pub(crate) name: &'static str,
    pub(crate) is_on: bool,
}

/// The setting of each IP version of the pools behind TUN devices; only there the kernel routes to the data network.
pub(crate) fn kernel_forwarding(upf: &Upf) -> Vec<KernelForwarding> {
    let by_kernel = || upf.session.iter().filter(|session| session.mode == N6Mode::Tun);
    let pools = |v4: bool| by_kernel().any(|session| matches!(session.subnet, IpNet::V4(_)) == v4);
    let versions = [(pools(true), "IPv4", IPV4), (pools(false), "IPv6", IPV6)].into_iter();
    let used = versions.filter(|(is_used, _, _)| *is_used);
    used.map(|(_, version, (path, name))| {
        let is_on = !is_off(&std::fs::read_to_string(path).unwrap_or_default());
        KernelForwarding { version, name, is_on }
    })
    .collect()
}

/// A line for each TUN device with an IPv4 gateway from which the kernel accepts no ICMP error.
fn own_address_advice(upf: &Upf) -> Vec<String> {
    let with_gateway = upf.session.iter().filter(|session| session.gateway.is_some_and(|ip| ip.is_ipv4()));
    let devices: BTreeSet<&str> = with_gateway.map(|session| session.dev.as_str()).collect();
    let value = |dev: &str| std::fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{dev}/accept_local"));
    devices
        .into_iter()
        .filter(|dev| is_off(&value(dev).unwrap_or_default()))
        .map(|dev| {
            format!(
                "hosts behind {dev} will not hear which packets are too large or lived too long; \
                 to change that: sysctl -w net.ipv4.conf.{dev}.accept_local=1"
            )
        })
        .collect()
}

/// A setting that cannot be read counts as enabled.
fn is_off(value: &str) -> bool {
    value.trim() == "0"
}

fn advice(version: &str, name: &str) -> String {
    format!(
        "this machine does not forward {version}: UEs reach it, but nothing beyond it; \
         to change that: sysctl -w {name}=1"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_zero_is_off() {
        assert!(is_off("0\n"));
        assert!(!is_off("1\n"));
        assert!(!is_off(""));
        assert!(advice("IPv4", IPV4.1).ends_with("sysctl -w net.ipv4.ip_forward=1"));
    }
}
