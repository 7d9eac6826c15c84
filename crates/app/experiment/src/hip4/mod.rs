//! The experiments of HiP4-UPF (ATC'24).

pub mod fig10;
pub mod fig11;
pub mod fig12;
pub mod fig6;
pub mod table4;

use causeway_show::Cell;

use crate::simulation::OctetBalance;

/// Milliseconds of model time, from seconds.
fn millis(seconds: f64) -> Cell {
    Cell::Number(seconds * 1e3, 3)
}

/// A figure of the paper, if there is one.
fn given(value: Option<f64>, digits: usize) -> Cell {
    value.map(|value| Cell::Number(value, digits)).into()
}

/// Octets that were lost, in all simulations of an experiment.
fn lost_octets(ledgers: impl IntoIterator<Item = OctetBalance>) -> f64 {
    ledgers.into_iter().map(|ledger| ledger.lost_octets()).sum::<u64>() as f64
}

/// The columns of the octet balance.
fn balance_columns() -> [causeway_show::Column; 3] {
    ["sent", "reported + held", "lost"].map(|name| causeway_show::Column::of(name, "octets"))
}

/// Their cells.
fn ledger_cells(ledger: &OctetBalance) -> [Cell; 3] {
    [ledger.sent, ledger.reported + ledger.held, ledger.lost_octets()]
        .map(|octets| Cell::Text(causeway_show::with_thousands_separators(octets)))
}

/// The note on model time below all tables.
const MODEL: &str = "All times are model time: the time of the modelled switch driver. Decoding of messages, decisions and the \
network between SMF and UPF take none, while the paper's figures include them.";
