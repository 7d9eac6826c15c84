//! The packets of the UPF as a capture file, for independent dissectors.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use causeway_packet::{BuildError, IpProtocol, Ipv4Repr, Ipv6Repr, UdpRepr};
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};

use crate::CaseError;

/// A PFCP or GTP-U datagram that the UPF sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// From where.
    pub from: SocketAddr,
    /// To where; of the same IP version.
    pub to: SocketAddr,
    /// What is behind the UDP header.
    pub payload: Vec<u8>,
}

/// Writes datagrams to a pcap file of raw IP packets, in their order, a millisecond apart.
///
/// # Errors
/// [`CaseError::File`] when the file cannot be written.
pub fn write_capture<'a>(
    path: &Path,
    datagrams: impl IntoIterator<Item = &'a Datagram>,
) -> Result<(), CaseError> {
    let failed = |error: std::io::Error| CaseError::File { path: path.to_owned(), source: error };
    let file = std::fs::File::create(path).map_err(failed)?;
    let header = PcapHeader { datalink: DataLink::RAW, ..PcapHeader::default() };
    let writing = |error| failed(std::io::Error::other(error));
    let mut writer = PcapWriter::with_header(file, header).map_err(writing)?;
    for (at, datagram) in (0..).zip(datagrams) {
        let packet = ip_packet(datagram).map_err(|error| failed(std::io::Error::other(error)))?;
        let length = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        let packet = PcapPacket::new(Duration::from_millis(at), length, &packet);
        writer.write_packet(&packet).map_err(writing)?;
    }
    Ok(())
}

fn ip_packet(datagram: &Datagram) -> Result<Vec<u8>, BuildError> {
    let Datagram { from, to, payload } = datagram;
    let (mut segment, mut packet) = (Vec::new(), Vec::new());
    let ports = UdpRepr { src_port: from.port(), dst_port: to.port() };
    ports.write(from.ip(), to.ip(), payload, &mut segment)?;
    match (from.ip(), to.ip()) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            Ipv4Repr::new(src, dst, IpProtocol::UDP).write(&[], &segment, &mut packet)?;
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            Ipv6Repr::new(src, dst, IpProtocol::UDP).write(&segment, &mut packet)?;
        }
        _ => return Err(BuildError::MixedFamilies),
    }
    Ok(packet)
}
