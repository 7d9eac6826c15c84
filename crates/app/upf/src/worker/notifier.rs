//! What wakes a packet thread, and costs no system call while it is awake.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use causeway_ports::Waker;

use crate::watchdog::ThreadHeartbeat;

/// The bell of one packet thread. Whoever puts something where the thread looks rings it afterwards.
#[derive(Debug)]
pub(super) struct Notifier {
    /// The thread means to sleep, or does.
    is_asleep: AtomicBool,
    /// Commands wait.
    is_called: AtomicBool,
    waker: Waker,
    /// What the thread tells of itself.
    heartbeat: Arc<ThreadHeartbeat>,
}

impl Notifier {
    /// The bell of the thread that waits with this waker.
    pub(super) fn new(waker: Waker) -> Self {
        let heartbeat = Arc::default();
        Self { is_asleep: AtomicBool::new(false), is_called: AtomicBool::new(false), waker, heartbeat }
    }

    /// What the thread tells of itself. It answers after it was called.
    pub(super) const fn heartbeat(&self) -> &Arc<ThreadHeartbeat> {
        &self.heartbeat
    }

    /// What the thread waits with.
    pub(super) const fn waker(&self) -> &Waker {
        &self.waker
    }

    /// There is something for the thread, which was put there before this call.
    pub(super) fn notify(&self) {
        // Either this sees that the thread means to sleep, or the thread sees what was put there.
        fence(Ordering::SeqCst);
        if self.is_asleep.load(Ordering::Relaxed) {
            self.waker.wake();
        }
    }

    /// Commands wait, which were queued before this call.
    pub(super) fn notify_commands(&self) {
        self.is_called.store(true, Ordering::Release);
        self.notify();
    }

    /// Commands wait. They are to be taken, as it does not say so again.
    pub(super) fn take_commands_flag(&self) -> bool {
        // Most turns find none, and leave the line to whoever has it.
        self.is_called.load(Ordering::Relaxed) && self.is_called.swap(false, Ordering::Acquire)
    }

    /// The thread means to sleep, and looks once more at what is there after this call. `false`: commands wait.
    pub(super) fn prepare_sleep(&self) -> bool {
        self.is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        !self.is_called.load(Ordering::Relaxed)
    }

    /// The thread is awake.
    pub(super) fn mark_awake(&self) {
        self.is_asleep.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use causeway_ports::wait;

    use super::*;

    // Input:  fifty thousand numbered commands from one thread to another that sleeps whenever none waits.
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

    // Input:  a call while the thread is awake, then one while it means to sleep.
    // Output: only the second wakes; each is told once.
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
