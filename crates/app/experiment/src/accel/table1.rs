//! Rates and latencies of PFCP messages and of packets (AccelUPF table 1).

use std::net::Ipv4Addr;

use causeway_accel::Reason;
use causeway_show::{Bar, Bars, Cell, Column, Progress, Table};
use causeway_types::Seid;

use super::messages::{DataPlane, Session, deletion, establishment, handover};
use super::software;
use super::switch::{Passage, on_wire, pass};
use crate::ExperimentError;
use crate::cli::Common;
use crate::hardware::accel_switch as hardware;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;

/// A design of the paper: PFCP messages a second, their latency in us, packets in Mpps, their latency in us.
struct Published {
    name: &'static str,
    pfcp: f64,
    pfcp_latency: f64,
    gtp: f64,
    gtp_latency: f64,
}

const PUBLISHED: [Published; 5] = [
    published("software UPF, one core for PFCP", 8_309.0, 40.0, 11.93, 85.0),
    published("GTPOffload, Netronome", 1_953.0, 1_470.0, 10.51, 71.0),
    published("GTPOffload, Tofino", 499.0, 447.0, 11.94, 49.0),
    published("AccelUPF, Netronome", 794_849.0, 114.0, 4.83, 115.0),
    published("AccelUPF, Tofino", 4_389_254.0, 35.0, 11.94, 49.0),
];

const fn published(
    name: &'static str,
    pfcp: f64,
    pfcp_latency: f64,
    gtp: f64,
    gtp_latency: f64,
) -> Published {
    Published { name, pfcp, pfcp_latency, gtp, gtp_latency }
}

/// The paper's rate on Tofino, and the goal for the model.
const PAPER: f64 = 4_389_254.0;
const GOAL: f64 = 10e6;

/// Sessions of the data plane; after as many, each new one takes the place of a deleted one.
const PLACES: u32 = 16_384;

/// The kinds of messages of a row, which take turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Workload {
    /// As in the paper: a session is established and deleted.
    EstablishAndDelete,
    /// With two handovers in between.
    WithHandovers,
}

const WORKLOADS: [(&str, Workload); 2] = [
    ("Causeway, model of a switch: establish, delete", Workload::EstablishAndDelete),
    ("Causeway, model of a switch: establish, 2 handovers, delete", Workload::WithHandovers),
];

/// What was found.
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// Messages a second while the port is full.
    rate: f64,
    /// Time of a message in an idle switch, from its last bit to that of its answer, us: mean.
    idle: f64,
    /// Octets of request and answer on the wire: means.
    octets: (f64, f64),
    /// Passes a message.
    passes: f64,
    /// Sessions without a place in the tables, of all.
    to_n4: f64,
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when no row is selected, or the rows cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let selected = common.rows_by_name(&WORKLOADS, |row| row.0)?;
    let sessions = if common.quick { 1_000 } else { 50_000 };
    let measured = rows.measure(
        &selected,
        |(name, workload)| {
            progress.stage((*name).to_owned());
            measure(*workload, sessions, common.seed)
        },
        |measured| table(&selected, measured),
    )?;
    let goals = selected.iter().zip(&measured).map(|((name, _), measured)| {
        Goal::at_least(&format!("{name}, bound by the port"), GOAL / 1e6, measured.rate / 1e6, "M/s")
    });
    Ok(Outcome {
        name: "accel-table1",
        title: "PFCP messages answered by the data plane (AccelUPF, table 1)".into(),
        conditions: vec![
            (
                "switch",
                format!(
                    "port {} Gbit/s (A 5); recirculation {} Gbit/s, pipeline {} Gpps and {} ns a pass are assumptions",
                    hardware::PORT.value / 1e9,
                    hardware::RECIRCULATION.value / 1e9,
                    hardware::PIPELINE.value / 1e9,
                    hardware::PASS.value
                ),
            ),
            ("sessions", format!("one at a time, in {PLACES} places")),
            ("passes", "one for each message that is answered, as in the P4 program (profile `accel`)".into()),
            ("software", format!("measured elsewhere, no model time: {}", software::SOURCE)),
            ("messages", format!("{sessions} sessions, each message and answer of causeway-accel; IPv4, UDP, Ethernet around")),
            ("seed", common.seed.to_string()),
        ],
        goals: goals.collect(),
        table: table(&selected, &measured),
        notes: vec![
            "Rows of the paper were measured and include its load generator; rows of Causeway are model time of a switch alone, with the \
             messages full at its port. What goes to the software passes twice; no message of these rows does. The paper does not say what bounds its 4,389,254 messages a second: \
             neither its port nor a pipeline does."
                .into(),
            "Packets: 40 Gbit/s are 12.1 million IMIX packets a second with GTP-U around (340 octets on average and 74 around), which bounds each design of \
             the paper on Tofino."
                .into(),
        ],
        details: Vec::new(),
        charts: vec![("rates", chart(&selected, &measured).into())],
    })
}

fn chart(rows: &[(&str, Workload)], measured: &[Measured]) -> Bars {
    let paper = PUBLISHED.iter().map(|design| Bar {
        name: format!("{}: paper, measured", design.name),
        values: vec![Some(design.pfcp / 1e6)],
        is_of_others: true,
    });
    let model = rows.iter().zip(measured).map(|((name, _), measured)| Bar {
        name: (*name).into(),
        values: vec![Some(measured.rate / 1e6)],
        is_of_others: false,
    });
    Bars {
        title: "PFCP messages per second".into(),
        x: String::new(),
        groups: vec!["PFCP messages".into()],
        y: "million/s".into(),
        bars: paper.chain(model).collect(),
    }
}

fn table(rows: &[(&str, Workload)], measured: &[Measured]) -> Table {
    let mut table = Table::new(vec![
        Column::new("design"),
        Column::of("PFCP", "1/s"),
        Column::of("times paper", "AccelUPF, Tofino"),
        Column::of("PFCP latency", "µs"),
        Column::of("GTP-U", "Mpps"),
        Column::of("GTP-U latency", "µs"),
        Column::of("request", "octets"),
        Column::of("answer", "octets"),
        Column::of("passes", "1/message"),
        Column::of("to N4", "% of sessions"),
    ]);
    for published in &PUBLISHED {
        table.row([
            format!("paper: {}", published.name).into(),
            Cell::Number(published.pfcp, 0),
            Cell::Number(published.pfcp / PAPER, 4),
            Cell::Number(published.pfcp_latency, 0),
            Cell::Number(published.gtp, 2),
            Cell::Number(published.gtp_latency, 0),
            Cell::Missing,
            Cell::Missing,
            Cell::Missing,
            Cell::Missing,
        ]);
    }
    for (what, rate, latency) in software::TABLE1 {
        table.row([
            format!("Causeway in software, measured elsewhere: {what}").into(),
            Cell::Number(rate, 0),
            Cell::Missing,
            Cell::Number(latency, 0),
            Cell::Missing,
            Cell::Missing,
            Cell::Missing,
            Cell::Missing,
            Cell::Missing,
            Cell::Missing,
        ]);
    }
    for ((name, _), measured) in rows.iter().zip(measured) {
        table.row([
            (*name).into(),
            Cell::Number(measured.rate, 0),
            Cell::Number(measured.rate / PAPER, 2),
            Cell::Number(measured.idle, 2),
            Cell::Missing,
            Cell::Missing,
            Cell::Number(measured.octets.0, 0),
            Cell::Number(measured.octets.1, 0),
            Cell::Number(measured.passes, 2),
            Cell::Number(measured.to_n4 * 100.0, 3),
        ]);
    }
    table
}

/// Establishes, changes and deletes sessions one after the other, as fast as the port takes the messages.
fn measure(workload: Workload, sessions: u32, seed: u64) -> Result<Measured, ExperimentError> {
    let mut plane = DataPlane::new(PLACES, seed)?;
    let (mut passages, mut to_n4) = (Vec::new(), 0);
    for number in 0..sessions {
        let session =
            Session { cp: u64::from(number) + 1, ue: Ipv4Addr::from(0x0b00_0000 + number), teid: None };
        let handovers = if workload == Workload::WithHandovers { 2 } else { 0 };
        for step in 0..handovers + 2 {
            let sent = if step == 0 {
                plane.send(establishment(&session), Seid(0))
            } else if step <= handovers {
                plane.send(handover(number + step), plane.seid())
            } else {
                plane.send(deletion(), plane.seid())
            };
            let sent = match sent {
                Ok(sent) => sent,
                // Its SEID has no place beside those of deleted sessions: it is N4's.
                Err(Reason::Collision) if step == 0 => {
                    to_n4 += 1;
                    break;
                }
                Err(other) => return Err(ExperimentError::NotAnswered(other)),
            };
            let passage = Passage { request: on_wire(sent.0), answer: on_wire(sent.1), passes: 1 };
            passages.push(passage);
        }
    }
    let last = pass(&passages).into_iter().map(|(_, left)| left).fold(0.0, f64::max);
    let alone = |passage: &Passage| {
        let times = pass(std::slice::from_ref(passage));
        times.first().map_or(0.0, |(arrived, left)| left - arrived)
    };
    let messages = passages.len() as f64;
    let mean = |value: &dyn Fn(&Passage) -> f64| passages.iter().map(value).sum::<f64>() / messages;
    Ok(Measured {
        rate: messages / last,
        idle: mean(&alone) * 1e6,
        octets: (mean(&|passage| passage.request as f64), mean(&|passage| passage.answer as f64)),
        passes: mean(&|passage| f64::from(passage.passes)),
        to_n4: f64::from(to_n4) / f64::from(sessions),
    })
}
