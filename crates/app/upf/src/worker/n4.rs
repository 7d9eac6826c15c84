//! N4 in a packet thread (`upf.pfcp.accelerate`), as the thread sees it.

use std::os::fd::OwnedFd;
use std::task::Poll;

use causeway_dataplane::{Applied, ApplyError, Event, Plan};
use causeway_ports::PortError;
use causeway_types::Time;

/// N4, whose sockets a packet thread waits for. `K` identifies a plan.
pub trait N4Work<K>: Send {
    /// The sockets to wait for; none while N4 has to wait for the control thread, which then notifies this one.
    fn sockets(&self) -> &[OwnedFd];

    /// Handles what has arrived, if N4 is free. Returns whether there was anything. Never waits.
    ///
    /// # Errors
    /// A port of the thread is lost.
    fn turn(&mut self, thread: &mut dyn N4Turn<K>) -> Result<bool, PortError>;
}

/// The packet thread, as N4 sees it for the time of a turn.
pub trait N4Turn<K> {
    /// The present time.
    fn now(&self) -> Time;

    /// Commands are queued that the thread has not executed.
    fn has_commands(&self) -> bool;

    /// The next event of the data plane, all of which come before a plan.
    fn next_event(&mut self) -> Option<Event>;

    /// Applies a plan. If it is pending, the result is reported, as that of a command.
    fn submit(&mut self, key: K, plan: &Plan) -> Poll<Result<Applied, ApplyError>>;

    /// Transmits the packets that plans released.
    ///
    /// # Errors
    /// A port is lost.
    fn flush(&mut self) -> Result<(), PortError>;
}
