//! Packets from real networks, if the captures are available.
//!
//! The captures are in `captures/` in the folder `CAUSEWAY_DATA`, or in `../shared/data` beside the repository.

use std::fs;
use std::path::{Path, PathBuf};

use causeway_packet::gtpu::{Message, Packet};
use causeway_packet::{
    EtherType, Ethernet, Ip, IpProtocol, Layer, ParseError, Ports, Udp, UdpChecksum, UserPacket,
};
use causeway_types::Teid;
use etherparse::IpSlice;
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};

/// The folder of captures. Without it, prints that this test is skipped.
fn captures(test: &str) -> Option<PathBuf> {
    let data = std::env::var_os("CAUSEWAY_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data"), PathBuf::from);
    let folder = data.join("captures");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED {test}: no captures in {}; set CAUSEWAY_DATA", folder.display());
    None
}

/// The Ethernet frames of one capture; none if its link is another. The format does not depend on the file name.
fn frames(path: &Path) -> Vec<Vec<u8>> {
    let octets = fs::read(path).expect("readable");
    if octets.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) { frames_pcapng(&octets) } else { frames_pcap(&octets) }
}

fn frames_pcap(octets: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = PcapReader::new(octets).expect("a pcap file");
    if reader.header().datalink != DataLink::ETHERNET {
        return Vec::new();
    }
    std::iter::from_fn(|| Some(reader.next_packet()?.ok()?.data.into_owned())).collect()
}

fn frames_pcapng(octets: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = PcapNgReader::new(octets).expect("a pcapng file");
    let mut frames = Vec::new();
    while let Some(Ok(block)) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block {
            frames.push(packet.data.into_owned());
        }
    }
    let ethernet = reader.interfaces().iter().all(|interface| interface.linktype == DataLink::ETHERNET);
    if ethernet { frames } else { Vec::new() }
}

/// The payload of an unfragmented UDP datagram in the frame, its checksum checked.
fn udp_payload(frame: &[u8]) -> &[u8] {
    let frame = Ethernet::parse(frame).expect("a frame");
    let packet = UserPacket::parse(frame.payload).expect("an IP packet");
    let udp = Udp::parse(packet.transport()).expect("a datagram");
    assert_ne!(udp.checksum(packet.flow.src, packet.flow.dst), UdpChecksum::Invalid);
    udp.payload()
}

// Input:  two G-PDUs of two operators, both with two VLAN tags, with IPv6 inside: UDP and ESP.
// Output: tunnels, addresses, ports and SPI as a protocol analyser shows them.
#[test]
fn ipv6_in_gtp() {
    let Some(folder) = captures("ipv6_in_gtp") else { return };
    let flows: Vec<_> = frames(&folder.join("ipv6_in_gtp.pcap"))
        .iter()
        .map(|frame| {
            let packet = Packet::parse(udp_payload(frame)).expect("GTP-U");
            let Message::GPdu(user) = packet.message else { panic!("{:?}", packet.message) };
            (packet.header.teid, packet.body_offset, UserPacket::parse(user).expect("IPv6").flow)
        })
        .collect();
    let [(teid_a, 8, udp), (teid_b, 8, esp)] = &flows[..] else { panic!("{flows:?}") };
    assert_eq!((*teid_a, *teid_b), (Teid::new(0x1280_8fb8), Teid::new(0x074c_15b0)));
    assert_eq!(udp.src.to_string(), "2607:fc20:4052:39e:490a:ea4d:17fe:e09c");
    assert_eq!((udp.protocol, udp.ports), (IpProtocol::UDP, Some(Ports { src: 49120, dst: 25658 })));
    assert_eq!(esp.dst.to_string(), "2a01:4c8:f000:f49::4");
    assert_eq!((esp.protocol, esp.spi), (IpProtocol::ESP, Some(0xff3b_6603)));
}

// Input:  GTP-C version 2, GTP', and traffic that resembles GTP.
// Output: each refused, the first two with an error of their own.
#[test]
fn what_is_not_gtp_u() {
    let Some(folder) = captures("what_is_not_gtp_u") else { return };
    let refusals = |name: &str| -> Vec<ParseError> {
        let frames = frames(&folder.join(name));
        assert!(!frames.is_empty(), "{name}");
        frames.iter().map(|frame| Packet::parse(udp_payload(frame)).expect_err(name)).collect()
    };
    assert_eq!(refusals("gtp_c.pcap"), [ParseError::Version { layer: Layer::Gtpu, found: 2 }; 4]);
    assert_eq!(refusals("gtp_prime.pcapng"), [ParseError::GtpPrime]);
    assert_eq!(refusals("gtp_false_positive.pcapng").len(), 7);
}

// Input:  every Ethernet frame of every capture.
// Output: the IP packets in it are parsed the same as by an independent implementation.
#[test]
fn every_ip_packet_is_read_as_the_oracle_reads_it() {
    let Some(folder) = captures("every_ip_packet_is_read_as_the_oracle_reads_it") else { return };
    let mut compared = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if !path.extension().is_some_and(|extension| extension == "pcap" || extension == "pcapng") {
            continue;
        }
        for frame in frames(&path) {
            let Ok(frame) = Ethernet::parse(&frame) else { continue };
            if matches!(frame.ether_type, Some(EtherType::IPV4 | EtherType::IPV6)) {
                compare(frame.payload, &path);
                compared += 1;
            }
        }
    }
    assert!(compared > 10_000, "{compared} packets");
}

fn compare(octets: &[u8], path: &Path) {
    let ours = UserPacket::parse(octets);
    let theirs = IpSlice::from_slice(octets);
    assert_eq!(ours.is_ok(), theirs.is_ok(), "{}: {ours:?} {theirs:?}", path.display());
    let (Ok(ours), Ok(theirs)) = (ours, theirs) else { return };
    assert_eq!((ours.flow.src, ours.flow.dst), (theirs.source_addr(), theirs.destination_addr()));
    assert_eq!(ours.flow.protocol.0, theirs.payload_ip_number().0);
    assert_eq!(ours.transport(), theirs.payload().payload);
    // Some captures were made before checksum offload: both implementations must agree whether the checksum is
    // valid.
    if let (Ip::V4(ours), Some(theirs)) = (ours.ip(), theirs.ipv4()) {
        let theirs = theirs.header().to_header();
        assert_eq!(ours.checksum_is_valid(), theirs.calc_header_checksum() == theirs.header_checksum);
    }
}
