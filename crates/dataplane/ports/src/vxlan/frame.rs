//! Frames of a segment.

use std::net::Ipv6Addr;

use causeway_packet::icmp::{NeighbourAdvertisement, NeighbourSolicitation};
use causeway_packet::rewrite::Ecn;
use causeway_packet::{Arp, EtherType, MacAddr, UserPacket, vxlan};

use super::{INNER, Segment};
use crate::Counter;

/// Octets of an Ethernet header without tags.
pub(super) const ETHERNET: usize = 14;

/// What a received frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// An IP packet, from this octet of the frame on.
    Ip,
    /// An ARP request that is answered.
    Request(Arp),
    /// A Neighbour Solicitation that is answered.
    Solicitation(NeighbourSolicitation),
}

/// What a frame is, for this end of the segment.
///
/// # Errors
/// The counter of the reason why it is nothing for it.
#[inline]
pub(super) fn content(segment: &Segment, frame: &[u8]) -> Result<Content, Counter> {
    let Some((head, payload)) = frame.split_first_chunk::<ETHERNET>() else {
        return Err(Counter::RxMalformed);
    };
    let [d0, d1, d2, d3, d4, d5, _, _, _, _, _, _, high, low] = *head;
    let (dst, kind) = (MacAddr([d0, d1, d2, d3, d4, d5]), u16::from_be_bytes([high, low]));
    let is_ours = dst == segment.mac;
    match EtherType::new(kind) {
        Some(EtherType::IPV6) if is_ours || [d0, d1] == IPV6_GROUP => match solicitation(segment, payload) {
            Some(asked) => Ok(Content::Solicitation(asked)),
            None if is_ours => Ok(Content::Ip),
            None => Err(Counter::RxNotForUs),
        },
        Some(EtherType::IPV4) if is_ours => Ok(Content::Ip),
        Some(EtherType::ARP) => match Arp::parse(payload) {
            Ok(Some(arp)) if arp.is_request && Some(arp.target.1) == segment.address => {
                Ok(Content::Request(arp))
            }
            Ok(_) => Err(Counter::RxNotForUs),
            Err(_) => Err(Counter::RxMalformed),
        },
        _ => Err(Counter::RxNotForUs),
    }
}

/// The begin of the MAC addresses of IPv6 groups (RFC 2464 section 7).
const IPV6_GROUP: [u8; 2] = [0x33, 0x33];

/// All nodes of a link.
const ALL_NODES: (MacAddr, Ipv6Addr) =
    (MacAddr([0x33, 0x33, 0, 0, 0, 1]), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1));

/// The packet, if it asks for the IPv6 address of this end.
fn solicitation(segment: &Segment, packet: &[u8]) -> Option<NeighbourSolicitation> {
    let address = segment.address6?;
    let packet = UserPacket::parse(packet).ok()?;
    NeighbourSolicitation::of(&packet).filter(|asked| asked.target == address)
}

/// The answer to a Neighbour Solicitation in a frame, as a frame. A sender without an address only asks whether this one is in
/// use: all nodes are told (RFC 4861 clause 7.2.4).
pub(super) fn advertisement(segment: &Segment, asking: &[u8], asked: &NeighbourSolicitation) -> Vec<u8> {
    let sender =
        asking.get(6..).and_then(<[u8]>::first_chunk).map_or(segment.remote_mac, |mac| MacAddr(*mac));
    let solicited = !asked.source.is_unspecified();
    let (mac, to) = if solicited { (asked.link.unwrap_or(sender), asked.source) } else { ALL_NODES };
    let mut frame = Vec::with_capacity(96);
    frame.extend(mac.0.iter().chain(&segment.mac.0).copied());
    frame.extend(EtherType::IPV6.value().to_be_bytes());
    let told = NeighbourAdvertisement { target: asked.target, link: segment.mac, solicited, overrides: true };
    // The message is short: it can be written.
    let _ = told.write(asked.target, to, &mut frame);
    frame
}

/// The answer to an ARP request, as a frame.
pub(super) fn answer(segment: &Segment, request: &Arp) -> Vec<u8> {
    let mut frame = Vec::with_capacity(64);
    let asker = request.sender.0;
    frame.extend(asker.0.iter().chain(&segment.mac.0).copied());
    frame.extend(EtherType::ARP.value().to_be_bytes());
    let sender = (segment.mac, request.target.1);
    Arp { is_request: false, sender, target: request.sender }.write(&mut frame);
    frame
}

/// The VXLAN and Ethernet headers of packets of an IP version.
pub(super) fn headers(segment: &Segment, is_ipv6: bool) -> [u8; INNER] {
    let kind = if is_ipv6 { EtherType::IPV6 } else { EtherType::IPV4 };
    let macs = segment.remote_mac.0.into_iter().chain(segment.mac.0);
    let parts = vxlan::header(segment.vni).into_iter().chain(macs).chain(kind.value().to_be_bytes());
    let mut headers = [0; INNER];
    headers.iter_mut().zip(parts).for_each(|(octet, part)| *octet = part);
    headers
}

/// The type of service or traffic class of an IP packet; zero if it is none.
#[inline]
pub(super) fn tos(packet: &[u8]) -> u8 {
    match packet {
        [first, second, ..] if first >> 4 == 6 => first << 4 | second >> 4,
        [_, second, ..] => *second,
        _ => 0,
    }
}

/// The ECN field of a packet that leaves the tunnel, if it changes (RFC 6040 figure 4).
///
/// # Errors
/// [`Counter::RxCongested`] when it cannot carry the mark.
#[inline]
pub(super) fn ecn(outer: u8, inner: u8) -> Result<Option<Ecn>, Counter> {
    match (Ecn::of_tos(inner), Ecn::of_tos(outer)) {
        (Ecn::NotCapable, Ecn::Congested) => Err(Counter::RxCongested),
        (Ecn::NotCapable | Ecn::Congested, _) => Ok(None),
        (_, Ecn::Congested) => Ok(Some(Ecn::Congested)),
        (Ecn::Capable0, Ecn::Capable1) => Ok(Some(Ecn::Capable1)),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use causeway_packet::icmp::Icmpv6Message;
    use causeway_packet::{IpProtocol, Ipv6Repr};

    use super::*;

    fn segment() -> Segment {
        Segment {
            vni: "7".parse().unwrap(),
            remote: "192.0.2.9:4789".parse().unwrap(),
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            remote_mac: MacAddr([2, 0, 0, 0, 0, 2]),
            address: Some([10, 0, 0, 1].into()),
            address6: None,
        }
    }

    // Input:  frames for this MAC address and for another, with a VLAN tag, of another protocol, and cut ones.
    // Output: an IP packet for this address; otherwise the counter of the reason.
    #[test]
    fn frames_of_others_have_a_reason() {
        let segment = segment();
        let frame =
            |dst: MacAddr, kind: u16| [&dst.0[..], &[2; 6], &kind.to_be_bytes(), &[0x45; 40]].concat();
        assert_eq!(content(&segment, &frame(segment.mac, 0x0800)), Ok(Content::Ip));
        assert_eq!(content(&segment, &frame(segment.mac, 0x86dd)), Ok(Content::Ip));
        for (dst, kind) in [(segment.remote_mac, 0x0800), (segment.mac, 0x8100), (segment.mac, 0x88cc)] {
            assert_eq!(content(&segment, &frame(dst, kind)), Err(Counter::RxNotForUs));
        }
        for len in 0..ETHERNET {
            let cut = &frame(segment.mac, 0x0800)[..len];
            assert_eq!(content(&segment, cut), Err(Counter::RxMalformed), "{len}");
        }
        assert_eq!(content(&segment, &frame(segment.mac, 0x0806)), Err(Counter::RxNotForUs));
        assert_eq!(content(&segment, &frame(segment.mac, 0x0806)[..19]), Err(Counter::RxMalformed));
    }

    // Input:  Neighbour Solicitations for the address of the segment: to its group, to this end, and from a sender that has no
    //         address yet; for another address, with a hop limit of a router, and without an address configured.
    // Output: the first three are answered, the last of them for all nodes; the others are nothing for this end, or packets.
    #[test]
    fn solicitations_for_the_address_of_the_segment_are_answered() {
        let own: Ipv6Addr = "2001:db8:5::1".parse().unwrap();
        let asker: Ipv6Addr = "2001:db8:5::9".parse().unwrap();
        let segment = Segment { address6: Some(own), ..segment() };
        let group = MacAddr([0x33, 0x33, 0xff, 0, 0, 1]);
        let asking = |dst: MacAddr, source: Ipv6Addr, target: Ipv6Addr, hop_limit: u8| {
            let mut body = target.octets().to_vec();
            if !source.is_unspecified() {
                body.extend([1, 1]);
                body.extend(segment.remote_mac.0);
            }
            let to: Ipv6Addr = "ff02::1:ff00:1".parse().unwrap();
            let mut message = Vec::new();
            Icmpv6Message::Other { kind: 135, code: 0, second_word: [0; 4], body: &body }.write(
                source,
                to,
                &mut message,
            );
            let mut frame = [&dst.0[..], &segment.remote_mac.0, &0x86dd_u16.to_be_bytes()].concat();
            let header = Ipv6Repr { hop_limit, ..Ipv6Repr::new(source, to, IpProtocol::ICMPV6) };
            header.write(&message, &mut frame).unwrap();
            frame
        };
        for (dst, source) in [(group, asker), (segment.mac, asker), (group, Ipv6Addr::UNSPECIFIED)] {
            let frame = asking(dst, source, own, 255);
            let Ok(Content::Solicitation(asked)) = content(&segment, &frame) else { panic!("{source}") };
            let answer = advertisement(&segment, &frame, &asked);
            let solicited = !source.is_unspecified();
            let (mac, to) = if solicited { (segment.remote_mac, asker) } else { ALL_NODES };
            assert_eq!(answer[..12], [mac.0, segment.mac.0].concat());
            let packet = UserPacket::parse(&answer[ETHERNET..]).unwrap();
            assert_eq!((packet.flow.src, packet.flow.dst), (own.into(), to.into()));
            let told = NeighbourAdvertisement { target: own, link: segment.mac, solicited, overrides: true };
            assert_eq!(NeighbourAdvertisement::of(&packet), Some(told));
        }
        let others = [asking(group, asker, asker, 255), asking(group, asker, own, 254)];
        for frame in &others {
            assert_eq!(content(&segment, frame), Err(Counter::RxNotForUs));
        }
        assert_eq!(content(&segment, &asking(segment.mac, asker, asker, 255)), Ok(Content::Ip));
        let without = Segment { address6: None, ..segment.clone() };
        assert_eq!(content(&without, &asking(group, asker, own, 255)), Err(Counter::RxNotForUs));
    }

    // Input:  ARP requests for the address of the segment and for another.
    // Output: the first is answered with the MAC address of this end.
    #[test]
    fn the_address_of_the_segment_is_answered() {
        let segment = segment();
        let sender = (segment.remote_mac, [10, 0, 0, 9].into());
        let request = |target: [u8; 4]| {
            let arp = Arp { is_request: true, sender, target: (MacAddr([0; 6]), target.into()) };
            let mut frame = [&[0xff; 6][..], &segment.remote_mac.0, &0x0806_u16.to_be_bytes()].concat();
            arp.write(&mut frame);
            (arp, frame)
        };
        let (arp, frame) = request([10, 0, 0, 1]);
        assert_eq!(content(&segment, &frame), Ok(Content::Request(arp)));
        let answer = answer(&segment, &arp);
        let reply = Arp::parse(&answer[ETHERNET..]).unwrap().unwrap();
        assert_eq!(
            reply,
            Arp { is_request: false, sender: (segment.mac, [10, 0, 0, 1].into()), target: sender }
        );
        assert_eq!(answer[..12], [&segment.remote_mac.0[..], &segment.mac.0].concat());
        assert_eq!(content(&segment, &request([10, 0, 0, 2]).1), Err(Counter::RxNotForUs));
    }
}
