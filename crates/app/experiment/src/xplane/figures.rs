//! The figures of X-PLANE: the paper's points from named parts, then ours.

use causeway_show::{Cell, Chart, Column, Curve, Progress, Table};
use causeway_xplane::paging::{Left, Ring, RingConfig, RingRead};

use super::limits::{Group, Limited, limited};
use super::path::{
    Design, ENTRY, FLOWS, Found, Load, MEAN, ONE_WAY, PASS, PER_OCTET, Ports, STATE, Size, alone, response,
    run, run_seeds,
};
use super::places;
use crate::ExperimentError;
use crate::cli::Common;
use crate::events::{EventQueue, PICOS_PER_MICRO, Picos};
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::samples::Latencies;

/// Part of the packets that take the slow path in the paper's traffic (X 7.1).
pub(super) const SLOW: f64 = 0.048;
/// Flows in the table on the switch: at 128 octets each 8 MB, about half of the SRAM that X-PLANE leaves free on a pipeline (X 7.3). An assumption: no program
/// has this table, and no compiler was asked whether its stages hold it.
const ON_CHIP: u32 = 65_536;
/// Skew of the traffic in the goals: Zipf's exponent. The paper gives none; its trace is uniform.
const SKEW: f64 = 0.9;
/// The difference from the paper, in percent, within which a point counts as reproduced.
const WITHIN: f64 = 10.0;

pub(super) const OURS: Design = Design::Ours { on_chip: ON_CHIP };
const OURS_WITHOUT_CHIP: Design = Design::Ours { on_chip: 0 };

pub(super) fn load(common: &Common, design: Design, size: Size, slow: f64, pdrs: u32) -> Load {
    let packets = if common.quick { 20_000 } else { 400_000 };
    let skew = if design == OURS { SKEW } else { 0.0 };
    Load { design, size, slow, pdrs, skew, rate: None, collapses: true, packets, seed: common.seed }
}

/// Runs of everything that is random, with the seeds from the given one on.
pub(super) const fn seeds(common: &Common) -> u64 {
    if common.quick { 2 } else { 3 }
}

/// The seeds, for the conditions of a page.
pub(super) fn seeds_in_words(common: &Common) -> String {
    let many = seeds(common);
    let last = common.seed.wrapping_add(many - 1);
    format!(
        "{} to {last}: figures are means of {many} runs, and spread is what the highest is above the lowest",
        common.seed
    )
}

pub(super) fn percent(found: f64, paper: f64) -> f64 {
    (found / paper - 1.0) * 100.0
}

pub(super) fn reproduced(name: &str, found: f64, paper: f64) -> Goal {
    Goal::at_most(&format!("difference from the paper, {name}"), WITHIN, percent(found, paper).abs(), "%")
}

pub(super) fn conditions(common: &Common) -> Vec<(&'static str, String)> {
    let micros = |picos: Picos| picos as f64 / PICOS_PER_MICRO;
    vec![
        ("links, adapters", "8 of 100 Gbit/s (X 7.1); 40 million READs and 120 million WRITEs a second each (X 7.3)".into()),
        (
            "times",
            format!(
                "round trip {:.2} µs on idle links, a pass of the switch {:.3} µs: 83 and 17 % of 3.1 µs (X 7.3)",
                2.0 * micros(ONE_WAY),
                micros(PASS)
            ),
        ),
        (
            "parts",
            format!(
                "RoCEv2: 98 octets on the link of a READ or WRITE, 86 of a response (IBA); entry {ENTRY} (an assumption), state {STATE} \
                 (three values of 64 bits), block of five PDRs 160 (X 5.2)"
            ),
        ),
        ("the paper's design", "write the packet, read it with the entry, read the state, write the state; UE without the packet, blocks with it (X 5)".into()),
        (
            "ours",
            format!(
                "state in the flow entry; UE and first block in one read; blocks without the packet, which comes with the last one; \
                 {ON_CHIP} flows on the switch (an assumption: no compiler was asked), Zipf {SKEW} over {FLOWS} flows"
            ),
        ),
        (
            "mixed packets",
            format!("64 to 1518 octets with a mean of {MEAN} (X 7.1), by a power of a uniform number (an assumption), or 64 and 1518 alone"),
        ),
        ("seeds", seeds_in_words(common)),
    ]
}

fn note() -> Vec<String> {
    vec![
        "Rates and times are model time; the paper's were measured. Two points of the paper are inputs: the round trip and the pass of the switch are parts of \
         the fast path's 3.1 µs, and that the state is read by itself was chosen since 156 million packets a second of 64 octets are two of 320 million READs \
         for each. No other part is fitted. What collides in the local state table is for the CPU, and counts as carried, as in the paper."
            .into(),
    ]
}

/// A row of figures on rates.
#[derive(Clone, Copy, Debug)]
struct Row {
    name: &'static str,
    design: Design,
    size: Size,
    slow: f64,
    pdrs: u32,
    /// The paper's rate, million packets a second.
    paper: Option<f64>,
}

const fn row(
    name: &'static str,
    design: Design,
    packet: u64,
    slow: f64,
    pdrs: u32,
    paper: Option<f64>,
) -> Row {
    Row { name, design, size: Size::All(packet), slow, pdrs, paper }
}

impl Row {
    /// The same with other packets.
    const fn of_size(self, size: Size) -> Self {
        Self { size, ..self }
    }
}

/// Million packets a second.
pub(super) const fn packets_of(gigabits: f64, packet: u64) -> Option<f64> {
    Some(gigabits * 1e3 / 8.0 / packet as f64)
}

fn measure(
    common: &Common,
    rows: &Rows,
    progress: &mut Progress,
    all: &[Row],
    table: impl Fn(&[Found]) -> Table,
) -> Result<Vec<Found>, ExperimentError> {
    rows.measure(
        all,
        |row| {
            progress.stage(row.name.to_owned());
            Ok(run_seeds(&load(common, row.design, row.size, row.slow, row.pdrs), seeds(common)))
        },
        table,
    )
}

fn rate_table(rows: &[Row], found: &[Found]) -> Table {
    let mut table = Table::new(vec![
        Column::new("packets"),
        Column::of("rate", "M/s, modelled"),
        Column::of("load", "Gbit/s, modelled"),
        Column::of("paper, measured", "M/s"),
        Column::of("difference", "%"),
        Column::of("out", "octets/packet"),
        Column::of("back", "octets/packet"),
        Column::of("READs", "1/packet"),
        Column::of("on the switch", "% of packets"),
        Column::of("spread", "Gbit/s"),
    ]);
    for (row, found) in rows.iter().zip(found) {
        table.row([
            row.name.into(),
            Cell::Number(found.rate, 1),
            Cell::Number(found.gigabits, 0),
            row.paper.map_or(Cell::from("-"), |paper| Cell::Number(paper, 1)),
            row.paper.map_or(Cell::from("-"), |paper| Cell::Number(percent(found.rate, paper), 1)),
            Cell::Number(found.out, 0),
            Cell::Number(found.back, 0),
            Cell::Number(found.reads, 2),
            Cell::Number(found.on_chip * 100.0, 1),
            Cell::Number(spread(found), 1),
        ]);
    }
    table
}

fn spread(found: &Found) -> f64 {
    found.seeds.1 - found.seeds.0
}

fn rate_goals(rows: &[Row], found: &[Found]) -> Vec<Goal> {
    let goal = |(row, found): (&Row, &Found)| Some(reproduced(row.name, found.rate, row.paper?));
    rows.iter().zip(found).filter_map(goal).collect()
}

/// Table 1: throughput and latency.
///
/// # Errors
/// [`ExperimentError`] when the rows cannot be written.
pub fn table1(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let all = [
        row("the paper's design", Design::Paper, MEAN, SLOW, 10, packets_of(490.0, MEAN)),
        row("ours, nothing on the switch", OURS_WITHOUT_CHIP, MEAN, SLOW, 10, None),
        row("ours", OURS, MEAN, SLOW, 10, None),
        row("the paper's design, 64 to 1518 B", Design::Paper, MEAN, SLOW, 10, packets_of(490.0, MEAN))
            .of_size(Size::Mixed),
        row("ours, 64 to 1518 B", OURS, MEAN, SLOW, 10, None).of_size(Size::Mixed),
        row("the paper's design, 64 and 1518 B", Design::Paper, MEAN, SLOW, 10, None).of_size(Size::Ends),
        row("ours, 64 and 1518 B", OURS, MEAN, SLOW, 10, None).of_size(Size::Ends),
    ];
    let found = measure(common, rows, progress, &all, |found| rate_table(&all, found))?;
    let mut times = Table::new(vec![
        Column::new("packet"),
        Column::of("paper, measured", "µs"),
        Column::of("the paper's design", "µs, modelled"),
        Column::of("ours", "µs, modelled"),
    ]);
    let time = |design, is_slow| alone(&load(common, design, Size::All(MEAN), SLOW, 10), is_slow);
    let of = |is_slow| [Design::Paper, OURS].map(|design| time(design, is_slow));
    let ([fast, our_fast], [slow, our_slow]) = (of(false), of(true));
    for (name, paper, theirs, ours) in [
        ("fast path; the paper's time is an input", 3.1, fast, our_fast),
        ("slow path", 12.0, slow, our_slow),
    ] {
        times.row([name.into(), Cell::Number(paper, 1), Cell::Number(theirs, 2), Cell::Number(ours, 2)]);
    }
    let mut goals = rate_goals(&all, &found);
    goals.push(reproduced("slow path", slow, 12.0));
    let load_of = |place: usize| found.get(place).map_or(0.0, |found| found.gigabits);
    goals.extend([
        Goal::at_least("ours", 700.0, load_of(2), "Gbit/s"),
        Goal::at_most("ours, fast path", 3.1, (our_fast * 100.0).round() / 100.0, "µs"),
        Goal::at_most("ours, slow path", 9.0, our_slow, "µs"),
    ]);
    // How it depends on the skew.
    let mut skews = Table::new(vec![
        Column::new("Zipf's exponent"),
        Column::of("on the switch", "% of packets"),
        Column::of("load", "Gbit/s, modelled"),
        Column::of("spread", "Gbit/s"),
    ]);
    let mut points = Vec::new();
    for skew in [0.0, 0.7, 0.8, 0.9, 1.0] {
        progress.stage(format!("ours at a skew of {skew}"));
        let load = Load { skew, ..load(common, OURS, Size::All(MEAN), SLOW, 10) };
        let found = run_seeds(&load, seeds(common));
        points.push((skew, found.gigabits));
        skews.row([
            Cell::Number(skew, 1),
            Cell::Number(found.on_chip * 100.0, 1),
            Cell::Number(found.gigabits, 0),
            Cell::Number(spread(&found), 1),
        ]);
    }
    Ok(Outcome {
        name: "xplane-table1",
        title: "Throughput and latency of a pipeline (X-PLANE, table 1)".into(),
        conditions: conditions(common),
        table: rate_table(&all, &found),
        goals,
        notes: note(),
        details: vec![
            ("One packet on idle links".into(), times),
            ("Ours, by the skew of the traffic".into(), skews),
        ],
        charts: vec![("skew", skew_chart(points, load_of(0)).into())],
    })
}

/// Throughput by the skew of the traffic; the paper's design does not depend on it.
fn skew_chart(points: Vec<(f64, f64)>, paper: f64) -> Chart {
    let ours = Curve { name: "ours".into(), points, is_dashed: false };
    let design = Curve {
        name: "the paper's design".into(),
        points: vec![(0.0, paper), (1.0, paper)],
        is_dashed: true,
    };
    Chart {
        title: "Throughput by the skew of the traffic".into(),
        x: "Zipf's exponent".into(),
        is_logarithmic: false,
        y: "Gbit/s (model time)".into(),
        curves: vec![ours, design],
    }
}

/// Figure 12: throughput by slow path ratio, PDRs and packet size.
///
/// # Errors
/// [`ExperimentError`] when no row is selected, or the rows cannot be written.
pub fn fig12(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let paper = Design::Paper;
    let all = [
        row("690 B, 0 % slow", paper, MEAN, 0.0, 10, None),
        row("690 B, 4.8 % slow, 10 PDRs", paper, MEAN, SLOW, 10, packets_of(490.0, MEAN)),
        row("690 B, 4.8 % slow, 20 PDRs", paper, MEAN, SLOW, 20, None),
        row("690 B, 4.8 % slow, 40 PDRs", paper, MEAN, SLOW, 40, packets_of(490.0 * 0.77, MEAN)),
        row("690 B, 25 % slow, 10 PDRs", paper, MEAN, 0.25, 10, None),
        row("690 B, 25 % slow, 40 PDRs", paper, MEAN, 0.25, 40, packets_of(162.0, MEAN)),
        row("64 B, 4.8 % slow, 10 PDRs", paper, 64, SLOW, 10, packets_of(78.0, 64)),
        row("128 B, 4.8 % slow, 10 PDRs", paper, 128, SLOW, 10, packets_of(146.0, 128)),
        row("256 B, 4.8 % slow, 10 PDRs", paper, 256, SLOW, 10, packets_of(242.0, 256)),
        row("ours, 690 B, 0 % slow", OURS, MEAN, 0.0, 10, None),
        row("ours, 690 B, 4.8 % slow, 10 PDRs", OURS, MEAN, SLOW, 10, None),
        row("ours, 690 B, 4.8 % slow, 40 PDRs", OURS, MEAN, SLOW, 40, None),
        row("ours, 690 B, 25 % slow, 10 PDRs", OURS, MEAN, 0.25, 10, None),
        row("ours, 690 B, 25 % slow, 40 PDRs", OURS, MEAN, 0.25, 40, None),
        row("ours, 64 B, 4.8 % slow, 10 PDRs", OURS, 64, SLOW, 10, None),
        row("ours, 128 B, 4.8 % slow, 10 PDRs", OURS, 128, SLOW, 10, None),
        row("ours, 256 B, 4.8 % slow, 10 PDRs", OURS, 256, SLOW, 10, None),
    ];
    let all = common.rows_by_name(&all, |row| row.name)?;
    let found = measure(common, rows, progress, &all, |found| rate_table(&all, found))?;
    let mut goals = rate_goals(&all, &found);
    if let Some((row, found)) =
        all.iter().zip(&found).find(|(row, _)| row.name.contains("ours, 690 B, 4.8 % slow, 10"))
    {
        goals.push(Goal::at_least(row.name, 700.0, found.gigabits, "Gbit/s"));
    }
    let curve = |name: &str, is_ours: bool, slow: f64| Curve {
        name: name.into(),
        points: all
            .iter()
            .zip(&found)
            .filter(|(row, _)| {
                row.size == Size::All(MEAN) && row.slow == slow && (row.design == OURS) == is_ours
            })
            .map(|(row, found)| (f64::from(row.pdrs), found.gigabits))
            .collect(),
        is_dashed: !is_ours,
    };
    let curves = vec![
        curve("the paper's design, 4.8 % slow", false, SLOW),
        curve("the paper's design, 25 % slow", false, 0.25),
        curve("ours, 4.8 % slow", true, SLOW),
        curve("ours, 25 % slow", true, 0.25),
    ];
    Ok(Outcome {
        name: "xplane-fig12",
        title: "Throughput by slow path ratio, searched PDRs and packet size (X-PLANE, figure 12)".into(),
        conditions: conditions(common),
        table: rate_table(&all, &found),
        goals,
        notes: note(),
        details: Vec::new(),
        charts: vec![(
            "rate",
            Chart {
                title: "Throughput at 690 octets".into(),
                x: "searched PDRs".into(),
                is_logarithmic: false,
                y: "Gbit/s (model time)".into(),
                curves,
            }
            .into(),
        )],
    })
}

/// Part of the highest rate at which latencies are measured: the paper does not say at which load it measured.
const PART_OF_RATE: f64 = 0.7;

/// Figures 13 and 14: the distribution of the latency.
///
/// # Errors
/// [`ExperimentError`] when no row is selected, or the rows cannot be written.
pub fn fig13(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let paper = Design::Paper;
    let all = [
        row("the paper's design, 0 % slow", paper, MEAN, 0.0, 10, None),
        row("the paper's design, 4.8 % slow, 10 PDRs", paper, MEAN, SLOW, 10, None),
        row("the paper's design, 4.8 % slow, 40 PDRs", paper, MEAN, SLOW, 40, None),
        row("ours, 0 % slow", OURS, MEAN, 0.0, 10, None),
        row("ours, 4.8 % slow, 10 PDRs", OURS, MEAN, SLOW, 10, None),
        row("ours, 4.8 % slow, 40 PDRs", OURS, MEAN, SLOW, 40, None),
    ];
    let all = common.rows_by_name(&all, |row| row.name)?;
    let table = |found: &[(Latencies, f64)]| {
        let us = |name| Column::of(name, "µs, modelled");
        let mut table = Table::new(vec![
            Column::new("packets"),
            us("mean"),
            us("median"),
            us("95 %"),
            us("99 %"),
            us("longest"),
            Column::of("within 5 µs", "%"),
            Column::of("within 20 µs", "%"),
            Column::of("spread of 99 %", "µs"),
        ]);
        for (row, (times, spread)) in all.iter().zip(found) {
            let at = |percent| Cell::Number(times.percentile(percent) * 1e6, 2);
            table.row([
                row.name.into(),
                Cell::Number(times.mean() * 1e6, 2),
                at(50.0),
                at(95.0),
                at(99.0),
                Cell::Number(times.longest() * 1e6, 2),
                Cell::Number(times.within(5e-6), 2),
                Cell::Number(times.within(20e-6), 2),
                Cell::Number(spread * 1e6, 3),
            ]);
        }
        table
    };
    let found = rows.measure(
        &all,
        |row| {
            progress.stage(row.name.to_owned());
            let full = load(common, row.design, row.size, row.slow, row.pdrs);
            let rate = run(&Load { packets: full.packets / 4, ..full }).rate * PART_OF_RATE;
            let (mut times, mut tails) = (Vec::new(), (f64::MAX, 0.0_f64));
            for number in 0..seeds(common) {
                let seed = full.seed.wrapping_add(number);
                let Found { fast, slow, .. } = run(&Load { rate: Some(rate), seed, ..full });
                let of_seed: Vec<f64> = fast.into_iter().chain(slow).collect();
                let tail = Latencies::of_seconds(of_seed.iter().copied()).percentile(99.0);
                tails = (tails.0.min(tail), tails.1.max(tail));
                times.extend(of_seed);
            }
            Ok((Latencies::of_seconds(times), tails.1 - tails.0))
        },
        table,
    )?;
    let mut goals = Vec::new();
    for (row, (times, _)) in all.iter().zip(&found) {
        let limit = if row.slow == 0.0 { 5 } else { 20 };
        // With 40 PDRs, nine lookups one after the other.
        if row.pdrs == 10 {
            let within = times.within(f64::from(limit) * 1e-6);
            goals.push(Goal::at_least(&format!("{}, within {limit} µs", row.name), 99.0, within, "%"));
        }
    }
    let curves = all.iter().zip(&found).map(|(row, (times, _))| {
        let points = times.distribution().into_iter().map(|(time, share)| (time * 1e6, share)).collect();
        Curve { name: row.name.into(), points, is_dashed: row.design == Design::Paper }
    });
    let chart = Chart {
        title: "Latency".into(),
        x: "µs (model time)".into(),
        is_logarithmic: false,
        y: "share of packets".into(),
        curves: curves.collect(),
    };
    Ok(Outcome {
        name: "xplane-fig13",
        title: "Latency of packets (X-PLANE, figures 13 and 14)".into(),
        conditions: conditions(common),
        table: table(&found),
        goals,
        notes: vec![
            format!("Packets come by a Poisson process at {:.0} % of the highest rate of the row; the paper does not give its load.", PART_OF_RATE * 100.0),
            "The paper: over 99 % within 5 µs at 0 %; the mean of its fast path is about 3 µs, of all 3.6 µs. It reports 99 % within 20 µs also with \
             40 PDRs, where its nine lookups of 3 µs one after the other take longer."
                .into(),
        ],
        details: Vec::new(),
        charts: vec![("cdf", chart.into())],
    })
}

/// Figure 15: flow entries that the data plane writes a second.
///
/// # Errors
/// [`ExperimentError`] when the rows cannot be written.
pub fn fig15(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let all = [
        row("10 PDRs", Design::Paper, MEAN, 1.0, 10, Some(29.7)),
        row("20 PDRs", Design::Paper, MEAN, 1.0, 20, Some(17.3)),
        row("40 PDRs", Design::Paper, MEAN, 1.0, 40, Some(11.2)),
        row("ours, 10 PDRs", OURS, MEAN, 1.0, 10, None),
        row("ours, 20 PDRs", OURS, MEAN, 1.0, 20, None),
        row("ours, 40 PDRs", OURS, MEAN, 1.0, 40, None),
    ];
    let found = measure(common, rows, progress, &all, |found| rate_table(&all, found))?;
    let mut goals = rate_goals(&all, &found);
    for (place, limit) in [(3, 35.0), (4, 20.0), (5, 13.0)] {
        if let (Some(row), Some(found)) = (all.get(place), found.get(place)) {
            goals.push(Goal::at_least(row.name, limit, found.rate, "million entries a second"));
        }
    }
    let curve =
        |name: &str, points: Vec<(f64, f64)>, is_dashed| Curve { name: name.into(), points, is_dashed };
    let of = |is_ours: bool| {
        let rows = all.iter().zip(&found).filter(move |(row, _)| (row.design == OURS) == is_ours);
        rows.map(|(row, found)| (f64::from(row.pdrs), found.rate)).collect()
    };
    let paper = all.iter().filter_map(|row| Some((f64::from(row.pdrs), row.paper?))).collect();
    let chart = Chart {
        title: "Flow entries written per second".into(),
        x: "searched PDRs".into(),
        is_logarithmic: false,
        y: "million/s".into(),
        curves: vec![
            curve("paper, measured", paper, true),
            curve("the paper's design, modelled", of(false), true),
            curve("ours, modelled", of(true), false),
        ],
    };
    Ok(Outcome {
        name: "xplane-fig15",
        title: "Flow entries written a second, 100 % slow path (X-PLANE, figure 15)".into(),
        conditions: conditions(common),
        table: rate_table(&all, &found),
        goals,
        notes: note(),
        details: Vec::new(),
        charts: vec![("inserts", chart.into())],
    })
}

/// Figure 16: the cost of the local state table, and its size.
///
/// # Errors
/// [`ExperimentError`] when the rows cannot be written.
pub fn fig16(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let base = load(common, OURS_WITHOUT_CHIP, Size::All(MEAN), SLOW, 10);
    let all = [
        ("without: each packet reads and writes the state", Load { collapses: false, ..base }),
        ("with, uniform flow rates", base),
        ("with, Zipf 0.9", Load { skew: SKEW, ..base }),
    ];
    let table = |found: &[(Found, f64)]| {
        let mut table = Table::new(vec![
            Column::new("local state table"),
            Column::of("load", "Gbit/s, modelled"),
            Column::of("mean of the fast path", "µs, modelled"),
            Column::of("READs", "1/packet"),
            Column::of("writes of states", "1/packet"),
            Column::of("most entries", ""),
            Column::of("spread", "Gbit/s"),
        ]);
        for ((name, _), (found, fast)) in all.iter().zip(found) {
            table.row([
                (*name).into(),
                Cell::Number(found.gigabits, 1),
                Cell::Number(*fast, 3),
                Cell::Number(found.reads, 3),
                Cell::Number(found.writes, 3),
                Cell::Count(found.entries as u64),
                Cell::Number(spread(found), 2),
            ]);
        }
        table
    };
    let found = rows.measure(
        &all,
        |(name, load)| {
            progress.stage((*name).to_owned());
            let found = run_seeds(load, seeds(common));
            let at_part = run_seeds(&Load { rate: Some(found.rate * PART_OF_RATE), ..*load }, seeds(common));
            Ok((found, Latencies::of_seconds(at_part.fast).mean() * 1e6))
        },
        table,
    )?;
    let mut goals = Vec::new();
    let seeds: Vec<u64> = (0..seeds(common)).map(|number| common.seed.wrapping_add(number)).collect();
    // Collisions at the paper's rate, with uniform flow rates: the worst case.
    let of_packets = |how: &str| format!("% of packets, {how}");
    let mut collisions = Table::new(vec![
        Column::new("entries"),
        Column::of("round trip", "µs"),
        Column::of("most in use, buckets of two", "entries"),
        Column::of("to the CPU, buckets of two", &of_packets("computed")),
        Column::of("", &of_packets("simulated")),
        Column::of("spread", "% of packets"),
        Column::of("to the CPU, a place for one key", &of_packets("computed")),
        Column::of("", &of_packets("simulated")),
    ]);
    let packets = if common.quick { 200_000 } else { 4_000_000 };
    for round_trip in [2.5, 5.0] {
        for entries in [8_192, 16_384, 26_000, places::P4_PLACES, 65_536] {
            progress.stage(format!("collisions with {entries} entries"));
            let fill = places::mean_entries(round_trip) / entries as f64;
            let (used, two, spread) = places::in_two(entries, round_trip, packets, &seeds);
            let (one, _) = places::in_one(entries, round_trip, packets, &seeds);
            collisions.row([
                Cell::Count(entries as u64),
                Cell::Number(round_trip, 1),
                Cell::Count(used as u64),
                Cell::Number(places::taken(fill, 2) * 100.0, 3),
                Cell::Number(two * 100.0, 3),
                Cell::Number(spread * 100.0, 4),
                Cell::Number(places::taken(fill, 1) * 100.0, 2),
                Cell::Number(one * 100.0, 2),
            ]);
            if entries == 26_000 && round_trip < 3.0 {
                let goal = "packets to the CPU for collisions in the local state table, 26,000 entries";
                goals.push(Goal::at_most(goal, 0.1, two * 100.0, "%"));
            }
        }
    }
    let ues = if common.quick { 20_000 } else { 1_000_000 };
    progress.stage(format!("tables of {ues} UEs"));
    let fills = places::fill_table(&places::filled(ues), &seeds);
    let (all_tables, _) = places::packets_without_place(ues, &seeds);
    goals.push(Goal::at_most(
        "packets to the CPU for collisions in UE and flow table, the paper's space, two places a bucket",
        0.9,
        all_tables * 100.0,
        "%",
    ));
    Ok(Outcome {
        name: "xplane-fig16",
        title: "Cost of the concurrency control, and collisions of all tables (X-PLANE, figure 16 and section 6)".into(),
        conditions: conditions(common),
        table: table(&found),
        goals,
        notes: vec![
            "The paper: -2 % throughput, +12 % latency by the local state table. Passes of the switch that the table's hashes and registers lengthen are not in the \
             model, nor is any other cost of it on the switch: it shows the links alone, and no goal on the cost is judged."
                .into(),
            "The paper: 0.9 % of packets collide, in all tables together. By the computation of the second table its space, with a place for one key, leaves more \
             flows without a place; it does not say how keys are placed."
                .into(),
            format!(
                "The local state table with a place for one key is that of P4 profile `xplane`, of {} places there; with buckets of two it is that of the data \
                 plane in software.",
                places::P4_PLACES
            ),
        ],
        details: vec![
            ("Collisions in the local state table at 490 Gbit/s, 10 million flows at the same rate".into(), collisions),
            (format!("Keys without a place in external memory, of {ues} UEs with ten flows each"), fills),
        ],
        charts: Vec::new(),
    })
}

/// Figure 17: how long the packets that are buffered for a UE take to leave.
///
/// # Errors
/// [`ExperimentError`] when the rows cannot be written.
pub fn fig17(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let all = [2_u32, 8, 32, 64, 128];
    let table = |found: &[[f64; 3]]| {
        let us = |name| Column::of(name, "µs, modelled");
        let mut table = Table::new(vec![
            Column::new("buffered packets"),
            Column::of("paper, measured", "µs"),
            us("one read at a time"),
            us("8 reads in flight"),
            us("8, at 90 % load of the link"),
        ]);
        for (packets, [one, eight, loaded]) in all.iter().zip(found) {
            let paper = match packets {
                2 => Cell::Number(10.0, 0),
                128 => Cell::Number(640.0, 0),
                _ => Cell::from("-"),
            };
            table.row([
                Cell::Count((*packets).into()),
                paper,
                Cell::Number(*one, 1),
                Cell::Number(*eight, 1),
                Cell::Number(*loaded, 1),
            ]);
        }
        table
    };
    let found = rows.measure(
        &all,
        |packets| {
            progress.stage(format!("{packets} packets"));
            Ok([release(*packets, 1, 0.0), release(*packets, 8, 0.0), release(*packets, 8, 0.9)])
        },
        table,
    )?;
    let last = found.last().copied().unwrap_or_default();
    let first = found.first().copied().unwrap_or_default();
    let chart = |place: usize, name: &str| Curve {
        name: name.into(),
        points: all.iter().zip(&found).map(|(packets, times)| (f64::from(*packets), times[place])).collect(),
        is_dashed: place == 0,
    };
    Ok(Outcome {
        name: "xplane-fig17",
        title: "Time until buffered packets have left (X-PLANE, figure 17)".into(),
        conditions: conditions(common),
        table: table(&found),
        goals: vec![
            reproduced("128 packets, one read at a time", last[0], 640.0),
            reproduced("2 packets, one read at a time", first[0], 10.0),
            Goal::at_most("128 packets, 8 reads in flight", 100.0, last[1], "µs"),
            Goal::at_most("128 packets, 8 reads in flight, link at 90 %", 100.0, last[2], "µs"),
        ],
        notes: vec![format!(
            "The paper gives 4 to 5 µs for each packet, more than a lookup of 3.1 µs: its packet is read, and makes the next read after \
             a pass of the switch in which the pointers, a state in memory, are read and written. One read at a time is here a read of \
             the pointer ({STATE} octets), then of the packet, with a pass of the switch after the latter. The ring is that of the data plane (`causeway_xplane::paging`)."
        )],
        details: Vec::new(),
        charts: vec![(
            "time",
            Chart {
                title: "Buffered packets".into(),
                x: "packets".into(),
                is_logarithmic: false,
                y: "µs (model time)".into(),
                curves: vec![chart(0, "one read at a time"), chart(1, "8 reads in flight")],
            }
            .into(),
        )],
    })
}

/// The time until all packets have left. With one read at a time, the pointer is read before each packet.
fn release(packets: u32, reads: u32, load: f64) -> f64 {
    let mut ring: Ring<u64> = Ring::new(RingConfig { capacity: packets, reads });
    let entered = (0..packets).filter(|_| ring.enter().is_ok()).count();
    ring.notify(1, true);
    let mut ports = Ports::new();
    let mut events: EventQueue<RingRead> = EventQueue::with_seed(0);
    // Traffic of others: responses of packets at equal gaps.
    let gap =
        if load > 0.0 { ((response(MEAN + ENTRY) * PER_OCTET) as f64 / load) as Picos } else { Picos::MAX };
    let (mut now, mut others, mut left) = (PASS, 0, 0);
    loop {
        while let Some(read) = ring.next_read() {
            let begin = if reads == 1 { ports.read(now, 0, STATE) } else { now };
            events.push(ports.read(begin, 0, MEAN) + PASS, read);
        }
        let Some((time, read)) = events.pop() else { break };
        while others < time && load > 0.0 {
            ports.read(others, 0, MEAN + ENTRY);
            others += gap;
        }
        now = time;
        let packets = ring.read(read, Some(read.position));
        left += packets.iter().filter(|packet| matches!(packet, Left::Packet(_))).count();
    }
    assert_eq!(left, entered, "packets are lost in the ring");
    now as f64 / PICOS_PER_MICRO
}

/// Figure 18: rates of UEs that are limited, with the tokens in external memory.
///
/// # Errors
/// [`ExperimentError`] when the rows cannot be written.
pub fn fig18(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let seconds = if common.quick { 2.0 } else { 25.0 };
    let group = |name, offered, limit, from| Group { name, ues: 1, offered, limit, from };
    let three = vec![
        group("UE-0", 1000.0, 256.0, 12.0 * seconds / 25.0),
        group("UE-1", 1000.0, 512.0, 20.0 * seconds / 25.0),
        group("UE-2, no limit", 1000.0, 10_000.0, 0.0),
    ];
    let many = Group {
        name: "10,000 UEs",
        ues: if common.quick { 100 } else { 10_000 },
        offered: 6.0,
        limit: 3.0,
        from: 0.0,
    };
    // The UEs of a simulation are all on one link and in one table.
    let all = [(three, seconds), (vec![many], if common.quick { 10.0 } else { 3.0 })];
    let table = |found: &[Vec<Limited>]| {
        let mut table = Table::new(vec![
            Column::new("UE"),
            Column::of("before the limit", "Mbit/s per UE, modelled"),
            Column::of("limit", "Mbit/s"),
            Column::of("behind it", "Mbit/s per UE, modelled"),
            Column::of("error", "%"),
            Column::of("largest error of a UE", "%"),
            Column::of("spread of that", "%"),
            Column::of("link back", "% of the time"),
            Column::of("most entries", ""),
            Column::of("to the CPU", "packets"),
        ]);
        for ((groups, _), found) in all.iter().zip(found) {
            for (group, found) in groups.iter().zip(found) {
                let goal = f64::min(group.limit, group.offered);
                table.row([
                    group.name.into(),
                    if found.before > 0.0 { Cell::Number(found.before, 2) } else { Cell::from("-") },
                    Cell::Number(goal, 0),
                    Cell::Number(found.behind, 3),
                    Cell::Number(percent(found.behind, goal), 3),
                    Cell::Number(found.worst, 3),
                    Cell::Number(found.spread, 3),
                    Cell::Number(found.link * 100.0, 1),
                    Cell::Count(found.entries as u64),
                    Cell::Count(found.collided),
                ]);
            }
        }
        table
    };
    let found = rows.measure(
        &all,
        |(groups, until)| {
            let runs: Vec<Vec<Limited>> = (0..seeds(common))
                .map(|number| {
                    progress.stage(format!("{}, run {}", groups[0].name, number + 1));
                    limited(groups, *until, common.seed.wrapping_add(number))
                })
                .collect();
            Ok(Limited::of_seeds(runs))
        },
        table,
    )?;
    let each = || all.iter().zip(&found).flat_map(|((groups, _), found)| groups.iter().zip(found));
    let goals = each().map(|(group, found)| {
        Goal::at_most(&format!("error of the rate, {}", group.name), 0.5, found.worst, "%")
    });
    let curve = |(group, found): (&Group, &Limited)| Curve {
        name: group.name.into(),
        points: found.course.clone(),
        is_dashed: false,
    };
    let chart = Chart {
        title: "Rates of three UEs".into(),
        x: "s (model time)".into(),
        is_logarithmic: false,
        y: "Mbit/s".into(),
        curves: each().take(3).map(curve).collect(),
    };
    Ok(Outcome {
        name: "xplane-fig18",
        title: "Rates of limited UEs, tokens in external memory (X-PLANE, figure 18)".into(),
        conditions: conditions(common),
        table: table(&found),
        goals: goals.collect(),
        notes: vec![
            "Packets of 690 octets at equal gaps with 20 % jitter. The three UEs share a link to the memory and a local state table of 26,000 entries, and so do \
             the 10,000. Tokens and their time are one state in it, loaded with the flow entry and written over the link, whose responses take up to 1 µs more by chance; a burst of \
             10 ms. A packet that collides in the table is for the CPU, and counts as carried. The paper: three UEs, error within 1 %."
                .into(),
        ],
        details: Vec::new(),
        charts: vec![("rates", chart.into())],
    })
}
