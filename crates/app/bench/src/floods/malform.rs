//! Creation of malformed packets from valid ones.

use std::net::Ipv6Addr;

use causeway_packet::checksum::checksum;

use super::packet_kinds::TUNNEL;

/// The type of an extension header that is not known, and must not be understood (TS 29.281 clause 5.2.1).
const UNKNOWN: u8 = 0x3f;
/// Of IPv6: destination options, and in the last of them that UDP follows.
const OPTIONS: u8 = 60;
const UDP: u8 = 17;
/// Octets of an IPv6 header, and of an extension header with nothing but padding.
const IPV6: usize = 40;
const PADDED: usize = 8;

/// Changes the IPv4 header that begins there, and makes its checksum right.
pub(super) fn with_header(frame: &mut [u8], start: usize, change: impl FnOnce(&mut [u8])) {
    change(&mut frame[start..]);
    let end = start + usize::from(frame[start] & 0x0f) * 4;
    frame[start + 10..start + 12].fill(0);
    let sum = checksum(&frame[start..end]);
    frame[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
}

/// Makes the length of the GTP-U header right, if there is one.
pub(super) fn set_length(frame: &mut [u8], start: usize) {
    if start > 0 {
        let length = (frame.len() - 8) as u16;
        frame[2..4].copy_from_slice(&length.to_be_bytes());
    }
}

/// Puts unknown extension headers behind the container.
pub(super) fn extend(frame: &mut Vec<u8>, count: usize) {
    frame[TUNNEL - 1] = UNKNOWN;
    let last = count - 1;
    let headers = (0..count).flat_map(|index| [1, 0, 0, if index < last { UNKNOWN } else { 0 }]);
    frame.splice(TUNNEL..TUNNEL, headers.collect::<Vec<_>>());
    set_length(frame, TUNNEL);
}

/// Two hosts without a session.
pub(super) fn unknown_hosts(random: &mut fastrand::Rng) -> [Ipv6Addr; 2] {
    [(); 2].map(|()| {
        Ipv6Addr::new(0x2001, 0xdb8, 0xff00 | u16::from(random.u8(..)), 0, 0, 0, 0, random.u8(1..).into())
    })
}

/// Makes it one of IPv6, with so many extension headers, from a host to another one.
pub(super) fn to_ipv6(frame: &mut Vec<u8>, start: usize, extensions: usize, ends: [Ipv6Addr; 2]) {
    let behind = frame.split_off(frame.len().min(start + IPV6));
    let behind = [vec![0; extensions * PADDED], behind].concat();
    frame.truncate(start);
    frame.extend([0x60, 0, 0, 0]);
    frame.extend((behind.len() as u16).to_be_bytes());
    frame.extend([if extensions > 0 { OPTIONS } else { UDP }, 64]);
    frame.extend(ends.iter().flat_map(Ipv6Addr::octets));
    frame.extend(behind);
    for (at, header) in frame[start + IPV6..].chunks_mut(PADDED).take(extensions).enumerate() {
        // Padding of four octets more than its own two.
        header[..4].copy_from_slice(&[if at + 1 < extensions { OPTIONS } else { UDP }, 0, 1, 4]);
    }
    set_length(frame, start);
}
