//! What moves between software and switch.

use std::fmt;

use causeway_types::{Direction, Seid};

/// One direction of a session, with all its PDRs: the uplink, whose packets arrive in tunnels, or the downlink, whose
/// packets arrive from the data network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rule {
    /// The session.
    pub session: Seid,
    /// The direction.
    pub direction: Direction,
}

impl Rule {
    /// Both rules of a session.
    pub const fn of(session: Seid) -> [Self; 2] {
        [Self { session, direction: Direction::Uplink }, Self { session, direction: Direction::Downlink }]
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.direction {
            Direction::Uplink => "uplink",
            Direction::Downlink => "downlink",
        };
        write!(f, "{direction} of session {:#x}", self.session.0)
    }
}
