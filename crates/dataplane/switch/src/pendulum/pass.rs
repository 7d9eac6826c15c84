//! Passes of a reader over its partition.

use causeway_types::Time;

use super::{Partition, Side};
use crate::{Count, SwitchPdr};

/// One pass: entries for the reader. Its partition takes no writes until it ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pass {
    /// The table.
    pub side: Side,
    /// The partition.
    pub partition: Partition,
    /// The numbers to read; expired ones come first.
    pub numbers: Vec<SwitchPdr>,
    /// When it started.
    pub started: Time,
    /// Its position in the order of all events.
    pub(super) event: u64,
}

/// A counter that was read in a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The number.
    pub number: SwitchPdr,
    /// Its value: the total since its entry was inserted.
    pub count: Count,
}

/// Usage from a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The number.
    pub number: SwitchPdr,
    /// The side.
    pub side: Side,
    /// The increment since the last reading; the sum of all readings is the total count.
    pub usage: Count,
    /// The number has expired, and this is its last usage on this side.
    pub is_last: bool,
}

/// Picks all entries within the budget: usage pulling without selection.
pub fn everything(_: Partition, members: &[SwitchPdr], budget: usize) -> Vec<SwitchPdr> {
    members.iter().take(budget).copied().collect()
}

/// Picks the entries of each partition in turn, and starts again at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin {
    next: [usize; 2],
}

impl RoundRobin {
    /// The next entries, at most `budget`.
    pub fn pick(&mut self, partition: Partition, members: &[SwitchPdr], budget: usize) -> Vec<SwitchPdr> {
        let Some(next) = self.next.get_mut(usize::from(partition.0)) else { return Vec::new() };
        if *next >= members.len() {
            *next = 0;
        }
        let picked: Vec<SwitchPdr> = members.iter().skip(*next).take(budget).copied().collect();
        *next += picked.len();
        picked
    }
}
