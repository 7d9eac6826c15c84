//! Cores that are kept from other threads for a while.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::thread::gettid;

use super::pin;
use crate::BenchError;

/// Cores on which nothing else runs between [`HeldCores::hold`] and [`HeldCores::release`].
pub(crate) struct HeldCores {
    shared: Arc<Shared>,
    blockers: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// `None`: the blockers end.
    wanted: Mutex<Option<bool>>,
    changed: Condvar,
    is_held: AtomicBool,
    /// Blockers that have their core.
    blocking: AtomicUsize,
}

impl HeldCores {
    /// These cores, not held yet.
    ///
    /// # Errors
    /// As [`come_first`].
    pub(crate) fn new(cores: impl IntoIterator<Item = usize>) -> Result<Self, BenchError> {
        let shared = Arc::new(Shared { wanted: Mutex::new(Some(false)), ..Shared::default() });
        let mut held = Self { shared, blockers: Vec::new() };
        for core in cores {
            let (shared, (ready, is_ready)) = (Arc::clone(&held.shared), std::sync::mpsc::channel());
            let block = move || {
                let begun = pin(core).and_then(|()| come_first());
                let is_good = begun.is_ok();
                // Whoever made this thread waits for it.
                let _ = ready.send(begun);
                if is_good {
                    shared.block();
                }
            };
            held.blockers.push(thread::spawn(block));
            is_ready.recv().unwrap_or_else(|_| Err(BenchError::Needs("a thread for each core".into())))?;
        }
        Ok(held)
    }

    /// Returns when no other thread runs on these cores.
    pub(crate) fn hold(&self) {
        self.shared.is_held.store(true, Ordering::SeqCst);
        self.shared.want(Some(true));
        while self.shared.blocking.load(Ordering::SeqCst) < self.blockers.len() {
            std::hint::spin_loop();
        }
    }

    /// Other threads may run there again.
    pub(crate) fn release(&self) {
        self.shared.want(Some(false));
        self.shared.is_held.store(false, Ordering::SeqCst);
    }
}

impl Drop for HeldCores {
    fn drop(&mut self) {
        self.shared.want(None);
        self.shared.is_held.store(false, Ordering::SeqCst);
        for blocker in self.blockers.drain(..) {
            // A panic there was reported when it happened.
            let _ = blocker.join();
        }
    }
}

impl Shared {
    fn want(&self, wanted: Option<bool>) {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
        self.changed.notify_all();
    }

    fn block(&self) {
        loop {
            let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            let waiting = self.changed.wait_while(wanted, |wanted| *wanted == Some(false));
            if waiting.unwrap_or_else(PoisonError::into_inner).is_none() {
                return;
            }
            self.blocking.fetch_add(1, Ordering::SeqCst);
            while self.is_held.load(Ordering::SeqCst) {
                std::hint::spin_loop();
            }
            self.blocking.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// The calling thread runs before all others on its core, whenever it does not wait.
///
/// # Errors
/// [`BenchError::Needs`] without chrt(1), or without the right.
pub(crate) fn come_first() -> Result<(), BenchError> {
    let thread = gettid().as_raw_nonzero().to_string();
    let done = Command::new("chrt").args(["--fifo", "--pid", "1", &thread]).output();
    match done {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => Err(BenchError::Needs(format!(
            "the right to schedule threads with SCHED_FIFO: {}",
            String::from_utf8_lossy(&done.stderr).trim()
        ))),
        Err(error) => Err(BenchError::Needs(format!("chrt (util-linux): {error}"))),
    }
}
