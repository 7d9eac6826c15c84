//! The stages of Tofino 1 that the compiler gave the tables of each profile, from `p4/stages`.
//!
//! A program on another target, such as BMv2, has no stages: these show where its tables would be.

/// Where a part of a table is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableStage<'a> {
    /// The stage, from 0.
    pub stage: u8,
    /// It is in the egress pipeline.
    pub is_egress: bool,
    /// The name of the table, as in [`names::table`](crate::names::table).
    pub table: &'a str,
}

/// The profiles that were compiled for Tofino 1, and what the compiler said.
const COMPILED: [(&str, &str); 7] = [
    ("baseline", include_str!("../../../../p4/stages/baseline.tofino.txt")),
    ("direct", include_str!("../../../../p4/stages/direct.tofino.txt")),
    ("hip4", include_str!("../../../../p4/stages/hip4.tofino.txt")),
    ("hip4-hybrid", include_str!("../../../../p4/stages/hip4-hybrid.tofino.txt")),
    ("red", include_str!("../../../../p4/stages/red.tofino.txt")),
    ("red-spt", include_str!("../../../../p4/stages/red-spt.tofino.txt")),
    ("thesis", include_str!("../../../../p4/stages/thesis.tofino.txt")),
];

/// Where the tables of a profile are whose names these are, in the order of stages; a table that is spread over several has one part
/// in each. None for a profile that was not compiled.
pub fn stages<'a>(profile: &str, tables: &[&'a str]) -> Vec<TableStage<'a>> {
    let text = COMPILED.iter().find(|(name, _)| *name == profile).map_or("", |(_, text)| *text);
    let mut parts: Vec<TableStage<'a>> = text.lines().filter_map(|line| part(line, tables)).collect();
    parts.dedup();
    parts
}

/// The part of a line such as `1 ingress ternary_match upf_pdr_complex$st1`. The compiler puts the names of the controls before that
/// of the table, so the longest name at the end is it.
fn part<'a>(line: &str, tables: &[&'a str]) -> Option<TableStage<'a>> {
    let mut words = line.split(' ');
    let (stage, gress, kind, name) = (words.next()?, words.next()?, words.next()?, words.next()?);
    if matches!(kind, "counter" | "meter") {
        return None;
    }
    let name = name.split('$').next()?;
    let is_named = |table: &&&str| name == **table || name.ends_with(&format!("_{table}"));
    let table = tables.iter().filter(is_named).max_by_key(|table| table.len())?;
    Some(TableStage { stage: stage.parse().ok()?, is_egress: gress == "egress", table })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::{DIRECT, HIP4};

    // Input:  the tables of profiles `hip4` and `direct`, and a profile that does not exist.
    // Output: every table with entries of rules has a stage, in order; a large one has several; accounting after QoS
    //         enforcement is in egress; nothing for the last.
    #[test]
    fn tables_have_stages() {
        for contract in [&HIP4, &DIRECT] {
            let names: Vec<&str> = contract.tables.iter().map(|table| table.name).collect();
            let profile = if contract.tables.len() == HIP4.tables.len() { "hip4" } else { "direct" };
            let found = stages(profile, &names);
            assert!(found.is_sorted_by_key(|part| part.stage), "{found:?}");
            let without: Vec<_> =
                names.iter().filter(|name| !found.iter().any(|part| part.table == **name)).collect();
            // The compiler implements some small tables without memory of a stage.
            assert!(without.len() * 4 < names.len(), "{profile}: {without:?}");
        }
        let parts = stages("hip4", &["dl_from_n6_simple", "post_qos_a"]);
        assert!(parts.iter().any(|part| part.table == "post_qos_a" && part.is_egress), "{parts:?}");
        assert!(parts.iter().filter(|part| part.table == "dl_from_n6_simple").count() >= 1, "{parts:?}");
        assert!(stages("none", &["post_qos_a"]).is_empty());
    }
}
