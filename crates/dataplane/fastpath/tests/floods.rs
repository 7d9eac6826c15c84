//! Packets that nobody should send, in numbers: the fast path does what the reference does, and does it without the slow room but
//! for the few that are answered.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_dataplane::{
    Dataplane, Egress, Fate, GtpuEndpoint, Ingress, Network, PacketEngine, Plan, Topology,
};
use causeway_fastpath::FastPath;
use causeway_packet::checksum::checksum;
use causeway_packet::gtpu::{Extension, Header, Message, MessageType, PduSession, Repr, UlPduSession};
use causeway_packet::{IpRepr, UdpRepr};
use causeway_reference::{Limits, Reference};
use causeway_rules::{
    Far, Forwarding, HeaderRemoval, MeasurementMethod, Pdi, Pdr, RemovedHeader, RuleSet, UeAddress, UeSide,
    Urr, plan_establishment,
};
use causeway_types::{
    DualIp, FTeid, FarId, Interface, Ipv6Net, NetworkInstance, PdrId, Qfi, Seid, Span, Teid, Time, UrrId,
};

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const UE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);
const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);
const UE_V6: &str = "2001:db8:45::7";
const SERVER_V6: &str = "2001:db8:9::9";
/// The TEID of the session to the data network, and that of one that relays to another UPF.
const OURS: u32 = 0x11;
const RELAYED: u32 = 0x12;
/// Packets of each kind.
const FLOOD: usize = 3000;
/// The largest packet in a tunnel is smaller than this with its outer headers.
const MTU: u32 = 1500;

fn tunnel(teid: u32, ip: Ipv4Addr) -> FTeid {
    FTeid { teid: Teid::new(teid).unwrap(), addr: DualIp::from(ip) }
}

fn topology() -> Topology {
    let pools = ["10.0.0.0/8", "2001:db8:45::/48"].map(|pool| pool.parse().unwrap()).into();
    let mut network = Network::new(NetworkInstance::new("internet"), pools);
    network.gateways = vec!["10.0.0.1".parse().unwrap(), "2001:db8:45:ffff::1".parse().unwrap()];
    let mut endpoint = GtpuEndpoint::new(DualIp::from(UPF));
    endpoint.mtu = MTU;
    Topology { gtpu: vec![endpoint], networks: vec![network], ..Topology::default() }
}

/// Both ways between a gNB and the data network, and one way from the gNB to another UPF, all of it measured.
fn rules() -> RuleSet {
    let prefix: Ipv6Net = "2001:db8:45::/64".parse().unwrap();
    let ue = |side| Some(UeAddress { v4: Some(UE), v6: Some(prefix), side });
    let removal = Some(HeaderRemoval { header: RemovedHeader::GtpuIpv4, deletes_container: false });
    let without_container = removal.map(|removal| HeaderRemoval { deletes_container: true, ..removal });
    let urrs = || vec![UrrId(1)];
    let from = |teid| Pdi { tunnel: Some(tunnel(teid, UPF)), ..Pdi::new(Interface::Access) };
    let uplink = Pdi { ue: ue(UeSide::Source), ..from(OURS) };
    let downlink = Pdi { ue: ue(UeSide::Destination), ..Pdi::new(Interface::Core) };
    let mut rules = RuleSet::default();
    rules.pdrs.extend([
        (PdrId(1), Pdr { removal, urrs: urrs(), ..Pdr::new(PdrId(1), uplink, FarId(1)) }),
        (PdrId(2), Pdr { urrs: urrs(), ..Pdr::new(PdrId(2), downlink, FarId(2)) }),
        (
            PdrId(3),
            Pdr { removal: without_container, urrs: urrs(), ..Pdr::new(PdrId(3), from(RELAYED), FarId(3)) },
        ),
    ]);
    let into = |id, side, teid| {
        (FarId(id), Far::forward(FarId(id), Forwarding::into_tunnel(side, tunnel(teid, GNB))))
    };
    rules.fars.extend([
        (FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core))),
        into(2, Interface::Access, 0x101),
        into(3, Interface::Core, 0x102),
    ]);
    let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
    rules.urrs.extend([(UrrId(1), Urr::new(UrrId(1), method))]);
    rules
}

/// The reference and the fast path, to both of which the same happens.
struct Both {
    slow: Reference,
    fast: FastPath,
    now: Time,
}

impl Both {
    fn new() -> Self {
        let limits = Limits { max_sessions: 4, ..Limits::default() };
        let (mut slow, mut fast) =
            (Reference::new(topology(), limits), FastPath::new(topology(), limits).unwrap());
        let now = Time::from_secs(1000);
        let plan: Plan = plan_establishment(Seid(1), &rules());
        assert_eq!(slow.apply(now, &plan), fast.apply(now, &plan));
        Self { slow, fast, now }
    }

    fn send(&mut self, (ingress, packet): &(Ingress, Vec<u8>)) -> Fate {
        self.now = self.now + Span::from_micros(1);
        let (mut by_slow, mut by_fast) = (Vec::<(Egress, Vec<u8>)>::new(), Vec::new());
        let wanted = self.slow.process(self.now, ingress, packet, &mut by_slow);
        let found = self.fast.process(self.now, ingress, packet, &mut by_fast);
        assert_eq!((found, &by_fast), (wanted, &by_slow), "{packet:02x?}");
        assert_eq!(self.slow.poll_event(), self.fast.poll_event());
        wanted
    }
}

/// A packet by UDP of so many octets behind its header.
fn user(src: IpAddr, dst: IpAddr, octets: usize) -> Vec<u8> {
    let ports = UdpRepr { src_port: 40_000, dst_port: 8000 };
    let mut packet = Vec::new();
    let header = IpRepr::new(src, dst, causeway_packet::IpProtocol::UDP).unwrap();
    header.write_udp(ports, true, &[&vec![7; octets]], &mut packet).unwrap();
    packet
}

fn from_ue() -> Vec<u8> {
    user(UE.into(), SERVER.into(), 30)
}

fn to_ue() -> Vec<u8> {
    user(SERVER.into(), UE.into(), 30)
}

/// Changes the IPv4 header of a packet, and makes its checksum right.
fn with_header(mut packet: Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    change(&mut packet);
    let end = usize::from(packet[0] & 0x0f) * 4;
    packet[10..12].fill(0);
    let sum = checksum(&packet[..end]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn with_options(packet: Vec<u8>) -> Vec<u8> {
    with_header(packet, |packet| {
        packet.splice(20..20, [1, 1, 1, 0]);
        packet[0] = 0x46;
        let len = packet.len() as u16;
        packet[2..4].copy_from_slice(&len.to_be_bytes());
    })
}

/// In a tunnel, with these extension headers before its container.
fn tunnelled_with(teid: u32, others: &[Extension<'_>], user: &[u8], tos: u8) -> (Ingress, Vec<u8>) {
    let qfi = Qfi::new(9).unwrap();
    let container = UlPduSession {
        qfi,
        time_stamps: None,
        dl_delay: None,
        ul_delay: None,
        sequence: None,
        n3_n9_delay: None,
        d1_ul_pdcp_delay: None,
    };
    let extensions = [others, &[Extension::PduSession(PduSession::Uplink(container))]].concat();
    let header = Header { teid: Teid::new(teid), sequence: None, n_pdu: None };
    let packet = Repr { header, extensions: &extensions, message: Message::GPdu(user) }.to_vec().unwrap();
    (by_gtpu(tos), packet)
}

fn by_gtpu(tos: u8) -> Ingress {
    Ingress::Gtpu { local: UPF.into(), peer: SocketAddr::new(GNB.into(), 2152), tos }
}

fn tunnelled(user: &[u8]) -> (Ingress, Vec<u8>) {
    tunnelled_with(OURS, &[], user, 0)
}

fn from_network(user: Vec<u8>) -> (Ingress, Vec<u8>) {
    (Ingress::Ip { network: NetworkInstance::new("internet") }, user)
}

fn extension(kind: u8) -> Extension<'static> {
    Extension::Other { kind, content: &[0, 0] }
}

/// A container and so many extension headers that nobody has to understand.
fn stacked(count: usize) -> Vec<u8> {
    let mut packet = tunnelled(&from_ue()).1;
    packet[15] = 0x3f;
    let headers = (1..=count).flat_map(|at| [1, 0, 0, if at < count { 0x3f } else { 0 }]);
    packet.splice(16..16, headers);
    let len = packet.len() as u16 - 8;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet
}

/// All kinds, each with its name.
fn kinds() -> Vec<(&'static str, (Ingress, Vec<u8>))> {
    let v6 = |hops: u8, octets| {
        let mut packet = user(UE_V6.parse().unwrap(), SERVER_V6.parse().unwrap(), octets);
        packet[7] = hops;
        packet
    };
    let to_v6 = |octets| user(SERVER_V6.parse().unwrap(), UE_V6.parse().unwrap(), octets);
    let last_hop = |packet| with_header(packet, |packet| packet[8] = 1);
    let whole = |packet| with_header(packet, |packet| packet[6] = 0x40);
    let fragment = |packet, field: u16| {
        with_header(packet, |packet: &mut Vec<u8>| packet[6..8].copy_from_slice(&field.to_be_bytes()))
    };
    let protocol = |packet, number| with_header(packet, |packet: &mut Vec<u8>| packet[9] = number);
    let ect = |packet| with_header(packet, |packet| packet[1] = 2);
    let other = Header { teid: Teid::new(OURS), sequence: None, n_pdu: None };
    let message = Message::Other { message_type: MessageType(77), body: &[1, 2, 3] };
    let other = Repr { header: other, extensions: &[], message }.to_vec().unwrap();
    let in_tunnel = |teid, kind| tunnelled_with(teid, &[extension(kind)], &from_ue(), 0);
    vec![
        ("good", tunnelled(&from_ue())),
        ("good to the UE", from_network(to_ue())),
        ("unknown TEID", tunnelled_with(0x77, &[], &from_ue(), 0)),
        ("TEID of zero", (by_gtpu(0), [&[0x30, 0xff, 0, 58, 0, 0, 0, 0][..], &from_ue()].concat())),
        ("address of no UE", from_network(user(SERVER.into(), [10, 9, 9, 9].into(), 30))),
        ("UE address of another", tunnelled(&user([10, 0, 0, 8].into(), SERVER.into(), 30))),
        ("optional extension header", in_tunnel(OURS, 0x3f)),
        ("optional extension header to discard", in_tunnel(OURS, 0x41)),
        ("extension header for the endpoint", in_tunnel(OURS, 0x8a)),
        ("extension header for everybody", in_tunnel(OURS, 0xca)),
        ("extension header for the endpoint, unknown TEID", in_tunnel(0x77, 0x8a)),
        ("8 extension headers", tunnelled_with(OURS, &[extension(0x3f); 7], &from_ue(), 0)),
        ("16 extension headers", (by_gtpu(0), stacked(16))),
        (
            "extension header of no length",
            (by_gtpu(0), {
                let mut packet = stacked(2);
                packet[16] = 0;
                packet
            }),
        ),
        ("relayed", tunnelled_with(RELAYED, &[], &from_ue(), 0)),
        ("no GTP-U", (by_gtpu(0), vec![0x5a; 60])),
        ("unknown message", (by_gtpu(0), other)),
        ("cut short", (by_gtpu(0), tunnelled(&from_ue()).1[..40].to_vec())),
        ("user packet cut short", tunnelled(&from_ue()[..40])),
        ("cut short to the UE", from_network(to_ue()[..40].to_vec())),
        ("options", tunnelled(&with_options(from_ue()))),
        ("options to the UE", from_network(with_options(to_ue()))),
        ("options and last hop", tunnelled(&last_hop(with_options(from_ue())))),
        ("first fragment", tunnelled(&fragment(from_ue(), 0x2000))),
        ("later fragment", tunnelled(&fragment(from_ue(), 0x2003))),
        ("fragment beyond the end", tunnelled(&fragment(from_ue(), 0x1fff))),
        ("later fragment to the UE", from_network(fragment(to_ue(), 0x0003))),
        ("ICMP", tunnelled(&protocol(from_ue(), 1))),
        ("ESP", tunnelled(&protocol(from_ue(), 50))),
        ("no known protocol", from_network(protocol(to_ue(), 253))),
        ("last hop", tunnelled(&last_hop(from_ue()))),
        ("last hop to the UE", from_network(last_hop(to_ue()))),
        ("last hop of a later fragment", tunnelled(&last_hop(fragment(from_ue(), 0x2003)))),
        ("last hop to a group", tunnelled(&last_hop(user(UE.into(), [224, 0, 1, 9].into(), 30)))),
        ("last hop, IPv6", tunnelled(&v6(1, 30))),
        ("IPv6", tunnelled(&v6(64, 30))),
        ("too large", from_network(whole(user(SERVER.into(), UE.into(), 1460)))),
        ("too large, IPv6", from_network(to_v6(1460))),
        (
            "wrong checksum",
            tunnelled(&{
                let mut packet = from_ue();
                packet[10] ^= 0x55;
                packet
            }),
        ),
        ("congestion that cannot be told", tunnelled_with(OURS, &[], &from_ue(), 3)),
        (
            "congestion that cannot be told, of another UE",
            tunnelled_with(OURS, &[], &user([10, 0, 0, 8].into(), SERVER.into(), 30), 3),
        ),
        ("congestion that cannot be told, unknown TEID", tunnelled_with(0x77, &[], &from_ue(), 3)),
        ("congestion", tunnelled_with(OURS, &[], &ect(from_ue()), 3)),
        ("congestion, options", tunnelled_with(OURS, &[], &ect(with_options(from_ue())), 3)),
        ("congestion, relayed", tunnelled_with(RELAYED, &[], &ect(from_ue()), 3)),
        ("ECT(1) outside", tunnelled_with(OURS, &[], &ect(from_ue()), 1)),
    ]
}

// Input:  for a session that has had good packets, 3000 packets of each kind, a microsecond apart.
// Output: the same from reference and fast path: fates, what leaves, and all counters. All but a tenth, which is answered, is
//         decided without the slow room.
#[test]
fn floods_need_no_slow_room() {
    let mut slow = Vec::new();
    for (name, packet) in kinds() {
        let mut both = Both::new();
        // Measurement begins with what passes.
        for good in
            [tunnelled(&from_ue()), tunnelled_with(RELAYED, &[], &from_ue(), 0), from_network(to_ue())]
        {
            assert_eq!(both.send(&good), Fate::Forwarded);
        }
        let fates: Vec<_> = (0..FLOOD).map(|_| both.send(&packet)).collect();
        assert_eq!(both.slow.counters(), both.fast.counters(), "{name}");
        if both.fast.hot_packets() < FLOOD as u64 * 9 / 10 {
            slow.push((name, both.fast.hot_packets(), fates.last().copied()));
        }
    }
    assert_eq!(slow, []);
}

// Input:  all kinds in turns, so that batches before and after are of other kinds.
// Output: the same from both.
#[test]
fn mixed_floods_are_the_same_to_both() {
    let mut both = Both::new();
    for round in 0..200 {
        for (name, packet) in kinds() {
            both.send(&packet);
            assert_eq!(both.slow.counters(), both.fast.counters(), "{name} in round {round}");
        }
    }
}
