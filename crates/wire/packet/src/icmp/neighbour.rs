//! Neighbour Solicitations and Advertisements (RFC 4861 clauses 4.3 and 4.4) on Ethernet.

use std::net::{IpAddr, Ipv6Addr};

use causeway_types::MacAddr;

use super::{Icmpv6, Icmpv6Message};
use crate::{BuildError, IpProtocol, Ipv6Repr, UserPacket};

const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// The hop limit of every message of neighbour discovery: it passed no router.
const HOP_LIMIT: u8 = 255;
const OPTION_SOURCE: u8 = 1;
const OPTION_TARGET: u8 = 2;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

/// A request for the MAC address of an IPv6 address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NeighbourSolicitation {
    /// The sender; unspecified while it probes whether the address is free.
    pub source: Ipv6Addr,
    /// The sender's MAC address, if present.
    pub link: Option<MacAddr>,
    /// The requested address.
    pub target: Ipv6Addr,
}

/// The MAC address of an IPv6 address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NeighbourAdvertisement {
    /// The address.
    pub target: Ipv6Addr,
    /// Its MAC address.
    pub link: MacAddr,
    /// It is the reply to a solicitation.
    pub solicited: bool,
    /// It replaces cached entries.
    pub overrides: bool,
}

impl NeighbourSolicitation {
    /// The packet, if it is a valid solicitation (RFC 4861 clause 7.1.1).
    pub fn of(packet: &UserPacket<'_>) -> Option<Self> {
        let (source, _, target, link) = message(packet, SOLICITATION, OPTION_SOURCE)?;
        let probes = source.is_unspecified() && link.is_some();
        (!probes).then_some(Self { source, link, target })
    }
}

impl NeighbourAdvertisement {
    /// The packet, if it is a valid advertisement (RFC 4861 clause 7.1.2) with a MAC address.
    pub fn of(packet: &UserPacket<'_>) -> Option<Self> {
        let (_, flags, target, link) = message(packet, ADVERTISEMENT, OPTION_TARGET)?;
        let (solicited, overrides) = (flags & SOLICITED != 0, flags & OVERRIDE != 0);
        Some(Self { target, link: link?, solicited, overrides })
    }

    /// Appends the IPv6 packet.
    ///
    /// # Errors
    /// Those of [`Ipv6Repr::header`]; impossible, since the packet is short.
    pub fn write(&self, from: Ipv6Addr, to: Ipv6Addr, out: &mut Vec<u8>) -> Result<(), BuildError> {
        let mut body = self.target.octets().to_vec();
        body.extend([OPTION_TARGET, 1]);
        body.extend(self.link.0);
        let solicited = if self.solicited { SOLICITED } else { 0 };
        let overrides = if self.overrides { OVERRIDE } else { 0 };
        let second_word = [solicited | overrides, 0, 0, 0];
        let mut message = Vec::new();
        Icmpv6Message::Other { kind: ADVERTISEMENT, code: 0, second_word, body: &body }.write(
            from,
            to,
            &mut message,
        );
        let header = Ipv6Repr { hop_limit: HOP_LIMIT, ..Ipv6Repr::new(from, to, IpProtocol::ICMPV6) };
        header.write(&message, out)
    }
}

/// Source, flags, target and the MAC address of the option, of a valid message of this type.
fn message(
    packet: &UserPacket<'_>,
    wanted: u8,
    option: u8,
) -> Option<(Ipv6Addr, u8, Ipv6Addr, Option<MacAddr>)> {
    let (IpAddr::V6(src), IpAddr::V6(dst)) = (packet.flow.src, packet.flow.dst) else { return None };
    let whole = !packet.flow.is_fragment() && packet.ip().hop_limit() == HOP_LIMIT;
    if packet.flow.protocol != IpProtocol::ICMPV6 || !whole {
        return None;
    }
    let icmp = Icmpv6::parse(packet.transport()).ok().filter(|icmp| icmp.checksum_is_valid(src, dst))?;
    let Icmpv6Message::Other { kind, code: 0, second_word: [flags, ..], body } = icmp.message else {
        return None;
    };
    let (target, options) = body.split_first_chunk::<16>().filter(|_| kind == wanted)?;
    let target = Ipv6Addr::from(*target);
    (!target.is_multicast()).then_some((src, flags, target, link_of(options, option)?))
}

/// The MAC address in the option of this type. `None`: the options are not well-formed.
fn link_of(mut options: &[u8], wanted: u8) -> Option<Option<MacAddr>> {
    let mut found = None;
    while let Some((&[kind, units], _)) = options.split_first_chunk::<2>() {
        let length = 8 * usize::from(units);
        let (option, rest) = options.split_at_checked(length).filter(|_| length > 0)?;
        if kind == wanted {
            found = option.get(2..8).and_then(|mac| <[u8; 6]>::try_from(mac).ok()).map(MacAddr).or(found);
        }
        options = rest;
    }
    options.is_empty().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    const B: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    fn solicitation(source: Ipv6Addr, target: Ipv6Addr, options: &[u8], hop_limit: u8) -> Vec<u8> {
        let body = [&target.octets()[..], options].concat();
        let (mut message, mut packet) = (Vec::new(), Vec::new());
        Icmpv6Message::Other { kind: SOLICITATION, code: 0, second_word: [0; 4], body: &body }.write(
            source,
            B,
            &mut message,
        );
        let header = Ipv6Repr { hop_limit, ..Ipv6Repr::new(source, B, IpProtocol::ICMPV6) };
        header.write(&message, &mut packet).unwrap();
        packet
    }

    fn read(packet: &[u8]) -> Option<NeighbourSolicitation> {
        NeighbourSolicitation::of(&UserPacket::parse(packet).unwrap())
    }

    // Input:  an advertisement, written.
    // Output: the same values; it is not a solicitation.
    #[test]
    fn what_is_written_is_read() {
        let told = NeighbourAdvertisement { target: A, link: MAC, solicited: true, overrides: false };
        let mut packet = Vec::new();
        told.write(A, B, &mut packet).unwrap();
        assert_eq!(NeighbourAdvertisement::of(&UserPacket::parse(&packet).unwrap()), Some(told));
        assert_eq!(read(&packet), None);
    }

    // Input:  solicitations: valid ones; with a hop limit that a router decremented; for a group; a probe with a
    // MAC address; with an option of length zero, and a truncated one; with a wrong checksum.
    // Output: only the valid ones are parsed.
    #[test]
    fn only_valid_solicitations_are_questions() {
        let link = [&[OPTION_SOURCE, 1][..], &MAC.0].concat();
        let asked = read(&solicitation(A, B, &link, 255)).unwrap();
        assert_eq!(asked, NeighbourSolicitation { source: A, link: Some(MAC), target: B });
        assert_eq!(read(&solicitation(Ipv6Addr::UNSPECIFIED, B, &[], 255)).unwrap().link, None);
        let group = "ff02::1".parse().unwrap();
        for bad in [
            solicitation(A, B, &link, 254),
            solicitation(A, group, &link, 255),
            solicitation(Ipv6Addr::UNSPECIFIED, B, &link, 255),
            solicitation(A, B, &[OPTION_SOURCE, 0, 0, 0, 0, 0, 0, 0], 255),
            solicitation(A, B, &link[..7], 255),
        ] {
            assert_eq!(read(&bad), None, "{bad:02x?}");
        }
        let mut spoilt = solicitation(A, B, &link, 255);
        *spoilt.last_mut().unwrap() ^= 1;
        assert_eq!(read(&spoilt), None);
    }
}
