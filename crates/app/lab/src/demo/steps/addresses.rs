//! IPv6 addresses of UEs from the prefix that the UPF advertises.

use std::net::Ipv6Addr;
use std::time::Instant;

use super::{cast, start};
use crate::LabError;
use crate::demo::environment::DemoEnvironment;
use crate::demo::step::Observer;
use crate::netns::Namespace;
use crate::patience::{QUIET, wait_while_changing};

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    let advertises = stage.options.advertises_prefixes();
    let network = stage.network()?;
    if !network.ipv6 {
        let why =
            if advertises { "the kernel has no IPv6" } else { "a P4 switch sends no Router Advertisements" };
        observer.note("IPv6", format!("{why}: all UEs have IPv4 alone"));
        observer.summarise(format!("skipped: {why}"));
        return Ok(());
    }
    let mut addresses = Vec::new();
    for index in [cast::DUAL_STACK, cast::IPV6_ONLY] {
        let (ue, _, ran, topology) = network.ue(index)?;
        let Some(prefix) = ue.addresses.ipv6() else { continue };
        observer.progress(format!("{} solicits a router", ue.device));
        let interface_id = u64::try_from(index).unwrap_or(0) + 1;
        let (namespace, began) = (&topology.ue, Instant::now());
        start::ue_site(namespace, &ue.device, index).start_ipv6(interface_id)?;
        let address = wait_while_changing(QUIET, || global_address(namespace, &ue.device), Option::is_some)?;
        let took = began.elapsed();
        let expected = Ipv6Addr::from(u128::from(prefix.network()) | u128::from(interface_id));
        let seen =
            address.map_or("none".into(), |address| format!("{address} after {} ms", took.as_millis()));
        observer.expect(&format!("{}, prefix {prefix}", ue.device), seen, address == Some(expected));
        let packets = ran.ue(ue.id).link_packets;
        observer.note("Router Solicitations and Advertisements at the gNB, multicast reports", packets);
        addresses.extend(address.map(|address| address.to_string()));
    }
    observer.summarise(format!("prefixes advertised by the UPF; {}", addresses.join(", ")));
    Ok(())
}

/// The address of global scope on a device, once the kernel uses it.
fn global_address(namespace: &Namespace, device: &str) -> Result<Option<Ipv6Addr>, LabError> {
    let text = namespace.enter(|| {
        let file = "/proc/thread-self/net/if_inet6";
        std::fs::read_to_string(file).map_err(LabError::io(file))
    })?;
    Ok(parse(&text, device))
}

/// Reads lines of address, index, prefix length, scope, flags and device, the numbers in hexadecimal.
fn parse(text: &str, device: &str) -> Option<Ipv6Addr> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (address, scope, name) = (words.next()?, words.nth(2)?, words.nth(1)?);
        let address = u128::from_str_radix(address, 16).ok()?;
        (name == device && scope == "00").then(|| address.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a link-local and a global address of one device, and the addresses of another.
    // Output: the global one; none of a device that is not there.
    #[test]
    fn the_global_address_is_found() {
        let text = "fe800000000000000000000000000007 0c 40 20 80     ue7\n\
                    20010db8004500070000000000000007 0c 40 00 00     ue7\n\
                    20010db8004500080000000000000008 0d 40 00 00     ue8\n";
        assert_eq!(parse(text, "ue7"), Some("2001:db8:45:7::7".parse().unwrap()));
        assert_eq!(parse(text, "ue9"), None);
    }
}
