//! The stage map as SVG: a column for each stage, a lane for each kind of memory, a colour for each table.

use causeway_show::svg::{Attribute, Svg};
use causeway_show::with_thousands_separators;

use crate::report::{Entry, Report, Stage};

/// Width of a stage's column.
const COLUMN: u32 = 56;
/// Space for the names of lanes, left of the columns.
const LEFT: u32 = 90;
/// Space for the title.
const TOP: u32 = 48;
/// Height of a block.
const BLOCK: u32 = 4;
/// Space between lanes.
const GAP: u32 = 34;
/// Height of a line of the legend.
const LINE: u32 = 18;

/// A kind of memory: its name, the blocks of a stage, and those of a table.
struct Lane {
    name: &'static str,
    blocks: u32,
    of: fn(&Entry) -> u32,
}

/// Draws the report, with a title.
pub fn svg(report: &Report, title: &str) -> String {
    let lanes = lanes(report);
    let names = names(report);
    let columns = report.stages.len().max(report.stages_available) as u32;
    let bottom = TOP + lanes.iter().map(|lane| lane.blocks * BLOCK + GAP).sum::<u32>();
    let width = LEFT + columns * COLUMN + 20;
    let height = bottom + (names.len() as u32).div_ceil(2) * LINE + 20;
    let mut svg = Svg::new(width.into(), height.into(), &[("width", &width), ("height", &height)]);
    svg.text(&[("x", &LEFT), ("y", &20), ("font-size", &14)], title);
    let mut top = TOP;
    for lane in &lanes {
        draw_lane(&mut svg, report, lane, top, columns, &names);
        top += lane.blocks * BLOCK + GAP;
    }
    legend(&mut svg, &names, bottom);
    svg.finish()
}

fn lanes(report: &Report) -> [Lane; 3] {
    let blocks = |index: usize| {
        let total = report.totals.get(index).map_or(0, |level| level.available);
        total / (report.stages_available.max(1) as u32)
    };
    [
        Lane { name: "SRAM", blocks: blocks(0), of: |entry| entry.srams + entry.two_port },
        Lane { name: "TCAM", blocks: blocks(1), of: |entry| entry.tcams },
        Lane { name: "map RAM", blocks: blocks(2), of: |entry| entry.map_rams },
    ]
}

/// Names of tables, without numbers for banks and instances, in the order of their first part.
fn names(report: &Report) -> Vec<&str> {
    let mut names = Vec::new();
    for entry in report.stages.iter().flat_map(|stage| &stage.tables) {
        let family = family(&entry.name);
        if !names.contains(&family) && entry.srams + entry.two_port + entry.tcams > 0 {
            names.push(family);
        }
    }
    names
}

/// The name without a number at its end.
fn family(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((family, number)) if number.chars().all(|c| c.is_ascii_digit()) => family,
        _ => name,
    }
}

fn draw_lane(svg: &mut Svg, report: &Report, lane: &Lane, top: u32, columns: u32, names: &[&str]) {
    let height = lane.blocks * BLOCK;
    svg.text(&[("x", &8), ("y", &(top + height / 2))], lane.name);
    let blocks = format!("{} blocks", lane.blocks);
    svg.text(&[("x", &8), ("y", &(top + height / 2 + 14)), ("fill", &"#666")], &blocks);
    for column in 0..columns {
        let x = LEFT + column * COLUMN;
        let missing = column as usize >= report.stages_available;
        let stroke = if missing { "#c00" } else { "#999" };
        let place: [Attribute<'_>; 4] =
            [("x", &x), ("y", &top), ("width", &(COLUMN - 6)), ("height", &height)];
        svg.element("rect", &[&place[..], &[("fill", &"#f4f4f4"), ("stroke", &stroke)]].concat());
        let middle = x + COLUMN / 2 - 6;
        svg.text(&[("x", &middle), ("y", &(top + height + 13)), ("fill", &stroke)], &column.to_string());
    }
    for stage in &report.stages {
        draw_stage(svg, stage, lane, top + height, names);
    }
}

fn draw_stage(svg: &mut Svg, stage: &Stage, lane: &Lane, floor: u32, names: &[&str]) {
    let x = LEFT + stage.number as u32 * COLUMN;
    let mut y = floor;
    for entry in &stage.tables {
        let blocks = (lane.of)(entry);
        if blocks == 0 {
            continue;
        }
        y = y.saturating_sub(blocks * BLOCK);
        let fill = color(names, family(&entry.name));
        let place: [Attribute<'_>; 4] =
            [("x", &x), ("y", &y), ("width", &(COLUMN - 6)), ("height", &(blocks * BLOCK))];
        let paint: [Attribute<'_>; 3] = [("fill", &fill), ("stroke", &"white"), ("stroke-width", &"0.5")];
        let title = format!(
            "{}: {} of {} entries, {blocks} blocks",
            entry.name,
            with_thousands_separators(entry.entries),
            with_thousands_separators(entry.of)
        );
        svg.titled("rect", &[&place[..], &paint[..]].concat(), &title);
    }
}

fn legend(svg: &mut Svg, names: &[&str], top: u32) {
    for (index, name) in (0u32..).zip(names) {
        let (x, y) = (LEFT + index % 2 * 300, top + index / 2 * LINE);
        let fill = color(names, name);
        svg.element("rect", &[("x", &x), ("y", &y), ("width", &12), ("height", &12), ("fill", &fill)]);
        svg.text(&[("x", &(x + 18)), ("y", &(y + 10))], name);
    }
}

/// Colours around the circle; neighbours in the list differ strongly.
fn color(names: &[&str], name: &str) -> String {
    let place = names.iter().position(|known| *known == name).unwrap_or(0);
    format!("hsl({},55%,{}%)", place * 137 % 360, 48 + place % 3 * 10)
}
