//! The notifier of a packet thread. It costs no system call while the thread is active.

use std::sync::Arc;
use std::task::Wake;

use super::sync::{AtomicBool, Ordering, Waker, fence};
use crate::watchdog::ThreadHeartbeat;

/// The notifier of one packet thread. A sender first queues its item, then notifies.
#[derive(Debug)]
pub(super) struct Notifier {
    /// The thread is about to sleep, or sleeps.
    is_asleep: AtomicBool,
    /// Commands are queued.
    is_called: AtomicBool,
    waker: Waker,
    /// The heartbeat of the thread.
    heartbeat: Arc<ThreadHeartbeat>,
}

impl Notifier {
    /// The notifier of the thread that waits with this waker.
    pub(super) fn new(waker: Waker) -> Self {
        let heartbeat = Arc::default();
        Self { is_asleep: AtomicBool::new(false), is_called: AtomicBool::new(false), waker, heartbeat }
    }

    /// The heartbeat of the thread. The thread beats after a notification of commands.
    pub(super) const fn heartbeat(&self) -> &Arc<ThreadHeartbeat> {
        &self.heartbeat
    }

    /// The waker of the thread.
    pub(super) const fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Notifies the thread of an item that was queued before this call.
    pub(super) fn notify(&self) {
        // Either this call sees that the thread is about to sleep, or the thread sees the queued item.
        fence(Ordering::SeqCst);
        if self.is_asleep.load(Ordering::Relaxed) {
            self.waker.wake();
        }
    }

    /// Notifies the thread of commands that were queued before this call.
    pub(super) fn notify_commands(&self) {
        self.is_called.store(true, Ordering::Release);
        self.notify();
    }

    /// Whether commands are queued.
    pub(super) fn has_commands(&self) -> bool {
        self.is_called.load(Ordering::Relaxed)
    }

    /// Whether commands are queued. This clears the flag, so that the caller must handle them.
    pub(super) fn take_commands_flag(&self) -> bool {
        // Most turns find none, and leave the cache line with its present owner.
        self.is_called.load(Ordering::Relaxed) && self.is_called.swap(false, Ordering::Acquire)
    }

    /// Announces that the thread is about to sleep. It must check its queues once more after this call. `false`:
    /// commands are queued.
    pub(super) fn prepare_sleep(&self) -> bool {
        self.is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        !self.is_called.load(Ordering::Relaxed)
    }

    /// Marks the thread as active.
    pub(super) fn mark_awake(&self) {
        self.is_asleep.store(false, Ordering::Relaxed);
    }
}

/// The waker of a data plane: the thread then polls it, as after commands.
impl Wake for Notifier {
    fn wake(self: Arc<Self>) {
        self.notify_commands();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notify_commands();
    }
}
