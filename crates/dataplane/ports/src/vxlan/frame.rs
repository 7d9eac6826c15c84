//! Frames of a segment.

use causeway_packet::rewrite::Ecn;
use causeway_packet::{EtherType, MacAddr, vxlan};

use super::{INNER, Segment};
use crate::Counter;

/// Octets of an Ethernet header without tags.
pub(super) const ETHERNET: usize = 14;

/// What a received frame is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// An IP packet, from this octet of the frame on.
    Ip,
    /// An ARP request or a Neighbour Solicitation, and the frame that answers it.
    Request(Vec<u8>),
}

/// What a frame is, for this end of the segment.
///
/// # Errors
/// The counter of the reason why it is nothing for it.
#[inline]
pub(super) fn content(segment: &Segment, frame: &[u8]) -> Result<Content, Counter> {
    let Some([d0, d1, d2, d3, d4, d5, _, _, _, _, _, _, high, low]) = frame.first_chunk::<ETHERNET>() else {
        return Err(Counter::RxMalformed);
    };
    let is_ours = MacAddr([*d0, *d1, *d2, *d3, *d4, *d5]) == segment.mac;
    let kind = EtherType::new(u16::from_be_bytes([*high, *low]));
    let is_ip = matches!(kind, Some(EtherType::IPV4 | EtherType::IPV6));
    match segment.end().answer(frame) {
        Ok(Some(answer)) => Ok(Content::Request(answer)),
        Ok(None) if is_ours && is_ip => Ok(Content::Ip),
        Ok(None) => Err(Counter::RxNotForUs),
        Err(_) => Err(Counter::RxMalformed),
    }
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
    use causeway_packet::Arp;

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

    // Input:  ARP requests for the address of the segment and for another.
    // Output: the first is answered with the MAC address of this end.
    #[test]
    fn the_address_of_the_segment_is_answered() {
        let segment = segment();
        let request = |target: [u8; 4]| {
            let sender = (segment.remote_mac, [10, 0, 0, 9].into());
            let arp = Arp { is_request: true, sender, target: (MacAddr([0; 6]), target.into()) };
            let mut frame = [&[0xff; 6][..], &segment.remote_mac.0, &0x0806_u16.to_be_bytes()].concat();
            arp.write(&mut frame);
            frame
        };
        let Ok(Content::Request(answer)) = content(&segment, &request([10, 0, 0, 1])) else { panic!("none") };
        assert_eq!(answer[..12], [&segment.remote_mac.0[..], &segment.mac.0].concat());
        assert_eq!(content(&segment, &request([10, 0, 0, 2])), Err(Counter::RxNotForUs));
    }
}
