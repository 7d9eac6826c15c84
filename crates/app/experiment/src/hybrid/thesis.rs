//! The thresholds of the thesis' figures 13(c), 15 and 16 and table 5: 2, 5, 10 and 20 Mbit/s.

use causeway_hybrid::{AsDetected, ByRate, Thresholds};
use causeway_show::{Cell, Column, Progress, Table};
use causeway_types::Span;

use super::Size;
use super::share::{STAY, ThesisDetector, conditions, config, mean};
use super::simulation::{Conditions, Found, Unit, run as simulate};
use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::Outcome;
use crate::row_writer::Rows;

/// A threshold with the thesis' figures.
#[derive(Clone, Copy, Debug)]
struct Row {
    name: &'static str,
    megabits: u32,
    /// Heavy hitters a second of 100,000 flows and a million packets: least and greatest of four days (table 5).
    paper: [u32; 2],
}

const ROWS: [Row; 4] = [
    Row { name: "2 Mbit/s", megabits: 2, paper: [612, 648] },
    Row { name: "5 Mbit/s", megabits: 5, paper: [162, 196] },
    Row { name: "10 Mbit/s", megabits: 10, paper: [46, 62] },
    Row { name: "20 Mbit/s", megabits: 20, paper: [16, 27] },
];

struct Measured {
    by_rate: Vec<Found>,
    as_written: Vec<Found>,
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when no row is selected, or the rows cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let size = Size::of(common);
    let selected = common.rows_by_name(&ROWS, |row| row.name)?;
    let measured =
        rows.measure(&selected, |row| measure(row, &size, progress), |measured| table(&selected, measured))?;
    Ok(Outcome {
        name: "hybrid-thesis",
        title: "The thesis' thresholds: rules, share and throughput (thesis, figures 13c and 16, table 5)".into(),
        conditions: vec![
            ("trace", size.in_words()),
            ("seeds", size.seeds_in_words()),
            (
                "by rate",
                format!(
                    "up at the threshold, down at half of it for 2 s, strict, {} µs in the software",
                    STAY.as_micros()
                ),
            ),
            ("as written", "the thesis' detector at 144 KB, packet by packet, without armed entries".into()),
        ],
        table: table(&selected, &measured),
        goals: Vec::new(),
        notes: vec![
            "The thesis' figures: throughput of UPF-x86 2 to 3 Mpps, H-UPF at 2 Mbit/s 6 to 7 (a factor of 2 to 3), less at higher thresholds \
             (figure 13); heavy hitters have 10 to 40 % of the bandwidth (figure 16). They are measured at 10 Gbit/s with payloads removed; \
             ours are shares of a generated trace in simulated time."
                .into(),
            "Tables 3 and 4 are resources of its P4 program: docs/hybrid.md says what is known of ours. Figures 14 and 15 are latencies of its \
             hosts, which a simulation cannot show: 1.1 to 1.23 µs on the switch, 0.45 to 0.85 ms in software."
                .into(),
            crate::heavy::GENERATED.into(),
        ],
        details: Vec::new(),
        charts: Vec::new(),
    })
}

fn measure(row: &Row, size: &Size, progress: &mut Progress) -> Result<Measured, ExperimentError> {
    let mut measured = Measured { by_rate: Vec::new(), as_written: Vec::new() };
    for seed in &size.seeds {
        progress.stage(format!("{}, seed {seed}", row.name));
        let seconds = size.seconds.into();
        let mut shown = |second: u32| progress.set_progress(second.into(), seconds);
        let ours = conditions(Unit::Flow, config(true, STAY), size);
        let mut placement = ByRate::new(Thresholds::at(u64::from(row.megabits) * 1_000_000));
        measured.by_rate.push(simulate(&size.profile(), *seed, &ours, &mut placement, &mut shown));
        let theirs = conditions(Unit::Flow, config(true, Span::ZERO), size);
        let theirs = Conditions { sees_packets: true, ..theirs };
        let mut placement = AsDetected::new(ThesisDetector::new(row.megabits, size)?);
        measured.as_written.push(simulate(&size.profile(), *seed, &theirs, &mut placement, &mut shown));
    }
    Ok(measured)
}

fn table(rows: &[Row], measured: &[Measured]) -> Table {
    let mut table = Table::new(vec![
        Column::new("threshold"),
        Column::of("heavy hitters", "1/s, thesis"),
        Column::of("rules by rate", "mean"),
        Column::of("octets by rate", "%"),
        Column::of("packets by rate", "%"),
        Column::of("factor by rate", "×"),
        Column::of("changes by rate", "1/s"),
        Column::of("packets as written", "%"),
        Column::of("changes as written", "1/s"),
        Column::of("overtaken as written", "packets"),
    ]);
    for (row, Measured { by_rate, as_written }) in rows.iter().zip(measured) {
        let [least, most] = row.paper;
        table.row([
            Cell::Text(row.name.into()),
            Cell::Text(format!("{least} - {most}")),
            Cell::Number(mean(by_rate, |it| it.mean_rules), 0),
            Cell::Number(mean(by_rate, |it| it.octet_share() * 100.0), 1),
            Cell::Number(mean(by_rate, |it| it.share() * 100.0), 1),
            Cell::Number(mean(by_rate, Found::factor), 2),
            Cell::Number(mean(by_rate, Found::changes_a_second), 0),
            Cell::Number(mean(as_written, |it| it.share() * 100.0), 2),
            Cell::Number(mean(as_written, Found::changes_a_second), 0),
            Cell::Number(mean(as_written, |it| it.overtaken as f64), 0),
        ]);
    }
    table
}
