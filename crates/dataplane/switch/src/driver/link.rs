//! The connection to a switch that is reached over a network.

/// A change of the connection to the switch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Link {
    /// The switch is reachable, runs our program, and accepts our writes.
    Up {
        /// The program was loaded just now: tables are empty, counters at zero. Otherwise the switch has its earlier
        /// state, which must be read before it is used.
        emptied: bool,
    },
    /// The switch is unreachable. Requests in flight end as [`Uncertain`](super::DriverError::Uncertain) or
    /// [`Unavailable`](super::DriverError::Unavailable).
    Down,
    /// Another controller is primary: the switch accepts no writes from us, and may have any state when we are primary
    /// again.
    Superseded,
}
