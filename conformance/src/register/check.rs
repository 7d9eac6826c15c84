//! Defects of the register, and their corrections.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::clause::{Clause, ClauseRef, cited};
use super::entry::{Chapter, Entry, Status};
use super::render::name_of;
use crate::Case;

/// Everything that is wrong, one line each. `root` is that of the repository; the register knows the
/// specifications of `chapters` only, other ones may be cited freely.
pub fn problems(chapters: &[Chapter], cases: &[Case], root: &Path) -> Vec<String> {
    let names: BTreeSet<String> = cases.iter().map(name_of).collect();
    let by_clause = by_clause(chapters);
    let mut problems = Vec::new();
    let mut shown: BTreeSet<ClauseRef> = BTreeSet::new();
    for case in cases {
        match cited(&case.clause) {
            Err(part) => problems.push(format!(
                "{}: `{part}` is no clause; write for example `clause: TS 29.244 5.4.3, 8.2.7`",
                name_of(case)
            )),
            Ok(clauses) => {
                problems.extend(without_entry(case, &clauses, chapters, &by_clause));
                shown.extend(clauses);
            }
        }
    }
    for chapter in chapters {
        problems.extend(out_of_order(chapter));
        for entry in &chapter.clauses {
            let at = ClauseRef { spec: chapter.spec.clone(), clause: entry.clause.clone() };
            let place = format!("{}: {at}", file_name(&chapter.path));
            problems.extend(of_entry(entry, &place, &names, shown.contains(&at), root));
        }
    }
    problems
}

fn by_clause(chapters: &[Chapter]) -> BTreeMap<ClauseRef, &Entry> {
    let entries = chapters.iter().flat_map(|chapter| {
        let of = |entry: &Entry| ClauseRef { spec: chapter.spec.clone(), clause: entry.clause.clone() };
        chapter.clauses.iter().map(move |entry| (of(entry), entry))
    });
    entries.collect()
}

fn without_entry(
    case: &Case,
    clauses: &[ClauseRef],
    chapters: &[Chapter],
    by_clause: &BTreeMap<ClauseRef, &Entry>,
) -> Vec<String> {
    let known = |spec: &str| chapters.iter().any(|chapter| chapter.spec == spec);
    let missing = clauses.iter().filter(|at| known(&at.spec) && !by_clause.contains_key(*at));
    let line = |at: &ClauseRef| {
        format!(
            "{} cites {at}, which has no entry; add to specs/, in its place: \
             - {{clause: \"{}\", title: WHAT IT IS ABOUT, status: done}}",
            name_of(case),
            at.clause
        )
    };
    missing.map(line).collect()
}

fn out_of_order(chapter: &Chapter) -> Option<String> {
    let clauses: Vec<&Clause> = chapter.clauses.iter().map(|entry| &entry.clause).collect();
    let pair = clauses.windows(2).find(|pair| pair[0] >= pair[1])?;
    Some(format!("{}: {} stands before {}: sort them, each once", file_name(&chapter.path), pair[0], pair[1]))
}

fn of_entry(
    entry: &Entry,
    place: &str,
    names: &BTreeSet<String>,
    is_cited: bool,
    root: &Path,
) -> Vec<String> {
    let mut problems = Vec::new();
    for case in entry.cases.iter().filter(|case| !names.contains(*case)) {
        problems.push(format!("{place} names the case {case}, which does not exist under conformance/cases"));
    }
    for test in entry.tests.iter().filter(|test| !root.join(test).is_file()) {
        problems.push(format!("{place} names the test {test}, which is no file of the repository"));
    }
    let is_shown = is_cited || !entry.cases.is_empty() || !entry.tests.is_empty();
    if entry.status == Status::Done && !is_shown {
        problems.push(format!(
            "{place} is done, but no case cites it: write one, name `cases` or `tests`, or make it todo"
        ));
    }
    if matches!(entry.status, Status::Deviating | Status::NotApplicable) && entry.why.is_none() {
        problems.push(format!("{place} is {}: say `why`", entry.status.words()));
    }
    problems
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("specs/{name}")
}
