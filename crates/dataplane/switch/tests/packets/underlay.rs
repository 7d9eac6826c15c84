//! The same frames in an underlay of IPv6: stories are told with IPv4.

use std::net::Ipv6Addr;

use crate::frames::{UNDERLAY, V4, checksum, underlay_ipv6};

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const IPV6: usize = 40;

/// A frame on its way to us: if it is a whole datagram without options for the address in the underlay, with an IPv6 header instead.
pub(crate) fn to_ipv6(frame: &[u8]) -> Vec<u8> {
    let is_datagram = frame.len() >= ETHERNET + IPV4
        && frame[12..15] == [8, 0, 0x45]
        && frame[20] & 0x3f == 0
        && frame[21] == 0
        && frame[23] == 17
        && frame[30..34] == UNDERLAY;
    if !is_datagram {
        return frame.to_vec();
    }
    let address = |at: usize| underlay_ipv6(*frame[at..].first_chunk().unwrap()).octets();
    let length = u16::from_be_bytes([frame[16], frame[17]]).wrapping_sub(IPV4 as u16);
    let mut octets = frame[..12].to_vec();
    octets.extend([0x86, 0xdd]);
    octets.extend((6 << 28 | u32::from(frame[15]) << 20).to_be_bytes());
    octets.extend(length.to_be_bytes());
    octets.extend([17, frame[22]]);
    octets.extend(address(26).iter().chain(&address(30)).chain(&frame[ETHERNET + IPV4..]));
    octets
}

/// A frame that leaves: if it is IPv6 it must be one of ours in the underlay, in every octet of its header; with an IPv4 header instead.
pub(crate) fn to_ipv4(frame: &[u8]) -> Vec<u8> {
    if frame.get(12..14) != Some(&[0x86, 0xdd]) {
        return frame.to_vec();
    }
    let header: &[u8; IPV6] = frame[ETHERNET..].first_chunk().unwrap();
    let payload = &frame[ETHERNET + IPV6..];
    let [first, second, ..] = *header;
    let class = first << 4 | second >> 4;
    assert_eq!((first >> 4, class & !3, second & 15, &header[2..4]), (6, 0, 0, &[0, 0][..]), "{frame:02x?}");
    assert_eq!(header[6..8], [17, 64], "{frame:02x?}");
    assert_eq!(header[8..24], underlay_ipv6(UNDERLAY).octets(), "{frame:02x?}");
    let remote: Ipv6Addr = <[u8; 16]>::try_from(&header[24..]).unwrap().into();
    let dst = *remote.octets().last_chunk().unwrap();
    assert_eq!(remote, underlay_ipv6(dst), "{frame:02x?}");
    let packet = V4 { tos: class, fragment: 0x4000, payload: vec![], ..V4::udp(UNDERLAY, dst, (0, 0), &[]) };
    let mut ip = packet.octets();
    // A damaged packet says another length than it has.
    let length = u16::from_be_bytes([header[4], header[5]]).wrapping_add(IPV4 as u16);
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    ip[10..12].fill(0);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [&frame[..12], &[8, 0], &ip, payload].concat()
}
