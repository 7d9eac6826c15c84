//! TUN devices in a network namespace of their own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::Duration;

use causeway_packet::{Batch, Frame, Ip, Ipv4, Meta, Udp, UdpChecksum};
use causeway_ports::netlink::Netlink;
use causeway_ports::tun::{TunOffload, TunOptions, TunPort};
use causeway_ports::{Counter, Port, wait};

use crate::common::{in_namespace, ip, message, once_free, receive, udp4, udp6};

const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);

fn options() -> TunOptions {
    TunOptions {
        device: "n6".into(),
        addresses: vec!["10.45.0.1/16".parse().unwrap(), "2001:db8:45::1/64".parse().unwrap()],
        mtu: Some(1400),
        routes: vec!["10.46.0.0/16".parse().unwrap()],
        ..TunOptions::default()
    }
}

fn open() -> TunPort {
    TunPort::open("internet", &options()).unwrap()
}

// Input:  a UDP packet from a UE to a socket of the kernel behind the device, and the response.
// Output: the socket receives it, the port receives the response as an IP packet; there are no other packets.
#[test]
fn packets_cross_between_port_and_kernel() {
    in_namespace("packets_cross_between_port_and_kernel", || {
        let mut port = open();
        assert_eq!((port.name(), port.mtu()), ("internet", 1400));
        let server = UdpSocket::bind((GATEWAY, 7)).unwrap();
        server.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let packet = udp4((UE, 5000), (GATEWAY, 7), b"ping");
        assert_eq!(port.send(&[Frame { meta: Meta::Ip, data: &packet }]).unwrap(), 1);
        let (len, from) = server.recv_from(&mut [0; 100]).unwrap();
        assert_eq!((len, from), (4, (UE, 5000).into()));
        server.send_to(b"pong", from).unwrap();
        let seen = receive(&mut port, 1);
        assert_eq!(seen[0].0, Meta::Ip);
        assert!(seen[0].1.ends_with(b"pong") && seen[0].1[16..20] == UE.octets());
        assert_eq!(port.counters().value(Counter::Rx), 1);
    });
}

// Input:  a packet from the device whose source is the kernel's own address on it, as in an ICMP error.
// Output: the kernel accepts it.
#[test]
fn the_kernel_takes_packets_from_the_gateway_address() {
    in_namespace("the_kernel_takes_packets_from_the_gateway_address", || {
        let mut port = open();
        let server = UdpSocket::bind((GATEWAY, 7)).unwrap();
        server.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let packet = udp4((GATEWAY, 5000), (GATEWAY, 7), b"told");
        assert_eq!(port.send(&[Frame { meta: Meta::Ip, data: &packet }]).unwrap(), 1);
        assert_eq!(server.recv_from(&mut [0; 100]).unwrap(), (4, (GATEWAY, 5000).into()));
    });
}

// Input:  the same over IPv6, immediately after opening.
// Output: the address needs no duplicate detection, and no router solicitation is among the packets.
#[test]
fn ipv6_works_immediately_without_other_packets() {
    in_namespace("ipv6_works_immediately_without_other_packets", || {
        let mut port = open();
        let ue: Ipv6Addr = "2001:db8:45::2".parse().unwrap();
        let gateway: Ipv6Addr = "2001:db8:45::1".parse().unwrap();
        let server = UdpSocket::bind((gateway, 7)).unwrap();
        server.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let packet = udp6((ue, 5000), (gateway, 7), b"ping");
        assert_eq!(port.send(&[Frame { meta: Meta::Ip, data: &packet }]).unwrap(), 1);
        let (_, from) = server.recv_from(&mut [0; 100]).unwrap();
        server.send_to(b"pong", from).unwrap();
        let seen = crate::common::receive_while(&mut port, 1, |packet| packet[6] == 17);
        assert!(seen[0].1.ends_with(b"pong"));
    });
}

// Input:  a device that did not exist; then one that the administrator created.
// Output: the first is removed after closing, with its routes; the second stays.
#[test]
fn only_devices_the_port_created_are_removed() {
    in_namespace("only_devices_the_port_created_are_removed", || {
        let mut netlink = Netlink::open().unwrap();
        let port = open();
        assert!(netlink.link("n6").unwrap().is_some_and(|link| link.up && link.mtu == 1400));
        ip("route get 10.46.1.1");
        drop(port);
        // A process that another test has just started may briefly hold the descriptor.
        let gone = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            netlink.link("n6").unwrap().is_none()
        });
        assert!(gone);
        ip("tuntap add n6 mode tun");
        drop(open());
        drop(once_free(|| TunPort::open("internet", &options())));
        assert!(netlink.link("n6").unwrap().is_some());
    });
}

// Input:  a device that an earlier port with checksum offload has left; a port without it; a datagram of the kernel.
// Output: its checksum is right.
#[test]
fn a_device_loses_the_offloads_of_an_earlier_port() {
    in_namespace("a_device_loses_the_offloads_of_an_earlier_port", || {
        ip("tuntap add n6 mode tun");
        drop(open());
        let mut port = once_free(|| TunPort::open("n6", &TunOptions { offload: false, ..options() }));
        assert_eq!(port.offload(), TunOffload::default());
        UdpSocket::bind((GATEWAY, 0)).unwrap().send_to(b"sum me", (UE, 9)).unwrap();
        let seen = receive(&mut port, 1);
        let packet = Ipv4::parse(&seen[0].1).unwrap();
        let sum = Udp::parse(packet.payload()).unwrap().checksum(GATEWAY.into(), UE.into());
        assert_eq!(sum, UdpChecksum::Valid);
    });
}

// Input:  datagrams of the kernel of odd and of even length, over IPv4 and IPv6, whose checksums it leaves to the port.
// Output: they are right.
#[test]
fn checksums_are_completed() {
    in_namespace("checksums_are_completed", || {
        let mut port = open();
        let ends: [(IpAddr, IpAddr); 2] = [
            (GATEWAY.into(), UE.into()),
            ("2001:db8:45::1".parse().unwrap(), "2001:db8:45::2".parse().unwrap()),
        ];
        for (from, to) in ends {
            let socket = UdpSocket::bind((from, 0)).unwrap();
            for len in [7, 8] {
                socket.send_to(&[0xa5; 8][..len], (to, 9)).unwrap();
                let seen =
                    crate::common::receive_while(&mut port, 1, |packet| [packet[6], packet[9]].contains(&17));
                let above = match Ip::parse(&seen[0].1).unwrap() {
                    Ip::V4(v4) => v4.payload(),
                    Ip::V6(v6) => v6.payload(),
                };
                assert_eq!(Udp::parse(above).unwrap().checksum(from, to), UdpChecksum::Valid);
            }
        }
    });
}

// Input:  the option to keep the device.
// Output: it exists after closing.
#[test]
fn a_persistent_device_stays() {
    in_namespace("a_persistent_device_stays", || {
        drop(TunPort::open("n6", &TunOptions { persistent: true, ..options() }).unwrap());
        assert!(Netlink::open().unwrap().link("n6").unwrap().is_some());
    });
}

// Input:  octets that are no packet, a datagram, a packet above the MTU, and a packet while the device is down.
// Output: each in its own counter; the port continues to work.
#[test]
fn each_failure_has_its_counter() {
    in_namespace("each_failure_has_its_counter", || {
        let mut port = open();
        let big = udp4((UE, 1), (GATEWAY, 7), &[0; 1400]);
        let small = udp4((UE, 1), (GATEWAY, 7), b"x");
        let gtpu = Meta::Gtpu { local: UE.into(), peer: (UE, 2152).into(), tos: 0, hops: None };
        let frames = [
            Frame { meta: Meta::Ip, data: &[] },
            Frame { meta: Meta::Ip, data: &[0; 40] },
            Frame { meta: gtpu, data: &small },
            Frame { meta: Meta::Ip, data: &big },
        ];
        assert_eq!(port.send(&frames).unwrap(), 0);
        ip("link set n6 down");
        assert_eq!(port.send(&[Frame { meta: Meta::Ip, data: &small }]).unwrap(), 0);
        ip("link set n6 up");
        assert_eq!(port.send(&[Frame { meta: Meta::Ip, data: &small }]).unwrap(), 1);
        let value = |counter| port.counters().value(counter);
        assert_eq!((value(Counter::TxWrongKind), value(Counter::TxTooBig)), (3, 1));
        assert_eq!((value(Counter::TxLinkDown), value(Counter::Tx)), (1, 1));
    });
}

// Input:  a packet longer than the buffers of the batch.
// Output: counted as truncated, and the next one arrives.
#[test]
fn a_packet_longer_than_the_buffer_is_counted() {
    in_namespace("a_packet_longer_than_the_buffer_is_counted", || {
        let mut port = open();
        let socket = UdpSocket::bind((GATEWAY, 0)).unwrap();
        socket.send_to(&[0; 1000], (UE, 9)).unwrap();
        socket.send_to(b"short", (UE, 9)).unwrap();
        let mut batch = Batch::with_frame_size(128);
        wait([&port as &dyn Port], None, Some(Duration::from_secs(2))).unwrap();
        assert_eq!(port.receive(&mut batch).unwrap(), 1);
        assert_eq!(port.counters().value(Counter::RxTruncated), 1);
    });
}

// Input:  the device is deleted under the port.
// Output: an error that names the port, not a loop.
#[test]
fn a_deleted_device_is_an_error() {
    in_namespace("a_deleted_device_is_an_error", || {
        let mut port = open();
        ip("link delete n6");
        let lost = message(port.receive(&mut Batch::new()));
        assert!(lost.contains("port internet is lost"), "{lost}");
    });
}

// Input:  a device in use, a name of another kind of interface, and an impossible name.
// Output: errors that state the cause.
#[test]
fn open_errors_name_the_remedy() {
    in_namespace("open_errors_name_the_remedy", || {
        let _holder = open();
        let busy = message(TunPort::open("n6", &options()));
        assert!(busy.contains("n6 is in use"), "{busy}");
        ip("tuntap add eth7 mode tap");
        let other = message(TunPort::open("n6", &TunOptions { device: "eth7".into(), ..options() }));
        assert!(other.contains("eth7 exists and is not a TUN device"), "{other}");
        let bad = message(TunPort::open("n6", &TunOptions { device: "a/b".into(), ..options() }));
        assert!(bad.contains("cannot be the name"), "{bad}");
    });
}

// Input:  routes to the prefixes of a device that lead elsewhere, at the start and for a device that was down; a device that
//         another run left with its routes.
// Output: an error that says where the route leads, which stays; the routes that were left serve again.
#[test]
fn routes_of_others_stay() {
    in_namespace("routes_of_others_stay", || {
        ip("link add up0 type veth peer name up1");
        ip("address add 192.0.2.9/24 dev up0");
        ip("link set up0 up");
        for (net, via, leads) in [
            ("10.46.0.0/16", "via 192.0.2.1 dev up0", "via 192.0.2.1 on up0"),
            ("2001:db8:46::/48", "dev up0", "on up0"),
        ] {
            let options =
                TunOptions { addresses: Vec::new(), routes: vec![net.parse().unwrap()], ..options() };
            ip(&format!("route add {net} {via}"));
            let taken = message(TunPort::open("n6", &options));
            let expected = format!(
                "{net} is routed {leads} already: choose another prefix, or remove that route: `ip route del {net}`"
            );
            assert_eq!(taken, expected);
            ip(&format!("route del {net} {via}"));
            let port = once_free(|| TunPort::open("n6", &options));
            ip("link set n6 down");
            ip(&format!("route add {net} {via}"));
            ip("link set n6 up");
            assert_eq!(message(TunPort::restore(&options)), expected);
            ip(&format!("route del {net} {via}"));
            TunPort::restore(&options).unwrap();
            drop(port);
        }
        let options = TunOptions { persistent: true, ..options() };
        drop(once_free(|| TunPort::open("n6", &options)));
        let routes = || Netlink::open().unwrap().routes_to(&options.routes).unwrap();
        let left = routes();
        assert_eq!(left.len(), 1);
        drop(once_free(|| TunPort::open("n6", &options)));
        assert_eq!(routes(), left);
    });
}

// Input:  3,000 datagrams to a UE while none is received; then these are received, and 20,000 more are sent.
// Output: the first are all received, in order; of the others each is received or counted as lost, though the kernel
//         drops it before the port.
#[test]
fn losses_of_a_full_device_are_counted() {
    in_namespace("losses_of_a_full_device_are_counted", || {
        let mut port = open();
        let server = UdpSocket::bind((GATEWAY, 7)).unwrap();
        let send = |count: u32| {
            for n in 0..count {
                server.send_to(&n.to_be_bytes(), (UE, 5000)).unwrap();
            }
        };
        let take = |port: &mut TunPort| {
            let (mut batch, mut seen) = (Batch::new(), Vec::new());
            while port.receive(&mut batch).unwrap() > 0 {
                seen.extend(
                    batch.frames().map(|frame| u32::from_be_bytes(frame.data[28..32].try_into().unwrap())),
                );
            }
            seen
        };
        send(3000);
        let seen = take(&mut port);
        assert!(seen.iter().copied().eq(0..3000), "{}", seen.len());
        send(20_000);
        let seen = take(&mut port);
        port.count_losses();
        let lost = port.counters().value(Counter::RxOverrun);
        assert_eq!(seen.len() as u64 + lost, 20_000, "{}", seen.len());
        assert!(lost > 0);
        port.count_losses();
        assert_eq!(port.counters().value(Counter::RxOverrun), lost, "a loss is counted once");
    });
}
