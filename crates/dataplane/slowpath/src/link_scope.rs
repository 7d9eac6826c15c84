//! Packets that never leave the link between a UE and its first router.

use std::net::{IpAddr, Ipv6Addr};

use causeway_packet::Flow;

/// The packet must not be routed: one end is link-local, or a group of the link (RFC 4291 clauses 2.5.6 and 2.7, RFC
/// 3927 clause 2.7). Examples are router solicitations, neighbour discovery and DHCPv6.
pub(crate) fn stays_on_link(flow: &Flow) -> bool {
    is_of_link(flow.src) || is_of_link(flow.dst)
}

/// The source is one that a UE may have before it knows its prefix, in a packet that stays on the link.
pub(crate) fn is_unnumbered_ue(flow: &Flow) -> bool {
    let IpAddr::V6(src) = flow.src else { return false };
    (src.is_unspecified() || src.is_unicast_link_local()) && is_of_link(flow.dst)
}

/// An address of the link of a UE: of the UE, or of a group that it is in.
pub(crate) fn is_on_link_of_ue(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local() || ip.is_multicast())
}

fn is_of_link(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local() || is_group_of_link(ip) || ip.is_unspecified(),
    }
}

/// Scopes 0 to 2 are not forwarded: reserved, interface and link (RFC 7346).
fn is_group_of_link(ip: Ipv6Addr) -> bool {
    ip.is_multicast() && ip.octets()[1] & 0x0f <= 2
}

#[cfg(test)]
mod tests {
    use causeway_packet::{IpProtocol, Ipv6Repr, UserPacket};

    use super::*;

    fn flow(src: &str, dst: &str) -> Flow {
        let (src, dst) = (src.parse().unwrap(), dst.parse().unwrap());
        let mut packet = Vec::new();
        Ipv6Repr::new(src, dst, IpProtocol::ICMPV6).write(&[0; 8], &mut packet).unwrap();
        UserPacket::parse(&packet).unwrap().flow
    }

    // Input: packets to and from link-local, global, unspecified and group addresses.
    // Output: only global addresses, and groups of a wider scope, may leave the link.
    #[test]
    fn link_scoped_packets_are_not_routed() {
        for (src, dst, stays, unnumbered) in [
            ("fe80::1", "ff02::2", true, true),
            ("::", "ff02::1:ff00:2", true, true),
            ("2001:db8::2", "ff02::1:2", true, false),
            ("2001:db8::2", "fe80::1", true, false),
            ("fe80::1", "2001:db8::9", true, false),
            ("::", "2001:db8::9", true, false),
            ("2001:db8::2", "2001:db8::9", false, false),
            ("2001:db8::2", "ff05::1:3", false, false),
        ] {
            let flow = flow(src, dst);
            assert_eq!((stays_on_link(&flow), is_unnumbered_ue(&flow)), (stays, unnumbered), "{src} > {dst}");
        }
    }
}
