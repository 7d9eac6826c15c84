//! The resources that requests use.

use super::{Request, Update};

/// A resource whose requests are carried out in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Resource {
    /// A table, with the counters of its entries.
    Table(u32),
    /// Counters by index.
    Counter(u32),
    /// Meters.
    Meter(u32),
}

impl Request {
    /// The resources that the request uses, each once. A frame for the CPU port uses none.
    pub fn resources(&self) -> Vec<Resource> {
        let mut resources: Vec<Resource> = match self {
            Self::Write(updates) => updates.iter().map(Update::resource).collect(),
            Self::ReadDirect(keys) => keys.iter().map(|key| Resource::Table(key.table)).collect(),
            Self::ReadIndexed { counter, .. } => vec![Resource::Counter(*counter)],
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
        }
    }
}
