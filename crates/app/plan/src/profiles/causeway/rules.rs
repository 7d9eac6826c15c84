//! The rule lookup of the programs, and the rules' actions: PDR tables in three or seven parts, tables of FARs, or
//! templates.

use crate::error::PlanError;
use crate::pipeline::Dependency::{self, Control};
use crate::pipeline::Pipeline;
use crate::profiles::fields::{
    OPERAND_IPV4, OPERAND_METER, OPERAND_OCTET, OPERAND_PDR_ID, OPERAND_TEID, PDR_ID, TUNNEL, UE_ADDRESS, key,
};
use crate::profiles::{Population, Profile, Program};
use crate::table::Gress::Ingress;
use crate::table::{Match, Table};

/// Entries of the templates: towards N6, towards N9 and N3, downlink.
const TEMPLATES: [u32; 3] = [2048, 1024, 2048];
/// Filter fields of the other end and of the packet.
pub(super) const FILTER: &[(&str, u32)] = &[
    ("remote", 32),
    ("inner.protocol", 8),
    ("inner.dscp", 6),
    ("inner.sport", 16),
    ("inner.dport", 16),
    ("has_ports", 1),
];
/// Additional fields, where one table is for both directions.
const BOTH_WAYS: &[(&str, u32)] = &[("tunnelled", 1), ("ipv4", 1), ("inner.src", 32)];

/// Mark, DSCP and whether a copy is sent.
pub(super) const DECAPSULATE: &[u32] = &[OPERAND_OCTET, OPERAND_OCTET];
/// Address, QFI, PDU type, DSCP and whether a copy is sent.
pub(super) const ENCAPSULATE: &[u32] =
    &[OPERAND_IPV4, OPERAND_OCTET, OPERAND_OCTET, OPERAND_OCTET, OPERAND_OCTET];
/// Reason and whether a copy is sent.
pub(super) const DROP: &[u32] = &[OPERAND_OCTET, OPERAND_OCTET];

/// Operands of a PDR table's entry in addition to the PDR_ID, where it contains the FAR.
pub(super) const TO_N6: &[&[u32]] =
    &[&[OPERAND_PDR_ID, OPERAND_METER, OPERAND_OCTET, OPERAND_OCTET], MERGED_DROP];
pub(super) const TO_TUNNEL: &[&[u32]] = &[MERGED_TUNNEL, MERGED_BUFFER, MERGED_DROP];
pub(super) const TO_EITHER: &[&[u32]] = &[TO_N6[0], MERGED_TUNNEL, MERGED_DROP];
const TO_ANY: &[&[u32]] = &[TO_N6[0], MERGED_TUNNEL, MERGED_BUFFER, MERGED_DROP];
pub(super) const MERGED_TUNNEL: &[u32] = &[
    OPERAND_PDR_ID,
    OPERAND_METER,
    OPERAND_TEID,
    OPERAND_IPV4,
    OPERAND_OCTET,
    OPERAND_OCTET,
    OPERAND_OCTET,
    OPERAND_OCTET,
];
pub(super) const MERGED_BUFFER: &[u32] = &[OPERAND_PDR_ID, OPERAND_OCTET];
pub(super) const MERGED_DROP: &[u32] = &[OPERAND_PDR_ID, OPERAND_OCTET, OPERAND_OCTET];

/// The tables that find the rule.
const UNSPLIT: &[&str] = &["complex", "ul_simple", "dl_simple"];
const SPLIT: &[&str] = &[
    "ul_to_n6_complex",
    "ul_to_n9_n3_complex",
    "ul_to_n6_simple",
    "ul_to_n9_n3_simple",
    "dl_from_n9_simple",
    "dl_from_n6_complex",
    "dl_from_n6_simple",
];

/// The number of rules of all kinds.
pub(super) fn count(profile: Profile, population: &Population) -> u32 {
    let Population { simple, complex, n9 } = *population;
    match profile {
        Profile::Baseline | Profile::Red => 2 * simple + 2 * complex,
        _ => 2 * (simple - n9) + n9 + (n9 + complex / 2) + 3 * (complex / 2),
    }
}

/// The tables that find the rule, and their names.
pub(super) fn matching(
    pipeline: &mut Pipeline,
    program: &Program,
    population: &Population,
) -> Result<&'static [&'static str], PlanError> {
    match program.profile {
        Profile::Baseline | Profile::Red => unsplit(pipeline, program, population),
        _ => split(pipeline, program, population),
    }
}

/// The tables of rules that write a reason for a drop and the address of a tunnel.
pub(super) const fn written(profile: Profile) -> &'static [&'static str] {
    match profile {
        Profile::Red => UNSPLIT,
        Profile::RedSpt => SPLIT,
        _ => &[],
    }
}

fn unsplit(
    pipeline: &mut Pipeline,
    program: &Program,
    population: &Population,
) -> Result<&'static [&'static str], PlanError> {
    let actions: &[&[u32]] = if program.profile == Profile::Red { TO_ANY } else { &[&[OPERAND_PDR_ID]] };
    let under = |table: Table| table.actions(actions).when("user data", 1);
    if population.complex > 0 {
        let fields = key(&[TUNNEL, BOTH_WAYS, FILTER]);
        let complex = Table::new("complex", Ingress, Match::Ternary(fields), population.complex * 2);
        pipeline.add(under(complex), &[])?;
    } else {
        pipeline.add(under(Table::new("complex", Ingress, Match::Always, 0)), &[])?;
    }
    for (way, name, fields) in [(1, "ul_simple", TUNNEL), (0, "dl_simple", UE_ADDRESS)] {
        let simple = Table::new(name, Ingress, Match::Exact(key(&[fields])), population.simple);
        pipeline.add(under(simple).when("tunnelled", way), &[("complex", Control)])?;
    }
    Ok(UNSPLIT)
}

fn split(
    pipeline: &mut Pipeline,
    program: &Program,
    population: &Population,
) -> Result<&'static [&'static str], PlanError> {
    const TEMPLATED: [&[&[u32]]; 2] = [&[&[OPERAND_PDR_ID]], &[&[OPERAND_PDR_ID, OPERAND_TEID]]];
    let [to_n6, either, tunnel] = match program.profile {
        Profile::RedSpt => [TO_N6, TO_EITHER, TO_TUNNEL],
        _ => [TEMPLATED[0], TEMPLATED[1], TEMPLATED[1]],
    };
    let complex = population.complex / 2;
    let (n6, n9, back) = (population.simple - population.n9, population.n9, population.n9 + complex);
    let filters = |who: &[(&'static str, u32)]| Match::Ternary(key(&[who, FILTER]));
    let exact = |who: &[(&'static str, u32)]| Match::Exact(key(&[who]));
    let mut last: [Option<&str>; 2] = [None; 2];
    for (way, name, matching, entries, operands) in [
        (1, "ul_to_n6_complex", filters(TUNNEL), complex, to_n6),
        (1, "ul_to_n9_n3_complex", filters(TUNNEL), complex, either),
        (1, "ul_to_n6_simple", exact(TUNNEL), n6, to_n6),
        (1, "ul_to_n9_n3_simple", exact(TUNNEL), n9, tunnel),
        (1, "dl_from_n9_simple", exact(TUNNEL), back, tunnel),
        (0, "dl_from_n6_complex", filters(UE_ADDRESS), complex, tunnel),
        (0, "dl_from_n6_simple", exact(UE_ADDRESS), n6, tunnel),
    ] {
        let matching = if entries == 0 { Match::Always } else { matching };
        let table = Table::new(name, Ingress, matching, entries).actions(operands);
        let after = last[usize::from(way)].map(|name| (name, Control));
        pipeline.add(table.when("user data", 1).when("tunnelled", way), after.as_slice())?;
        last[usize::from(way)] = Some(name);
    }
    Ok(SPLIT)
}

/// The tables that determine the action, and the names of all that do.
pub(super) fn forwarding(
    pipeline: &mut Pipeline,
    program: &Program,
    population: &Population,
    sound: &[(&str, Dependency)],
) -> Result<&'static [&'static str], PlanError> {
    let by_id =
        |exact: bool| if exact { Match::Exact(key(&[PDR_ID])) } else { Match::Ternary(key(&[PDR_ID])) };
    match program.profile {
        Profile::Baseline => {
            let rules = count(program.profile, population);
            let tunnel = [&[OPERAND_TEID], ENCAPSULATE].concat();
            let far = Table::new("far", Ingress, by_id(true), rules);
            pipeline.add(far.actions(&[DECAPSULATE, &tunnel, DROP]).when("sound", 1), sound)?;
            let meter = Table::new("meter_lookup", Ingress, by_id(true), rules);
            pipeline.add(meter.actions(&[&[OPERAND_METER]]).when("sound", 1), sound)?;
            Ok(&["far", "meter_lookup"])
        }
        // The entries of PDRs contain it.
        Profile::Red => Ok(UNSPLIT),
        Profile::RedSpt => Ok(SPLIT),
        _ => {
            let mut after: Vec<_> = sound.to_vec();
            for (name, rows, actions) in [
                ("ul_to_n6_template", TEMPLATES[0], [DECAPSULATE, DROP]),
                ("ul_to_n9_n3_template", TEMPLATES[1], [ENCAPSULATE, DROP]),
                ("dl_template", TEMPLATES[2], [ENCAPSULATE, DROP]),
            ] {
                let table = Table::new(name, Ingress, by_id(false), rows).actions(&actions);
                pipeline.add(table.when("sound", 1), &after)?;
                after = vec![(name, Control)];
            }
            Ok(&["ul_to_n6_template", "ul_to_n9_n3_template", "dl_template"])
        }
    }
}
