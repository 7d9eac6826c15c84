//! Router Solicitations and Advertisements (RFC 4861 clauses 4.1 and 4.2), as far as a UE's link needs them.

use std::net::{IpAddr, Ipv6Addr};

use causeway_types::Ipv6Net;

use super::{Icmpv6, Icmpv6Message};
use crate::{BuildError, IpProtocol, Ipv6Repr, UserPacket};

const SOLICITATION: u8 = 133;
const ADVERTISEMENT: u8 = 134;
/// The hop limit of every message of neighbour discovery: it passed no router.
const HOP_LIMIT: u8 = 255;
/// Lifetime of the default router in seconds: the maximum of the field (RFC 8319), since there are no unsolicited
/// advertisements.
const LIFETIME: u16 = u16::MAX;
const INFINITE_LIFETIME: u32 = u32::MAX;
/// The UE forms its addresses from the prefix; the prefix is not on-link (TS 29.061 clause 11.2.1.3.4).
const AUTONOMOUS: u8 = 0x40;
const OPTION_PREFIX: u8 = 3;
const OPTION_MTU: u8 = 5;

/// The packet is a valid Router Solicitation (RFC 4861 clause 6.1.1).
pub fn is_router_solicitation(packet: &UserPacket<'_>) -> bool {
    let (IpAddr::V6(src), IpAddr::V6(dst)) = (packet.flow.src, packet.flow.dst) else { return false };
    packet.flow.protocol == IpProtocol::ICMPV6
        && !packet.flow.is_fragment()
        && packet.ip().hop_limit() == HOP_LIMIT
        && Icmpv6::parse(packet.transport()).is_ok_and(|icmp| {
            matches!(icmp.message, Icmpv6Message::Other { kind: SOLICITATION, code: 0, .. })
                && icmp.checksum_is_valid(src, dst)
        })
}

/// An advertisement of the one prefix of a UE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouterAdvertisement {
    /// The prefix of the UE.
    pub prefix: Ipv6Net,
    /// The MTU of the link, octets; `None` leaves it to the UE.
    pub mtu: Option<u32>,
}

impl RouterAdvertisement {
    /// Appends the IPv6 packet.
    ///
    /// # Errors
    /// Those of [`Ipv6Repr::header`]; impossible, since the packet is short.
    pub fn write(&self, from: Ipv6Addr, to: Ipv6Addr, out: &mut Vec<u8>) -> Result<(), BuildError> {
        let mut body = [0; 8].to_vec();
        body.extend([OPTION_PREFIX, 4, self.prefix.prefix_len(), AUTONOMOUS]);
        body.extend(INFINITE_LIFETIME.to_be_bytes().into_iter().chain(INFINITE_LIFETIME.to_be_bytes()));
        body.extend([0; 4]);
        body.extend(self.prefix.trunc().addr().octets());
        if let Some(mtu) = self.mtu {
            body.extend([OPTION_MTU, 1, 0, 0]);
            body.extend(mtu.to_be_bytes());
        }
        let [l0, l1] = LIFETIME.to_be_bytes();
        // The hop limit for the UE comes first, then flags.
        let second_word = [64, 0, l0, l1];
        let message = Icmpv6Message::Other { kind: ADVERTISEMENT, code: 0, second_word, body: &body };
        let ip = Ipv6Repr { hop_limit: HOP_LIMIT, ..Ipv6Repr::new(from, to, IpProtocol::ICMPV6) };
        out.extend_from_slice(&ip.header(8 + body.len())?);
        message.write(from, to, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    const UE: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);

    fn message(kind: u8, hop_limit: u8) -> Vec<u8> {
        let mut packet = Vec::new();
        let ip = Ipv6Repr { hop_limit, ..Ipv6Repr::new(UE, ROUTER, IpProtocol::ICMPV6) };
        packet.extend_from_slice(&ip.header(8).unwrap());
        let message = Icmpv6Message::Other { kind, code: 0, second_word: [0; 4], body: &[] };
        message.write(UE, ROUTER, &mut packet);
        packet
    }

    // Input: a solicitation; one that passed a router, an advertisement, one with a wrong checksum.
    // Output: only the first is accepted.
    #[test]
    fn solicitations_are_told_apart() {
        let is = |packet: &[u8]| is_router_solicitation(&UserPacket::parse(packet).unwrap());
        assert!(is(&message(133, 255)));
        assert!(!is(&message(133, 254)) && !is(&message(134, 255)));
        let mut spoilt = message(133, 255);
        spoilt[47] ^= 1;
        assert!(!is(&spoilt));
    }

    // Input: a /64 with interface bits set and an MTU.
    // Output: a packet of hop limit 255 with a valid checksum, the prefix without those bits, and the MTU.
    #[test]
    fn an_advertisement_names_prefix_and_mtu() {
        let prefix = "2001:db8:45:0:1::/64".parse().unwrap();
        let mut packet = Vec::new();
        RouterAdvertisement { prefix, mtu: Some(1400) }.write(ROUTER, UE, &mut packet).unwrap();
        let user = UserPacket::parse(&packet).unwrap();
        let icmp = Icmpv6::parse(user.transport()).unwrap();
        assert!(icmp.checksum_is_valid(ROUTER, UE) && user.ip().hop_limit() == 255);
        let Icmpv6Message::Other { kind: 134, body, .. } = icmp.message else { panic!("{icmp:?}") };
        assert_eq!(body[8..12], [3, 4, 64, 0x40]);
        assert_eq!(body[24..40], "2001:db8:45::".parse::<Ipv6Addr>().unwrap().octets());
        assert_eq!(body[40..], [5, 1, 0, 0, 0, 0, 0x05, 0x78]);
    }
}
