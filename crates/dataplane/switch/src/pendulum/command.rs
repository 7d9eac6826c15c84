//! Changes of rules, for the writer.

use causeway_types::Time;

use super::{Partition, Side};
use crate::SwitchPdr;

/// A change of a session's rules, all or nothing: packets have the old numbers until it is written, and the new ones
/// from then on.
///
/// An establishment only adds, a deletion only expires, and a modification does both: it never keeps the number of a
/// rule that it changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command<W> {
    /// New numbers; they get entries in the accounting tables of both sides.
    pub add: Vec<SwitchPdr>,
    /// Numbers that no packet has once the command is written.
    pub expire: Vec<SwitchPdr>,
    /// Other writes at the same moment: the entries of the PDR tables.
    pub writes: W,
}

/// The number of a command, in the order of submission.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Token(pub(super) u64);

/// New entries of one accounting table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Insertion {
    /// The table.
    pub side: Side,
    /// The partition; it is not read until the batch is written.
    pub partition: Partition,
    /// The keys of the entries; their counters start at zero.
    pub numbers: Vec<SwitchPdr>,
}

/// Writes that the writer makes as one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch<W> {
    /// The command.
    pub token: Token,
    /// Entries of the accounting tables, to be written first.
    pub insertions: Vec<Insertion>,
    /// The rest.
    pub writes: W,
}

/// The next action of the writer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriterTurn<W> {
    /// It writes this batch, and then reports the result ([`super::TableAccess::written`]).
    Write(Batch<W>),
    /// The command has ended: it cannot be carried out. The state is as if it had not been submitted.
    Refuse {
        /// The command.
        token: Token,
        /// Its other writes.
        writes: W,
        /// Why.
        full: Full,
    },
}

/// Neither partition of an accounting table has space.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the {side:?} accounting table is full: {needed} entries are needed, its partitions have room for {free:?}"
)]
pub struct Full {
    /// The table.
    pub side: Side,
    /// Entries needed.
    pub needed: usize,
    /// Entries that are free, in the partition for writes and in the other one.
    pub free: [usize; 2],
}

/// An invalid command. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Invalid {
    /// A number to add is in use, or has not retired on both sides.
    #[error("number {0} is in use")]
    InUse(SwitchPdr),
    /// A number to expire is not in use, or has expired already.
    #[error("number {0} is not in use")]
    NotInUse(SwitchPdr),
}

/// A waiting command.
#[derive(Clone, Debug)]
pub(super) struct Queued<W> {
    pub(super) token: Token,
    pub(super) command: Command<W>,
    pub(super) submitted: Time,
    /// There was no space for it at first.
    pub(super) waited: bool,
}
