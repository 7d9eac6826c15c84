//! The contract of switch drivers: tables, counters, meters and packets of the CPU port.
//!
//! [`SwitchDriver`] takes requests and returns their outcomes later, so that one caller can write while it reads. The
//! terms are those of P4Runtime; [`Program`] lists the tables.

mod check;
mod entry;
mod error;
mod fault_injector;
mod link;
mod program;
mod request;
mod resource;

use causeway_types::{Span, Time};

pub(crate) use check::ones;
pub use entry::{Entry, EntryKey, FieldMatch};
pub use error::{DriverError, Rejected, WriteError};
pub use fault_injector::{FaultInjector, FaultRates};
pub use link::Link;
pub use program::{Action, Counter, Key, MatchKind, Meter, Parameter, Program, Table};
pub use request::{Outcome, Rates, Reply, Request, Ticket, Update};
pub use resource::Resource;

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
