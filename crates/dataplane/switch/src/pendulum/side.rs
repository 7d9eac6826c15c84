//! The accounting table of one side, and its partitions.

use std::collections::VecDeque;

use causeway_types::{Span, Time};

use super::pass::Pass;
use crate::SwitchPdr;

/// Which accounting table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// Before QoS enforcement.
    Ingress,
    /// After QoS enforcement: transmitted packets.
    Egress,
}

impl Side {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Ingress, Self::Egress];

    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::Ingress => Self::Egress,
            Self::Egress => Self::Ingress,
        }
    }
}

/// A part of an accounting table that is read or written as a whole: 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Partition(pub u8);

/// Event counters since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Passes of readers.
    pub passes: u64,
    /// Role swaps.
    pub swaps: u64,
    /// Commands that had to wait for a role swap, as the partition for writes had no space.
    pub waits: u64,
    /// The longest such wait.
    pub longest_wait: Span,
    /// Commands for which neither partition had space.
    pub refused: u64,
    /// Numbers that can be used again.
    pub retired: u64,
    /// Counters that held less than before: the switch has lost their values.
    pub lost: u64,
}

/// The state of a side's reader.
#[derive(Clone, Debug)]
pub(super) enum Reader {
    /// Nothing.
    Idle,
    /// It reads.
    Reading(Pass),
    /// It removes entries that were read for the last time.
    Removing(Pass, Vec<SwitchPdr>),
}

/// Entries of one partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    /// All, in no order.
    pub(super) members: Vec<SwitchPdr>,
    /// Expired numbers that have not retired, oldest first.
    pub(super) expired: VecDeque<SwitchPdr>,
}

/// One side.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) partitions: Vec<Entries>,
    /// Entries of each partition.
    pub(super) capacity: usize,
    /// The partition that is read.
    readable: u8,
    pub(super) reader: Reader,
    /// The reader has finished with its partition; the roles swap as soon as possible.
    pub(super) swap_due: bool,
}

impl Table {
    pub(super) fn new(partitions: usize, capacity: usize) -> Self {
        let partitions = vec![Entries::default(); partitions];
        Self { partitions, capacity, readable: 0, reader: Reader::Idle, swap_due: false }
    }

    /// The partition that is read.
    pub(super) const fn readable(&self) -> Partition {
        Partition(self.readable)
    }

    /// The partition for writes; the same one if there is only one.
    pub(super) fn writable(&self) -> Partition {
        Partition(if self.partitions.len() > 1 { 1 - self.readable } else { 0 })
    }

    pub(super) fn swap(&mut self) {
        self.readable = self.writable().0;
        self.swap_due = false;
    }

    pub(super) const fn is_idle(&self) -> bool {
        matches!(self.reader, Reader::Idle)
    }

    /// Whether the partition has space for this many more entries.
    pub(super) fn has_room(&self, partition: Partition, entries: usize) -> bool {
        self.free(partition) >= entries
    }

    pub(super) fn free(&self, partition: Partition) -> usize {
        self.capacity.saturating_sub(self.entries(partition).members.len())
    }

    pub(super) fn entries(&self, partition: Partition) -> &Entries {
        &self.partitions[usize::from(partition.0)]
    }

    pub(super) fn entries_mut(&mut self, partition: Partition) -> &mut Entries {
        &mut self.partitions[usize::from(partition.0)]
    }
}

/// The expiry of a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expired {
    /// Its position in the order of all events.
    pub(super) event: u64,
    pub(super) at: Time,
}
