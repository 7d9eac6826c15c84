//! Sharing and freeing of sets.

use std::collections::HashMap;

use causeway_fastpath::filters::{FilterSetError, FilterSets, FullPacketKey, Rule, SetId};
use causeway_model::{FlowAddress, FlowDescription, FlowEnd, SdfFilter};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::{protocol_rule, rule};

// Input:  the same rules three times, once with another filter id; rules in another order.
// Output: one set for the first three, another for the last.
#[test]
fn equal_content_has_one_id() {
    let mut sets = FilterSets::new(16).unwrap();
    let mut rules = vec![protocol_rule(6), protocol_rule(17)];
    let first = sets.insert(&rules).unwrap();
    assert_eq!(sets.insert(&rules), Ok(first));
    rules[0].filters =
        rules[0].filters.iter().map(|filter| SdfFilter { id: Some(9), ..filter.clone() }).collect();
    assert_eq!(sets.insert(&rules), Ok(first));
    rules.reverse();
    assert_ne!(sets.insert(&rules), Ok(first));
    assert_eq!((sets.len(), sets.blocks()), (2, 2));
}

// Input:  rules behind one that every packet matches.
// Output: they make no difference, as they are never reached.
#[test]
fn unreachable_lanes_are_not_part_of_the_content() {
    let mut sets = FilterSets::new(16).unwrap();
    let rules = [protocol_rule(6), rule(&[], vec![]), protocol_rule(17)];
    assert_eq!(sets.insert(&rules), sets.insert(&rules[..2]));
    assert_eq!(sets.insert(&rules[1..]), Ok(SetId::ANY));
}

// Input:  a set with two users, removed one after the other; then other rules.
// Output: it matches until the second is removed; the other rules take its memory and its id.
#[test]
fn the_last_user_frees_the_set() {
    let mut sets = FilterSets::new(1).unwrap();
    let key = FullPacketKey::v4(1, 2, 6, 0);
    let set = sets.insert(&[protocol_rule(6)]).unwrap();
    assert_eq!(sets.insert(&[protocol_rule(6)]), Ok(set));
    for left in [Some(0), None, None] {
        sets.remove(set);
        assert_eq!(sets.first_match(set, &key), left);
    }
    assert_eq!(sets.insert(&[protocol_rule(17), protocol_rule(6)]), Ok(set));
    assert_eq!(sets.first_match(set, &key), Some(1));
}

// Input:  capacity for two blocks: a set of one, one of two, and after the first is freed the one of two again.
// Output: the second is refused and the first still matches; then it fits.
#[test]
fn a_full_filter_memory_refuses_and_changes_nothing() {
    let mut sets = FilterSets::new(2).unwrap();
    let key = FullPacketKey::v4(1, 2, 6, 0);
    let (small, large): (Vec<Rule>, Vec<Rule>) =
        (vec![protocol_rule(6)], (0..17).map(protocol_rule).collect());
    let set = sets.insert(&small).unwrap();
    assert_eq!(sets.insert(&large), Err(FilterSetError::Blocks(2)));
    assert_eq!((sets.first_match(set, &key), sets.len(), sets.blocks()), (Some(0), 1, 1));
    sets.remove(set);
    let set = sets.insert(&large).unwrap();
    assert_eq!(sets.first_match(set, &key), Some(6));
}

/// A rule for a prefix at the remote end.
fn net_rule(net: &str) -> Rule {
    let remote = FlowEnd { address: FlowAddress::Net(net.parse().unwrap()), ports: Vec::new() };
    rule(&[], vec![FlowDescription { remote, ..FlowDescription::ANY }.into()])
}

// Input:  fifteen IPv4 prefixes and an open rule; an IPv4 and an IPv6 prefix and an open rule.
// Output: one block for packets of both families; a block for each family. Packets of the other family match the open
//         rule.
#[test]
fn families_share_blocks_of_ipv4_filters() {
    let v4: Vec<Rule> = (0..15).map(|at| net_rule(&format!("198.51.100.{at}/32"))).collect();
    let open = rule(&[], vec![]);
    let both = [net_rule("0.0.0.0/0"), net_rule("2001:db8::/64"), open.clone()];
    for (rules, blocks, answers) in
        [([v4, vec![open]].concat(), 1, [Some(14), Some(15)]), (both.to_vec(), 2, [Some(0), Some(2)])]
    {
        let mut sets = FilterSets::new(16).unwrap();
        let set = sets.insert(&rules).unwrap();
        assert_eq!(sets.blocks(), blocks);
        let keys = [FullPacketKey::v4(0xc633_640e, 2, 6, 0), FullPacketKey::v6(0xc633_640e << 96, 2, 6, 0)];
        assert_eq!(keys.map(|key| sets.first_match(set, &key)), answers);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 128 },
        failure_persistence: if cfg!(miri) { None } else { ProptestConfig::default().failure_persistence },
        ..ProptestConfig::default()
    })]

    // Input:  sessions that are added and removed at random, each with one of ten sets of 1 to 46 rules, in a store
    //         that may be full.
    // Output: at any time each session's set yields the rule of its content, sets of equal content are one, and in the
    //         end no memory is taken.
    #[test]
    fn random_inserts_and_removals_keep_sets_consistent(steps in vec((0..10_u8, any::<Index>(), prop::bool::weighted(0.6)), 1..if cfg!(miri) { 8 } else { 80 })) {
        let content = |kind: u8| -> Vec<Rule> { (0..=kind * 5).map(|at| protocol_rule(100 + kind + at)).collect() };
        let mut sets = FilterSets::new(10).unwrap();
        let mut sessions: Vec<(u8, SetId)> = Vec::new();
        for (kind, index, is_arrival) in steps {
            if is_arrival {
                sessions.extend(sets.insert(&content(kind)).ok().map(|set| (kind, set)));
            } else if !sessions.is_empty() {
                sets.remove(sessions.swap_remove(index.index(sessions.len())).1);
            }
            let by_kind: HashMap<u8, SetId> = sessions.iter().copied().collect();
            prop_assert_eq!(sets.len(), by_kind.len());
            for &(kind, set) in &sessions {
                prop_assert_eq!(by_kind.get(&kind), Some(&set));
                let last = kind * 5;
                let key = |protocol| FullPacketKey::v4(1, 2, protocol, 0);
                prop_assert_eq!(sets.first_match(set, &key(100 + kind + last)), Some(last));
                prop_assert_eq!(sets.first_match(set, &key(100 + kind + last + 1)), None);
            }
        }
        sessions.into_iter().for_each(|(_, set)| sets.remove(set));
        prop_assert_eq!((sets.len(), sets.blocks()), (0, 0));
    }
}
