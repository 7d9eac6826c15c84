//! What every driver of a switch does: tables, counters, meters and packets of its control plane.
//!
//! [`SwitchDriver`] takes requests and yields their outcomes later, so that one caller can write while it reads. The words are those of
//! P4Runtime; [`Program`] says which tables there are.

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

/// A switch as its controller reaches it.
///
/// Requests that concern the same table are carried out in the order in which they came; others may overtake each other. Nothing here
/// waits, but for [`SwitchDriver::wait`].
pub trait SwitchDriver {
    /// Hands over a request. Its outcome comes from [`SwitchDriver::poll`], once.
    fn submit(&mut self, now: Time, request: Request) -> Ticket;

    /// The outcome of a request that is over by now; `None` while there is none.
    fn poll(&mut self, now: Time) -> Option<(Ticket, Outcome)>;

    /// When [`SwitchDriver::poll`] or [`SwitchDriver::poll_packet`] may have something, if the driver can tell: those of a model can.
    fn next_event(&self) -> Option<Time>;

    /// A frame that the switch has sent to its CPU port by now, oldest first.
    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>>;

    /// What became of the way to the switch, oldest first. A driver without such a way, like a model's, has nothing to tell.
    fn poll_link(&mut self, _now: Time) -> Option<Link> {
        None
    }

    /// Waits until there may be something to poll, at most so long, and says how long it was; this alone waits. `None`: it has not
    /// waited, as a model, which goes on in the time that it is told.
    fn wait(&mut self, _longest: Span) -> Option<Span> {
        None
    }
}
