//! An independent decoder.

use std::fs::File;
use std::io::ErrorKind;
use std::process::Command;

use causeway_packet::roce::management::{ConnectRequest, Management, Message, Mtu};
use causeway_packet::roce::{
    Aeth, AtomicEth, Bth, Deth, GENERAL_SERVICE, GENERAL_SERVICE_QKEY, NakCode, Outer, Psn, Qpn, Repr, Reth,
    Rkey, Syndrome, Transport, UDP_PORT,
};
use causeway_packet::{EtherType, IpProtocol, Ipv4Repr, Ipv6Repr, UdpRepr};
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};

const NAME: &str = "packet::roce::tshark";

/// One Ethernet frame of the packet, over IPv4 or IPv6.
fn frame(repr: &Repr<'_>, is_ipv6: bool) -> Vec<u8> {
    let (src, dst) = if is_ipv6 { ("2001:db8::1", "2001:db8::2") } else { ("192.0.2.1", "192.0.2.2") };
    let (src, dst) = (src.parse().unwrap(), dst.parse().unwrap());
    let outer =
        Outer::of_socket(std::net::SocketAddr::new(src, 49_152), std::net::SocketAddr::new(dst, UDP_PORT));
    let (mut packet, mut datagram) = (Vec::new(), Vec::new());
    repr.write(&outer, &mut packet).unwrap();
    UdpRepr { src_port: 49_152, dst_port: UDP_PORT }.write(src, dst, &packet, &mut datagram).unwrap();
    let ether_type = if is_ipv6 { EtherType::IPV6 } else { EtherType::IPV4 };
    let mut frame = [&[2; 6][..], &[4; 6], &ether_type.value().to_be_bytes()].concat();
    match (src, dst) {
        (std::net::IpAddr::V4(src), std::net::IpAddr::V4(dst)) => {
            let ip = Ipv4Repr { dont_fragment: true, ..Ipv4Repr::new(src, dst, IpProtocol::UDP) };
            ip.write(&[], &datagram, &mut frame).unwrap();
        }
        (std::net::IpAddr::V6(src), std::net::IpAddr::V6(dst)) => {
            Ipv6Repr::new(src, dst, IpProtocol::UDP).write(&datagram, &mut frame).unwrap();
        }
        _ => unreachable!("one family"),
    }
    frame
}

/// The values of these fields, a line for each packet; `None` if tshark is not there.
fn tshark(path: &std::path::Path, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let asked = fields.iter().flat_map(|field| ["-e", field]);
    let output = Command::new("tshark").arg("-r").arg(path).args(["-T", "fields"]).args(asked).output();
    let output = match output {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("SKIPPED {NAME}: needs tshark");
            return None;
        }
        output => output.unwrap(),
    };
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

/// tshark reads a request for a connection as it was written.
fn reads_management(folder: &std::path::Path) {
    let request = ConnectRequest {
        local_communication: 0x0a0b_0c0d,
        service: 0x0200_0000_0000_12b7,
        queue_pair: Qpn::wrapping(0x12_3456),
        responder_resources: 3,
        initiator_depth: 16,
        first_psn: Psn::wrapping(0xab_cdef),
        retries: 7,
        mtu: Mtu::M1024,
    };
    let management = Management { transaction: 9, message: Message::ConnectRequest(request) }.octets();
    let deth = Deth { qkey: GENERAL_SERVICE_QKEY, source: GENERAL_SERVICE };
    let bth = Bth::new(GENERAL_SERVICE, Psn::wrapping(0));
    let frame = frame(&Repr { bth, transport: Transport::Datagram(deth, &management) }, false);
    let path = folder.join("management.pcap");
    let header = PcapHeader { datalink: DataLink::ETHERNET, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(File::create(&path).unwrap(), header).unwrap();
    writer.write_packet(&PcapPacket::new(std::time::Duration::ZERO, frame.len() as u32, &frame)).unwrap();
    drop(writer);
    let fields = [
        ("infiniband.bth.opcode", "100"),
        ("infiniband.deth.q_key", "0x0000000080010000"),
        ("infiniband.mad.attributeid", "0x0010"),
        ("infiniband.cm.req.localqpn", "0x123456"),
        ("infiniband.cm.req.responderres", "0x03"),
        ("infiniband.cm.req.initdepth", "0x10"),
        ("infiniband.cm.req.startpsn", "0xabcdef"),
        ("infiniband.cm.req.retrcount", "0x07"),
        ("infiniband.cm.req.pppmtu", "0x03"),
        ("_ws.malformed", ""),
    ];
    let lines = tshark(&path, &fields.map(|(field, _)| field)).unwrap();
    assert_eq!(lines[0][..], fields.map(|(_, value)| value));
}

// Input:  a capture with a write, a read, both responses, a fetch-and-add and its response, over IPv4 and IPv6.
// Output: tshark reads operation code, queue pair, sequence number, address, key, length, syndrome, payload and CRC as they were
//         written, and finds nothing malformed. Where its version verifies the CRC, it finds it right.
#[test]
fn tshark_reads_the_same() {
    let bth = |psn| Bth::new(Qpn::wrapping(0x11), Psn::wrapping(psn));
    let reth = Reth { address: 0x1000, rkey: Rkey(0x77), length: 5 };
    let ack = Aeth { syndrome: Syndrome::ACK, msn: Psn::wrapping(3) };
    let nak = Aeth { syndrome: Syndrome::Nak(NakCode::RemoteAccessError), msn: Psn::wrapping(3) };
    let atomic = AtomicEth { address: 0x2000, rkey: Rkey(0x77), swap_or_add: 40, compare: 0 };
    let packets = [
        Transport::WriteOnly(reth, b"hello"),
        Transport::Acknowledge(ack),
        Transport::ReadRequest(reth),
        Transport::ReadResponseOnly(ack, b"hello"),
        Transport::FetchAdd(atomic),
        Transport::AtomicAcknowledge(ack, 2),
        Transport::Acknowledge(nak),
    ];
    let folder = std::env::temp_dir().join(format!("causeway-roce-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("roce.pcap");
    let header = PcapHeader { datalink: DataLink::ETHERNET, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(File::create(&path).unwrap(), header).unwrap();
    let mut expected = Vec::new();
    for is_ipv6 in [false, true] {
        for (psn, transport) in packets.iter().enumerate() {
            let repr = Repr { bth: bth(psn as u32), transport: *transport };
            let frame = frame(&repr, is_ipv6);
            let icrc = u32::from_be_bytes(*frame.last_chunk::<4>().unwrap());
            let time = std::time::Duration::from_micros(psn as u64);
            writer.write_packet(&PcapPacket::new(time, frame.len() as u32, &frame)).unwrap();
            expected.push((*transport, psn, icrc));
        }
    }
    drop(writer);
    let fields = [
        "infiniband.bth.opcode",
        "infiniband.bth.destqp",
        "infiniband.bth.psn",
        "infiniband.invariant.crc",
        "infiniband.reth.r_key",
        "infiniband.reth.dmalen",
        "infiniband.atomiceth.swapdt",
        "infiniband.aeth.syndrome",
        "infiniband.atomicacketh.origremdt",
        "_ws.malformed",
    ];
    let Some(lines) = tshark(&path, &fields) else { return };
    assert_eq!(lines.len(), expected.len());
    for (line, (transport, psn, icrc)) in lines.iter().zip(&expected) {
        let (mut reth, mut atomic, mut aeth, mut original) = (None, None, None, None);
        match transport {
            Transport::WriteOnly(header, _) | Transport::ReadRequest(header) => reth = Some(header),
            Transport::FetchAdd(header) => atomic = Some(header),
            Transport::AtomicAcknowledge(header, value) => (aeth, original) = (Some(header), Some(value)),
            Transport::Acknowledge(header) | Transport::ReadResponseOnly(header, _) => aeth = Some(header),
            _ => unreachable!("not in the list"),
        }
        let rkey = reth.map(|header| header.rkey).or(atomic.map(|header| header.rkey));
        let written = [
            transport.opcode().0.to_string(),
            "0x000011".to_owned(),
            psn.to_string(),
            format!("{icrc:#010x}"),
            rkey.map_or_else(String::new, |rkey| format!("{:#010x}", rkey.0)),
            reth.map_or_else(String::new, |header| header.length.to_string()),
            atomic.map_or_else(String::new, |header| header.swap_or_add.to_string()),
            aeth.map_or_else(String::new, |header| header.syndrome.value().to_string()),
            original.map_or_else(String::new, ToString::to_string),
            String::new(),
        ];
        assert_eq!(line[..], written);
    }
    reads_management(&folder);
    let known = Command::new("tshark").args(["-G", "fields"]).output().unwrap().stdout;
    if !String::from_utf8_lossy(&known).contains("infiniband.invariant.crc.status") {
        eprintln!("SKIPPED {NAME}: this tshark does not verify the invariant CRC");
    } else {
        let lines = tshark(&path, &["infiniband.invariant.crc.status"]).unwrap();
        assert!(lines.iter().all(|line| line[0] == "1" || line[0] == "Good"), "{lines:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
