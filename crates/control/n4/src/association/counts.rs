//! What the parts of N4 count of an association, side by side.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use causeway_types::Time;

/// The counts of all parts; each part changes its own.
#[derive(Debug)]
pub(super) struct Counts(Box<[PartCounts]>);

/// The counts of one part, in a cache line of their own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct PartCounts {
    sessions: AtomicUsize,
    /// Sessions established since a claimed restart.
    since_restart: AtomicUsize,
    /// The nanoseconds of the time of the last message, plus one; zero: there was none.
    last_received: AtomicU64,
}

/// There is one writer.
fn add(count: &AtomicUsize, more: usize) {
    count.store(count.load(Relaxed) + more, Relaxed);
}

impl Counts {
    /// Zeros, for so many parts.
    pub(super) fn new(parts: usize) -> Self {
        Self((0..parts).map(|_| PartCounts::default()).collect())
    }

    /// A new session of a part.
    pub(super) fn establish(&self, part: usize) {
        if let Some(counts) = self.0.get(part) {
            add(&counts.sessions, 1);
            add(&counts.since_restart, 1);
        }
    }

    /// A session of a part joins from another association.
    pub(super) fn join(&self, part: usize) {
        self.0.get(part).into_iter().for_each(|counts| add(&counts.sessions, 1));
    }

    /// A session of a part ends, or leaves.
    pub(super) fn leave(&self, part: usize) {
        if let Some(PartCounts { sessions, .. }) = self.0.get(part) {
            let before = sessions.load(Relaxed);
            debug_assert!(before > 0, "a session that was not counted");
            sessions.store(before.saturating_sub(1), Relaxed);
        }
    }

    /// A part has received a message.
    pub(super) fn hear(&self, part: usize, now: Time) {
        if let Some(counts) = self.0.get(part) {
            counts.last_received.store(now.as_nanos().saturating_add(1), Relaxed);
        }
    }

    /// The number of sessions.
    pub(super) fn sessions(&self) -> usize {
        self.0.iter().map(|counts| counts.sessions.load(Relaxed)).sum()
    }

    /// The number of sessions established since [`Counts::restart`].
    pub(super) fn since_restart(&self) -> usize {
        self.0.iter().map(|counts| counts.since_restart.load(Relaxed)).sum()
    }

    /// When the last message was received.
    pub(super) fn last_received(&self) -> Option<Time> {
        let last = self.0.iter().map(|counts| counts.last_received.load(Relaxed)).max()?;
        last.checked_sub(1).map(Time::from_nanos)
    }

    /// A restart is claimed. No part works meanwhile.
    pub(super) fn restart(&mut self) {
        self.0.iter_mut().for_each(|counts| *counts.since_restart.get_mut() = 0);
    }

    /// All sessions of a part end. Returns their number.
    pub(super) fn end_all(&self, part: usize) -> usize {
        let Some(PartCounts { sessions, .. }) = self.0.get(part) else { return 0 };
        let before = sessions.load(Relaxed);
        sessions.store(0, Relaxed);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  three parts that count: sessions that are established, join and leave, a restart, messages, the end of all.
    // Output: the sums of all parts, and the time of the last message of any of them.
    #[test]
    fn parts_are_added_up() {
        let mut counts = Counts::new(3);
        assert_eq!((counts.sessions(), counts.last_received()), (0, None));
        counts.hear(2, Time::default());
        assert_eq!(counts.last_received(), Some(Time::default()));
        (0..3).for_each(|part| counts.establish(part));
        counts.join(1);
        counts.leave(0);
        counts.hear(1, Time::from_secs(7));
        assert_eq!((counts.sessions(), counts.since_restart()), (3, 3));
        assert_eq!(counts.last_received(), Some(Time::from_secs(7)));
        counts.restart();
        assert_eq!((counts.sessions(), counts.since_restart()), (3, 0));
        assert_eq!((counts.end_all(1), counts.sessions()), (2, 1));
    }
}
