//! `causeway memory-server` with clients on real sockets.

mod link;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use causeway_memory::{AgedTable, Effect, Failure, Operation, OperationError, Outcome, Place, Status};
use causeway_packet::roce::{Outer, Packet, Rkey};
use causeway_packet::{Ethernet, Ip, Udp};
use causeway_types::{Span, Time};
use pcap_file::pcap::PcapReader;

use link::{BadNetwork, Link};

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    command.arg("memory-server").args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A running server.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(args: &[&str]) -> Self {
        let mut child = command(args).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split(" on ").nth(1).and_then(|rest| rest.split(", ").next()?.parse().ok());
        let address = address.unwrap_or_else(|| panic!("{line:?}"));
        Self { child, address }
    }

    /// Ends it by a signal; what it says.
    fn end(mut self, name: &str) -> String {
        let sent =
            Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(self.child.wait().unwrap().code(), if name == "KILL" { None } else { Some(0) });
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

// Input:  over IPv4 and IPv6: a write of five packets, a read of the same, three additions to one word, a write with a wrong key behind
//         another client's connection; SIGTERM or SIGINT.
// Output: what was written is read; the additions return the values before; the wrong key is refused and ends that connection only. The
//         server ends with 0 and one line of what it did.
#[test]
fn it_serves_reads_writes_and_additions() {
    for (listen, local, signal) in [("127.0.0.1:0", "127.0.0.1:0", "TERM"), ("[::1]:0", "[::1]:0", "INT")] {
        let server = Server::start(&["--listen", listen, "--size", "1MiB", "--queue-pairs", "2"]);
        let mut link = Link::new(local, server.address);
        assert_eq!(link.connect(), Status::Connected);
        assert_eq!(link.client.description().unwrap().length, 1 << 20);
        let data: Vec<u8> = (0..5000u32).map(|at| at as u8 ^ 0x5a).collect();
        let word = link.place(1000 * 8);
        let ended = link.run([
            Operation::write(link.place(1), data.clone()),
            Operation::read(link.place(1), 5000),
            Operation::fetch_add(word, 1),
            Operation::fetch_add(word, 10),
            Operation::fetch_add(word, u64::MAX),
        ]);
        let added = [0, 1, 11].map(|value| Ok(Outcome::Added(value)));
        assert_eq!(ended[..2], [Ok(Outcome::Written), Ok(Outcome::Read(data))]);
        assert_eq!(ended[2..], added);

        let mut other = Link::new(local, server.address);
        assert_eq!(other.connect(), Status::Connected);
        let wrong = Place { rkey: Rkey(word.rkey.0 ^ 1), ..word };
        let refused = OperationError { failure: Failure::RemoteAccess, effect: Effect::None };
        assert_eq!(other.run([Operation::write(wrong, vec![1])]), [Err(refused)]);
        assert_eq!(link.run([Operation::read(word, 1)]), [Ok(Outcome::Read(vec![10]))]);
        let said = server.end(signal);
        let expected = "stopped: 2 connections, 0 rejected; 2 reads (5001 octets), 1 writes (5000 octets), 3 atomic operations; ";
        assert!(said.starts_with(expected), "{said}");
        assert!(said.contains(" 1 requests refused; "), "{said}");
    }
}

// Input:  600 additions to one word, and as many writes and reads of others, where one in ten packets is lost, one in 20 comes twice and
//         one in 20 comes late.
// Output: all succeed; each addition returns the sum of those before, so that none was done twice; each read returns the write before it.
#[test]
fn loss_does_nothing_twice() {
    const ROUNDS: u64 = 600;
    let server = Server::start(&["--listen", "127.0.0.1:0"]);
    let network = BadNetwork::new(server.address, 100, 7);
    let mut link = Link::new("127.0.0.1:0", network.address);
    assert_eq!(link.connect(), Status::Connected);
    let word = link.place(0);
    let operations = (0..ROUNDS).flat_map(|round| {
        let place = Place { address: word.address + 8 + 8 * (round % 100), ..word };
        let write = Operation::write(place, round.to_be_bytes().to_vec()).fenced();
        [Operation::fetch_add(word, 3), write, Operation::read(place, 8)]
    });
    let ended = link.run(operations);
    for (round, ended) in ended.chunks(3).enumerate() {
        let read = Outcome::Read((round as u64).to_be_bytes().to_vec());
        assert_eq!(ended, [Ok(Outcome::Added(3 * round as u64)), Ok(Outcome::Written), Ok(read)]);
    }
    assert_eq!(link.run([Operation::fetch_add(word, 0)]), [Ok(Outcome::Added(3 * ROUNDS))]);
    let (lost, said) = (network.end(), server.end("TERM"));
    assert!(lost > 100, "{lost}");
    assert!(said.contains(&format!(" {} atomic operations; ", ROUNDS + 1)), "{said}");
    assert!(said.contains(&format!(" {ROUNDS} writes ({} octets)", 8 * ROUNDS)), "{said}");
    assert!(said.contains(" 0 with a wrong CRC, 0 for no queue pair"), "{said}");
}

// Input:  a server with a word of 5 is killed; an addition to it; another server starts at the same address; later no server is there.
// Output: the addition fails with "restarted", and may have been done; on a new connection the word is 0. Without a server an addition
//         fails with "transport retry counter exceeded".
#[test]
fn a_restart_is_reported_to_the_client() {
    // An address of its own, so that nobody else gets the port while no server is there.
    let first = Server::start(&["--listen", "127.0.0.78:0"]);
    let address = first.address;
    let mut link = Link::new("127.0.0.1:0", address);
    assert_eq!(link.connect(), Status::Connected);
    let add = |link: &Link| Operation::fetch_add(link.place(0), 5);
    assert_eq!(link.run([add(&link)]), [Ok(Outcome::Added(0))]);
    first.end("KILL");
    let second = Server::start(&["--listen", &address.to_string()]);
    let failed = |failure| Err(OperationError { failure, effect: Effect::Unknown });
    assert_eq!(link.run([add(&link)]), [failed(Failure::Restarted)]);
    assert_eq!(link.client.status(), Status::Failed(Failure::Restarted));
    assert_eq!(link.connect(), Status::Connected);
    assert_eq!(link.run([add(&link)]), [Ok(Outcome::Added(0))]);
    second.end("KILL");
    assert_eq!(link.run([add(&link)]), [failed(Failure::RetryExceeded)]);
}

// Input:  a table of two rows that its client describes: one was used a second before the client's time, the other one ten.
// Output: the other one becomes zero, and the server says so at its end.
#[test]
fn rows_that_nobody_uses_are_swept() {
    let server = Server::start(&["--listen", "127.0.0.1:0", "--size", "1MiB"]);
    let mut link = Link::new("127.0.0.1:0", server.address);
    assert_eq!(link.connect(), Status::Connected);
    let table = AgedTable {
        first: 0,
        buckets: 2,
        bucket: 64,
        rows: 1,
        row: 32,
        used: 8,
        changed: 32,
        first_number: 5,
        age: Span::from_secs(10),
        now: Time::from_secs(100),
    };
    let row = |used: u64| {
        [5_u64.to_be_bytes(), Time::from_secs(used).as_nanos().to_be_bytes(), [7; 8], [7; 8]].concat()
    };
    let [used, unused] = [row(99), row(90)];
    let directory = AgedTable::place(1 << 20, 0).unwrap();
    let ended = link.run([
        Operation::write(link.place(0), used.clone()),
        Operation::write(link.place(64), unused),
        Operation::write(link.place(directory), table.encode()),
    ]);
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    let begin = Instant::now();
    while link.run([Operation::read(link.place(64), 32)]) != [Ok(Outcome::Read(vec![0; 32]))] {
        assert!(begin.elapsed() < Duration::from_secs(120), "it is not swept");
    }
    assert_eq!(link.run([Operation::read(link.place(0), 32)]), [Ok(Outcome::Read(used))]);
    let said = server.end("TERM");
    assert!(said.contains("; 1 unused rows swept; "), "{said}");
}

// Input:  a few operations between a client and a server on port 4791 of the loopback interface, captured by tshark.
// Output: the CRC of each packet is right over the IP and UDP headers that the kernel wrote, and tshark reads every packet as InfiniBand, without an error of its experts.
#[test]
fn the_crc_covers_what_the_kernel_writes() {
    const NAME: &str = "causeway::memory_server::the_crc_covers_what_the_kernel_writes";
    let folder = std::env::temp_dir().join(format!("causeway-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("loopback.pcap");
    let capture = Command::new("tshark")
        .args(["-i", "lo", "-F", "pcap", "-f", "udp and host 127.0.0.77", "-w"])
        .arg(&path)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn();
    let Ok(mut capture) = capture else { return eprintln!("SKIPPED {NAME}: needs tshark") };
    let said = BufReader::new(capture.stderr.take().unwrap()).lines().map_while(Result::ok);
    if !said.into_iter().any(|line| line.contains("Capturing on")) {
        capture.wait().unwrap();
        return eprintln!("SKIPPED {NAME}: needs root (tshark does not capture)");
    }
    let server = Server::start(&["--listen", "127.0.0.77"]);
    assert_eq!(server.address.port(), 4791);
    let mut seen = Vec::new();
    // The capture begins a little after it says so.
    for round in 0.. {
        assert!(round < 300, "tshark captures nothing");
        let mut link = Link::new("127.0.0.1:0", server.address);
        assert_eq!(link.connect(), Status::Connected);
        let (place, word) = (link.place(16), link.place(0));
        let operations = [
            Operation::write(place, vec![1; 3000]),
            Operation::read(place, 3000),
            Operation::fetch_add(word, 1),
        ];
        assert!(link.run(operations).iter().all(Result::is_ok));
        std::thread::sleep(Duration::from_millis(100));
        seen = frames(&path);
        if seen.len() > 20 {
            break;
        }
    }
    let ended = Command::new("kill").args(["-INT", &capture.id().to_string()]).status().unwrap();
    assert!(ended.success());
    capture.wait().unwrap();
    server.end("TERM");
    for frame in &seen {
        let ip = Ip::parse(Ethernet::parse(frame).unwrap().payload).unwrap();
        let Ip::V4(v4) = &ip else { panic!("IPv6") };
        let udp = Udp::parse(v4.payload()).unwrap();
        let outer = Outer::of_packet(&ip, &udp).unwrap();
        assert_eq!(outer, Outer::of_socket(outer.src, outer.dst), "other headers than are assumed");
        assert!(Packet::parse(udp.payload()).unwrap().icrc_is_valid(&outer));
    }
    let fields = ["-T", "fields", "-e", "infiniband.bth.opcode", "-e", "_ws.malformed"];
    let read = |fields: &[&str]| {
        let read = Command::new("tshark").arg("-r").arg(&path).args(fields).output().unwrap();
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        String::from_utf8(read.stdout).unwrap()
    };
    let text = read(&fields);
    let opcodes: Vec<_> = text.lines().map(|line| line.trim_end_matches('\t')).collect();
    assert!(opcodes.len() >= seen.len(), "{text}");
    for opcode in ["6", "7", "8", "12", "13", "14", "15", "17", "18", "20", "100"] {
        assert!(opcodes.contains(&opcode), "{opcode}: {text}");
    }
    assert!(opcodes.iter().all(|opcode| opcode.parse::<u8>().is_ok()), "{text}");
    let errors = read(&["-Y", "_ws.expert.severity == error", "-V"]);
    assert!(errors.is_empty(), "{errors}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The frames that are in a capture so far.
fn frames(path: &std::path::Path) -> Vec<Vec<u8>> {
    let Some(mut reader) = File::open(path).ok().and_then(|file| PcapReader::new(file).ok()) else {
        return Vec::new();
    };
    std::iter::from_fn(|| Some(reader.next_packet()?.ok()?.data.into_owned())).collect()
}

// Input:  an address that is taken, more memory than there can be, and than there is; every address at once, no memory, a word as size.
// Output: 1 with the reason; 2 with what is right.
#[test]
fn what_it_cannot_do_is_said() {
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (args, code, reason) in [
        (&["--listen", &address][..], 1, "cannot listen on 127.0.0.1:"),
        (&["--listen", "127.0.0.1:0", "--size", "9000000000GiB"], 1, "there is no memory of"),
        (&["--listen", "127.0.0.1:0", "--size", "99999GiB"], 1, "octets are available, swap included"),
        (&["--listen", "0.0.0.0"], 2, "one address of this host"),
        (&["--listen", "somewhere"], 2, "an address, or an address and a port"),
        (&["--size", "0"], 2, "a number of octets above 0"),
        (&["--size", "1MB"], 2, "a number of octets above 0"),
    ] {
        let Output { status, stderr, .. } = command(args).output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(code), "{said}");
        assert!(said.contains(reason), "{said}");
    }
}
