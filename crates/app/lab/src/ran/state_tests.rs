//! Two gNBs and one UE, without sockets.

use std::net::Ipv4Addr;

use causeway_packet::gtpu::{DlPduSession, Header, PduSession};
use causeway_types::{DualIp, Qfi};

use super::*;

const GNB1: GnbId = GnbId(0);
const GNB2: GnbId = GnbId(1);
const UE: UeId = UeId(0);
const UPF: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 3, 0, 1)), gtpu::PORT);
const USER: &[u8] = b"a user packet";

fn network() -> State {
    let gnb = |n: u8| (format!("gnb{n}"), IpAddr::from([10, 3, n, 2]));
    State::new([gnb(1), gnb(2)].into_iter(), 1, Timeline::default())
}

fn bearer() -> Bearer {
    let uplink = FTeid { teid: Teid::new(0x77).unwrap(), addr: DualIp::from(UPF.ip()) };
    Bearer { uplink, qfi: Qfi::new(9).unwrap() }
}

fn g_pdu(teid: Teid) -> Vec<u8> {
    let flow = PduSession::Downlink(DlPduSession::new(Qfi::new(9).unwrap()));
    let header = Header { teid: Some(teid), ..Header::default() };
    Repr { header, extensions: &[Extension::PduSession(flow)], message: Message::GPdu(USER) }
        .to_vec()
        .unwrap()
}

fn end_marker(teid: Teid) -> Vec<u8> {
    Repr::end_marker(teid).to_vec().unwrap()
}

// Input:  a connected UE; a packet from it, and one for it.
// Output: the uplink header has the UPF's TEID and the QFI; the downlink packet is delivered without its
//         header; both are counted by the octets of the user packet.
#[test]
fn a_connected_ue_sends_and_receives() {
    let mut net = network();
    let down = net.connect(UE, GNB1, bearer()).unwrap();
    let up = net.uplink(UE, USER).unwrap();
    assert_eq!((up.gnb, up.upf), (GNB1, UPF));
    let sent = [&up.header[..], USER].concat();
    let packet = Packet::parse(&sent).unwrap();
    assert_eq!(packet.header.teid, Teid::new(0x77));
    assert_eq!(packet.extensions.pdu_session().unwrap().qfi().value(), 9);
    let datagram = g_pdu(down.teid);
    let Downlink::Deliver(UE, offset) = net.downlink(GNB1, UPF, &datagram) else { panic!("not delivered") };
    assert_eq!(&datagram[offset..], USER);
    let counted = net.ue(UE);
    assert_eq!((counted.uplink_octets, counted.downlink_octets), (13, 13));
    assert!(net.tunnel(GNB1, down.teid).qfis.contains(Qfi::new(9).unwrap()));
}

// Input:  an idle UE: a packet from it, and one in the tunnel that it had.
// Output: the first does not leave; the second is answered with an Error Indication that names the tunnel.
#[test]
fn an_idle_ue_has_no_tunnel() {
    let mut net = network();
    let down = net.connect(UE, GNB1, bearer()).unwrap();
    net.disconnect(UE);
    assert_eq!(net.uplink(UE, USER), None);
    assert_eq!(net.ue(UE).not_connected, 1);
    assert_eq!(net.downlink(GNB1, UPF, &g_pdu(down.teid)), Downlink::Done);
    assert_eq!(net.tunnel(GNB1, down.teid).packets, 0);
    let (gnb, to, octets) = net.outbox.pop().unwrap();
    assert_eq!((gnb, to), (GNB1, UPF));
    let Message::ErrorIndication(error) = Packet::parse(&octets).unwrap().message else { panic!("another") };
    assert_eq!(error.teid, Some(down.teid));
}

// Input:  a handover; a packet in the new tunnel, one in the old, the End Marker, one more in each.
// Output: the new tunnel waits for the End Marker, then goes first in, first out; after it the old one is dead.
#[test]
fn the_new_tunnel_waits_for_the_end_marker_of_the_old() {
    let mut net = network();
    let old = net.connect(UE, GNB1, bearer()).unwrap().teid;
    let new = net.hand_over(UE, GNB2).unwrap().teid;
    assert_eq!(net.uplink(UE, USER).unwrap().gnb, GNB2);
    assert_eq!(net.downlink(GNB2, UPF, &g_pdu(new)), Downlink::Done);
    assert!(net.release_buffered(UE).is_empty());
    assert!(matches!(net.downlink(GNB1, UPF, &g_pdu(old)), Downlink::Deliver(UE, _)));
    assert_eq!(net.downlink(GNB1, UPF, &end_marker(old)), Downlink::Released(UE));
    assert_eq!(net.release_buffered(UE), [USER]);
    assert!(matches!(net.downlink(GNB2, UPF, &g_pdu(new)), Downlink::Deliver(UE, _)));
    assert_eq!(net.downlink(GNB1, UPF, &g_pdu(old)), Downlink::Done);
    let ended = net.tunnel(GNB1, old);
    assert_eq!((ended.packets, ended.end_markers, ended.after_end_marker), (1, 1, 1));
    assert_eq!(net.tunnel(GNB2, new).packets, 2);
}

// Input:  a handover whose End Marker never comes.
// Output: what waited in the new tunnel is delivered when the wait is over.
#[test]
fn a_lost_end_marker_only_delays() {
    let mut net = network();
    net.connect(UE, GNB1, bearer()).unwrap();
    let new = net.hand_over(UE, GNB2).unwrap().teid;
    net.downlink(GNB2, UPF, &g_pdu(new));
    net.elapse(HANDOVER_BUFFER_TIME / 2);
    assert!(net.release_buffered(UE).is_empty());
    net.elapse(HANDOVER_BUFFER_TIME / 2);
    assert_eq!(net.release_buffered(UE).len(), 1);
}

// Input:  an Echo Request, and octets that are no GTP-U.
// Output: the request's number comes back; the rest is counted and not answered.
#[test]
fn an_echo_is_answered_and_noise_is_counted() {
    let mut net = network();
    net.downlink(GNB2, UPF, &Repr::echo_request(515).to_vec().unwrap());
    let (_, _, octets) = net.outbox.pop().unwrap();
    let answer = Packet::parse(&octets).unwrap();
    assert_eq!((answer.message, answer.header.sequence), (Message::EchoResponse, Some(515)));
    net.downlink(GNB2, UPF, &[0xff; 20]);
    assert_eq!(net.gnb_counters(GNB2).malformed, 1);
    assert!(net.outbox.is_empty());
}
