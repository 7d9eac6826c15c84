//! What programs take of a switch, by the compiler for Tofino 1.
//!
//! `docs/resources.csv` has a row for each program and resource; `scripts/p4 resources` compiles the programs and writes them. The compiler's own
//! list is `pipe/logs/resources.json`, with an entry for each unit of each stage that something uses ([`of_compiler`]).

use std::fmt;

use causeway_show::{Cell, Column, Table};
use serde_json::Value;

/// The committed rows.
const COMMITTED: &str = include_str!("../../../../docs/resources.csv");

/// Stages of Tofino 1.
const STAGES: u64 = 12;

/// The first line of the file.
pub const HEADER: &str = "program,compiler,resource,used,of";

/// What stages have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource {
    /// Stages themselves.
    Stages,
    /// Octets of keys for exact matches, hashes and stateful ALUs.
    ExactCrossbar,
    /// Octets of keys for ternary matches.
    TernaryCrossbar,
    /// Bits of hash functions.
    HashBits,
    /// Units that hand hashes on as indexes or values.
    HashUnits,
    /// Conditions.
    Gateways,
    /// Blocks of SRAM.
    Sram,
    /// Blocks that keep counters and registers synchronous.
    MapRams,
    /// Blocks of TCAM.
    Tcam,
    /// Instructions on fields.
    Instructions,
    /// ALUs of registers and meters.
    StatefulAlus,
    /// ALUs of counters.
    CounterAlus,
    /// Buses that search exact matches.
    SearchBuses,
    /// Buses on which exact matches answer.
    ResultBuses,
    /// Buses on which ternary matches answer.
    TernaryBuses,
    /// Octets of parameters of actions.
    ActionOctets,
    /// Numbers of tables.
    Tables,
}

impl Resource {
    /// All, in the order of the file.
    pub const ALL: [Self; 17] = [
        Self::Stages,
        Self::ExactCrossbar,
        Self::TernaryCrossbar,
        Self::HashBits,
        Self::HashUnits,
        Self::Gateways,
        Self::Sram,
        Self::MapRams,
        Self::Tcam,
        Self::Instructions,
        Self::StatefulAlus,
        Self::CounterAlus,
        Self::SearchBuses,
        Self::ResultBuses,
        Self::TernaryBuses,
        Self::ActionOctets,
        Self::Tables,
    ];

    /// The name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stages => "stages",
            Self::ExactCrossbar => "exact crossbar octets",
            Self::TernaryCrossbar => "ternary crossbar octets",
            Self::HashBits => "hash bits",
            Self::HashUnits => "hash distribution units",
            Self::Gateways => "gateways",
            Self::Sram => "SRAM blocks",
            Self::MapRams => "map RAMs",
            Self::Tcam => "TCAM blocks",
            Self::Instructions => "VLIW instructions",
            Self::StatefulAlus => "stateful and meter ALUs",
            Self::CounterAlus => "counter ALUs",
            Self::SearchBuses => "exact search buses",
            Self::ResultBuses => "exact result buses",
            Self::TernaryBuses => "ternary result buses",
            Self::ActionOctets => "action bus octets",
            Self::Tables => "table ids",
        }
    }

    /// Where the compiler's list has it: the part of a stage, the units in use there, and the numbers whose product is how many there are.
    const fn place(self) -> (&'static str, &'static str, &'static [&'static str]) {
        match self {
            Self::Stages => ("logical_tables", "ids", &[]),
            Self::ExactCrossbar => ("xbar_bytes", "bytes", &["exact_size"]),
            Self::TernaryCrossbar => ("xbar_bytes", "bytes", &["ternary_size"]),
            Self::HashBits => ("hash_bits", "bits", &["nBits", "nFunctions"]),
            Self::HashUnits => ("hash_distribution_units", "units", &["nHashIds", "nUnitIds"]),
            Self::Gateways => ("gateways", "gateways", &["nRows", "nUnits"]),
            Self::Sram => ("rams", "srams", &["nRows", "nColumns"]),
            Self::MapRams => ("map_rams", "maprams", &["nRows", "nUnits"]),
            Self::Tcam => ("tcams", "tcams", &["nRows", "nColumns"]),
            Self::Instructions => ("vliw", "instructions", &["size"]),
            Self::StatefulAlus => ("meter_alus", "meters", &["nAlus"]),
            Self::CounterAlus => ("statistic_alus", "stats", &["nAlus"]),
            Self::SearchBuses => ("exm_search_buses", "ids", &["size"]),
            Self::ResultBuses => ("exm_result_buses", "ids", &["size"]),
            Self::TernaryBuses => ("tind_result_buses", "ids", &["size"]),
            Self::ActionOctets => ("action_bus_bytes", "bytes", &["size"]),
            Self::Tables => ("logical_tables", "ids", &["size"]),
        }
    }

    /// What a stage uses, and what it has.
    fn of_stage(self, stage: &Value) -> Option<Used> {
        let (part, units, sizes) = self.place();
        let part = stage.get(part)?;
        let units = part.get(units)?.as_array()?;
        let is_byte = |unit: &&Value, kind| unit.get("byte_type").and_then(Value::as_str) == Some(kind);
        let used = match self {
            Self::Stages => usize::from(!units.is_empty()),
            Self::ExactCrossbar => units.iter().filter(|unit| is_byte(unit, "exact")).count(),
            Self::TernaryCrossbar => units.iter().filter(|unit| is_byte(unit, "ternary")).count(),
            _ => units.len(),
        };
        let of = sizes.iter().try_fold(1, |product, size| Some(product * part.get(*size)?.as_u64()?))?;
        Some(Used { used: used as u64, of })
    }
}

/// How much of a resource is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Used {
    /// Units in use.
    pub used: u64,
    /// All units.
    pub of: u64,
}

impl Used {
    /// In percent.
    pub fn percent(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.used as f64 * 100.0 / self.of as f64 }
    }
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.used, self.of)
    }
}

/// A list that is not the compiler's.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ResourcesError {
    /// It is no JSON.
    #[error("the list of resources is no JSON: {0}")]
    Json(String),
    /// A stage lacks something.
    #[error("stage {stage} of the list has no {}", .resource.name())]
    Lacks {
        /// The number in the list.
        stage: usize,
        /// What is missing.
        resource: Resource,
    },
    /// It has no stages.
    #[error(
        "the list has no resources.mau.mau_stages: it is not pipe/logs/resources.json of p4c-barefoot -g"
    )]
    NoStages,
}

/// What all stages of a program use together, of what the switch has, in the order of [`Resource::ALL`].
///
/// # Errors
/// The text is not `resources.json` of the compiler.
pub fn of_compiler(json: &str) -> Result<Vec<(Resource, Used)>, ResourcesError> {
    let list: Value = serde_json::from_str(json).map_err(|error| ResourcesError::Json(error.to_string()))?;
    let stages = list.pointer("/resources/mau/mau_stages").and_then(Value::as_array);
    let stages = stages.ok_or(ResourcesError::NoStages)?;
    let mut all = Vec::new();
    for resource in Resource::ALL {
        let mut sum = Used::default();
        for (place, stage) in stages.iter().enumerate() {
            let lacks = || ResourcesError::Lacks { stage: place, resource };
            let one = resource.of_stage(stage).ok_or_else(lacks)?;
            // The list has the stages up to the last one that is used.
            sum = Used { used: sum.used + one.used, of: one.of * STAGES };
        }
        all.push((resource, sum));
    }
    Ok(all)
}

/// What a program takes by the committed rows; `None`: there is no such row.
pub fn committed(program: &str, resource: Resource) -> Option<Used> {
    COMMITTED.lines().skip(1).find_map(|line| {
        let mut fields = line.split(',');
        let is_it = fields.next() == Some(program);
        let is_resource = fields.nth(1) == Some(resource.name());
        let used = Used { used: fields.next()?.parse().ok()?, of: fields.next()?.parse().ok()? };
        (is_it && is_resource).then_some(used)
    })
}

/// A table of what a program takes, beside a paper's percentages.
pub(crate) fn beside(program: &str, ours: &str, paper: &str, figures: &[(Resource, f64)]) -> Table {
    let mut table = Table::new(vec![
        Column::new("resource of 12 stages"),
        Column::new(ours),
        Column::new("of"),
        Column::of(ours, "%"),
        Column::of(paper, "%"),
    ]);
    for resource in Resource::ALL {
        let used = committed(program, resource);
        let figure = figures.iter().find(|(its, _)| *its == resource);
        table.row([
            resource.name().into(),
            used.map_or(Cell::Missing, |used| Cell::Count(used.used)),
            used.map_or(Cell::Missing, |used| Cell::Count(used.of)),
            used.map_or(Cell::Missing, |used| Cell::Number(used.percent(), 2)),
            figure.map_or(Cell::Missing, |(_, percent)| Cell::Number(*percent, 2)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stage that uses so many units of everything.
    fn stage(units: usize) -> Value {
        let mut stage = serde_json::Map::new();
        for resource in Resource::ALL {
            let (part, list, sizes) = resource.place();
            let part = stage.entry(part).or_insert_with(|| serde_json::json!({}));
            let unit = |kind: &str| serde_json::json!({ "byte_type": kind });
            let mut all = vec![unit("exact"); units];
            if part.get("exact_size").is_some() || resource == Resource::ExactCrossbar {
                all.extend(vec![unit("ternary"); units]);
            }
            part[list] = Value::from(all);
            for size in sizes {
                part[*size] = Value::from(4);
            }
        }
        Value::from(stage)
    }

    // Input:  lists of two stages, one of which uses nothing; no list; a stage without hash bits.
    // Output: the sums, of twelve stages; the errors say what is missing.
    #[test]
    fn the_compilers_list_is_summed() {
        let list = |stages: Vec<Value>| {
            serde_json::json!({ "resources": { "mau": { "mau_stages": stages } } }).to_string()
        };
        let all = of_compiler(&list(vec![stage(3), stage(0)])).unwrap();
        let of = |resource| all.iter().find(|(its, _)| *its == resource).unwrap().1;
        assert_eq!(of(Resource::Stages), Used { used: 1, of: 12 });
        assert_eq!(of(Resource::ExactCrossbar), Used { used: 3, of: 48 });
        assert_eq!(of(Resource::TernaryCrossbar), Used { used: 3, of: 48 });
        assert_eq!(of(Resource::HashBits), Used { used: 3, of: 192 });
        assert_eq!(of(Resource::HashBits).to_string(), "3 of 192");
        assert!(matches!(of_compiler("{}"), Err(ResourcesError::NoStages)));
        assert!(matches!(of_compiler("{"), Err(ResourcesError::Json(_))));
        let mut lacking = stage(1);
        lacking.as_object_mut().unwrap().remove("hash_bits");
        let error = of_compiler(&list(vec![lacking])).unwrap_err();
        assert_eq!(error.to_string(), "stage 0 of the list has no hash bits");
    }

    // Input:  docs/resources.csv.
    // Output: its header; each program in it has a row for each resource.
    #[test]
    fn the_committed_rows_are_whole() {
        let mut lines = COMMITTED.lines();
        assert_eq!(lines.next(), Some(HEADER));
        let mut programs: Vec<&str> = lines.filter_map(|line| line.split(',').next()).collect();
        programs.dedup();
        assert!(!programs.is_empty());
        for program in programs {
            for resource in Resource::ALL {
                let used = committed(program, resource).unwrap_or_else(|| panic!("{program}: {resource:?}"));
                assert!(used.used <= used.of && used.of > 0, "{program}: {resource:?}: {used}");
            }
        }
    }
}
