//! The ICMP errors that a router sends to the source of a packet it cannot forward.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Icmpv4, Icmpv4Message, Icmpv6, Icmpv6Message};
use crate::{BuildError, Fragment, IpProtocol, Ipv4Repr, Ipv6Repr, ParseError, UserPacket};

/// Maximum octets of an error over IPv4 (RFC 1812 clause 4.3.2.3).
const MAX_V4: usize = 576;
/// Maximum octets of an error over IPv6: the smallest MTU (RFC 4443 clause 2.4).
const MAX_V6: usize = 1280;
/// Octets of the IPv4 header before the quoted packet.
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const ICMP_HEADER: usize = 8;
/// Type of service of errors over IPv4: internetwork control (RFC 1812 clause 4.3.2.5).
const CONTROL_TOS: u8 = 0xc0;

/// Why a packet cannot be forwarded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IcmpError {
    /// Its hop limit has expired.
    TimeExceeded,
    /// It is larger than the next link's MTU, and must not be fragmented.
    PacketTooBig {
        /// That MTU, octets. IPv4 has 16 bits; larger values are written as 65,535.
        mtu: u32,
    },
    /// It cannot be delivered.
    Unreachable(Unreachable),
}

/// Why a packet cannot be delivered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unreachable {
    /// No route (IPv4 "net unreachable").
    NoRoute,
    /// The host does not respond.
    Host,
    /// No process listens at the port.
    Port,
    /// A filter forbids it.
    Prohibited,
}

/// Why no ICMP error may be sent for a packet (RFC 1812 clause 4.3.2.7, RFC 4443 clause 2.4). Nothing was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoReply {
    /// It is not an IP packet.
    #[error(transparent)]
    Malformed(#[from] ParseError),
    /// It is an ICMP error itself.
    #[error("the packet is an ICMP error")]
    IsError,
    /// It is a later fragment.
    #[error("the packet is a later fragment")]
    LaterFragment,
    /// Its source is not a single host.
    #[error("source {0} is not one host")]
    Source(IpAddr),
    /// Its destination is a group.
    #[error("destination {0} is a group")]
    Destination(IpAddr),
    /// The error cannot be written.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// Appends the error, an IP packet from `from` to the source of `offending`, which is quoted up to the maximum
/// length.
///
/// # Errors
/// [`NoReply`]
pub fn error_reply(
    error: IcmpError,
    from: IpAddr,
    offending: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), NoReply> {
    let packet = UserPacket::parse(offending)?;
    may_reply(error, &packet)?;
    match (from, packet.flow.src, packet.flow.dst) {
        (IpAddr::V4(from), IpAddr::V4(to), IpAddr::V4(_)) => reply_v4(error, from, to, packet.bytes(), out),
        (IpAddr::V6(from), IpAddr::V6(to), IpAddr::V6(_)) => reply_v6(error, from, to, packet.bytes(), out),
        _ => Err(BuildError::MixedFamilies.into()),
    }
}

/// Checks that the error may be sent for the packet.
///
/// # Errors
/// [`NoReply`]
pub fn may_reply(error: IcmpError, packet: &UserPacket<'_>) -> Result<(), NoReply> {
    if packet.flow.fragment == Fragment::Later {
        return Err(NoReply::LaterFragment);
    }
    if is_icmp_error(packet) {
        return Err(NoReply::IsError);
    }
    let (src, dst) = (packet.flow.src, packet.flow.dst);
    if !is_host(src) {
        return Err(NoReply::Source(src));
    }
    let is_group = match dst {
        IpAddr::V4(dst) => dst.is_multicast() || dst.is_broadcast(),
        // Path MTU discovery works for groups too, so this error alone is exempt.
        IpAddr::V6(dst) => dst.is_multicast() && !matches!(error, IcmpError::PacketTooBig { .. }),
    };
    if is_group { Err(NoReply::Destination(dst)) } else { Ok(()) }
}

/// The source is a single host.
const fn is_host(src: IpAddr) -> bool {
    match src {
        // Class E is reserved; its addresses belong to no host.
        IpAddr::V4(src) => {
            !(src.is_multicast() || src.is_unspecified() || src.is_loopback() || src.octets()[0] >= 240)
        }
        IpAddr::V6(src) => !(src.is_multicast() || src.is_unspecified() || src.is_loopback()),
    }
}

fn reply_v4(
    error: IcmpError,
    from: Ipv4Addr,
    to: Ipv4Addr,
    offending: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), NoReply> {
    let original = quote(offending, MAX_V4 - IPV4_HEADER - ICMP_HEADER);
    let message = match error {
        IcmpError::TimeExceeded => Icmpv4Message::TimeExceeded { code: 0, original },
        IcmpError::PacketTooBig { mtu } => {
            Icmpv4Message::FragmentationNeeded { mtu: u16::try_from(mtu).unwrap_or(u16::MAX), original }
        }
        IcmpError::Unreachable(why) => Icmpv4Message::Unreachable { code: why.code_v4(), original },
    };
    let ip = Ipv4Repr { tos: CONTROL_TOS, ..Ipv4Repr::new(from, to, IpProtocol::ICMP) };
    out.extend_from_slice(&ip.header(ICMP_HEADER + original.len())?);
    message.write(out);
    Ok(())
}

fn reply_v6(
    error: IcmpError,
    from: Ipv6Addr,
    to: Ipv6Addr,
    offending: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), NoReply> {
    let original = quote(offending, MAX_V6 - IPV6_HEADER - ICMP_HEADER);
    let message = match error {
        IcmpError::TimeExceeded => Icmpv6Message::TimeExceeded { code: 0, original },
        IcmpError::PacketTooBig { mtu } => Icmpv6Message::PacketTooBig { mtu, original },
        IcmpError::Unreachable(why) => Icmpv6Message::Unreachable { code: why.code_v6(), original },
    };
    let ip = Ipv6Repr::new(from, to, IpProtocol::ICMPV6);
    out.extend_from_slice(&ip.header(ICMP_HEADER + original.len())?);
    message.write(from, to, out);
    Ok(())
}

fn is_icmp_error(packet: &UserPacket<'_>) -> bool {
    match packet.flow.protocol {
        IpProtocol::ICMP => Icmpv4::parse(packet.transport()).is_ok_and(|icmp| icmp.message.is_error()),
        IpProtocol::ICMPV6 => Icmpv6::parse(packet.transport()).is_ok_and(|icmp| icmp.message.is_error()),
        _ => false,
    }
}

fn quote(packet: &[u8], limit: usize) -> &[u8] {
    packet.get(..limit).unwrap_or(packet)
}

impl Unreachable {
    const fn code_v4(self) -> u8 {
        match self {
            Self::NoRoute => 0,
            Self::Host => 1,
            Self::Port => 3,
            Self::Prohibited => 13,
        }
    }

    const fn code_v6(self) -> u8 {
        match self {
            Self::NoRoute => 0,
            Self::Prohibited => 1,
            Self::Host => 3,
            Self::Port => 4,
        }
    }
}
