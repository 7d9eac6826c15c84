//! What a thread tells of itself, in passing.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use rustix::thread::{Pid, gettid};

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Activity {
    /// Nothing: it waits for something to come.
    Waiting,
    /// It takes datagrams from the N4 sockets.
    N4Sockets,
    /// It deals with a PFCP message of this type.
    Pfcp(u8),
    /// It deals with what a packet thread has reported.
    Reports,
    /// It changes framed routes in the kernel.
    FramedRoutes,
    /// It deals with what N4 wants done.
    Outputs,
    /// It sends datagrams on N4.
    Sending,
    /// It lets timers expire.
    Timers,
    /// It answers the management server.
    Management,
    /// It deals with packets.
    Packets,
    /// It carries out plans and other commands.
    Commands,
    /// It reports, and waits for room where the control thread does not keep up.
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
            Self::Outputs => "what N4 wants done",
            Self::Sending => "sending on N4",
            Self::Timers => "timers",
            Self::Management => "answering the management server",
            Self::Packets => "packets",
            Self::Commands => "commands of the control thread",
            Self::Reporting => "reporting to the control thread",
        })
    }
}

/// One thread, as the watch sees it. The thread writes single words and never waits.
#[derive(Debug, Default)]
pub(crate) struct ThreadHeartbeat {
    activity: AtomicU16,
    /// Questions whether it is alive, so far.
    asked: AtomicU64,
    /// The last question that it has answered, and when: nanoseconds since [`origin`].
    answered: AtomicU64,
    answered_at: AtomicU64,
    thread: AtomicU32,
}

/// The beginning of the time that pulses are measured in.
pub(super) fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(Instant::now)
}

impl ThreadHeartbeat {
    /// The calling thread is the one that is watched.
    pub(crate) fn begin(&self) {
        let id = u32::try_from(gettid().as_raw_nonzero().get()).unwrap_or(0);
        self.thread.store(id, Ordering::Relaxed);
    }

    /// The thread does this from now on.
    #[inline]
    pub(crate) fn set_activity(&self, activity: Activity) {
        self.activity.store(activity.number(), Ordering::Relaxed);
    }

    /// The thread has done what it was woken for: it is alive.
    pub(crate) fn beat(&self) {
        self.answer_at(|| u64::try_from(origin().elapsed().as_nanos()).unwrap_or(u64::MAX));
    }

    /// The same, at a time in nanoseconds since [`origin`].
    pub(super) fn answer_at(&self, now: impl FnOnce() -> u64) {
        let asked = self.asked.load(Ordering::Acquire);
        if self.answered.load(Ordering::Relaxed) != asked {
            self.answered_at.store(now(), Ordering::Relaxed);
            self.answered.store(asked, Ordering::Release);
        }
    }

    /// Asks anew whether the thread is alive.
    pub(super) fn ask(&self) {
        self.asked.fetch_add(1, Ordering::Release);
    }

    /// When the last question was answered, in nanoseconds since [`origin`], if it was.
    pub(super) fn answered_at(&self) -> Option<u64> {
        let is_answered = self.answered.load(Ordering::Acquire) == self.asked.load(Ordering::Relaxed);
        is_answered.then(|| self.answered_at.load(Ordering::Relaxed))
    }

    /// What the thread did last.
    pub(super) fn activity(&self) -> Activity {
        Activity::of(self.activity.load(Ordering::Relaxed))
    }

    /// The thread, once it has begun.
    pub(super) fn thread(&self) -> Option<Pid> {
        i32::try_from(self.thread.load(Ordering::Relaxed)).ok().and_then(Pid::from_raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  every activity.
    // Output: it is the same after it went through a word, and has a name of its own.
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
