//! The pages under `docs/conformance/`.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::clause::{ClauseRef, cited};
use super::entry::Chapter;
use crate::Case;

/// What a reader of either page must know first.
const GENERATED: &str =
    "<!-- Written by `CAUSEWAY_RECORD=1 cargo test -p causeway-conformance`; do not edit. -->";

/// The name of a case: where it is below `cases`, for example `qos/reflective-qos`.
pub fn name_of(case: &Case) -> String {
    let path = case.path.with_extension("");
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    let below = parts.iter().rposition(|part| part == "cases").map_or(0, |at| at + 1);
    parts[below..].join("/")
}

/// Every clause with its status. A line for each, so that two changes seldom meet.
pub fn clauses_page(chapters: &[Chapter], cases: &[Case]) -> String {
    let by_clause = cases_by_clause(cases);
    let mut page = format!("{GENERATED}\n\n# Clause by clause\n\n");
    page.push_str(
        "The requirements of the specifications on a UPF, with their cases and tests. The entries are in [specs](../../specs); the cases that \
         cite a clause are in [cases.md](cases.md).\n",
    );
    for chapter in chapters {
        let _ = write!(page, "\n## {}: {}\n\n", chapter.spec, chapter.chapter);
        page.push_str("| clause | about | status | shown by | remark |\n|---|---|---|---|---|\n");
        for entry in &chapter.clauses {
            let at = ClauseRef { spec: chapter.spec.clone(), clause: entry.clause.clone() };
            let mut shown: Vec<String> = entry.cases.iter().map(|case| link(case)).collect();
            shown.extend(entry.tests.iter().map(|test| format!("[{}](../../{test})", last(test))));
            if by_clause.contains_key(&at) {
                shown.push("[cases](cases.md)".to_owned());
            }
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} |",
                entry.clause,
                entry.title,
                entry.status.words(),
                shown.join(", "),
                entry.why.as_deref().unwrap_or_default()
            );
        }
    }
    page
}

/// Every case, by the clauses that it cites.
pub fn cases_page(cases: &[Case]) -> String {
    let mut page = format!("{GENERATED}\n\n# Conformance cases by clause\n\n");
    page.push_str("Each runs against every data plane; its file describes input and output.\n\n");
    page.push_str("| clause | case | content |\n|---|---|---|\n");
    for (at, cases) in cases_by_clause(cases) {
        for case in cases {
            let _ = writeln!(page, "| {at} | {} | {} |", link(&name_of(case)), case.title);
        }
    }
    page
}

fn cases_by_clause(cases: &[Case]) -> BTreeMap<ClauseRef, Vec<&Case>> {
    let mut found: BTreeMap<ClauseRef, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        for at in cited(&case.clause).unwrap_or_default() {
            found.entry(at).or_default().push(case);
        }
    }
    found
}

fn link(case: &str) -> String {
    format!("[{case}](../../conformance/cases/{case}.yaml)")
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
