//! Framed routes in the text form of RADIUS: `198.51.100.0/24 0.0.0.0 1` (RFC 2865 clause 5.22, RFC 3162 clause
//! 2.5).
//!
//! Only the prefix is used: the gateway is the UE itself, and the metric has no effect.

use std::net::IpAddr;

use causeway_pfcp::{FramedIpv6Route, FramedRoute, Many};
use causeway_types::IpNet;

use crate::{Reason, ie};

/// The prefixes of all framed routes of a PDI or traffic endpoint.
pub(super) fn routes(
    v4: &Many<'_, FramedRoute<'_>>,
    v6: &Many<'_, FramedIpv6Route<'_>>,
) -> Result<Vec<IpNet>, Reason> {
    let v4 = v4.iter().map(|route| prefix(route.0, ie::FRAMED_ROUTE));
    let v6 = v6.iter().map(|route| prefix(route.0, ie::FRAMED_IPV6_ROUTE));
    v4.chain(v6).collect()
}

fn prefix(text: &[u8], ie: u16) -> Result<IpNet, Reason> {
    let wrong = Reason::Incorrect { ie, why: "not a framed route of its IP version" };
    let word = std::str::from_utf8(text).ok().and_then(|text| text.split_ascii_whitespace().next());
    let net = word.and_then(|word| word.parse().ok().or_else(|| without_length(word)));
    net.filter(|net: &IpNet| matches!(net, IpNet::V4(_)) == (ie == ie::FRAMED_ROUTE))
        .map(|net| net.trunc())
        .ok_or(wrong)
}

/// An IPv4 address without a length has that of its class (RFC 2865 clause 5.22); IPv6 has no classes.
fn without_length(word: &str) -> Option<IpNet> {
    let ip: IpAddr = word.parse().ok()?;
    let len = match ip {
        IpAddr::V4(ip) if ip.octets()[0] < 128 => 8,
        IpAddr::V4(ip) if ip.octets()[0] < 192 => 16,
        IpAddr::V4(_) => 24,
        IpAddr::V6(_) => 128,
    };
    IpNet::new(ip, len).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, ie: u16) -> Result<String, Reason> {
        prefix(text.as_bytes(), ie).map(|net| net.to_string())
    }

    // Input:  framed routes with and without length, gateway and metrics; host bits set.
    // Output: the prefix alone.
    #[test]
    fn the_prefix_is_what_counts() {
        for (text, expected) in [
            ("198.51.100.0/24 0.0.0.0 1", "198.51.100.0/24"),
            ("198.51.100.77/24", "198.51.100.0/24"),
            ("10.0.0.0 10.45.0.2 1 2 -1 3 400", "10.0.0.0/8"),
            ("172.16.0.0", "172.16.0.0/16"),
            ("192.0.2.0", "192.0.2.0/24"),
            ("0.0.0.0/0 0.0.0.0 1", "0.0.0.0/0"),
        ] {
            assert_eq!(of(text, ie::FRAMED_ROUTE).as_deref(), Ok(expected));
        }
        assert_eq!(of("2001:db8:5::/48 :: 1", ie::FRAMED_IPV6_ROUTE).as_deref(), Ok("2001:db8:5::/48"));
    }

    // Input:  text that is not a route, and a route of the other IP version.
    // Output: incorrect, with its IE as offending IE.
    #[test]
    fn what_is_no_route_is_refused() {
        for text in ["", " ", "198.51.100.0/33", "a route", "2001:db8::/32"] {
            assert!(matches!(of(text, ie::FRAMED_ROUTE), Err(Reason::Incorrect { .. })), "{text}");
        }
        assert!(matches!(of("10.0.0.0/8", ie::FRAMED_IPV6_ROUTE), Err(Reason::Incorrect { .. })));
    }
}
