//! Parses a frame to headers and metadata, with the states of the program's parser.

use std::net::{IpAddr, Ipv4Addr};

use causeway_packet::checksum::checksum;

use super::codes::{Command, DropReason, Punt};
use super::packet::{
    Arrival, ETHERTYPE_ARP, ETHERTYPE_CPU, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Family, Outer, Packet,
};

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
/// Others whose header begins with ports.
const PROTOCOL_DCCP: u8 = 33;
const PROTOCOL_SCTP: u8 = 132;
const PROTOCOL_UDP_LITE: u8 = 136;
const PORT_GTPU: u16 = 2152;
const PORT_VXLAN: u16 = 4789;
/// The flag of a VXLAN header that its VNI is valid (RFC 7348 section 5).
const VNI_IS_VALID: u8 = 8;
const G_PDU: u8 = 255;
const CONTAINER: u8 = 0x85;

/// Why the parser stops: the packet is for another receiver, is to be dropped, or the frame ends.
enum ParserStop {
    Punt(Punt),
    Drop(DropReason),
    /// The frame ended within a header.
    Short,
    Accept,
}

/// Octets from which headers are taken in sequence.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take<const N: usize>(&mut self) -> Result<&'a [u8; N], ParserStop> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(ParserStop::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn skip(&mut self, octets: usize) -> Result<(), ParserStop> {
        self.0 = self.0.get(octets..).ok_or(ParserStop::Short)?;
        Ok(())
    }

    fn peek(&self) -> Result<u8, ParserStop> {
        self.0.first().copied().ok_or(ParserStop::Short)
    }
}

/// What the parser of a program knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Known {
    pub(super) cpu_port: u16,
    /// Addresses at which GTP-U arrives.
    pub(super) local: Vec<Ipv4Addr>,
    /// Addresses at which VXLAN arrives, if the program has it. Those of IPv6 are known by their first 64 bits.
    pub(super) underlay: Vec<IpAddr>,
    /// The IP version of the underlay.
    pub(super) underlay_version: Family,
    /// UEs have IPv6.
    pub(super) has_ipv6: bool,
}

/// Parses a frame that was received on a port.
pub(super) fn parse(frame: &[u8], port: u16, known: &Known) -> Packet {
    let mut packet = Packet::new(port, frame);
    let mut progress = Progress::default();
    match states(&mut packet, frame, known, &mut progress) {
        Ok(()) | Err(ParserStop::Accept) => {}
        Err(ParserStop::Punt(punt)) => packet.punt = Some(punt),
        Err(ParserStop::Drop(reason)) => packet.drop = Some(reason),
        Err(ParserStop::Short) if progress.has_udp && !progress.has_user_packet => {
            packet.drop = Some(DropReason::MalformedGtpu);
        }
        Err(ParserStop::Short) => packet.drop = Some(DropReason::MalformedIp),
    }
    packet
}

/// The progress of the parser, which determines the drop reason of a truncated frame.
#[derive(Default)]
struct Progress {
    has_udp: bool,
    has_user_packet: bool,
}

fn states(
    packet: &mut Packet,
    frame: &[u8],
    known: &Known,
    progress: &mut Progress,
) -> Result<(), ParserStop> {
    let mut cursor = Cursor(frame);
    cursor.take::<14>()?;
    match packet.ether_type() {
        ETHERTYPE_IPV4 if is_of_underlay(&cursor, known, Family::V4)? => {
            segment(packet, cursor, known, progress)
        }
        ETHERTYPE_IPV6 if is_of_underlay(&cursor, known, Family::V6)? => {
            segment(packet, cursor, known, progress)
        }
        ETHERTYPE_IPV4 => ipv4(packet, cursor, known, progress),
        ETHERTYPE_IPV6 => inner_ipv6(packet, cursor, known),
        ETHERTYPE_CPU if packet.ingress_port == known.cpu_port => from_cpu(packet, cursor, known, progress),
        ETHERTYPE_ARP => Err(ParserStop::Punt(Punt::Arp)),
        _ => Err(ParserStop::Drop(DropReason::UnsupportedFrame)),
    }
}

fn from_cpu(
    packet: &mut Packet,
    mut cursor: Cursor<'_>,
    known: &Known,
    progress: &mut Progress,
) -> Result<(), ParserStop> {
    let [code, _, port_high, port_low, queue, _, _, _, type_high, type_low] = *cursor.take()?;
    packet.send_to = (u16::from_be_bytes([port_high & 1, port_low]), queue & 0x1f);
    packet.set_ether_type(u16::from_be_bytes([type_high, type_low]));
    packet.inner = cursor.0.to_vec();
    packet.command = match code {
        1 => Some(Command::Process),
        2 => Some(Command::Route),
        3 => Some(Command::Send),
        _ => None,
    };
    packet.bad_command = packet.command.is_none();
    match (packet.command, packet.ether_type()) {
        (Some(Command::Process), ETHERTYPE_IPV4) => ipv4(packet, cursor, known, progress),
        (Some(Command::Process), ETHERTYPE_IPV6) => inner_ipv6(packet, cursor, known),
        (Some(Command::Route), ETHERTYPE_IPV4) => {
            let header = cursor.take::<20>()?;
            packet.tunnel = u32::from_be_bytes([header[16], header[17], header[18], header[19]]);
            Err(ParserStop::Accept)
        }
        (Some(Command::Process | Command::Route), _) => Err(ParserStop::Drop(DropReason::UnsupportedFrame)),
        (Some(Command::Send) | None, _) => Err(ParserStop::Accept),
    }
}

/// The destination of an IPv4 header.
fn destination(cursor: &Cursor<'_>) -> Result<Ipv4Addr, ParserStop> {
    let front = Cursor(cursor.0).take::<20>()?;
    Ok(Ipv4Addr::new(front[16], front[17], front[18], front[19]))
}

/// The IPv4 header of a datagram that is whole and has no options.
fn datagram<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8; 20], ParserStop> {
    let header = cursor.take::<20>()?;
    let is_fragment = header[6] & 0x3f != 0 || header[7] != 0;
    if header[0] & 0x0f != 5 || is_fragment || header[9] != PROTOCOL_UDP {
        return Err(ParserStop::Punt(Punt::Local));
    }
    Ok(header)
}

/// Whether an IP header is for an address of the underlay, if that has this version.
fn is_of_underlay(cursor: &Cursor<'_>, known: &Known, version: Family) -> Result<bool, ParserStop> {
    if known.underlay_version != version {
        return Ok(false);
    }
    match version {
        Family::V4 => Ok(known.underlay.contains(&destination(cursor)?.into())),
        Family::V6 => {
            let front = Cursor(cursor.0).take::<40>()?;
            let is_network = |address: &IpAddr| match address {
                IpAddr::V6(address) => front[24..32] == address.octets()[..8],
                IpAddr::V4(_) => false,
            };
            Ok(known.underlay.iter().any(is_network))
        }
    }
}

/// A frame of a segment; what is for the UPF itself stays as it came.
fn segment(
    packet: &mut Packet,
    cursor: Cursor<'_>,
    known: &Known,
    progress: &mut Progress,
) -> Result<(), ParserStop> {
    let (came, ether_type) = (packet.inner.clone(), packet.ether_type());
    underlay(packet, cursor, known, progress).inspect_err(|stop| {
        if matches!(stop, ParserStop::Punt(_)) {
            packet.inner = came;
            packet.set_ether_type(ether_type);
        }
    })
}

/// The other end, and the type of service, of a datagram of the underlay.
fn underlay_datagram(cursor: &mut Cursor<'_>, version: Family) -> Result<(u128, u8), ParserStop> {
    let number = |octets: &[u8]| octets.iter().fold(0, |value, octet| value << 8 | u128::from(*octet));
    match version {
        Family::V4 => {
            let header = datagram(cursor)?;
            Ok((number(&header[12..16]), header[1]))
        }
        Family::V6 => {
            let header = cursor.take::<40>()?;
            if header[6] != PROTOCOL_UDP {
                return Err(ParserStop::Punt(Punt::Local));
            }
            Ok((number(&header[8..24]), header[0] << 4 | header[1] >> 4))
        }
    }
}

/// A datagram with VXLAN, and the frame in the segment.
fn underlay(
    packet: &mut Packet,
    mut cursor: Cursor<'_>,
    known: &Known,
    progress: &mut Progress,
) -> Result<(), ParserStop> {
    let (remote, tos) = underlay_datagram(&mut cursor, known.underlay_version)?;
    let udp = cursor.take::<8>()?;
    if u16::from_be_bytes([udp[2], udp[3]]) != PORT_VXLAN {
        return Err(ParserStop::Punt(Punt::Local));
    }
    let [flags, _, _, _, vni @ .., _] = *cursor.take::<8>()?;
    if flags & VNI_IS_VALID == 0 {
        return Err(ParserStop::Drop(DropReason::MalformedVxlan));
    }
    let ethernet = cursor.take::<14>()?;
    let mac = ethernet[..6].iter().fold(0, |mac, octet| mac << 8 | u64::from(*octet));
    packet.arrival = Some(Arrival { vni: u32::from_be_bytes([0, vni[0], vni[1], vni[2]]), remote, mac, tos });
    packet.inner = cursor.0.to_vec();
    packet.set_ether_type(u16::from_be_bytes([ethernet[12], ethernet[13]]));
    match packet.ether_type() {
        ETHERTYPE_IPV4 => ipv4(packet, cursor, known, progress),
        ETHERTYPE_IPV6 => inner_ipv6(packet, cursor, known),
        ETHERTYPE_ARP => Err(ParserStop::Punt(Punt::Arp)),
        _ => Err(ParserStop::Drop(DropReason::UnsupportedFrame)),
    }
}

fn ipv4(
    packet: &mut Packet,
    cursor: Cursor<'_>,
    known: &Known,
    progress: &mut Progress,
) -> Result<(), ParserStop> {
    if known.local.contains(&destination(&cursor)?) {
        outer_ipv4(packet, cursor, known, progress)
    } else {
        inner_ipv4(packet, cursor)
    }
}

fn outer_ipv4(
    packet: &mut Packet,
    cursor: Cursor<'_>,
    known: &Known,
    progress: &mut Progress,
) -> Result<(), ParserStop> {
    let whole = cursor.0;
    let mut cursor = cursor;
    datagram(&mut cursor)?;
    let udp = cursor.take::<8>()?;
    progress.has_udp = true;
    packet.is_for_gtpu = true;
    if u16::from_be_bytes([udp[2], udp[3]]) != PORT_GTPU {
        return Err(ParserStop::Punt(Punt::Local));
    }
    gtpu(packet, &mut cursor)?;
    progress.has_user_packet = true;
    let tunnel = whole.get(..whole.len() - cursor.0.len()).unwrap_or_default();
    packet.outer = Outer::AsItCame(tunnel.to_vec());
    packet.inner = cursor.0.to_vec();
    match cursor.peek()? >> 4 {
        4 => inner_ipv4(packet, cursor),
        6 => inner_ipv6(packet, cursor, known),
        _ => Err(ParserStop::Drop(DropReason::MalformedIp)),
    }
}

fn gtpu(packet: &mut Packet, cursor: &mut Cursor<'_>) -> Result<(), ParserStop> {
    let [flags, kind, _, _, prefix, teid @ ..] = *cursor.take::<8>()?;
    match (flags >> 4, kind) {
        (3, G_PDU) => {}
        (3, _) => return Err(ParserStop::Punt(Punt::Signalling)),
        _ => return Err(ParserStop::Drop(DropReason::UnsupportedGtpVersion)),
    }
    packet.is_tunnelled = true;
    packet.teid_in = u32::from_be_bytes([0, teid[0], teid[1], teid[2]]);
    match (prefix, flags & 7) {
        (0, 0) => Ok(()),
        (0, flags) => {
            let [_, _, _, next] = *cursor.take()?;
            if flags & 4 == 0 { Ok(()) } else { extensions(packet, cursor, next) }
        }
        _ => Err(ParserStop::Drop(DropReason::UnknownTeid)),
    }
}

fn extensions(packet: &mut Packet, cursor: &mut Cursor<'_>, next: u8) -> Result<(), ParserStop> {
    let unsupported = Err(ParserStop::Drop(DropReason::UnsupportedExtension));
    let next = match next {
        0 => return Ok(()),
        CONTAINER => CONTAINER,
        0x01..=0x7f => {
            let units = cursor.peek()?;
            pass_over(cursor, units, 0)?
        }
        _ => return unsupported,
    };
    match next {
        0 => return Ok(()),
        CONTAINER => {}
        _ => return unsupported,
    }
    let [units, _, flow] = *cursor.take()?;
    (packet.qfi_in, packet.qfi_out) = (flow & 0x3f, flow & 0x3f);
    match pass_over(cursor, units, 3)? {
        0 => Ok(()),
        CONTAINER => Err(ParserStop::Drop(DropReason::MalformedGtpu)),
        0x01..=0x7f => {
            let units = cursor.peek()?;
            if pass_over(cursor, units, 0)? == 0 { Ok(()) } else { unsupported }
        }
        _ => unsupported,
    }
}

/// Skips the rest of an extension header of this many units, of which some octets have been taken, and returns the next
/// header type.
fn pass_over(cursor: &mut Cursor<'_>, units: u8, taken: usize) -> Result<u8, ParserStop> {
    match units {
        0 => Err(ParserStop::Drop(DropReason::MalformedGtpu)),
        1..=4 => {
            cursor.skip(usize::from(units) * 4 - 1 - taken)?;
            let [next] = *cursor.take()?;
            Ok(next)
        }
        _ => Err(ParserStop::Drop(DropReason::UnsupportedExtension)),
    }
}

fn inner_ipv4(packet: &mut Packet, mut cursor: Cursor<'_>) -> Result<(), ParserStop> {
    let whole = cursor.0;
    let header = cursor.take::<20>()?;
    packet.family = Some(Family::V4);
    packet.length = u16::from_be_bytes([header[2], header[3]]);
    let words = usize::from(header[0] & 0x0f);
    if header[0] >> 4 != 4 || words < 5 {
        return Err(ParserStop::Drop(DropReason::MalformedIp));
    }
    cursor.skip(words * 4 - 20)?;
    packet.bad_checksum = checksum(whole.get(..words * 4).unwrap_or_default()) != 0;
    let is_first = header[6] & 0x1f == 0 && header[7] == 0;
    if is_first { ports(packet, cursor, header[9]) } else { Ok(()) }
}

fn inner_ipv6(packet: &mut Packet, mut cursor: Cursor<'_>, known: &Known) -> Result<(), ParserStop> {
    if !known.has_ipv6 {
        let is_ipv6 = cursor.peek()? >> 4 == 6;
        let reason = if is_ipv6 { DropReason::UnsupportedFrame } else { DropReason::MalformedIp };
        return Err(ParserStop::Drop(reason));
    }
    let header = cursor.take::<40>()?;
    packet.family = Some(Family::V6);
    packet.length = u16::from_be_bytes([header[4], header[5]]);
    if header[0] >> 4 != 6 {
        return Err(ParserStop::Drop(DropReason::MalformedIp));
    }
    ports(packet, cursor, header[6])
}

fn ports(packet: &mut Packet, mut cursor: Cursor<'_>, protocol: u8) -> Result<(), ParserStop> {
    if matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP | PROTOCOL_DCCP | PROTOCOL_SCTP | PROTOCOL_UDP_LITE) {
        let [a, b, c, d] = *cursor.take()?;
        packet.ports = Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])));
    }
    Ok(())
}
