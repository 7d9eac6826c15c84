//! What is said of a frame of an Ethernet session is what becomes of it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_dataplane::{
    Dataplane, Egress, EthernetNetwork, GtpuEndpoint, Ingress, PacketEngine, Plan, Topology,
};
use causeway_model::{Far, Forwarding, HeaderRemoval, Pdi, Pdr, PduSessionType, RuleSet};
use causeway_packet::gtpu::prefix;
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{FTeid, FarId, Interface, NetworkInstance, PdrId, Seid, Teid, Time};

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);

type Mac = [u8; 6];

fn lan() -> NetworkInstance {
    NetworkInstance::new("lan")
}

/// An Ethernet session on the network, with a tunnel of its own in both directions.
fn session(number: u32) -> RuleSet {
    let tunnel =
        |teid: u32, addr: Ipv4Addr| FTeid { teid: Teid::new(teid + number).unwrap(), addr: addr.into() };
    let uplink = Pdi { tunnel: Some(tunnel(0x1000, UPF)), ..Pdi::new(Interface::Access) };
    let downlink =
        Pdi { network_instance: Some(lan()), whole_ethernet_session: true, ..Pdi::new(Interface::Core) };
    let to_lan = Forwarding { network_instance: Some(lan()), ..Forwarding::to(Interface::Core) };
    let to_gnb = Forwarding::into_tunnel(Interface::Access, tunnel(0x2000, GNB));
    let removal = Some(HeaderRemoval::GTPU_IPV4);
    let mut rules = RuleSet { pdu_type: PduSessionType::Ethernet, ..RuleSet::default() };
    rules.pdrs.extend([
        (PdrId(1), Pdr { removal, ..Pdr::new(PdrId(1), uplink, FarId(1)) }),
        (PdrId(2), Pdr::new(PdrId(2), downlink, FarId(2))),
    ]);
    rules
        .fars
        .extend([(FarId(1), Far::forward(FarId(1), to_lan)), (FarId(2), Far::forward(FarId(2), to_gnb))]);
    rules
}

fn frame(dst: Mac, src: Mac) -> Vec<u8> {
    let mut octets = [&dst[..], &src[..], &[0x88, 0xb5]].concat();
    octets.resize(80, 7);
    octets
}

/// A frame in the tunnel of a session.
fn tunnelled(number: u32, frame: &[u8]) -> (Ingress, Vec<u8>) {
    let header = prefix::without_extensions(Teid::new(0x1000 + number).unwrap(), frame.len()).unwrap();
    let peer = SocketAddr::new(GNB.into(), 2152);
    (Ingress::Gtpu { local: IpAddr::V4(UPF), peer, tos: 0, hops: None }, [&header[..], frame].concat())
}

fn from_lan(frame: Vec<u8>) -> (Ingress, Vec<u8>) {
    (Ingress::Ethernet { network: lan() }, frame)
}

// Input:  two sessions of one network. Frames to a station before and after it has sent one, from another session with its
//         address, to a group, returned by the network, between stations of one side, and malformed ones.
// Output: each is explained with the session and PDR that it meets, and becomes what was said, without a count before that;
//         a frame to the first station is for the first session alone.
#[test]
fn a_frame_becomes_what_is_said_of_it() {
    let topology = Topology {
        gtpu: vec![GtpuEndpoint::new(UPF.into())],
        ethernet: vec![EthernetNetwork { instance: lan(), flood_unknown: false }],
        ..Topology::default()
    };
    let mut plane = SlowPath::new(topology, Limits::default());
    let now = Time::from_secs(1_700_000_000);
    for number in [1, 2] {
        plane.apply(now, &Plan::install(Seid(number.into()), session(number))).unwrap();
    }
    let station = |last: u8| [2, 0, 0, 0, 0, last];
    let (first, second, host, all) = (station(0x0a), station(0x0b), station(0x99), [255; 6]);
    let steps = [
        (from_lan(frame(first, host)), None),
        (tunnelled(1, &frame(all, first)), Some((1, 1))),
        (from_lan(frame(first, host)), Some((1, 2))),
        (tunnelled(2, &frame(host, first)), Some((2, 1))),
        (tunnelled(2, &frame(host, second)), Some((2, 1))),
        (from_lan(frame(second, host)), Some((2, 2))),
        (from_lan(frame(all, host)), Some((1, 2))),
        (from_lan(frame(all, first)), Some((2, 2))),
        (from_lan(frame(second, first)), Some((2, 2))),
        (from_lan(frame(first, first)), None),
        (tunnelled(1, &frame(first, first)), Some((1, 1))),
        (from_lan(vec![1, 2, 3]), None),
        (tunnelled(1, &[1, 2, 3]), None),
    ];
    for (step, ((ingress, packet), expected)) in steps.into_iter().enumerate() {
        let before = plane.counters();
        let said = plane.explain(now, &ingress, &packet).expect("it concerns few sessions");
        assert_eq!(plane.counters(), before, "step {step}");
        let met = said.rules.as_ref().map(|rules| (rules.session.0, rules.pdr.0));
        assert_eq!(met, expected, "step {step}: {said:?}");
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        let disposition = plane.process(now, &ingress, &packet, &mut sent);
        let sent: Vec<_> = sent.into_iter().map(|(egress, packet)| (egress, packet.len())).collect();
        assert_eq!((said.disposition, said.sent), (disposition, sent), "step {step}");
    }
    let is_for = [1, 2].map(|number| plane.is_frame_for(&lan(), &frame(first, host), Seid(number)));
    assert_eq!(is_for, [true, false]);
}
