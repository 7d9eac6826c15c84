//! The tables of both targets are the same.

use std::path::Path;

use causeway_p4::p4info::{Key, P4Info};
use causeway_p4::render::{BMV2_ONLY, PROFILES};

/// A table, its keys, and the actions of its entries with their parameters; no ids, which a target may choose.
type Offer = (String, Vec<(String, u32, causeway_p4::MatchKind)>, Vec<(String, Vec<(String, u32)>)>);

fn offers(profile: &str, target: &str) -> Vec<Offer> {
    let name = format!("../../../p4/p4info/{profile}.{target}.txtpb");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let info = P4Info::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut offers: Vec<Offer> = info
        .tables
        .iter()
        .map(|table| {
            let keys = table
                .keys
                .iter()
                .map(|Key { name, width, kind, .. }| (name.clone(), *width, *kind))
                .collect();
            let actions = table.actions.iter().map(|id| {
                let action = info.action(*id).unwrap();
                let params = action.params.iter().map(|(_, name, width)| (name.clone(), *width)).collect();
                (action.name.clone(), params)
            });
            let mut actions: Vec<_> = actions.collect();
            actions.sort();
            (table.name.clone(), keys, actions)
        })
        .collect();
    offers.sort();
    offers
}

// Input:  the P4Info of each profile that is committed for both.
// Output: the same tables, keys and actions in both.
#[test]
fn both_targets_offer_the_same() {
    for (profile, _) in PROFILES.into_iter().filter(|(profile, _)| !BMV2_ONLY.contains(profile)) {
        let (bmv2, tofino) = (offers(profile, "bmv2"), offers(profile, "tofino"));
        assert!(bmv2.len() > 10, "{profile}");
        assert_eq!(bmv2, tofino, "{profile}");
    }
}
