//! TAP devices in a network namespace of their own.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use causeway_packet::{Batch, EtherType, Ethernet, Frame, MacAddr, Meta, VlanTag};
use causeway_ports::netlink::Netlink;
use causeway_ports::tap::{TapOptions, TapPort};
use causeway_ports::{Counter, Port, wait};

use crate::common::{Remote, in_namespace, ip, message, udp4};

const UE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
const HOST: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 9);
const UE_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x0a]);

fn options() -> TapOptions {
    TapOptions { device: "n6e".into(), bridge: None, mtu: Some(1400) }
}

fn open() -> TapPort {
    TapPort::open("lan", &options()).unwrap()
}

fn frame(dst: MacAddr, ether_type: EtherType, tags: [Option<VlanTag>; 2], payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let frame = Ethernet { dst, src: UE_MAC, tags, ether_type: Some(ether_type), payload };
    frame.write(&mut bytes).unwrap();
    bytes
}

fn send(port: &mut TapPort, data: &[u8]) -> usize {
    port.send(&[Frame { meta: Meta::Ethernet, data }]).unwrap()
}

/// The first frame of a kind that arrives; others, such as announcements of the kernel, are skipped.
fn next(port: &mut TapPort, wanted: impl Fn(&Ethernet<'_>) -> bool) -> Vec<u8> {
    let end = Instant::now() + Duration::from_secs(5);
    let mut batch = Batch::new();
    while Instant::now() < end {
        wait([&*port as &dyn Port], None, Some(Duration::from_secs(1))).unwrap();
        port.receive(&mut batch).unwrap();
        for seen in batch.frames() {
            assert_eq!(seen.meta, Meta::Ethernet);
            if Ethernet::parse(seen.data).is_ok_and(|frame| wanted(&frame)) {
                return seen.data.to_vec();
            }
        }
    }
    panic!("no such frame in time");
}

fn arp(from: Ipv4Addr, about: Ipv4Addr) -> Vec<u8> {
    let mut packet = vec![0, 1, 8, 0, 6, 4, 0, 1];
    packet.extend(UE_MAC.0);
    packet.extend(from.octets());
    packet.extend([0; 6]);
    packet.extend(about.octets());
    packet
}

// Input:  the device is a port of a bridge; behind another port of it is a host in its own namespace, which is sent
//         an ARP request for its address, then a UDP packet in a frame, and responds.
// Output: the responses arrive through the bridge at the port, as whole frames to the requesting address.
#[test]
fn frames_cross_a_bridge_to_a_host() {
    in_namespace("frames_cross_a_bridge_to_a_host", || {
        let remote = Remote::new();
        remote.connect(("veth0", &[]), ("eth0", &["10.1.0.9/24"]));
        ip("link add br0 type bridge");
        ip("link set br0 up");
        ip("link set veth0 master br0");
        let mut port = TapPort::open("lan", &TapOptions { bridge: Some("br0".into()), ..options() }).unwrap();
        assert_eq!((port.name(), port.mtu()), ("lan", 1400));
        send(&mut port, &frame(MacAddr::BROADCAST, EtherType::ARP, [None, None], &arp(UE, HOST)));
        let is_answer = |seen: &Ethernet<'_>| seen.ether_type == Some(EtherType::ARP) && seen.dst == UE_MAC;
        let answer = next(&mut port, is_answer);
        let host = Ethernet::parse(&answer).unwrap().src;

        let server = remote.run(|| UdpSocket::bind((HOST, 7)).unwrap());
        server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let packet = udp4((UE, 5000), (HOST, 7), b"ping");
        send(&mut port, &frame(host, EtherType::IPV4, [None, None], &packet));
        let (len, from) = server.recv_from(&mut [0; 100]).unwrap();
        assert_eq!((len, from), (4, (UE, 5000).into()));
        server.send_to(b"pong", from).unwrap();
        let is_pong = |seen: &Ethernet<'_>| seen.dst == UE_MAC && seen.payload.ends_with(b"pong");
        assert_eq!(Ethernet::parse(&next(&mut port, is_pong)).unwrap().src, host);
        assert!(port.counters().value(Counter::Rx) >= 2);
    });
}

// Input:  frames that are too long by one octet, truncated, and no frame at all; one with two tags at the MTU.
// Output: the last one is sent; each other is counted under its reason.
#[test]
fn what_cannot_be_sent_is_counted() {
    in_namespace("what_cannot_be_sent_is_counted", || {
        let mut port = open();
        let tags =
            [Some(VlanTag { service: true, control: 9 }), Some(VlanTag { service: false, control: 5 })];
        let longest = frame(MacAddr::BROADCAST, EtherType::ARP, tags, &[0; 1400]);
        assert_eq!(send(&mut port, &longest), 1);
        assert_eq!(send(&mut port, &[&longest[..], &[0]].concat()), 0);
        assert_eq!(send(&mut port, &longest[..13]), 0);
        assert_eq!(port.send(&[Frame { meta: Meta::Ip, data: &longest }]).unwrap(), 0);
        let value = |counter| port.counters().value(counter);
        assert_eq!((value(Counter::Tx), value(Counter::TxTooBig), value(Counter::TxWrongKind)), (1, 1, 2));
    });
}

// Input:  the host itself sends a packet of 1400 octets through the device into buffers of 128 octets, then into large ones.
// Output: it is counted as truncated, and then arrives whole.
#[test]
fn a_frame_longer_than_the_buffer_is_counted() {
    in_namespace("a_frame_longer_than_the_buffer_is_counted", || {
        let mut port = open();
        ip("address add 10.1.0.9/24 dev n6e");
        ip("neigh add 10.1.0.1 lladdr 02:00:00:00:00:0a dev n6e nud permanent");
        let socket = UdpSocket::bind((HOST, 0)).unwrap();
        socket.send_to(&[7; 1372], (UE, 9)).unwrap();
        let mut batch = Batch::with_frame_size(128);
        let end = Instant::now() + Duration::from_secs(5);
        while port.counters().value(Counter::RxTruncated) == 0 {
            assert!(Instant::now() < end, "no frame in time");
            wait([&port as &dyn Port], None, Some(Duration::from_secs(1))).unwrap();
            port.receive(&mut batch).unwrap();
        }
        socket.send_to(&[7; 1372], (UE, 9)).unwrap();
        let whole = next(&mut port, |seen| seen.ether_type == Some(EtherType::IPV4) && seen.dst == UE_MAC);
        assert_eq!(whole.len(), 14 + 20 + 8 + 1372);
    });
}

// Input:  a device in use, a name of another kind of interface, a bridge that does not exist, and a device that is
//         deleted.
// Output: errors that state the cause; the device that could not be configured is removed.
#[test]
fn open_errors_name_the_remedy() {
    in_namespace("open_errors_name_the_remedy", || {
        let mut holder = open();
        let busy = message(TapPort::open("lan", &options()));
        assert!(busy.contains("TAP device n6e is in use"), "{busy}");
        ip("tuntap add tun7 mode tun");
        let other = message(TapPort::open("lan", &TapOptions { device: "tun7".into(), ..options() }));
        assert!(other.contains("tun7 exists and is not a TAP device"), "{other}");
        let lost = TapOptions { device: "n6f".into(), bridge: Some("br9".into()), ..options() };
        let lost = message(TapPort::open("lan", &lost));
        assert!(
            lost.contains("bridge br9 does not exist: create it with `ip link add br9 type bridge`"),
            "{lost}"
        );
        // A process that another test starts holds all files of this one until exec.
        let end = Instant::now() + Duration::from_secs(5);
        while Netlink::open().unwrap().link("n6f").unwrap().is_some() {
            assert!(Instant::now() < end, "the device is still there");
        }
        ip("link delete n6e");
        let gone = message(holder.receive(&mut Batch::new()));
        assert!(gone.contains("port lan is lost"), "{gone}");
    });
}
