//! The end of a link, which answers who asks for its addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

use causeway_types::MacAddr;

use crate::icmp::{NeighbourAdvertisement, NeighbourSolicitation};
use crate::reader::Reader;
use crate::{Arp, EtherType, Layer, ParseError, UserPacket};

/// The begin of the MAC addresses of IPv6 groups (RFC 2464 section 7).
const IPV6_GROUP: [u8; 2] = [0x33, 0x33];

/// All nodes of a link.
const ALL_NODES: (MacAddr, Ipv6Addr) =
    (MacAddr([0x33, 0x33, 0, 0, 0, 1]), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1));

/// An end of an Ethernet link: its MAC address, and its addresses on the link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LinkEnd {
    /// The MAC address.
    pub mac: MacAddr,
    /// The IPv4 address; ARP requests for it are answered (RFC 826).
    pub address: Option<Ipv4Addr>,
    /// The IPv6 address; Neighbour Solicitations for it are answered (RFC 4861 clause 7.2.4).
    pub address6: Option<Ipv6Addr>,
}

impl LinkEnd {
    /// The frame that answers this one; `None`: it does not ask for an address of this end. Frames with VLAN tags are not answered.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] for a header or an ARP packet that ends early.
    pub fn answer(&self, frame: &[u8]) -> Result<Option<Vec<u8>>, ParseError> {
        let mut reader = Reader::new(Layer::Ethernet, frame);
        let (to, from) = (MacAddr(*reader.array()?), MacAddr(*reader.array()?));
        let kind = reader.u16()?;
        match EtherType::new(kind) {
            Some(EtherType::ARP) => Ok(Arp::parse(reader.rest())?.and_then(|asked| self.reply(&asked))),
            Some(EtherType::IPV6) if to == self.mac || to.0.starts_with(&IPV6_GROUP) => {
                Ok(self.advertisement(from, reader.rest()))
            }
            _ => Ok(None),
        }
    }

    fn reply(&self, asked: &Arp) -> Option<Vec<u8>> {
        let address = self.address.filter(|address| asked.is_request && asked.target.1 == *address)?;
        let mut frame = self.header(asked.sender.0, EtherType::ARP);
        Arp { is_request: false, sender: (self.mac, address), target: asked.sender }.write(&mut frame);
        Some(frame)
    }

    /// A sender without an address only asks whether this one is in use: all nodes are told.
    fn advertisement(&self, sender: MacAddr, packet: &[u8]) -> Option<Vec<u8>> {
        let address = self.address6?;
        let packet = UserPacket::parse(packet).ok()?;
        let asked = NeighbourSolicitation::of(&packet).filter(|asked| asked.target == address)?;
        let solicited = !asked.source.is_unspecified();
        let (mac, to) = if solicited { (asked.link.unwrap_or(sender), asked.source) } else { ALL_NODES };
        let mut frame = self.header(mac, EtherType::IPV6);
        let told = NeighbourAdvertisement { target: address, link: self.mac, solicited, overrides: true };
        // The message is short: it can be written.
        let _ = told.write(address, to, &mut frame);
        Some(frame)
    }

    fn header(&self, to: MacAddr, kind: EtherType) -> Vec<u8> {
        let mut frame = Vec::with_capacity(96);
        frame.extend(to.0.iter().chain(&self.mac.0).copied());
        frame.extend(kind.value().to_be_bytes());
        frame
    }
}

#[cfg(test)]
mod tests {
    use crate::icmp::Icmpv6Message;
    use crate::{IpProtocol, Ipv6Repr};

    use super::*;

    /// Octets of an Ethernet header.
    const ETHERNET: usize = 14;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const ASKER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
    const OWN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 5, 0, 0, 0, 0, 1);
    const OTHER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 5, 0, 0, 0, 0, 9);

    fn end() -> LinkEnd {
        LinkEnd { mac: MAC, address: Some([10, 0, 0, 1].into()), address6: Some(OWN) }
    }

    fn request(target: [u8; 4], is_request: bool) -> Vec<u8> {
        let arp = Arp { is_request, sender: (ASKER, [10, 0, 0, 9].into()), target: (MAC, target.into()) };
        let mut frame = [&[0xff; 6][..], &ASKER.0, &0x0806_u16.to_be_bytes()].concat();
        arp.write(&mut frame);
        frame
    }

    // Input:  ARP requests for the address of this end and for another, a reply, and a request that is cut, without an address as well.
    // Output: the first is answered with the MAC address of this end, the cut one is an error, and the others are for somebody else.
    #[test]
    fn arp_requests_are_answered() {
        let asked = request([10, 0, 0, 1], true);
        let answer = end().answer(&asked).unwrap().unwrap();
        assert_eq!(answer[..12], [ASKER.0, MAC.0].concat());
        let [own, asker] = [(MAC, [10, 0, 0, 1].into()), (ASKER, [10, 0, 0, 9].into())];
        let reply = Arp { is_request: false, sender: own, target: asker };
        assert_eq!(Arp::parse(&answer[ETHERNET..]), Ok(Some(reply)));
        for other in [request([10, 0, 0, 2], true), request([10, 0, 0, 1], false)] {
            assert_eq!(end().answer(&other), Ok(None));
        }
        for len in 0..asked.len() {
            assert!(end().answer(&asked[..len]).is_err(), "{len}");
        }
        assert_eq!(LinkEnd { address: None, ..end() }.answer(&asked), Ok(None));
    }

    fn solicitation(to: MacAddr, source: Ipv6Addr, target: Ipv6Addr, hop_limit: u8) -> Vec<u8> {
        let mut body = target.octets().to_vec();
        if !source.is_unspecified() {
            body.extend([1, 1]);
            body.extend(ASKER.0);
        }
        let group: Ipv6Addr = "ff02::1:ff00:1".parse().unwrap();
        let mut message = Vec::new();
        let asked = Icmpv6Message::Other { kind: 135, code: 0, second_word: [0; 4], body: &body };
        asked.write(source, group, &mut message);
        let mut frame = [&to.0[..], &ASKER.0, &0x86dd_u16.to_be_bytes()].concat();
        let header = Ipv6Repr { hop_limit, ..Ipv6Repr::new(source, group, IpProtocol::ICMPV6) };
        header.write(&message, &mut frame).unwrap();
        frame
    }

    // Input:  Neighbour Solicitations for the address of this end: to its group, to this end, and from a sender that has no address yet;
    //         for another address, with a hop limit of a router, for another MAC address, and to an end without an address.
    // Output: the first three are answered, the last of them for all nodes; the others are not.
    #[test]
    fn neighbour_solicitations_are_answered() {
        let group = MacAddr([0x33, 0x33, 0xff, 0, 0, 1]);
        for (to, source) in [(group, OTHER), (MAC, OTHER), (group, Ipv6Addr::UNSPECIFIED)] {
            let answer = end().answer(&solicitation(to, source, OWN, 255)).unwrap().unwrap();
            let solicited = !source.is_unspecified();
            let (mac, to) = if solicited { (ASKER, OTHER) } else { ALL_NODES };
            assert_eq!(answer[..12], [mac.0, MAC.0].concat());
            let packet = UserPacket::parse(&answer[ETHERNET..]).unwrap();
            assert_eq!((packet.flow.src, packet.flow.dst), (OWN.into(), to.into()));
            let told = NeighbourAdvertisement { target: OWN, link: MAC, solicited, overrides: true };
            assert_eq!(NeighbourAdvertisement::of(&packet), Some(told));
        }
        let others = [
            solicitation(group, OTHER, OTHER, 255),
            solicitation(group, OTHER, OWN, 254),
            solicitation(ASKER, OTHER, OWN, 255),
        ];
        for frame in &others {
            assert_eq!(end().answer(frame), Ok(None));
        }
        let without = LinkEnd { address6: None, ..end() };
        assert_eq!(without.answer(&solicitation(group, OTHER, OWN, 255)), Ok(None));
    }
}
