//! The experiments on the hybrid UPF at a small size.

use causeway_experiment::hybrid::{share, thesis};
use causeway_experiment::outcome::Outcome;
use causeway_experiment::{Arguments, Common, Rows};
use causeway_show::{Cell, Progress};
use clap::Parser;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn small(line: &str) -> Common {
    let line = format!("experiment hybrid --quick {line}");
    Line::parse_from(line.split_whitespace()).arguments.common
}

fn number(outcome: &Outcome, row: &str, column: &str) -> f64 {
    let place = outcome.table.columns.iter().position(|known| known.name == column).unwrap();
    let found = outcome.table.rows.iter().find(|cells| cells[0].to_string() == row);
    match found.unwrap_or_else(|| panic!("no row {row}"))[place] {
        Cell::Number(number, _) => number,
        ref other => panic!("{other:?}"),
    }
}

// Input:  all placements on a small trace.
// Output: by rate, lower thresholds put more packets on the switch, most of what hindsight would, and none overtakes; the
//         thesis as written puts hardly any there; without hysteresis more rules come back soon.
#[test]
fn placement_by_rate_holds_its_promises() {
    let outcome = share::run(&small(""), &Rows::discard(), &mut Progress::new()).unwrap();
    let shares = ["by rate, 1 Mbit/s", "by rate, 0.25 Mbit/s", "by rate, 0.1 Mbit/s"];
    let shares = shares.map(|row| number(&outcome, row, "packets on the switch"));
    assert!(shares.is_sorted_by(|less, more| less < more), "{outcome}");
    for row in ["by rate, 1 Mbit/s", "by rate, 0.1 Mbit/s", "by rate, 0.1 Mbit/s, UEs"] {
        assert_eq!(number(&outcome, row, "overtaken"), 0.0, "{outcome}");
        assert!(number(&outcome, row, "of the oracle") > 60.0, "{outcome}");
        let octets = number(&outcome, row, "by octets");
        assert!(octets <= 100.0 && octets > number(&outcome, row, "by the second before"), "{outcome}");
    }
    assert!(
        number(&outcome, "thesis as written, 1 Mbit/s", "packets on the switch") < shares[0] / 5.0,
        "{outcome}"
    );
    let again = |row| number(&outcome, row, "again within 5 s");
    assert!(again("by rate, 1 Mbit/s, no hysteresis") > again("by rate, 1 Mbit/s") + 5.0, "{outcome}");
}

// Input:  the thesis' thresholds, twice with the same seed.
// Output: fewer rules and packets at higher thresholds; the same figures both times.
#[test]
fn the_thresholds_of_the_thesis() {
    let measure = || thesis::run(&small(""), &Rows::discard(), &mut Progress::new()).unwrap();
    let outcome = measure();
    let rules = ["2 Mbit/s", "5 Mbit/s", "10 Mbit/s"].map(|row| number(&outcome, row, "rules by rate"));
    assert!(rules.is_sorted_by(|more, less| more > less), "{outcome}");
    assert_eq!(outcome.to_string(), measure().to_string());
}
