//! What is in a second of the traces, beside what the thesis says of its captures.

use causeway_show::{Cell, Column, Progress, Table};
use causeway_types::Span;

use super::Size;
use super::trace::{Profile, Trace};

use crate::spread::Spread;

/// Flows of at least so many packets in a second are counted.
const LEAST: [u32; 5] = [125, 250, 625, 1250, 2500];

/// The traces, with packets and flows a second of the captures that they stand for, and those of the flows of [`LEAST`] that the thesis has.
const TRACES: [(Profile, [Option<u64>; 7]); 3] = [
    (Profile::BACKBONE, [Some(700_000), Some(65_000), None, Some(515), Some(110), Some(28), Some(15)]),
    (Profile::WIDE, [Some(600_000), Some(4000), None, None, None, None, None]),
    // The capture has 15,000 packets of 200 flows; it was replayed at 3,500 flows.
    (Profile::DATA_CENTRE, [Some(262_500), Some(3500), None, None, None, None, None]),
];

/// The table, of so many seconds of each trace and seed.
pub(super) fn table(size: &Size, progress: &mut Progress) -> Table {
    let mut columns = vec![Column::new("trace"), Column::new("of")];
    columns.extend(["packets", "flows"].map(|what| Column::of(what, "1/s")));
    columns.extend(LEAST.map(|least| Column::of(&format!("flows of {least} packets"), "1/s")));
    let mut table = Table::new(columns);
    for profile in size.profiles(&TRACES.map(|(profile, _)| profile)) {
        progress.stage(format!("flows in a second: {}", profile.name));
        let all: Vec<[f64; 7]> =
            size.seeds.iter().map(|seed| count(&size.profile(profile), *seed, size.seconds[0])).collect();
        let of = |place: usize| -> Spread { all.iter().filter_map(|one| one.get(place).copied()).collect() };
        let row = |name: &str, of: &str, cells: Vec<Cell>| {
            [Cell::from(name.to_owned()), Cell::from(of.to_owned())].into_iter().chain(cells)
        };
        table.row(row(profile.name, "mean", (0..7).map(|place| of(place).cell(0)).collect()));
        table.row(row(profile.name, "all seeds", (0..7).map(|place| of(place).range(0)).collect()));
        let thesis = TRACES.iter().find(|(known, _)| known.name == profile.name && profile.given.is_none());
        if let Some((_, figures)) = thesis {
            let cells = figures.map(|figure| figure.map_or(Cell::Missing, Cell::Count));
            table.row(row(profile.like, "thesis", cells.to_vec()));
        }
    }
    table
}

/// Means over so many disjoint seconds: packets, flows, and flows of [`LEAST`].
fn count(profile: &Profile, seed: u64, seconds: u32) -> [f64; 7] {
    let mut trace = Trace::new(profile, seed);
    let mut packets = Vec::new();
    let mut sums = [0_u64; 7];
    for _ in 0..seconds {
        trace.advance(Span::from_secs(1), &mut packets);
        let mut counts = vec![0_u32; trace.flows() as usize];
        for packet in &packets {
            counts.get_mut(packet.flow as usize).into_iter().for_each(|count| *count += 1);
        }
        let of = |least: u32| counts.iter().filter(|count| **count >= least).count() as u64;
        let found = [packets.len() as u64, of(1)].into_iter().chain(LEAST.map(of));
        sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
    }
    sums.map(|sum| sum as f64 / f64::from(seconds.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  three seconds of the backbone.
    // Output: packets and flows as in the thesis: 0.7 million and 65,000; about a thousand flows of 125 packets, and fewer of more.
    #[test]
    fn the_backbone_has_the_figures_of_the_thesis() {
        let [packets, flows, heavy @ ..] = count(&Profile::BACKBONE, 7, 3);
        assert!((650_000.0..850_000.0).contains(&packets), "{packets}");
        assert!((58_000.0..70_000.0).contains(&flows), "{flows}");
        assert!((1000.0..1300.0).contains(&heavy[0]), "{heavy:?}");
        assert!(heavy.is_sorted_by(|more, fewer| more > fewer), "{heavy:?}");
    }
}
