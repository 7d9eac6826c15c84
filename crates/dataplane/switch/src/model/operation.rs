//! Requests in progress.

use causeway_types::Time;

use crate::Count;
use crate::driver::{Request, Ticket};

/// A request in progress.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) ticket: Ticket,
    pub(super) request: Request,
    pub(super) start: Time,
    pub(super) end: Time,
    /// Counters that were read so far: each at its own time, while packets pass.
    pub(super) counts: Vec<Option<Count>>,
}

/// How many counters a request reads one by one.
pub(super) fn counters(request: &Request) -> usize {
    match request {
        Request::ReadDirect(keys) => keys.len(),
        Request::ReadIndexed { indices, .. } => indices.len(),
        Request::Write(_)
        | Request::ReadRegister { .. }
        | Request::ReadEntries { .. }
        | Request::PacketOut(_) => 0,
    }
}
