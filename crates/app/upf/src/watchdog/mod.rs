//! The watchdog: a thread that polls the heartbeats of the control thread and the packet threads four times a second,
//! and logs the activity of a late one.
//!
//! A thread beats between two pieces of work, like a response on N4 or a batch of packets, so that a late heartbeat
//! means late service. The kernel counts how long the thread ran, and how long it waited for a core.

mod heartbeat;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fs, io};

use rustix::thread::Pid;
use tracing::warn;

pub(crate) use heartbeat::{Activity, ThreadHeartbeat};

/// The polling interval of each thread.
const TICK: Duration = Duration::from_millis(250);

/// A later heartbeat is a pause, and is counted.
const PAUSE_THRESHOLD: Duration = Duration::from_millis(100);

/// The shortest logged pause. It is logged while it lasts, each time its length has doubled, and at its end.
const LOG_THRESHOLD: Duration = Duration::from_millis(500);

/// The pauses of one thread, as metrics.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    count: AtomicU64,
    longest: AtomicU64,
    /// The present time without a heartbeat.
    now: AtomicU64,
    heartbeat: Arc<ThreadHeartbeat>,
}

impl Pauses {
    fn of(heartbeat: &Arc<ThreadHeartbeat>) -> Self {
        Self { heartbeat: Arc::clone(heartbeat), ..Self::default() }
    }

    /// How long the thread ran, and waited for a core; zero before it runs. Reads a file of the kernel.
    pub(crate) fn usage(&self) -> Usage {
        Usage::of(self.heartbeat.thread()).unwrap_or_default()
    }

    /// The number of pauses.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The longest pause, including a present one.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest.load(Ordering::Relaxed).max(self.now.load(Ordering::Relaxed)))
    }

    /// The present time without a heartbeat.
    pub(crate) fn now(&self) -> Duration {
        Duration::from_nanos(self.now.load(Ordering::Relaxed))
    }
}

/// A thread under the watchdog.
pub(crate) struct WatchedThread {
    /// The name in the log.
    pub(crate) name: String,
    pub(crate) heartbeat: Arc<ThreadHeartbeat>,
    /// Notifies the thread to call [`ThreadHeartbeat::beat`].
    pub(crate) ring: Box<dyn Fn() + Send>,
}

impl fmt::Debug for WatchedThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// How long a thread ran, and waited for a core, since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) ran: Duration,
    pub(crate) waited: Duration,
}

impl Usage {
    /// From the kernel's statistics, if it has any.
    fn of(thread: Option<Pid>) -> Option<Self> {
        let path = format!("/proc/self/task/{}/schedstat", thread?.as_raw_nonzero());
        Self::parse(&fs::read_to_string(path).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_ascii_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok().map(Duration::from_nanos);
        Some(Self { ran: next()?, waited: next()? })
    }
}

/// The state of a thread.
struct ThreadState {
    watched: WatchedThread,
    pauses: Arc<Pauses>,
    /// The time of the last poll, in nanoseconds since [`heartbeat::origin`], and the thread's usage at that time.
    asked_at: u64,
    before: Option<Usage>,
    /// The heartbeat after the last poll was not evaluated yet.
    is_open: bool,
    /// The length at which a pause is logged next.
    next: Duration,
    /// The activity during the pause.
    seen: Activity,
}

/// A report about a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
struct PauseReport {
    /// The time without a heartbeat.
    pause: Duration,
    is_over: bool,
    activity: Activity,
    usage: Option<Usage>,
}

impl fmt::Display for PauseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.pause.as_secs_f64();
        match self.is_over {
            true => write!(f, "resumed after a pause of {seconds:.1} s")?,
            false => write!(f, "has not responded for {seconds:.1} s")?,
        }
        write!(f, "; last activity: {}", self.activity)?;
        match self.usage {
            Some(Usage { ran, waited }) => {
                let (ran, waited) = (ran.as_secs_f64(), waited.as_secs_f64());
                write!(f, "; it ran for {ran:.1} s and waited for a core for {waited:.1} s")
            }
            None => Ok(()),
        }
    }
}

impl ThreadState {
    fn new(watched: WatchedThread) -> Self {
        Self {
            pauses: Arc::new(Pauses::of(&watched.heartbeat)),
            watched,
            asked_at: 0,
            before: None,
            is_open: false,
            next: LOG_THRESHOLD,
            seen: Activity::Waiting,
        }
    }

    /// Polls again, unless the last heartbeat was not evaluated yet: a pause must be counted and logged first.
    fn ask(&mut self, now: u64) {
        if self.is_open {
            return;
        }
        self.is_open = true;
        self.asked_at = now;
        self.before = Usage::of(self.watched.heartbeat.thread());
        self.watched.heartbeat.ask();
        (self.watched.ring)();
    }

    /// Evaluates the heartbeat at a time, in nanoseconds since [`heartbeat::origin`].
    fn look(&mut self, now: u64) -> Option<PauseReport> {
        let heartbeat = &self.watched.heartbeat;
        let answered_at = heartbeat.answered_at();
        let pause = Duration::from_nanos(answered_at.unwrap_or(now).saturating_sub(self.asked_at));
        let is_over = answered_at.is_some();
        if !is_over {
            self.seen = heartbeat.activity();
        }
        let is_told = if is_over { pause >= LOG_THRESHOLD } else { pause >= self.next };
        let finding = is_told.then(|| PauseReport {
            pause,
            is_over,
            activity: self.seen,
            usage: self.before.zip(Usage::of(heartbeat.thread())).map(|(before, after)| Usage {
                ran: after.ran.saturating_sub(before.ran),
                waited: after.waited.saturating_sub(before.waited),
            }),
        });
        if is_over {
            self.is_open = false;
            self.pauses.now.store(0, Ordering::Relaxed);
            self.next = LOG_THRESHOLD;
            self.count(pause);
        } else {
            self.pauses.now.store(nanos(pause), Ordering::Relaxed);
            while self.next <= pause {
                self.next *= 2;
            }
        }
        finding
    }

    /// Ends a pause.
    fn count(&self, pause: Duration) {
        if pause >= PAUSE_THRESHOLD {
            self.pauses.count.fetch_add(1, Ordering::Relaxed);
        }
        self.pauses.longest.fetch_max(nanos(pause), Ordering::Relaxed);
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The watchdog thread. Dropping the handle ends it.
#[derive(Debug)]
pub(crate) struct Watchdog {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    pauses: Vec<Arc<Pauses>>,
}

impl Watchdog {
    /// Starts the watchdog of these threads. Returns when its thread runs, so that it misses no pause from then on.
    ///
    /// # Errors
    /// The system has no free thread.
    pub(crate) fn start(watched: Vec<WatchedThread>) -> io::Result<Self> {
        let cases: Vec<ThreadState> = watched.into_iter().map(ThreadState::new).collect();
        let pauses = cases.iter().map(|case| Arc::clone(&case.pauses)).collect();
        let (stop, stopped) = channel();
        let (started, running) = channel();
        let thread =
            thread::Builder::new().name("watch".into()).spawn(move || watch(cases, &started, &stopped))?;
        running.recv().map_err(io::Error::other)?;
        Ok(Self { stop: Some(stop), thread: Some(thread), pauses })
    }

    /// The pauses of each thread, in the order in which they were given.
    pub(crate) fn pauses(&self) -> Vec<Arc<Pauses>> {
        self.pauses.clone()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has been logged already.
            let _ = thread.join();
        }
    }
}

fn now() -> u64 {
    nanos(heartbeat::origin().elapsed())
}

fn watch(mut cases: Vec<ThreadState>, started: &Sender<()>, stopped: &Receiver<()>) {
    loop {
        let before = now();
        // Nobody receives it after the first time.
        let _ = started.send(());
        cases.iter_mut().for_each(|case| case.ask(now()));
        if !matches!(stopped.recv_timeout(TICK), Err(RecvTimeoutError::Timeout)) {
            return;
        }
        // If this thread has no core, or the process is stopped, the other threads do not run, either.
        let overslept = Duration::from_nanos(now().saturating_sub(before)).saturating_sub(TICK);
        if overslept >= LOG_THRESHOLD {
            warn!(
                "this process did not run for {:.1} s: it was stopped, or had no core",
                overslept.as_secs_f64()
            );
            cases.iter().for_each(|case| case.count(overslept));
        }
        for case in &mut cases {
            if let Some(finding) = case.look(now()) {
                warn!("{} {finding}", case.watched.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn case() -> (ThreadState, Arc<ThreadHeartbeat>) {
        let heartbeat = Arc::new(ThreadHeartbeat::default());
        let watched = WatchedThread {
            name: "a thread".into(),
            heartbeat: Arc::clone(&heartbeat),
            ring: Box::new(|| {}),
        };
        (ThreadState::new(watched), heartbeat)
    }

    // Input:  a thread that beats immediately, then processes a request for five seconds, and continues.
    // Output: no line for the first; the pause is logged after half a second and each time its length has doubled, with
    //         the activity; then its end. The longest pause and the number of pauses are available.
    #[test]
    fn a_pause_is_logged_while_it_lasts() {
        let (mut case, heartbeat) = case();
        heartbeat.begin();
        case.ask(0);
        heartbeat.answer_at(|| 1_000);
        assert_eq!(case.look(SECOND / 4), None);
        assert_eq!((case.pauses.count(), case.pauses.now()), (0, Duration::ZERO));

        let asked = SECOND / 4;
        case.ask(asked);
        heartbeat.set_activity(Activity::Pfcp(50));
        let findings = (1..=20).filter_map(|quarter| case.look(asked + quarter * SECOND / 4));
        let findings: Vec<PauseReport> = findings.collect();
        let pauses: Vec<f64> = findings.iter().map(|finding| finding.pause.as_secs_f64()).collect();
        assert_eq!(pauses, [0.5, 1.0, 2.0, 4.0]);
        assert!(findings.iter().all(|finding| finding.activity == Activity::Pfcp(50) && !finding.is_over));
        let line = findings[3].to_string();
        assert!(
            line.starts_with("has not responded for 4.0 s; last activity: PFCP message of type 50"),
            "{line}"
        );
        assert_eq!(
            (case.pauses.now(), case.pauses.longest()),
            (Duration::from_secs(5), Duration::from_secs(5))
        );

        heartbeat.set_activity(Activity::Waiting);
        heartbeat.answer_at(|| asked + 5 * SECOND + SECOND / 5);
        let over = case.look(asked + 6 * SECOND).unwrap();
        let line = over.to_string();
        assert!(
            line.starts_with("resumed after a pause of 5.2 s; last activity: PFCP message of type 50"),
            "{line}"
        );
        assert_eq!((case.pauses.count(), case.pauses.now()), (1, Duration::ZERO));
        assert_eq!(case.pauses.longest(), Duration::from_millis(5_200));
    }

    // Input:  a thread that beats after two seconds, after it was evaluated and before the next poll.
    // Output: its pause is logged and counted.
    #[test]
    fn an_answer_between_two_looks_is_not_lost() {
        let (mut case, heartbeat) = case();
        case.ask(0);
        let findings = case.look(2 * SECOND).unwrap();
        assert!(!findings.is_over);
        heartbeat.answer_at(|| 2 * SECOND + 1);
        case.ask(2 * SECOND + 2);
        let over = case.look(3 * SECOND).unwrap();
        assert!(over.is_over && over.pause.as_secs() == 2, "{over}");
        assert_eq!((case.pauses.count(), case.pauses.now()), (1, Duration::ZERO));
    }

    #[test]
    fn the_account_of_the_kernel_is_read() {
        let usage = Usage { ran: Duration::from_nanos(12), waited: Duration::from_nanos(34) };
        assert_eq!(Usage::parse("12 34 5\n"), Some(usage));
        assert_eq!((Usage::parse("12"), Usage::parse("a b c"), Usage::of(None)), (None, None, None));
    }

    // Input:  a real thread that beats at each poll, then does not for a while, under a real watchdog.
    // Output: the watchdog sees the pause while it lasts, and its end.
    #[test]
    fn a_thread_is_watched() {
        let heartbeat = Arc::new(ThreadHeartbeat::default());
        let (notifier, rung) = channel();
        let watched = WatchedThread {
            name: "test".into(),
            heartbeat: Arc::clone(&heartbeat),
            ring: Box::new(move || notifier.send(()).unwrap_or(())),
        };
        let watch = Watchdog::start(vec![watched]).unwrap();
        let pauses = watch.pauses();
        heartbeat.begin();
        rung.recv().unwrap();
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while pauses[0].now() < PAUSE_THRESHOLD {
            assert!(std::time::Instant::now() < deadline);
            thread::sleep(Duration::from_millis(10));
        }
        heartbeat.beat();
        while pauses[0].count() == 0 || pauses[0].now() > Duration::ZERO {
            assert!(std::time::Instant::now() < deadline);
            if rung.recv_timeout(Duration::from_millis(10)).is_ok() {
                heartbeat.beat();
            }
        }
        assert!(pauses[0].longest() >= PAUSE_THRESHOLD);
    }
}
