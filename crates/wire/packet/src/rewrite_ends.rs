//! New addresses and ports for a packet in place, as a NAT makes them. Checksums are updated, not recomputed: an
//! invalid one stays invalid, and no payload is read.

use std::net::IpAddr;

use crate::rewrite::RewriteError;
use crate::{Fragment, IpProtocol, UserPacket, checksum};

/// The new addresses and ports of a packet; `None` leaves one unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ends {
    /// Source address, of the packet's IP version.
    pub src: Option<IpAddr>,
    /// Destination address, of the packet's IP version.
    pub dst: Option<IpAddr>,
    /// Source port of TCP, UDP or UDP-Lite.
    pub src_port: Option<u16>,
    /// Destination port of TCP, UDP or UDP-Lite.
    pub dst_port: Option<u16>,
}

/// The offsets of the parts of a packet.
struct Places {
    is_v6: bool,
    /// The transport header, unless the packet is a later fragment.
    transport: Option<usize>,
    /// It has ports that can be changed.
    has_ports: bool,
    /// The checksum over addresses and ports.
    sum: Option<usize>,
    /// Zero means that there is no checksum (UDP over IPv4).
    may_be_absent: bool,
}

impl Places {
    fn of(packet: &[u8]) -> Result<Self, RewriteError> {
        let user = UserPacket::parse(packet).map_err(|_| RewriteError::NotIp)?;
        let transport = (user.flow.fragment != Fragment::Later).then(|| user.len() - user.transport().len());
        let (at, has_ports) = match user.flow.protocol {
            IpProtocol::TCP => (Some(16), true),
            IpProtocol::UDP | UDP_LITE => (Some(6), true),
            IpProtocol::ICMPV6 => (Some(2), false),
            _ => (None, false),
        };
        let is_v6 = user.flow.src.is_ipv6();
        Ok(Self {
            is_v6,
            transport,
            has_ports,
            sum: transport.zip(at).map(|(start, at)| start + at),
            may_be_absent: user.flow.protocol == IpProtocol::UDP,
        })
    }
}

const UDP_LITE: IpProtocol = IpProtocol(136);

/// Sets new addresses and ports. A later fragment, which has no ports, gets new addresses only; the checksum in the
/// first one covers it. An address of the other IP version has no effect.
///
/// # Errors
/// [`RewriteError::NotIp`] if it is not an IP packet with valid lengths; the packet is unchanged.
pub fn set_ends(packet: &mut [u8], ends: &Ends) -> Result<(), RewriteError> {
    let places = Places::of(packet)?;
    let (src_at, dst_at) = if places.is_v6 { (8, 24) } else { (12, 16) };
    set_address(packet, &places, src_at, ends.src);
    set_address(packet, &places, dst_at, ends.dst);
    for (port, offset) in [(ends.src_port, 0), (ends.dst_port, 2)] {
        if let (Some(port), Some(start), true) = (port, places.transport, places.has_ports) {
            set_word(packet, &places, start + offset, port.to_be_bytes(), false);
        }
    }
    Ok(())
}

fn set_address(packet: &mut [u8], places: &Places, at: usize, address: Option<IpAddr>) {
    let octets = match (address, places.is_v6) {
        (Some(IpAddr::V4(ip)), false) => ip.octets().to_vec(),
        (Some(IpAddr::V6(ip)), true) => ip.octets().to_vec(),
        _ => return,
    };
    for (index, word) in octets.as_chunks::<2>().0.iter().enumerate() {
        set_word(packet, places, at + 2 * index, *word, !places.is_v6);
    }
}

/// Sets 16 bits and updates the checksums that cover them.
fn set_word(packet: &mut [u8], places: &Places, at: usize, new: [u8; 2], in_v4_header: bool) {
    let Some(word) = packet.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<2>) else { return };
    let old = std::mem::replace(word, new);
    if in_v4_header {
        update_sum(packet, 10, old, new, false);
    }
    if let Some(sum) = places.sum {
        update_sum(packet, sum, old, new, places.may_be_absent);
    }
}

fn update_sum(packet: &mut [u8], at: usize, old: [u8; 2], new: [u8; 2], may_be_absent: bool) {
    let Some(sum) = packet.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<2>) else { return };
    if may_be_absent && *sum == [0, 0] {
        return;
    }
    let updated =
        checksum::update(u16::from_be_bytes(*sum), u16::from_be_bytes(old), u16::from_be_bytes(new));
    let zero_means_none = may_be_absent && updated == 0;
    *sum = if zero_means_none { [0xff, 0xff] } else { updated.to_be_bytes() };
}
