//! PFCP messages among packets of IoT devices (AccelUPF figure 9 and table 2), with and without loss.

use causeway_show::{Cell, Chart, Column, Curve, Progress, Table};

use super::software;
use super::switch::Server;
use crate::ExperimentError;
use crate::cli::Common;
use crate::hardware::accel_switch as hardware;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;

/// The traces of the paper: the part of PFCP messages in percent (table 2).
const MIXES: [(&str, f64); 5] = [("A", 3.65), ("B", 12.53), ("C", 19.63), ("D", 28.86), ("E", 35.79)];

/// Packets and messages a second that fill the port, in every mix.
const PORT: f64 = hardware::FULL_PORT.value;

/// Messages that wait for a server, at most.
const QUEUE: usize = hardware::QUEUE.value as usize;

/// The designs, with the PFCP messages a second of their bound.
const DESIGNS: [(&str, f64); 5] = [
    ("software UPF (8,309/s)", 8_309.0),
    ("GTPOffload, Tofino (499/s)", 499.0),
    ("GTPOffload, rules alone (11,406/s)", 11_406.0),
    ("AccelUPF, Tofino (4,389,254/s)", 4_389_254.0),
    ("Causeway, the goal of accel-table1 (10 M/s)", 10e6),
];

/// The rate of a design at a mix: packets and messages a second.
#[derive(Clone, Copy, Debug)]
struct Rates {
    /// What gets through when the port is full, whatever is lost.
    lossy: f64,
    /// The most without a lost message.
    lossless: f64,
    /// PFCP messages lost when the port is full, of all.
    lost: f64,
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when no row is selected, or the rows cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let selected = common.rows_by_name(&DESIGNS, |row| row.0)?;
    let messages = if common.quick { 100_000 } else { 400_000 };
    let measured = rows.measure(
        &selected,
        |(name, rate)| {
            progress.stage((*name).to_owned());
            Ok(MIXES.map(|(_, percent)| measure(*rate, percent / 100.0, messages, common.seed)))
        },
        |measured| table(&selected, measured),
    )?;
    let at_e = |name: &str| {
        let row = selected.iter().zip(&measured).find(|((known, _), _)| known.starts_with(name));
        row.and_then(|(_, rates)| rates.last().copied())
    };
    let mut goals = Vec::new();
    let ours = at_e("Causeway, the goal");
    for baseline in ["GTPOffload, Tofino", "GTPOffload, rules"] {
        if let Some((ours, theirs)) = ours.zip(at_e(baseline)) {
            let name = format!("mix E without loss, against {baseline}");
            goals.push(Goal::at_least(&name, 100.0, ours.lossless / theirs.lossless, "times"));
        }
    }
    let mut notes = vec![
        "\"Full port\" counts what gets through while PFCP messages are lost: so counts the paper, and its baselines lose nearly all of \
         them. 1.57 times at mix E is 1 / (1 - 0.3579), which is the part of the packets. \"Without loss\" is the highest rate at which no message \
         is lost: an SMF repeats what is lost, so a UPF that loses messages is not at work."
            .into(),
        format!(
            "Model time. Arrivals at random, a queue of {QUEUE} messages, and the bound of each design as its server; the part of GTP-U is never \
             a bound. 10 M/s is no result: it is the goal of accel-table1, whose model finds more; 11.94 million a second is the full port in every mix."
        ),
    ];
    if let Some((paper, soft)) = at_e("AccelUPF").zip(at_e("software")) {
        notes.push(format!(
            "Mix E, full port: AccelUPF {:.2} times the software UPF (paper: about 1.57).",
            paper.lossy / soft.lossy
        ));
    }
    let curve = |(row, rates): (&(&'static str, f64), &[Rates; 5])| Curve {
        name: row.0.into(),
        points: MIXES
            .iter()
            .zip(rates)
            .map(|((_, percent), rates)| (*percent, rates.lossless / 1e6))
            .collect(),
        is_dashed: false,
    };
    Ok(Outcome {
        name: "accel-fig9",
        title: "PFCP messages among packets of IoT devices (AccelUPF, figure 9)".into(),
        conditions: vec![
            ("mixes", "A 3.65, B 12.53, C 19.63, D 28.86, E 35.79 % PFCP messages (A table 2)".into()),
            ("port", "11.94 million packets and messages/s (A table 1)".into()),
            ("messages", format!("{messages} a row and mix")),
            ("software", format!("measured elsewhere, no model time: {}", software::SOURCE)),
            ("seed", common.seed.to_string()),
        ],
        table: table(&selected, &measured),
        goals,
        notes,
        details: Vec::new(),
        charts: vec![(
            "lossless",
            Chart {
                title: "Without loss".into(),
                x: "PFCP messages, %".into(),
                is_logarithmic: false,
                y: "million packets and messages/s".into(),
                curves: selected.iter().zip(&measured).map(curve).collect(),
            }
            .into(),
        )],
    })
}

fn table(rows: &[(&str, f64)], measured: &[[Rates; 5]]) -> Table {
    let mut table = Table::new(vec![
        Column::new("design"),
        Column::new("mix"),
        Column::of("PFCP", "%"),
        Column::of("full port", "kpps"),
        Column::of("PFCP lost", "%"),
        Column::of("without loss", "kpps"),
    ]);
    for ((name, _), rates) in rows.iter().zip(measured) {
        for ((mix, percent), rates) in MIXES.iter().zip(rates) {
            table.row([
                (*name).into(),
                (*mix).into(),
                Cell::Number(*percent, 2),
                Cell::Number(rates.lossy / 1e3, 0),
                Cell::Number(rates.lost * 100.0, 2),
                Cell::Number(rates.lossless / 1e3, 1),
            ]);
        }
    }
    for (mix, most) in software::MIXES {
        let percent = MIXES.iter().find(|(known, _)| *known == mix).map(|(_, percent)| *percent);
        table.row([
            "Causeway in software, measured elsewhere: the most without loss".into(),
            mix.into(),
            percent.map_or(Cell::Missing, |percent| Cell::Number(percent, 2)),
            Cell::Missing,
            Cell::Missing,
            Cell::Number(most / 1e3, 1),
        ]);
    }
    table
}

fn measure(rate: f64, part: f64, messages: u64, seed: u64) -> Rates {
    let server = Server { rate, queue: QUEUE };
    let offered = PORT * part;
    let lost = server.offer(offered, messages, &mut fastrand::Rng::with_seed(seed)) as f64 / messages as f64;
    let lossless = (server.lossless(messages, seed) / part).min(PORT);
    Rates { lossy: PORT * (1.0 - part) + offered * (1.0 - lost), lossless, lost }
}
