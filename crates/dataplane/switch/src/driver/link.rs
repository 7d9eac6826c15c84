//! The way to a switch that is reached over a network.

/// What became of the way to the switch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Link {
    /// The switch is there, runs our program, and takes our writes.
    Up {
        /// The program was loaded just now: tables are empty, counters at zero. Otherwise the switch holds what it held, which must be
        /// read before it is used.
        emptied: bool,
    },
    /// The switch is out of reach. What was under way ends as [`Uncertain`](super::DriverError::Uncertain) or
    /// [`Unavailable`](super::DriverError::Unavailable).
    Down,
    /// Another controller has the switch: it takes no writes from us, and may hold anything when we have it again.
    Superseded,
}
