//! Changes to an IP header in place, as a router makes them. The IPv4 checksum is updated, not recomputed.

use crate::checksum;

/// Octets of an IPv4 header without options.
const V4_HEADER: usize = 20;
/// Octets of the IPv6 fixed header.
const V6_HEADER: usize = 40;

/// Differentiated Services Code Point (RFC 2474), 0 to 63.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Dscp(u8);

impl Dscp {
    /// `None` above 63.
    pub const fn new(raw: u8) -> Option<Self> {
        if raw <= 63 { Some(Self(raw)) } else { None }
    }

    /// The number, 0 to 63.
    pub const fn value(self) -> u8 {
        self.0
    }

    /// The upper six bits of a type of service or traffic class.
    pub const fn of_tos(tos: u8) -> Self {
        Self(tos >> 2)
    }
}

/// Explicit Congestion Notification (RFC 3168): the lower two bits of a type of service or traffic class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ecn {
    /// Not-ECT: congestion is signalled by loss alone.
    NotCapable,
    /// ECT(1).
    Capable1,
    /// ECT(0).
    Capable0,
    /// CE: congestion experienced.
    Congested,
}

impl Ecn {
    /// The field in a type of service or traffic class.
    pub const fn of_tos(tos: u8) -> Self {
        match tos & 0x03 {
            0 => Self::NotCapable,
            1 => Self::Capable1,
            2 => Self::Capable0,
            _ => Self::Congested,
        }
    }

    const fn bits(self) -> u8 {
        match self {
            Self::NotCapable => 0,
            Self::Capable1 => 1,
            Self::Capable0 => 2,
            Self::Congested => 3,
        }
    }
}

/// Why a header was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum RewriteError {
    /// Neither a whole IPv4 nor a whole IPv6 header.
    #[error("not an IP header")]
    NotIp,
    /// The hop limit has expired; the sender is sent an ICMP Time Exceeded.
    #[error("hop limit reached")]
    HopLimit,
}

/// A complete fixed header.
enum Fixed<'a> {
    V4(&'a mut [u8; V4_HEADER]),
    V6(&'a mut [u8; V6_HEADER]),
}

impl<'a> Fixed<'a> {
    fn of(packet: &'a mut [u8]) -> Result<Self, RewriteError> {
        let version = packet.first().map(|first| first >> 4);
        match version {
            Some(4) => packet.first_chunk_mut().map(Self::V4),
            Some(6) => packet.first_chunk_mut().map(Self::V6),
            _ => None,
        }
        .ok_or(RewriteError::NotIp)
    }
}

/// Decrements the time to live or the hop limit. Returns the new value, at least 1.
///
/// # Errors
/// [`RewriteError`]; the packet is unchanged.
pub fn decrement_hop_limit(packet: &mut [u8]) -> Result<u8, RewriteError> {
    let one_less = |hops: u8| if hops > 1 { Ok(hops - 1) } else { Err(RewriteError::HopLimit) };
    match Fixed::of(packet)? {
        Fixed::V4(header) => {
            let left = one_less(header[8])?;
            change_v4(header, 8, left);
            Ok(left)
        }
        Fixed::V6(header) => {
            header[7] = one_less(header[7])?;
            Ok(header[7])
        }
    }
}

/// Sets the DSCP and leaves the two ECN bits unchanged.
///
/// # Errors
/// [`RewriteError::NotIp`]; the packet is unchanged.
pub fn set_dscp(packet: &mut [u8], dscp: Dscp) -> Result<(), RewriteError> {
    set_tos(packet, |tos| dscp.0 << 2 | tos & 0x03)
}

/// Sets the ECN field and leaves the DSCP unchanged.
///
/// # Errors
/// [`RewriteError::NotIp`]; the packet is unchanged.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) -> Result<(), RewriteError> {
    set_tos(packet, |tos| tos & !0x03 | ecn.bits())
}

fn set_tos(packet: &mut [u8], change: impl Fn(u8) -> u8) -> Result<(), RewriteError> {
    match Fixed::of(packet)? {
        Fixed::V4(header) => {
            let tos = change(header[1]);
            change_v4(header, 1, tos);
        }
        Fixed::V6(header) => {
            let tos = change(header[0] << 4 | header[1] >> 4);
            header[0] = 0x60 | tos >> 4;
            header[1] = tos << 4 | header[1] & 0x0f;
        }
    }
    Ok(())
}

/// Sets one octet of an IPv4 header and updates the checksum for the word it is in.
fn change_v4(header: &mut [u8; V4_HEADER], at: usize, value: u8) {
    let word = |header: &[u8; V4_HEADER]| u16::from_be_bytes([header[at & !1], header[at | 1]]);
    let old = word(header);
    header[at] = value;
    let sum = checksum::update(u16::from_be_bytes([header[10], header[11]]), old, word(header));
    [header[10], header[11]] = sum.to_be_bytes();
}
