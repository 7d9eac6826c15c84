//! Attaching and detaching of AF_XDP ports, and their sharing of receive queues.

use std::io::{Read, Write};
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use causeway_packet::{Batch, Frame};
use causeway_ports::xdp::{XdpGtpu, XdpIp, XdpOptions};
use causeway_ports::{Counter, Port};

use crate::common::xdp::{
    GNB, UPF, addresses, attached, connected_remote, exchange, gtpu, n3, native, until, with_xdp,
};
use crate::common::{Remote, ip, message, receive};

// Input:  a port that is dropped; a process with a port that is killed.
// Output: the program is detached each time, and the port can be opened again.
#[test]
fn the_program_is_detached_with_the_port_and_its_process() {
    if std::env::var_os(HOLDER).is_some() {
        return hold_port_until_killed();
    }
    with_xdp("the_program_is_detached_with_the_port_and_its_process", || {
        let _remote = connected_remote();
        let port = n3(&native());
        assert!(attached());
        drop(port);
        assert!(!attached());
        let mut holder = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "xdp_attach::the_program_is_detached_with_the_port_and_its_process",
                "--nocapture",
            ])
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
fn hold_port_until_killed() {
    let _port = n3(&native());
    std::io::stdout().write_all(b"holding\n").unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

// Input:  an interface that runs another program, one whose MTU is too large, the loopback, and a second process.
// Output: errors that state the remedy.
#[test]
fn open_errors_name_the_remedy() {
    with_xdp("open_errors_name_the_remedy", || {
        let _remote = connected_remote();
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
fn a_link_may_go_down_but_not_disappear() {
    with_xdp("a_link_may_go_down_but_not_disappear", || {
        let remote = connected_remote();
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

// Input:  the MTU of both ends is raised while the port is open; a frame that fits into a chunk, then some that do
//         not, and nothing after them; a response that is too long for a chunk, too.
// Output: the first is received; the others are counted when the counters are read, once; the response is counted;
//         the port continues.
#[test]
fn frames_beyond_a_chunk_are_counted() {
    with_xdp("frames_beyond_a_chunk_are_counted", || {
        let remote = connected_remote();
        let mut upf = n3(&native());
        ip("link set n3 mtu 3000");
        remote.run(|| ip("link set gnb mtu 3000"));
        let gnb = remote.run(|| UdpSocket::bind((GNB, 2152)).unwrap());
        for len in [1700, 1800, 2500, 2900] {
            gnb.send_to(&vec![1; len], (UPF, 2152)).unwrap();
        }
        assert_eq!(receive(&mut upf, 1)[0].1.len(), 1700);
        let end = Instant::now() + Duration::from_secs(5);
        while upf.counters().value(Counter::RxOverrun) < 3 && Instant::now() < end {
            upf.count_losses();
        }
        upf.count_losses();
        assert_eq!(upf.counters().value(Counter::RxOverrun), 3, "{:?}", upf.counters());
        let to = gtpu(UPF.into(), (GNB, 2152).into());
        let before = upf.counters().value(Counter::TxTooBig);
        assert_eq!(upf.send(&[Frame { meta: to, data: &[1; 2900] }]).unwrap(), 0);
        assert_eq!(upf.counters().value(Counter::TxTooBig), before + 1);
        drop(gnb);
        exchange(&mut upf, &remote, UPF.into(), (GNB, 2152).into());
    });
}

/// A link between interfaces with two receive queues each.
fn connected_two_queues() -> Remote {
    let remote = Remote::new();
    let thread = remote.thread();
    ip("link add n3 numrxqueues 2 numtxqueues 2 type veth peer name gnb numrxqueues 2 numtxqueues 2");
    ip(&format!("link set gnb netns {thread}"));
    crate::common::set_up("n3", &["192.0.2.1/24", "2001:db8::1/64"]);
    remote.run(|| crate::common::set_up("gnb", &["192.0.2.9/24", "2001:db8::9/64"]));
    remote
}

/// Sends a datagram from each of several ports. Returns their number.
fn send_from_many(remote: &Remote) -> usize {
    let ports = 3000..3064_u16;
    let count = ports.len();
    remote.run(move || {
        for port in ports {
            let socket = UdpSocket::bind((GNB, port)).unwrap();
            socket.send_to(&port.to_be_bytes(), (UPF, 2152)).unwrap();
        }
    });
    count
}

// Input:  an interface with two receive queues.
// Output: the port has both, and receives frames however the kernel spreads them.
#[test]
fn every_receive_queue_has_a_socket() {
    with_xdp("every_receive_queue_has_a_socket", || {
        let remote = connected_two_queues();
        let mut upf = n3(&native());
        assert!(upf.description().starts_with("2 queues, native"), "{}", upf.description());
        let sent = send_from_many(&remote);
        assert_eq!(receive(&mut upf, sent).len(), sent);
    });
}

// Input:  the same with a port for each queue; then the first port is dropped, and the second.
// Output: together they receive every frame, each sends responses, and the program is detached with the last.
#[test]
fn each_queue_can_be_a_port() {
    with_xdp("each_queue_can_be_a_port", || {
        let remote = connected_two_queues();
        let names = |count: usize| (0..count).map(|n| format!("n3.{n}")).collect::<Vec<_>>();
        let error = message(XdpGtpu::open_each(&names(3), &addresses(), &native()));
        assert!(error.starts_with("3 packet threads need as many receive queues, and "), "{error}");
        let mut ports = XdpGtpu::open_each(&names(2), &addresses(), &native()).unwrap();
        assert_eq!(ports.iter().map(|port| port.name().to_owned()).collect::<Vec<_>>(), names(2));
        let sent = send_from_many(&remote);
        let (mut seen, end) = (0, Instant::now() + Duration::from_secs(2));
        while seen < sent && Instant::now() < end {
            for port in &mut ports {
                seen += port.receive(&mut Batch::new()).unwrap();
            }
        }
        assert_eq!(seen, sent);
        let gnb = remote.run(|| UdpSocket::bind((GNB, 2152)).unwrap());
        gnb.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        for port in &mut ports {
            let frame = Frame { meta: gtpu(UPF.into(), (GNB, 2152).into()), data: b"down" };
            assert_eq!(port.send(&[frame]).unwrap(), 1);
            until(port, Counter::Tx, 1);
            assert_eq!(gnb.recv(&mut [0; 10]).unwrap(), 4);
        }
        ports.pop();
        assert!(attached());
        ports.pop();
        assert!(!attached());
    });
}
