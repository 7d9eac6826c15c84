//! The contract of switch drivers: tables, counters, meters, registers and packets of the CPU port.
//!
//! [`SwitchDriver`] takes requests and returns their outcomes later, so that one caller can write while it reads. The
//! terms are those of P4Runtime; [`Program`] lists the tables.

mod check;
mod entry;
mod error;
mod fault_injector;
mod part;
mod program;
mod request;

use causeway_types::{Span, Time};

pub(crate) use check::ones;
pub use entry::{Entry, EntryKey, FieldMatch};
pub use error::{DriverError, Rejected, WriteError};
pub use fault_injector::{FaultInjector, FaultRates};
pub use part::{Arrivals, SwitchPart, WholeSwitch};
pub use program::{
    Action, Counter, Key, MatchKind, Meter, Parameter, Program, Register, RegisterValue, Table,
};
pub use request::{Outcome, Rates, Reply, Request, Resource, Ticket, Update};

/// A switch as its controller sees it.
///
/// Requests for the same table are carried out in the order of submission; others may overtake each other. Only
/// [`SwitchDriver::wait`] blocks.
pub trait SwitchDriver {
    /// Submits a request. [`SwitchDriver::poll`] returns its outcome, once.
    fn submit(&mut self, now: Time, request: Request) -> Ticket;

    /// The outcome of a request that has ended by now; `None` if there is none.
    fn poll(&mut self, now: Time) -> Option<(Ticket, Outcome)>;

    /// When [`SwitchDriver::poll`] or [`SwitchDriver::poll_packet`] may next return something, if the driver knows: a
    /// model does.
    fn next_event(&self) -> Option<Time>;

    /// A frame that the switch has sent to its CPU port by now, oldest first.
    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>>;

    /// Frames of the CPU port that were lost before they were polled, as far as the driver knows. A model loses none.
    fn lost_packets(&self) -> u64 {
        0
    }

    /// The next change of the connection to the switch, oldest first. A driver without a connection, such as a model,
    /// has none.
    fn poll_link(&mut self, _now: Time) -> Option<Link> {
        None
    }

    /// Waits until there may be something to poll, for at most `longest`, and returns the time waited; no other
    /// function blocks. `None`: it has not waited, as with a model, whose time is the one it is given.
    fn wait(&mut self, _longest: Span) -> Option<Span> {
        None
    }
}

/// A change of the connection to the switch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Link {
    /// The switch is reachable, runs our program, and accepts our writes.
    Up {
        /// The program was loaded just now: tables are empty, counters at zero. Otherwise the switch has its earlier
        /// state, which must be read before it is used.
        emptied: bool,
    },
    /// The switch is unreachable. Requests in flight end as [`Uncertain`](DriverError::Uncertain) or
    /// [`Unavailable`](DriverError::Unavailable).
    Down,
    /// Another controller is primary: the switch accepts no writes from us, and may have any state when we are primary
    /// again.
    Superseded,
}
