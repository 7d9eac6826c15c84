//! What the state machine wants done.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use causeway_rules::{Applications, Plan};

use crate::Notice;

/// One thing to do. In order: what comes later may rely on what came before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Send a datagram from the N4 address.
    Send {
        /// Where to.
        to: SocketAddr,
        /// One PFCP message.
        bytes: Vec<u8>,
    },
    /// Have the data plane carry out a plan, and say how it went with [`crate::N4::applied`]. Plans may be
    /// carried out in any order: there is never more than one of the same session.
    Apply {
        /// To be handed back with the result.
        id: ApplyId,
        /// What to carry out.
        plan: Plan,
    },
    /// Have the data plane detect these applications from now on, and no others. Plans that come later may name them.
    Applications(Arc<Applications>),
    /// Something an operator may want to read.
    Notice(Notice),
}

/// Names a plan that was handed out, among those that are under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ApplyId(u64);

impl ApplyId {
    /// The plan that was handed out as one of so many, modulo 2^32, for the session at this place.
    pub(crate) const fn new(number: u32, index: u32) -> Self {
        Self((number as u64) << 32 | index as u64)
    }

    /// The place of the session.
    pub(crate) const fn index_of(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Display for ApplyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
