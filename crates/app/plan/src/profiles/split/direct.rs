//! Tables by index, and shared filters.

use crate::profiles::fields::{DSCP, FIVE_TUPLE, key};
use crate::table::Gress::Ingress;
use crate::table::{Field, Match, Table};

/// Index bits of the largest table by index: its operands take at most 32 blocks.
const LARGEST_BITS: u32 = 16;
/// Index bits of the smallest one: its operands fill blocks.
const SMALLEST_BITS: u32 = 13;
/// Distinct filters of all UEs.
const SHARED_FILTERS: u32 = 1024;
/// Operand: the number of a filter.
const OPERAND_FILTER: u32 = 16;

/// Names of the index by its bits.
const INDEX: [&str; 4] = ["index13", "index14", "index15", "index16"];

/// A table of simple PDRs as tables by index, each of 2^n entries, with the same total size. No id is stored, as the
/// index determines it; the operands are packed: generation, QFI and meter into 32 bits, with a TEID into 64.
pub(super) fn banks(table: &Table) -> Vec<Table> {
    let wide = table.actions.iter().flatten().sum::<u32>() > 64;
    let operands: &[u32] = if wide { &[32, 32] } else { &[32] };
    let mut left = table.entries.next_multiple_of(1 << SMALLEST_BITS);
    let mut banks = Vec::new();
    while left > 0 {
        let bits = left.ilog2().min(LARGEST_BITS);
        let number = u16::try_from(banks.len()).unwrap_or(u16::MAX - 1);
        let name = INDEX.get((bits - SMALLEST_BITS) as usize).copied().unwrap_or("index");
        let index = Match::Index(vec![Field { name, bits }]);
        let mut bank = Table::new(format!("{}_{}", table.name, number + 1), Ingress, index, 1 << bits);
        bank.path.clone_from(&table.path);
        banks.push(bank.actions(&[operands]).when("bank", number));
        left -= 1 << bits;
    }
    banks
}

/// The table that finds the number of a packet's filter.
pub(super) fn filters(name: &str) -> Table {
    let fields = Match::Ternary(key(&[FIVE_TUPLE, DSCP]));
    Table::new(name, Ingress, fields, SHARED_FILTERS).actions(&[&[OPERAND_FILTER]])
}
