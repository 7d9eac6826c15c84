//! The IP and UDP headers around GTP-U, for ports that see them.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;

use arrayvec::ArrayVec;
use causeway_packet::{BuildError, Ip, IpProtocol, IpRepr, Meta, ParseError, Udp, UdpChecksum, UdpRepr};

use crate::Counter;

/// The UDP port of GTP-U (TS 29.281 clause 4.4.2).
pub(crate) const GTPU_PORT: u16 = 2152;

/// Octets of the largest outer header: IPv6 and UDP.
pub(crate) const OUTER: usize = 48;

/// An IP packet with valid length and header checksum.
///
/// # Errors
/// The counter of the reason.
pub(crate) fn ip(bytes: &[u8]) -> Result<Ip<'_>, Counter> {
    let ip = Ip::parse(bytes).map_err(|error| match error {
        ParseError::Truncated { .. } => Counter::RxTruncated,
        _ => Counter::RxMalformed,
    })?;
    match ip {
        Ip::V4(v4) if !v4.checksum_is_valid() => Err(Counter::RxChecksum),
        ip => Ok(ip),
    }
}

/// The GTP-U datagram in an IP packet, and its addresses. `summed`: its UDP checksum is present and verified;
/// hardware and captures may leave it out.
///
/// # Errors
/// The counter of the reason why there is none.
pub(crate) fn unwrap<'a>(ip: &Ip<'a>, summed: bool) -> Result<(Meta, &'a [u8]), Counter> {
    unwrap_of_port(ip, summed, GTPU_PORT)
}

/// The same for datagrams to another UDP port.
///
/// # Errors
/// As for [`unwrap`].
pub(crate) fn unwrap_of_port<'a>(ip: &Ip<'a>, summed: bool, port: u16) -> Result<(Meta, &'a [u8]), Counter> {
    let udp = Udp::parse(transport(ip)?).map_err(|_| Counter::RxMalformed)?;
    if udp.dst_port() != port {
        return Err(Counter::RxNotForUs);
    }
    // The kernel's sockets do not accept a missing checksum over IPv6 either.
    let wrong =
        matches!(udp.checksum(ip.src(), ip.dst()), UdpChecksum::Invalid | UdpChecksum::AbsentOverIpv6);
    if summed && wrong {
        return Err(Counter::RxChecksum);
    }
    let peer = SocketAddr::new(ip.src(), udp.src_port());
    Ok((
        Meta::Gtpu { local: ip.dst(), peer, tos: ip.tos(), hops: NonZeroU8::new(ip.hop_limit()) },
        udp.payload(),
    ))
}

/// The UDP datagram in an IP packet.
fn transport<'a>(ip: &Ip<'a>) -> Result<&'a [u8], Counter> {
    let (protocol, payload, fragment) = match ip {
        Ip::V4(v4) => (v4.protocol(), v4.payload(), v4.is_fragment()),
        Ip::V6(v6) => {
            let chain = v6.chain().map_err(|_| Counter::RxMalformed)?;
            (chain.protocol, chain.payload, chain.fragment.is_some_and(|fragment| !fragment.is_atomic()))
        }
    };
    match protocol {
        _ if fragment => Err(Counter::RxFragment),
        IpProtocol::UDP => Ok(payload),
        _ => Err(Counter::RxNotForUs),
    }
}

/// The default TTL or Hop Limit of sent packets.
pub(crate) const HOPS: u8 = 64;

/// The headers of a UDP payload, with Type of Service and TTL. Only IPv6 requires and gets a UDP checksum.
///
/// # Errors
/// The addresses are of two families, or the payload is too long.
pub(crate) fn wrap(
    local: SocketAddr,
    peer: SocketAddr,
    (tos, hops): (u8, Option<NonZeroU8>),
    identification: u16,
    payload: &[u8],
) -> Result<ArrayVec<u8, OUTER>, BuildError> {
    let udp = UdpRepr { src_port: local.port(), dst_port: peer.port() };
    let mut outer = ArrayVec::new();
    // Both headers fit: that is the length of the largest ones.
    let mut put = |octets: &[u8]| {
        let _ = outer.try_extend_from_slice(octets);
    };
    match IpRepr::new(local.ip(), peer.ip(), IpProtocol::UDP)?
        .with_tos(tos)
        .with_hop_limit(hops.map_or(HOPS, NonZeroU8::get))
    {
        IpRepr::V4(mut v4) => {
            v4.identification = identification;
            let udp = udp.header_without_checksum(payload.len())?;
            put(&v4.header(udp.len() + payload.len())?);
            put(&udp);
        }
        IpRepr::V6(v6) => {
            let udp = udp.header(local.ip(), peer.ip(), &[payload])?;
            put(&v6.header(udp.len() + payload.len())?);
            put(&udp);
        }
    }
    Ok(outer)
}

/// The unspecified address of the family of `ip`.
pub(crate) fn unspecified(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(local: &str, peer: &str) -> Vec<u8> {
        let mut packet =
            wrap(local.parse().unwrap(), peer.parse().unwrap(), (0xb8, None), 7, b"gtpu").unwrap().to_vec();
        packet.extend(b"gtpu");
        packet
    }

    fn open(packet: &[u8]) -> Result<(Meta, &[u8]), Counter> {
        ip(packet).and_then(|ip| unwrap(&ip, true))
    }

    // Input:  headers around a payload, over both families.
    // Output: addresses, marking and payload are equal.
    #[test]
    fn wrapped_headers_can_be_unwrapped() {
        for (from, to) in [("192.0.2.1:2152", "192.0.2.2:2152"), ("[2001:db8::1]:9", "[2001:db8::2]:2152")] {
            let (peer, local): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
            let meta = Meta::Gtpu { local: local.ip(), peer, tos: 0xb8, hops: NonZeroU8::new(64) };
            assert_eq!(open(&packet(from, to)), Ok((meta, b"gtpu".as_slice())));
        }
        assert!(wrap("[::1]:1".parse().unwrap(), "1.2.3.4:1".parse().unwrap(), (0, None), 0, &[]).is_err());
    }

    // Input:  a truncated packet, a wrong header sum, a fragment, another port, a wrong or missing UDP sum.
    // Output: each has its own counter.
    #[test]
    fn each_defect_has_its_reason() {
        let (v4, v6) = (packet("192.0.2.1:1", "192.0.2.2:2152"), packet("[::1]:1", "[::2]:2152"));
        assert_eq!(open(&v4[..30]), Err(Counter::RxTruncated));
        assert_eq!(open(&[0x45, 0]), Err(Counter::RxTruncated));
        assert_eq!(open(&[0x30; 60]), Err(Counter::RxMalformed));
        let change = |packet: &[u8], at: usize, to: u8| {
            let mut packet = packet.to_vec();
            packet[at] = to;
            packet
        };
        assert_eq!(open(&change(&v4, 8, 1)), Err(Counter::RxChecksum));
        assert_eq!(open(&change(&v6, 50, 1)), Err(Counter::RxChecksum));
        assert_eq!(open(&change(&change(&v6, 46, 0), 47, 0)), Err(Counter::RxChecksum));
        assert_eq!(open(&packet("192.0.2.1:1", "192.0.2.2:53")), Err(Counter::RxNotForUs));
        assert_eq!(open(&change(&v6, 6, 58)), Err(Counter::RxNotForUs));
        let v4 = Ip::parse(&v4).unwrap();
        let Ip::V4(view) = v4 else { panic!() };
        let mut repr = view.repr();
        repr.more_fragments = true;
        let mut fragment = Vec::new();
        repr.write(&[], view.payload(), &mut fragment).unwrap();
        assert_eq!(open(&fragment), Err(Counter::RxFragment));
    }
}
