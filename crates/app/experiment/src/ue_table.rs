//! The UE table of the stateless UPF of S. K. Singh's thesis (section 2.3.3, figure 8): capacity in UEs, by the planner.
//!
//! The thesis has one direction of a UPF without usage, rates and tunnels of several flows: an exact table by the UE's
//! address leads to a tunnel. It narrows the entries in two steps, and says how many the compiler placed.

use causeway_plan::PlanError;
use causeway_plan::architecture::Architecture;
use causeway_plan::pipeline::{Dependency, Pipeline};
use causeway_plan::place::{Placement, place_within};
use causeway_plan::table::{Field, Gress, Match, Table as SwitchTable};
use causeway_show::{Cell, Column, Progress, Table};

use crate::ExperimentError;
use crate::outcome::{Goal, Outcome};

/// UEs are searched in steps of a block of SRAM words.
const STEP: u32 = 1024;
/// More UEs than any pipeline holds.
const MOST: u32 = 4 << 20;
/// The firewall of the thesis, of each direction.
const FIREWALL: u32 = 1000;

/// How the UE table is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    /// An entry has the whole tunnel header.
    Naive,
    /// An entry has TEID and gNB address.
    Address,
    /// An entry has TEID and the number of the gNB, with so many bits; a second table has its address.
    Number(u32),
}

impl Method {
    /// All, with their name and the thesis' UEs.
    const ALL: [(Self, &str, f64); 4] = [
        (Self::Naive, "naive: the whole header in each entry", 220_000.0),
        (Self::Address, "method 1: TEID and gNB address", 850_000.0),
        (Self::Number(13), "method 2: TEID and gNB number, 8k gNBs", 1_730_000.0),
        (Self::Number(16), "method 2: TEID and gNB number, 65k gNBs", 1_290_000.0),
    ];

    /// The operands of an entry, in bits.
    fn operands(self) -> Vec<u32> {
        match self {
            // Both MAC addresses, IPv4, UDP and GTP-U: nothing of it is a constant of the program.
            Self::Naive => vec![48, 48, 8, 8, 16, 16, 16, 8, 8, 16, 32, 32, 16, 16, 16, 16, 8, 8, 16, 32],
            Self::Address => vec![32, 32],
            Self::Number(_) => vec![32, 16],
        }
    }
}

/// Where the tables of a program are placed.
struct Fit {
    ues: u32,
    placement: Placement,
}

/// Plans.
///
/// # Errors
/// [`ExperimentError::Plan`].
pub fn run(progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let arch = &Architecture::TOFINO1;
    let mut rows = Vec::new();
    for (method, name, thesis) in Method::ALL {
        progress.stage(format!("planning {name}"));
        rows.push((method, name, thesis, largest(arch, method)?));
    }
    let ues = |at: usize| rows.get(at).and_then(|row| row.3.as_ref()).map_or(0.0, |fit| f64::from(fit.ues));
    let goals = vec![
        Goal::at_least("UEs of method 1", 850_000.0, ues(1), "UEs"),
        Goal::at_least("UEs of method 2, 8k gNBs", 1_730_000.0, ues(2), "UEs"),
        Goal::at_least("UEs of method 2, 65k gNBs", 1_290_000.0, ues(3), "UEs"),
    ];
    Ok(Outcome {
        name: "ue-table",
        title: "The UE table of a stateless UPF (S. K. Singh's thesis, figure 8)".into(),
        conditions: vec![
            ("switch", format!("{}, downlink alone", arch.name)),
            ("beside it", format!("{FIREWALL} firewall entries, and one entry in each table of VXLAN, routing and layer 2")),
            ("by", "the planner, which comes within a few percent of a compiler (docs/planner.md)".into()),
        ],
        table: table(arch, &rows),
        goals,
        notes: vec![
            "No time is in this table. The thesis' figures were compiled; no compiler was run here. What p4c placed of such tables is in docs/capacity.md.".into(),
            "These are sizes of one table, not of a UPF: nothing is counted, no rate is held, and the uplink has no table. `hip4-fig10` has \
             complete UPFs."
                .into(),
        ],
        details: Vec::new(),
        charts: Vec::new(),
    })
}

fn table(arch: &Architecture, rows: &[(Method, &str, f64, Option<Fit>)]) -> Table {
    let mut table = Table::new(vec![
        Column::new("UE table"),
        Column::of("key and data", "bits"),
        Column::of("UEs", "planned"),
        Column::of("thesis'", "UEs, compiled"),
        Column::of("ratio", "planned/thesis'"),
        Column::new("stages"),
        Column::of("SRAM", "%"),
    ]);
    for (method, name, thesis, fit) in rows {
        let bits = 32 + method.operands().iter().sum::<u32>();
        let blocks = (arch.stages as u32 * arch.srams()) as f64;
        let used = |fit: &Fit| fit.placement.parts.iter().map(|part| part.demand.srams()).sum::<u32>() as f64;
        table.rows.push(vec![
            (*name).into(),
            Cell::Count(bits.into()),
            Cell::Count(fit.as_ref().map_or(0, |fit| fit.ues.into())),
            Cell::Number(*thesis, 0),
            Cell::Number(fit.as_ref().map_or(0.0, |fit| f64::from(fit.ues) / thesis), 2),
            Cell::Count(fit.as_ref().map_or(0, |fit| fit.placement.stages.len() as u64)),
            Cell::Number(fit.as_ref().map_or(0.0, |fit| used(fit) * 100.0 / blocks), 1),
        ]);
    }
    table
}

/// The largest number of UEs, searched downwards from what is conceivable.
fn largest(arch: &Architecture, method: Method) -> Result<Option<Fit>, PlanError> {
    let attempt = |ues| -> Result<Option<Fit>, PlanError> {
        Ok(place_within(arch, &pipeline(method, ues)?).map(|placement| Fit { ues, placement }))
    };
    // Populations below one that fits may leave gaps, so halving finds a start and steps find the end.
    let (mut low, mut high) = (0, MOST / STEP);
    while low + 1 < high {
        let middle = low.midpoint(high);
        if attempt(middle * STEP)?.is_some() { low = middle } else { high = middle }
    }
    for steps in (low..low + 64).rev().filter(|steps| *steps > 0) {
        if let Some(fit) = attempt(steps * STEP)? {
            return Ok(Some(fit));
        }
    }
    Ok(None)
}

/// The tables of the downlink in the order of the thesis' table 1.
fn pipeline(method: Method, ues: u32) -> Result<Pipeline, PlanError> {
    let exact = |name: &'static str, fields: &[(&'static str, u32)], entries: u32| {
        let fields = fields.iter().map(|&(name, bits)| Field { name, bits }).collect();
        SwitchTable::new(name, Gress::Ingress, Match::Exact(fields), entries)
    };
    let mut pipeline = Pipeline::default();
    pipeline.add(exact("outer_l2", &[("outer.mac", 48)], 1), &[])?;
    pipeline.add(exact("vxlan_decap", &[("outer.dst", 32), ("vni", 24)], 1).actions(&[&[8]]), &[])?;
    pipeline.add(exact("firewall_dl", &[("inner.src", 32)], FIREWALL).actions(&[&[], &[]]), &[])?;
    let ue = exact("gtp_encap", &[("inner.dst", 32)], ues).actions(&[&method.operands()]);
    pipeline.add(ue, &[("firewall_dl", Dependency::Control)])?;
    let tunnel = match method {
        Method::Number(bits) => {
            let gnb = exact("gnb", &[("gnb", bits)], 1 << bits).actions(&[&[32]]);
            pipeline.add(gnb, &[("gtp_encap", Dependency::Match)])?;
            "gnb"
        }
        Method::Naive | Method::Address => "gtp_encap",
    };
    let routes = Match::Ternary(vec![Field { name: "gtp.outer.dst", bits: 32 }]);
    let routing = SwitchTable::new("routing", Gress::Ingress, routes, 512).actions(&[&[16]]);
    pipeline.add(routing, &[(tunnel, Dependency::Match)])?;
    let encap = exact("vxlan_encap", &[("next_hop", 16)], 1).actions(&[&[32, 32, 32]]);
    pipeline.add(SwitchTable { gress: Gress::Egress, ..encap }, &[])?;
    Ok(pipeline)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  the four methods.
    // Output: each step holds more UEs than the naive table; a narrower entry holds no fewer.
    #[test]
    fn narrower_entries_hold_more_ues() {
        let ues = Method::ALL
            .map(|(method, ..)| largest(&Architecture::TOFINO1, method).unwrap().map_or(0, |fit| fit.ues));
        assert!(ues[0] > 0 && ues[1] > ues[0] && ues[2] >= ues[1] && ues[2] >= ues[3], "{ues:?}");
    }
}
