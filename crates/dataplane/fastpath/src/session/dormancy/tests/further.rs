//! Sessions with an IPv6 prefix, and with more than two tunnels of a kind.

use std::net::Ipv6Addr;

use causeway_cold::MemoryStore;
use causeway_types::Ipv6Net;

use super::cold::{PACKET, pass, state, with_store};
use super::*;

const UPF_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const GNB_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x99, 0, 0, 0, 0, 1);

/// A data plane at addresses of both IP versions, with cold storage.
fn both_versions() -> FastPath {
    let n3 = DualIp { v4: Some(UPF), v6: Some(UPF_V6) };
    with_store(plane_at(n3, 8), MemoryStore::default())
}

fn ue_of(ue: u8) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0x45, ue.into(), 0, 0, 0, 0)
}

fn prefix(ue: u8, length: u8) -> Option<Ipv6Net> {
    Ipv6Net::new(ue_of(ue), length).ok()
}

/// The rules of [`rules`] with an IPv6 prefix, and without the IPv4 address for an odd one.
fn with_prefix(ue: u8, length: u8) -> RuleSet {
    let mut rules = rules(ue);
    for pdr in rules.pdrs.values_mut() {
        let address = pdr.pdi.ue.as_mut().unwrap();
        address.v6 = prefix(ue, length);
        address.v4 = address.v4.filter(|_| ue.is_multiple_of(2));
    }
    rules
}

/// Adds a FAR into a tunnel, with a PDR in a tunnel of its own.
fn add_tunnels(rules: &mut RuleSet, id: u16, local: FTeid, remote: FTeid) {
    let mut pdr = rules.pdrs[&PdrId(1)].clone();
    (pdr.id, pdr.far) = (PdrId(id), FarId(id.into()));
    pdr.pdi.tunnel = Some(local);
    pdr.removal.as_mut().unwrap().header = RemovedHeader::Gtpu;
    rules.pdrs.insert(pdr.id, pdr);
    let far = Far::forward(FarId(id.into()), Forwarding::into_tunnel(Interface::Access, remote));
    rules.fars.insert(far.id, far);
}

/// With three tunnels of the UPF, and FARs into four of gNBs, one of which is over IPv6, and one of which two FARs have.
fn with_tunnels(ue: u8) -> RuleSet {
    let mut rules = rules(ue);
    let at_gnb_v6 = FTeid { addr: GNB_V6.into(), ..tunnel(0x300 + u32::from(ue), GNB) };
    add_tunnels(&mut rules, 3, tunnel(0x20 + u32::from(ue), UPF), at_gnb_v6);
    add_tunnels(&mut rules, 4, tunnel(0x40 + u32::from(ue), UPF), tunnel(0x400 + u32::from(ue), GNB));
    add_tunnels(&mut rules, 5, tunnel(0x40 + u32::from(ue), UPF), tunnel(0x500 + u32::from(ue), OTHER_GNB));
    add_tunnels(&mut rules, 6, tunnel(ue.into(), UPF), tunnel(0x500 + u32::from(ue), OTHER_GNB));
    rules
}

/// A packet from the network to a host of a UE's IPv6 prefix.
fn to_prefix(plane: &mut FastPath, ue: u8, now: Time) -> Disposition {
    let to = Ipv6Addr::from_bits(ue_of(ue).to_bits() | 7);
    let mut packet = vec![0x60, 0, 0, 0, 0, 8, 17, 64];
    packet.extend(Ipv6Addr::new(0x2001, 0xdb8, 8, 0, 0, 0, 0, 8).octets());
    packet.extend(to.octets());
    packet.extend([0, 53, 0x12, 0x34, 0, 8, 0x12, 0x34]);
    let ingress = Ingress::Ip { network: NetworkInstance::new("internet") };
    plane.process(now, &ingress, &packet, &mut Vec::<(Egress, Vec<u8>)>::new())
}

/// An Error Indication of a gNB about one of its tunnels.
fn refuse(plane: &mut FastPath, teid: u32, gnb: IpAddr, now: Time) {
    let indication = Repr::error_indication(Teid::new(teid), gnb, &[]).to_vec().unwrap();
    let local = if gnb.is_ipv4() { UPF.into() } else { UPF_V6.into() };
    let ingress = Ingress::Gtpu { local, peer: (gnb, 2152).into(), tos: 0, hops: None };
    assert_eq!(plane.process(now, &ingress, &indication, &mut Vec::new()), Disposition::Consumed);
}

fn is_cold(plane: &FastPath, seid: u64) -> bool {
    plane.dormant.cold_slot(Seid(seid)).is_some()
}

/// Establishes sessions with these rules, and lets them be idle until they are in cold storage.
fn rest_with(plane: &mut FastPath, all: &[RuleSet]) {
    for (seid, rules) in (1..).zip(all) {
        plane.apply(at(0), &Plan::install(Seid(seid), rules.clone())).unwrap();
    }
    pass(plane, at(200));
    assert_eq!(state(plane).cold, all.len() as u64);
}

// Input:  sessions with an IPv6 prefix of 64 bits, with and without an IPv4 address, in cold storage; packets to an address of the prefix, to
//         the IPv4 address, and to prefixes without a session.
// Output: each packet loads its session alone; the rules and the usage are those of before. Equal rules but for addresses have one profile.
#[test]
fn a_session_with_an_ipv6_prefix_goes_cold() {
    let mut plane = both_versions();
    let all: Vec<_> = (1..=4).map(|ue| with_prefix(ue, 64)).collect();
    rest_with(&mut plane, &all);
    let profile = |seid| std::ptr::from_ref(plane.dormant.state_of(Seid(seid)).unwrap().1);
    assert!(profile(1) == profile(3) && profile(2) == profile(4) && profile(1) != profile(2));
    assert_eq!(
        to_prefix(&mut plane, 9, at(201)),
        Disposition::Dropped(causeway_dataplane::DropReason::UnknownUe)
    );
    assert_eq!(state(&plane).cold, 4);
    for (round, ue) in (0..).zip([3, 2, 3]) {
        let now = at(201 + 300 * round);
        assert_eq!(to_prefix(&mut plane, ue, now), Disposition::Forwarded);
        assert_eq!((state(&plane).cold, is_cold(&plane, ue.into())), (3, false));
        assert_eq!(plane.slow_path.rules_of(Seid(ue.into())), Some(&all[usize::from(ue) - 1]));
        pass(&mut plane, now + causeway_types::Span::from_secs(200));
        assert_eq!(state(&plane).cold, 4);
    }
    assert_eq!(downlink(&mut plane, 4, at(1101)), Disposition::Forwarded);
    assert!(!is_cold(&plane, 4));
    let used = |plane: &mut FastPath, seid| {
        plane.apply(at(1200), &Plan::removal(Seid(seid))).unwrap().usage[0].volume.unwrap().downlink
    };
    assert_eq!([1, 2, 3, 4].map(|seid| used(&mut plane, seid)), [0, 48, 96, PACKET]);
    assert!(plane.dormant.are_indexes_empty());
}

// Input:  sessions with a prefix in cold storage; a session with a shorter prefix that contains the first two, one with an address in the third's, and
//         one without a common address.
// Output: those that overlap are loaded, and those alone.
#[test]
fn an_overlapping_prefix_loads_a_session() {
    let mut plane = both_versions();
    rest_with(&mut plane, &[1, 2, 3, 4].map(|ue| with_prefix(ue, 64)));
    let other = |ue: u8, length| {
        let mut rules = with_prefix(9, 64);
        for pdr in rules.pdrs.values_mut() {
            pdr.pdi.ue.as_mut().unwrap().v6 = prefix(ue, length);
            let teid = Teid::new(0x90 + u32::from(ue)).unwrap();
            pdr.pdi.tunnel = pdr.pdi.tunnel.map(|held| FTeid { teid, ..held });
        }
        rules
    };
    let cold = |plane: &FastPath| [1, 2, 3, 4].map(|seid| is_cold(plane, seid));
    plane.apply(at(201), &Plan::install(Seid(10), other(9, 64))).unwrap();
    assert_eq!(cold(&plane), [true; 4]);
    plane.apply(at(202), &Plan::install(Seid(11), other(3, 128))).unwrap();
    assert_eq!(cold(&plane), [true, true, false, true]);
    plane.apply(at(203), &Plan::install(Seid(12), other(0, 62))).unwrap();
    assert_eq!(cold(&plane), [false, false, false, true]);
}

// Input:  sessions with three local tunnels and FARs into four remote ones, one over IPv6, in cold storage; a packet in the third local tunnel; Error
//         Indications of both gNBs about further tunnels.
// Output: each loads its session alone, whose rules are those of before.
#[test]
fn a_session_with_more_tunnels_goes_cold() {
    let mut plane = both_versions();
    let all = [1, 2, 3].map(with_tunnels);
    rest_with(&mut plane, &all);
    // Its UE has another address: it is dropped, by the session.
    assert!(matches!(uplink(&mut plane, UPF.into(), 0x41, at(201)), Disposition::Dropped(_)));
    assert_eq!([1, 2, 3].map(|seid| is_cold(&plane, seid)), [false, true, true]);
    refuse(&mut plane, 0x302, GNB_V6.into(), at(202));
    assert_eq!([1, 2, 3].map(|seid| is_cold(&plane, seid)), [false, false, true]);
    refuse(&mut plane, 0x503, OTHER_GNB.into(), at(203));
    assert_eq!((state(&plane).cold, state(&plane).loads), (0, 3));
    for (seid, rules) in (1..).zip(&all) {
        assert_eq!(plane.slow_path.rules_of(Seid(seid)), Some(rules));
        plane.apply(at(204), &Plan::removal(Seid(seid))).unwrap();
    }
    assert!(plane.dormant.are_indexes_empty());
}

// Input:  a session in cold storage; another one with its third local tunnel.
// Output: the tunnel is in use.
#[test]
fn a_further_tunnel_of_a_session_in_cold_storage_is_in_use() {
    let mut plane = both_versions();
    rest_with(&mut plane, &[with_tunnels(1)]);
    let mut other = rules(5);
    add_tunnels(&mut other, 3, tunnel(0x41, UPF), tunnel(0x999, GNB));
    let in_use = Err(ApplyError::TunnelInUse(tunnel(0x41, UPF)));
    assert_eq!(plane.apply(at(201), &Plan::install(Seid(5), other)), in_use);
}

// Input:  six remote tunnels of which two FARs have each, and seven; six local tunnels, and seven; prefixes of 56 and of 128 bits; two prefixes.
// Output: six go cold; the others stay in memory.
#[test]
fn six_tunnels_of_a_kind_and_one_prefix_are_the_most() {
    let with_remotes = |count: u16, times: u16| {
        let mut rules = rules(1);
        for id in 0..(count - 1) * times {
            let remote = tunnel(0x300 + u32::from(id % (count - 1)), GNB);
            add_tunnels(&mut rules, 3 + id, tunnel(1, UPF), remote);
        }
        rules
    };
    let with_locals = |count: u16| {
        let mut rules = rules(1);
        for id in 1..count {
            add_tunnels(&mut rules, 2 + id, tunnel(0x20 + u32::from(id), UPF), tunnel(0x101, GNB));
        }
        rules
    };
    let mut two_prefixes = with_prefix(2, 64);
    two_prefixes.pdrs.get_mut(&PdrId(2)).unwrap().pdi.ue.as_mut().unwrap().v6 = prefix(9, 64);
    let cases = [
        (with_remotes(6, 2), true),
        (with_remotes(7, 1), false),
        (with_locals(6), true),
        (with_locals(7), false),
        (with_prefix(2, 56), false),
        (with_prefix(2, 128), false),
        (two_prefixes, false),
    ];
    for (at_case, (rules, goes_cold)) in cases.into_iter().enumerate() {
        let mut plane = both_versions();
        plane.apply(at(0), &Plan::install(Seid(1), rules)).unwrap();
        pass(&mut plane, at(200));
        assert_eq!(is_cold(&plane, 1), goes_cold, "case {at_case}");
    }
}

// Input:  the same request twice for sessions with an IPv6 prefix, which the control plane stores with the prefix as no parameter.
// Output: no such session is dormant by that profile; each goes cold by one that the data plane makes, and its packets find it.
#[test]
fn a_profile_with_a_fixed_prefix_makes_no_session_dormant() {
    let (mut plane, mut templates) = (both_versions(), Templates::default());
    for round in 0..2 {
        let change = templates.profiled(&with_prefix(2, 64)).unwrap();
        assert!(change.is_shared() && change.profile().has_fixed_prefix());
        plane.apply(at(1000 * round), &Plan { session: Seid(2), change: change.into() }).unwrap();
        assert_eq!(plane.dormant.len(), 0);
        pass(&mut plane, at(1000 * round + 200));
        assert!(is_cold(&plane, 2));
        assert_eq!(to_prefix(&mut plane, 2, at(1000 * round + 201)), Disposition::Forwarded);
        assert!(!is_cold(&plane, 2));
        plane.apply(at(1000 * round + 202), &Plan::removal(Seid(2))).unwrap();
    }
}
