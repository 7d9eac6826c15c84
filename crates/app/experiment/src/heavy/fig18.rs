//! Figure 18: how the heavy hitters of disjoint seconds depend on where the seconds begin.

use std::collections::HashSet;

use causeway_show::{Cell, Column, Progress, Table};
use causeway_types::Span;

use super::trace::{Profile, Trace};
use super::truth::{Amount, Disjoint};
use super::{Size, census};
use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::Outcome;
use crate::row_writer::Rows;
use crate::spread::Spread;

/// Thresholds in Mbit/s, in packets of 1000 octets.
const THRESHOLDS: [u64; 4] = [1, 2, 5, 10];
/// By how much seconds begin later, in milliseconds.
const SHIFTS: [u64; 4] = [0, 200, 400, 600];

/// A flow in a second.
type Flows = HashSet<(u64, u32)>;

/// For each threshold, and each shift: heavy flows a second; lost, new and changed ones in percent.
type Measured = Vec<Vec<[f64; 4]>>;

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when results cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let size = Size::of(common)?;
    let seconds = size.seconds[2];
    let measured: Vec<Measured> = rows.measure(
        &size.seeds,
        |seed| {
            progress.stage(format!("seed {seed}"));
            Ok(measure(&size, *seed, seconds, progress))
        },
        table,
    )?;
    let census = census::table(&size, progress);
    Ok(Outcome {
        name: "hh-fig18",
        title: "Heavy hitters by the beginning of the window (thesis, figure 18)".into(),
        conditions: vec![
            ("trace", format!("{}, {seconds} s", size.traces_in_words("backbone (like CAIDA16)"))),
            ("counted", "packets of all flows, exactly, in disjoint seconds".into()),
            ("seeds", size.trace_seeds_in_words()),
        ],
        table: table(&measured),
        goals: Vec::new(),
        notes: vec![
            "The thesis: shifts of 0.2 to 0.6 s change the result by 10 to 30 %. Here a flow is compared second by second: it is lost if it is \
             heavy in a second but not in the one that begins later, and new the other way round; changed is the sum of both.".into(),
            size.note(),
        ],
        charts: Vec::new(),
        details: vec![("What is in a second".into(), census)],
    })
}

fn measure(size: &Size, seed: u64, seconds: u32, progress: &mut Progress) -> Measured {
    let mut trace = Trace::new(&size.profile(Profile::BACKBONE), seed);
    let mut packets = Vec::new();
    let mut counts = SHIFTS.map(|shift| Disjoint::new(Amount::Packets, Span::from_millis(shift)));
    let mut heavy: [[Flows; 4]; 4] = Default::default();
    for second in 0..seconds {
        progress.set_progress(second.into(), seconds.into());
        trace.advance(Span::from_secs(1), &mut packets);
        for packet in &packets {
            for (counts, heavy) in counts.iter_mut().zip(&mut heavy) {
                let count = counts.observe(packet.flow, packet.octets, packet.time);
                let reached = THRESHOLDS.iter().position(|megabits| megabits * 125 == count);
                if let Some(flows) = reached.and_then(|place| heavy.get_mut(place)) {
                    flows.insert((counts.second(packet.time), packet.flow));
                }
            }
        }
    }
    // Seconds that are whole with every shift.
    let whole = |flows: &Flows| -> Flows {
        flows.iter().filter(|(second, _)| (1..u64::from(seconds)).contains(second)).copied().collect()
    };
    let [first, ..] = &heavy;
    let of = |threshold: usize, flows: &[Flows; 4]| {
        let (reference, shifted) = (
            whole(first.get(threshold).unwrap_or(&first[0])),
            whole(flows.get(threshold).unwrap_or(&flows[0])),
        );
        let percent = |count: usize| count as f64 * 100.0 / reference.len().max(1) as f64;
        let a_second = shifted.len() as f64 / f64::from(seconds.saturating_sub(1).max(1));
        let lost = percent(reference.difference(&shifted).count());
        let new = percent(shifted.difference(&reference).count());
        [a_second, lost, new, lost + new]
    };
    (0..THRESHOLDS.len()).map(|threshold| heavy.iter().map(|flows| of(threshold, flows)).collect()).collect()
}

fn table(measured: &[Measured]) -> Table {
    let mut table = Table::new(vec![
        Column::of("threshold", "Mbit/s"),
        Column::of("seconds begin at", "s"),
        Column::of("heavy flows", "1/s"),
        Column::of("lost", "%"),
        Column::of("new", "%"),
        Column::of("changed", "%"),
        Column::of("changed, all seeds", "%"),
    ]);
    for (threshold, megabits) in THRESHOLDS.iter().enumerate() {
        for (shift, millis) in SHIFTS.iter().enumerate() {
            let of = |place: usize| -> Spread {
                let found = measured.iter().filter_map(|seed| seed.get(threshold)?.get(shift)?.get(place));
                found.copied().collect()
            };
            table.row([
                Cell::Count(*megabits),
                Cell::Number(*millis as f64 / 1e3, 1),
                of(0).cell(0),
                of(1).cell(1),
                of(2).cell(1),
                of(3).cell(1),
                of(3).range(1),
            ]);
        }
    }
    table
}
