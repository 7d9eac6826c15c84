//! The capture of a session: its packets, in and out, as a pcapng file, and those of no others.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use causeway_packet::{Ip, Meta, Udp};
use causeway_types::{Span, Teid};
use causeway_upf::config::{Capture, DataPlane, GtpuMode, GtpuServer, N6Mode, Session as DataNetwork};
use causeway_upf::management::views::ProblemView;
use causeway_upf::{Daemon, StartError};
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::interface_statistics::InterfaceStatisticsOption;
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::common::far::far_end;
use crate::common::namespace::{in_namespace, in_namespace_of_root};
use crate::common::smf::{Session, Smf};
use crate::common::{Gnb, PATIENCE, Running, SERVER, UE, config, fetch, loopback, next, packet, run};

const OTHER: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 3);

fn start() -> (Running, Smf, Gnb) {
    start_with(DataPlane::default())
}

fn start_with(data_plane: DataPlane) -> (Running, Smf, Gnb) {
    let upf = loopback();
    let mut config = config(upf);
    config.upf.dataplane = data_plane;
    // The SMF is asked for nothing while a test waits.
    config.upf.pfcp.heartbeat.interval = Span::from_secs(0);
    config.upf.management.capture = Capture::Everyone;
    let running = run(&config, upf).unwrap();
    let (mut smf, gnb) = (Smf::new(loopback().into(), running.n4()), Gnb::new());
    smf.associate();
    (running, smf, gnb)
}

fn teid(value: u32) -> Teid {
    Teid::new(value).unwrap()
}

pub(super) fn path(session: Session, page: &str) -> String {
    format!("/api/v1/sessions/{:#x}/{page}", session.up_seid.0)
}

/// A response whose head has been read, and whether it is a success.
fn open(at: SocketAddr, path: &str) -> (BufReader<TcpStream>, bool) {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    let (mut stream, mut is_success) = (BufReader::new(stream), false);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the head ends");
        is_success |= line.starts_with("HTTP/1.1 200 ");
    }
    (stream, is_success)
}

/// A capture that is in force.
fn capture(running: &Running, session: Session, query: &str) -> BufReader<TcpStream> {
    capture_of(&running.daemon, session, query)
}

/// The same of a daemon that runs by itself.
pub(super) fn capture_of(daemon: &Daemon, session: Session, query: &str) -> BufReader<TcpStream> {
    let path = path(session, &format!("capture{query}"));
    let (stream, is_success) = open(daemon.management_addresses()[0], &path);
    assert!(is_success, "{:?}", fetch(daemon, &path));
    stream
}

/// The chunks of a body up to its end, put together; `None`: the connection ended before.
pub(super) fn body(mut stream: BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let length = usize::from_str_radix(line.trim_end(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        stream.read_exact(&mut chunk).ok()?;
        if length == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(&chunk[..length]);
    }
}

/// A packet of a file.
#[derive(Debug)]
struct Seen {
    interface: String,
    nanoseconds: u128,
    length: u32,
    data: Vec<u8>,
    flags: u32,
    comment: String,
}

/// What a file has: its packets, the packets that are missing by interface, and why it ends.
#[derive(Debug, Default)]
struct Contents {
    interfaces: Vec<String>,
    packets: Vec<Seen>,
    missing: Vec<(String, u64)>,
    end: Option<String>,
}

impl Contents {
    fn of(file: &[u8]) -> Self {
        let mut reader = PcapNgReader::new(file).unwrap();
        let mut contents = Self::default();
        while let Some(block) = reader.next_block() {
            match block.unwrap() {
                Block::InterfaceDescription(interface) => {
                    assert_eq!(interface.linktype, DataLink::RAW);
                    assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
                    let name = interface.options.iter().find_map(|option| match option {
                        InterfaceDescriptionOption::IfName(name) => Some(name.clone().into_owned()),
                        _ => None,
                    });
                    contents.interfaces.push(name.unwrap());
                }
                Block::EnhancedPacket(packet) => contents.packet(packet),
                Block::InterfaceStatistics(statistics) => {
                    let name = contents.interfaces[statistics.interface_id as usize].clone();
                    for option in statistics.options {
                        match option {
                            InterfaceStatisticsOption::IsbIfDrop(drop) => {
                                contents.missing.retain(|(known, _)| *known != name);
                                contents.missing.push((name.clone(), drop));
                            }
                            InterfaceStatisticsOption::Comment(end) => contents.end = Some(end.into_owned()),
                            _ => {}
                        }
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        contents
    }

    fn packet(&mut self, packet: pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock<'_>) {
        let [EnhancedPacketOption::Flags(flags), EnhancedPacketOption::Comment(comment)] =
            &packet.options[..]
        else {
            panic!("{packet:?}")
        };
        self.packets.push(Seen {
            interface: self.interfaces[packet.interface_id as usize].clone(),
            nanoseconds: packet.timestamp.as_nanos(),
            length: packet.original_len,
            flags: *flags,
            comment: Cow::into_owned(comment.clone()),
            data: packet.data.into_owned(),
        });
    }

    /// The packets of an interface.
    fn on(&self, interface: &str) -> Vec<&Seen> {
        self.packets.iter().filter(|packet| packet.interface == interface).collect()
    }
}

/// The payload of the UDP datagram in a packet, with its source and destination.
fn datagram(packet: &[u8]) -> (SocketAddr, SocketAddr, Vec<u8>) {
    let Ip::V4(ip) = Ip::parse(packet).unwrap() else { panic!("{packet:?}") };
    assert!(ip.checksum_is_valid());
    let udp = Udp::parse(ip.payload()).unwrap();
    let end = |address: Ipv4Addr, port| SocketAddr::from((address, port));
    (end(ip.src(), udp.src_port()), end(ip.dst(), udp.dst_port()), udp.payload().to_vec())
}

// Input:  two UEs that send and receive, of which one is captured: uplink, downlink, and one with a source address that is
//         not its own.
// Output: a file with what came in and went out for the one, octet by octet, with rules and fates, in order; then its end.
#[test]
fn a_capture_has_the_packets_of_one_ue() {
    let (mut running, mut smf, gnb) = start();
    let session = smf.establish_forwarding(UE, teid(7), gnb.address);
    let other = smf.establish_forwarding(OTHER, teid(8), gnb.address);
    let stream = capture(&running, session, "?packets=5");
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for (ue, tunnel) in [(OTHER, other.uplink.teid), (UE, session.uplink.teid)] {
        gnb.send(running.upf, tunnel, &packet(ue, SERVER, b"up"));
        up = next(&mut running.server);
        assert!(running.server.push(Meta::Ip, &packet(SERVER, ue, b"down")));
        down = gnb.receive();
    }
    gnb.send(running.upf, session.uplink.teid, &packet(OTHER, SERVER, b"forged"));

    let file = Contents::of(&body(stream).unwrap());
    assert_eq!(file.interfaces, ["N3 in", "N3 out", "N6 in", "N6 out"]);
    let order: Vec<_> = file.packets.iter().map(|seen| seen.interface.as_str()).collect();
    assert_eq!(order, ["N3 in", "N6 out", "N6 in", "N3 out", "N3 in"]);
    let [up_in, up_out, down_in, down_out, forged] = &file.packets[..] else { panic!("{file:?}") };

    let (gnb_end, upf_end) = (SocketAddr::from((gnb.address, 2152)), SocketAddr::from((running.upf, 2152)));
    let (from, to, message) = datagram(&up_in.data);
    assert_eq!((from, to), (gnb_end, upf_end));
    assert!(message.ends_with(&packet(UE, SERVER, b"up")));
    assert_eq!(up_out.data, up);
    assert_eq!(down_in.data, packet(SERVER, UE, b"down"));
    assert_eq!(datagram(&down_out.data), (upf_end, gnb_end, down));
    assert!(datagram(&forged.data).2.ends_with(&packet(OTHER, SERVER, b"forged")));

    let seid = format!("session {:#x}", session.up_seid.0);
    for (seen, parts) in [
        (up_in, ["TEID", &seid, "PDR 1", "FAR 1 forward", "; forwarded"]),
        (up_out, [&seid, "PDR 1", "FAR 1 forward", "sent to data network internet", ""]),
        (down_in, ["from data network internet", &seid, "PDR 2", "FAR 2 forward", "; forwarded"]),
        (down_out, [&seid, "PDR 2", "FAR 2 forward", &format!("sent to GTP-U peer {gnb_end}"), ""]),
        (forged, ["TEID", &seid, "PDR 1", "; dropped, ", ": "]),
    ] {
        for part in parts {
            assert!(seen.comment.contains(part), "{part} is not in {}", seen.comment);
        }
        assert_eq!(seen.flags & 3, if seen.interface.ends_with("in") { 1 } else { 2 });
        assert_eq!(seen.length as usize, seen.data.len());
    }
    assert!(
        file.packets.is_sorted_by_key(|seen| seen.nanoseconds)
            && file.packets[0].nanoseconds > 1_700_000_000 * 1_000_000_000
    );
    assert_eq!(file.end.as_deref(), Some("the capture ends: its number of packets is reached"));
    assert!(file.missing.len() == 4 && file.missing.iter().all(|(_, count)| *count == 0), "{file:?}");
}

// Input:  a session on the model of a P4 switch in this process, with a packet each way; and one with a forged source.
// Output: the capture has what came in and went out, and why the last one went nowhere; the model does not tell which rules.
#[test]
fn a_capture_has_the_packets_of_the_switch_model_in_this_process() {
    let (mut running, mut smf, gnb) = start_with(DataPlane::Switch);
    let session = smf.establish_forwarding(UE, teid(7), gnb.address);
    let stream = capture(&running, session, "?packets=5");
    gnb.send(running.upf, session.uplink.teid, &packet(UE, SERVER, b"up"));
    next(&mut running.server);
    assert!(running.server.push(Meta::Ip, &packet(SERVER, UE, b"down")));
    gnb.receive();
    gnb.send(running.upf, session.uplink.teid, &packet(OTHER, SERVER, b"forged"));
    let file = Contents::of(&body(stream).unwrap());
    let order: Vec<_> = file.packets.iter().map(|seen| seen.interface.as_str()).collect();
    assert_eq!(order, ["N3 in", "N6 out", "N6 in", "N3 out", "N3 in"]);
    for (seen, part) in file.packets.iter().zip([
        "; forwarded",
        "sent to data network internet",
        "; forwarded",
        "sent to GTP-U peer",
        "; dropped, ",
    ]) {
        assert!(seen.comment.contains(part) && !seen.comment.contains("PDR"), "{seen:?}");
    }
}

// Input:  a captured session whose downlink is buffered: a packet for its UE, then a tunnel to its gNB; a capture from then on,
//         while it is handed over to another gNB; then its end.
// Output: the first file has the packet when it comes and when it leaves; the second one has the End Marker.
#[test]
fn a_capture_has_packets_that_leave_a_buffer() {
    let (mut running, mut smf, gnb) = start();
    let session = smf.establish();
    let first = capture(&running, session, "");
    assert!(running.server.push(Meta::Ip, &packet(SERVER, UE, b"down")));
    smf.accept_downlink_data(session);
    smf.forward(session, teid(9), gnb.address);
    let down = gnb.receive();
    let second = capture(&running, session, "");
    smf.hand_over(session, teid(10), Gnb::new().address);
    let marker = gnb.receive();
    smf.delete(session);
    let [first, second] = [first, second].map(|stream| Contents::of(&body(stream).unwrap()));
    let [came, left, ..] = &first.packets[..] else { panic!("{first:?}") };
    assert_eq!((came.interface.as_str(), left.interface.as_str()), ("N6 in", "N3 out"));
    assert!(came.comment.ends_with("; buffered") && left.comment.starts_with("from a buffer"), "{first:?}");
    assert_eq!((&came.data, datagram(&left.data).2), (&packet(SERVER, UE, b"down"), down));
    let [only] = &second.packets[..] else { panic!("{second:?}") };
    assert_eq!((only.interface.as_str(), datagram(&only.data).2), ("N3 out", marker));
    assert_eq!(datagram(&only.data).2[1], 254);
}

// Input:  a captured session of which a packet is written with 40 octets, beside a capture of it whole; then its end.
// Output: the first octets of the packets and their whole lengths; each file says that the session has ended.
#[test]
fn a_capture_may_have_the_first_octets_only() {
    let (mut running, mut smf, gnb) = start();
    let session = smf.establish_forwarding(UE, teid(7), gnb.address);
    let streams = [capture(&running, session, "?snaplen=40"), capture(&running, session, "")];
    gnb.send(running.upf, session.uplink.teid, &packet(UE, SERVER, &[7; 1000]));
    next(&mut running.server);
    smf.delete(session);
    let [cut, whole] = streams.map(|stream| Contents::of(&body(stream).unwrap()));
    assert_eq!((cut.packets.len(), whole.packets.len()), (2, 2));
    for (cut, whole) in cut.packets.iter().zip(&whole.packets) {
        assert_eq!((cut.data.as_slice(), cut.length), (&whole.data[..40], whole.length));
        assert_eq!(whole.data.len(), whole.length as usize);
    }
    assert_eq!(whole.packets[1].length, 1028);
    for file in [cut, whole] {
        assert_eq!(file.end.as_deref(), Some("the capture ends: the session has ended"));
    }
}

// Input:  captures of no session, with bounds that do not exist, and more captures and traces than there may be.
// Output: each is refused, and the response says why.
#[test]
fn what_cannot_be_captured_is_refused() {
    let (running, mut smf, gnb) = start();
    let session = smf.establish_forwarding(UE, teid(7), gnb.address);
    let refused = |path: &str| {
        let (head, body) = running.fetch(path);
        let problem: ProblemView = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{head} {body}"));
        (problem.status, problem.detail)
    };
    assert_eq!(refused("/api/v1/sessions/0xffffffffffff/capture").0, 404);
    assert_eq!(refused("/api/v1/sessions/x/capture").0, 400);
    for (query, says) in [
        ("seconds=0", "seconds: expected a number from 1 to 3600, not \"0\""),
        ("seconds=3601", "seconds: expected a number from 1 to 3600"),
        ("packets=0", "packets: expected a number from 1 on"),
        ("packets=x", "packets: expected a number from 1 on, not \"x\""),
        ("snaplen=0", "snaplen: expected a number from 1 to 65535"),
        ("snaplen=65536", "snaplen: expected a number from 1 to 65535"),
        ("second=1", "unknown parameter `second`"),
    ] {
        let (status, detail) = refused(&path(session, &format!("capture?{query}")));
        assert!(status == 400 && detail.contains(says), "{query}: {status} {detail}");
    }
    let at = running.daemon.management_addresses()[0];
    let _traces: Vec<_> = (0..4).map(|_| open(at, &path(session, "trace"))).collect();
    let _captures: Vec<_> = (0..4).map(|_| capture(&running, session, "")).collect();
    let (status, detail) = refused(&path(session, "capture"));
    assert!(status == 503 && detail.contains("8 sessions are watched"), "{status} {detail}");
}

// Input:  a flood of large packets of a captured UE, whose client does not read meanwhile, between packets of another UE; then the
//         end of the session.
// Output: every packet arrives; each of the flood is in the file, or counted as missing. A fast thread does not observe all, and of
//         what a slow one observes, the queue of the client does not take all: some are missing in any case.
#[test]
fn each_packet_of_a_flood_is_captured_or_counted() {
    const ROUNDS: u32 = 110;
    const FLOOD: u32 = 32;
    let (mut running, mut smf, gnb) = start();
    let session = smf.establish_forwarding(UE, teid(7), gnb.address);
    let other = smf.establish_forwarding(OTHER, teid(8), gnb.address);
    let stream = capture(&running, session, "");
    let large = packet(UE, SERVER, &[7; 1300]);
    for _ in 0..ROUNDS {
        for _ in 0..FLOOD {
            gnb.send(running.upf, session.uplink.teid, &large);
        }
        gnb.send(running.upf, other.uplink.teid, &packet(OTHER, SERVER, b"other"));
        let sources: Vec<_> = (0..=FLOOD).map(|_| next(&mut running.server)[15]).collect();
        assert_eq!((sources[FLOOD as usize], sources[0]), (3, 2), "the order is kept");
    }
    smf.delete(session);
    let file = Contents::of(&body(stream).unwrap());
    let (came, left) = (file.on("N3 in").len(), file.on("N6 out").len());
    let missing: u64 = file.missing.iter().map(|(_, count)| count).sum();
    assert_eq!((came as u64 + missing, came), (u64::from(ROUNDS * FLOOD), left));
    assert!(missing > 0 && file.missing.contains(&("N3 in".into(), missing)), "{:?}", file.missing);
}

/// As many streams of a page as there may be, whose clients never read, while a UE sends large packets: all of these arrive.
/// After a while another client is admitted.
fn stalled(page: &str) {
    let (mut running, mut smf, gnb) = start();
    let session = smf.establish_forwarding(UE, teid(7), gnb.address);
    let at = running.daemon.management_addresses()[0];
    let stalled: Vec<_> = (0..8).map(|_| open(at, &path(session, page)).0).collect();
    let large = packet(UE, SERVER, &[7; 1300]);
    let begin = Instant::now();
    let admitted = loop {
        for _ in 0..64 {
            gnb.send(running.upf, session.uplink.teid, &large);
            assert_eq!(next(&mut running.server).len(), large.len());
        }
        let (stream, is_admitted) = open(at, &path(session, "capture?seconds=1"));
        if is_admitted {
            break stream;
        }
        assert!(begin.elapsed() < PATIENCE * 4, "no other client is admitted");
    };
    assert!(body(admitted).is_some());
    // Streams that go on end with the session; those that were closed have no end.
    smf.delete(session);
    assert!(stalled.into_iter().any(|stream| body(stream).is_none()));
}

// Input:  as many captures as there may be, of a UE with large packets, whose clients never read.
// Output: packets pass as ever; after a while another client may capture, and a connection has been closed.
#[test]
fn captures_that_nobody_reads_end() {
    stalled("capture");
}

// Input:  as many traces of it.
// Output: the same.
#[test]
fn traces_that_nobody_reads_end() {
    stalled("trace?seconds=3600&packets=1000000");
}

/// These fields of each packet of a file, a line for each packet.
pub(super) fn read_by_tshark(file: Vec<u8>, options: &[&str], fields: &[&str]) -> String {
    let mut tshark = Command::new("tshark")
        .args(["-r", "-", "-T", "fields", "-E", "separator=|"])
        .args(options)
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = tshark.stdin.take().unwrap();
    let writing = thread::spawn(move || input.write_all(&file));
    let output = tshark.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

// Input:  a capture of an uplink and a downlink packet, read by tshark.
// Output: tshark finds the interfaces, the tunnels, the users' packets, the directions and the comments, and nothing malformed.
#[test]
fn tshark_reads_a_capture() {
    const NAME: &str = "upf::tshark_reads_a_capture";
    if Command::new("tshark").arg("--version").output().is_err() {
        return eprintln!("SKIPPED {NAME}: needs tshark (not on PATH)");
    }
    let (mut running, mut smf, gnb) = start();
    let session = smf.establish_forwarding(UE, teid(7), gnb.address);
    let stream = capture(&running, session, "?packets=4");
    gnb.send(running.upf, session.uplink.teid, &packet(UE, SERVER, b"up"));
    next(&mut running.server);
    assert!(running.server.push(Meta::Ip, &packet(SERVER, UE, b"down")));
    gnb.receive();
    let file = body(stream).unwrap();
    let fields =
        ["frame.interface_name", "ip.src", "udp.dstport", "gtp.teid", "frame.comment", "_ws.malformed"];
    let text = read_by_tshark(file, &[], &fields);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('|').collect()).collect();
    assert_eq!(lines.len(), 4, "{text}");
    let uplink = session.uplink.teid.to_string();
    for (line, (interface, source, tunnel)) in lines.iter().zip([
        ("N3 in", format!("{},{UE}", gnb.address), uplink.as_str()),
        ("N6 out", UE.to_string(), ""),
        ("N6 in", SERVER.to_string(), ""),
        ("N3 out", format!("{},{SERVER}", running.upf), "0x00000007"),
    ]) {
        assert_eq!((line[0], line[1], line[3]), (interface, source.as_str(), tunnel), "{text}");
        assert!(line[4].contains("PDR ") && line[5].is_empty(), "{text}");
    }
}

const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);

/// A daemon on real ports, whose gNB and server are in namespaces of their own: a packet of a UE and its answer under a
/// capture.
fn captured_on(mode: GtpuMode, n6: N6Mode) -> Result<(), StartError> {
    let on_gnb = &["address add 192.0.2.9/24 dev far", "link set far up"];
    let on_server = &[
        "address add 198.51.100.1/24 dev far",
        "link set far up",
        "route add 10.45.0.0/16 via 198.51.100.9",
    ];
    let gnb = far_end("n3", "192.0.2.1/24", on_gnb, (GNB, 2152));
    let server = far_end("n6", "198.51.100.9/24", on_server, (SERVER, 2));
    let mut config = config(loopback());
    config.upf.gtpu.mode = mode;
    config.upf.management.capture = Capture::Everyone;
    config.upf.gtpu.server = vec![match mode {
        GtpuMode::Udp => GtpuServer { address: Some(N3.into()), ..GtpuServer::default() },
        _ => GtpuServer { dev: Some("n3".into()), ..GtpuServer::default() },
    }];
    config.upf.session = vec![match n6 {
        // The kernel forwards between the device and the interface.
        N6Mode::Tun => DataNetwork::default(),
        _ => DataNetwork { mode: n6, gateway: None, dev: "n6".into(), ..DataNetwork::default() },
    }];
    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
    let daemon = Daemon::start(&config)?;
    let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
    smf.associate();
    let session = smf.establish_forwarding(UE, teid(7), GNB);
    let (stream, is_success) = open(daemon.management_addresses()[0], &path(session, "capture?packets=4"));
    assert!(is_success);
    let user = packet(UE, SERVER, b"question");
    let header = causeway_packet::gtpu::prefix::without_extensions(session.uplink.teid, user.len()).unwrap();
    gnb.send_to(&[&header[..], &user].concat(), (N3, 2152)).unwrap();
    let mut buffer = [0; 128];
    let (_, from) = server.recv_from(&mut buffer).unwrap();
    server.send_to(b"answer", from).unwrap();
    let length = gnb.recv(&mut buffer).unwrap();

    let file = Contents::of(&body(stream).unwrap());
    let [up_in, up_out, down_in, down_out] = &file.packets[..] else { panic!("{file:?}") };
    let order = [up_in, up_out, down_in, down_out].map(|seen| seen.interface.as_str());
    assert_eq!(order, ["N3 in", "N6 out", "N6 in", "N3 out"]);
    let (gnb_end, upf_end) = (SocketAddr::from((GNB, 2152)), SocketAddr::from((N3, 2152)));
    assert_eq!(datagram(&up_in.data), (gnb_end, upf_end, [&header[..], &user].concat()));
    assert_eq!(datagram(&down_out.data), (upf_end, gnb_end, buffer[..length].to_vec()));
    for (seen, from, to, payload) in [(up_out, UE, SERVER, "question"), (down_in, SERVER, UE, "answer")] {
        let (source, destination, octets) = datagram(&seen.data);
        assert_eq!((source.ip(), destination.ip(), octets), (from.into(), to.into(), payload.into()));
    }
    Ok(())
}

// Input:  N3 on UDP sockets and N6 on a TUN device; a packet of a UE and its answer under a capture.
// Output: the file has both, as they came in and as they went out.
#[test]
fn a_capture_sees_udp_sockets_and_tun_devices() {
    in_namespace("management_capture::a_capture_sees_udp_sockets_and_tun_devices", || {
        captured_on(GtpuMode::Udp, N6Mode::Tun).unwrap();
    });
}

// Input:  N3 on packet rings and N6 on a TUN device; the same packets.
// Output: the same file.
#[test]
fn a_capture_sees_packet_rings() {
    in_namespace_of_root("management_capture::a_capture_sees_packet_rings", || {
        captured_on(GtpuMode::Tpacket, N6Mode::Tun).unwrap();
    });
}

// Input:  N3 and N6 on AF_XDP sockets; the same packets.
// Output: the same file.
#[test]
fn a_capture_sees_af_xdp_sockets() {
    const NAME: &str = "management_capture::a_capture_sees_af_xdp_sockets";
    in_namespace_of_root(NAME, || {
        if let Err(error) = captured_on(GtpuMode::AfXdp, N6Mode::AfXdp) {
            let said = error.to_string();
            assert!(said.contains("permission denied") || said.contains("has no AF_XDP"), "{said}");
            eprintln!("SKIPPED {NAME}: needs root (AF_XDP: {said})");
        }
    });
}
