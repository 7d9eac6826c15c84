//! AF_XDP ports on one end of a veth pair; the other end is in a namespace of its own.

mod common;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::xdp::{XdpGtpu, XdpIp, XdpOptions};
use causeway_ports::{Batch, Counter, Frame, Meta, Port, wait};
use common::{RawSocket, Remote, checksum, in_namespace, ip, message, receive, run, udp4, udp6};

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);

fn gtpu(local: IpAddr, peer: SocketAddr) -> Meta {
    Meta::Gtpu { local, peer, tos: 0xb8 }
}

fn connected() -> Remote {
    let remote = Remote::new();
    remote.connect(("n3", &["192.0.2.1/24", "2001:db8::1/64"]), ("gnb", &["192.0.2.9/24", "2001:db8::9/64"]));
    remote
}

fn addresses() -> [IpAddr; 2] {
    [UPF.into(), "2001:db8::1".parse().unwrap()]
}

fn n3(options: &XdpOptions) -> XdpGtpu {
    XdpGtpu::open("n3", &addresses(), options).unwrap()
}

fn native() -> XdpOptions {
    XdpOptions::on("n3")
}

fn generic() -> XdpOptions {
    XdpOptions { native: false, ..native() }
}

/// Runs the test in a namespace if AF_XDP sockets and programs can be had here.
fn with_xdp(name: &'static str, test: impl FnOnce() + Send + 'static) {
    in_namespace(name, move || {
        let _remote = connected();
        match XdpGtpu::open("n3", &addresses(), &native()) {
            Ok(port) => drop(port),
            Err(error) => return eprintln!("SKIPPED {name}: needs AF_XDP: {error}"),
        }
        ip("link delete n3");
        test();
    });
}

/// Lets the port work until the counter has the value, or six seconds are over.
fn until(port: &mut dyn Port, counter: Counter, value: u64) {
    let end = Instant::now() + Duration::from_secs(6);
    while port.counters().value(counter) < value {
        assert!(Instant::now() < end, "{}: {:?}", counter.name(), port.counters());
        wait([&*port], None, Some(Duration::from_millis(50))).unwrap();
        port.receive(&mut Batch::new()).unwrap();
    }
}

/// Exchanges a datagram each way between the port and a GTP-U socket of the kernel at the other end.
fn exchange(upf: &mut XdpGtpu, remote: &Remote, ours: IpAddr, theirs: SocketAddr) {
    let mut gnb = remote.run(move || UdpPort::bind("gnb", theirs, &UdpOptions::default()).unwrap());
    let ours = SocketAddr::new(ours, 2152);
    let before = upf.counters().value(Counter::Tx);
    let down = Frame { meta: gtpu(ours.ip(), theirs), data: b"downlink" };
    assert_eq!(upf.send(&[down]).unwrap(), 1);
    until(upf, Counter::Tx, before + 1);
    assert_eq!(receive(&mut gnb, 1), [(gtpu(theirs.ip(), ours), b"downlink".to_vec())]);
    let up = Frame { meta: gtpu(theirs.ip(), ours), data: b"uplink" };
    assert_eq!(gnb.send(&[up]).unwrap(), 1);
    assert_eq!(receive(upf, 1), [(gtpu(ours.ip(), theirs), b"uplink".to_vec())]);
}

fn ping(destination: &str) {
    run("ping", &format!("-c 1 -W 2 {destination}"));
}

/// An XDP program is on the interface n3.
fn attached() -> bool {
    let output = Command::new("ip").args(["link", "show", "dev", "n3"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).contains("xdp")
}

// Input:  in native and in generic mode, over IPv4 and IPv6: the first packet to a gNB whose Ethernet address nobody
//         knows yet, and an answer whose UDP checksum was left to hardware that is not there.
// Output: both arrive with addresses and marking; the description says what was chosen.
#[test]
fn gtpu_crosses_both_ways() {
    with_xdp("gtpu_crosses_both_ways", || {
        for (options, how) in [
            (native(), "1 queue, native, copy mode: the driver has no zero copy"),
            (generic(), "1 queue, generic, copy mode, as configured"),
        ] {
            let remote = connected();
            let mut upf = n3(&options);
            assert_eq!(upf.description(), how);
            exchange(&mut upf, &remote, UPF.into(), (GNB, 2152).into());
            let [ours, theirs] = ["2001:db8::1", "2001:db8::9"].map(|ip| ip.parse::<IpAddr>().unwrap());
            exchange(&mut upf, &remote, ours, SocketAddr::new(theirs, 2152));
            drop(upf);
            ip("link delete n3");
        }
    });
}

// Input:  while the port is open: ping both ways over both families, a datagram for another port, a TCP connection.
// Output: the kernel has all of them, and the port none.
#[test]
fn what_is_not_ours_reaches_the_kernel() {
    with_xdp("what_is_not_ours_reaches_the_kernel", || {
        let remote = connected();
        let mut upf = n3(&native());
        ping("192.0.2.9");
        ping("2001:db8::9");
        remote.run(|| {
            ping("192.0.2.1");
            ping("2001:db8::1");
        });
        let n4 = UdpSocket::bind((UPF, 8805)).unwrap();
        n4.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let tcp = std::net::TcpListener::bind((UPF, 9090)).unwrap();
        remote.run(|| {
            UdpSocket::bind((GNB, 0)).unwrap().send_to(b"n4", (UPF, 8805)).unwrap();
            std::net::TcpStream::connect((UPF, 9090)).unwrap();
        });
        assert_eq!(n4.recv(&mut [0; 10]).unwrap(), 2);
        tcp.accept().unwrap();
        assert_eq!(upf.receive(&mut Batch::new()).unwrap(), 0);
        assert!(upf.counters().iter().all(|(_, value)| value == 0), "{:?}", upf.counters());
    });
}

// Input:  GTP-U in a VLAN of its own, in two fragments, with IP options, behind an extension header, and plain.
// Output: the port has all but the one in the VLAN: the plain one by its socket, the others by way of the kernel.
#[test]
fn what_the_program_does_not_look_into_comes_by_way_of_the_kernel() {
    with_xdp("what_the_program_does_not_look_into_comes_by_way_of_the_kernel", || {
        let remote = connected();
        let mut upf = n3(&native());
        let mac = mac_of_n3();
        let frame =
            |kind: [u8; 2], packet: &[u8]| [&mac, [2, 0, 0, 0, 0, 9].as_slice(), &kind, packet].concat();
        let datagram = |payload: &[u8]| udp4((GNB, 2152), (UPF, 2152), payload);
        let whole = datagram(b"in two pieces");
        let mut pieces = [whole[..28].to_vec(), [&whole[..20], &whole[28..]].concat()];
        pieces[0][6..8].copy_from_slice(&[0x20, 0]);
        pieces[1][6..8].copy_from_slice(&[0, 1]);
        pieces.iter_mut().for_each(|piece| {
            let len = piece.len() as u16;
            piece[2..4].copy_from_slice(&len.to_be_bytes());
            let sum = checksum(&[&piece[..10], &[0, 0], &piece[12..20]]);
            piece[10..12].copy_from_slice(&sum.to_be_bytes());
        });
        let plain = datagram(b"options");
        let mut options = [&plain[..20], &[1, 1, 1, 0], &plain[20..]].concat();
        (options[0], options[3]) = (0x46, options[3] + 4);
        let sum = checksum(&[&options[..10], &[0, 0], &options[12..24]]);
        options[10..12].copy_from_slice(&sum.to_be_bytes());
        let [from, to] = ["2001:db8::9", "2001:db8::1"].map(|ip| (ip.parse().unwrap(), 2152));
        let v6 = udp6(from, to, b"extension");
        let mut extended = [&v6[..40], &[17, 0, 1, 4, 0, 0, 0, 0], &v6[40..]].concat();
        (extended[5], extended[6]) = (extended[5] + 8, 60);
        let frames = [
            frame([0x81, 0], &[&[0, 5, 8, 0], datagram(b"vlan").as_slice()].concat()),
            frame([8, 0], &pieces[0]),
            frame([8, 0], &pieces[1]),
            frame([8, 0], &options),
            frame([0x86, 0xdd], &extended),
            frame([8, 0], &datagram(b"plain")),
        ];
        remote.run(move || {
            let raw = RawSocket::open("gnb");
            frames.iter().for_each(|frame| raw.send(frame));
        });
        let mut seen: Vec<_> = receive(&mut upf, 4).into_iter().map(|(_, data)| data).collect();
        seen.sort();
        let expected = ["extension", "in two pieces", "options", "plain"];
        assert_eq!(seen, expected.map(|text| text.as_bytes().to_vec()));
        assert_eq!((upf.receive(&mut Batch::new()).unwrap(), upf.counters().value(Counter::Rx)), (0, 4));
    });
}

fn mac_of_n3() -> [u8; 6] {
    causeway_ports::netlink::Netlink::open().unwrap().link("n3").unwrap().unwrap().mac.unwrap().0
}

// Input:  a datagram from the data network to a UE, whose checksum was left to hardware; the answer; a ping to us.
// Output: the port has the packet with a right checksum; the kernel at the other end takes the answer; we answer.
#[test]
fn ip_packets_cross_n6() {
    with_xdp("ip_packets_cross_n6", || {
        for options in [native(), generic()] {
            let remote = connected();
            remote.run(|| ip("route add 10.45.0.0/16 via 192.0.2.1"));
            let mut upf = XdpIp::open("n6", &["10.45.0.0/16".parse().unwrap()], &options).unwrap();
            let server = remote.run(|| UdpSocket::bind((GNB, 9)).unwrap());
            server.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            server.send_to(b"down", (UE, 5000)).unwrap();
            let seen = receive(&mut upf, 1);
            let packet = &seen[0].1;
            assert_eq!((seen[0].0, packet.len(), &packet[16..20]), (Meta::Ip, 32, UE.octets().as_slice()));
            assert_eq!(checksum(&[&packet[12..20], &[0, 17, 0, 12], &packet[20..]]), 0);
            let answer = udp4((UE, 5000), (GNB, 9), b"up");
            assert_eq!(upf.send(&[Frame { meta: Meta::Ip, data: &answer }]).unwrap(), 1);
            until(&mut upf, Counter::Tx, 1);
            assert_eq!(server.recv_from(&mut [0; 10]).unwrap(), (2, (UE, 5000).into()));
            remote.run(|| ping("192.0.2.1"));
            drop(upf);
            ip("link delete n3");
        }
    });
}

// Input:  three times more datagrams than the rings hold, while nobody takes them; then one more.
// Output: what fits is received, the rest is counted, and the last one is received.
#[test]
fn a_burst_larger_than_the_rings_is_counted() {
    with_xdp("a_burst_larger_than_the_rings_is_counted", || {
        let remote = connected();
        let mut upf = n3(&XdpOptions { ring: 64, ..native() });
        let gnb = remote.run(|| UdpSocket::bind((GNB, 2152)).unwrap());
        // Fewer than the 256 that wait between the ends of a veth pair.
        for _ in 0..200 {
            gnb.send_to(b"burst", (UPF, 2152)).unwrap();
        }
        let end = Instant::now() + Duration::from_secs(5);
        let value = |upf: &XdpGtpu, counter| upf.counters().value(counter);
        while value(&upf, Counter::Rx) + value(&upf, Counter::RxOverrun) < 200 && Instant::now() < end {
            upf.receive(&mut Batch::new()).unwrap();
        }
        assert_eq!(value(&upf, Counter::Rx) + value(&upf, Counter::RxOverrun), 200, "{:?}", upf.counters());
        assert!(value(&upf, Counter::Rx) >= 64 && value(&upf, Counter::RxOverrun) > 0);
        gnb.send_to(b"last", (UPF, 2152)).unwrap();
        assert_eq!(receive(&mut upf, 1)[0].1, b"last");
    });
}

// Input:  a thousand batches back and forth, more than all rings hold, at the speed of the receiver.
// Output: every frame arrives, in order: chunks go round and none is lost.
#[test]
fn chunks_go_round() {
    with_xdp("chunks_go_round", || {
        let remote = connected();
        let mut upf = n3(&XdpOptions { ring: 64, ..native() });
        exchange(&mut upf, &remote, UPF.into(), (GNB, 2152).into());
        let gnb = remote.run(|| UdpSocket::bind((GNB, 2152)).unwrap());
        gnb.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let (mut batch, mut octets) = (Batch::new(), [0; 64]);
        for round in 0..1000_u32 {
            for n in 0..16_u32 {
                gnb.send_to(&(round << 8 | n).to_be_bytes(), (UPF, 2152)).unwrap();
            }
            let mut echoed = 0;
            while echoed < 16 {
                wait([&upf as &dyn Port], None, Some(Duration::from_secs(2))).unwrap();
                let seen = upf.receive(&mut batch).unwrap();
                assert!(seen > 0, "{round}: {:?}", upf.counters());
                echoed += upf.send(&batch.as_frames()).unwrap();
            }
            for n in 0..16_u32 {
                let len = gnb.recv(&mut octets).unwrap();
                assert_eq!(octets[..len], (round << 8 | n).to_be_bytes());
            }
        }
    });
}

// Input:  a port that is dropped; a process with a port that is killed.
// Output: the program is off the interface each time, and the port can be opened again.
#[test]
fn the_program_goes_with_the_port_and_with_its_process() {
    if std::env::var_os(HOLDER).is_some() {
        return hold();
    }
    with_xdp("the_program_goes_with_the_port_and_with_its_process", || {
        let _remote = connected();
        let port = n3(&native());
        assert!(attached());
        drop(port);
        assert!(!attached());
        let mut holder = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_program_goes_with_the_port_and_with_its_process", "--nocapture"])
            .env(HOLDER, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut seen = Vec::new();
        let mut out = holder.stdout.take().unwrap();
        while !seen.ends_with(b"holding\n") {
            let mut octet = [0];
            assert_eq!(out.read(&mut octet).unwrap(), 1, "{}", String::from_utf8_lossy(&seen));
            seen.push(octet[0]);
        }
        assert!(attached());
        holder.kill().unwrap();
        holder.wait().unwrap();
        let end = Instant::now() + Duration::from_secs(5);
        while attached() {
            assert!(Instant::now() < end, "the program is still there");
            std::thread::sleep(Duration::from_millis(10));
        }
        n3(&native());
    });
}

/// Set for the process that is killed.
const HOLDER: &str = "CAUSEWAY_TEST_HOLDS_XDP";

/// Opens the port in the namespace of the parent and waits to be killed.
fn hold() {
    let _port = n3(&native());
    std::io::stdout().write_all(b"holding\n").unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

// Input:  an interface that runs another program, one whose MTU is too large, the loopback, and a second process.
// Output: errors that say what to do.
#[test]
fn what_cannot_be_opened_says_what_to_do() {
    with_xdp("what_cannot_be_opened_says_what_to_do", || {
        let _remote = connected();
        let port = XdpIp::open("n6", &["10.45.0.0/16".parse().unwrap()], &native()).unwrap();
        let busy = message(XdpGtpu::open("n3", &addresses(), &native()));
        assert!(busy.contains("ip link set dev n3 xdp off"), "{busy}");
        drop(port);
        let lo = message(XdpGtpu::open("n3", &[], &XdpOptions::on("lo")));
        assert!(lo.contains("lo is not Ethernet"), "{lo}");
        ip("link set n3 mtu 9000");
        let large = message(XdpGtpu::open("n3", &addresses(), &native()));
        assert!(large.contains("ip link set n3 mtu 3826"), "{large}");
    });
}

// Input:  the link goes down and up again; then the interface is deleted.
// Output: frames are counted and the port recovers; then an error names it.
#[test]
fn a_link_may_go_down_but_not_away() {
    with_xdp("a_link_may_go_down_but_not_away", || {
        let remote = connected();
        let mut upf = n3(&native());
        exchange(&mut upf, &remote, UPF.into(), (GNB, 2152).into());
        ip("link set n3 down");
        let frame = Frame { meta: gtpu(UPF.into(), (GNB, 2152).into()), data: b"x" };
        assert_eq!(upf.send(&[frame]).unwrap(), 0);
        assert_eq!(upf.counters().value(Counter::TxLinkDown), 1);
        ip("link set n3 up");
        exchange(&mut upf, &remote, UPF.into(), (GNB, 2152).into());
        ip("link delete n3");
        let lost = message(upf.receive(&mut Batch::new()));
        assert!(lost.contains("port n3 is lost"), "{lost}");
    });
}

// Input:  an interface with two receive queues.
// Output: the port has both, and frames come in whichever way the kernel spreads them.
#[test]
fn every_receive_queue_has_a_socket() {
    with_xdp("every_receive_queue_has_a_socket", || {
        let remote = Remote::new();
        let thread = remote.thread();
        ip("link add n3 numrxqueues 2 numtxqueues 2 type veth peer name gnb numrxqueues 2 numtxqueues 2");
        ip(&format!("link set gnb netns {thread}"));
        common::set_up("n3", &["192.0.2.1/24", "2001:db8::1/64"]);
        remote.run(|| common::set_up("gnb", &["192.0.2.9/24", "2001:db8::9/64"]));
        let mut upf = n3(&native());
        assert!(upf.description().starts_with("2 queues, native"), "{}", upf.description());
        let sent = remote.run(|| {
            let send = |port: u16| {
                let socket = UdpSocket::bind((GNB, port)).unwrap();
                socket.send_to(&port.to_be_bytes(), (UPF, 2152)).unwrap();
            };
            (3000..3064).for_each(send);
            64
        });
        assert_eq!(receive(&mut upf, sent).len(), sent);
    });
}
