//! The experiments of AccelUPF at a small size.

use causeway_experiment::accel::{fig8, fig9, table1};
use causeway_experiment::outcome::Outcome;
use causeway_experiment::{Arguments, Common, Rows};
use causeway_show::{Cell, Progress};
use clap::Parser;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn small() -> Common {
    Line::parse_from(["experiment", "accel", "--quick"]).arguments.common
}

fn number(outcome: &Outcome, row: usize, column: &str) -> f64 {
    let at = outcome.table.columns.iter().position(|known| known.name == column);
    match outcome.table.rows[row][at.unwrap_or_else(|| panic!("there is no column {column}"))] {
        Cell::Number(number, _) => number,
        ref other => panic!("{column}: {other:?}"),
    }
}

// Input:  1,024 random keys for as many places in arrays as in the paper, and in the tables of the data plane; twice.
// Output: 36.8 % of them have no place in buckets of one (Poisson), 10 % in as many buckets of two, fewer than 1 % in the
//         tables; fewer sessions lose less. The same both times.
#[test]
fn tables_of_two_buckets_lose_few_sessions() {
    let run = || fig8::run(&small(), &Rows::discard(), &mut Progress::new()).unwrap();
    let outcome = run();
    assert_eq!(outcome.to_string(), run().to_string());
    let full = outcome.table.rows.len() - 1;
    assert!((number(&outcome, full, "one entry") - 36.8).abs() < 3.0, "{outcome}");
    assert!((number(&outcome, full, "two, 64k buckets") - 10.4).abs() < 3.0, "{outcome}");
    assert!(number(&outcome, full, "worst seed") < 1.0, "{outcome}");
    assert!((0..full).all(|row| number(&outcome, row, "one entry") < number(&outcome, row + 1, "one entry")));
}

// Input:  the five mixes to a server of 499 messages a second, and to one of 10 million.
// Output: with a full port the first loses nearly all messages and passes the packets, so the second has 1.56 times as much
//         at mix E; without loss the second has over a hundred times as much.
#[test]
fn both_ways_of_counting_differ() {
    let outcome = fig9::run(&small(), &Rows::discard(), &mut Progress::new()).unwrap();
    let row = |design: &str, mix: &str| {
        let is_it =
            |cells: &&Vec<Cell>| cells[0].to_string().starts_with(design) && cells[1].to_string() == mix;
        let found = outcome.table.rows.iter().position(|cells| is_it(&cells));
        found.unwrap_or_else(|| panic!("{design} {mix}"))
    };
    let (theirs, ours) = (row("GTPOffload, Tofino", "E"), row("Causeway", "E"));
    let times = |column: &str| number(&outcome, ours, column) / number(&outcome, theirs, column);
    assert!((times("full port") - 1.557).abs() < 0.01, "{outcome}");
    assert!(times("without loss") > 1000.0, "{outcome}");
    assert!(number(&outcome, theirs, "PFCP lost") > 70.0 && number(&outcome, ours, "PFCP lost") == 0.0);
    assert!(outcome.goals.iter().all(|goal| goal.is_reached), "{outcome}");
}

// Input:  sessions that are established and deleted, with and without handovers, at a full port.
// Output: no message is for N4; the port is the bound: octets of requests times their rate are 40 Gbit/s.
#[test]
fn the_port_bounds_messages() {
    let outcome = table1::run(&small(), &Rows::discard(), &mut Progress::new()).unwrap();
    let rows = outcome.table.rows.len();
    for row in rows - 2..rows {
        let load = number(&outcome, row, "PFCP") * number(&outcome, row, "request") * 8.0;
        assert!((39e9..=40.1e9).contains(&load), "{outcome}");
        assert!(number(&outcome, row, "PFCP latency") < 2.0, "{outcome}");
    }
    assert!(number(&outcome, rows - 1, "passes") < number(&outcome, rows - 2, "passes"));
}
