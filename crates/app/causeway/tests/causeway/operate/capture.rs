//! `causeway capture`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, UdpRepr};
use causeway_types::Qfi;
use pcap_file::pcapng::blocks::interface_statistics::InterfaceStatisticsOption;
use pcap_file::pcapng::{Block, PcapNgReader};

use super::{Operated, ended, ue};
use crate::common::{PATIENCE, loopback};

/// The port of GTP-U.
const PORT: u16 = 2152;

/// A gNB, which sends to the tunnel of the first UE.
pub(super) struct Gnb(UdpSocket);

impl Gnb {
    pub(super) fn new() -> Self {
        Self(UdpSocket::bind((loopback(), PORT)).unwrap())
    }

    /// A packet of the UE in its tunnel.
    fn message(of: &Operated) -> Vec<u8> {
        Self::message_from(of, ue(0))
    }

    /// The same from another source address.
    fn message_from(of: &Operated, source: Ipv4Addr) -> Vec<u8> {
        Self::message_with(of, source, b"captured")
    }

    fn message_with(of: &Operated, source: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
        let user = udp(source, [203, 0, 113, 1].into(), 2, payload);
        let teid = of.sessions[0].uplink.teid;
        let header = prefix::uplink(teid, Qfi::new(9).unwrap(), user.len()).unwrap();
        [&header[..], &user].concat()
    }

    /// The same with the headers of IP and UDP.
    pub(super) fn packet(&self, of: &Operated) -> Vec<u8> {
        let SocketAddr::V4(own) = self.0.local_addr().unwrap() else { panic!() };
        udp(*own.ip(), of.at, PORT, &Self::message(of))
    }

    /// Sends a packet in the tunnel of the UE that is not its own.
    pub(super) fn send_spoofed(&self, of: &Operated) {
        self.0.send_to(&Self::message_from(of, [10, 45, 7, 7].into()), (of.at, PORT)).unwrap();
    }

    /// Sends so many packets of the UE with 1,300 octets more.
    fn send_large(&self, of: &Operated, count: usize) {
        let payload = [&[0; 1300][..], b"captured"].concat();
        self.send_messages(of, &Self::message_with(of, ue(0), &payload), count);
    }

    /// Sends so many packets of the UE.
    pub(super) fn send(&self, of: &Operated, count: usize) {
        self.send_messages(of, &Self::message(of), count);
    }

    fn send_messages(&self, of: &Operated, message: &[u8], count: usize) {
        for _ in 0..count {
            self.0.send_to(message, (of.at, PORT)).unwrap();
        }
    }
}

fn udp(src: Ipv4Addr, dst: Ipv4Addr, port: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let ip = IpRepr::V4(Ipv4Repr::new(src, dst, IpProtocol::UDP));
    ip.write_udp(UdpRepr { src_port: 1, dst_port: port }, true, &[payload], &mut packet).unwrap();
    packet
}

/// A file with so many packets of the first UE, half of them received.
pub(super) fn captured(of: &Operated, name: &str, packets: usize) -> PathBuf {
    let file = path(of, name);
    let args = [&ue(0).to_string(), "-w", file.to_str().unwrap(), "-c", &packets.to_string()];
    let (child, said) = start(of, &args);
    Gnb::new().send(of, packets / 2);
    assert_eq!(end(child, said).0, Some(0));
    file
}

/// A file that no other test writes.
fn path(of: &Operated, name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("capture-{}-{name}", of.at))
}

/// A capture that is in force, with the rest of what it says.
fn start(of: &Operated, args: &[&str]) -> (Child, BufReader<ChildStderr>) {
    start_command(of.command(&[&["capture"], args].concat()))
}

fn start_command(mut command: Command) -> (Child, BufReader<ChildStderr>) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut note = String::new();
    said.read_line(&mut note).unwrap();
    assert!(note.starts_with("capturing into ") && note.ends_with("; Ctrl-C ends\n"), "{note}");
    (child, said)
}

/// The exit code, and what it says.
fn end(mut child: Child, mut said: BufReader<ChildStderr>) -> (Option<i32>, String) {
    let mut text = String::new();
    said.read_to_string(&mut text).unwrap();
    (child.wait().unwrap().code(), text)
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// The names of interfaces, the packets by the number of the interface, and the missing ones.
fn contents(octets: &[u8]) -> (usize, Vec<u32>, u64) {
    let mut reader = PcapNgReader::new(octets).unwrap();
    let (mut packets, mut missing, mut interfaces, mut statistics) = (Vec::new(), 0, 0, 0);
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(_) => interfaces += 1,
            Block::EnhancedPacket(packet) => {
                assert_eq!(packet.data.len(), packet.original_len as usize);
                assert!(packet.data.ends_with(b"captured"), "{:02x?}", packet.data);
                packets.push(packet.interface_id);
            }
            Block::InterfaceStatistics(block) => {
                statistics += 1;
                for option in block.options {
                    if let InterfaceStatisticsOption::IsbIfDrop(drop) = option {
                        missing += drop;
                    }
                }
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(statistics, interfaces, "one block of statistics for each interface");
    (interfaces, packets, missing)
}

/// Waits until the file has so many octets.
fn until_size(file: &Path, octets: u64) {
    let begin = Instant::now();
    while fs::metadata(file).unwrap().len() < octets {
        assert!(begin.elapsed() < PATIENCE, "{} stays short", file.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

// Input:  a capture of a UE up to four packets, over a file that is there already, and one of its SEID to a pipe, as JSON; two
//         packets from the UE, which go on to another gNB.
// Output: both have what came in and went out, in order, and nothing of the former file; they say so, and end with 0.
#[test]
fn packets_are_captured_into_a_file_and_a_pipe() {
    let of = Operated::with_sessions(2);
    let file = path(&of, "file.pcapng");
    fs::write(&file, "x".repeat(1 << 16)).unwrap();
    let (name, seid) = (file.to_str().unwrap(), of.seid(0));
    let (child, said) = start(&of, &[&ue(0).to_string(), "-w", name, "-c", "4"]);
    let (mut piped, piped_said) = start(&of, &[&seid, "-w", "-", "--count", "4", "-o", "json"]);
    Gnb::new().send(&of, 2);
    let (code, text) = end(child, said);
    let written = format!("4 packets written to {name}, 0 packets not captured\n");
    let expected = format!("the capture ends: its number of packets is reached\n{written}");
    assert_eq!((code, text), (Some(0), expected));
    let mut octets = Vec::new();
    piped.stdout.take().unwrap().read_to_end(&mut octets).unwrap();
    let (code, text) = end(piped, piped_said);
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &summary["packets"], &summary["not_captured"]), (Some(0), &4.into(), &0.into()));
    for octets in [fs::read(&file).unwrap(), octets] {
        assert_eq!(contents(&octets), (4, vec![0, 1, 0, 1], 0));
    }
}

// Input:  a capture that is interrupted after some packets; one whose session ends; one whose daemon is killed.
// Output: whole files; the reason, the numbers of packets, and 0; of the killed daemon, an error.
#[test]
fn a_capture_that_ends_is_a_whole_file() {
    let mut of = Operated::with_sessions(2);
    let gnb = Gnb::new();
    let files = ["interrupted", "deleted", "killed"].map(|name| path(&of, name));
    let [interrupted, deleted, killed] = files.each_ref().map(|file| file.to_str().unwrap());
    let own = ue(0).to_string();
    let (child, said) = start(&of, &[&own, "-w", interrupted]);
    until_size(&files[0], 1);
    let empty = fs::metadata(&files[0]).unwrap().len();
    gnb.send(&of, 1);
    until_size(&files[0], empty + 300);
    signal(&child, "INT");
    let (code, text) = end(child, said);
    let expected = format!(
        "the capture ends: it was interrupted\n2 packets written to {interrupted}, 0 packets not captured\n"
    );
    assert_eq!((code, text), (Some(0), expected));

    let (child, said) = start(&of, &[&own, "-w", deleted]);
    gnb.send(&of, 1);
    until_size(&files[1], empty + 300);
    let (other, other_said) = start(&of, &[&of.seid(1), "-w", killed]);
    of.smf.delete(&[of.sessions[0].seid]);
    let (code, text) = end(child, said);
    assert_eq!(code, Some(0));
    assert!(text.contains("the session has ended\n2 packets written"), "{text}");

    of.running.child.kill().unwrap();
    let (code, text) = end(other, other_said);
    assert_eq!(code, Some(1));
    for part in ["the connection broke\n0 packets written", "broke: "] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let expected = [vec![0, 1], vec![0, 1], vec![]];
    for (file, packets) in files.iter().zip(expected) {
        assert_eq!(contents(&fs::read(file).unwrap()), (4, packets, 0));
    }
}

// Input:  a capture of 50 packets, whose file may have 4,000 octets.
// Output: an error with its name; the file ends behind a whole packet.
#[test]
fn a_file_without_space_is_whole() {
    let of = Operated::with_sessions(1);
    let file = path(&of, "short");
    let own = ue(0).to_string();
    let capture = of.command(&["capture", &own, "-w", file.to_str().unwrap(), "-c", "100"]);
    let mut limited = Command::new("env");
    limited.args(["--ignore-signal=XFSZ", "prlimit", "--fsize=4000"]);
    limited.arg(capture.get_program()).args(capture.get_args());
    limited.envs(capture.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let (child, said) = start_command(limited);
    Gnb::new().send(&of, 50);
    let (code, text) = end(child, said);
    assert!(code == Some(1) && text.contains(&format!("{}: File too large", file.display())), "{text}");
    let octets = fs::read(&file).unwrap();
    let mut reader = PcapNgReader::new(octets.as_slice()).unwrap();
    let blocks: Vec<_> =
        std::iter::from_fn(|| reader.next_block().map(|block| block.unwrap().into_owned())).collect();
    let packets = blocks.iter().filter(|block| matches!(block, Block::EnhancedPacket(_))).count();
    assert!(packets > 0 && octets.len() <= 4000, "{packets} packets in {} octets", octets.len());
}

// Input:  a flood of large packets under a capture of 6,000 packets of their session, whose client is stopped until the UPF has received 4,000.
// Output: what is not in the file is counted, in the file and in words: packets beyond the rate that a fast thread observes, and
//         those that did not fit into the queue of the stopped client, where a busy machine slows the thread down.
#[test]
fn packets_that_are_not_captured_are_counted() {
    let of = Operated::with_sessions(1);
    let (own, file, gnb) = (ue(0).to_string(), path(&of, "flood"), Gnb::new());
    let (mut child, said) = start(&of, &[&own, "-w", file.to_str().unwrap(), "-c", "6000"]);
    signal(&child, "STOP");
    let begin = Instant::now();
    let flood = || {
        assert!(begin.elapsed() < PATIENCE, "the capture does not end");
        gnb.send_large(&of, 500);
    };
    let received = || of.json(&["status"])["received_packets"].as_u64().unwrap();
    while received() < 4000 {
        flood();
    }
    signal(&child, "CONT");
    while child.try_wait().unwrap().is_none() {
        flood();
    }
    let (code, text) = end(child, said);
    let (_, packets, missing) = contents(&fs::read(&file).unwrap());
    assert!(code == Some(0) && packets.len() == 6000 && missing > 0, "{missing}: {text}");
    let counted = format!("\n6000 packets written to {} {missing} packets not captured\n", file.display());
    assert!(text.replace(',', "").contains(&counted), "{missing}: {text}");
    assert!(text.contains("\nnot captured: beyond the rate that a packet thread observes"), "{text}");
}

// Input:  a full disk, a folder that is not there, an unknown UE over a file that is there, no file, and bounds that are none.
// Output: what is wrong, with the path; the file stays as it was; exit code 1, and 2 for the command line.
#[test]
fn what_cannot_be_captured_is_an_error() {
    let of = Operated::with_sessions(1);
    let (own, there) = (ue(0).to_string(), path(&of, "there"));
    fs::write(&there, "as it was").unwrap();
    let there = there.to_str().unwrap();
    for (args, expected) in [
        (&[&own, "-w", "/dev/full"][..], "/dev/full: No space left on device"),
        (&[&own, "-w", "/nowhere/ue.pcapng"], "/nowhere/ue.pcapng: No such file or directory"),
        (&[&own, "-w", "/"], "/: Is a directory"),
        (&["10.45.9.9", "-w", there], "there is no session with the UE address 10.45.9.9"),
        (&["0x77", "-w", there], "no session has the SEID 0x77"),
    ] {
        let output = of.command(&[&["capture"], args].concat()).output().unwrap();
        let (code, printed, error) = ended(&output);
        assert_eq!((code, printed), (Some(1), ""), "{args:?}: {error}");
        assert!(error.lines().last().unwrap().contains(expected), "{args:?}: {error}");
    }
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = of.command(&["capture", &own, "-w", "-"]).stdout(full).output().unwrap();
    let (code, _, error) = ended(&output);
    assert!(code == Some(1) && error.contains("standard output: No space left"), "{error}");
    assert_eq!(fs::read_to_string(there).unwrap(), "as it was");
    for (args, expected) in [
        (&[own.as_str()][..], "--write <FILE>"),
        (&["ue", "-w", "-"], "expected an address of a UE or a SEID"),
        (&[&own, "-w", "-", "-c", "0"], "--count"),
        (&[&own, "-w", "-", "-s", "65536"], "--snaplen"),
        (&[&own, "-w", "-", "--seconds", "0"], "--seconds"),
    ] {
        let output = of.command(&[&["capture"], args].concat()).output().unwrap();
        let (code, printed, error) = ended(&output);
        assert_eq!((code, printed), (Some(2), ""), "{args:?}: {error}");
        assert!(error.contains(expected), "{args:?}: {error}");
    }
}

// Input:  `causeway capture -w - | tshark -r -` of a UE whose packets are cut after 64 octets.
// Output: tshark shows the packets while the capture goes on, with tunnel, QFI and length, and both end with the capture.
#[test]
fn tshark_reads_along() {
    const NAME: &str = "causeway::tshark_reads_along";
    if Command::new("tshark").arg("--version").output().is_err() {
        return eprintln!("SKIPPED {NAME}: needs tshark (not on PATH)");
    }
    let of = Operated::with_sessions(1);
    let (mut child, said) = start(&of, &[&ue(0).to_string(), "-w", "-", "-s", "64"]);
    let fields = [
        "frame.interface_name",
        "frame.len",
        "frame.cap_len",
        "gtp.teid",
        "gtp.ext_hdr.pdu_ses_con.qos_flow_id",
    ];
    let mut tshark = Command::new("tshark")
        .args(["-l", "-r", "-", "-T", "fields", "-E", "separator=|"])
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .stdin(child.stdout.take().unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tshark.stdout.take().unwrap()).lines();
    Gnb::new().send(&of, 1);
    let mut seen = Vec::new();
    // tshark shows the last packet when another one or the end follows.
    seen.push(lines.next().unwrap().unwrap());
    signal(&child, "TERM");
    seen.extend(lines.map(Result::unwrap));
    assert!(tshark.wait().unwrap().success());
    let (code, text) = end(child, said);
    assert_eq!(code, Some(0));
    assert!(text.contains("2 packets written to standard output, 0 packets not captured"), "{text}");
    let teid = of.sessions[0].uplink.teid.to_string();
    assert_eq!(seen[0], format!("N3 in|80|64|{teid}|9"));
    assert!(seen.len() == 2 && seen[1].starts_with("N3 out|"), "{seen:?}");
}
