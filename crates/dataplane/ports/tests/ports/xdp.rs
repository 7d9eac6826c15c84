//! Traffic of AF_XDP ports, and traffic that passes to the kernel.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::xdp::{XdpGtpu, XdpIp, XdpOptions};
use causeway_ports::{Counter, Port, wait};

use crate::common::xdp::{GNB, UPF, connected_remote, exchange, generic, n3, native, until, with_xdp};
use crate::common::{RawSocket, checksum, ip, receive, run, udp4, udp6};

const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);

fn ping(destination: &str) {
    run("ping", &format!("-c 1 -W 2 {destination}"));
}

// Input:  in native and in generic mode, over IPv4 and IPv6: the first packet to a gNB whose Ethernet address is
//         unknown, and a response whose UDP checksum was left to missing hardware.
// Output: both arrive with addresses and marking; the description states the mode.
#[test]
fn gtpu_crosses_both_ways() {
    with_xdp("gtpu_crosses_both_ways", || {
        for (options, how) in [
            (native(), "1 queue, native, copy mode: the driver has no zero copy"),
            (generic(), "1 queue, generic, copy mode, as configured"),
        ] {
            let remote = connected_remote();
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
// Output: the kernel receives all of them, and the port none.
#[test]
fn other_traffic_reaches_the_kernel() {
    with_xdp("other_traffic_reaches_the_kernel", || {
        let remote = connected_remote();
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

// Input:  GTP-U in a VLAN of its own, in two fragments, with IP options, after an extension header, and without any
//         of these.
// Output: the port receives all but the one in the VLAN: the last by its socket, the others through the kernel.
#[test]
fn frames_the_program_does_not_parse_arrive_through_the_kernel() {
    with_xdp("frames_the_program_does_not_parse_arrive_through_the_kernel", || {
        let remote = connected_remote();
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

// Input:  a datagram from the data network to a UE, whose checksum was left to hardware; the response; a ping to the
//         UPF.
// Output: the port receives the packet with a right checksum; the kernel at the other end accepts the response; the
//         UPF's host answers the ping.
#[test]
fn ip_packets_cross_n6() {
    with_xdp("ip_packets_cross_n6", || {
        for options in [native(), generic()] {
            let remote = connected_remote();
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

// Input:  three times more datagrams than the rings hold, before any is received; then one more.
// Output: what fits is received, the rest is counted, and the last one is received.
#[test]
fn a_burst_larger_than_the_rings_is_counted() {
    with_xdp("a_burst_larger_than_the_rings_is_counted", || {
        let remote = connected_remote();
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
// Output: every frame arrives, in order: chunks circulate and none is lost.
#[test]
fn chunks_are_recycled() {
    with_xdp("chunks_are_recycled", || {
        let remote = connected_remote();
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

// Input:  6,000 datagrams before any is received, as when another thread has the core for 18 ms at 330,000 packets a
//         second; the sender waits until the program has processed the previous ones.
// Output: every one is received in the end, in order; none is lost.
#[test]
fn a_pause_of_the_thread_loses_nothing() {
    with_xdp("a_pause_of_the_thread_loses_nothing", || {
        const SENT: u32 = 6000;
        let remote = connected_remote();
        for options in [native(), generic()] {
            let mut upf = n3(&options);
            remote.run(|| {
                let gnb = UdpSocket::bind((GNB, 2152)).unwrap();
                // A few datagrams in flight: more could be lost between the ends of the veth pair.
                rustix::net::sockopt::set_socket_send_buffer_size(&gnb, 0).unwrap();
                for number in 0..SENT {
                    gnb.send_to(&number.to_be_bytes(), (UPF, 2152)).unwrap();
                }
            });
            let (mut batch, mut seen) = (Batch::new(), Vec::new());
            let end = Instant::now() + Duration::from_secs(10);
            let lost = |upf: &XdpGtpu| upf.counters().value(Counter::RxOverrun) as usize;
            while seen.len() + lost(&upf) < SENT as usize {
                assert!(Instant::now() < end, "{} of {SENT}: {:?}", seen.len(), upf.counters());
                upf.receive(&mut batch).unwrap();
                seen.extend(batch.frames().map(|frame| u32::from_be_bytes(frame.data.try_into().unwrap())));
            }
            assert_eq!((seen.len(), lost(&upf)), (SENT as usize, 0), "{}", upf.description());
            assert!(seen.into_iter().eq(0..SENT));
        }
    });
}
