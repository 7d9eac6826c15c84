//! A server that receives an enriched stream over a path that loses packets.

use std::net::{IpAddr, Ipv4Addr};

use causeway_packet::{IpProtocol, IpRepr, Tcp, TcpRepr};
use proptest::prelude::*;

use super::*;

const UE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 45, 0, 2));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 80));
const REQUEST: &str = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
const ENRICHED: &str = "GET /a HTTP/1.1\r\nX-Line: 0123456789\r\nHost: a\r\n\r\n";
/// Octets of the request line.
const LINE: u32 = 17;

fn packet(from_ue: bool, sequence: u32, acknowledgment: u32, flags: TcpFlags, payload: &[u8]) -> Vec<u8> {
    let (src, dst, src_port, dst_port) =
        if from_ue { (UE, SERVER, 40000, 80) } else { (SERVER, UE, 80, 40000) };
    let repr = TcpRepr { src_port, dst_port, sequence, acknowledgment, flags, window: 9, urgent: 0 };
    let (mut segment, mut packet) = (Vec::new(), Vec::new());
    repr.write(src, dst, &[], payload, &mut segment).unwrap();
    IpRepr::new(src, dst, IpProtocol::TCP).unwrap().write(&segment, &mut packet).unwrap();
    packet
}

/// The two endpoints and the UPF between them. Numbers are counted from after the SYN.
struct Connection {
    flows: EnrichedFlows,
    first: u32,
    /// The octets that the server has received, in order or not, by number.
    got: Vec<Option<u8>>,
    /// The octets that the UE knows to be received.
    acknowledged: u32,
}

impl Connection {
    fn open(first: u32) -> Self {
        let mut flows = EnrichedFlows::default();
        let syn = packet(true, first.wrapping_sub(1), 0, TcpFlags::SYN, &[]);
        let field = HttpField::new(b"X", b"y").unwrap();
        flows.uplink(&syn, &[field], 1500, Time::from_secs(1)).unwrap();
        Self { flows, first, got: Vec::new(), acknowledged: 0 }
    }

    /// The UE sends octets; the packet may get lost after the UPF.
    fn send(&mut self, start: u32, octets: &[u8], turn: u32, max_payload: usize, is_lost: bool) {
        let sent = packet(true, self.first.wrapping_add(start), turn, TcpFlags::ACK, octets);
        let field = HttpField::new(b"X-Line", b"0123456789").unwrap();
        let out = self.flows.uplink(&sent, &[field], max_payload, Time::from_secs(1)).unwrap();
        if is_lost {
            return;
        }
        let user = UserPacket::parse(&out).unwrap();
        let tcp = Tcp::parse(user.transport()).unwrap();
        assert!(tcp.checksum_is_valid(UE, SERVER) && user.len() == out.len() && out.len() <= max_payload);
        let at = tcp.sequence().wrapping_sub(self.first) as usize;
        self.got.resize(self.got.len().max(at + tcp.payload().len()), None);
        for (held, octet) in self.got[at..].iter_mut().zip(tcp.payload()) {
            assert!(held.is_none_or(|held| held == *octet), "an octet changed");
            *held = Some(*octet);
        }
    }

    /// The server acknowledges the octets it has in order.
    fn answer(&mut self) {
        let whole = self.got.iter().take_while(|octet| octet.is_some()).count() as u32;
        let answer = packet(false, 1, self.first.wrapping_add(whole), TcpFlags::ACK, &[]);
        let out = self.flows.downlink(&answer, Time::from_secs(1)).unwrap();
        let user = UserPacket::parse(&out).unwrap();
        let tcp = Tcp::parse(user.transport()).unwrap();
        assert!(tcp.checksum_is_valid(SERVER, UE));
        self.acknowledged = self.acknowledged.max(tcp.acknowledgment().wrapping_sub(self.first));
    }
}

proptest! {
    // Input:  three requests on one connection, cut and retransmitted arbitrarily, over a path that loses packets and
    //         has a changing maximum payload, with any first sequence number.
    // Output: the server receives each request with its field, once.
    #[test]
    fn the_server_gets_the_enriched_stream_once(
        first in prop_oneof![any::<u32>(), Just(u32::MAX - 40)],
        steps in proptest::collection::vec((0..60_u32, 1..60_u32, 77..200_usize, any::<[bool; 2]>()), 0..60),
    ) {
        let mut connection = Connection::open(first);
        let stream = REQUEST.repeat(3);
        let (mut steps, len) = (steps.into_iter(), REQUEST.len() as u32);
        for turn in 0..3 {
            let end = len * (turn + 1);
            let mut high = len * turn;
            for count in 0.. {
                if connection.acknowledged == end { break }
                prop_assert!(count < 200, "the stream is stuck");
                let (back, size, max_payload, [lost, answers]) = steps.next().unwrap_or((60, 60, 200, [false, true]));
                let is_first = high == len * turn;
                let start = high.saturating_sub(back).max(connection.acknowledged);
                let size = if is_first { size.max(LINE) } else { size };
                let stop = (start + size).min(end);
                let max_payload = if is_first { 200 } else { max_payload };
                let octets = &stream.as_bytes()[start as usize..stop as usize];
                connection.send(start, octets, turn + 1, max_payload, lost);
                high = high.max(stop);
                if answers { connection.answer() }
            }
        }
        let got: Vec<u8> = connection.got.iter().map(|octet| octet.unwrap()).collect();
        prop_assert_eq!(String::from_utf8(got).unwrap(), ENRICHED.repeat(3));
    }
}

// Input:  more connections than are tracked, all enriched and open; then one of them resets.
// Output: the last is not enriched, and the others are unchanged; then there is capacity again.
#[test]
fn enriched_connections_are_kept_while_open() {
    let mut connection = Connection::open(1);
    connection.send(0, REQUEST.as_bytes(), 1, 1500, false);
    let known = connection.flows.0[0].1.clone();
    let at = |port| Key { ue: (UE, port).into(), server: (SERVER, 80).into() };
    connection.flows.0 = (0..MAX_TRACKED_FLOWS as u16).map(|port| (at(port), known.clone())).collect();
    let user = packet(true, 5, 0, TcpFlags::SYN, &[]);
    let syn = TcpPacket::open(&UserPacket::parse(&user).unwrap()).unwrap();
    connection.flows.begin(at(1000), &syn, true, Time::from_secs(1));
    assert!(connection.flows.0.iter().all(|(_, flow)| *flow == known));
    let reset = packet(false, 1, 0, TcpFlags::RST, &[]);
    let mut reset = TcpPacket::open(&UserPacket::parse(&reset).unwrap()).unwrap();
    connection.flows.0[7].1.downlink(&mut reset);
    connection.flows.begin(at(1000), &syn, true, Time::from_secs(1));
    assert_eq!(connection.flows.0.len(), MAX_TRACKED_FLOWS);
    assert!(connection.flows.find(&at(1000), Time::from_secs(1)).is_some());
    assert!(connection.flows.find(&at(7), Time::from_secs(1)).is_none());
}
