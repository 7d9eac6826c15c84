//! Ethernet ports on one end of a veth pair; the other end is in a namespace of its own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::num::NonZeroU8;
use std::time::{Duration, Instant};

use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::netlink::Netlink;
use causeway_ports::tpacket::{EthernetGtpu, EthernetIp, EthernetOptions};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::{Counter, Port, wait};

use crate::common::{RawSocket, Remote, checksum, in_namespace, ip, message, receive, udp4, wait_up};

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);

fn gtpu(local: IpAddr, peer: SocketAddr) -> Meta {
    Meta::Gtpu { local, peer, tos: 0xb8, hops: NonZeroU8::new(64) }
}

fn connected_remote() -> Remote {
    let remote = Remote::new();
    remote.connect(("n3", &["192.0.2.1/24", "2001:db8::1/64"]), ("gnb", &["192.0.2.9/24", "2001:db8::9/64"]));
    remote
}

fn n3() -> EthernetGtpu {
    let addresses = [UPF.into(), "2001:db8::1".parse().unwrap()];
    EthernetGtpu::open("n3", &addresses, &EthernetOptions::on("n3")).unwrap()
}

fn n6() -> EthernetIp {
    EthernetIp::open("n6", &EthernetOptions::on("n3")).unwrap()
}

/// Runs the port until the counter has the value, or for six seconds.
fn until(port: &mut dyn Port, counter: Counter, value: u64) {
    let end = Instant::now() + Duration::from_secs(6);
    while port.counters().value(counter) < value {
        assert!(Instant::now() < end, "{}: {:?}", counter.name(), port.counters());
        wait([&*port], None, Some(Duration::from_millis(50))).unwrap();
        port.receive(&mut Batch::new()).unwrap();
    }
}

/// Exchanges a datagram each way between the port and a GTP-U socket of the kernel at the other end.
fn exchange(upf: &mut EthernetGtpu, remote: &Remote, ours: IpAddr, theirs: SocketAddr) {
    let mut gnb = remote.run(move || UdpPort::bind("gnb", theirs, &UdpOptions::default()).unwrap());
    let ours = SocketAddr::new(ours, 2152);
    let down = Frame { meta: gtpu(ours.ip(), theirs), data: b"downlink" };
    // On a busy host the kernel at the other end may answer no solicitation in time: then the packet is sent again,
    // and is not queued before a second after the last request.
    let end = Instant::now() + Duration::from_secs(6);
    let mut before = None;
    while upf.counters().value(Counter::Tx) == 0 {
        assert!(Instant::now() < end, "{:?}", upf.counters());
        let unresolved = upf.counters().value(Counter::NeighbourUnresolved);
        let is_first = before.is_none();
        if before.replace(unresolved) != Some(unresolved) {
            assert!(upf.send(&[down]).unwrap() == 1 || !is_first);
        }
        wait([&*upf as &dyn Port], None, Some(Duration::from_millis(50))).unwrap();
        upf.receive(&mut Batch::new()).unwrap();
    }
    assert_eq!(receive(&mut gnb, 1), [(gtpu(theirs.ip(), ours), b"downlink".to_vec())]);
    let up = Frame { meta: gtpu(theirs.ip(), ours), data: b"uplink" };
    assert_eq!(gnb.send(&[up]).unwrap(), 1);
    assert_eq!(receive(upf, 1), [(gtpu(ours.ip(), theirs), b"uplink".to_vec())]);
}

// Input:  the first packet to a gNB whose Ethernet address is unknown, and a response, over IPv4.
// Output: the kernel resolves the neighbour, the packet follows, the response arrives; addresses and marking are
//         right.
#[test]
fn gtpu_crosses_over_ipv4() {
    in_namespace("gtpu_crosses_over_ipv4", || {
        let remote = connected_remote();
        exchange(&mut n3(), &remote, UPF.into(), (GNB, 2152).into());
    });
}

// Input:  the same over IPv6.
// Output: the same; the kernel at the other end accepts the UDP checksum.
#[test]
fn gtpu_crosses_over_ipv6() {
    in_namespace("gtpu_crosses_over_ipv6", || {
        let remote = connected_remote();
        let [ours, theirs] = ["2001:db8::1", "2001:db8::9"].map(|ip| ip.parse::<IpAddr>().unwrap());
        exchange(&mut n3(), &remote, ours, SocketAddr::new(theirs, 2152));
    });
}

// Input:  a gNB behind a gateway; then the route is removed.
// Output: its packets are sent to the gateway; then they are counted as without route.
#[test]
fn the_gateway_is_used_and_a_removed_route_is_noticed() {
    in_namespace("the_gateway_is_used_and_a_removed_route_is_noticed", || {
        let remote = connected_remote();
        let far = Ipv4Addr::new(198, 51, 100, 1);
        remote.run(move || ip("address add 198.51.100.1/32 dev lo"));
        ip("route add 198.51.100.0/24 via 192.0.2.9");
        let mut upf = n3();
        exchange(&mut upf, &remote, UPF.into(), (far, 2152).into());
        ip("route del 198.51.100.0/24");
        let frame = Frame { meta: gtpu(UPF.into(), (far, 2152).into()), data: b"x" };
        assert_eq!(upf.send(&[frame]).unwrap(), 0);
        assert_eq!(upf.counters().value(Counter::TxNoRoute), 1);
    });
}

// Input:  a packet to an unused address, then one to a reachable gNB.
// Output: the second arrives immediately; the first is counted as unresolved after the kernel's timeout.
#[test]
fn an_unreachable_neighbour_is_counted_and_blocks_no_other() {
    in_namespace("an_unreachable_neighbour_is_counted_and_blocks_no_other", || {
        let remote = connected_remote();
        std::fs::write("/proc/sys/net/ipv4/neigh/n3/retrans_time_ms", "100").unwrap();
        let mut upf = n3();
        let lost = Frame { meta: gtpu(UPF.into(), "192.0.2.77:2152".parse().unwrap()), data: b"lost" };
        assert_eq!(upf.send(&[lost]).unwrap(), 1);
        exchange(&mut upf, &remote, UPF.into(), (GNB, 2152).into());
        until(&mut upf, Counter::NeighbourUnresolved, 1);
        assert_eq!(upf.counters().value(Counter::Tx), 1);
    });
}

// Input:  100 packets to an unused address, 1,000 to another one, then one to a reachable gNB.
// Output: 64 packets of each unused address are queued; the gNB's packet is, too, and arrives.
#[test]
fn a_dead_neighbour_leaves_the_queue_to_others() {
    in_namespace("a_dead_neighbour_leaves_the_queue_to_others", || {
        let remote = connected_remote();
        std::fs::write("/proc/sys/net/ipv4/neigh/n3/retrans_time_ms", "60000").unwrap();
        let mut upf = n3();
        for (last, count) in [(77, 100), (78, 1000)] {
            let peer = SocketAddr::from((Ipv4Addr::new(192, 0, 2, last), 2152));
            let lost = Frame { meta: gtpu(UPF.into(), peer), data: b"lost" };
            let queued: usize = (0..count).map(|_| upf.send(&[lost]).unwrap()).sum();
            assert_eq!(queued, 64);
        }
        exchange(&mut upf, &remote, UPF.into(), (GNB, 2152).into());
    });
}

// Input:  datagrams from a connected socket of a gNB, while the port is open.
// Output: the kernel below the port does not answer "port unreachable".
#[test]
fn the_kernel_sends_no_port_unreachable() {
    in_namespace("the_kernel_sends_no_port_unreachable", || {
        let remote = connected_remote();
        let mut upf = n3();
        let gnb = remote.run(|| UdpSocket::bind((GNB, 2152)).unwrap());
        gnb.connect((UPF, 2152)).unwrap();
        gnb.send(b"one").unwrap();
        assert_eq!(receive(&mut upf, 1).len(), 1);
        std::thread::sleep(Duration::from_millis(50));
        gnb.send(b"two").unwrap();
        gnb.set_nonblocking(true).unwrap();
        assert_eq!(gnb.recv(&mut [0; 10]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        let taken = message(UdpPort::bind("other", (UPF, 2152).into(), &UdpOptions::default()));
        assert!(taken.contains("another GTP-U process"), "{taken}");
    });
}

// Input:  frames that cannot be sent: wrong kind, foreign source, mixed families, above the MTU.
// Output: each in its own counter.
#[test]
fn each_failure_has_its_counter() {
    in_namespace("each_failure_has_its_counter", || {
        let _remote = connected_remote();
        let mut upf = n3();
        let gnb = SocketAddr::from((GNB, 2152));
        let frames = [
            Frame { meta: Meta::Ip, data: b"ip" },
            Frame { meta: gtpu(UE.into(), gnb), data: b"x" },
            Frame { meta: gtpu("2001:db8::1".parse().unwrap(), gnb), data: b"x" },
            Frame { meta: gtpu(UPF.into(), gnb), data: &[0; 1473] },
            Frame { meta: gtpu(UPF.into(), gnb), data: &[0; 65535] },
        ];
        assert_eq!(upf.send(&frames).unwrap(), 0);
        let value = |counter| upf.counters().value(counter);
        assert_eq!(
            (value(Counter::TxWrongKind), value(Counter::TxBadSource), value(Counter::TxTooBig)),
            (1, 2, 2)
        );
    });
}

// Input:  a datagram from the data network to a UE, whose checksum was left to hardware; and the response.
// Output: the port receives the packet with a right checksum; the kernel at the other end accepts the response.
#[test]
fn ip_packets_cross_n6() {
    in_namespace("ip_packets_cross_n6", || {
        let remote = connected_remote();
        remote.run(|| ip("route add 10.45.0.0/16 via 192.0.2.1"));
        let mut upf = n6();
        let server = remote.run(|| UdpSocket::bind((GNB, 9)).unwrap());
        server.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        server.send_to(b"down", (UE, 5000)).unwrap();
        let seen = receive(&mut upf, 1);
        let packet = &seen[0].1;
        assert_eq!((packet.len(), &packet[16..20]), (32, UE.octets().as_slice()));
        assert_eq!(checksum(&[&packet[12..20], &[0, 17, 0, 12], &packet[20..]]), 0);
        let answer = udp4((UE, 5000), (GNB, 9), b"up");
        assert_eq!(upf.send(&[Frame { meta: Meta::Ip, data: &answer }]).unwrap(), 1);
        until(&mut upf, Counter::Tx, 1);
        let (len, from) = server.recv_from(&mut [0; 10]).unwrap();
        assert_eq!((len, from), (2, (UE, 5000).into()));
        assert_eq!(upf.send(&[Frame { meta: Meta::Ip, data: b"no packet" }]).unwrap(), 0);
        assert_eq!(upf.counters().value(Counter::TxWrongKind), 1);
    });
}

// Input:  a datagram for the UPF's own address on N6.
// Output: a socket of the kernel receives it, the port counts it as `rx_not_for_us`.
#[test]
fn packets_for_this_host_stay_with_the_kernel() {
    in_namespace("packets_for_this_host_stay_with_the_kernel", || {
        let remote = connected_remote();
        let mut upf = n6();
        let here = UdpSocket::bind((UPF, 8805)).unwrap();
        here.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let there = remote.run(|| UdpSocket::bind((GNB, 0)).unwrap());
        there.send_to(b"n4", (UPF, 8805)).unwrap();
        assert_eq!(here.recv(&mut [0; 10]).unwrap(), 2);
        until(&mut upf, Counter::RxNotForUs, 1);
        assert_eq!(upf.counters().value(Counter::Rx), 0);
    });
}

// Input:  two thousand frames of random octets, half of them after a valid Ethernet header, to both kinds of port.
// Output: every one is in exactly one counter of each port.
#[test]
fn every_frame_ends_in_exactly_one_counter() {
    in_namespace("every_frame_ends_in_exactly_one_counter", || {
        let remote = Remote::new();
        remote.connect(("n3", &["192.0.2.1/24", "2001:db8::1/64"]), ("gnb", &[]));
        let quiet = |port: &mut dyn Port| {
            std::thread::sleep(Duration::from_millis(100));
            while port.receive(&mut Batch::new()).unwrap() > 0 {}
            total(port)
        };
        remote.run(|| std::fs::write("/proc/sys/net/ipv6/conf/gnb/disable_ipv6", "1").unwrap());
        let mac = Netlink::open().unwrap().link("n3").unwrap().unwrap().mac.unwrap().0;
        let (mut gtpu, mut plain) = (n3(), n6());
        let before = (quiet(&mut gtpu), quiet(&mut plain));
        remote.run(move || {
            let raw = RawSocket::open("gnb");
            let mut seed = 1_u64;
            for n in 0..2000_usize {
                let mut frame: Vec<u8> = (0..14 + n % 200).map(|_| random(&mut seed)).collect();
                if n % 2 == 0 {
                    frame[..6].copy_from_slice(&mac);
                    frame[12..14].copy_from_slice(if n % 4 == 0 { &[8, 0] } else { &[0x86, 0xdd] });
                    frame.extend(udp4((GNB, 2152), (UPF, 2152), &[random(&mut seed)]));
                }
                raw.send(&frame);
            }
        });
        for (port, before) in [(&mut gtpu as &mut dyn Port, before.0), (&mut plain, before.1)] {
            let end = Instant::now() + Duration::from_secs(3);
            while total(port) < before + 2000 && Instant::now() < end {
                wait([&*port], None, Some(Duration::from_millis(20))).unwrap();
                port.receive(&mut Batch::new()).unwrap();
            }
            std::thread::sleep(Duration::from_millis(50));
            port.receive(&mut Batch::new()).unwrap();
            assert_eq!(total(port), before + 2000, "{:?}", port.counters());
        }
    });
}

/// All received frames, by any counter.
fn total(port: &dyn Port) -> u64 {
    let frames = port.counters().iter().filter(|(counter, _)| *counter != Counter::RxOctets);
    frames.filter(|(counter, _)| counter.name().starts_with("rx")).map(|(_, value)| value).sum()
}

fn random(seed: &mut u64) -> u8 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*seed >> 33) as u8
}

// Input:  the link goes down and up again; then the interface is deleted.
// Output: frames are counted and the port recovers; then an error names it.
#[test]
fn a_link_may_go_down_but_not_disappear() {
    in_namespace("a_link_may_go_down_but_not_disappear", || {
        let remote = connected_remote();
        let mut upf = n3();
        exchange(&mut upf, &remote, UPF.into(), (GNB, 2152).into());
        ip("link set n3 down");
        let frame = Frame { meta: gtpu(UPF.into(), (GNB, 2152).into()), data: b"x" };
        assert_eq!(upf.send(&[frame]).unwrap(), 0);
        upf.receive(&mut Batch::new()).unwrap();
        ip("link set n3 up");
        wait_up("n3");
        assert_eq!(upf.send(&[frame]).unwrap(), 1);
        until(&mut upf, Counter::Tx, 2);
        ip("link delete n3");
        let lost = message(upf.receive(&mut Batch::new()));
        assert!(lost.contains("port n3 is lost"), "{lost}");
    });
}

// Input:  an interface that does not exist, the loopback, an interface whose packets the kernel forwards.
// Output: errors that state the remedy.
#[test]
fn open_errors_name_the_remedy() {
    in_namespace("open_errors_name_the_remedy", || {
        let missing = message(EthernetIp::open("n6", &EthernetOptions::on("n6")));
        assert!(missing.contains("interface n6 does not exist"), "{missing}");
        let loopback = message(EthernetIp::open("n6", &EthernetOptions::on("lo")));
        assert!(loopback.contains("lo is not Ethernet"), "{loopback}");
        let _remote = connected_remote();
        std::fs::write("/proc/sys/net/ipv4/conf/n3/forwarding", "1").unwrap();
        let forwards = message(EthernetIp::open("n6", &EthernetOptions::on("n3")));
        assert!(forwards.contains("net.ipv4.conf.n3.forwarding=0"), "{forwards}");
        let options = EthernetOptions { allow_kernel_forwarding: true, ..EthernetOptions::on("n3") };
        assert!(EthernetIp::open("n6", &options).is_ok());
    });
}
