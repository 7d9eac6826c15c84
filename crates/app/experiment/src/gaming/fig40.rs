//! Figure 40: integers and tables against floating point and trees.

use std::collections::HashMap;

use causeway_show::{Cell, Column, Progress, Table};
use causeway_traffic::Random;
use causeway_traffic::classes::{Feature, Model, TableLimits, Tables, Tree, Vector};
use causeway_types::{Direction, Span};

use super::dataset::Dataset;
use super::float::{Both, classify};
use super::generator::GAMES;
use super::processes::{PROCESSES, measure};
use super::{SEEDS, SYNTHETIC, WITHOUT_DATA, models, released, seconds};
use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::spread::Spread;
use crate::training::{Orientation, Packet, TrainingError};

/// What was compared in windows of one length.
#[derive(Clone, Debug, Default)]
struct Compared {
    traffic: String,
    window: u32,
    /// Of each seed; one of captures.
    found: Vec<Found>,
}

/// What was compared with one seed.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    windows: u64,
    /// Windows of which tables of integers say another class than the tree over floating point.
    differing: u64,
    /// The greatest errors of a mean size and of a mean gap, as parts.
    size: f64,
    gap: f64,
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when data or results cannot be read or written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let models = models()?;
    let length = Span::from_secs(if common.quick { 10 } else { 60 });
    let seeds: Vec<u64> = (0..SEEDS).map(|place| common.seed.wrapping_add(place)).collect();
    progress.stage("reading captures");
    let data = Dataset::of(common);
    let captures = data.as_ref().map(|data| data.captures(progress)).transpose()?.unwrap_or_default();
    let compared = rows.measure(
        &models,
        |(window, model)| {
            progress.stage(format!("windows of {}", seconds(*window)));
            let mut compared = Vec::new();
            for game in GAMES {
                let mut found = Vec::new();
                for seed in &seeds {
                    let (mut one, mut both) = (Found::default(), Both::default());
                    for packet in game.flow(*seed, length) {
                        one.observe(&mut both, packet.direction, packet.octets, packet.time, model)?;
                    }
                    found.push(one);
                }
                compared.push(Compared { traffic: game.name.into(), window: *window, found });
            }
            let mut one = Found::default();
            for capture in &captures {
                one.observe_capture(capture.packets.iter().flatten(), model)?;
            }
            if one.windows > 0 {
                let traffic = "captures of other traffic".into();
                compared.push(Compared { traffic, window: *window, found: vec![one] });
            }
            Ok(compared)
        },
        |compared| table(&compared.concat()),
    )?;
    let compared = compared.concat();
    progress.stage("filters");
    let windows = if common.quick { 10 } else { 60 };
    let (filters, worst) = filters(&seeds, windows);
    let (equality, differing) = equality(&models, common.seed)?;
    let mut notes = vec![
        "The thesis compares its switch with a simulator in floating point: 92 to 99.99 % of windows right by platform. Its captures cannot be had \
         here, so this is a comparison of the two ways to compute, not of accuracy."
            .into(),
        SYNTHETIC.into(),
    ];
    if data.is_none() {
        notes.push(WITHOUT_DATA.into());
    }
    let greatest = |of: fn(&Found) -> f64| {
        compared.iter().flat_map(|one| &one.found).map(of).fold(0.0, f64::max) * 100.0
    };
    Ok(Outcome {
        name: "gaming-fig40",
        title: "Integers and tables against floating point (thesis, figure 40)".into(),
        conditions: vec![
            ("flows", format!("three synthetic games of {} s each", length.as_secs())),
            ("seeds", format!("{} to {}", common.seed, common.seed.wrapping_add(SEEDS - 1))),
            ("trees", "our models for windows of 0.3, 0.5 and 1 s".into()),
        ],
        table: table(&compared),
        goals: vec![
            Goal::at_most(
                "mean gap of a window against floating point, six processes, worst window",
                2.0,
                worst * 100.0,
                "%",
            ),
            Goal::at_most(
                "mean size against floating point, worst window above",
                2.0,
                greatest(|one| one.size),
                "%",
            ),
            Goal::at_most(
                "mean gap against floating point, worst window above",
                2.0,
                greatest(|one| one.gap),
                "%",
            ),
            Goal::at_most(
                "vectors of which the tables say another class than their tree",
                0.0,
                differing as f64,
                "",
            ),
        ],
        notes,
        details: vec![
            ("Filters of gaps, against the exact mean".into(), filters),
            ("Tables against their trees".into(), equality),
        ],
        charts: Vec::new(),
    })
}

impl Found {
    fn observe(
        &mut self,
        both: &mut Both,
        direction: Direction,
        octets: u32,
        now: causeway_types::Time,
        model: &Model,
    ) -> Result<(), ExperimentError> {
        let Some((closed, exact)) = both.observe(direction, octets, now, model.window()) else {
            return Ok(());
        };
        if !closed.vector.has_packets(model.least_packets()) {
            return Ok(());
        }
        self.windows += 1;
        self.differing += u64::from(model.tree().classify(&closed.vector) != classify(model.tree(), &exact));
        for feature in [Feature::UplinkSize, Feature::DownlinkSize, Feature::UplinkGap, Feature::DownlinkGap]
        {
            let exact = exact[feature as usize].min(f64::from(feature.most()));
            let error = (f64::from(closed.vector.get(feature)) - exact).abs() / exact.max(1.0);
            let is_size = feature < Feature::UplinkGap;
            let worst = if is_size { &mut self.size } else { &mut self.gap };
            *worst = worst.max(error);
        }
        Ok(())
    }

    fn observe_capture<'a>(
        &mut self,
        packets: impl Iterator<Item = &'a Packet>,
        model: &Model,
    ) -> Result<(), ExperimentError> {
        let orientation = Orientation::default();
        let mut flows = HashMap::new();
        for packet in packets {
            let is_uplink = orientation.is_uplink(&packet.ends);
            let (direction, ends) = if is_uplink {
                (Direction::Uplink, packet.ends)
            } else {
                (Direction::Downlink, packet.ends.reversed())
            };
            let both = flows.entry(ends).or_insert_with(Both::default);
            self.observe(both, direction, packet.octets, packet.time, model)?;
        }
        Ok(())
    }
}

fn table(compared: &[Compared]) -> Table {
    let mut table = Table::new(vec![
        Column::new("traffic"),
        Column::of("window", "s"),
        Column::new("windows"),
        Column::new("other class"),
        Column::of("same class", "%"),
        Column::of("same class, all seeds", "%"),
        Column::of("worst mean size", "%"),
        Column::of("size, all seeds", "%"),
        Column::of("worst mean gap", "%"),
        Column::of("gap, all seeds", "%"),
    ]);
    for one in compared {
        let sum = |of: fn(&Found) -> u64| one.found.iter().map(of).sum::<u64>();
        let spread = |of: fn(&Found) -> f64| -> Spread { one.found.iter().map(of).collect() };
        let same = |differing: u64, windows: u64| 100.0 - differing as f64 * 100.0 / windows.max(1) as f64;
        let (windows, differing) = (sum(|found| found.windows), sum(|found| found.differing));
        let all: Spread = one.found.iter().map(|found| same(found.differing, found.windows)).collect();
        let (size, gap) = (spread(|found| found.size * 100.0), spread(|found| found.gap * 100.0));
        table.row([
            one.traffic.clone().into(),
            Cell::Number(f64::from(one.window) / 1e3, 1),
            Cell::Count(windows),
            Cell::Count(differing),
            Cell::Number(same(differing, windows), 2),
            all.range(2),
            Cell::Number(size.most(), 3),
            size.range(3),
            Cell::Number(gap.most(), 3),
            gap.range(3),
        ]);
    }
    table
}

/// The errors of filters, and the greatest of our windows.
fn filters(seeds: &[u64], windows: u32) -> (Table, f64) {
    let mut columns = vec![Column::new("gaps")];
    for figure in ["released filter, average", "one shift of 4, average", "one shift of 4, end of a window"] {
        columns.extend([Column::of(figure, "%"), Column::of("all seeds", "%")]);
    }
    columns.extend([Column::of("mean of the window, worst", "%"), Column::of("all seeds", "%")]);
    let mut table = Table::new(columns);
    let mut worst: f64 = 0.0;
    for process in PROCESSES {
        let errors: Vec<_> = seeds.iter().map(|seed| measure(process, windows, *seed)).collect();
        let spread = |of: fn(&super::processes::Errors) -> f64| -> Spread {
            errors.iter().map(|errors| of(errors) * 100.0).collect()
        };
        let window = spread(|errors| errors.window);
        worst = worst.max(window.most() / 100.0);
        let means = [
            spread(|errors| errors.released),
            spread(|errors| errors.shift),
            spread(|errors| errors.shift_at_ends),
        ];
        let cells = means.iter().flat_map(|mean| [mean.cell(1), mean.range(1)]);
        let of_window = [Cell::Number(window.most(), 3), window.range(3)];
        table.row(std::iter::once(process.name().into()).chain(cells).chain(of_window));
    }
    (table, worst)
}

/// Every cell, both sides of each threshold, and a million random vectors of each tree; and how many differ.
fn equality(models: &[(u32, Model)], seed: u64) -> Result<(Table, u64), ExperimentError> {
    let mut trees: Vec<(String, Tree)> = models
        .iter()
        .map(|(window, model)| (format!("ours, {}", seconds(*window)), model.tree().clone()))
        .collect();
    trees.push(("released with the thesis".into(), released::tree(1000).map_err(TrainingError::tree)?));
    let names = ["tree", "cells", "at thresholds", "random", "differing"];
    let mut table = Table::new(names.map(Column::new).into());
    let mut all = 0;
    for (name, tree) in trees {
        let tables = Tables::new(&tree, &TableLimits::default()).map_err(TrainingError::from)?;
        let mut random = Random::with_seed(seed);
        let random: Vec<Vector> = (0..1_000_000).map(|_| vector(&mut random)).collect();
        let edges: Vec<Vector> = tables.corners().flat_map(|corner| edges(&tree, &corner)).collect();
        let differs = |vector: &Vector| tables.classify(vector) != tree.classify(vector);
        let corners: Vec<Vector> = tables.corners().collect();
        let differing =
            [&corners, &edges, &random].into_iter().flatten().filter(|vector| differs(vector)).count() as u64;
        all += differing;
        let counts = [corners.len(), edges.len(), random.len()].map(|count| Cell::Count(count as u64));
        table.row([Cell::from(name)].into_iter().chain(counts).chain([Cell::Count(differing)]));
    }
    Ok((table, all))
}

/// Values of any magnitude.
fn vector(random: &mut Random) -> Vector {
    let mut values = [0; 6];
    for value in &mut values {
        let shift = random.bits() % 24;
        *value = (u32::from(random.bits()) << 8 | u32::from(random.bits() >> 8)) >> shift;
    }
    Vector::new(values)
}

/// The vectors on both sides of each threshold.
fn edges(tree: &Tree, base: &Vector) -> Vec<Vector> {
    let sides = |feature: Feature| {
        let of = move |threshold: u32| {
            [threshold, threshold + 1].map(|value| {
                let mut values = base.values();
                values[feature as usize] = value;
                Vector::new(values)
            })
        };
        tree.thresholds(feature).into_iter().flat_map(of)
    };
    Feature::ALL.into_iter().flat_map(sides).collect()
}
