//! The notifier of a packet thread. It costs no system call while the thread is active.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::task::Wake;

use causeway_ports::Waker;

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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use causeway_ports::wait;

    use super::*;

    // Input:  fifty thousand numbered commands from one thread to another that sleeps whenever none is queued.
    // Output: all arrive, once and in order.
    #[test]
    fn no_command_is_slept_through() {
        let notifier = Arc::new(Notifier::new(Waker::new().unwrap()));
        let (commands, received) = channel();
        let caller = Arc::clone(&notifier);
        let sender = std::thread::spawn(move || {
            for n in 0..50_000_u32 {
                commands.send(n).unwrap();
                caller.notify_commands();
            }
        });
        let mut next = 0;
        while next < 50_000 {
            if notifier.prepare_sleep() {
                wait([], Some(notifier.waker()), None).unwrap();
            }
            notifier.mark_awake();
            if notifier.take_commands_flag() {
                while let Ok(n) = received.try_recv() {
                    assert_eq!(n, next);
                    next += 1;
                }
            }
        }
        sender.join().unwrap();
    }

    // Input:  a notification while the thread is active, then one while it is about to sleep.
    // Output: only the second wakes the thread; each is seen once.
    #[test]
    fn an_active_thread_is_not_notified() {
        let notifier = Notifier::new(Waker::new().unwrap());
        notifier.notify_commands();
        assert!(!notifier.waker().reset());
        assert!(notifier.take_commands_flag() && !notifier.take_commands_flag());
        assert!(notifier.prepare_sleep());
        notifier.notify_commands();
        assert!(notifier.waker().reset());
        assert!(!notifier.prepare_sleep() && notifier.take_commands_flag());
    }
}
