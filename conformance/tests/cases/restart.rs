//! A switch behind P4Runtime that restarts empty.

use std::net::Ipv4Addr;

use causeway_dataplane::{Dataplane, GtpuEndpoint, Ingress, Network, PacketEngine, Topology};
use causeway_model::{
    Far, Forwarding, MeasurementMethod, Pdi, Pdr, Plan, Qer, RuleSet, UeAddress, UeSide, Urr,
};
use causeway_p4::profiles;
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, UdpRepr};
use causeway_slowpath::Limits;
use causeway_switch::backend::{InProcess, Notice};
use causeway_switch::driver::Program;
use causeway_types::{
    FTeid, FarId, Interface, NetworkInstance, PdrId, QerId, Qfi, Seid, Span, Teid, Time, UrrId,
};

use crate::grpc::Way;

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);

fn internet() -> NetworkInstance {
    NetworkInstance::new("internet")
}

/// Packets for the UE go into its tunnel, and are counted.
fn session() -> RuleSet {
    let ue = UeAddress { v4: Some(UE), v6: None, side: UeSide::Destination };
    let pdi = Pdi { network_instance: Some(internet()), ue: Some(ue), ..Pdi::new(Interface::Core) };
    let mut rules = RuleSet::default();
    let pdr = Pdr { qers: vec![QerId(1)], urrs: vec![UrrId(1)], ..Pdr::new(PdrId(1), pdi, FarId(1)) };
    rules.pdrs.insert(PdrId(1), pdr);
    let tunnel = FTeid { teid: Teid::new(0x2001).unwrap(), addr: GNB.into() };
    rules.fars.insert(FarId(1), Far::forward(FarId(1), Forwarding::into_tunnel(Interface::Access, tunnel)));
    rules.qers.insert(QerId(1), Qer { qfi: Qfi::new(9), ..Qer::new(QerId(1)) });
    let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
    rules.urrs.insert(UrrId(1), Urr::new(UrrId(1), method));
    rules
}

/// A packet of 100 octets for the UE; how many leave.
fn pass(upf: &mut InProcess<Way>, now: Time) -> usize {
    let ip = IpRepr::V4(Ipv4Repr::new(SERVER, UE, IpProtocol::UDP));
    let mut packet = Vec::new();
    ip.write_udp(UdpRepr { src_port: 53, dst_port: 40_000 }, true, &[&[0; 72]], &mut packet).unwrap();
    let mut out = Vec::new();
    upf.process(now, &Ingress::Ip { network: internet() }, &packet, &mut out);
    out.len()
}

// Input:  a session, two packets that were counted and read; the switch restarts empty, gRPC included; three packets; the session ends.
// Output: all packets pass, the report has all five, and the operator hears what was written.
pub(crate) fn a_switch_that_restarts_is_filled_again() {
    let topology = Topology {
        gtpu: vec![GtpuEndpoint::new(UPF.into())],
        networks: vec![Network::new(internet(), vec!["10.45.0.0/16".parse().unwrap()])],
        ..Topology::default()
    };
    let program = Program::from(&profiles::HIP4);
    let way = Way::new("hip4", vec![UPF]);
    let mut upf = InProcess::with_driver(way, &program, topology, Limits::default()).unwrap();
    let now = Time::from_secs(1_700_000_000);
    upf.apply(now, &Plan::install(Seid(1), session().clone())).unwrap();
    assert_eq!((0..2).map(|_| pass(&mut upf, now)).sum::<usize>(), 2);
    let later = now + Span::from_secs(1);
    upf.switch().driver().restart(later, vec![UPF]);
    upf.advance(later);
    let news: Vec<String> =
        std::iter::from_fn(|| upf.switch().poll_notice()).map(|news| news.to_string()).collect();
    assert_eq!(news[0], Notice::Down.to_string());
    assert!(news[1].starts_with("the switch was empty: ") && news[1].contains(" of 1 sessions"), "{news:?}");
    assert_eq!((0..3).map(|_| pass(&mut upf, later)).sum::<usize>(), 3);
    let usage = upf.apply(later, &Plan::removal(Seid(1))).unwrap().usage;
    assert_eq!(usage.iter().map(|usage| usage.volume.unwrap().downlink).sum::<u64>(), 500);
}
