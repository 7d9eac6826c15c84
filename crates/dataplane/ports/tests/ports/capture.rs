//! Recording ports, and replay of recordings.

use std::net::Ipv4Addr;
use std::num::NonZeroU8;
use std::path::Path;
use std::process::Command;

use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::capture::{Capture, CaptureReader, Passage};
use causeway_ports::memory::{MemoryPort, pair};
use causeway_ports::pcap::{Carries, PcapPort};
use causeway_ports::{Counter, Port, TracedPort};
use proptest::prelude::*;

use crate::common::{message, udp4};

const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

/// A G-PDU with the shortest header, around an IP packet.
fn gpdu(packet: &[u8]) -> Vec<u8> {
    let length = (packet.len() as u16).to_be_bytes();
    [&[0x30, 0xff], length.as_slice(), &[0, 0, 0, 1], packet].concat()
}

fn n3(local: &str, peer: &str) -> Meta {
    Meta::Gtpu {
        local: local.parse().unwrap(),
        peer: peer.parse().unwrap(),
        tos: 0xb8,
        hops: NonZeroU8::new(64),
    }
}

fn traced(name: &str, capture: &Capture) -> (TracedPort<MemoryPort>, MemoryPort) {
    let (port, other) = pair(name, "other").unwrap();
    (TracedPort::new(port, capture.tap(name).unwrap()), other)
}

/// Records one G-PDU over IPv4 in, one over IPv6 out, and one IP packet out.
fn record(path: &Path) -> Capture {
    let capture = Capture::create(path, 1 << 20).unwrap();
    let (mut access, mut gnb) = traced("n3", &capture);
    let (mut core, _network) = traced("n6", &capture);
    let packet = udp4((UE, 5000), (SERVER, 9), b"payload");
    gnb.push(n3("192.0.2.1", "192.0.2.9:2152"), &gpdu(&packet));
    assert_eq!(access.receive(&mut Batch::new()).unwrap(), 1);
    let down = Frame { meta: n3("2001:db8::1", "[2001:db8::9]:2152"), data: &gpdu(&packet) };
    access.send(&[down]).unwrap();
    core.send(&[Frame { meta: Meta::Ip, data: &packet }]).unwrap();
    capture.flush().unwrap();
    capture
}

fn replay(path: &Path, carries: Carries) -> (Vec<(Meta, Vec<u8>)>, PcapPort) {
    let mut port = PcapPort::open("file", path, carries, None).unwrap();
    let (mut batch, mut frames) = (Batch::new(), Vec::new());
    while port.has_pending() {
        port.receive(&mut batch).unwrap();
        frames.extend(batch.frames().map(|frame| (frame.meta, frame.data.to_vec())));
    }
    (frames, port)
}

// Input:  traffic recorded by two traced ports, replayed as GTP-U and as IP.
// Output: as GTP-U the two datagrams, with marking and the local address as destination; as IP all three packets.
#[test]
fn recordings_can_be_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pcapng");
    let capture = record(&path);
    assert_eq!(capture.missed(), 0);
    let packet = udp4((UE, 5000), (SERVER, 9), b"payload");
    let (frames, port) = replay(&path, Carries::Gtpu);
    let expected = [
        (n3("192.0.2.1", "192.0.2.9:2152"), gpdu(&packet)),
        (n3("2001:db8::9", "[2001:db8::1]:2152"), gpdu(&packet)),
    ];
    assert_eq!(frames, expected);
    assert_eq!(port.counters().value(Counter::RxNotForUs), 1);
    let (frames, _) = replay(&path, Carries::Ip);
    assert_eq!(frames.len(), 3);
    assert_eq!(frames[2], (Meta::Ip, packet));
}

// Input:  the same recording, read by tshark.
// Output: it names the interfaces, decodes GTP-U with the user's packet, and finds nothing malformed.
#[test]
fn tshark_decodes_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pcapng");
    let capture = record(&path);
    let tap = capture.tap("n4").unwrap();
    let (upf, smf) = ("192.0.2.1:8805".parse().unwrap(), "192.0.2.5:8805".parse().unwrap());
    let heartbeat = [0x20, 1, 0, 12, 0, 0, 1, 0, 0, 96, 0, 4, 0xe0, 0, 0, 0];
    tap.record_udp(Passage::In, smf, upf, 0, &heartbeat);
    capture.flush().unwrap();
    let fields = ["frame.interface_name", "frame.protocols", "_ws.malformed"].map(|field| ["-e", field]);
    let output =
        Command::new("tshark").arg("-r").arg(&path).args(["-T", "fields"]).args(fields.concat()).output();
    let Ok(output) = output else {
        eprintln!("SKIPPED tshark_decodes_the_recording: needs tshark");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<_> = text.lines().map(|line| line.trim_end().split('\t').collect::<Vec<_>>()).collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines.iter().all(|line| line.len() == 2), "malformed: {text}");
    assert!(lines[0][0] == "n3" && lines[0][1].contains("ip:udp:gtp:ip:udp"), "{text}");
    assert!(lines[1][0] == "n3" && lines[1][1].contains("ipv6:udp:gtp:ip:udp"), "{text}");
    assert!(lines[2][0] == "n6" && lines[2][1].contains("ip:udp"), "{text}");
    assert!(lines[3][0] == "n4" && lines[3][1].contains("udp:pfcp"), "{text}");
}

// Input:  recording switched off, then on again; then more than the file may hold.
// Output: only the packets while it was on; the excess is counted, and the file stays readable.
#[test]
fn recording_is_switched_and_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pcapng");
    let capture = Capture::create(&path, 400).unwrap();
    let (mut port, _other) = traced("n6", &capture);
    let packet = udp4((UE, 1), (SERVER, 9), &[0; 100]);
    let frame = Frame { meta: Meta::Ip, data: &packet };
    capture.set_enabled(false);
    port.send(&[frame]).unwrap();
    capture.set_enabled(true);
    port.send(&[frame; 5]).unwrap();
    capture.flush().unwrap();
    assert_eq!(capture.missed(), 3);
    assert_eq!(replay(&path, Carries::Ip).0.len(), 2);
    assert!(std::fs::metadata(&path).unwrap().len() < 600);
}

// Input:  a replaying port with a sink, given two frames.
// Output: both counted as sent, both in the file of the sink.
#[test]
fn a_replaying_port_writes_what_it_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let (source, sink) = (folder.path().join("in.pcapng"), folder.path().join("out.pcapng"));
    record(&source);
    let capture = Capture::create(&sink, 1 << 20).unwrap();
    let mut port = PcapPort::open("n6", &source, Carries::Ip, Some(capture.tap("n6").unwrap())).unwrap();
    let packet = udp4((UE, 1), (SERVER, 9), b"x");
    assert_eq!(port.send(&[Frame { meta: Meta::Ip, data: &packet }; 2]).unwrap(), 2);
    capture.flush().unwrap();
    assert_eq!(replay(&sink, Carries::Ip).0, vec![(Meta::Ip, packet); 2]);
    assert_eq!(port.counters().value(Counter::Tx), 2);
}

// Input:  a classic pcap file of Ethernet frames: a packet with padding, ARP, a cut packet.
// Output: the packet without padding; the others in their counters.
#[test]
fn a_classic_pcap_of_ethernet_frames_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.pcap");
    let packet = udp4((UE, 1), (SERVER, 9), b"x");
    let frame = |kind: [u8; 2], data: &[u8]| [&[2; 12], kind.as_slice(), data].concat();
    let frames = [
        frame([8, 0], &[&packet, [0; 17].as_slice()].concat()),
        frame([8, 6], &[0; 28]),
        frame([8, 0], &packet[..20]),
    ];
    let mut file = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 1].map(u32::to_le_bytes).concat();
    for frame in &frames {
        let len = frame.len() as u32;
        file.extend([0, 0, len, len].map(u32::to_le_bytes).concat());
        file.extend(frame);
    }
    std::fs::write(&path, file).unwrap();
    let (seen, port) = replay(&path, Carries::Ip);
    assert_eq!(seen, [(Meta::Ip, packet)]);
    assert_eq!(port.counters().value(Counter::RxNotForUs), 1);
    assert_eq!(port.counters().value(Counter::RxTruncated), 1);
}

// Input:  a missing file, some that are no capture, and some that end too early.
// Output: errors that name the file, and say what is wrong.
#[test]
fn a_file_that_is_no_capture_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("letter.txt");
    let missing = message(CaptureReader::open(&path));
    assert!(missing.contains("letter.txt") && missing.contains("No such file"), "{missing}");
    for (content, why) in [
        (&b"Dear capture"[..], "neither a pcap nor a pcapng file: give one that tcpdump"),
        (b"", "neither a pcap nor a pcapng file: give one that tcpdump"),
        (&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0], "ends within its header"),
        (&[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0], "ends within its header"),
        (&[0x0a; 28], "neither a pcap nor a pcapng file"),
    ] {
        std::fs::write(&path, content).unwrap();
        let other = message(CaptureReader::open(&path));
        assert!(other.contains("letter.txt: ") && other.contains(why), "{content:?}: {other}");
    }
    let unwritable = message(Capture::create(&folder.path().join("no/where"), 1).map(drop));
    assert!(unwritable.contains("no/where"), "{unwritable}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // Input:  a recording with octets changed and the end truncated.
    // Output: an error at opening, or frames and counters; never a panic, never an endless file.
    #[test]
    fn a_damaged_file_ends(changes in prop::collection::vec((0_usize..600, any::<u8>()), 0..8), cut in 0_usize..700) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.pcapng");
        record(&path);
        let mut file = std::fs::read(&path).unwrap();
        for (at, octet) in changes {
            if let Some(place) = file.get_mut(at) {
                *place = octet;
            }
        }
        file.truncate(cut);
        std::fs::write(&path, file).unwrap();
        if let Ok(mut reader) = CaptureReader::open(&path) {
            prop_assert!((0..1000).any(|_| reader.read().is_none()));
        }
    }
}
