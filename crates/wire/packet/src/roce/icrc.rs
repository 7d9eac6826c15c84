//! The invariant CRC (IBA clause 7.8.1; for RoCEv2 Annex A17).

use std::net::{IpAddr, SocketAddr};

use crate::{BuildError, Ip, IpProtocol, Layer, Udp};

/// Octets of the CRC.
pub(super) const ICRC: usize = 4;

const UDP_HEADER: usize = 8;
const IPV4_HEADER: usize = 20;
/// The octet of the Base Transport Header with FECN, BECN and reserved bits, which switches may change.
const VARIANT_OCTET_OF_BTH: usize = 4;

/// The IP and UDP header around an InfiniBand packet, as far as the invariant CRC covers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outer {
    /// Source address and port.
    pub src: SocketAddr,
    /// Destination address and port.
    pub dst: SocketAddr,
    /// Identification of the IPv4 packet; zero over IPv6.
    pub identification: u16,
    /// Don't Fragment of the IPv4 packet; `false` over IPv6.
    pub dont_fragment: bool,
}

impl Outer {
    /// The headers that Linux writes for a datagram of an unconnected UDP socket that fragments nothing (`IP_MTU_DISCOVER` is
    /// `IP_PMTUDISC_DO`): Don't Fragment is set, and the identification is zero (RFC 6864 clause 4.1 permits any value then). Other sockets
    /// count their identifications.
    pub const fn of_socket(src: SocketAddr, dst: SocketAddr) -> Self {
        Self { src, dst, identification: 0, dont_fragment: src.is_ipv4() }
    }

    /// The headers of a received packet.
    ///
    /// `None` for a fragment, and for a packet with IPv4 options or IPv6 extension headers: RoCEv2 has none of these (IBA Annex
    /// A17).
    pub fn of_packet(ip: &Ip<'_>, udp: &Udp<'_>) -> Option<Self> {
        let (src, dst, identification, dont_fragment): (IpAddr, IpAddr, _, _) = match ip {
            Ip::V4(ip) if ip.is_fragment() || !ip.options().is_empty() => return None,
            Ip::V4(ip) => (ip.src().into(), ip.dst().into(), ip.identification(), ip.dont_fragment()),
            Ip::V6(ip) if ip.next_header() != IpProtocol::UDP => return None,
            Ip::V6(ip) => (ip.src().into(), ip.dst().into(), 0, false),
        };
        let (src, dst) = (SocketAddr::new(src, udp.src_port()), SocketAddr::new(dst, udp.dst_port()));
        Some(Self { src, dst, identification, dont_fragment })
    }

    /// The CRC over an InfiniBand packet with all its octets but the CRC itself, in the order of the wire.
    ///
    /// # Errors
    /// [`BuildError::TooLong`], or [`BuildError::MixedFamilies`].
    pub(super) fn icrc(&self, packet: &[u8]) -> Result<[u8; ICRC], BuildError> {
        // 64 ones stand for the Local Route Header, which RoCE has not (IBA Annex A16).
        let mut crc = crc32fast::Hasher::new();
        crc.update(&[0xff; 8]);
        self.masked_ip(packet.len() + ICRC, &mut crc)?;
        let (before, rest) = packet.split_at_checked(VARIANT_OCTET_OF_BTH).unwrap_or((packet, &[]));
        crc.update(before);
        if let [_, after @ ..] = rest {
            crc.update(&[0xff]);
            crc.update(after);
        }
        Ok(crc.finalize().to_le_bytes())
    }

    /// The IP and UDP header, the fields that routers change set to ones.
    fn masked_ip(&self, payload_len: usize, crc: &mut crc32fast::Hasher) -> Result<(), BuildError> {
        let length = payload_len + UDP_HEADER;
        match (self.src.ip(), self.dst.ip()) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let total = u16::try_from(length + IPV4_HEADER).map_err(|_| too_long(length))?;
                let [l0, l1] = total.to_be_bytes();
                let [i0, i1] = self.identification.to_be_bytes();
                let flags = if self.dont_fragment { 0x40 } else { 0 };
                crc.update(&[0x45, 0xff, l0, l1, i0, i1, flags, 0, 0xff, IpProtocol::UDP.0, 0xff, 0xff]);
                crc.update(&src.octets());
                crc.update(&dst.octets());
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let [l0, l1] = u16::try_from(length).map_err(|_| too_long(length))?.to_be_bytes();
                crc.update(&[0x6f, 0xff, 0xff, 0xff, l0, l1, IpProtocol::UDP.0, 0xff]);
                crc.update(&src.octets());
                crc.update(&dst.octets());
            }
            _ => return Err(BuildError::MixedFamilies),
        }
        let [s0, s1] = self.src.port().to_be_bytes();
        let [d0, d1] = self.dst.port().to_be_bytes();
        let [l0, l1] = (length as u16).to_be_bytes();
        crc.update(&[s0, s1, d0, d1, l0, l1, 0xff, 0xff]);
        Ok(())
    }
}

const fn too_long(length: usize) -> BuildError {
    BuildError::TooLong { layer: Layer::Roce, length, limit: u16::MAX as usize - IPV4_HEADER }
}
