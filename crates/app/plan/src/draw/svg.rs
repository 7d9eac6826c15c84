//! The stage map as SVG: a column for each stage, a lane for each kind of memory, a colour for each table.

use std::fmt::Write as _;

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
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}</text>\n",
        escaped(title)
    );
    let mut top = TOP;
    for lane in &lanes {
        draw_lane(&mut out, report, lane, top, columns, &names);
        top += lane.blocks * BLOCK + GAP;
    }
    legend(&mut out, &names, bottom);
    out.push_str("</svg>\n");
    out
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

fn draw_lane(out: &mut String, report: &Report, lane: &Lane, top: u32, columns: u32, names: &[&str]) {
    let height = lane.blocks * BLOCK;
    let _ = writeln!(out, "<text x=\"8\" y=\"{}\">{}</text>", top + height / 2, lane.name);
    let _ = writeln!(
        out,
        "<text x=\"8\" y=\"{}\" fill=\"#666\">{} blocks</text>",
        top + height / 2 + 14,
        lane.blocks
    );
    for column in 0..columns {
        let x = LEFT + column * COLUMN;
        let missing = column as usize >= report.stages_available;
        let stroke = if missing { "#c00" } else { "#999" };
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{top}\" width=\"{}\" height=\"{height}\" fill=\"#f4f4f4\" stroke=\"{stroke}\"/>",
            COLUMN - 6
        );
        let middle = x + COLUMN / 2 - 6;
        let _ = writeln!(
            out,
            "<text x=\"{middle}\" y=\"{}\" fill=\"{stroke}\">{column}</text>",
            top + height + 13
        );
    }
    for stage in &report.stages {
        draw_stage(out, stage, lane, top + height, names);
    }
}

fn draw_stage(out: &mut String, stage: &Stage, lane: &Lane, floor: u32, names: &[&str]) {
    let x = LEFT + stage.number as u32 * COLUMN;
    let mut y = floor;
    for entry in &stage.tables {
        let blocks = (lane.of)(entry);
        if blocks == 0 {
            continue;
        }
        y = y.saturating_sub(blocks * BLOCK);
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"white\" stroke-width=\"0.5\">\
             <title>{}: {} of {} entries, {blocks} blocks</title></rect>",
            COLUMN - 6,
            blocks * BLOCK,
            color(names, family(&entry.name)),
            escaped(&entry.name),
            with_thousands_separators(entry.entries),
            with_thousands_separators(entry.of)
        );
    }
}

fn legend(out: &mut String, names: &[&str], top: u32) {
    for (index, name) in (0u32..).zip(names) {
        let (x, y) = (LEFT + index % 2 * 300, top + index / 2 * LINE);
        let fill = color(names, name);
        let _ = writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{fill}\"/>");
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{}</text>", x + 18, y + 10, escaped(name));
    }
}

/// Colours around the circle; neighbours in the list differ strongly.
fn color(names: &[&str], name: &str) -> String {
    let place = names.iter().position(|known| *known == name).unwrap_or(0);
    format!("hsl({},55%,{}%)", place * 137 % 360, 48 + place % 3 * 10)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
