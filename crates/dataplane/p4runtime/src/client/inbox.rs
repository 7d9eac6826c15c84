//! The queue from the driver's thread to its owner.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use causeway_switch::driver::{Link, Outcome, Ticket};

/// The most frames that wait for the owner.
pub(super) const MOST_PACKETS: usize = 8192;

/// Wakes the owner.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// Outcomes, frames, and changes of the connection.
pub(super) struct Inbox {
    content: Mutex<Content>,
    arrived: Condvar,
    wake: Option<Wake>,
}

#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) outcomes: VecDeque<(Ticket, Outcome)>,
    pub(super) packets: VecDeque<Vec<u8>>,
    pub(super) links: VecDeque<Link>,
    pub(super) lost_packets: u64,
}

impl Content {
    pub(super) fn is_empty(&self) -> bool {
        self.outcomes.is_empty() && self.packets.is_empty() && self.links.is_empty()
    }
}

impl Inbox {
    pub(super) fn new(wake: Option<Wake>) -> Self {
        Self { content: Mutex::default(), arrived: Condvar::new(), wake }
    }

    pub(super) fn outcome(&self, ticket: Ticket, outcome: Outcome) {
        self.open().outcomes.push_back((ticket, outcome));
        self.notify();
    }

    pub(super) fn link(&self, link: Link) {
        self.open().links.push_back(link);
        self.notify();
    }

    /// A frame that exceeds the queue is counted as lost.
    pub(super) fn packet(&self, frame: Vec<u8>) {
        let mut content = self.open();
        if content.packets.len() < MOST_PACKETS {
            content.packets.push_back(frame);
            drop(content);
            self.notify();
        } else {
            content.lost_packets += 1;
        }
    }

    pub(super) fn open(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the queue has an item; false if it is empty after that time.
    pub(super) fn wait(&self, longest: Duration) -> bool {
        let end = Instant::now() + longest;
        let mut content = self.open();
        while content.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.arrived.wait_timeout(content, left);
            content = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn notify(&self) {
        self.arrived.notify_all();
        if let Some(wake) = &self.wake {
            wake();
        }
    }
}
