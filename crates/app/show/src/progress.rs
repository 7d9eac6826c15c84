//! The progress of a long command, on standard error.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Nothing is shown before.
const INITIAL_DELAY: Duration = Duration::from_secs(2);

/// Shows what a command is at, at most twice a second, once it takes longer than two seconds.
///
/// On a terminal the line is written over and goes away at the end; elsewhere there is one line for each stage.
#[derive(Debug)]
pub struct Progress {
    start: Instant,
    shown: Option<Instant>,
    stage: String,
    told: bool,
    terminal: bool,
}

impl Progress {
    /// Starts the clock.
    pub fn new() -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { start: Instant::now(), shown: None, stage: String::new(), told: false, terminal }
    }

    /// Begins something else.
    pub fn stage(&mut self, stage: impl Into<String>) {
        self.stage = stage.into();
        self.told = false;
        self.set_progress(0, 0);
    }

    /// `done` of `total`, or only running if that is zero. Cheap enough for every thousandth step.
    pub fn set_progress(&mut self, done: u64, total: u64) {
        let now = Instant::now();
        let recent = self.shown.is_some_and(|shown| now - shown < Duration::from_millis(500));
        if now - self.start < INITIAL_DELAY || (recent && self.told) {
            return;
        }
        let percent = (done * 100).checked_div(total);
        let share = percent.map(|percent| format!(" {percent} %")).unwrap_or_default();
        let mut err = std::io::stderr();
        // Whoever does not read it loses nothing.
        if self.terminal {
            let _ = write!(err, "\r\x1b[2K{}{share}", self.stage);
            self.shown = Some(now);
        } else if !self.told {
            let _ = writeln!(err, "{} ...", self.stage);
            self.shown = Some(now);
        }
        self.told = true;
    }

    /// Takes the line away, before something else is printed.
    pub fn clear(&mut self) {
        if self.terminal && self.shown.take().is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
