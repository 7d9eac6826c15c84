//! Banks of counters and meters of Causeway's program `direct`: their sizes and stages.

use super::direct::Sizes;
use super::{After, RULES_PER_METER};
use crate::error::PlanError;
use crate::pipeline::Dependency::{self, Action, Match as Matches};
use crate::pipeline::Pipeline;
use crate::profiles::fields::key;
use crate::table::Gress::{self, Ingress};
use crate::table::{Match, Table};

/// Banks of counters: the maximum size of each, and its stage if the program specifies it (`p4/contract/banks.p4`,
/// `places.p4`).
type Banks = &'static [(u32, usize)];

/// Before and after QoS enforcement, where few rules have filters.
const FEW: [Banks; 2] = [
    &[(59_392, 5), (59_392, 6), (59_392, 7), (59_392, 9), (71_680, 10), (71_680, 11), (65_536, 11)],
    &[
        (71_680, 1),
        (71_680, 2),
        (71_680, 3),
        (71_680, 4),
        (47_104, 0),
        (10_240, 1),
        (10_240, 2),
        (10_240, 3),
        (10_240, 4),
        (65_536, 0),
    ],
];
/// Where many rules have filters.
const MANY: [Banks; 2] = [
    &[(55_296, 5), (55_296, 6), (59_392, 7), (34_816, 8), (71_680, 10), (71_680, 11), (65_536, 11)],
    &[
        (71_680, 1),
        (71_680, 2),
        (71_680, 3),
        (49_152, 4),
        (10_240, 1),
        (10_240, 2),
        (10_240, 3),
        (10_240, 0),
        (10_240, 0),
        (65_536, 0),
    ],
];
/// With this many rules with entries of their own, these have two banks of a row each before QoS enforcement.
const ROW_OF_RULES: std::ops::RangeInclusive<u32> = 10_241..=16_384;
/// Banks of rules, where few have filters and many: the size of a bank, and the stages.
const FEW_RULES: [(u32, [usize; 3]); 2] = [(8192, [8, 10, 10]), (65_536, [8, 8, 8])];
const MANY_RULES: [(u32, [usize; 3]); 2] = [(32_768, [9, 11, 11]), (32_768, [0, 4, 5])];
/// Meters of sessions' rules in banks, in the order of execution: the first number of a bank, its maximum size, and its
/// stage. The rest follows the meters of rules.
const METERS: [(&str, u32, u32, usize); 4] = [
    ("session_meters_1", 8192, 8192, 5),
    ("session_meters_2", 16_384, 8192, 6),
    ("session_meters_0", 0, 8192, 7),
    ("session_meters_large", 24_576, 18_432, 8),
];
/// Tables that find a number's bank on each side.
pub(super) const INDEX: [(&str, u16); 4] =
    [("pre_qos_uplink", 1), ("post_qos_uplink", 1), ("pre_qos_downlink", 0), ("post_qos_downlink", 0)];

/// The bank of a session's number on each side, and its start.
pub(super) fn index(pipeline: &mut Pipeline, sizes: &Sizes) -> Result<(), PlanError> {
    for (name, way) in INDEX {
        let number = Match::Ternary(key(&[&[("number", 16)]]));
        let table = Table::new(name, Ingress, number, 16).actions(&[&[8, 32]]).at_stage(sizes.pin(4));
        let after: &After<'_> = &if way == 0 { vec![("ue_pools", Matches)] } else { Vec::new() };
        pipeline.add(table.when("tunnelled", way), after)?;
    }
    Ok(())
}

/// Meters of simple rules, which write the colour one after the other: the names of their tables, and the number of
/// meters left for `rule_meters`.
pub(super) fn session_meters(
    pipeline: &mut Pipeline,
    sizes: &Sizes,
    simple: &After<'_>,
) -> Result<(Vec<&'static str>, u32), PlanError> {
    let meters = (2 * sizes.simple / RULES_PER_METER).max(1);
    let mut after = simple.clone();
    let mut names = Vec::new();
    for (name, before, most, stage) in METERS {
        let entries = meters.saturating_sub(before).min(most);
        if entries > 0 {
            let table = Table::new(name, Ingress, Match::Always, entries).metered();
            pipeline.add(table.at_stage(sizes.pin(stage)), &after)?;
            after = simple.iter().copied().chain([(name, Action)]).collect();
            names.push(name);
        }
    }
    Ok((names, meters.saturating_sub(METERS[3].1 + METERS[3].2)))
}

/// Counters of sessions' simple rules: those of the uplink, followed by those of the downlink.
pub(super) fn banks(
    pipeline: &mut Pipeline,
    sizes: &Sizes,
    gress: Gress,
    after: &[(&str, Dependency)],
) -> Result<(), PlanError> {
    let side = usize::from(gress != Ingress);
    let banks = if sizes.has_many_rules { MANY[side] } else { FEW[side] };
    let mut left = sizes.simple.next_multiple_of(1024) + sizes.simple;
    for (number, (most, stage)) in banks.iter().enumerate() {
        let entries = left.min(*most);
        left -= entries;
        if entries > 0 {
            let table = Table::new(format!("counters_{gress}_{number}"), gress, Match::Always, entries);
            // Where the program specifies no stage, the compiler fills stages 0 to 3 with those of the egress side.
            let stage = sizes.pin(*stage).or((gress != Ingress).then_some(stage % 4));
            pipeline.add(table.counted().at_stage(stage), after)?;
        }
    }
    Ok(())
}

/// Counters of rules with entries of their own.
pub(super) fn rule_banks(
    pipeline: &mut Pipeline,
    sizes: &Sizes,
    gress: Gress,
    after: &[(&str, Dependency)],
) -> Result<(), PlanError> {
    let side = usize::from(gress != Ingress);
    let mut left = sizes.rules();
    let (most, stages) = match sizes.has_many_rules {
        true => MANY_RULES[side],
        false if gress == Ingress && !ROW_OF_RULES.contains(&left) => (65_536, FEW_RULES[0].1),
        false => FEW_RULES[side],
    };
    for (number, stage) in (0_u16..).zip(stages) {
        let entries = left.min(most);
        left -= entries;
        if entries > 0 {
            let name = format!("counters_{gress}_rules_{number}");
            let table = Table::new(name, gress, Match::Always, entries).counted();
            // Where the program specifies no stage, the compiler begins with this one.
            let stage = sizes.pin(stage).or((gress != Ingress).then_some(0));
            pipeline.add(table.when("bank of rules", number).at_stage(stage), after)?;
        }
    }
    Ok(())
}
