//! Requests that are being carried out, and what they have the use of.

use causeway_types::Time;

use crate::Count;
use crate::driver::{Request, Ticket, Update};

/// A request that is being carried out.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) ticket: Ticket,
    pub(super) request: Request,
    pub(super) start: Time,
    pub(super) end: Time,
    /// Counters that were read so far: each at its time, while packets pass.
    pub(super) counts: Vec<Option<Count>>,
}

/// A thing of which one operation has the use at a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Resource {
    Table(u32),
    Counter(u32),
    Meter(u32),
}

/// How many counters a request reads one by one.
pub(super) fn counters(request: &Request) -> usize {
    match request {
        Request::ReadDirect(keys) => keys.len(),
        Request::ReadIndexed { indices, .. } => indices.len(),
        Request::Write(_) | Request::ReadEntries { .. } | Request::PacketOut(_) => 0,
    }
}

/// What a request has the use of, each once.
pub(super) fn resources(request: &Request) -> Vec<Resource> {
    let mut resources: Vec<Resource> = match request {
        Request::Write(updates) => updates
            .iter()
            .map(|update| match update {
                Update::Insert(entry) | Update::Modify(entry) => Resource::Table(entry.key.table),
                Update::Delete(key) => Resource::Table(key.table),
                Update::SetMeter { meter, .. } => Resource::Meter(*meter),
            })
            .collect(),
        Request::ReadDirect(keys) => keys.iter().map(|key| Resource::Table(key.table)).collect(),
        Request::ReadIndexed { counter, .. } => vec![Resource::Counter(*counter)],
        Request::ReadEntries { table } => vec![Resource::Table(*table)],
        Request::PacketOut(_) => Vec::new(),
    };
    let mut seen = Vec::new();
    resources.retain(|resource| {
        let is_new = !seen.contains(resource);
        seen.extend(is_new.then_some(*resource));
        is_new
    });
    resources
}
