//! The stage map as text.

use causeway_show::with_thousands_separators;

use crate::report::{Entry, Level, Report, Stage};
use crate::stage::Resource;

/// For each stage: its use, and its tables.
pub fn map(report: &Report) -> String {
    let mut text = String::from("stage  SRAM      TCAM      map RAM   tables\n");
    for stage in &report.stages {
        let beyond = if stage.number >= report.stages_available { " (there is no such stage)" } else { "" };
        let levels = [Resource::Sram, Resource::Tcam, Resource::MapRam].map(|resource| used(stage, resource));
        let lead = format!("{:>5}  {:<9} {:<9} {:<9} ", stage.number, levels[0], levels[1], levels[2]);
        let tables: Vec<_> = stage.tables.iter().map(table).collect();
        text.push_str(&wrapped(&lead, &tables));
        text.push_str(beyond);
        text.push('\n');
    }
    let all: Vec<_> = report.totals.iter().map(total).collect();
    text.push_str(&format!("of all {} stages: {}\n", report.stages_available, all.join(", ")));
    text
}

/// For each stage: the fullest resource, and the reason why tables did not fit.
pub fn why(report: &Report) -> String {
    let mut text = String::new();
    for stage in &report.stages {
        let fullest = stage.levels.iter().max_by_key(|level| level.percent());
        let fullest = fullest.map(|l| format!("{} of {} {} used", l.used, l.available, l.resource));
        text.push_str(&format!("stage {}: {}\n", stage.number, fullest.unwrap_or_default()));
        for waiting in &stage.waiting {
            let here = stage.tables.iter().any(|entry| entry.name == waiting.name);
            let what = if here { "is cut" } else { "waits" };
            text.push_str(&format!("  {} {what}: {}\n", waiting.name, waiting.why));
        }
    }
    text
}

fn used(stage: &Stage, resource: Resource) -> String {
    let level = stage.levels.iter().find(|level| level.resource == resource);
    level.map(|level| format!("{}/{}", level.used, level.available)).unwrap_or_default()
}

fn total(level: &Level) -> String {
    let tenths = u64::from(level.used) * 1000 / u64::from(level.available.max(1));
    format!("{}.{} % of {}", tenths / 10, tenths % 10, level.resource)
}

fn table(entry: &Entry) -> String {
    match (entry.entries, entry.of) {
        (_, 0) => entry.name.clone(),
        (here, all) if here >= all => format!("{} {}", entry.name, with_thousands_separators(all)),
        (here, all) => format!(
            "{} {} of {}",
            entry.name,
            with_thousands_separators(here),
            with_thousands_separators(all)
        ),
    }
}

/// Items after a prefix, in lines of up to 120 columns.
fn wrapped(lead: &str, items: &[String]) -> String {
    let mut text = lead.to_owned();
    let mut column = lead.len();
    for (index, item) in items.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        if index > 0 && column + comma.len() + item.len() > 120 {
            text.push_str(",\n");
            text.push_str(&" ".repeat(lead.len()));
            text.push_str(item);
            column = lead.len() + item.len();
        } else {
            text.push_str(comma);
            text.push_str(item);
            column += comma.len() + item.len();
        }
    }
    text
}
