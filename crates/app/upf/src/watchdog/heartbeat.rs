//! The heartbeat of a thread, with its activity.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use rustix::thread::{Pid, gettid};

/// The activity of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Activity {
    /// Idle: the thread waits for events.
    Waiting,
    /// Receiving datagrams from the N4 sockets.
    N4Sockets,
    /// Processing a PFCP message of this type.
    Pfcp(u8),
    /// Processing reports of the packet threads.
    Reports,
    /// Changing framed routes in the kernel.
    FramedRoutes,
    /// Executing outputs of N4.
    Outputs,
    /// Sending datagrams on N4.
    Sending,
    /// Expiring timers.
    Timers,
    /// Answering the management server.
    Management,
    /// Processing packets.
    Packets,
    /// Executing plans and other commands.
    Commands,
    /// Reporting; the thread waits if the queue to the control thread is full.
    Reporting,
}

impl Activity {
    const fn number(self) -> u16 {
        match self {
            Self::Waiting => 0,
            Self::N4Sockets => 1,
            Self::Reports => 2,
            Self::FramedRoutes => 3,
            Self::Outputs => 4,
            Self::Sending => 5,
            Self::Timers => 6,
            Self::Management => 7,
            Self::Packets => 8,
            Self::Commands => 9,
            Self::Reporting => 10,
            Self::Pfcp(message) => 256 + message as u16,
        }
    }

    fn of(number: u16) -> Self {
        let plain = [
            Self::Waiting,
            Self::N4Sockets,
            Self::Reports,
            Self::FramedRoutes,
            Self::Outputs,
            Self::Sending,
            Self::Timers,
            Self::Management,
            Self::Packets,
            Self::Commands,
            Self::Reporting,
        ];
        let pfcp = || Self::Pfcp((number & 255) as u8);
        plain.get(usize::from(number)).copied().unwrap_or_else(pfcp)
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting => "waiting",
            Self::N4Sockets => "receiving on N4",
            Self::Pfcp(message) => return write!(f, "PFCP message of type {message}"),
            Self::Reports => "reports of the packet threads",
            Self::FramedRoutes => "framed routes",
            Self::Outputs => "outputs of N4",
            Self::Sending => "sending on N4",
            Self::Timers => "timers",
            Self::Management => "answering the management server",
            Self::Packets => "packets",
            Self::Commands => "commands of the control thread",
            Self::Reporting => "reporting to the control thread",
        })
    }
}

/// The heartbeat of one thread. The thread writes single words and never waits.
#[derive(Debug, Default)]
pub(crate) struct ThreadHeartbeat {
    activity: AtomicU16,
    /// The number of polls so far.
    asked: AtomicU64,
    /// The last answered poll, and its time in nanoseconds since [`origin`].
    answered: AtomicU64,
    answered_at: AtomicU64,
    thread: AtomicU32,
}

/// The origin of heartbeat times.
pub(super) fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(Instant::now)
}

impl ThreadHeartbeat {
    /// Registers the calling thread as the one under the watchdog.
    pub(crate) fn begin(&self) {
        let id = u32::try_from(gettid().as_raw_nonzero().get()).unwrap_or(0);
        self.thread.store(id, Ordering::Relaxed);
    }

    /// Sets the activity of the thread.
    #[inline]
    pub(crate) fn set_activity(&self, activity: Activity) {
        self.activity.store(activity.number(), Ordering::Relaxed);
    }

    /// Beats: the thread has handled its notification.
    pub(crate) fn beat(&self) {
        self.answer_at(|| u64::try_from(origin().elapsed().as_nanos()).unwrap_or(u64::MAX));
    }

    /// Beats at a time in nanoseconds since [`origin`].
    pub(super) fn answer_at(&self, now: impl FnOnce() -> u64) {
        let asked = self.asked.load(Ordering::Acquire);
        if self.answered.load(Ordering::Relaxed) != asked {
            self.answered_at.store(now(), Ordering::Relaxed);
            self.answered.store(asked, Ordering::Release);
        }
    }

    /// Polls the thread.
    pub(super) fn ask(&self) {
        self.asked.fetch_add(1, Ordering::Release);
    }

    /// The time of the answer to the last poll, in nanoseconds since [`origin`], if it was answered.
    pub(super) fn answered_at(&self) -> Option<u64> {
        let is_answered = self.answered.load(Ordering::Acquire) == self.asked.load(Ordering::Relaxed);
        is_answered.then(|| self.answered_at.load(Ordering::Relaxed))
    }

    /// The last activity of the thread.
    pub(super) fn activity(&self) -> Activity {
        Activity::of(self.activity.load(Ordering::Relaxed))
    }

    /// The thread, once it runs.
    pub(super) fn thread(&self) -> Option<Pid> {
        i32::try_from(self.thread.load(Ordering::Relaxed)).ok().and_then(Pid::from_raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  every activity.
    // Output: it survives the conversion to a word and back, and has a unique name.
    #[test]
    fn an_activity_is_a_word() {
        let all = (0..=10).map(Activity::of).chain((0..=255).map(Activity::Pfcp));
        let names: std::collections::BTreeSet<String> = all
            .map(|activity| {
                assert_eq!(Activity::of(activity.number()), activity);
                activity.to_string()
            })
            .collect();
        assert_eq!(names.len(), 11 + 256);
    }
}
