//! Passes of a reader over its partition.

use causeway_types::Time;

use super::{Partition, Side};
use crate::{Count, SwitchPdr};

/// One pass: entries that the reader is to read. Its partition takes no writes until it ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pass {
    /// The table.
    pub side: Side,
    /// The partition.
    pub partition: Partition,
    /// What to read; those that have expired come first.
    pub numbers: Vec<SwitchPdr>,
    /// When it started.
    pub started: Time,
    /// In the order of all events.
    pub(super) event: u64,
}

/// A counter that was read in a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Whose.
    pub number: SwitchPdr,
    /// What it held: all that was counted since its entry was inserted.
    pub count: Count,
}

/// Usage that a pass found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Whose.
    pub number: SwitchPdr,
    /// Which table.
    pub side: Side,
    /// What came since the last reading; the sum of all readings is what was counted.
    pub usage: Count,
    /// Nothing more will come: the number has expired, and this is all there was on this side.
    pub is_last: bool,
}

/// Picks all entries, as many as may be: usage pulling without a choice.
pub fn everything(_: Partition, members: &[SwitchPdr], budget: usize) -> Vec<SwitchPdr> {
    members.iter().take(budget).copied().collect()
}

/// Picks one entry after the other of each partition, and starts again at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin {
    next: [usize; 2],
}

impl RoundRobin {
    /// The next entries, `budget` at most.
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
