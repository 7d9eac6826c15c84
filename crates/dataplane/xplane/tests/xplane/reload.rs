//! Sessions leave the tables and come back when a firewall or a limit of their slice begins and ends.

use std::net::Ipv4Addr;
use std::sync::Arc;

use causeway_dataplane::{
    Dataplane, Disposition, DropReason, Egress, Firewall, FirewallAction, Ingress, PacketEngine, Settings,
    SliceLimit,
};
use causeway_memory::ModelParameters;
use causeway_model::{Far, Forwarding, HeaderRemoval, Pdi, Pdr, Plan, RuleSet};
use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, Ipv4Repr};
use causeway_slowpath::Limits;
use causeway_types::{Bitrate, FTeid, FarId, Interface, PdrId, SNssai, Seid, Teid, Time};
use causeway_xplane::{ModelPlane, Sizes};

use crate::plane::{now, topology};

const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SESSIONS: u32 = 40;
/// Sessions that are written anew at a time.
const AT_A_TIME: u64 = 16;

fn slice(sst: u8) -> SNssai {
    SNssai { sst, sd: SNssai::NO_SD }
}

/// A data plane with sessions of two slices by turns: each has an uplink.
fn plane() -> ModelPlane {
    let sizes =
        Sizes { ue_buckets: 1024, flow_buckets: 1024, rings: 4, ring: 16, paging_rings: 4, paging_ring: 8 };
    let parameters = ModelParameters { queue_pairs: 4, ..ModelParameters::X_PLANE };
    let mut plane = ModelPlane::over_model(topology(), Limits::default(), parameters, sizes, 1).unwrap();
    for number in 0..SESSIONS {
        let tunnel = Some(FTeid { teid: teid(number), addr: N3.into() });
        let pdr = Pdr::new(PdrId(1), Pdi { tunnel, ..Pdi::new(Interface::Access) }, FarId(1));
        let mut rules = RuleSet { slice: Some(slice(1 + number as u8 % 2)), ..RuleSet::default() };
        rules.pdrs.insert(PdrId(1), Pdr { removal: Some(HeaderRemoval::GTPU_IPV4), ..pdr });
        rules.fars.insert(FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core)));
        plane.apply(now(0), &Plan::install(Seid(u64::from(number) + 1), rules)).unwrap();
    }
    plane
}

fn teid(number: u32) -> Teid {
    Teid::new(number + 1).unwrap()
}

/// A packet of each session; how many of them the tables decided, and what became of the last.
fn send(plane: &mut ModelPlane, at: Time) -> (u64, Disposition) {
    let mut disposition = Disposition::Forwarded;
    let decided = |plane: &ModelPlane| plane.stage_packets()[0].value;
    let before = decided(plane);
    for number in 0..SESSIONS {
        let (ue, server) = (Ipv4Addr::new(10, 45, 0, 2), Ipv4Addr::new(198, 51, 100, 9));
        let mut user = Vec::new();
        Ipv4Repr::new(ue, server, IpProtocol::UDP).write(&[], &[0, 1, 0, 2, 0, 8, 0, 0], &mut user).unwrap();
        let packet = [&prefix::without_extensions(teid(number), user.len()).unwrap()[..], &user].concat();
        let peer = (Ipv4Addr::new(192, 0, 2, 11), 2152).into();
        let ingress = Ingress::Gtpu { local: N3.into(), peer, tos: 0, hops: None };
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        disposition = plane.process(at, &ingress, &packet, &mut sent);
    }
    (decided(plane) - before, disposition)
}

/// Calls the data plane while that is due at once; how often.
fn settle(plane: &mut ModelPlane, at: Time) -> u64 {
    let mut calls = 0;
    while plane.next_deadline().is_some_and(|next| next <= at) {
        plane.advance(at);
        calls += 1;
    }
    calls
}

// Input:  40 sessions in two slices; a reload that limits one, then one without the limit.
// Output: those of the slice leave the tables, 16 at a time, and come back in the same way; those of the other stay.
#[test]
fn sessions_come_back_when_a_limit_of_their_slice_ends() {
    let mut plane = plane();
    let all = u64::from(SESSIONS);
    assert_eq!(send(&mut plane, now(1)), (all, Disposition::Forwarded));
    let settings = plane.topology().settings();
    let limit = SliceLimit { slice: slice(1), uplink: Bitrate::from_kbps(1_000_000), downlink: None };
    let limited = Settings { slices: vec![limit], ..settings.clone() };
    plane.reconfigure(now(2), &Arc::new(limited));
    assert_eq!(send(&mut plane, now(2)), (all - AT_A_TIME, Disposition::Forwarded));
    assert_eq!(settle(&mut plane, now(2)), 1);
    assert_eq!(send(&mut plane, now(2)), (all / 2, Disposition::Forwarded));
    plane.reconfigure(now(3), &Arc::new(settings));
    assert_eq!(settle(&mut plane, now(3)), 1);
    assert_eq!(send(&mut plane, now(4)), (all, Disposition::Forwarded));
}

// Input:  40 sessions; a reload with a firewall that denies everything, then one without it; a session is deleted before its turn.
// Output: the firewall decides on every packet at once; without it the sessions come back, 16 at a time.
#[test]
fn sessions_come_back_when_a_firewall_ends() {
    let mut plane = plane();
    let settings = plane.topology().settings();
    let deny = Firewall::new(Vec::new(), FirewallAction::Deny, FirewallAction::Deny).unwrap();
    let with_firewall = Settings { firewall: Some(Arc::new(deny)), ..settings.clone() };
    plane.reconfigure(now(2), &Arc::new(with_firewall));
    let denied = Disposition::Dropped(DropReason::FirewallUplink);
    assert_eq!(send(&mut plane, now(2)), (0, denied));
    assert_eq!(settle(&mut plane, now(2)), 2);
    assert_eq!(send(&mut plane, now(2)), (0, denied));
    plane.reconfigure(now(3), &Arc::new(settings));
    plane.apply(now(3), &Plan::removal(Seid(1))).unwrap();
    assert_eq!(settle(&mut plane, now(3)), 2);
    assert_eq!(send(&mut plane, now(4)).0, u64::from(SESSIONS) - 1);
}
