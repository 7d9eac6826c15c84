//! Receive sources of packets: tunnels from gNBs, data networks, or senders without a tunnel.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;

use causeway_conformance::Arrival;
use causeway_dataplane::Ingress;
use causeway_model::{Pdr, PduSessionType, RuleSet};
use causeway_packet::gtpu::{
    DlPduSession, ErrorIndication, Extension, Header, Message, MessageType, PduSession, QfiSequence, Repr,
    UlPduSession, UlTimeStamps,
};
use causeway_types::{IpNet, NetworkInstance, Ppi, Qfi, Teid};

use crate::genes::Genes;
use crate::place::UPF;
use crate::user::{packet, spoil};
use crate::way::internet;

/// The hosts of the data network, and others that a UE may write to: another UE, a gateway, the UPF itself.
const SERVERS: [&str; 15] = [
    "198.51.100.9",
    "198.51.100.9",
    "198.51.100.10",
    "203.0.113.80",
    "10.45.0.2",
    "10.45.0.3",
    "10.45.0.1",
    "192.0.2.1",
    "192.0.2.6",
    "224.0.0.1",
    "255.255.255.255",
    "169.254.0.1",
    "127.0.0.1",
    "192.0.2.2",
    "239.1.2.3",
];

const SERVERS_V6: [&str; 12] = [
    "2001:db8:100::9",
    "2001:db8:100::9",
    "2001:db8:101::1",
    "ff02::2",
    "fe80::2",
    "2001:db8::6",
    "2001:db8::1",
    "2001:db8:45:100::1",
    "::ffff:192.0.2.1",
    "64:ff9b::192.0.2.1",
    "2001:db8:45::1",
    "ff05::2",
];

const SPOOFED: [&str; 6] = ["10.99.0.1", "10.45.0.3", "0.0.0.0", "198.51.100.9", "127.0.0.1", "224.0.0.1"];

const SPOOFED_V6: [&str; 5] = ["2001:db8:45:ff00::1", "fe80::1", "::", "ff02::1", "2001:db8:100::9"];

/// A packet for the session, or nearly.
pub(crate) fn arrival(rules: &RuleSet, index: usize, at: u32, genes: &mut Genes<'_>) -> Arrival {
    let is_downlink = genes.below(2) == 1;
    let pdrs: Vec<&Pdr> = rules.pdrs.values().filter(|pdr| pdr.pdi.tunnel.is_none() == is_downlink).collect();
    let pdr = match pdrs.is_empty() {
        true => None,
        false => Some(pdrs[genes.below(pdrs.len())]),
    };
    match (is_downlink, pdr) {
        (false, Some(pdr)) => from_gnb(rules, pdr, index, at, genes),
        _ => from_network(rules, pdr, index, genes),
    }
}

/// An address of the UE; its IP version decides that of the packet.
fn ue(rules: &RuleSet, pdr: Option<&Pdr>, genes: &mut Genes<'_>) -> IpAddr {
    let of = |pdr: &Pdr| pdr.pdi.ue_nets().collect::<Vec<IpNet>>();
    let mut nets = pdr.map(of).unwrap_or_default();
    if nets.is_empty() {
        nets = rules.pdrs.values().flat_map(of).collect();
    }
    if nets.is_empty() {
        return "10.45.0.2".parse().expect("an address");
    }
    let net = genes.pick(&nets);
    host_of(net, genes.octet())
}

/// An address in the network; with zero the first.
fn host_of(net: IpNet, host: u8) -> IpAddr {
    match net {
        IpNet::V4(net) => {
            let mask = u32::from(net.hostmask()) & u32::from(host);
            IpAddr::V4((u32::from(net.network()) | mask).into())
        }
        IpNet::V6(net) => {
            let mask = u128::from(net.hostmask()) & u128::from(host).wrapping_mul(0x0101_0001);
            IpAddr::V6((u128::from(net.network()) | mask).into())
        }
    }
}

fn one_of(names: &[&str], genes: &mut Genes<'_>) -> IpAddr {
    genes.pick(names).parse().expect("an address")
}

fn server(is_v4: bool, genes: &mut Genes<'_>) -> IpAddr {
    let odd = genes.chance(48);
    match (is_v4, odd) {
        (true, false) => one_of(&SERVERS[..2], genes),
        (true, true) => one_of(&SERVERS, genes),
        (false, false) => one_of(&SERVERS_V6[..2], genes),
        (false, true) => one_of(&SERVERS_V6, genes),
    }
}

fn from_network(rules: &RuleSet, pdr: Option<&Pdr>, index: usize, genes: &mut Genes<'_>) -> Arrival {
    let mut to = ue(rules, pdr, genes);
    if genes.chance(12) {
        to = server(to.is_ipv4(), genes);
    }
    let from = server(to.is_ipv4(), genes);
    let user = packet(from, to, genes);
    if rules.pdu_type == PduSessionType::Ethernet {
        let network = pdr.and_then(|pdr| pdr.pdi.network_instance.clone());
        let network = network.unwrap_or_else(|| NetworkInstance::new("lan"));
        return (Ingress::Ethernet { network }, frame(false, index, &user, genes));
    }
    let edge = NetworkInstance::new("edge");
    let network = if genes.chance(12) { edge } else { internet() };
    (Ingress::Ip { network }, user)
}

/// A frame between a station of the UE and one of the network.
fn frame(is_uplink: bool, index: usize, user: &[u8], genes: &mut Genes<'_>) -> Vec<u8> {
    let station = [2, 0, 0, 0, 0, index as u8];
    let other = [2, 0, 0, 1, 0, genes.below(4) as u8];
    let other = if genes.chance(48) { [0xff; 6] } else { other };
    let (to, from) = if is_uplink { (other, station) } else { (station, other) };
    let mut octets = [to, from].concat();
    if genes.chance(32) {
        octets.extend([0x81, 0, 0, 7]);
    }
    let is_v6 = user.first().is_some_and(|first| first >> 4 == 6);
    octets.extend(if is_v6 { [0x86, 0xdd] } else { [8, 0] });
    octets.extend(user);
    octets
}

fn from_gnb(rules: &RuleSet, pdr: &Pdr, index: usize, at: u32, genes: &mut Genes<'_>) -> Arrival {
    let tunnel = pdr.pdi.tunnel.expect("a PDR of a tunnel");
    let mut from = ue(rules, Some(pdr), genes);
    if genes.chance(12) {
        from = if from.is_ipv4() { one_of(&SPOOFED, genes) } else { one_of(&SPOOFED_V6, genes) };
    }
    let to = server(from.is_ipv4(), genes);
    let user = packet(from, to, genes);
    let user = match rules.pdu_type {
        PduSessionType::Ip => user,
        PduSessionType::Ethernet => frame(true, index, &user, genes),
    };
    let locals: Vec<IpAddr> = tunnel.addr.iter().collect();
    let mut local = genes.pick(&locals);
    let mut teid = Some(tunnel.teid);
    let odd = if genes.chance(12) { 61 + genes.below(3) } else { 0 };
    match odd {
        // Unknown TEIDs, each a different one.
        61 => teid = Teid::new(0x5000_0000 + at * 64 + u32::from(genes.octet())),
        62 => teid = Teid::new(tunnel.teid.value() ^ 1 << (24 + genes.below(8))),
        63 => local = genes.pick(&[IpAddr::from(UPF[0].0), UPF[0].1.into(), UPF[1].0.into()]),
        _ => {}
    }
    let qfi = pdr.pdi.qfis.iter().next().or(Qfi::new(9)).expect("6 bits");
    let mut octets = g_pdu(rules, teid, qfi, &user, genes);
    if genes.chance(12) {
        spoil(&mut octets, genes);
    }
    let tos = if genes.chance(50) { genes.octet() } else { 0 };
    let peer = if local.is_ipv4() { "198.51.100.1" } else { "2001:db8:99::1" };
    let peer = SocketAddr::new(peer.parse().expect("an address"), genes.pick(&[2152, 2152, 2152, 40_000]));
    let hops = genes.maybe(64, &[64, 1, 2, 255]).and_then(NonZeroU8::new);
    (Ingress::Gtpu { local, peer, tos, hops }, octets)
}

/// A G-PDU or, seldom, another message.
fn g_pdu(rules: &RuleSet, teid: Option<Teid>, qfi: Qfi, user: &[u8], genes: &mut Genes<'_>) -> Vec<u8> {
    let sequence = genes.chance(50).then(|| genes.word());
    let n_pdu = genes.chance(12).then(|| genes.octet());
    let qfi = genes.maybe(16, &[1, 5, 9, 63]).and_then(Qfi::new).unwrap_or(qfi);
    let mut extensions: Vec<_> = container(qfi, genes).map(Extension::PduSession).into_iter().collect();
    if genes.chance(12) {
        for _ in 0..1 + genes.below(4) {
            let kind = genes.pick(&[0x20, 0x40, 0x81, 0xc0, 0x01, 0x03, 0x82, 0xc8, 0x85]);
            let other = Extension::Other { kind, content: &[0x10, 9] };
            let at = genes.below(extensions.len() + 1);
            extensions.insert(at, other);
        }
    }
    let message = if genes.chance(10) { signalling(rules, genes) } else { Message::GPdu(user) };
    let header = Header { teid, sequence, n_pdu };
    Repr { header, extensions: &extensions, message }.to_vec().expect("no longer than a datagram")
}

/// The container of a gNB; seldom none, one with all there may be, or one of the other direction.
fn container(qfi: Qfi, genes: &mut Genes<'_>) -> Option<PduSession> {
    let uplink = UlPduSession::new(qfi);
    let sequence = QfiSequence::new(7);
    let odd = if genes.chance(52) { 19 + genes.below(5) } else { 0 };
    Some(match odd {
        19 | 20 => return None,
        21 => PduSession::Uplink(UlPduSession {
            time_stamps: Some(UlTimeStamps { dl_sending_repeated: 1, dl_received: 2, ul_sending: 3 }),
            dl_delay: genes.maybe(128, &[4]),
            ul_delay: Some(5),
            sequence,
            n3_n9_delay: genes.maybe(128, &[6]),
            d1_ul_pdcp_delay: genes.maybe(128, &[true]),
            ..uplink
        }),
        22 => PduSession::Downlink(DlPduSession::new(qfi)),
        23 => PduSession::Downlink(DlPduSession {
            rqi: true,
            ppi: Ppi::new(2),
            sending_time: genes.maybe(128, &[8]),
            sequence,
            mbs_sequence: genes.maybe(128, &[9]),
            ..DlPduSession::new(qfi)
        }),
        _ => PduSession::Uplink(uplink),
    })
}

fn signalling<'a>(rules: &RuleSet, genes: &mut Genes<'_>) -> Message<'a> {
    let far = rules.fars.values().filter_map(|far| far.forwarding.as_ref()?.tunnel()).next();
    let refused = far
        .and_then(|tunnel| Some(ErrorIndication { teid: Some(tunnel.teid), peer: tunnel.addr.preferred()? }));
    match (genes.below(6), refused) {
        (0, _) => Message::EndMarker,
        (1, _) => Message::EchoRequest,
        (2, _) => Message::EchoResponse,
        (3, Some(refused)) => Message::ErrorIndication(refused),
        (4, _) => Message::SupportedExtensionHeaders(&[0x85]),
        _ => Message::Other { message_type: MessageType(genes.octet()), body: &[1, 2, 3] },
    }
}
