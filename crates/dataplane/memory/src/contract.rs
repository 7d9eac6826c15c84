//! What every external memory does.

use causeway_packet::roce::Rkey;
use causeway_types::Time;

/// Octets of the word of a fetch-and-add.
pub(crate) const WORD: usize = 8;

/// A place in external memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The key of its region.
    pub rkey: Rkey,
    /// Virtual address.
    pub address: u64,
}

/// What is done to external memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// RDMA READ of so many octets.
    Read {
        /// The first octet.
        from: Place,
        /// Octets, at least one.
        length: u32,
    },
    /// RDMA WRITE.
    Write {
        /// The first octet.
        to: Place,
        /// The octets, at least one.
        data: Vec<u8>,
    },
    /// FetchAdd: adds to a word of 64 bits, modulo 2^64, and returns the value before. The word is little-endian in memory, as adapters
    /// of little-endian hosts store it, and its address is a multiple of 8.
    FetchAdd {
        /// The word.
        at: Place,
        /// What is added.
        add: u64,
    },
}

impl Request {
    /// Octets of the memory that it concerns.
    pub fn length(&self) -> usize {
        match self {
            Self::Read { length, .. } => *length as usize,
            Self::Write { data, .. } => data.len(),
            Self::FetchAdd { .. } => WORD,
        }
    }

    /// It changes memory.
    pub const fn has_effect(&self) -> bool {
        !matches!(self, Self::Read { .. })
    }

    /// Its response carries data: a read or a fetch-and-add.
    pub const fn returns_data(&self) -> bool {
        !matches!(self, Self::Write { .. })
    }
}

/// A request with its place in the order of a queue pair.
///
/// Requests of one queue pair are executed in the order in which they are submitted, with one exception (IBA clause 10.8.3.3): a read
/// or a fetch-and-add whose response was lost is requested again, and the read then returns the memory of that later time. What must
/// not be seen by earlier reads therefore has the fence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// What is done.
    pub request: Request,
    /// Fence: it begins only after all earlier reads and fetch-and-adds of the queue pair are complete.
    pub fence: bool,
}

impl Operation {
    /// A read.
    pub const fn read(from: Place, length: u32) -> Self {
        Self { request: Request::Read { from, length }, fence: false }
    }

    /// A write.
    pub const fn write(to: Place, data: Vec<u8>) -> Self {
        Self { request: Request::Write { to, data }, fence: false }
    }

    /// A fetch-and-add.
    pub const fn fetch_add(at: Place, add: u64) -> Self {
        Self { request: Request::FetchAdd { at, add }, fence: false }
    }

    /// The same operation with the fence.
    #[must_use]
    pub fn fenced(self) -> Self {
        Self { fence: true, ..self }
    }
}

/// The number of an operation; no two of one memory have the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OperationId(pub u64);

/// A queue pair of the requester, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct QueuePair(pub u16);

/// What an operation returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The octets of a read.
    Read(Vec<u8>),
    /// A write is done.
    Written,
    /// A fetch-and-add is done; this was the value before.
    Added(u64),
}

/// Why an operation failed. The names are those of the completion statuses of IBA clause 11.6.2, and two more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Failure {
    /// The remote key, the range or the right is wrong.
    #[error("remote access error: the remote key, the range or the right is wrong")]
    RemoteAccess,
    /// The responder does not execute such a request.
    #[error("remote invalid request error")]
    RemoteInvalidRequest,
    /// The responder could not complete it.
    #[error("remote operation error")]
    RemoteOperation,
    /// All retries ended without a response. The responder is the same as before, or nobody can say.
    #[error("transport retry counter exceeded")]
    RetryExceeded,
    /// The responder has restarted since the connection was set up: what its memory held is lost.
    #[error("the memory server has restarted: its memory is empty")]
    Restarted,
    /// An earlier operation of the queue pair failed, and this one was not executed, or the queue pair was closed.
    #[error("work request flushed: an earlier operation of the queue pair failed")]
    Flushed,
}

/// What a failed operation did to the memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Nothing, for certain. Reads never have an effect.
    None,
    /// All of it, once, or a part of it, or nothing: no response said which.
    Unknown,
}

/// An operation that failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[error("{failure}")]
pub struct OperationError {
    /// Why.
    pub failure: Failure,
    /// What it did to the memory.
    pub effect: Effect,
}

/// The end of an operation. Each submitted operation has exactly one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The operation.
    pub id: OperationId,
    /// Its queue pair.
    pub queue_pair: QueuePair,
    /// What it returns.
    pub result: Result<Outcome, OperationError>,
}

/// Why an operation is not accepted. Nothing was done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum SubmitError {
    /// The queue of the queue pair is full: poll outcomes first.
    #[error("the queue of the queue pair is full")]
    QueueFull,
    /// There is no such queue pair.
    #[error("there is no queue pair {0}")]
    UnknownQueuePair(u16),
    /// A read or write of no octets.
    #[error("an operation of no octets")]
    Empty,
    /// More octets than the memory takes at a time.
    #[error("an operation of {length} octets, at most {limit} are possible")]
    TooLong {
        /// Octets of the operation.
        length: usize,
        /// The limit.
        limit: u32,
    },
    /// The queue pair is in the error state, for this reason: connect anew.
    #[error("the queue pair failed: {0}")]
    Failed(Failure),
    /// The queue pair has no connection yet.
    #[error("the queue pair is not connected")]
    NotConnected,
}

/// External memory: operations go in, outcomes come out later.
///
/// Time is passed in and never decreases. `poll` does what is due; call it after [`ExternalMemory::next_timer`] at the latest.
pub trait ExternalMemory {
    /// The number of queue pairs.
    fn queue_pairs(&self) -> u16;

    /// Submits an operation to a queue pair.
    ///
    /// # Errors
    /// The operation is not accepted and will have no completion.
    fn submit(
        &mut self,
        now: Time,
        queue_pair: QueuePair,
        operation: Operation,
    ) -> Result<OperationId, SubmitError>;

    /// Whether the queue of the queue pair has a place for an operation: else [`Self::submit`] says [`SubmitError::QueueFull`].
    fn has_place(&self, queue_pair: QueuePair, operation: &Operation) -> bool;

    /// The next operation that has ended; operations of one queue pair end in the order in which they were submitted.
    fn poll(&mut self, now: Time) -> Option<Completion>;

    /// When something is due next without further input; `None` if nothing is.
    fn next_timer(&self) -> Option<Time>;
}
