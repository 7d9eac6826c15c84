//! Control messages: the local address, the TOS octet, the TTL, the length of joined datagrams, and the count of
//! overruns.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU8;

use arrayvec::ArrayVec;

use crate::sys::mmsg::CONTROL;

/// Octets of `struct cmsghdr`: a length of the size of a pointer, a level and a type.
const HEADER: usize = size_of::<usize>() + 8;

/// The ancillary data of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Ancillary {
    /// The local address. When sending, `None` lets the kernel choose.
    pub(super) local: Option<IpAddr>,
    /// TOS or Traffic Class. When sending, `None` is zero.
    pub(super) tos: Option<u8>,
    /// TTL or Hop Limit. When sending, `None` is that of the socket.
    pub(super) hops: Option<NonZeroU8>,
    /// The message is several datagrams of this length; the last may be shorter.
    pub(super) segment: Option<u16>,
    /// Datagrams that the socket lost so far. Received only.
    pub(super) overruns: Option<u32>,
}

impl Ancillary {
    /// Reads the ancillary data of a datagram. Unknown or truncated messages are skipped.
    pub(super) fn parse(mut control: &[u8]) -> Self {
        let mut found = Self::default();
        while let Some((level, kind, data, rest)) = split(control) {
            match (level, kind) {
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => found.local = array(data, 8).map(v4),
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => found.local = array(data, 0).map(v6),
                (libc::IPPROTO_IP, libc::IP_TOS) => found.tos = data.first().copied(),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    found.tos = array(data, 0).map(|octets| i32::from_ne_bytes(octets) as u8);
                }
                (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                    let hops = array(data, 0).map(|octets| i32::from_ne_bytes(octets) as u8);
                    found.hops = hops.and_then(NonZeroU8::new);
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let size = array(data, 0).map(i32::from_ne_bytes);
                    found.segment = size.and_then(|size| u16::try_from(size).ok());
                }
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                    found.overruns = array(data, 0).map(u32::from_ne_bytes);
                }
                _ => {}
            }
            control = rest;
        }
        found
    }

    /// The control messages for sending over IPv4, or over IPv6.
    pub(super) fn emit(self, v4: bool) -> ArrayVec<u8, CONTROL> {
        let mut control = ArrayVec::new();
        match self.local {
            Some(IpAddr::V4(ip)) => {
                let mut info = [0; 12];
                info[4..8].copy_from_slice(&ip.octets());
                put(&mut control, libc::IPPROTO_IP, libc::IP_PKTINFO, &info);
            }
            Some(IpAddr::V6(ip)) => {
                let mut info = [0; 20];
                info[..16].copy_from_slice(&ip.octets());
                put(&mut control, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info);
            }
            None => {}
        }
        if let Some(tos) = self.tos {
            let value = i32::from(tos).to_ne_bytes();
            match v4 {
                true => put(&mut control, libc::IPPROTO_IP, libc::IP_TOS, &value),
                false => put(&mut control, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &value),
            }
        }
        if let Some(hops) = self.hops {
            let value = i32::from(hops.get()).to_ne_bytes();
            match v4 {
                true => put(&mut control, libc::IPPROTO_IP, libc::IP_TTL, &value),
                false => put(&mut control, libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT, &value),
            }
        }
        if let Some(segment) = self.segment {
            put(&mut control, libc::SOL_UDP, libc::UDP_SEGMENT, &segment.to_ne_bytes());
        }
        control
    }
}

/// The first control message and what follows it.
fn split(control: &[u8]) -> Option<(i32, i32, &[u8], &[u8])> {
    let (len, rest) = control.split_first_chunk::<{ size_of::<usize>() }>()?;
    let (level, rest) = rest.split_first_chunk::<4>()?;
    let (kind, _) = rest.split_first_chunk::<4>()?;
    let len = usize::from_ne_bytes(*len);
    let data = control.get(HEADER..len)?;
    let next = len.checked_next_multiple_of(size_of::<usize>())?;
    let rest = control.get(next..).unwrap_or_default();
    Some((i32::from_ne_bytes(*level), i32::from_ne_bytes(*kind), data, rest))
}

fn put(control: &mut ArrayVec<u8, CONTROL>, level: i32, kind: i32, data: &[u8]) {
    let len = HEADER + data.len();
    control.extend(len.to_ne_bytes());
    control.extend(level.to_ne_bytes());
    control.extend(kind.to_ne_bytes());
    control.extend(data.iter().copied());
    control.extend(std::iter::repeat_n(0, len.next_multiple_of(size_of::<usize>()) - len));
}

fn array<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..)?.first_chunk().copied()
}

fn v4(octets: [u8; 4]) -> IpAddr {
    Ipv4Addr::from(octets).into()
}

fn v6(octets: [u8; 16]) -> IpAddr {
    Ipv6Addr::from(octets).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  the control messages of an IPv6 datagram, as the kernel writes them.
    // Output: the same address and traffic class. (IPv4 packet info differs by direction: sockets test it.)
    #[test]
    fn emitted_messages_can_be_parsed() {
        let local = Some("2001:db8::1".parse().unwrap());
        let sent = Ancillary { local, tos: Some(0xb8), hops: NonZeroU8::new(63), ..Ancillary::default() };
        assert_eq!(Ancillary::parse(&sent.emit(false)), sent);
    }

    // Input:  control messages truncated anywhere, and with invalid lengths.
    // Output: nothing is found and nothing loops or panics.
    #[test]
    fn invalid_messages_are_skipped() {
        let whole = Ancillary { tos: Some(1), ..Ancillary::default() }.emit(true);
        for cut in 0..HEADER {
            assert_eq!(Ancillary::parse(&whole[..cut]), Ancillary::default());
        }
        for lie in [0, 1, HEADER - 1, 1000, usize::MAX] {
            let mut control = whole.clone();
            control[..size_of::<usize>()].copy_from_slice(&lie.to_ne_bytes());
            assert_eq!(Ancillary::parse(&control), Ancillary::default());
        }
    }
}
