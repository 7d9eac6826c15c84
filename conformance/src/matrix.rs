//! The dialect matrix: behaviours of SMFs and their cases.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::Case;

/// The folders below `cases/dialects`, and the software whose messages they hold, in the order of the columns.
const COLUMNS: &[(&str, &str)] = &[
    ("open5gs", "Open5GS"),
    ("free5gc", "free5GC"),
    ("oai", "OAI"),
    ("sd-core", "SD-Core"),
    ("pfcpsim", "pfcpsim"),
    ("upg-vpp", "upg-vpp tests"),
    ("issues", "as reported"),
];

const HEAD: &str = "# Dialects

This page lists messages of real SMFs that Causeway accepts. Each mark is a conformance case: messages with the structure that the software
sends, user packets in both directions, and the expected output. All of them run in `cargo test -p causeway-conformance`, against every data
plane. An empty field means that the software does not send the message, or that it was not examined.

This page is rendered from the cases; `CAUSEWAY_RECORD=1 cargo test -p causeway-conformance` renews it.

";

/// The page about all cases that name a behaviour.
pub fn matrix(cases: &[Case]) -> String {
    let mut rows: BTreeMap<&str, BTreeMap<&str, Vec<String>>> = BTreeMap::new();
    let mut sources: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for case in cases {
        let (Some(behaviour), Some((column, path))) = (case.behaviour.as_deref(), place(case)) else {
            continue;
        };
        rows.entry(behaviour).or_default().entry(column).or_default().push(path);
        sources.entry(column).or_default().extend(case.source.as_deref());
    }
    let mut page = HEAD.to_owned();
    let names: Vec<_> = COLUMNS.iter().map(|(_, name)| *name).collect();
    let _ = writeln!(page, "| behaviour | {} |", names.join(" | "));
    let _ = writeln!(page, "|---|{}", "---|".repeat(names.len()));
    for (behaviour, row) in &rows {
        let _ = write!(page, "| {behaviour} |");
        for (column, _) in COLUMNS {
            let marks: Vec<_> =
                row.get(column).into_iter().flatten().map(|path| format!("[yes]({path})")).collect();
            let _ = write!(page, " {} |", marks.join(" "));
        }
        page.push('\n');
    }
    page.push_str("\n## Sources of the messages\n\n");
    for (column, name) in COLUMNS {
        for source in sources.get(column).into_iter().flatten() {
            let _ = writeln!(page, "- {name}: {source}");
        }
    }
    page
}

/// The number and the name of the column of a case of the dialect matrix: the software whose messages it has.
pub fn column(case: &Case) -> Option<(usize, &'static str)> {
    let (folder, _) = place(case)?;
    let mut columns = COLUMNS.iter().enumerate();
    columns.find(|(_, (known, _))| *known == folder).map(|(at, (_, name))| (at, *name))
}

/// The column of a case, and its path as seen from the page.
fn place(case: &Case) -> Option<(&'static str, String)> {
    let path = case.path.to_str()?;
    let (_, below) = path.rsplit_once("cases/dialects/")?;
    let folder = below.split('/').next()?;
    let (column, _) = COLUMNS.iter().find(|(known, _)| *known == folder)?;
    Some((column, format!("../conformance/cases/dialects/{below}")))
}
