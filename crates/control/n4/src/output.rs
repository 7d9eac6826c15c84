//! Actions that the state machine requests.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use causeway_model::{Applications, Plan};

use crate::Notice;

/// One action. Actions are ordered: a later one may depend on an earlier one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Send a datagram from the N4 address.
    Send {
        /// The destination.
        to: SocketAddr,
        /// One PFCP message.
        bytes: Vec<u8>,
    },
    /// Have the data plane apply a plan, and pass the result to [`crate::N4::applied`]. Plans may be applied in any
    /// order: there is never more than one of the same session.
    Apply {
        /// Returned with the result.
        id: ApplyId,
        /// The plan to apply.
        plan: Plan,
    },
    /// Have the data plane detect these applications from now on, and no others. Later plans may refer to them.
    Applications(Arc<Applications>),
    /// A notice for the operator.
    Notice(Notice),
}

/// Identifies a plan in flight.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ApplyId(u64);

impl ApplyId {
    /// The id of a plan with this sequence number, modulo 2^32, for the session with this index.
    pub(crate) const fn new(number: u32, index: u32) -> Self {
        Self((number as u64) << 32 | index as u64)
    }

    /// The index of the session.
    pub(crate) const fn index_of(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Display for ApplyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
