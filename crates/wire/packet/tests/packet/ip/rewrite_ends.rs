//! New addresses and ports for packets in place.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use causeway_packet::rewrite::RewriteError;
use causeway_packet::{Ends, IpProtocol, IpRepr, Ipv4Repr, TcpFlags, TcpRepr, UdpRepr, set_ends};
use proptest::prelude::*;

/// A UDP or TCP packet with these addresses and ports.
fn packet(is_tcp: bool, src: SocketAddr, dst: SocketAddr, payload: &[u8]) -> Vec<u8> {
    let mut segment = Vec::new();
    let (protocol, written) = if is_tcp {
        let tcp = TcpRepr {
            src_port: src.port(),
            dst_port: dst.port(),
            sequence: 7,
            acknowledgment: 9,
            flags: TcpFlags::ACK,
            window: 100,
            urgent: 0,
        };
        (IpProtocol::TCP, tcp.write(src.ip(), dst.ip(), &[], payload, &mut segment))
    } else {
        let udp = UdpRepr { src_port: src.port(), dst_port: dst.port() };
        (IpProtocol::UDP, udp.write(src.ip(), dst.ip(), payload, &mut segment))
    };
    written.expect("one family");
    let mut out = Vec::new();
    let repr = IpRepr::new(src.ip(), dst.ip(), protocol).expect("one family");
    repr.write(&segment, &mut out).expect("fits");
    out
}

fn end(v6: bool) -> impl Strategy<Value = SocketAddr> {
    let ip = if v6 {
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from(bits))).boxed()
    } else {
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from(bits))).boxed()
    };
    (ip, any::<u16>()).prop_map(|(ip, port)| SocketAddr::new(ip, port))
}

proptest! {
    // Input:  any UDP or TCP packet, any new addresses and ports, some of them unchanged.
    // Output: the same octets as a packet built with the new ones.
    #[test]
    fn a_changed_packet_is_the_one_built_so(
        ((src, dst), (new_src, new_dst)) in any::<bool>()
            .prop_flat_map(|v6| ((end(v6), end(v6)), (end(v6), end(v6)))),
        is_tcp: bool,
        with: [bool; 4],
        payload in proptest::collection::vec(any::<u8>(), 0..50),
    ) {
        let mut changed = packet(is_tcp, src, dst, &payload);
        let ends = Ends {
            src: with[0].then_some(new_src.ip()),
            dst: with[1].then_some(new_dst.ip()),
            src_port: with[2].then_some(new_src.port()),
            dst_port: with[3].then_some(new_dst.port()),
        };
        prop_assert_eq!(set_ends(&mut changed, &ends), Ok(()));
        let ip = |with: bool, new: SocketAddr, old: SocketAddr| if with { new.ip() } else { old.ip() };
        let port = |with: bool, new: SocketAddr, old: SocketAddr| if with { new.port() } else { old.port() };
        let src = SocketAddr::new(ip(with[0], new_src, src), port(with[2], new_src, src));
        let dst = SocketAddr::new(ip(with[1], new_dst, dst), port(with[3], new_dst, dst));
        prop_assert_eq!(changed, packet(is_tcp, src, dst, &payload));
    }
}

const NEW: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 9));

// Input:  UDP over IPv4 without a checksum; a later fragment; addresses of the other IP version; half a packet.
// Output: still without; new addresses alone; unchanged; an error and the octets unchanged.
#[test]
fn what_has_no_checksum_or_no_ports() {
    let ends = Ends { dst: Some(NEW), dst_port: Some(9000), ..Ends::default() };
    let (ue, server) = (SocketAddr::from(([10, 45, 0, 2], 1)), SocketAddr::from(([198, 51, 100, 9], 53)));
    let mut absent = packet(false, ue, server, b"abc");
    absent[26..28].fill(0);
    set_ends(&mut absent, &ends).unwrap();
    assert_eq!(
        (absent[22..24].to_vec(), absent[26..28].to_vec()),
        (9000u16.to_be_bytes().to_vec(), vec![0, 0])
    );

    let repr = Ipv4Repr::new([10, 45, 0, 2].into(), [198, 51, 100, 9].into(), IpProtocol::UDP);
    let mut later = Vec::new();
    Ipv4Repr { fragment_units: 100, ..repr }.write(&[], &[1; 16], &mut later).unwrap();
    set_ends(&mut later, &ends).unwrap();
    assert_eq!((later[16..20].to_vec(), later[20..].to_vec()), (vec![203, 0, 113, 9], vec![1; 16]));

    let other = Ends { src: Some(Ipv6Addr::LOCALHOST.into()), ..Ends::default() };
    let mut same = packet(true, ue, server, b"");
    set_ends(&mut same, &other).unwrap();
    assert_eq!(same, packet(true, ue, server, b""));

    let mut half = packet(true, ue, server, b"")[..30].to_vec();
    assert_eq!(set_ends(&mut half, &ends), Err(RewriteError::NotIp));
    assert_eq!(half, packet(true, ue, server, b"")[..30]);
}
