//! Compares classification with the filters of the slow path.

use std::net::IpAddr;

use causeway_fastpath::filters::{
    Compare, FilterSetError, FilterSets, FullPacketKey, MAX_LANES, MAX_RULES, PacketKey, Rule, ScalarFilter,
    SetId,
};
use causeway_model::{FlowAddress, FlowDescription, FlowEnd, SdfFilter};
use causeway_packet::FlowLabel;
use causeway_slowpath::matches_filter;
use causeway_types::{Direction, Qfi};
use proptest::collection::vec;
use proptest::prelude::*;

use super::random::{self, is_assigned};
use super::{Packet, first_match, matches, packet, protocol_rule, rule};

/// The choice of the slow path.
fn expected(rules: &[Rule], packet: &Packet) -> Option<u8> {
    let has_qfi = |rule: &Rule| rule.qfis.is_empty() || packet.qfi.is_some_and(|qfi| rule.qfis.contains(qfi));
    let fits = |filter: &SdfFilter| matches_filter(filter, &packet.flow, packet.direction, is_assigned);
    let index = rules
        .iter()
        .position(|rule| has_qfi(rule) && (rule.filters.is_empty() || rule.filters.iter().any(fits)))?;
    u8::try_from(index).ok()
}

fn key(packet: &Packet) -> FullPacketKey {
    FullPacketKey::from_flow(&packet.flow, packet.direction, packet.qfi, is_assigned)
}

/// The packet key of an IPv4 packet with ports, and its local address.
fn packet_key(packet: &Packet) -> Option<(PacketKey, u32)> {
    let (flow, ports) = (&packet.flow, packet.flow.ports?);
    let (IpAddr::V4(src), IpAddr::V4(dst)) = (flow.src, flow.dst) else { return None };
    let (remote, local, ports) = match packet.direction {
        Direction::Uplink => (dst, src, (ports.dst, ports.src)),
        Direction::Downlink => (src, dst, (ports.src, ports.dst)),
    };
    let ports = u32::from(ports.1) << 16 | u32::from(ports.0);
    let packet_key = PacketKey::v4(remote.into(), ports, flow.protocol.0, flow.tos)
        .with_ue(is_assigned(remote.into()), is_assigned(local.into()));
    Some((packet.qfi.map_or(packet_key, |qfi| packet_key.with_qfi(qfi)), local.into()))
}

/// The rule of an IPv4 packet with ports by the scalar lanes of a set, one after the other.
fn match_scalar(sets: &FilterSets, set: SetId, packet: &Packet) -> Option<Option<u8>> {
    let ((packet_key, _), lanes) = (packet_key(packet)?, sets.scalar_filters(set)?);
    Some(lanes.iter().find(|lane| lane.fits(packet_key)).map(ScalarFilter::rule))
}

/// The rule of an IPv4 packet with ports by its packet key.
fn match_by_packet_key(sets: &FilterSets, set: SetId, packet: &Packet) -> Option<Option<u8>> {
    packet_key(packet).map(|(packet_key, local)| sets.first_match_v4(set, packet_key, local))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 },
        failure_persistence: if cfg!(miri) { None } else { ProptestConfig::default().failure_persistence },
        ..ProptestConfig::default()
    })]

    // Input:  several sets in one store, of up to 64 random rules each, and packets of few numbers and adjacent ones.
    // Output: each implementation, by full key, by packet key, and by scalar lanes, yields the rule of the slow path
    //         data plane.
    #[test]
    fn sets_equal_the_slow_path(
        lists in vec(random::rules(if cfg!(miri) { 8 } else { 64 }), 1..4),
        packets in vec(random::packet(), 1..if cfg!(miri) { 8 } else { 64 }),
    ) {
        for compare in Compare::available() {
            let mut sets = FilterSets::comparing(4096, compare).unwrap();
            let ids: Vec<_> = lists.iter().map(|rules| sets.insert(rules)).collect();
            for (id, rules) in ids.into_iter().zip(&lists) {
                let id = id.unwrap();
                for packet in &packets {
                    let (found, wanted) = (sets.first_match(id, &key(packet)), expected(rules, packet));
                    prop_assert_eq!(found, wanted, "{} {:?}", compare.name(), packet);
                    let by_packet_key = match_by_packet_key(&sets, id, packet);
                    prop_assert_eq!(by_packet_key.unwrap_or(wanted), wanted, "{} {:?}", compare.name(), packet);
                    let alone = match_scalar(&sets, id, packet).unwrap_or(wanted);
                    prop_assert_eq!(alone, wanted, "{:?}", packet);
                }
            }
        }
    }

    // Input:  one or two random rules, and packets.
    // Output: the same. Small sets test each part by itself, which many rules would hide.
    #[test]
    fn few_rules_equal_the_slow_path(
        rules in random::rules(2),
        packets in vec(random::packet(), 1..if cfg!(miri) { 8 } else { 64 }),
    ) {
        let found = matches(&rules, &packets.iter().map(key).collect::<Vec<_>>());
        for compare in Compare::available() {
            let mut sets = FilterSets::comparing(256, compare).unwrap();
            let set = sets.insert(&rules).unwrap();
            for packet in &packets {
                let by_packet_key = match_by_packet_key(&sets, set, packet).unwrap_or_else(|| expected(&rules, packet));
                prop_assert_eq!(by_packet_key, expected(&rules, packet), "{} {:?}", compare.name(), packet);
                let alone = match_scalar(&sets, set, packet).unwrap_or(by_packet_key);
                prop_assert_eq!(alone, by_packet_key, "{:?}", packet);
            }
        }
        for (found, packet) in found.into_iter().zip(&packets) {
            prop_assert_eq!(found, expected(&rules, packet), "{:?}", packet);
        }
    }
}

// Input:  packets against sets without rules, with an open rule, with one for QFI 5.
// Output: none; the first; the first for packets with QFI 5 only. None of these sets takes memory.
#[test]
fn trivial_sets_need_no_memory() {
    let mut sets = FilterSets::new(0).unwrap();
    let without = key(&packet("198.51.100.9", "10.45.0.2"));
    let with = |raw| without.with_qfi(Qfi::new(raw).unwrap());
    for (rules, answers) in [
        (vec![], [None, None, None]),
        (vec![rule(&[], vec![])], [Some(0); 3]),
        (vec![rule(&[], vec![FlowDescription::ANY.into()]), protocol_rule(6)], [Some(0); 3]),
        (vec![rule(&[5], vec![])], [None, Some(0), None]),
    ] {
        let set = sets.insert(&rules).unwrap();
        assert_eq!([without, with(5), with(0)].map(|key| sets.first_match(set, &key)), answers, "{rules:?}");
    }
    assert!(sets.is_empty());
}

// Input:  64 rules, each for another protocol, and packets of every protocol; then 65 rules.
// Output: each rule is chosen for its protocol; 65 are refused.
#[test]
fn sixty_four_rules_are_the_maximum() {
    let rules: Vec<Rule> = (0..64).map(protocol_rule).collect();
    let mut packet = packet("198.51.100.9", "10.45.0.2");
    for protocol in [0, 15, 16, 17, 62, 63, 64, 255] {
        packet.flow.protocol.0 = protocol;
        assert_eq!(first_match(&rules, key(&packet)), (protocol < 64).then_some(protocol));
    }
    let too_many = vec![protocol_rule(6); MAX_RULES + 1];
    assert_eq!(FilterSets::new(256).unwrap().insert(&too_many), Err(FilterSetError::Rules(65)));
}

/// A filter for this many single ports at each end, two apart.
fn port_lists(remote: u16, local: u16) -> SdfFilter {
    let end = |count: u16| FlowEnd {
        address: FlowAddress::Any,
        ports: (0..count).map(|at| 2 * at..=2 * at).collect(),
    };
    FlowDescription { protocol: None, remote: end(remote), local: end(local) }.into()
}

// Input:  a filter of 32 remote and 32 local ports, the maximum of lanes of a set; one with a port more.
// Output: the last pair of ports is found, a port between is not; the second filter is refused and takes no memory.
#[test]
fn port_lists_multiply_up_to_the_maximum_of_lanes() {
    let rules = [rule(&[], vec![port_lists(32, 32)])];
    let key = FullPacketKey::v4(1, 2, 17, 0);
    assert_eq!(first_match(&rules, key.with_ports(62, 62)), Some(0));
    assert_eq!(first_match(&rules, key.with_ports(62, 61)), None);
    let mut sets = FilterSets::new(256).unwrap();
    assert_eq!(
        sets.insert(&[rule(&[], vec![port_lists(32, 32), protocol_rule(1).filters.remove(0)])]),
        Err(FilterSetError::Lanes)
    );
    assert_eq!(
        sets.insert(&[rule(&[], vec![port_lists(u16::MAX / 2, u16::MAX / 2)])]),
        Err(FilterSetError::Lanes)
    );
    assert_eq!((sets.len(), sets.blocks(), MAX_LANES), (0, 0, 1024));
}

// Input:  an IPv6 ESP packet with SPI 7 and flow label 9 against a filter for both, and packets that lack one of them.
// Output: only the first matches.
#[test]
fn spi_and_flow_label_both_match() {
    let filter = SdfFilter { spi: Some(7), flow_label: Some(9), ..FlowDescription::ANY.into() };
    let rules = [rule(&[], vec![filter])];
    let mut both = packet("2001:db8::1", "2001:db8:45::1");
    (both.flow.spi, both.flow.flow_label) = (Some(7), FlowLabel::new(9));
    let (mut no_spi, mut no_label) = (both.clone(), both.clone());
    (no_spi.flow.spi, no_label.flow.flow_label) = (None, None);
    let found = [&both, &no_spi, &no_label].map(|packet| first_match(&rules, key(packet)));
    assert_eq!(found, [Some(0), None, None]);
}

// Input:  an id that was never used, and one whose set is freed, both with an open packet.
// Output: nothing matches.
#[test]
fn stale_set_ids_match_nothing() {
    let mut sets = FilterSets::new(4).unwrap();
    let key = FullPacketKey::v4(1, 2, 6, 0);
    let set = sets.insert(&[protocol_rule(6)]).unwrap();
    assert_eq!(sets.first_match(set, &key), Some(0));
    sets.remove(set);
    let foreign = SetId::from_raw(u32::MAX);
    assert_eq!([set, foreign].map(|set| sets.first_match(set, &key)), [None, None]);
}

// Input:  sets of every kind, one of 64 lanes, one with the local address, and one for IPv6 alone.
// Output: as many scalar lanes as IPv4 packets can match; none for the set that compares more.
#[test]
fn scalar_filters_equal_the_blocks() {
    let mut sets = FilterSets::new(256).unwrap();
    let end = |net: &str| FlowEnd { address: FlowAddress::Net(net.parse().unwrap()), ports: vec![] };
    let far = |net| FlowDescription { remote: end(net), ..FlowDescription::ANY };
    let near = FlowDescription { local: end("10.45.0.0/16"), ..FlowDescription::ANY };
    for (rules, count) in [
        (vec![rule(&[], vec![])], Some(1)),
        (vec![rule(&[5], vec![])], Some(1)),
        (vec![protocol_rule(6), protocol_rule(17), rule(&[], vec![])], Some(3)),
        (vec![rule(&[], vec![far("2001:db8::/32").into()])], Some(0)),
        (vec![rule(&[], vec![far("198.51.100.0/24").into()])], Some(1)),
        (vec![], Some(0)),
        ((0..64).map(protocol_rule).collect(), Some(64)),
        (vec![rule(&[], vec![near.into()])], None),
    ] {
        let set = sets.insert(&rules).unwrap();
        assert_eq!(sets.scalar_filters(set).map(|lanes| lanes.len()), count, "{rules:?}");
    }
}
