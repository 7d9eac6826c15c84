//! The experiments on heavy hitters at a small size: every detector has its row, and the same seed gives the same bytes.

use std::collections::BTreeMap;

use causeway_experiment::heavy::design::Method;
use causeway_experiment::heavy::{fig18, fig30, fig31, fig33};
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
    Line::parse_from(std::iter::once("experiment").chain(line.split_whitespace())).arguments
}

fn small(line: &str) -> Common {
    arguments(&format!("hh --quick {line}")).common
}

/// The numbers of a column, of the rows with these words in one of their first cells, in order.
fn numbers(outcome: &Outcome, row: &str, column: &str) -> Vec<f64> {
    let place = outcome.table.columns.iter().position(|known| known.name == column);
    let place = place.unwrap_or_else(|| panic!("there is no column {column}"));
    let wanted =
        outcome.table.rows.iter().filter(|cells| cells[..2].iter().any(|cell| cell.to_string() == row));
    let number = |cells: &Vec<Cell>| match cells[place] {
        Cell::Number(number, _) => number,
        Cell::Count(count) => count as f64,
        ref other => panic!("{row}, {column}: {other:?}"),
    };
    wanted.map(number).collect()
}

// Input:  disjoint seconds that begin at several times.
// Output: without a shift nothing changes; with one some flows are lost and some are new, at every threshold fewer flows.
#[test]
fn the_beginning_of_seconds_matters() {
    let outcome = fig18::run(&small(""), &Rows::discard(), &mut Progress::new()).unwrap();
    assert_eq!(numbers(&outcome, "0.0", "lost"), [0.0; 4], "{outcome}");
    assert!(
        numbers(&outcome, "0.4", "lost")[0] > 1.0 && numbers(&outcome, "0.4", "new")[0] > 1.0,
        "{outcome}"
    );
    assert!(numbers(&outcome, "0.2", "heavy flows").is_sorted_by(|a, b| a > b), "{outcome}");
}

// Input:  all detectors with ample memory on three traces.
// Output: the sliding window misses less than exact counts in disjoint seconds, and hardly reports wrongly.
#[test]
fn sliding_windows_miss_little() {
    let outcome = fig30::run(&small(""), &Rows::discard(), &mut Progress::new()).unwrap();
    assert_eq!(outcome.table.rows.len(), Method::ALL.len());
    for ours in [Method::Sliding, Method::Switch] {
        let missed = |method: Method| numbers(&outcome, method.name(), "missed, backbone")[0];
        assert!(missed(ours) < missed(Method::Exact), "{outcome}");
        assert!(numbers(&outcome, ours.name(), "wrong reports")[0] < 5.0, "{outcome}");
    }
}

// Input:  all detectors in four memories.
// Output: each in each memory after each time; ours are better than the published one in each memory; the search is beside.
#[test]
fn every_detector_is_scored() {
    let outcome = fig31::run(&small(""), &Rows::discard(), &mut Progress::new()).unwrap();
    assert_eq!(outcome.table.rows.len(), Method::ALL.len() * 4 * 3);
    let f1 = |method: Method| numbers(&outcome, method.name(), "F1");
    let pairs = f1(Method::Sliding).into_iter().zip(f1(Method::Published));
    assert!(pairs.into_iter().all(|(ours, published)| ours > published), "{outcome}");
    let (_, search) = outcome.details.last().unwrap();
    let tried: usize = Method::ALL.iter().map(|method| method.designs().len()).sum();
    assert_eq!(search.rows.len(), 4 * tried);
    let used = search.rows.iter().filter(|cells| cells[6].to_string() == "yes").count();
    assert_eq!(used, 4 * Method::ALL.len());
}

// Input:  reports at two thresholds.
// Output: they need fewer octets than polling, at the higher threshold fewer still.
#[test]
fn reports_need_less_than_polling() {
    let outcome = fig33::run(&small("--only causeway"), &Rows::discard(), &mut Progress::new()).unwrap();
    let times = numbers(&outcome, "Causeway", "first reports below polling each second");
    assert!(times[0] > 5.0 && times[1] > 2.0 * times[0], "{outcome}");
}

// Input:  everything on one page, twice, and once more with another seed.
// Output: the same bytes in all files of the first two, others in those of the third; a page without switch drivers.
#[test]
fn a_seed_gives_the_same_bytes() {
    let [one, two, other] = [1, 1, 2].map(|seed| {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("hh --quick --seed {seed} --out {}", folder.path().display());
        run(&arguments(&line), &mut Vec::new()).unwrap();
        let entries = std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
        let files: BTreeMap<String, Vec<u8>> = entries
            .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
            .collect();
        files
    });
    assert!(one == two, "files differ with the same seed");
    assert!(one != other, "the seed has no effect");
    let page = String::from_utf8_lossy(&one["hh.html"]).into_owned();
    assert!(
        page.contains("causeway experiment hh --seed 1 --quick")
            && !page.contains("Costs of the switch driver")
    );
    assert!(
        ["hh-fig18.json", "hh-fig30.json", "hh-fig31.json", "hh-fig32.json", "hh-fig33.json"]
            .iter()
            .all(|name| one.contains_key(*name))
    );
}

// Input:  a detector that does not exist.
// Output: an error that names one.
#[test]
fn names_are_checked() {
    let error = run(&arguments("hh-fig31 --quick --only nobody"), &mut Vec::new()).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("HashPipe"), "{error}");
}
