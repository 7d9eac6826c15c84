//! Packets through a session: detection, forwarding, and drop reasons.

use causeway_dataplane::{Dataplane, Disposition, DropReason, Egress, Op};
use causeway_model::{ApplyAction, HeaderRemoval, Pdr, SdfFilter, SessionChange};
use causeway_slowpath::Limits;
use causeway_types::{FarId, Precedence, QerId};

use crate::common::*;

// Input: a G-PDU from the UE's tunnel.
// Output: the user packet, unchanged, to the data network.
#[test]
fn uplink_leaves_the_tunnel() {
    let mut setup = Bench::new();
    assert_eq!(setup.uplink(&from_ue(1)), Disposition::Forwarded);
    assert_eq!(setup.sent, [(Egress::Ip { network: internet() }, one_hop_on(from_ue(1)))]);
}

// Input: a packet from the data network to the UE.
// Output: a G-PDU to the gNB's tunnel, marked with the QER's QFI in a downlink container.
#[test]
fn downlink_enters_the_tunnel_with_its_qfi() {
    let mut setup = Bench::new();
    assert_eq!(setup.downlink(&to_ue(1)), Disposition::Forwarded);
    let (egress, packet) = &setup.sent[0];
    assert_eq!(*egress, Egress::Gtpu { local: UPF.into(), peer: (GNB, 2152).into(), tos: 0, hops: None });
    assert_eq!(packet[4..8], 0x2001_u32.to_be_bytes());
    assert_eq!(packet[8..16], [0, 0, 0, 0x85, 1, 0x00, QFI, 0]);
    assert_eq!(inner(packet), one_hop_on(to_ue(1)));
}

// Input: a QER without a QFI, and a packet that was received without one.
// Output: a G-PDU without a PDU Session Container.
#[test]
fn without_a_qfi_there_is_no_container() {
    let mut setup = Bench::new();
    setup.apply(vec![Op::PutPdr(downlink_pdr().into())]).unwrap();
    setup.downlink(&to_ue(1));
    assert_eq!(setup.sent[0].1[..2], [0x30, 0xff]);
    assert_eq!(setup.sent[0].1[8..], one_hop_on(to_ue(1)));
}

// Input: octets after the end of the user packet, such as Ethernet padding.
// Output: they are not forwarded.
#[test]
fn padding_is_cut_off() {
    let mut setup = Bench::new();
    let mut padded = to_ue(1);
    padded.extend([0; 6]);
    setup.downlink(&padded);
    assert_eq!(inner(&setup.sent[0].1), one_hop_on(to_ue(1)));
}

// Input: an unknown TEID, an unknown UE, a spoofed source, a wrong QFI, and octets that are no packet.
// Output: each dropped with its own reason, nothing sent to the network, and every packet in one counter.
#[test]
fn each_miss_has_its_reason() {
    let mut setup = Bench::new();
    let mut pdr = uplink_pdr();
    pdr.pdi.qfis.insert(qfi(QFI));
    setup.apply(vec![Op::PutPdr(pdr.into())]).unwrap();
    let spoofed = udp(("10.45.0.77".parse().unwrap(), 1), (SERVER, 53), 0, 10);
    let unknown = udp((SERVER, 53), ("10.45.0.77".parse().unwrap(), 1), 0, 10);
    let cases = [
        (setup.gtpu(&g_pdu(teid(0xdead), QFI, &from_ue(1))), DropReason::UnknownTeid),
        (setup.downlink(&unknown), DropReason::UnknownUe),
        (setup.uplink(&spoofed), DropReason::SpoofedSource),
        (setup.gtpu(&g_pdu(n3().teid, QFI + 1, &from_ue(1))), DropReason::NoMatchingPdr),
        (setup.uplink(&[0x45, 0, 0]), DropReason::MalformedIp),
        (setup.gtpu(&[0x30, 0xff, 0, 99]), DropReason::MalformedGtpu),
        (setup.gtpu(&[0x50; 8]), DropReason::UnsupportedGtpVersion),
        (setup.gtpu(&[0x20, 1, 0, 0, 0, 0, 0, 0]), DropReason::UnsupportedGtpVersion),
        (setup.gtpu(&[0x30, 77, 0, 0, 0, 0, 0, 0]), DropReason::UnsupportedGtpMessage),
    ];
    let counters = setup.plane.counters();
    for (disposition, reason) in cases {
        assert_eq!(disposition, Disposition::Dropped(reason));
        assert!(counters.dropped(reason) >= 1, "{reason}");
    }
    assert_eq!(counters.total_drops(), 9);
    assert_eq!(counters.ip_sent.packets, 0);
}

// Input: a PDR that removes an IPv6 outer header, and a packet in IPv4.
// Output: dropped: the header to remove is missing.
#[test]
fn the_outer_header_must_be_the_one_to_remove() {
    for removal in [Some(HeaderRemoval::GTPU_IPV6), None] {
        let mut setup = Bench::new();
        setup.apply(vec![Op::PutPdr(Pdr { removal, ..uplink_pdr() }.into())]).unwrap();
        assert_eq!(setup.uplink(&from_ue(1)), Disposition::Dropped(DropReason::OuterHeaderMismatch));
    }
    let mut setup = Bench::new();
    setup.apply(vec![Op::PutPdr(Pdr { removal: Some(HeaderRemoval::GTPU), ..uplink_pdr() }.into())]).unwrap();
    assert_eq!(setup.uplink(&from_ue(1)), Disposition::Forwarded);
}

// Input: a second downlink PDR for UDP from port 53 that drops, first with a lower precedence value, then higher.
// Output: the lower value wins, whatever the id; at equal values the lower id does.
#[test]
fn precedence_decides_then_the_id() {
    let drop_far = causeway_model::Far { id: FarId(7), action: ApplyAction::Drop, ..to_network() };
    let dns: SdfFilter = "permit out 17 from any 53 to assigned".parse().unwrap();
    for (id, precedence, expected) in [
        (9, 254, Disposition::Dropped(DropReason::FarDrop)),
        (9, 255, Disposition::Forwarded),
        (1, 255, Disposition::Dropped(DropReason::FarDrop)),
        (1, 256, Disposition::Forwarded),
    ] {
        let mut setup = Bench::new();
        setup.apply(vec![Op::RemovePdr(UPLINK)]).unwrap();
        let mut pdr =
            Pdr { id: id.into(), far: FarId(7), precedence: Precedence(precedence), ..downlink_pdr() };
        pdr.pdi.filters = vec![dns.clone()];
        setup.apply(vec![Op::PutFar(drop_far.clone().into()), Op::PutPdr(pdr.into())]).unwrap();
        assert_eq!(setup.downlink(&to_ue(1)), expected, "PDR {id}, precedence {precedence}");
    }
}

// Input: an uplink filter `from 198.51.100.0/24 80-90 to assigned`, and packets to that net and to another port.
// Output: its ends are swapped for the uplink; only the packet to port 80 to 90 matches.
#[test]
fn a_flow_description_is_swapped_for_the_uplink() {
    let mut setup = Bench::new();
    let mut pdr = uplink_pdr();
    pdr.pdi.filters = vec!["permit out 17 from 198.51.100.0/24 80-90 to assigned".parse().unwrap()];
    setup.apply(vec![Op::PutPdr(pdr.into())]).unwrap();
    assert_eq!(setup.uplink(&udp((UE, 9), (SERVER, 90), 0, 1)), Disposition::Forwarded);
    assert_eq!(
        setup.uplink(&udp((UE, 9), (SERVER, 91), 0, 1)),
        Disposition::Dropped(DropReason::NoMatchingPdr)
    );
    assert_eq!(
        setup.uplink(&udp((UE, 80), (SERVER, 9), 0, 1)),
        Disposition::Dropped(DropReason::NoMatchingPdr)
    );
}

// Input: a FAR to a tunnel with only an IPv6 address.
// Output: sent from the local IPv6 address.
#[test]
fn the_outer_header_follows_the_tunnel_address() {
    let mut setup = Bench::new();
    let peer: std::net::Ipv6Addr = "2001:db8::b".parse().unwrap();
    let tunnel = causeway_types::FTeid { teid: teid(5), addr: peer.into() };
    setup.apply(vec![Op::PutFar(to_gnb(tunnel).into())]).unwrap();
    setup.downlink(&to_ue(1));
    let local = "2001:db8::1".parse().unwrap();
    assert_eq!(setup.sent[0].0, Egress::Gtpu { local, peer: (peer, 2152).into(), tos: 0, hops: None });
}

// Input: a FAR to a network that is not configured, and one to a tunnel of an IP version without a local address.
// Output: both drop without an egress.
#[test]
fn a_missing_egress_has_a_drop_reason() {
    let elsewhere = causeway_types::NetworkInstance::new("elsewhere");
    let mut far = to_network();
    far.forwarding.as_mut().unwrap().network_instance = Some(elsewhere);
    let mut setup = Bench::new();
    setup.apply(vec![Op::PutFar(far.into())]).unwrap();
    assert_eq!(setup.uplink(&from_ue(1)), Disposition::Dropped(DropReason::NoEgress));

    let mut topology = topology();
    topology.gtpu[0].addr.v4 = None;
    setup.plane = causeway_slowpath::SlowPath::new(topology, Limits::default());
    setup.apply(establishment()).unwrap();
    assert_eq!(setup.downlink(&to_ue(1)), Disposition::Dropped(DropReason::NoEgress));
}

// Input: session removed, then traffic in both directions.
// Output: nothing passes after the removal.
#[test]
fn no_packet_passes_after_removal() {
    let mut setup = Bench::new();
    setup.apply(SessionChange::Remove).unwrap();
    assert_eq!(setup.uplink(&from_ue(1)), Disposition::Dropped(DropReason::UnknownTeid));
    assert_eq!(setup.downlink(&to_ue(1)), Disposition::Dropped(DropReason::UnknownUe));
    assert_eq!(setup.plane.counters().sessions, 0);
}

// Input: the UPF is full; then one session is removed.
// Output: the next one is refused with the name of the table, then accepted.
#[test]
fn a_full_table_is_a_named_error() {
    let mut setup = Bench::empty(Limits { max_sessions: 1, max_pdrs_per_session: 2, ..Limits::default() });
    setup.apply(establishment()).unwrap();
    let refused = setup.apply_to(causeway_types::Seid(2), install(vec![])).unwrap_err();
    assert_eq!(refused.to_string(), "sessions is full: 1 entries");
    let third = Pdr { id: 3.into(), ..downlink_pdr() };
    let refused = setup.apply(vec![Op::PutPdr(third.into())]).unwrap_err();
    assert_eq!(refused.to_string(), "PDRs of the session is full: 2 entries");
    setup.apply(SessionChange::Remove).unwrap();
    setup.apply_to(causeway_types::Seid(2), install(vec![])).unwrap();
}

// Input: plans that name a missing rule, and a tunnel of another session.
// Output: refused, and the session forwards as before.
#[test]
fn a_refused_plan_changes_nothing() {
    let mut setup = Bench::new();
    let dangling = [
        vec![Op::RemoveFar(FarId(2))].into(),
        vec![Op::RemoveQer(QerId(1))].into(),
        vec![Op::PutPdr(Pdr { urrs: vec![9.into()], ..uplink_pdr() }.into())].into(),
        install(vec![]),
    ];
    for change in dangling {
        assert!(setup.apply(change.clone()).is_err(), "{change:?}");
    }
    let thief = install(vec![Op::PutFar(to_network().into()), Op::PutPdr(uplink_pdr().into())]);
    let refused = setup.apply_to(causeway_types::Seid(2), thief).unwrap_err();
    assert_eq!(refused, causeway_dataplane::ApplyError::TunnelInUse(n3()));
    assert_eq!(setup.uplink(&from_ue(1)), Disposition::Forwarded);
    assert_eq!(setup.downlink(&to_ue(1)), Disposition::Forwarded);
}
