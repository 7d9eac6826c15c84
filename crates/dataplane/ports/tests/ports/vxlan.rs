//! VXLAN segments: over loopback, and with the kernel's own VXLAN device as the other end.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use causeway_packet::vxlan::{self, Vni};
use causeway_packet::{Batch, Buffer, Frame, MacAddr, Meta};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::vxlan::{SOURCE_PORTS, Segment, SegmentTraffic, VxlanEndpoint, VxlanPort};
use causeway_ports::{Counter, Port};

use crate::common::{Remote, in_namespace, ip, receive, receive_while, udp4, udp6, wait_up};

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const REMOTE_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(172, 16, 5, 2);

fn vni(raw: u32) -> Vni {
    Vni::new(raw).unwrap()
}

fn carrier(address: &str) -> UdpPort {
    let options = UdpOptions { dont_fragment: true, ..UdpOptions::default() };
    UdpPort::bind("vxlan", address.parse().unwrap(), &options).unwrap()
}

/// This end of the segments, and its address.
fn endpoint(address: &str) -> (VxlanEndpoint, SocketAddr) {
    let carrier = carrier(address);
    let local = carrier.local();
    (VxlanEndpoint::new(Box::new(carrier), local), local)
}

fn segment(raw: u32, remote: SocketAddr) -> Segment {
    Segment { vni: vni(raw), remote, mac: MAC, remote_mac: REMOTE_MAC, address: None, address6: None }
}

fn add(endpoint: &VxlanEndpoint, segment: Segment) -> VxlanPort {
    endpoint.add(&format!("vxlan-{}", segment.vni), segment, SegmentTraffic::Ip).unwrap()
}

/// The other end of a segment: the MAC addresses are exchanged.
fn mirrored(segment: Segment, remote: SocketAddr) -> Segment {
    Segment { remote, mac: segment.remote_mac, remote_mac: segment.mac, ..segment }
}

fn packet(last: u8) -> Vec<u8> {
    udp4((SERVER, 9), (UE, 7), &[last; 40])
}

// Input:  two tenants with the same UE address in two segments between two endpoints, over IPv4 and IPv6; packets of both
//         in turns, in both directions.
// Output: each packet arrives in its own segment, unchanged and in order, and in no other.
#[test]
fn the_same_address_in_two_segments_never_meets() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let ((near, near_addr), (far, far_addr)) = (endpoint(address), endpoint(address));
        let mut tenants = [5, 0x00ff_ffff].map(|raw| {
            let here = segment(raw, far_addr);
            (add(&near, here.clone()), add(&far, mirrored(here, near_addr)))
        });
        for round in 0..8 {
            for (number, (here, there)) in tenants.iter_mut().enumerate() {
                let octets = packet(2 * round + number as u8);
                let frame = Frame { meta: Meta::Ip, data: &octets };
                assert_eq!((here.send(&[frame]).unwrap(), there.send(&[frame]).unwrap()), (1, 1));
            }
        }
        for (number, (here, there)) in tenants.iter_mut().enumerate() {
            let wanted: Vec<_> = (0..8).map(|round| (Meta::Ip, packet(2 * round + number as u8))).collect();
            assert_eq!(receive(here, 8), wanted);
            assert_eq!(receive(there, 8), wanted);
            let octets = 8 * packet(0).len() as u64;
            for counter in
                [(Counter::Rx, 8), (Counter::RxOctets, octets), (Counter::Tx, 8), (Counter::TxOctets, octets)]
            {
                assert_eq!(here.counters().value(counter.0), counter.1, "{:?}", counter.0);
            }
        }
        let overhead = if near_addr.is_ipv4() { 50 } else { 70 };
        assert_eq!(tenants[0].0.mtu(), carrier(address).mtu() - overhead);
    }
}

/// A datagram of a segment.
fn datagram(raw: u32, dst: MacAddr, kind: u16, payload: &[u8]) -> Vec<u8> {
    [&vxlan::header(vni(raw))[..], &dst.0, &REMOTE_MAC.0, &kind.to_be_bytes(), payload].concat()
}

// Input:  datagrams that are cut, without a valid VNI, of an unknown VNI, for another MAC address, with a VLAN tag, with a
//         mark of congestion for a packet that cannot carry it, and from another address than the remote end's; then a
//         good one.
// Output: the good one arrives; each other one is in one counter.
#[test]
fn each_bad_datagram_has_its_counter() {
    let (endpoint, local) = endpoint("127.0.0.1:0");
    let peer = UdpSocket::bind("127.0.0.2:0").unwrap();
    let mut port = add(&endpoint, segment(5, peer.local_addr().unwrap()));
    let good = datagram(5, MAC, 0x0800, &packet(1));
    let without_vni = [&[0; 8][..], &good[8..]].concat();
    for bad in [
        &good[..7],
        &without_vni,
        &datagram(6, MAC, 0x0800, &packet(1)),
        &datagram(5, REMOTE_MAC, 0x0800, &packet(1)),
        &datagram(5, MAC, 0x8100, &packet(1)),
        &good[..20],
    ] {
        peer.send_to(bad, local).unwrap();
    }
    UdpSocket::bind("127.0.0.3:0").unwrap().send_to(&good, local).unwrap();
    let marked = UdpPort::bind("marked", "127.0.0.2:0".parse().unwrap(), &UdpOptions::default());
    let meta = Meta::Gtpu { local: Ipv4Addr::new(127, 0, 0, 2).into(), peer: local, tos: 3, hops: None };
    assert_eq!(marked.unwrap().send(&[Frame { meta, data: &good }]).unwrap(), 1);
    peer.send_to(&good, local).unwrap();
    assert_eq!(receive_while(&mut port, 1, |_| true), [(Meta::Ip, packet(1))]);
    for (counter, count) in [
        (Counter::RxVxlanHeader, 2),
        (Counter::RxUnknownVni, 1),
        (Counter::RxNotForUs, 2),
        (Counter::RxMalformed, 1),
        (Counter::RxUnknownVtep, 1),
        (Counter::RxCongested, 1),
        (Counter::Rx, 1),
    ] {
        assert_eq!(port.counters().value(counter), count, "{counter:?}");
    }
}

// Input:  packets of the largest size of the segment and one octet more, and a frame that is no IP packet of it.
// Output: the first arrives; the others are counted. A congestion mark reaches the packet that can carry it.
#[test]
fn the_largest_packet_arrives_and_a_larger_one_is_counted() {
    let ((near, near_addr), (far, far_addr)) = (endpoint("127.0.0.1:0"), endpoint("127.0.0.1:0"));
    let here = segment(5, far_addr);
    let (mut sender, mut receiver) = (add(&near, here.clone()), add(&far, mirrored(here, near_addr)));
    let largest = 1400;
    let fits = udp4((UE, 1), (SERVER, 2), &vec![7; largest - 28]);
    assert_eq!(fits.len(), largest);
    let beyond = vec![0x45; sender.mtu() as usize + 1];
    let frames = [
        Frame { meta: Meta::Ip, data: &beyond },
        Frame { meta: Meta::Ethernet, data: &fits },
        Frame { meta: Meta::Ip, data: &fits },
    ];
    assert_eq!(sender.send(&frames).unwrap(), 1);
    assert_eq!(receive(&mut receiver, 1), [(Meta::Ip, fits)]);
    assert_eq!(sender.counters().value(Counter::TxTooBig), 1);
    assert_eq!(sender.counters().value(Counter::TxWrongKind), 1);
}

// Input:  two of the three frames of a batch, the last one first; then one of them again, and a frame in a buffer without headroom.
// Output: the two arrive in that order; their octets stay where they are in their buffers, behind the headers. The others are counted,
//         and the third frame is as it was.
#[test]
fn headers_are_written_before_the_frames_of_a_batch() {
    let ((near, near_addr), (far, far_addr)) = (endpoint("127.0.0.1:0"), endpoint("127.0.0.1:0"));
    let here = segment(5, far_addr);
    let (mut sender, mut receiver) = (add(&near, here.clone()), add(&far, mirrored(here, near_addr)));
    let mut batch = Batch::new();
    assert!((0..3).all(|last| batch.push(Frame { meta: Meta::Ip, data: &packet(last) })));
    let places = [0, 1, 2].map(|index| batch.data(index).unwrap().as_ptr());
    assert_eq!(sender.send_from(&mut batch, &[2, 0]).unwrap(), 2);
    assert_eq!(receive(&mut receiver, 2), [2, 0].map(|last| (Meta::Ip, packet(last))));
    for index in [0, 2] {
        assert_eq!(batch.data(index).unwrap()[22..].as_ptr(), places[index], "{index}");
    }
    assert_eq!(batch.frame(1), Some(Frame { meta: Meta::Ip, data: &packet(1) }));
    assert_eq!(sender.send_from(&mut batch, &[2]).unwrap(), 0);
    let mut narrow = Batch::of_buffers([Buffer::new(Box::leak(Box::new([0; 2048])), 0)]);
    assert!(narrow.push(Frame { meta: Meta::Ip, data: &packet(1) }));
    assert_eq!(sender.send_from(&mut narrow, &[0]).unwrap(), 0);
    for (counter, count) in [(Counter::TxWrongKind, 1), (Counter::TxNoBuffer, 1), (Counter::Tx, 2)] {
        assert_eq!(sender.counters().value(counter), count, "{counter:?}");
    }
}

// Input:  an endpoint with four source ports, over IPv4 and IPv6; sixty-four flows of numbered packets, in turns and in several
//         batches; a datagram to one of the source ports.
// Output: a receiver sees each flow from one port of the range, in order, and flows from all four ports; the endpoint has counted
//         the packets, and receives nothing.
#[test]
fn each_flow_has_a_source_port() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let peer = UdpSocket::bind(address).unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let carrier = carrier(address);
        let local = carrier.local();
        let options = UdpOptions { dont_fragment: true, ..UdpOptions::default() };
        let senders = [(); 4].map(|()| {
            let port = UdpPort::bind_sender("vxlan", local.ip(), SOURCE_PORTS, &options).unwrap();
            assert!(SOURCE_PORTS.contains(&port.local().port()));
            port
        });
        let first = senders[0].local();
        let senders = senders.into_iter().map(|port| Box::new(port) as Box<dyn Port>).collect();
        let endpoint = VxlanEndpoint::new(Box::new(carrier), local).with_senders(senders);
        let mut port = add(&endpoint, segment(5, peer.local_addr().unwrap()));
        let (flows, rounds) = (64_u16, 5_u8);
        let mut seen = BTreeMap::<u16, (u16, Vec<u8>)>::new();
        let mut buffer = [0; 2048];
        for round in 0..rounds {
            let mut batch = Batch::new();
            for flow in 0..flows {
                let packet = udp4((UE, 1000 + flow), (SERVER, 443), &[round; 40]);
                assert!(batch.push(Frame { meta: Meta::Ip, data: &packet }));
            }
            let all: Vec<usize> = (0..batch.len()).collect();
            assert_eq!(port.send_from(&mut batch, &all).unwrap(), usize::from(flows));
            for _ in 0..flows {
                let (length, from) = peer.recv_from(&mut buffer).unwrap();
                let packet = &buffer[22..length];
                let flow = u16::from_be_bytes([packet[20], packet[21]]);
                let (source, numbers) = seen.entry(flow).or_insert((from.port(), Vec::new()));
                assert_eq!((*source, from.ip()), (from.port(), local.ip()));
                numbers.push(packet[28]);
            }
        }
        assert_eq!(seen.len(), usize::from(flows));
        let in_order: Vec<u8> = (0..rounds).collect();
        assert!(seen.values().all(|(_, numbers)| *numbers == in_order), "{seen:?}");
        let mut sources: Vec<u16> = seen.values().map(|(source, _)| *source).collect();
        sources.sort_unstable();
        sources.dedup();
        assert_eq!(sources.len(), 4, "{address}");
        assert_eq!(port.counters().value(Counter::Tx), u64::from(flows) * u64::from(rounds));
        peer.send_to(&datagram(5, MAC, 0x0800, &packet(1)), first).unwrap();
        peer.send_to(&datagram(5, MAC, 0x0800, &packet(2)), local).unwrap();
        assert_eq!(receive(&mut port, 1), [(Meta::Ip, packet(2))]);
    }
}

// Input:  GTP-U between two addresses of a segment, marked, over both IP versions inside; a fragment, a datagram with a
//         wrong checksum, and one to an address that is not of the port.
// Output: the messages with addresses, marking and TTL; the others are counted.
#[test]
fn gtpu_crosses_a_segment() {
    let ((near, near_addr), (far, far_addr)) = (endpoint("127.0.0.1:0"), endpoint("127.0.0.1:0"));
    let (upf, gnb): ([IpAddr; 2], [IpAddr; 2]) = (
        ["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
        ["192.0.2.11".parse().unwrap(), "2001:db8::11".parse().unwrap()],
    );
    let here = segment(9, far_addr);
    let mut upf_port = near.add("n3", here.clone(), SegmentTraffic::Gtpu(upf.to_vec())).unwrap();
    let there = mirrored(here, near_addr);
    let mut gnb_port = far.add("gnb", there, SegmentTraffic::Gtpu(gnb.to_vec())).unwrap();
    for (upf, gnb) in upf.into_iter().zip(gnb) {
        let to = Meta::Gtpu { local: gnb, peer: SocketAddr::new(upf, 2152), tos: 0xb8, hops: None };
        assert_eq!(gnb_port.send(&[Frame { meta: to, data: b"message" }]).unwrap(), 1);
        let seen = receive(&mut upf_port, 1);
        let hops = std::num::NonZeroU8::new(64);
        let from = Meta::Gtpu { local: upf, peer: SocketAddr::new(gnb, 2152), tos: 0xb8, hops };
        assert_eq!(seen, [(from, b"message".to_vec())]);
    }
    let mut frames = add(&far, mirrored(segment(9, far_addr), near_addr));
    let whole = udp4((Ipv4Addr::new(192, 0, 2, 11), 2152), (Ipv4Addr::new(192, 0, 2, 1), 2152), b"message");
    let changed = |at: usize, to: u8| {
        let mut packet = whole.clone();
        packet[at] = to;
        packet
    };
    let (wrong_sum, other) = (changed(30, 9), udp4((UE, 2152), (SERVER, 2152), b"message"));
    for packet in [&wrong_sum, &other, &whole] {
        assert_eq!(frames.send(&[Frame { meta: Meta::Ip, data: packet }]).unwrap(), 1);
    }
    assert_eq!(receive(&mut upf_port, 1).len(), 1);
    assert_eq!(upf_port.counters().value(Counter::RxChecksum), 1);
    assert_eq!(upf_port.counters().value(Counter::RxNotForUs), 1);
}

// Input:  the kernel's VXLAN device in another namespace as the other end, over IPv4 and over IPv6: it asks for the addresses
//         of the segment by ARP and by neighbour discovery, and sends packets of a socket to the UE; then packets of the UE to that socket.
// Output: the packets with right checksums; the kernel accepts the answers. Packets of another VNI do not arrive.
#[test]
fn the_kernel_is_the_other_end() {
    for (here, there, prefix) in [("192.0.2.1", "192.0.2.2", 24), ("2001:db8::1", "2001:db8::2", 64)] {
        in_namespace("the_kernel_is_the_other_end", move || {
            let remote = Remote::new();
            let (near, far) = (format!("{here}/{prefix}"), format!("{there}/{prefix}"));
            remote.connect(("under", &[&near]), ("far", &[&far]));
            let socket = remote.run(move || {
                for (name, id) in [("vx7", 7), ("vx8", 8)] {
                    let zero = if there.contains(':') { " udp6zerocsumrx" } else { "" };
                    ip(&format!(
                        "link add {name} address 02:00:00:00:00:02 type vxlan id {id} dstport 4789 local {there} remote {here}{zero}"
                    ));
                    ip(&format!("link set {name} up"));
                }
                ip("address add 172.16.5.2/24 dev vx7");
                ip("route add 10.45.0.0/16 via 172.16.5.1");
                ip("neighbour add 172.16.8.1 lladdr 02:00:00:00:00:01 dev vx8");
                ip("route add 10.46.0.0/16 via 172.16.8.1 dev vx8 onlink");
                ip("address add 2001:db8:5::2/64 dev vx7 nodad");
                ip("route add 2001:db8:45::/64 via 2001:db8:5::1");
                ["172.16.5.2:9", "[2001:db8:5::2]:9"].map(|at| {
                    let socket = UdpSocket::bind(at).unwrap();
                    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                    socket
                })
            });
            let [socket, socket6] = socket;
            wait_up("under");
            let address = SocketAddr::new(here.parse().unwrap(), vxlan::PORT);
            let (endpoint, _) = endpoint(&address.to_string());
            let peer = SocketAddr::new(there.parse().unwrap(), vxlan::PORT);
            let (address, address6) = ([172, 16, 5, 1].into(), "2001:db8:5::1".parse().unwrap());
            let segment = Segment { address: Some(address), address6: Some(address6), ..segment(7, peer) };
            let mut port = add(&endpoint, segment);
            for len in [1, 40, 1300] {
                // The first of another VNI, to the same host: it is counted.
                socket.send_to(&vec![1; len], "10.46.0.2:7").unwrap();
                socket.send_to(&vec![2; len], "10.45.0.2:7").unwrap();
                let seen = receive_while(&mut port, 1, |_| true);
                let Some((Meta::Ip, packet)) = seen.first() else { panic!("{here}: nothing arrived") };
                let whole = udp4((SERVER, 9), (UE, 7), &vec![2; len]);
                // But for the identification and the header's checksum, which depends on it; and for the checksum of UDP, which
                // this kernel leaves to the device, and veth has none.
                let parts = |packet: &[u8]| [&packet[..4], &packet[12..26], &packet[28..]].concat();
                assert_eq!(parts(packet), parts(&whole), "{here} {len}");
                let answer = udp4((UE, 7), (SERVER, 9), &vec![3; len]);
                assert_eq!(port.send(&[Frame { meta: Meta::Ip, data: &answer }]).unwrap(), 1);
                let mut buffer = [0; 2000];
                let (received, from) = socket.recv_from(&mut buffer).unwrap();
                assert_eq!((&buffer[..received], from), (&vec![3; len][..], "10.45.0.2:7".parse().unwrap()));
            }
            assert!(port.counters().value(Counter::RxUnknownVni) >= 3);
            // The kernel asks for the MAC address by a Neighbour Solicitation first.
            socket6.send_to(&[4; 40], "[2001:db8:45::2]:7").unwrap();
            let seen = receive_while(&mut port, 1, |_| true);
            let Some((Meta::Ip, packet)) = seen.first() else { panic!("{here}: nothing arrived over IPv6") };
            assert_eq!((packet[0] >> 4, &packet[48..]), (6, &[4; 40][..]));
            let answer =
                udp6(("2001:db8:45::2".parse().unwrap(), 7), ("2001:db8:5::2".parse().unwrap(), 9), &[5; 40]);
            assert_eq!(port.send(&[Frame { meta: Meta::Ip, data: &answer }]).unwrap(), 1);
            let mut buffer = [0; 2000];
            let (received, from) = socket6.recv_from(&mut buffer).unwrap();
            assert_eq!((&buffer[..received], from), (&[5; 40][..], "[2001:db8:45::2]:7".parse().unwrap()));
            let v6 =
                udp6(("2001:db8:45::2".parse().unwrap(), 7), ("2001:db8:9::9".parse().unwrap(), 9), b"six");
            assert_eq!(port.send(&[Frame { meta: Meta::Ip, data: &v6 }]).unwrap(), 1);
        });
    }
}
