//! Table 7: what the detector takes of a switch.

use crate::outcome::{Goal, Outcome};
use crate::resources::{Resource, beside, committed};

/// What the thesis' detector adds to its UPF, percent of the switch (table 7). Its result bus is taken for that of exact matches, and its crossbar,
/// too.
const THESIS: [(Resource, f64); 8] = [
    (Resource::HashUnits, 29.1),
    (Resource::StatefulAlus, 10.4),
    (Resource::ResultBuses, 8.8),
    (Resource::HashBits, 8.4),
    (Resource::ExactCrossbar, 4.7),
    (Resource::Instructions, 3.9),
    (Resource::Sram, 1.5),
    (Resource::Tcam, 0.3),
];

/// The program of the committed rows: the block by itself.
const PROGRAM: &str = "skeleton-heavy_hitter";

/// Makes the page.
pub fn run() -> Outcome {
    let of = |resource| committed(PROGRAM, resource);
    let count = |resource| of(resource).map_or(f64::INFINITY, |used| used.used as f64);
    let percent = |resource| of(resource).map_or(f64::INFINITY, |used| used.percent());
    Outcome {
        name: "hh-table7",
        title: "Resources of the detector on Tofino 1 (thesis, table 7)".into(),
        conditions: vec![
            ("ours", "p4/blocks/heavy_hitter.p4 by itself: two ways of 4,096 places, three sub-windows and the oldest; docs/resources.csv, scripts/p4 resources; compiled, not run".into()),
            ("thesis", "HK-IPG beside its UPF: what is used with it, less what is used without; 12 stages; 64 KB to 144 KB".into()),
        ],
        table: beside(PROGRAM, "the block", "thesis", &THESIS),
        goals: vec![
            Goal::at_most("stages of the block by itself", 8.0, count(Resource::Stages), ""),
            Goal::at_most("hash distribution units", 29.1, percent(Resource::HashUnits), "%"),
        ],
        notes: vec![
            "The thesis' stateful ALUs, 10.4 %, are five of 48; ours are two of owners, eight of counts and one of flags. A packet is in each array once, so a sub-window is an array."
                .into(),
            "A packet of HK-IPG resubmits only when it replaces another flow, as here.".into(),
        ],
        details: Vec::new(),
        charts: Vec::new(),
    }
}
