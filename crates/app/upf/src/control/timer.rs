//! The timer of the control thread.

use std::pin::Pin;
use std::time::Duration;

use causeway_types::Time;
use tokio::time::{Instant, Sleep, sleep};

use crate::clock::Clock;

/// Maximum wait while a deadline is set.
///
/// Setting a timer to an earlier time takes a system call and wakes the thread, and the retransmission of each request
/// is due before the next heartbeat. With this limit, timers of half a second and more never need an earlier time.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Fires at the deadline, or before.
pub(super) struct WakeTimer {
    clock: Clock,
    sleep: Pin<Box<Sleep>>,
    /// The time at which it fires; `None`: never.
    at: Option<Time>,
}

impl WakeTimer {
    /// A timer that never fires.
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, sleep: Box::pin(sleep(Duration::MAX)), at: None }
    }

    /// Sets the earliest deadline.
    pub(super) fn set(&mut self, due: Option<Time>) {
        let is_soon_enough = match (self.at, due) {
            (Some(at), Some(due)) => at <= due,
            (_, due) => due.is_none(),
        };
        if let Some(due) = due.filter(|_| !is_soon_enough) {
            let now = self.clock.now();
            let left = due.since(now).min(TIMEOUT);
            self.at = Some(now + left);
            self.sleep.as_mut().reset(Instant::now() + left);
        }
    }

    /// The time at which it fires; `None`: never.
    pub(super) const fn due(&self) -> Option<Time> {
        self.at
    }

    /// Waits until the timer fires. It must be set again afterwards.
    pub(super) async fn wait(&mut self) {
        if self.at.is_none() {
            return std::future::pending().await;
        }
        self.sleep.as_mut().await;
        self.at = None;
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;

    // Input:  a timer without a deadline, then with one in an hour, then with one in a millisecond.
    // Output: it waits without end, then for half a second, and fires for the last, but not before the deadline.
    #[tokio::test]
    async fn the_timer_fires_in_time() {
        let clock = Clock::new();
        let mut timer = WakeTimer::new(clock);
        let start = clock.now();
        timer.set(None);
        assert_eq!(timer.at, None);
        let is_over = poll_fn(|context| Poll::Ready(std::pin::pin!(timer.wait()).poll(context).is_ready()));
        assert!(!is_over.await);
        timer.set(Some(start + Duration::from_secs(3600)));
        let first = timer.at.unwrap();
        assert!(first >= start + TIMEOUT && first < start + Duration::from_secs(3600));
        timer.set(Some(first + Duration::from_millis(1)));
        assert_eq!(timer.at, Some(first));
        timer.set(Some(start + Duration::from_millis(1)));
        assert!(timer.at.unwrap() < first);
        timer.wait().await;
        assert!(clock.now() >= start + Duration::from_millis(1));
        assert_eq!(timer.at, None);
    }
}
