//! Several ports at one address or device, each for its own thread.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::netlink::Netlink;
use causeway_ports::tun::{TunOptions, TunPort};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::{Port, PortError, PortSharing};

use crate::common::{in_namespace, ip, message, once_free, udp4};

const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);

fn bind(address: SocketAddr, share: PortSharing) -> Result<UdpPort, PortError> {
    UdpPort::bind("n3", address, &UdpOptions { share, ..UdpOptions::default() })
}

fn tun(share: PortSharing) -> Result<TunPort, PortError> {
    on("n6", share)
}

fn on(device: &str, share: PortSharing) -> Result<TunPort, PortError> {
    let addresses = vec!["10.45.0.1/16".parse().unwrap()];
    TunPort::open(device, &TunOptions { device: device.into(), addresses, share, ..TunOptions::default() })
}

/// The last two octets of each received packet, by port, until there are `count` in all.
fn received(ports: &mut [impl Port], count: usize) -> Vec<Vec<(u8, u8)>> {
    let mut seen = vec![Vec::new(); ports.len()];
    let mut batch = Batch::new();
    let end = Instant::now() + Duration::from_secs(5);
    while seen.iter().map(Vec::len).sum::<usize>() < count {
        assert!(Instant::now() < end, "{seen:?}");
        for (port, seen) in ports.iter_mut().zip(&mut seen) {
            port.receive(&mut batch).unwrap();
            seen.extend(batch.frames().map(|frame| {
                let last = frame.data.last_chunk::<2>().unwrap();
                (last[0], last[1])
            }));
        }
    }
    seen
}

// Input:  two ports at one address; sixteen peers send ten datagrams each.
// Output: everything is received once; the datagrams of a peer arrive at one port, in order; both ports receive some.
#[test]
fn peers_are_spread_over_the_ports_of_an_address() {
    let first = bind("127.0.0.1:0".parse().unwrap(), PortSharing::First).unwrap();
    let at = first.local();
    let mut ports = [first, bind(at, PortSharing::Further).unwrap()];
    let peers: Vec<_> = (0..16).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    for n in 0..10 {
        for (peer, socket) in (0..).zip(&peers) {
            socket.send_to(&[peer, n], at).unwrap();
        }
    }
    let seen = received(&mut ports, 160);
    for peer in 0..16 {
        let of_peer = |seen: &Vec<(u8, u8)>| -> Vec<u8> {
            seen.iter().filter(|(of, _)| *of == peer).map(|(_, n)| *n).collect()
        };
        let mut at_ports: Vec<_> = seen.iter().map(of_peer).collect();
        at_ports.sort();
        assert_eq!(at_ports, [vec![], (0..10).collect()]);
    }
    assert!(seen.iter().all(|seen| !seen.is_empty()), "{seen:?}");
}

// Input:  an address that several ports share; then a first port of another group, and an exclusive one.
// Output: both fail: the address is in use.
#[test]
fn a_shared_address_is_not_shared_with_others() {
    let first = bind("127.0.0.1:0".parse().unwrap(), PortSharing::First).unwrap();
    let at = first.local();
    let _second = bind(at, PortSharing::Further).unwrap();
    for share in [PortSharing::First, PortSharing::Exclusive] {
        assert!(matches!(bind(at, share), Err(PortError::AddressInUse { address }) if address == at));
    }
}

// Input:  two ports on one TUN device; each sends a packet of a flow of its own, and the kernel responds.
// Output: each response arrives at the port that sent the flow, and the device is removed with the last port.
#[test]
fn a_flow_returns_to_its_transmit_queue() {
    in_namespace("a_flow_returns_to_its_transmit_queue", || {
        let mut ports = vec![tun(PortSharing::First).unwrap(), tun(PortSharing::Further).unwrap()];
        let server = UdpSocket::bind((GATEWAY, 7)).unwrap();
        server.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        for flow in 0..20_u8 {
            let ue = Ipv4Addr::new(10, 45, 1, flow);
            let packet = udp4((ue, 5000), (GATEWAY, 7), &[flow, 1]);
            let port = &mut ports[usize::from(flow % 2)];
            assert_eq!(port.send(&[Frame { meta: Meta::Ip, data: &packet }]).unwrap(), 1);
            let mut buffer = [0; 2];
            let (_, from) = server.recv_from(&mut buffer).unwrap();
            server.send_to(&buffer, from).unwrap();
        }
        let seen = received(&mut ports, 20);
        for (parity, seen) in (0..).zip(seen) {
            let expected: Vec<(u8, u8)> = (0..10).map(|n| (2 * n + parity, 1)).collect();
            assert_eq!(seen, expected);
        }
        let link = |netlink: &mut Netlink| netlink.link("n6").unwrap();
        let mut netlink = Netlink::open().unwrap();
        let queues = link(&mut netlink).and_then(|link| link.tun).unwrap();
        assert!(queues.is_multi_queue && queues.queues_in_use == 2, "{queues:?}");
        ports.pop();
        assert!(link(&mut netlink).is_some());
        ports.pop();
        // A process that another test has just started may briefly hold the descriptor.
        let end = Instant::now() + Duration::from_secs(2);
        while link(&mut netlink).is_some() {
            assert!(Instant::now() < end);
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

// Input:  a device whose queues are in use, one that was created with a single queue, one that was created with
//         several.
// Output: the first is in use, the second error states how to create one with several, the third serves one port as
//         well as two.
#[test]
fn a_device_is_shared_only_as_created() {
    in_namespace("a_device_is_shared_only_as_created", || {
        let holders = [tun(PortSharing::First).unwrap(), tun(PortSharing::Further).unwrap()];
        for share in [PortSharing::First, PortSharing::Exclusive] {
            let busy = message(tun(share));
            assert!(busy.contains("n6 is in use"), "{busy}");
        }
        ip("tuntap add n7 mode tun");
        drop(on("n7", PortSharing::Exclusive).unwrap());
        let one = message(on("n7", PortSharing::First));
        assert!(one.contains("ip tuntap add dev n7 mode tun multi_queue"), "{one}");
        ip("tuntap add n8 mode tun multi_queue");
        drop(on("n8", PortSharing::Exclusive).unwrap());
        let first = once_free(|| on("n8", PortSharing::First));
        drop([first, on("n8", PortSharing::Further).unwrap()]);
        drop(holders);
    });
}
