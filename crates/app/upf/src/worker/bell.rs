//! What wakes a packet thread, and costs no system call while it is awake.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use causeway_ports::Waker;

use crate::watch::Pulse;

/// The bell of one packet thread. Whoever puts something where the thread looks rings it afterwards.
#[derive(Debug)]
pub(super) struct Bell {
    /// The thread means to sleep, or does.
    is_asleep: AtomicBool,
    /// Commands wait.
    is_called: AtomicBool,
    waker: Waker,
    /// What the thread tells of itself.
    pulse: Arc<Pulse>,
}

impl Bell {
    /// The bell of the thread that waits with this waker.
    pub(super) fn new(waker: Waker) -> Self {
        let pulse = Arc::default();
        Self { is_asleep: AtomicBool::new(false), is_called: AtomicBool::new(false), waker, pulse }
    }

    /// What the thread tells of itself. It answers after it was called.
    pub(super) const fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// What the thread waits with.
    pub(super) const fn waker(&self) -> &Waker {
        &self.waker
    }

    /// There is something for the thread, which was put there before this call.
    pub(super) fn ring(&self) {
        // Either this sees that the thread means to sleep, or the thread sees what was put there.
        fence(Ordering::SeqCst);
        if self.is_asleep.load(Ordering::Relaxed) {
            self.waker.wake();
        }
    }

    /// Commands wait, which were queued before this call.
    pub(super) fn call(&self) {
        self.is_called.store(true, Ordering::Release);
        self.ring();
    }

    /// Commands wait. They are to be taken, as it does not say so again.
    pub(super) fn was_called(&self) -> bool {
        // Most turns find none, and leave the line to whoever has it.
        self.is_called.load(Ordering::Relaxed) && self.is_called.swap(false, Ordering::Acquire)
    }

    /// The thread means to sleep, and looks once more at what is there after this call. `false`: commands wait.
    pub(super) fn falls_asleep(&self) -> bool {
        self.is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        !self.is_called.load(Ordering::Relaxed)
    }

    /// The thread is awake.
    pub(super) fn is_awake(&self) {
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
        let bell = Arc::new(Bell::new(Waker::new().unwrap()));
        let (commands, received) = channel();
        let caller = Arc::clone(&bell);
        let sender = std::thread::spawn(move || {
            for n in 0..50_000_u32 {
                commands.send(n).unwrap();
                caller.call();
            }
        });
        let mut next = 0;
        while next < 50_000 {
            if bell.falls_asleep() {
                wait([], Some(bell.waker()), None).unwrap();
            }
            bell.is_awake();
            if bell.was_called() {
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
    fn who_is_awake_is_not_woken() {
        let bell = Bell::new(Waker::new().unwrap());
        bell.call();
        assert!(!bell.waker().reset());
        assert!(bell.was_called() && !bell.was_called());
        assert!(bell.falls_asleep());
        bell.call();
        assert!(bell.waker().reset());
        assert!(!bell.falls_asleep() && bell.was_called());
    }
}
