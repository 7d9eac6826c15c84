//! The timer of the control thread.

use std::pin::Pin;
use std::time::Duration;

use causeway_types::Time;
use tokio::time::{Instant, Sleep, sleep};

use crate::clock::Clock;

/// How long it waits at most while something is due some time.
///
/// To put a timer forward takes a system call and wakes the thread, and each request sent is due to be repeated sooner than the next
/// heartbeat. With this, timers of half a second and more are never put forward.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Goes off when something is due, or before.
pub(super) struct WakeTimer {
    clock: Clock,
    sleep: Pin<Box<Sleep>>,
    /// When it goes off; `None`: not at all.
    at: Option<Time>,
}

impl WakeTimer {
    /// One that does not go off.
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, sleep: Box::pin(sleep(Duration::MAX)), at: None }
    }

    /// Something is due then, at the soonest.
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

    /// Waits until it goes off. It has to be set again then.
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

    // Input:  an alarm for nothing, then for something due in an hour, then for something due in a millisecond.
    // Output: it waits without end, then for half a second, and goes off for the last, but not before it is due.
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
