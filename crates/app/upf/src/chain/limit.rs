//! Warnings about other hosts, as many as N4 writes about a peer.

use std::fmt::Display;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use causeway_types::Time;
use tracing::{Level, warn};

use crate::logging::{LineCounts, count_suppressed};

/// Writes warnings within the limits of [`LineCounts`], for several threads.
#[derive(Debug)]
pub(super) struct LineLimit {
    start: Instant,
    counts: Mutex<LineCounts>,
}

impl Default for LineLimit {
    fn default() -> Self {
        Self { start: Instant::now(), counts: Mutex::default() }
    }
}

impl LineLimit {
    /// Writes a line of a kind about a host, or counts it.
    pub(super) fn warn(&self, kind: &'static str, host: IpAddr, line: &dyn Display) {
        self.summarise();
        if self.counts().admit(Level::WARN, (kind, Some(host))) {
            warn!("chain: {line}");
        } else {
            count_suppressed();
        }
    }

    /// Says how many lines were suppressed, when the period has ended.
    pub(super) fn summarise(&self) {
        let now = Time::from_nanos(self.start.elapsed().as_nanos() as u64);
        let suppressed = {
            let mut counts = self.counts();
            if counts.has_ended(now) { counts.begin(now) } else { Vec::new() }
        };
        suppressed.iter().for_each(|(_, line)| warn!("chain: {line}"));
    }

    fn counts(&self) -> MutexGuard<'_, LineCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
