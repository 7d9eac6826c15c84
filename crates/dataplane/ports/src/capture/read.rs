//! Reading pcap and pcapng.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::path::Path;

use causeway_packet::{EtherType, Ethernet};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError};

use super::{Passage, failure};
use crate::{Counter, PortError};

/// The first octets of every pcapng file.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// The first octets of pcap files: times in microseconds or nanoseconds, in both byte orders.
const PCAP: [[u8; 4]; 4] =
    [[0xa1, 0xb2, 0xc3, 0xd4], [0xd4, 0xc3, 0xb2, 0xa1], [0xa1, 0xb2, 0x3c, 0x4d], [0x4d, 0x3c, 0xb2, 0xa1]];

/// Why a file cannot be read.
const NO_CAPTURE: &str =
    "neither a pcap nor a pcapng file: give one that tcpdump, Wireshark or `causeway capture` has written";
const CUT: &str = "the file ends within its header: write it again";
const DAMAGED: &str = "the header of the file is damaged: write it again";

/// Octets of the two versions of the Linux "cooked" header, and the offset of their protocol field.
const COOKED: (usize, usize) = (16, 14);
const COOKED_V2: (usize, usize) = (20, 0);
const LINUX_SLL2: u32 = 276;

/// Reads the IP packets of a capture file, in order.
pub struct CaptureReader {
    format: Format,
    damaged: bool,
}

enum Format {
    Pcap(PcapReader<File>),
    PcapNg(PcapNgReader<File>),
}

/// A packet of a capture file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CapturedPacket {
    /// The octets that the file has, from the IP header on.
    pub octets: Vec<u8>,
    /// The file does not have all octets of the frame.
    pub is_cut: bool,
    /// The direction, where the file names one.
    pub passage: Option<Passage>,
}

/// A frame of a capture file.
struct Frame {
    /// The link type; `None` where the file does not name one.
    link: Option<DataLink>,
    octets: Vec<u8>,
    is_cut: bool,
    passage: Option<Passage>,
}

impl CaptureReader {
    /// Opens a file of either format.
    ///
    /// # Errors
    /// [`PortError::Capture`].
    pub fn open(path: &Path) -> Result<Self, PortError> {
        let name = path.display().to_string();
        let mut file = File::open(path).map_err(|error| failure(&name, error))?;
        let mut magic = [0; 4];
        file.read_exact(&mut magic).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => unusable(name.clone(), NO_CAPTURE),
            _ => failure(&name, error),
        })?;
        file.rewind().map_err(|error| failure(&name, error))?;
        let format = match magic {
            PCAPNG => PcapNgReader::new(file).map(Format::PcapNg),
            magic if PCAP.contains(&magic) => PcapReader::new(file).map(Format::Pcap),
            _ => return Err(unusable(name, NO_CAPTURE)),
        };
        format.map(|format| Self { format, damaged: false }).map_err(|error| match error {
            PcapError::IoError(error) if error.kind() != ErrorKind::UnexpectedEof => failure(&name, error),
            PcapError::IoError(_) | PcapError::IncompleteBuffer => unusable(name, CUT),
            _ => unusable(name, DAMAGED),
        })
    }

    /// The next packet from its IP header on, or the counter of the reason why that record contains none. `None` at
    /// the end of the file. A damaged file ends at the damage, after one [`Counter::RxMalformed`].
    pub fn read(&mut self) -> Option<Result<Vec<u8>, Counter>> {
        Some(self.read_packet()?.map(|packet| packet.octets))
    }

    /// The same, with what the file says of the packet.
    pub fn read_packet(&mut self) -> Option<Result<CapturedPacket, Counter>> {
        if self.damaged {
            return None;
        }
        let framed = match &mut self.format {
            Format::Pcap(reader) => next_packet(reader),
            Format::PcapNg(reader) => next_block(reader),
        };
        match framed? {
            Ok(Frame { link, octets, is_cut, passage }) => {
                let link = link.ok_or(Counter::RxMalformed);
                let octets = link.and_then(|link| ip_part(link, &octets)).map(<[u8]>::to_vec);
                Some(octets.map(|octets| CapturedPacket { octets, is_cut, passage }))
            }
            Err(_) => {
                self.damaged = true;
                Some(Err(Counter::RxMalformed))
            }
        }
    }
}

fn unusable(path: String, reason: &str) -> PortError {
    PortError::Capture { path, reason: reason.to_owned() }
}

fn next_packet(reader: &mut PcapReader<File>) -> Option<Result<Frame, PcapError>> {
    let link = Some(reader.header().datalink);
    Some(reader.next_packet()?.map(|packet| {
        let is_cut = packet.data.len() < packet.orig_len as usize;
        Frame { link, octets: packet.data.into_owned(), is_cut, passage: None }
    }))
}

fn next_block(reader: &mut PcapNgReader<File>) -> Option<Result<Frame, PcapError>> {
    let (interface, octets, length, passage) = loop {
        match reader.next_block()? {
            Ok(Block::EnhancedPacket(packet)) => {
                let passage = packet.options.iter().find_map(|option| match option {
                    EnhancedPacketOption::Flags(flags) => Passage::of_flags(*flags),
                    _ => None,
                });
                let octets = packet.data.into_owned();
                break (packet.interface_id, octets, packet.original_len, passage);
            }
            Ok(Block::SimplePacket(packet)) => {
                break (0, packet.data.into_owned(), packet.original_len, None);
            }
            Ok(_) => {}
            Err(error) => return Some(Err(error)),
        }
    };
    let link = reader.interfaces().get(interface as usize).map(|interface| interface.linktype);
    let is_cut = octets.len() < length as usize;
    Some(Ok(Frame { link, octets, is_cut, passage }))
}

/// The frame without its link-layer header.
fn ip_part(link: DataLink, frame: &[u8]) -> Result<&[u8], Counter> {
    match link {
        DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => Ok(frame),
        DataLink::ETHERNET => {
            let ethernet = Ethernet::parse(frame).map_err(|_| Counter::RxMalformed)?;
            match ethernet.ether_type {
                Some(EtherType::IPV4 | EtherType::IPV6) => Ok(ethernet.payload),
                _ => Err(Counter::RxNotForUs),
            }
        }
        DataLink::LINUX_SLL => cooked(frame, COOKED),
        DataLink::Unknown(LINUX_SLL2) => cooked(frame, COOKED_V2),
        _ => Err(Counter::RxNotForUs),
    }
}

fn cooked(frame: &[u8], (header, protocol): (usize, usize)) -> Result<&[u8], Counter> {
    let (head, ip) = frame.split_at_checked(header).ok_or(Counter::RxMalformed)?;
    let protocol =
        head.get(protocol..).and_then(|field| field.first_chunk()).copied().map(u16::from_be_bytes);
    match protocol.and_then(EtherType::new) {
        Some(EtherType::IPV4 | EtherType::IPV6) => Ok(ip),
        _ => Err(Counter::RxNotForUs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  an IP packet behind each kind of link-layer header, ARP, and a frame that is cut.
    // Output: the packet; `rx_not_for_us`; malformed.
    #[test]
    fn link_layer_headers_are_removed() {
        let ethernet = [&[2; 12], [0x08, 0x00].as_slice(), b"ip"].concat();
        let cooked = [&[0; 14], [0x86, 0xdd].as_slice(), b"ip"].concat();
        let cooked2 = [[0x08, 0x00].as_slice(), &[0; 18], b"ip"].concat();
        for (link, frame) in [
            (DataLink::RAW, b"ip".to_vec()),
            (DataLink::ETHERNET, ethernet.clone()),
            (DataLink::LINUX_SLL, cooked),
            (DataLink::Unknown(LINUX_SLL2), cooked2),
        ] {
            assert_eq!(ip_part(link, &frame), Ok(b"ip".as_slice()), "{link:?}");
        }
        let arp = [&[2; 12], [0x08, 0x06].as_slice(), b"arp"].concat();
        assert_eq!(ip_part(DataLink::ETHERNET, &arp), Err(Counter::RxNotForUs));
        assert_eq!(ip_part(DataLink::ETHERNET, &ethernet[..13]), Err(Counter::RxMalformed));
        assert_eq!(ip_part(DataLink::BLUETOOTH_HCI_H4, &ethernet), Err(Counter::RxNotForUs));
    }
}
