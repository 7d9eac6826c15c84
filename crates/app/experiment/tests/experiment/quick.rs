//! Every experiment at a small size: no octets are lost, the order is as expected, and the same seed gives the same
//! bytes.

use std::collections::BTreeMap;
use std::path::Path;

use causeway_experiment::hip4::{fig6, fig11, fig12, table4};
use causeway_experiment::outcome::Outcome;
use causeway_experiment::{Arguments, Common, Rows, run};
use causeway_show::{Cell, Progress};
use clap::Parser;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn arguments(line: &str) -> Arguments {
    Line::parse_from(std::iter::once("experiment").chain(line.split(' '))).arguments
}

/// The drivers, as tables name them.
const PAPER: &str = "paper's driver costs, modelled";
const SLOW: &str = "slowest writes, modelled";

fn small() -> Common {
    arguments("hip4 --quick --ues 500").common
}

/// The number in a row and column, by the first words of the row and the name of the column.
fn number(outcome: &Outcome, row: &str, driver: &str, column: &str) -> f64 {
    let place = outcome.table.columns.iter().position(|known| known.name == column);
    let place = place.unwrap_or_else(|| panic!("there is no column {column}"));
    let starts = |cells: &&Vec<Cell>| {
        cells[0].to_string() == row && (driver.is_empty() || cells[1].to_string() == driver)
    };
    let cells = outcome.table.rows.iter().find(starts).unwrap_or_else(|| panic!("there is no row {row}"));
    match cells[place] {
        Cell::Number(number, _) => number,
        Cell::Count(count) => count as f64,
        ref other => panic!("{row}, {column}: {other:?}"),
    }
}

fn is_lossless(outcome: &Outcome) {
    let place = outcome.table.columns.iter().position(|column| column.name == "lost").unwrap();
    assert!(outcome.table.rows.iter().all(|row| row[place].to_string() == "0"), "{outcome}");
    assert!(
        outcome.table.rows.iter().all(|row| row[place - 2].to_string().len() > 6),
        "much is sent: {outcome}"
    );
}

// Input:  handovers under reporting load in all modes.
// Output: pendulum access waits for no reader, the single thread for a few entries, the baseline for a whole pass; no
//         octets are lost.
#[test]
fn handovers_wait_as_the_mode_says() {
    let outcome = fig12::run(&small(), &Rows::discard(), &mut Progress::new()).unwrap();
    is_lossless(&outcome);
    let late = |row: &str| number(&outcome, row, PAPER, "99 %");
    let order = ["Causeway, indexed", "Causeway, keyed", "HiP4-UPF", "single thread", "baseline, beta 75 %"];
    assert!(order.map(late).is_sorted(), "{outcome}");
    assert!(late("single thread") > 10.0 * late("HiP4-UPF"), "{outcome}");
    assert!(number(&outcome, "HiP4-UPF", SLOW, "median") > 0.3, "{outcome}");
    assert!(outcome.goals.iter().all(|goal| goal.is_reached), "{outcome}");
}

// Input:  volume reports in all modes.
// Output: reports from selective readings are earlier than those from complete passes; no octets are lost.
#[test]
fn urgent_reports_come_first() {
    let outcome = fig11::run(&small(), &Rows::discard(), &mut Progress::new()).unwrap();
    is_lossless(&outcome);
    // There are few reports, so one wrong prediction would decide the mean.
    let median = |row: &str| number(&outcome, row, "", "median");
    let paper = median("HiP4-UPF").min(median("HiP4-UPF, no selective pulling"));
    assert!(
        ["Causeway, keyed", "Causeway, indexed"].map(median).iter().all(|ours| *ours < paper),
        "{outcome}"
    );
    assert!(number(&outcome, "Causeway, indexed", "", "reports") > 10.0, "{outcome}");
}

// Input:  the baseline at several fractions of reading.
// Output: the more it reads, the longer handovers wait.
#[test]
fn the_baseline_pays_one_with_the_other() {
    let outcome = fig6::run(&small(), &Rows::discard(), &mut Progress::new()).unwrap();
    is_lossless(&outcome);
    let of = |beta: u8, column: &str| number(&outcome, &format!("baseline, beta {beta} %"), "", column);
    assert!(of(25, "handover, mean") < of(75, "handover, mean"), "{outcome}");
}

// Input:  operations as fast as they are answered.
// Output: joint writes are faster, and counters by index faster still; slower writes are slower; no octets are lost.
#[test]
fn rates_follow_from_what_is_written() {
    let outcome = table4::run(&small(), &Rows::discard(), &mut Progress::new()).unwrap();
    is_lossless(&outcome);
    for kind in ["registrations", "handovers", "deregistrations"] {
        let of = |row: &str, driver: &str| number(&outcome, row, driver, kind);
        let order = ["HiP4-UPF", "Causeway, keyed", "Causeway, indexed"];
        assert!(order.map(|row| of(row, PAPER)).is_sorted(), "{outcome}");
        assert!(order.iter().all(|row| of(row, SLOW) < of(row, PAPER) * 1.2), "{outcome}");
    }
}

// Input:  everything on one page, twice, and once more with another seed.
// Output: the same bytes in all files of the first two, others in those of the third.
#[test]
fn a_seed_gives_the_same_bytes() {
    let [one, two, other] = [1, 1, 2].map(|seed| {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("hip4 --quick --ues 100 --seed {seed} --out {}", folder.path().display());
        let mut text = Vec::new();
        run(&arguments(&line), &mut text).unwrap();
        assert!(String::from_utf8_lossy(&text).contains("HiP4-UPF, figure 11"));
        files(folder.path())
    });
    assert!(one == two, "files differ with the same seed");
    assert!(one != other, "the seed has no effect");
    let names: Vec<&str> = one.keys().map(String::as_str).collect();
    let stems = ["fig10", "fig11", "fig12", "fig6", "table4"];
    assert!(stems.iter().all(|stem| names.contains(&format!("hip4-{stem}.json").as_str())), "{names:?}");
    assert!(names.iter().filter(|name| name.ends_with(".svg")).count() == 5 && names.contains(&"hip4.html"));
}

// Input:  each experiment with only some of its rows, by a part of their names.
// Output: those rows and no goal of others; their figures are the same as with all rows.
#[test]
fn some_rows_are_as_among_all() {
    let some = arguments("hip4 --quick --ues 500 --only indexed").common;
    let names = |outcome: &Outcome| -> Vec<String> {
        outcome.table.rows.iter().map(|cells| cells[0].to_string()).collect()
    };
    let outcome = table4::run(&some, &Rows::discard(), &mut Progress::new()).unwrap();
    assert_eq!(names(&outcome), ["Causeway, indexed", "Causeway, indexed", "Causeway, indexed in banks"]);
    let all = table4::run(&small(), &Rows::discard(), &mut Progress::new()).unwrap();
    assert!(outcome.table.rows.iter().all(|row| all.table.rows.contains(row)), "{outcome} {all}");
    for run in [fig6::run, fig11::run, fig12::run] {
        let outcome = run(&some, &Rows::discard(), &mut Progress::new()).unwrap();
        assert!(names(&outcome).iter().all(|name| name.contains("indexed")), "{outcome}");
        assert!(outcome.goals.iter().all(|goal| !goal.goal.contains("keyed")), "{outcome}");
        is_lossless(&outcome);
    }
}

// Input:  invalid sizes.
// Output: an error with the permitted values.
#[test]
fn sizes_are_checked() {
    for line in [
        "hip4-fig12 --ues 1",
        "hip4-fig12 --ues 3M",
        "hip4-fig12 --runs 0",
        "hip4-fig11 --seconds 0",
        "hip4-table4 --quick --only nobody",
    ] {
        let error = run(&arguments(line), &mut Vec::new()).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("--"), "{error}");
    }
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let named =
        entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()));
    named.collect()
}
