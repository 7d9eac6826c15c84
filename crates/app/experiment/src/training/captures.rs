//! Captures: the windows of each flow's packets.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;

use causeway_packet::{EtherType, Ethernet, UserPacket};
use causeway_traffic::FiveTuple;
use causeway_traffic::classes::{PairWindow, Vector};
use causeway_types::{Direction, Span, Time};
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};

use super::TrainingError;
use super::rule::{Ends, Orientation};

/// The windows of a UE, of all its packets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct UeWindows {
    /// Packets from and to the UE.
    pub(super) packets: [u64; 2],
    /// The windows that ended, without empty ones, each with the least place of a rule that a packet of it has; none without such a packet.
    pub(super) windows: Vec<(Vector, Option<usize>)>,
}

/// An IP packet of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// When it was captured.
    pub time: Time,
    /// Its ends.
    pub ends: Ends,
    /// Octets of the IP packet.
    pub octets: u32,
}

/// The windows of a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Windows {
    /// Its ends; the source is the UE.
    pub ends: Ends,
    /// Packets from and to the UE.
    pub packets: [u64; 2],
    /// The windows that ended, without empty ones.
    pub vectors: Vec<Vector>,
}

/// Whether these octets begin as a capture does.
pub(crate) fn is_capture(octets: &[u8]) -> bool {
    const MAGIC: [[u8; 4]; 5] = [
        [0x0a, 0x0d, 0x0d, 0x0a],
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0x4d, 0x3c, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
    ];
    MAGIC.iter().any(|magic| octets.starts_with(magic))
}

/// The IP packets of a capture in pcap or pcapng, in their order. Other packets, and fragments but the first, are left out.
///
/// # Errors
/// [`TrainingError`] when the file is no capture, or of a link without IP packets.
pub fn packets(file: &Path, octets: &[u8]) -> Result<Vec<Packet>, TrainingError> {
    if octets.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) { pcapng(file, octets) } else { pcap(file, octets) }
}

fn pcap(file: &Path, octets: &[u8]) -> Result<Vec<Packet>, TrainingError> {
    let mut reader = PcapReader::new(octets).map_err(|error| TrainingError::form(file, error.to_string()))?;
    let link = reader.header().datalink;
    check(file, link)?;
    let mut packets = Vec::new();
    for number in 1.. {
        let Some(packet) = reader.next_packet() else { break };
        let packet = packet.map_err(|error| wrong(file, number, error.to_string()))?;
        let time = Time::from_nanos(nanos(packet.timestamp));
        packets.extend(parse(link, &packet.data, packet.orig_len, time));
    }
    Ok(packets)
}

fn pcapng(file: &Path, octets: &[u8]) -> Result<Vec<Packet>, TrainingError> {
    let mut reader =
        PcapNgReader::new(octets).map_err(|error| TrainingError::form(file, error.to_string()))?;
    let mut interfaces: Vec<(DataLink, u8)> = Vec::new();
    let mut packets = Vec::new();
    for number in 1.. {
        let Some(block) = reader.next_block() else { break };
        match block.map_err(|error| wrong(file, number, error.to_string()))? {
            Block::SectionHeader(_) => interfaces.clear(),
            Block::InterfaceDescription(interface) => {
                check(file, interface.linktype)?;
                let resolution = interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
                    _ => None,
                });
                interfaces.push((interface.linktype, resolution.unwrap_or(6)));
            }
            Block::EnhancedPacket(packet) => {
                let interface = interfaces.get(packet.interface_id as usize);
                let unknown = || wrong(file, number, format!("no interface {}", packet.interface_id));
                let (link, resolution) = *interface.ok_or_else(unknown)?;
                // The reader gives the number of the file as if it were nanoseconds.
                let time = Time::from_nanos(in_nanos(nanos(packet.timestamp), resolution));
                packets.extend(parse(link, &packet.data, packet.original_len, time));
            }
            _ => {}
        }
    }
    Ok(packets)
}

/// Nanoseconds of a number with this `if_tsresol`: a negative power of ten, or of two with the highest bit set.
fn in_nanos(number: u64, resolution: u8) -> u64 {
    let power = u32::from(resolution & 0x7f);
    let nanos = if resolution & 0x80 == 0 {
        match 10_u128.checked_pow(power) {
            Some(parts) => u128::from(number) * 1_000_000_000 / parts,
            None => 0,
        }
    } else {
        (u128::from(number) * 1_000_000_000).checked_shr(power).unwrap_or(0)
    };
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

fn nanos(span: Span) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn wrong(file: &Path, packet: u64, problem: String) -> TrainingError {
    TrainingError::Packet { file: file.into(), packet, problem }
}

fn check(file: &Path, link: DataLink) -> Result<(), TrainingError> {
    match link {
        DataLink::ETHERNET | DataLink::RAW | DataLink::LINUX_SLL => Ok(()),
        other => {
            let problem = format!("link type {}: Ethernet, raw IP or Linux cooked is read", u32::from(other));
            Err(TrainingError::form(file, problem))
        }
    }
}

/// The IP packet in a frame, of which the capture may have kept only the beginning.
fn parse(link: DataLink, data: &[u8], length: u32, time: Time) -> Option<Packet> {
    let mut whole;
    let missing = (length as usize).saturating_sub(data.len());
    let data = if missing > 0 && length <= 1 << 17 {
        whole = data.to_vec();
        whole.resize(data.len() + missing, 0);
        &whole[..]
    } else {
        data
    };
    let ip = match link {
        DataLink::ETHERNET => {
            let frame = Ethernet::parse(data).ok()?;
            let is_ip =
                frame.ether_type.is_some_and(|found| [EtherType::IPV4, EtherType::IPV6].contains(&found));
            is_ip.then_some(frame.payload)?
        }
        DataLink::LINUX_SLL => data.get(16..)?,
        _ => data,
    };
    let packet = UserPacket::parse(ip).ok()?;
    let flow = packet.flow;
    if flow.is_fragment() && flow.ports.is_none() {
        return None;
    }
    let (from, to) = flow.ports.map_or((0, 0), |ports| (ports.src, ports.dst));
    let ends = Ends { protocol: flow.protocol.0, source: (flow.src, from), destination: (flow.dst, to) };
    Some(Packet { time, ends, octets: u32::try_from(packet.len()).ok()? })
}

impl Windows {
    /// The windows of all flows, in the order of their first packets.
    pub fn of(packets: &[Packet], orientation: &Orientation, window: Span) -> Vec<Self> {
        let mut places: HashMap<Ends, usize> = HashMap::new();
        let mut flows: Vec<(Self, PairWindow)> = Vec::new();
        for packet in packets {
            let is_uplink = orientation.is_uplink(&packet.ends);
            let (direction, ends) = if is_uplink {
                (Direction::Uplink, packet.ends)
            } else {
                (Direction::Downlink, packet.ends.reversed())
            };
            let place = *places.entry(ends).or_insert_with(|| {
                flows.push((Self { ends, packets: [0; 2], vectors: Vec::new() }, PairWindow::default()));
                flows.len() - 1
            });
            if let Some((flow, pair)) = flows.get_mut(place) {
                flow.packets[usize::from(!is_uplink)] += 1;
                let closed = pair.observe(direction, packet.octets, packet.time, window);
                flow.vectors.extend(closed.map(|closed| closed.vector));
            }
        }
        flows.into_iter().map(|(flow, _)| flow).collect()
    }
}

impl UeWindows {
    /// The windows of all UEs, as a UPF measures sessions: by IPv4 address or prefix of 64 bits, in the order of their first packets. Packets without a UE at
    /// either end are left out. `rule` gives the place of the rule for a packet's ends, with the UE as source.
    pub(super) fn of(
        packets: &[Packet],
        orientation: &Orientation,
        window: Span,
        rule: impl Fn(&Ends) -> Option<usize>,
    ) -> Vec<Self> {
        let mut places: HashMap<IpAddr, usize> = HashMap::new();
        let mut ues: Vec<(Self, PairWindow, Option<usize>)> = Vec::new();
        for packet in packets.iter().filter(|packet| orientation.has_ue(&packet.ends)) {
            let is_uplink = orientation.is_uplink(&packet.ends);
            let (direction, ends) = if is_uplink {
                (Direction::Uplink, packet.ends)
            } else {
                (Direction::Downlink, packet.ends.reversed())
            };
            let addresses = (ends.source.0, ends.destination.0);
            let ue = FiveTuple { addresses, ports: (0, 0), protocol: 0 }.ue(Direction::Uplink);
            let place = *places.entry(ue).or_insert_with(|| {
                ues.push((Self::default(), PairWindow::default(), None));
                ues.len() - 1
            });
            if let Some((ue, pair, least)) = ues.get_mut(place) {
                ue.packets[usize::from(!is_uplink)] += 1;
                let closed = pair.observe(direction, packet.octets, packet.time, window);
                ue.windows.extend(closed.map(|closed| (closed.vector, least.take())));
                *least = least.iter().copied().chain(rule(&ends)).min();
            }
        }
        ues.into_iter().map(|(ue, ..)| ue).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  microseconds, nanoseconds and 1/1024 seconds; resolutions that no clock has.
    // Output: nanoseconds; no panic.
    #[test]
    fn clocks_of_captures() {
        assert_eq!(in_nanos(3, 6), 3000);
        assert_eq!(in_nanos(3, 9), 3);
        assert_eq!(in_nanos(1024, 0x8a), 1_000_000_000);
        assert_eq!((in_nanos(u64::MAX, 0), in_nanos(7, 127), in_nanos(7, 0xff)), (u64::MAX, 0, 0));
    }

    // Input:  files that begin as a capture and end too early, and one of another link.
    // Output: errors with the file, and with the packet.
    #[test]
    fn wrong_captures_are_named() {
        let file = Path::new("x.pcap");
        let mut header =
            vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0];
        assert_eq!(packets(file, &header).unwrap(), []);
        let says = |octets: &[u8]| packets(file, octets).unwrap_err().to_string();
        assert!(says(&header[..20]).starts_with("x.pcap: "));
        assert!(says(&[&header[..], &[1; 20]].concat()).starts_with("x.pcap: packet 1: "));
        header[20] = 105;
        assert!(says(&header).contains("link type 105"));
    }
}
