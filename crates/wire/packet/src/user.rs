//! The user's IP packet, for packet detection (TS 29.244 clause 5.2.1).

use std::net::IpAddr;

use crate::reader::Reader;
use crate::{FlowLabel, Ip, IpProtocol, Layer, ParseError};

/// Source and destination port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ports {
    /// Source port.
    pub src: u16,
    /// Destination port.
    pub dst: u16,
}

/// The part of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Fragment {
    /// The whole packet.
    Whole,
    /// The first fragment; it may contain the ports.
    First,
    /// A later fragment; it never contains them.
    Later,
}

/// The fields that packet filters match (TS 29.244 clause 8.2.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Flow {
    /// Source address.
    pub src: IpAddr,
    /// Destination address, of the same family.
    pub dst: IpAddr,
    /// Protocol after the IPv6 extension headers; ESP and AH are protocols, not extension headers.
    pub protocol: IpProtocol,
    /// Ports, if the protocol has ports and they are in this packet.
    pub ports: Option<Ports>,
    /// Type of service or traffic class.
    pub tos: u8,
    /// Flow label of IPv6.
    pub flow_label: Option<FlowLabel>,
    /// Which fragment.
    pub fragment: Fragment,
    /// Security Parameter Index of ESP and AH, if it is in this packet.
    pub spi: Option<u32>,
}

impl Flow {
    /// The packet is a fragment.
    pub const fn is_fragment(&self) -> bool {
        !matches!(self.fragment, Fragment::Whole)
    }
}

/// A user's IP packet with validated lengths, with its [`Flow`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserPacket<'a> {
    /// The fields that packet filters match.
    pub flow: Flow,
    ip: Ip<'a>,
    bytes: &'a [u8],
    transport: &'a [u8],
}

impl<'a> UserPacket<'a> {
    /// Parses IPv4 or IPv6. Octets after the packet are left out; a packet longer than `bytes` is an error.
    ///
    /// A truncated transport header is not an error, it has no ports: the UPF forwards, it does not receive.
    ///
    /// # Errors
    /// [`ParseError`] of an IP layer.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let ip = Ip::parse(bytes)?;
        let (protocol, transport, fragment) = upper_layer(&ip)?;
        let headers_here = fragment != Fragment::Later;
        let flow = Flow {
            src: ip.src(),
            dst: ip.dst(),
            protocol,
            ports: if headers_here { ports(protocol, transport) } else { None },
            tos: ip.tos(),
            flow_label: match &ip {
                Ip::V4(_) => None,
                Ip::V6(ip) => Some(ip.flow_label()),
            },
            fragment,
            spi: if headers_here { spi(protocol, transport) } else { None },
        };
        // The IP view has validated this length; the default is never used.
        let bytes = bytes.get(..ip.total_len()).unwrap_or_default();
        Ok(Self { flow, ip, bytes, transport })
    }

    /// The packet without link padding.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Length of the packet in octets, which usage reporting counts.
    #[expect(clippy::len_without_is_empty, reason = "an IP packet is never empty")]
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The IP header.
    pub const fn ip(&self) -> &Ip<'a> {
        &self.ip
    }

    /// The transport header and the rest of the packet; of a later fragment, its data.
    pub const fn transport(&self) -> &'a [u8] {
        self.transport
    }
}

fn upper_layer<'a>(ip: &Ip<'a>) -> Result<(IpProtocol, &'a [u8], Fragment), ParseError> {
    Ok(match ip {
        Ip::V4(ip) => (ip.protocol(), ip.payload(), fragment_of(ip.fragment_offset(), ip.more_fragments())),
        Ip::V6(ip) => {
            let chain = ip.chain()?;
            let fragment =
                chain.fragment.map_or(Fragment::Whole, |header| fragment_of(header.offset, header.more));
            (chain.protocol, chain.payload, fragment)
        }
    })
}

const fn fragment_of(offset: usize, more: bool) -> Fragment {
    match (offset, more) {
        (0, false) => Fragment::Whole,
        (0, true) => Fragment::First,
        _ => Fragment::Later,
    }
}

fn ports(protocol: IpProtocol, transport: &[u8]) -> Option<Ports> {
    let mut reader = Reader::new(Layer::Ip, transport);
    if !protocol.has_ports() {
        return None;
    }
    Some(Ports { src: reader.u16().ok()?, dst: reader.u16().ok()? })
}

fn spi(protocol: IpProtocol, transport: &[u8]) -> Option<u32> {
    let mut reader = Reader::new(Layer::Ip, transport);
    match protocol {
        IpProtocol::ESP => {}
        // Next header, length and a reserved field come first (RFC 4302 clause 2).
        IpProtocol::AH => drop(reader.take(4).ok()?),
        _ => return None,
    }
    reader.u32().ok()
}
