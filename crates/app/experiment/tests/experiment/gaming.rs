//! Cloud gaming at a small size: without the data everything that needs none, with them the figures of docs/application-classes.md.

use std::collections::BTreeMap;
use std::path::PathBuf;

use causeway_experiment::gaming::{fig40, fig41, fig42, model_files, table8};
use causeway_experiment::outcome::Outcome;
use causeway_experiment::{Arguments, Rows, run};
use causeway_show::{Cell, Progress};
use clap::Parser;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn arguments(line: &str, data: Option<PathBuf>) -> Arguments {
    let mut arguments =
        Line::parse_from(std::iter::once("experiment").chain(line.split_whitespace())).arguments;
    arguments.common.data = data;
    arguments
}

/// The folder of the data. Without it, prints that this test is skipped.
fn data(test: &str) -> Option<PathBuf> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data");
    let data = std::env::var_os("CAUSEWAY_DATA").map_or_else(default, PathBuf::from);
    if data.join("cloud-gaming").is_dir() && data.join("captures").is_dir() {
        return Some(data);
    }
    eprintln!("SKIPPED {test}: no cloud-gaming and captures in {}; set CAUSEWAY_DATA", data.display());
    None
}

/// The number in a column of the first row with these words in its first cells.
fn number(outcome: &Outcome, row: &[&str], column: usize) -> f64 {
    let is = |cells: &&Vec<Cell>| row.iter().zip(*cells).all(|(word, cell)| cell.to_string() == *word);
    let cells = outcome.table.rows.iter().find(is).unwrap_or_else(|| panic!("{row:?}: {outcome}"));
    match cells[column] {
        Cell::Number(number, _) => number,
        Cell::Count(count) => count as f64,
        ref other => panic!("{row:?}, {column}: {other:?}"),
    }
}

// Input:  all experiments without data, twice, and once with another seed.
// Output: what needs no data is there, of five seeds with their spread, and its goals are reached but the one of waiting for a packet; a note on what
//         is missing; the same bytes with the same seed.
#[test]
fn much_can_be_shown_without_data() {
    let common = arguments("gaming --quick", None).common;
    let mut progress = Progress::new();
    let fig40 = fig40::run(&common, &Rows::discard(), &mut progress).unwrap();
    assert!(fig40.goals.len() == 4 && fig40.goals.iter().all(|goal| goal.is_reached), "{fig40}");
    assert_eq!(fig40.table.rows.len(), 9, "{fig40}");
    assert!(fig40.conditions.contains(&("seeds", "1234 to 1238".into())), "{fig40}");
    let fig41 = fig41::run(&common, &Rows::discard(), &mut progress).unwrap();
    let reached: Vec<bool> = fig41.goals.iter().map(|goal| goal.is_reached).collect();
    assert!(reached.len() == 4 && reached[1..].iter().all(|reached| *reached), "{fig41}");
    let (_, times) = &fig41.details[0];
    let is_spread = |cells: &Vec<Cell>| cells[5].to_string().split_once(" - ").is_some_and(|(a, b)| a < b);
    assert!(times.rows.len() == 9 && times.rows.iter().all(is_spread), "{fig41}");
    let fig42 = fig42::run(&common, &Rows::discard(), &mut progress).unwrap();
    assert!(fig42.table.rows.is_empty() && fig42.notes[0].contains("CAUSEWAY_DATA"), "{fig42}");
    let table8 = table8::run(&common, &Rows::discard(), &mut progress).unwrap();
    assert!(table8.goals.iter().all(|goal| goal.is_reached), "{table8}");

    let [one, two, other] = [1, 1, 2].map(|seed| {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("gaming --quick --seed {seed} --out {}", folder.path().display());
        run(&arguments(&line, None), &mut Vec::new()).unwrap();
        let entries = std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
        let files: BTreeMap<String, Vec<u8>> = entries
            .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
            .collect();
        files
    });
    assert!(one == two && one != other, "the seed decides");
    assert!(
        String::from_utf8_lossy(&one["gaming.html"]).contains("causeway experiment gaming --seed 1 --quick")
    );
    let names: Vec<&str> = one.keys().map(String::as_str).collect();
    assert!(names.contains(&"gaming-table8.json") && names.contains(&"gaming-fig41-delay.svg"), "{names:?}");
}

// Input:  the flow tables of the Leris Lab.
// Output: the figures of docs/application-classes.md; every goal is reached.
#[test]
fn flows_that_were_not_seen() {
    let Some(data) = data("gaming::flows_that_were_not_seen") else { return };
    let common = arguments("gaming-fig42", Some(data)).common;
    let outcome = fig42::run(&common, &Rows::discard(), &mut Progress::new()).unwrap();
    assert!(outcome.goals.len() == 9 && outcome.goals.iter().all(|goal| goal.is_reached), "{outcome}");
    let f1 = |left_out: &str, tree: &str| number(&outcome, &["longer flows", left_out, tree], 9);
    let near =
        |found: f64, expected: f64| assert!((found - expected).abs() < 0.001, "{found} {expected} {outcome}");
    near(f1("session", "Causeway"), 0.974);
    near(f1("game", "Causeway"), 0.962);
    near(f1("network", "Causeway"), 0.987);
    near(f1("all", "released with the thesis"), 0.914);
    near(number(&outcome, &["longer flows", "all", "never"], 10), 0.786);
}

// Input:  captures of other traffic.
// Output: hundreds of windows of which our trees take few for gaming; the released tree takes more.
#[test]
fn other_traffic_is_no_game() {
    let Some(data) = data("gaming::other_traffic_is_no_game") else { return };
    let common = arguments("gaming-fig41", Some(data)).common;
    let outcome = fig41::run(&common, &Rows::discard(), &mut Progress::new()).unwrap();
    for window in ["0.3", "0.5", "1.0"] {
        let of = |tree: &str, column: usize| number(&outcome, &["other", window, tree], column);
        assert!(of("Causeway", 3) > 500.0 && of("Causeway", 5) <= 0.3, "{outcome}");
        assert!(of("released with the thesis", 5) > 2.0, "{outcome}");
    }
}

// Input:  the command of docs/application-classes.md on the flow tables, for each length of windows.
// Output: the models that the experiments use, but for the names of the files.
#[test]
fn the_models_can_be_made_again() {
    let Some(data) = data("gaming::the_models_can_be_made_again") else { return };
    for (window, file) in model_files().unwrap() {
        let made = crate::train::model(&data, window);
        assert_eq!(made.model(), file.model());
        let (made, known) = (made.trained(), file.trained());
        assert_eq!((&made.data_hash, &made.scores), (&known.data_hash, &known.scores));
        assert_eq!((&made.samples, &made.parameters), (&known.samples, &known.parameters));
    }
}
