//! The location of the headers of a TCP or UDP packet, for segmentation and coalescing.

use std::net::IpAddr;

use causeway_packet::checksum::Checksum;
use causeway_packet::{Ip, IpProtocol, Tcp, Udp};

/// Octets of an IPv4 header without options.
pub(super) const IPV4: usize = 20;
/// Octets of an IPv6 header.
pub(super) const IPV6: usize = 40;
/// Octets of a UDP header.
const UDP: usize = 8;
/// Octets of the largest headers: IPv4 or IPv6 without options, and TCP with all options.
pub(super) const MOST_HEADERS: usize = IPV6 + 60;

/// The transport protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transport {
    Tcp,
    Udp,
}

impl Transport {
    const fn protocol(self) -> IpProtocol {
        match self {
            Self::Tcp => IpProtocol::TCP,
            Self::Udp => IpProtocol::UDP,
        }
    }

    /// The offset of its checksum, in octets from its header.
    pub(super) const fn checksum_field(self) -> usize {
        match self {
            Self::Tcp => 16,
            Self::Udp => 6,
        }
    }
}

/// The offsets of the headers in a packet that is no fragment and has no padding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub(super) src: IpAddr,
    pub(super) dst: IpAddr,
    pub(super) transport: Transport,
    /// The offset of the TCP or UDP header, in octets from the IP header.
    pub(super) header: usize,
    /// The offset of its payload.
    pub(super) payload: usize,
    /// Octets of the packet.
    pub(super) len: usize,
}

impl Layout {
    /// Parses a packet. `None` where it is not one whole TCP segment or UDP datagram.
    pub(super) fn of(packet: &[u8]) -> Option<Self> {
        Self::in_packet(&Ip::parse(packet).ok()?, packet.len())
    }

    /// As [`Layout::of`] for a parsed packet; `len` is the number of octets that were parsed.
    pub(super) fn in_packet(ip: &Ip<'_>, len: usize) -> Option<Self> {
        let (protocol, octets, fragment) = match ip {
            Ip::V4(v4) => (v4.protocol(), v4.payload(), v4.is_fragment()),
            Ip::V6(v6) => {
                let chain = v6.chain().ok()?;
                (chain.protocol, chain.payload, chain.fragment.is_some())
            }
        };
        let (transport, headers, end) = match protocol {
            IpProtocol::TCP => (Transport::Tcp, Tcp::parse(octets).ok()?.header_len(), octets.len()),
            IpProtocol::UDP => (Transport::Udp, UDP, UDP + Udp::parse(octets).ok()?.payload().len()),
            _ => return None,
        };
        let header = len.checked_sub(octets.len())?;
        let whole = !fragment && ip.total_len() == len && end == octets.len();
        whole.then_some(Self {
            src: ip.src(),
            dst: ip.dst(),
            transport,
            header,
            payload: header + headers,
            len,
        })
    }

    /// Neither IPv4 options nor IPv6 extension headers.
    pub(super) fn is_plain(&self) -> bool {
        self.header == if self.src.is_ipv4() { IPV4 } else { IPV6 }
    }

    /// The sum of the pseudo header for this many octets of TCP or UDP.
    pub(super) fn pseudo(&self, octets: usize) -> Checksum {
        let sum = Checksum::new();
        sum.pseudo(self.src, self.dst, self.transport.protocol(), octets).unwrap_or(sum)
    }

    /// The checksum of TCP or UDP in which the checksum field is zero.
    pub(super) fn checksum(&self, octets: &[u8]) -> u16 {
        let sum = self.pseudo(octets.len()).with(octets);
        match self.transport {
            Transport::Tcp => sum.finish(),
            Transport::Udp => sum.finish_udp(),
        }
    }
}

/// Two octets of a packet. Zero beyond its end.
pub(super) fn word(octets: &[u8], at: usize) -> u16 {
    octets.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |octets| u16::from_be_bytes(*octets))
}

/// Four octets of a packet. Zero beyond its end.
pub(super) fn double(octets: &[u8], at: usize) -> u32 {
    octets.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |octets| u32::from_be_bytes(*octets))
}

/// Overwrites octets of a packet. No effect beyond its end.
pub(super) fn put(octets: &mut [u8], at: usize, value: &[u8]) {
    if let Some(field) = octets.get_mut(at..at + value.len()) {
        field.copy_from_slice(value);
    }
}
