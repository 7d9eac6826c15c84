//! Known results of compilers: the reference for the planner.

use crate::profiles::{Counting, Entry, Filters, Found, Indexed, Profile, Program, Ratio, UeTable};

/// The largest population that a compiler found to fit.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The name of the program in the source.
    pub name: &'static str,
    /// The source of the figure.
    pub source: &'static str,
    /// The program in the planner.
    pub program: Program,
    /// Complex UEs to simple ones.
    pub ratio: Ratio,
    /// Simple UEs, in units of 1,024.
    pub steps: u32,
    /// Step of the search: the next larger population that was tried, or would have been, is larger by this. `None` if
    /// nothing larger is known not to fit.
    pub search: Option<u32>,
}

/// Wen and Yan, HiP4-UPF, USENIX ATC 2024: section 3.1 and figure 10; reproduced with the open-source p4c.
const PAPER: &str = "HiP4-UPF (ATC'24), figure 10";
/// The paper's released programs, compiled with the open-source p4c.
const RELEASED: &str = "released program, p4c 9.13.4";
/// Changes of the paper's program that compile, but are not functionally complete.
const TRIAL: &str = "trial compile, p4c 9.13.4";

/// Causeway's own programs of `p4/`; the document also describes the method.
const OWN: &str = "docs/capacity.md, p4c 9.13.4";

/// All results.
pub fn all() -> Vec<Outcome> {
    let ratios = [5, 10, 20, 50].map(Ratio::one_to);
    let row = |name, source, profile, steps: [u32; 4]| {
        let outcome = move |(ratio, steps)| Outcome {
            name,
            source,
            program: Program::of(profile),
            ratio,
            steps,
            search: Some(1),
        };
        ratios.into_iter().zip(steps).map(outcome)
    };
    row("baseline", PAPER, Profile::Baseline, [43, 60, 75, 80])
        .chain(row("full", RELEASED, Profile::Hip4, [85, 130, 149, 155]))
        .chain(trials())
        .chain(own())
        .collect()
}

/// Their sizes are multiples of 8,192 and 4,096 simple UEs of N6, so larger ones were tried only in such steps.
fn trials() -> impl Iterator<Item = Outcome> {
    let keyed = Program::of(Profile::Hip4);
    let narrow = Program { indexed: Indexed::Both, narrow_keys: true, ..keyed };
    let outcome = |name, program, ratio, steps, search| Outcome {
        name,
        source: TRIAL,
        program,
        ratio: Ratio::one_to(ratio),
        steps,
        search: Some(search),
    };
    [
        outcome("simple tables by index", Program { indexed: Indexed::Simple, ..keyed }, 50, 162, 8),
        outcome("counters by index", Program { indexed: Indexed::Accounting, ..keyed }, 50, 162, 8),
        outcome("both by index", Program { indexed: Indexed::Both, ..keyed }, 50, 186, 8),
        outcome("both by index, narrow keys", narrow, 5, 94, 4),
        outcome("the same, post-QoS only", Program { counting: Counting::PostQos, ..narrow }, 5, 114, 4),
    ]
    .into_iter()
}

/// Where not all sizes near the limit were tried, the step of the search is the open interval.
fn own() -> impl Iterator<Item = Outcome> {
    let outcome = |name, profile, ratio, steps, search| Outcome {
        name,
        source: OWN,
        program: Program::causeway_program(profile),
        ratio: Ratio::one_to(ratio),
        steps,
        search,
    };
    let two = |name, ratio, steps, search| {
        let one = outcome(name, Profile::Hip4, ratio, steps, search);
        Outcome { program: Program { partitions: 2, ..one.program }, ..one }
    };
    let shared = |ratio, steps, search| {
        let unique = outcome("own direct, shared filters", Profile::Direct, ratio, steps, search);
        Outcome { program: Program { filters: Filters::Shared, ..unique.program }, ..unique }
    };
    [
        outcome("own baseline", Profile::Baseline, 5, 47, Some(4)),
        outcome("own baseline", Profile::Baseline, 50, 88, Some(16)),
        outcome("own baseline", Profile::Baseline, 10, 68, None),
        outcome("own red", Profile::Red, 5, 50, Some(1)),
        outcome("own red", Profile::Red, 10, 84, Some(1)),
        outcome("own red", Profile::Red, 20, 110, Some(1)),
        outcome("own red", Profile::Red, 50, 122, Some(1)),
        outcome("own red-spt", Profile::RedSpt, 5, 84, Some(1)),
        outcome("own red-spt", Profile::RedSpt, 10, 121, Some(1)),
        outcome("own red-spt", Profile::RedSpt, 20, 124, None),
        outcome("own red-spt", Profile::RedSpt, 50, 132, None),
        outcome("own hip4", Profile::Hip4, 5, 90, Some(1)),
        outcome("own hip4", Profile::Hip4, 10, 130, Some(1)),
        outcome("own hip4", Profile::Hip4, 20, 153, Some(1)),
        outcome("own hip4", Profile::Hip4, 50, 159, Some(1)),
        two("own hip4, two partitions", 10, 120, Some(16)),
        two("own hip4, two partitions", 20, 126, Some(16)),
        two("own hip4, two partitions", 50, 126, None),
        shared(5, 153, Some(4)),
        shared(50, 187, Some(2)),
        outcome("own direct, unique filters", Profile::Direct, 5, 114, None),
    ]
    .into_iter()
}

/// The largest table of UEs and gNBs that a compiler found to fit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UeOutcome {
    /// The form, as in `docs/capacity.csv`.
    pub name: &'static str,
    /// The tables in the planner.
    pub table: UeTable,
    /// The most UEs that fit.
    pub fits: u32,
    /// The fewest UEs that do not.
    pub below: Option<u32>,
}

/// The sizes that were compiled on Tofino 1 ([capacity.csv](../../../docs/capacity.csv), rows of `p4/capacity-ue`). The form whose
/// entries have constants is not among them: how the compiler places its operands in containers is not modelled.
pub fn ue_outcomes() -> Vec<UeOutcome> {
    let by_address = |entry| UeTable { entry, found: Found::ByAddress };
    let by = |found| UeTable { entry: Entry::Number(13), found };
    let tenant = |entry| UeTable { entry, found: Found::ByTenant };
    let forms = [
        ("ue-1", by_address(Entry::Address)),
        ("ue-2-13", by_address(Entry::Number(13))),
        ("ue-2-16", by_address(Entry::Number(16))),
        ("ue-2-13-released", by_address(Entry::NumberAlone(13))),
        ("ue-2-16-released", by_address(Entry::NumberAlone(16))),
        ("ue-number-13", by(Found::ByNumber)),
        ("ue-index-13", by(Found::ByIndex)),
        ("ue-tenant-1", tenant(Entry::Address)),
        ("ue-tenant-2-13", tenant(Entry::Number(13))),
    ];
    forms.into_iter().filter_map(|(name, table)| limits(name, table)).collect()
}

/// Sizes that were compiled, as `p4/capacity` and `p4/capacity-ue` write them.
const COMPILED: &str = include_str!("../../../../docs/capacity.csv");
/// Stages of Tofino 1.
const STAGES: u32 = 12;

/// What is known of a form: the largest size that fitted, and the smallest above it that did not.
fn limits(name: &'static str, table: UeTable) -> Option<UeOutcome> {
    let sizes = COMPILED.lines().filter_map(|line| {
        let columns: Vec<&str> = line.split(',').collect();
        let [_, _, form, _, _, _, _, _, _, ues, stages, ..] = columns[..] else { return None };
        let fits = stages.parse::<u32>().is_ok_and(|stages| stages <= STAGES);
        (form == name).then_some((ues.parse::<u32>().ok()?, fits))
    });
    let sizes: Vec<(u32, bool)> = sizes.collect();
    let most = sizes.iter().filter(|(_, fits)| *fits).map(|(ues, _)| *ues).max()?;
    let below = sizes.iter().filter(|(ues, fits)| !fits && *ues > most).map(|(ues, _)| *ues).min();
    Some(UeOutcome { name, table, fits: most, below })
}

/// Results of one sweep of the paper's baseline: which of 80 populations, each 1,024 simple UEs larger than the
/// previous one, fit. All that fit are smaller than all that do not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sweep {
    /// Complex UEs to simple ones.
    pub ratio: Ratio,
    /// Simple UEs of the first population, in units of 1,024.
    pub first: u32,
    /// Populations that fit.
    pub fit: u32,
    /// Populations that do not.
    pub failed: u32,
}

/// The 320 results that the authors of the paper published with their programs (`baseline_upf/gs-result.txt` of
/// github.com/CyberSecurityScience/HiP4-UPF), by Bf SDE 9.11.2.
pub const SWEEPS: [Sweep; 4] = [
    Sweep { ratio: Ratio::one_to(5), first: 40, fit: 4, failed: 76 },
    Sweep { ratio: Ratio::one_to(10), first: 40, fit: 21, failed: 59 },
    Sweep { ratio: Ratio::one_to(20), first: 40, fit: 36, failed: 44 },
    Sweep { ratio: Ratio::one_to(50), first: 40, fit: 41, failed: 39 },
];
