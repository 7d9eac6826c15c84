//! The header before each packet of a TUN device (`struct virtio_net_hdr`): the processing that remains to be done.

use causeway_packet::checksum::checksum;

/// Octets of the header.
pub(super) const HEADER: usize = 10;

/// The flag of a packet with a partial checksum.
const NEEDS_CSUM: u8 = 1;

/// Kinds of packets to segment.
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
/// The flag of TCP with congestion notification, beside the kind.
const GSO_ECN: u8 = 0x80;

/// The kind of segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gso {
    /// TCP segments over IPv4.
    Tcp4,
    /// TCP segments over IPv6.
    Tcp6,
    /// UDP datagrams over IPv4 or IPv6.
    Udp,
}

impl Gso {
    const fn code(self) -> u8 {
        match self {
            Self::Tcp4 => GSO_TCPV4,
            Self::Tcp6 => GSO_TCPV6,
            Self::Udp => GSO_UDP_L4,
        }
    }
}

/// A checksum to compute, over what follows `start`; the pseudo header is in its field already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PartialChecksum {
    /// The start of the sum, in octets from the IP header.
    pub(super) start: u16,
    /// The offset of its field, in octets from there.
    pub(super) field: u16,
}

impl PartialChecksum {
    /// Completes the checksum. `false`, without effect, when it is not inside the packet.
    pub(super) fn complete(self, packet: &mut [u8]) -> bool {
        let (start, field) = (usize::from(self.start), usize::from(self.field));
        let Some(summed) = packet.get_mut(start..).filter(|summed| field + 2 <= summed.len()) else {
            return false;
        };
        let sum = match checksum(summed) {
            // For UDP zero means "none"; for the others all ones is equivalent to zero.
            0 => 0xffff,
            sum => sum,
        };
        summed.iter_mut().skip(field).zip(sum.to_be_bytes()).for_each(|(to, from)| *to = from);
        true
    }
}

/// The header fields in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct VirtioHeader {
    /// The packet consists of several with this many octets of payload, of this kind.
    pub(super) gso: Option<(Gso, u16)>,
    /// Octets of all headers, or more; a hint.
    pub(super) hdr_len: u16,
    /// Its checksum is not complete.
    pub(super) partial: Option<PartialChecksum>,
}

impl VirtioHeader {
    /// Reads a header in host byte order. `None` for a kind that was not requested, or of size zero.
    pub(super) fn parse(octets: &[u8; HEADER]) -> Option<Self> {
        let [flags, kind, rest @ ..] = octets;
        let [hdr_len, size, start, field] = words(rest);
        let kind = match kind & !GSO_ECN {
            GSO_NONE => None,
            GSO_TCPV4 => Some(Gso::Tcp4),
            GSO_TCPV6 => Some(Gso::Tcp6),
            GSO_UDP_L4 => Some(Gso::Udp),
            _ => return None,
        };
        if kind.is_some() && size == 0 {
            return None;
        }
        let partial = (flags & NEEDS_CSUM != 0).then_some(PartialChecksum { start, field });
        Some(Self { gso: kind.map(|kind| (kind, size)), hdr_len, partial })
    }

    /// The octets, in host byte order.
    pub(super) fn octets(&self) -> [u8; HEADER] {
        let (kind, size) = self.gso.map_or((GSO_NONE, 0), |(gso, size)| (gso.code(), size));
        let partial = self.partial.unwrap_or(PartialChecksum { start: 0, field: 0 });
        let [[h0, h1], [g0, g1], [s0, s1], [f0, f1]] =
            [self.hdr_len, size, partial.start, partial.field].map(u16::to_ne_bytes);
        let flags = if self.partial.is_some() { NEEDS_CSUM } else { 0 };
        [flags, kind, h0, h1, g0, g1, s0, s1, f0, f1]
    }
}

fn words(octets: &[u8; 8]) -> [u16; 4] {
    let [a, b, c, d, e, f, g, h] = *octets;
    [[a, b], [c, d], [e, f], [g, h]].map(u16::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // Input:  headers of each kind; an unknown kind; one of size zero.
    // Output: the first are equal after a round trip, the others are rejected.
    #[test]
    fn headers_survive_the_round_trip() {
        let partial = Some(PartialChecksum { start: 20, field: 16 });
        for kind in [Gso::Tcp4, Gso::Tcp6, Gso::Udp] {
            let header = VirtioHeader { gso: Some((kind, 1400)), hdr_len: 40, partial };
            assert_eq!(VirtioHeader::parse(&header.octets()), Some(header));
        }
        let plain = VirtioHeader::default();
        assert_eq!(VirtioHeader::parse(&plain.octets()), Some(plain));
        assert_eq!(VirtioHeader::parse(&[0, 3, 0, 0, 1, 0, 0, 0, 0, 0]), None);
        assert_eq!(VirtioHeader::parse(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        assert!(VirtioHeader::parse(&[0, 0x81, 0, 0, 1, 0, 0, 0, 0, 0]).is_some());
    }

    // Input:  octets whose checksum is zero, which for UDP would mean "none".
    // Output: all ones.
    #[test]
    fn a_checksum_is_never_none() {
        let mut packet = [0xff, 0xff, 0, 0];
        assert!(PartialChecksum { start: 0, field: 2 }.complete(&mut packet));
        assert_eq!(packet, [0xff; 4]);
    }

    proptest! {
        // Input:  any offset of a checksum, and any packet.
        // Output: either the packet is unchanged, or the sum over its part is right now.
        #[test]
        fn a_checksum_is_completed_or_unchanged(
            start in 0u16..80, field in prop_oneof![Just(6u16), Just(16), any::<u16>()],
            packet in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let mut done = packet.clone();
            let partial = PartialChecksum { start, field };
            if partial.complete(&mut done) {
                let mut zeroed = packet.clone();
                let at = usize::from(start) + usize::from(field);
                zeroed[at..at + 2].fill(0);
                prop_assert_eq!(&done[..at], &packet[..at]);
                prop_assert_eq!(&done[at + 2..], &packet[at + 2..]);
                // The previous content of the field was summed too: it is the pseudo header's part.
                let expected = checksum(&packet[usize::from(start)..]);
                let stored = u16::from_be_bytes([done[at], done[at + 1]]);
                prop_assert!(stored == expected || (expected == 0 && stored == 0xffff));
            } else {
                prop_assert_eq!(done, packet);
            }
        }
    }
}
