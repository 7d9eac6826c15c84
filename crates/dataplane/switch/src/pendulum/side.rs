//! The accounting table of one side, and what is in its partitions.

use std::collections::VecDeque;

use causeway_types::{Span, Time};

use super::pass::Pass;
use crate::SwitchPdr;

/// Which accounting table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// Before QoS enforcement.
    Ingress,
    /// After QoS enforcement: what left.
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

/// A part of an accounting table that is read or written as one: 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Partition(pub u8);

/// What has happened since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Passes of readers.
    pub passes: u64,
    /// Changes of roles.
    pub swaps: u64,
    /// Commands that had to wait for a change of roles, as the partition for writes had no room.
    pub waits: u64,
    /// The longest that such a command waited.
    pub longest_wait: Span,
    /// Commands that neither partition had room for.
    pub refused: u64,
    /// Numbers that can be used again.
    pub retired: u64,
    /// Counters that held less than before: the switch has lost what it had counted.
    pub lost: u64,
}

/// What the reader of a side does.
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
    /// Those that have expired and were not retired, oldest first.
    pub(super) expired: VecDeque<SwitchPdr>,
}

/// One side.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) partitions: Vec<Entries>,
    /// Entries that each partition can hold.
    pub(super) capacity: usize,
    /// The partition that is read.
    readable: u8,
    pub(super) reader: Reader,
    /// The reader has finished with its partition; the roles change as soon as they can.
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

    /// The partition that takes writes; the same one if there is only one.
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

    /// The partition has room for so many more.
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

/// When a number expired.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expired {
    /// In the order of all events.
    pub(super) event: u64,
    pub(super) at: Time,
}
