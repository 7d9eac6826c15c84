//! The experiments of AccelUPF at a small size.

use causeway_experiment::accel::{chain, fallback, fig8, fig9, table1};
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
    let (theirs, ours) = (row("GTPOffload, Tofino", "E"), row("Causeway, the goal", "E"));
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
    assert!((rows - 2..rows).all(|row| number(&outcome, row, "passes") == 1.0), "{outcome}");
    // The software was measured elsewhere: it has no part in anything.
    let software =
        |cells: &&Vec<Cell>| cells[0].to_string().starts_with("Causeway in software, measured elsewhere");
    let cells: Vec<_> = outcome.table.rows.iter().filter(software).collect();
    assert!(cells.len() == 3 && cells.iter().all(|cells| cells[2] == Cell::Missing), "{outcome}");
    assert_eq!(outcome.goals.len(), 2, "{outcome}");
}

// Input:  200 sessions with packets, each of which falls back once: under low and high load, all at once, and with a probe for the entry.
// Output: no packet is lost, doubled or overtaken, and the software has the rules of the switch. The first packet takes about two ways
//         over the port to the software, or four with the probe, for which packets wait.
#[test]
fn sessions_leave_the_switch_with_their_packets() {
    let outcome = fallback::run(&small(), &Rows::discard(), &mut Progress::new()).unwrap();
    assert!(outcome.goals.iter().all(|goal| goal.is_reached), "{outcome}");
    let last = outcome.table.rows.len() - 1;
    let count = |row: usize, column: &str| match outcome.table.rows[row]
        [outcome.table.columns.iter().position(|known| known.name == column).unwrap()]
    {
        Cell::Count(count) => count,
        ref other => panic!("{column}: {other:?}"),
    };
    for row in 1..last {
        assert_eq!((count(row, "fallbacks"), count(row, "waited")), (200, 0), "{outcome}");
        assert!(
            (100.0..200.0).contains(&number(&outcome, row, "first, p50")) || row == last - 1,
            "{outcome}"
        );
    }
    assert!(count(last, "waited") > 0 && number(&outcome, last, "first, longest") > 190.0, "{outcome}");
}

// Input:  chains of one to three switches, with 1,000 sessions; and such of two and three, with 10,000, whose members fail.
// Output: nothing that was acknowledged is lost, no request has two answers, requests are answered again within a second; each further
//         switch adds less than two microseconds and takes nothing of the rate. The P4 program adds one more pass, and its longer records bound
//         the rate of a full port. Of the goals, that of the latency is missed by each chain, as each switch adds at least the pass that a switch alone has.
#[test]
fn a_chain_keeps_what_it_acknowledged() {
    let outcome = chain::run(&small(), &Rows::discard(), &mut Progress::new()).unwrap();
    let (latency, others): (Vec<_>, Vec<_>) =
        outcome.goals.iter().partition(|goal| goal.goal.contains("more latency than a switch alone"));
    assert!(latency.len() == 3 && latency.iter().all(|goal| !goal.is_reached), "{outcome}");
    // Nothing lost in each of six rows, the rate of two chains, the silence of two others.
    assert!(others.len() == 10 && others.iter().all(|goal| goal.is_reached), "{outcome}");
    for row in 1..3 {
        let more = number(&outcome, row, "latency, p50") - number(&outcome, row - 1, "latency, p50");
        assert!((0.5..2.0).contains(&more), "{outcome}");
    }
    let more = number(&outcome, 3, "latency, p50") - number(&outcome, 1, "latency, p50");
    assert!((0.6..0.7).contains(&more), "{outcome}");
    let share = number(&outcome, 3, "full port") / number(&outcome, 0, "full port");
    assert!((0.7..0.85).contains(&share), "{outcome}");
    let failures = outcome.table.columns.iter().position(|column| column.name == "failures").unwrap();
    assert!(outcome.table.rows.iter().skip(4).all(|row| row[failures] != Cell::Count(0)), "{outcome}");
    let two = outcome.table.columns.iter().position(|column| column.name == "two answers").unwrap();
    assert!(outcome.table.rows.iter().take(6).all(|row| row[two] == Cell::Count(0)), "{outcome}");
}
