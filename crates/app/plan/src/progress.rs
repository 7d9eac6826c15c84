//! What the planner is at, on standard error, if it takes long.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Nothing is shown before.
const QUIET: Duration = Duration::from_secs(2);

/// Shows what is being planned once it takes longer than two seconds; on a terminal only, as a plan takes no minute.
#[derive(Debug)]
pub(crate) struct Progress {
    start: Instant,
    shown: bool,
}

impl Progress {
    /// Starts the clock.
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), shown: false }
    }

    /// Begins something else.
    pub(crate) fn stage(&mut self, what: &str) {
        let mut err = std::io::stderr();
        if err.is_terminal() && self.start.elapsed() > QUIET {
            // Whoever does not read it loses nothing.
            let _ = write!(err, "\r\x1b[2Kplanning {what} ...");
            self.shown = true;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}
