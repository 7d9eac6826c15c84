//! Requests to a driver, and their results.

use super::{DriverError, Entry, EntryKey, RegisterValue};
use crate::Count;

/// The number of a request, unique to the driver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// The result of a request.
pub type Outcome = Result<Reply, DriverError>;

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// All of these updates or none; packets see the change at one moment.
    Write(Vec<Update>),
    /// The counters of entries.
    ReadDirect(Vec<EntryKey>),
    /// Counters by index.
    ReadIndexed {
        /// P4Runtime id.
        counter: u32,
        /// The indices.
        indices: Vec<u32>,
    },
    /// Cells of a register, each at a moment of its own.
    ReadRegister {
        /// P4Runtime id.
        register: u32,
        /// The indices.
        indices: Vec<u32>,
    },
    /// All entries of a table.
    ReadEntries {
        /// P4Runtime id.
        table: u32,
    },
    /// A frame for the switch's CPU port.
    PacketOut(Vec<u8>),
}

/// One change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Update {
    /// A new entry. Its counter starts at zero.
    Insert(Entry),
    /// Another action for an existing entry. Its counter goes on.
    Modify(Entry),
    /// Removes the entry, with its counter.
    Delete(EntryKey),
    /// Sets the rates of a meter, whose buckets are then full; `None`: all packets pass.
    SetMeter {
        /// P4Runtime id.
        meter: u32,
        /// The index.
        index: u32,
        /// In octets.
        rates: Option<Rates>,
    },
    /// Sets a cell of a register.
    SetRegister {
        /// P4Runtime id.
        register: u32,
        /// The index.
        index: u32,
        /// The words, each within its width.
        value: RegisterValue,
    },
}

impl Update {
    /// The entry that it inserts, if it is an insertion.
    pub(crate) fn into_entry(self) -> Option<Entry> {
        match self {
            Self::Insert(entry) => Some(entry),
            _ => None,
        }
    }
}

/// Rates of a meter (RFC 2698), in octets and octets per second. The peak rate is at least the committed one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rates {
    /// CIR.
    pub committed: u64,
    /// CBS.
    pub committed_burst: u64,
    /// PIR.
    pub peak: u64,
    /// PBS.
    pub peak_burst: u64,
}

/// The result of a successful request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// All of it is written, or the frame is sent.
    Done,
    /// In the order of the request; `None` where there is no such entry.
    Counts(Vec<Option<Count>>),
    /// In the order of the request.
    Registers(Vec<RegisterValue>),
    /// In no order.
    Entries(Vec<Entry>),
}

/// A resource whose requests are carried out in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Resource {
    /// A table, with the counters of its entries.
    Table(u32),
    /// Counters by index.
    Counter(u32),
    /// Meters.
    Meter(u32),
    /// Registers.
    Register(u32),
}

impl Request {
    /// The resources that the request uses, each once. A frame for the CPU port uses none.
    pub fn resources(&self) -> Vec<Resource> {
        let mut resources: Vec<Resource> = match self {
            Self::Write(updates) => updates.iter().map(Update::resource).collect(),
            Self::ReadDirect(keys) => keys.iter().map(|key| Resource::Table(key.table)).collect(),
            Self::ReadIndexed { counter, .. } => vec![Resource::Counter(*counter)],
            Self::ReadRegister { register, .. } => vec![Resource::Register(*register)],
            Self::ReadEntries { table } => vec![Resource::Table(*table)],
            Self::PacketOut(_) => Vec::new(),
        };
        let mut seen = Vec::new();
        resources.retain(|resource| {
            let is_new = !seen.contains(resource);
            seen.extend(is_new.then_some(*resource));
            is_new
        });
        resources
    }
}

impl Update {
    /// The resource that it changes.
    pub const fn resource(&self) -> Resource {
        match self {
            Self::Insert(entry) | Self::Modify(entry) => Resource::Table(entry.key.table),
            Self::Delete(key) => Resource::Table(key.table),
            Self::SetMeter { meter, .. } => Resource::Meter(*meter),
            Self::SetRegister { register, .. } => Resource::Register(*register),
        }
    }
}
