//! The experiments on heavy hitters at a small size: every detector has its row, and the same seed gives the same bytes.

use std::collections::BTreeMap;

use causeway_experiment::heavy::design::Method;
use causeway_experiment::heavy::{fig18, fig30, fig31, fig33, fig35, table7};
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
// Output: without a shift nothing changes; with one some flows are lost and some are new, at every threshold fewer flows. Three traces beside
//         what the thesis says of its captures.
#[test]
fn the_beginning_of_seconds_matters() {
    let outcome = fig18::run(&small(""), &Rows::discard(), &mut Progress::new()).unwrap();
    assert_eq!(numbers(&outcome, "0.0", "lost"), [0.0; 4], "{outcome}");
    assert!(
        numbers(&outcome, "0.4", "lost")[0] > 1.0 && numbers(&outcome, "0.4", "new")[0] > 1.0,
        "{outcome}"
    );
    assert!(numbers(&outcome, "0.2", "heavy flows").is_sorted_by(|a, b| a > b), "{outcome}");
    let (_, census) = &outcome.details[0];
    assert_eq!(census.rows.len(), 9, "{outcome}");
    assert_eq!(
        census.rows[2][..4].iter().map(Cell::to_string).collect::<Vec<_>>(),
        ["CAIDA16", "thesis", "700k", "65k"]
    );
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
// Output: each in each memory after each time; ours are better than the published one in each memory; the search is beside. Ours with three
//         shares of bursty flows, by packets and octets; the P4 block by packets, in a second and in its own window.
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
    let (_, conditions) = &outcome.details[0];
    let rows = |method: Method, window: &str| {
        let is = |cells: &&Vec<Cell>| cells[0].to_string() == method.name() && cells[4].to_string() == window;
        conditions.rows.iter().filter(is).count()
    };
    assert_eq!((rows(Method::Sliding, "1000"), rows(Method::Switch, "1000")), (12, 12), "{outcome}");
    assert_eq!((rows(Method::Block, "1000"), rows(Method::Block, "805")), (6, 6), "{outcome}");
    assert_eq!(conditions.rows.len(), 36);
    // One flow alone: those of HK-IPG report flows below the threshold, ours do not, and all report one of twice the threshold.
    let (_, alone) = &outcome.details[1];
    for cells in &alone.rows {
        let reports: Vec<u64> = cells[1..].iter().map(|cell| cell.to_string().parse().unwrap()).collect();
        let is_wrong = reports[..4].iter().any(|reports| *reports > 0);
        let published = [Method::Published, Method::Simulator, Method::Program].map(Method::name);
        assert_eq!(is_wrong, published.contains(&&*cells[0].to_string()), "{cells:?}");
        assert!(reports[4] > 0, "{cells:?}");
    }
    assert_eq!(alone.rows.len(), 7);
}

// Input:  reports at three thresholds.
// Output: they need fewer octets than polling, at higher thresholds fewer still. The P4 block has no row at 10 Mbit/s, up to which it cannot count; units of one
//         packet have one at 5 Mbit/s alone, as at 1 they are those of a running UPF. The search is beside.
#[test]
fn reports_need_less_than_polling() {
    let outcome = fig33::run(&small("--only causeway"), &Rows::discard(), &mut Progress::new()).unwrap();
    let times = numbers(&outcome, "Causeway", "first reports below polling each second");
    assert!(times[0] > 5.0 && times[1] > 2.0 * times[0], "{outcome}");
    let rows = |method: Method| numbers(&outcome, method.name(), "precision").len();
    let ours = [Method::Sliding, Method::Switch, Method::Block, Method::Single];
    assert_eq!(ours.map(rows), [3, 3, 2, 1], "{outcome}");
    let (_, search) = &outcome.details[0];
    let tried = [3, 3, 2, 1].iter().zip(ours).map(|(rows, method)| rows * method.designs().len());
    assert_eq!(search.rows.len(), tried.sum::<usize>());
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

// Input:  a table of packets of a user's: one flow of 200 packets in a second, two of 50, for three seconds; then all experiments on it, and one
//         on another subject.
// Output: the heavy flow is found by all; the conditions name the file and what is in it, and no goal of the generated traces is there. The other
//         subject refuses the trace.
#[test]
fn a_trace_of_ones_own_takes_the_place_of_generated_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.csv");
    let mut packets: Vec<(u32, String)> = Vec::new();
    for (port, rate) in [(1, 200), (2, 50), (3, 50)] {
        for packet in 0..rate * 3 + 1 {
            let micros = packet * 1_000_000 / rate;
            let seconds = f64::from(micros) / 1e6;
            packets.push((micros, format!("{seconds},10.45.0.{port},192.0.2.1,{port},53,17,100")));
        }
    }
    packets.sort();
    let head = "time,source,destination,source_port,destination_port,protocol,octets".to_owned();
    let lines: Vec<String> = std::iter::once(head).chain(packets.into_iter().map(|(_, line)| line)).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    let of = |experiment: &str| {
        let out = folder.path().join("out");
        let line = format!("{experiment} --quick --trace {} --out {}", file.display(), out.display());
        let mut text = Vec::new();
        run(&arguments(&line), &mut text).map(|()| String::from_utf8(text).unwrap())
    };
    let text = of("hh").unwrap();
    assert!(text.contains("mine.csv: 903 packets of 3 flows in 3 s"), "{text}");
    assert!(!text.contains("reached:") && !text.contains("missed:"), "{text}");
    let outcome = fig31::run(
        &arguments(&format!("hh --quick --trace {}", file.display())).common,
        &Rows::discard(),
        &mut Progress::new(),
    );
    let outcome = outcome.unwrap();
    for method in [Method::Exact, Method::Sliding, Method::Switch] {
        let recall = numbers(&outcome, method.name(), "recall");
        assert!(recall.len() > 1 && recall.iter().all(|recall| *recall == 1.0), "{outcome}");
        assert!(numbers(&outcome, method.name(), "precision").iter().all(|it| *it == 1.0), "{outcome}");
    }
    for other in ["accel-fig9", "hh-fig35"] {
        assert!(of(other).unwrap_err().to_string().contains("--trace is"), "{other}");
    }
}

// Input:  twenty downloads at a port beside heavy hitters that take 40 % of it: in the same queue, or in a lower one once they are reported.
// Output: in one queue they take longer; once heavy hitters are in the lower queue, hardly longer than without any.
#[test]
fn heavy_hitters_in_a_lower_queue_hurt_little() {
    let outcome = fig35::run(&small(""), &Rows::discard(), &mut Progress::new()).unwrap();
    let mean = |row: &str| numbers(&outcome, row, "flow completion, mean")[0];
    let (absent, same) = (mean("no heavy hitters"), mean("heavy hitters in the same queue"));
    assert!(same > 1.15 * absent, "{outcome}");
    for detector in ["exact counts, disjoint seconds", "Causeway"] {
        let lower = mean(&format!("to the lower queue: {detector}"));
        assert!(lower < 0.92 * same && lower > 0.95 * absent, "{detector}: {outcome}");
    }
}

// Input:  table 7.
// Output: a row for each resource. Hash distribution is below the thesis'; the goal of eight stages is missed, and the page says so.
#[test]
fn resources_stand_beside_the_thesis() {
    let outcome = table7::run();
    assert_eq!(outcome.table.rows.len(), 17);
    assert!(outcome.table.rows.iter().all(|row| row[1] != Cell::Missing), "{outcome}");
    let reached: Vec<_> = outcome.goals.iter().map(|goal| goal.is_reached).collect();
    assert_eq!(reached, [false, true], "{outcome}");
}
