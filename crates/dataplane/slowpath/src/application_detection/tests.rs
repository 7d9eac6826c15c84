use std::net::Ipv4Addr;

use causeway_packet::{Ipv4Repr, TcpRepr, UdpRepr};

use super::*;

const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);

const REQUEST: &[u8] = b"GET /a HTTP/1.1\r\nHost: www.Example.com:80\r\n\r\n";

fn segment(
    src: (Ipv4Addr, u16),
    dst: (Ipv4Addr, u16),
    sequence: u32,
    flags: TcpFlags,
    data: &[u8],
) -> Vec<u8> {
    let header = TcpRepr {
        src_port: src.1,
        dst_port: dst.1,
        sequence,
        acknowledgment: 0,
        flags,
        window: 1000,
        urgent: 0,
    };
    let (mut tcp, mut packet) = (Vec::new(), Vec::new());
    header.write(src.0.into(), dst.0.into(), &[], data, &mut tcp).unwrap();
    Ipv4Repr::new(src.0, dst.0, IpProtocol::TCP).write(&[], &tcp, &mut packet).unwrap();
    packet
}

fn up(port: u16, sequence: u32, data: &[u8]) -> Vec<u8> {
    segment((UE, port), (SERVER, 80), sequence, TcpFlags::ACK, data)
}

fn name(detector: &mut Detector, packet: &[u8]) -> Option<String> {
    detector.observe(&UserPacket::parse(packet).unwrap()).and_then(|seen| seen.name.clone())
}

// Input:  an HTTP request in one segment; then the response; then a new connection with the same ports.
// Output: the name from the request on, for both directions; none for the new connection.
#[test]
fn a_flow_is_tracked_until_a_new_one_begins() {
    let mut detector = Detector::default();
    let www = Some("www.example.com".to_owned());
    assert_eq!(name(&mut detector, &up(1, 100, b"")), None);
    assert_eq!(name(&mut detector, &up(1, 100, REQUEST)), www);
    let answer = segment((SERVER, 80), (UE, 1), 7, TcpFlags::ACK, b"HTTP/1.1 200 OK\r\n");
    assert_eq!(name(&mut detector, &answer), www);
    let syn = segment((UE, 1), (SERVER, 80), 9, TcpFlags::SYN, b"");
    assert_eq!(name(&mut detector, &syn), None);
    assert_eq!(name(&mut detector, &up(1, 10, b"SSH-2.0-x\r\n")), None);
}

// Input:  a request cut into segments of 7 octets, with retransmissions and segments of the server between, across
//         the end of the sequence numbers.
// Output: found with the segment that completes the Host line.
#[test]
fn a_stream_is_reassembled_in_order() {
    let mut detector = Detector::default();
    let start = u32::MAX - 10;
    let mut found = None;
    for (index, part) in REQUEST.chunks(7).enumerate() {
        let sequence = start.wrapping_add(index as u32 * 7);
        found = name(&mut detector, &up(1, sequence, part));
        let repeated = name(&mut detector, &up(1, sequence, part));
        assert_eq!(found, repeated);
        name(&mut detector, &segment((SERVER, 80), (UE, 1), 500, TcpFlags::ACK, b"x"));
    }
    assert_eq!(found.as_deref(), Some("www.example.com"));
}

// Input:  a request of which the second segment is missing; one whose Host header never ends.
// Output: nothing is detected, and no stream is kept of either.
#[test]
fn a_gap_or_an_oversized_stream_ends_detection() {
    let mut detector = Detector::default();
    name(&mut detector, &up(1, 0, &REQUEST[..10]));
    assert_eq!(name(&mut detector, &up(1, 20, &REQUEST[20..])), None);
    assert_eq!(name(&mut detector, &up(1, 10, &REQUEST[10..])), None);
    name(&mut detector, &up(2, 0, b"GET / HTTP/1.1\r\nHost: "));
    for part in 0..8 {
        assert_eq!(name(&mut detector, &up(2, 22 + part * 1000, &[b'a'; 1000])), None);
    }
    assert!(detector.flows.values().all(|entry| entry.state == State::Done(None)));
}

// Input:  a flood of flows, one of them with a packet now and then.
// Output: the table keeps its bound; the busy flow is still tracked.
#[test]
fn a_flood_of_flows_is_bounded() {
    let mut detector = Detector::default();
    name(&mut detector, &up(1, 0, REQUEST));
    for port in 2..2000 {
        name(&mut detector, &up(port, 0, b"GET /"));
        if port % 100 == 0 {
            assert!(name(&mut detector, &up(1, 50, b"x")).is_some());
        }
    }
    assert_eq!(detector.len(), MAX_FLOWS);
}

// Input:  two DNS queries from one socket, and the response to the second.
// Output: each query shows its name; the response has that of the second.
#[test]
fn each_dns_query_shows_its_name() {
    let mut detector = Detector::default();
    let mut dns = |src: (Ipv4Addr, u16), dst: (Ipv4Addr, u16), flags: u8, label: &[u8]| {
        let header = [0, 1, flags, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let question = [&[label.len() as u8][..], label, &[0, 0, 1, 0, 1]].concat();
        let (mut udp, mut packet) = (Vec::new(), Vec::new());
        let ports = UdpRepr { src_port: src.1, dst_port: dst.1 };
        ports.write(src.0.into(), dst.0.into(), &[&header[..], &question].concat(), &mut udp).unwrap();
        Ipv4Repr::new(src.0, dst.0, IpProtocol::UDP).write(&[], &udp, &mut packet).unwrap();
        name(&mut detector, &packet)
    };
    assert_eq!(dns((UE, 5), (SERVER, 53), 1, b"one").as_deref(), Some("one"));
    assert_eq!(dns((UE, 5), (SERVER, 53), 1, b"two").as_deref(), Some("two"));
    assert_eq!(dns((SERVER, 53), (UE, 5), 0x81, b"two").as_deref(), Some("two"));
}
