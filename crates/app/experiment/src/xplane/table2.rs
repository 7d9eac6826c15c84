//! Table 2: what X-PLANE takes of the switch and of a memory server.

use causeway_show::{Cell, Column, Progress, Table};
use causeway_xplane::Sizes;

use super::figures::{OURS, SLOW, conditions, load, reproduced, seeds};
use super::path::{Design, MEAN, Size, run_seeds};
use crate::cli::Common;
use crate::hardware::xplane as hardware;
use crate::outcome::{Goal, Outcome};
use crate::resources::{Resource, beside, committed};

/// Shares of the switch in the paper, percent. Its crossbar is not said to be that of exact or of ternary matches; without TCAM it is the former.
const PAPER: [(Resource, f64); 6] = [
    (Resource::Tcam, 0.0),
    (Resource::Sram, 5.94),
    (Resource::HashBits, 15.97),
    (Resource::Instructions, 16.93),
    (Resource::ExactCrossbar, 20.38),
    (Resource::Gateways, 51.56),
];

/// The program of the committed rows.
const PROGRAM: &str = "xplane";

/// Servers of the paper (X 7.1).
const SERVERS: f64 = 2.0;
/// Octets of a server's tables and buffers in the paper.
const PAPER_TABLES: f64 = 136e9;
const PAPER_BUFFERS: f64 = 128e9;
/// Share of a server's memory bandwidth in the paper, percent.
const PAPER_BANDWIDTH: f64 = 30.0;
/// The load at which it was measured, Gbit/s (X 7.3).
const PAPER_LOAD: f64 = 490.0;

/// UEs and flows for which the paper's tables have space, and UEs that may be idle, each with so many packets.
const UES: u64 = 8_000_000;
const RECORD_FLOWS: u64 = 64_000_000;
const IDLE: u32 = 400_000;
const PACKETS: u32 = 128;

/// No tables at all.
const NONE: Sizes =
    Sizes { ue_buckets: 0, flow_buckets: 0, rings: 0, ring: 0, paging_rings: 0, paging_ring: 0 };

/// Octets of the tables, two keys of each UE and two places in each bucket, and of the buffers.
const fn octets() -> [u64; 2] {
    let tables = Sizes { ue_buckets: UES, flow_buckets: RECORD_FLOWS / 2, ..NONE };
    let buffers = Sizes { paging_rings: IDLE, paging_ring: PACKETS, ..NONE };
    [tables.octets(), buffers.octets()]
}

/// Share of a server's memory bandwidth in percent, at a load in Gbit/s, by the octets of a packet on the links in both directions: each is
/// written into memory or read from it once, and RoCE headers are counted with them.
fn bandwidth(gigabits: f64, octets: f64) -> f64 {
    let packets = gigabits * 1e9 / 8.0 / MEAN as f64;
    packets * octets / SERVERS * 100.0 / hardware::MEMORY.value
}

/// Runs the experiment.
pub fn run(common: &Common, progress: &mut Progress) -> Outcome {
    let mut found = [Design::Paper, OURS].map(|design| {
        progress.stage(if design == OURS { "ours" } else { "the paper's design" }.to_owned());
        let found = run_seeds(&load(common, design, Size::All(MEAN), SLOW, 10), seeds(common));
        (found.gigabits, found.out + found.back)
    });
    // The paper's share was measured at the paper's load.
    found[0].0 = PAPER_LOAD;
    let [theirs, ours] = found.map(|(gigabits, octets)| bandwidth(gigabits, octets));
    let [tables, buffers] = octets().map(|octets| octets as f64);
    let mut server = Table::new(vec![
        Column::new("a memory server"),
        Column::new("paper, measured"),
        Column::new("the paper's design, modelled"),
        Column::new("ours, computed"),
        Column::new("unit"),
    ]);
    let gigaoctets = |octets: f64| Cell::Number(octets / 1e9, 1);
    server.row([
        "tables: 8M UEs, 64M flows".into(),
        gigaoctets(PAPER_TABLES),
        Cell::Missing,
        gigaoctets(tables / SERVERS),
        "GB".into(),
    ]);
    server.row([
        "buffers: 400,000 idle UEs of a million, 128 packets each".into(),
        gigaoctets(PAPER_BUFFERS),
        Cell::Missing,
        gigaoctets(buffers / SERVERS),
        "GB".into(),
    ]);
    server.row([
        format!("memory bandwidth, at {PAPER_LOAD} and {:.0} Gbit/s", found[1].0).into(),
        Cell::Number(PAPER_BANDWIDTH, 1),
        Cell::Number(theirs, 1),
        Cell::Number(ours, 1),
        "%".into(),
    ]);
    let percent = |resource| committed(PROGRAM, resource).map_or(f64::INFINITY, |used| used.percent());
    let stages = committed(PROGRAM, Resource::Stages).map_or(f64::INFINITY, |used| used.used as f64);
    Outcome {
        name: "xplane-table2",
        title: "Resources of the switch and of a memory server (X-PLANE, table 2)".into(),
        conditions: conditions(common),
        table: beside(PROGRAM, "profile xplane", "paper", &PAPER),
        goals: vec![
            Goal::at_most("stages of Tofino 1", 12.0, stages, ""),
            Goal::at_most("gateways", 51.56, percent(Resource::Gateways), "%"),
            Goal::at_most("memory of a server", (PAPER_TABLES + PAPER_BUFFERS) / 1e9, (tables + buffers) / SERVERS / 1e9, "GB"),
            reproduced("memory bandwidth of a server", theirs, PAPER_BANDWIDTH),
        ],
        notes: vec![
            "The switch: what the compiler for Tofino 1 says of profile `xplane` (docs/resources.csv, scripts/p4 resources), which has no walk and no paging rings; \
             compiled, not run. The paper has all of them, and says nothing of stages."
                .into(),
            "The paper compares with gateways what the profile compares with ternary tables: so the one has no TCAM, and the other few gateways.".into(),
            format!(
                "Memory bandwidth: octets on the links in both directions, RoCE headers with them, over {:.0} GB/s of a server. The paper does not say its load; \
                 that of its table 1 is assumed.",
                hardware::MEMORY.value / 1e9
            ),
            "The paper gives tables and buffers for each of two servers (264 GB together); ours are divided by two. The CPU of a server (6.3 % of two cores, for packets that collide) has no \
             counterpart: a collision is for the slow path of the UPF."
                .into(),
        ],
        details: vec![("A memory server".into(), server)],
        charts: Vec::new(),
    }
}
