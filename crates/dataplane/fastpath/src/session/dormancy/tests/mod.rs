mod cold;
mod dormant_again;
mod further;
mod handover;
mod prefetch;
mod timers;
mod unknown_destinations;
mod usage_snapshot;

use std::net::Ipv4Addr;

use causeway_dataplane::{
    Dataplane, Disposition, Egress, Event, GtpuEndpoint, Ingress, Network, PacketEngine, Topology,
};
use causeway_model::{
    ApplyAction, Far, Forwarding, HeaderRemoval, MeasurementMethod, OuterHeader, Pdi, PlanOptions, Qer,
    RateLimit, RemovedHeader, RuleSet, Templates, UeAddress, UeSide, Urr, plan_modification,
};
use causeway_packet::gtpu::Repr;
use causeway_slowpath::Limits;
use causeway_types::{Bitrate, DualIp, FTeid, FarId, Interface, NetworkInstance, PdrId, QerId, UrrId};

use super::*;
use crate::session::dormant::MAX_SESSIONS_PER_REMOTE;

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const OTHER_GNB: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);

fn plane() -> FastPath {
    plane_for(4)
}

fn plane_for(max_sessions: u32) -> FastPath {
    plane_at(UPF.into(), max_sessions)
}

/// A data plane with these local GTP-U addresses.
fn plane_at(n3: DualIp, max_sessions: u32) -> FastPath {
    let pools = "10.0.0.0/8".parse().into_iter().collect();
    let topology = Topology {
        gtpu: vec![GtpuEndpoint::new(n3)],
        networks: vec![Network::new(NetworkInstance::new("internet"), pools)],
        ..Topology::default()
    };
    FastPath::new(topology, Limits { max_sessions, ..Limits::default() }).unwrap()
}

fn tunnel(teid: u32, ip: Ipv4Addr) -> FTeid {
    FTeid { teid: Teid::new(teid).unwrap(), addr: DualIp::from(ip) }
}

/// Uplink to the data network, downlink to a gNB, both measured.
fn rules(ue: u8) -> RuleSet {
    let address = |side| Some(UeAddress { v4: Some(Ipv4Addr::new(10, 0, 0, ue)), v6: None, side });
    let removal = HeaderRemoval { header: RemovedHeader::GtpuIpv4, deletes_container: false };
    let uplink = Pdi {
        tunnel: Some(tunnel(ue.into(), UPF)),
        ue: address(UeSide::Source),
        ..Pdi::new(Interface::Access)
    };
    let downlink = Pdi { ue: address(UeSide::Destination), ..Pdi::new(Interface::Core) };
    let mut rules = RuleSet::default();
    let urrs = || vec![UrrId(1)];
    rules.pdrs.extend([
        (PdrId(1), Pdr { removal: Some(removal), urrs: urrs(), ..Pdr::new(PdrId(1), uplink, FarId(1)) }),
        (PdrId(2), Pdr { urrs: urrs(), ..Pdr::new(PdrId(2), downlink, FarId(2)) }),
    ]);
    let gnb = tunnel(0x100 + u32::from(ue), GNB);
    rules.fars.extend([
        (FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core))),
        (FarId(2), Far::forward(FarId(2), Forwarding::into_tunnel(Interface::Access, gnb))),
    ]);
    let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
    rules.urrs.extend([(UrrId(1), Urr::new(UrrId(1), method))]);
    rules
}

fn at(secs: u64) -> Time {
    Time::from_secs(1000 + secs)
}

/// Establishes sessions 1 to `count`, one second apart.
fn establish(plane: &mut FastPath, templates: &mut Templates, count: u8) {
    for ue in 1..=count {
        let change = templates.profiled(&rules(ue)).unwrap().into();
        let done = plane.apply(at(ue.into()), &Plan { session: Seid(ue.into()), change });
        assert_eq!(done, Ok(Applied::default()));
    }
}

/// From the network to the UE of this number.
fn downlink(plane: &mut FastPath, ue: u8, now: Time) -> Disposition {
    downlink_to(plane, ue, now, &mut Vec::new())
}

fn downlink_to(plane: &mut FastPath, ue: u8, now: Time, sent: &mut Vec<(Egress, Vec<u8>)>) -> Disposition {
    let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0, 8, 8, 8, 8, 10, 0, 0, ue];
    packet.extend([0, 53, 0x12, 0x34, 0, 8, 0, 0]);
    let sum = causeway_packet::checksum::checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let ingress = Ingress::Ip { network: NetworkInstance::new("internet") };
    plane.process(now, &ingress, &packet, sent)
}

// Input:  three sessions of one profile; a packet for the second; an Error Indication about the third; all are deleted.
// Output: the second and third are dormant until then. All report their usage since their establishment.
#[test]
fn sessions_are_dormant_until_a_packet_or_plan() {
    let (mut plane, mut templates) = (plane(), Templates::default());
    establish(&mut plane, &mut templates, 3);
    assert_eq!((plane.dormant.len(), plane.slow_path.sessions(), plane.counters().sessions), (2, 1, 3));
    assert_eq!(downlink(&mut plane, 2, at(10)), Disposition::Forwarded);
    assert_eq!(
        downlink(&mut plane, 9, at(10)),
        Disposition::Dropped(causeway_dataplane::DropReason::UnknownUe)
    );
    assert_eq!((plane.dormant.len(), plane.slow_path.sessions(), plane.counters().sessions), (1, 2, 3));
    let indication = Repr::error_indication(Teid::new(0x103), GNB.into(), &[]).to_vec().unwrap();
    let ingress = Ingress::Gtpu { local: UPF.into(), peer: (GNB, 2152).into(), tos: 0, hops: None };
    assert_eq!(plane.process(at(11), &ingress, &indication, &mut Vec::new()), Disposition::Consumed);
    assert!(plane.poll_event().is_some() && plane.dormant.len() == 0);
    let ends = [1, 2, 3].map(|seid| plane.apply(at(20), &Plan::removal(Seid(seid))).unwrap().usage);
    let measured =
        ends.map(|usage| usage.iter().map(|it| (it.start, it.volume.unwrap().total())).collect::<Vec<_>>());
    assert_eq!(measured, [vec![(at(1), 0)], vec![(at(2), 28)], vec![(at(3), 0)]]);
    assert_eq!((plane.counters().sessions, plane.poll_event()), (0, None));
}

/// From the UE of this number, in its tunnel to this local address.
fn uplink(plane: &mut FastPath, local: IpAddr, ue: u8, now: Time) -> Disposition {
    let mut user = vec![0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, ue, 8, 8, 8, 8];
    user.extend([0x12, 0x34, 0, 53, 0, 8, 0, 0]);
    let sum = causeway_packet::checksum::checksum(&user[..20]);
    user[10..12].copy_from_slice(&sum.to_be_bytes());
    let packet = [&[0x30, 255, 0, 28, 0, 0, 0, ue], &user[..]].concat();
    let ingress = Ingress::Gtpu { local, peer: (GNB, 2152).into(), tos: 0, hops: None };
    plane.process(now, &ingress, &packet, &mut Vec::<(Egress, Vec<u8>)>::new())
}

// Input:  four sessions of one profile whose tunnels end at an IPv4 and at an IPv6 address; a packet in the tunnel of
//         the second over IPv4, of the third over IPv6; a plan for a session with the tunnel of the fourth at the IPv6
//         address alone.
// Output: all but the first are dormant until then; packets are forwarded; the tunnel is in use.
#[test]
fn a_session_with_tunnels_over_both_ip_versions_is_dormant() {
    let v6: std::net::Ipv6Addr = "2001:db8::1".parse().unwrap();
    let n3 = DualIp { v4: Some(UPF), v6: Some(v6) };
    let (mut plane, mut templates) = (plane_at(n3, 8), Templates::default());
    let rules_at = |ue: u8, addr: DualIp| {
        let mut rules = rules(ue);
        let pdr = rules.pdrs.get_mut(&PdrId(1)).unwrap();
        pdr.removal.as_mut().unwrap().header = RemovedHeader::Gtpu;
        pdr.pdi.tunnel.as_mut().unwrap().addr = addr;
        rules
    };
    for ue in 1..=4 {
        let change = templates.profiled(&rules_at(ue, n3)).unwrap().into();
        plane.apply(at(ue.into()), &Plan { session: Seid(ue.into()), change }).unwrap();
    }
    assert_eq!((plane.dormant.len(), plane.slow_path.sessions()), (3, 1));
    for (ue, local) in [(2, IpAddr::V4(UPF)), (3, IpAddr::V6(v6))] {
        assert_eq!(uplink(&mut plane, local, ue, at(10)), Disposition::Forwarded);
    }
    assert_eq!((plane.dormant.len(), plane.slow_path.sessions()), (1, 3));
    let at_v6 = DualIp::from(v6);
    let in_use = Err(ApplyError::TunnelInUse(FTeid { addr: at_v6, ..tunnel(4, UPF) }));
    assert_eq!(plane.apply(at(11), &Plan::install(Seid(5), rules_at(4, at_v6).clone())), in_use);
    let ends = [2, 3, 4].map(|seid| plane.apply(at(20), &Plan::removal(Seid(seid))).unwrap().usage);
    assert_eq!(ends.map(|usage| usage[0].volume.unwrap().total()), [28, 28, 0]);
}

// Input:  five sessions that differ in the bit rate and in the server of the downlink filter; a packet of one server
//         for each of the last four. A bit rate of zero passes no packet.
// Output: all but the first are dormant until then; then each has its own rate and server.
#[test]
fn a_session_is_dormant_with_a_policy_of_its_own() {
    let (mut plane, mut templates) = (plane_for(8), Templates::default());
    let policy = |ue: u8| {
        let mut rules = rules(ue);
        let rate = Bitrate::from_kbps(if ue == 3 { 0 } else { 1000 * u64::from(ue) }).unwrap();
        let mbr = Some(RateLimit { uplink: rate, downlink: rate });
        rules.qers.extend([(QerId(1), Qer { mbr, ..Qer::new(QerId(1)) })]);
        let server = if ue == 4 { 9 } else { 8 };
        let filter = format!("permit out 17 from 8.8.8.{server} 53 to assigned").parse().unwrap();
        let pdr = rules.pdrs.get_mut(&PdrId(2)).unwrap();
        (pdr.pdi.filters, pdr.qers) = (vec![filter], vec![QerId(1)]);
        rules
    };
    for ue in 1..=5 {
        let change = templates.profiled(&policy(ue)).unwrap().into();
        plane.apply(at(ue.into()), &Plan { session: Seid(ue.into()), change }).unwrap();
    }
    assert_eq!((plane.dormant.len(), plane.slow_path.sessions()), (4, 1));
    let dispositions = [2, 3, 4, 5].map(|ue| downlink(&mut plane, ue, at(10)));
    assert_eq!(
        (dispositions[0], dispositions[3], plane.dormant.len()),
        (Disposition::Forwarded, Disposition::Forwarded, 0)
    );
    assert_eq!(
        dispositions[1..3]
            .iter()
            .filter(|disposition| matches!(disposition, Disposition::Dropped(_)))
            .count(),
        2
    );
    assert_ne!(dispositions[1], dispositions[2]);
    for ue in 2..=5 {
        assert_eq!(plane.slow_path.rules_of(Seid(ue.into())), Some(&policy(ue)));
        plane.apply(at(20), &Plan::removal(Seid(ue.into()))).unwrap();
    }
    assert_eq!(plane.counters().sessions, 1);
}

// Input:  two sessions of one profile, of which the second is dormant; it is deleted; another one takes its keys.
// Output: the usage of an idle session since its establishment; then the keys are free.
#[test]
fn a_dormant_session_is_removed_without_activation() {
    let (mut plane, mut templates) = (plane(), Templates::default());
    establish(&mut plane, &mut templates, 2);
    let (one, two) =
        (plane.apply(at(9), &Plan::removal(Seid(1))), plane.apply(at(9), &Plan::removal(Seid(2))));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(
        (one.usage.len(), two.usage.len(), two.usage[0].start, two.usage[0].end),
        (1, 1, at(2), at(9))
    );
    assert_eq!(two.usage[0].volume, one.usage[0].volume);
    assert_eq!(plane.apply(at(9), &Plan::removal(Seid(2))), Err(ApplyError::UnknownSession(Seid(2))));
    establish(&mut plane, &mut templates, 2);
    assert_eq!((plane.dormant.len(), plane.slow_path.sessions()), (2, 0));
}

// Input:  as many sessions as the maximum, one active; another; a plan for one of them; one with the tunnel and one
//         with the address of a dormant session.
// Output: refused as full; the plan is applied; the tunnel is in use; both have the address.
#[test]
fn a_packet_or_plan_activates_its_session() {
    let (mut plane, mut templates) = (plane(), Templates::default());
    establish(&mut plane, &mut templates, 4);
    let full = Err(ApplyError::Full { table: "sessions", capacity: 4 });
    let change = templates.profiled(&rules(5)).unwrap().into();
    assert_eq!(plane.apply(at(9), &Plan { session: Seid(5), change }), full);
    assert_eq!(plane.apply(at(9), &Plan::install(Seid(5), rules(5).clone())), full);
    let query = Plan::update(Seid(2), vec![Op::QueryUrr(UrrId(1))]);
    assert_eq!(plane.apply(at(9), &query).unwrap().usage.len(), 1);
    assert_eq!(plane.dormant.len(), 2);
    plane.apply(at(9), &Plan::removal(Seid(1))).unwrap();
    let in_use = Err(ApplyError::TunnelInUse(tunnel(3, UPF)));
    assert_eq!(plane.apply(at(9), &Plan::install(Seid(5), rules(3).clone())), in_use);
    assert_eq!(plane.dormant.len(), 1);
    let mut same_address = rules(5);
    for pdr in [PdrId(1), PdrId(2)] {
        let ue = same_address.pdrs.get_mut(&pdr).unwrap().pdi.ue.as_mut().unwrap();
        ue.v4 = Some(Ipv4Addr::new(10, 0, 0, 4));
    }
    assert!(plane.apply(at(9), &Plan::install(Seid(5), same_address.clone())).is_ok());
    assert_eq!((plane.dormant.len(), plane.slow_path.overlapping_sessions(Seid(5))), (0, vec![Seid(4)]));
}

/// Changes the downlink FAR of a session by a known transition; returns the number of End Markers to the old gNB.
fn change(plane: &mut FastPath, templates: &mut Templates, ue: u8, secs: u64, act: fn(&mut Far)) -> usize {
    let (from, mut to) = (rules(ue), rules(ue));
    act(to.fars.get_mut(&FarId(2)).unwrap());
    let end_markers = vec![(FarId(2), tunnel(0x100 + u32::from(ue), GNB))];
    let is_told = rules(ue).fars[&FarId(2)].forwarding != to.fars[&FarId(2)].forwarding;
    let extras =
        PlanOptions { end_markers: if is_told { end_markers } else { Vec::new() }, ..PlanOptions::default() };
    let plan = plan_modification(Seid(ue.into()), &from, &to, &extras);
    let before = templates.profiled(&from).unwrap();
    let transition = templates.transition(&before, &to, &plan).unwrap();
    let like_others = Plan { session: plan.session, change: transition.into() };
    assert_eq!(like_others, plan);
    assert_eq!(plane.apply(at(secs), &like_others), Ok(Applied::default()));
    let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
    plane.flush(&mut sent);
    sent.iter().filter(|(egress, _)| peer_of(egress) == Some(GNB.into())).count()
}

fn peer_of(egress: &Egress) -> Option<IpAddr> {
    if let Egress::Gtpu { peer, .. } = egress { Some(peer.ip()) } else { None }
}

fn handover(far: &mut Far) {
    far.forwarding.as_mut().unwrap().outer = Some(OuterHeader::Gtpu(tunnel(0x200, OTHER_GNB)));
}

// Input:  handovers of dormant sessions; an Error Indication of the old gNB; a packet for one of them; they are
//         deleted.
// Output: they stay dormant, except for the packet; the old gNB gets End Markers and no further Echo Requests; packets
//         are sent to the new one; usage is reported since their establishment.
#[test]
fn a_dormant_session_is_handed_over() {
    let (mut plane, mut templates) = (plane(), Templates::default());
    establish(&mut plane, &mut templates, 3);
    for ue in [2, 3] {
        assert_eq!(change(&mut plane, &mut templates, ue, 10, handover), 1);
        assert_eq!((plane.dormant.len(), plane.slow_path.sessions()), (2, 1));
    }
    let indication = Repr::error_indication(Teid::new(0x103), GNB.into(), &[]).to_vec().unwrap();
    let ingress = Ingress::Gtpu { local: UPF.into(), peer: (GNB, 2152).into(), tos: 0, hops: None };
    plane.process(at(11), &ingress, &indication, &mut Vec::new());
    assert_eq!((plane.dormant.len(), plane.poll_event()), (2, None));
    let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
    assert_eq!(downlink_to(&mut plane, 3, at(12), &mut sent), Disposition::Forwarded);
    assert_eq!((peer_of(&sent[0].0), &sent[0].1[4..8]), (Some(OTHER_GNB.into()), &[0, 0, 2, 0][..]));
    assert_eq!(plane.dormant.len(), 1);
    let ends = [2, 3].map(|seid| plane.apply(at(20), &Plan::removal(Seid(seid))).unwrap().usage);
    let measured = ends.map(|usage| (usage[0].start, usage[0].volume.unwrap().total()));
    assert_eq!(measured, [(at(2), 0), (at(3), 28)]);
}

// Input:  dormant sessions whose downlink is to be buffered, a transition that is unknown so far; a packet for the
//         third.
// Output: the first becomes active, the others stay dormant; the packet is buffered, and the SMF is sent a report.
#[test]
fn the_first_change_teaches_its_profile() {
    let (mut plane, mut templates) = (plane(), Templates::default());
    establish(&mut plane, &mut templates, 4);
    for (ue, resting) in [(2, 2), (3, 2), (4, 2)] {
        let buffer = |far: &mut Far| far.action = ApplyAction::Buffer { notify: true };
        assert_eq!(change(&mut plane, &mut templates, ue, 10, buffer), 0);
        assert_eq!(plane.dormant.len(), resting);
    }
    assert_eq!(downlink(&mut plane, 3, at(12)), Disposition::Buffered);
    assert!(matches!(plane.poll_event(), Some(Event::DownlinkData { session: Seid(3), .. })));
    assert_eq!(plane.dormant.len(), 1);
}

// Input:  more sessions of one profile that send to one tunnel than can be dormant; an Error Indication about the
//         tunnel.
// Output: the first, from which the profile was learned, and the last are active; then all are.
#[test]
fn dormant_sessions_per_remote_tunnel_are_bounded() {
    let most = MAX_SESSIONS_PER_REMOTE as u8;
    let (mut plane, mut templates) = (plane_for(2 + u32::from(most)), Templates::default());
    let gnb = tunnel(0x100, GNB);
    for ue in 1..=most + 2 {
        let mut rules = rules(ue);
        let into_tunnel = Far::forward(FarId(2), Forwarding::into_tunnel(Interface::Access, gnb));
        rules.fars.extend([(FarId(2), into_tunnel)]);
        let change = templates.profiled(&rules).unwrap().into();
        let done = plane.apply(at(ue.into()), &Plan { session: Seid(ue.into()), change });
        assert_eq!(done, Ok(Applied::default()));
    }
    assert_eq!((plane.dormant.len(), plane.slow_path.sessions()), (MAX_SESSIONS_PER_REMOTE, 2));
    let indication = Repr::error_indication(Some(gnb.teid), GNB.into(), &[]).to_vec().unwrap();
    let ingress = Ingress::Gtpu { local: UPF.into(), peer: (GNB, 2152).into(), tos: 0, hops: None };
    assert_eq!(plane.process(at(200), &ingress, &indication, &mut Vec::new()), Disposition::Consumed);
    assert_eq!((plane.dormant.len(), plane.slow_path.sessions()), (0, MAX_SESSIONS_PER_REMOTE + 2));
}
