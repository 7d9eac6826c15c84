//! A value that two threads have in turn, of which one waits for it.

use super::sync::{AtomicBool, Mutex, MutexGuard, Ordering, fence};

/// A value for two threads. One waits for it ([`InTurn::wait`]); the other one takes it if the first one neither has it nor waits for it
/// ([`InTurn::try_take`]), and is told to try again when it missed it.
#[derive(Debug)]
pub(crate) struct InTurn<T> {
    value: Mutex<T>,
    /// The thread that waits has the value, or waits for it. It comes first: otherwise the other one, which takes the value again and again, would
    /// keep it out.
    is_wanted: AtomicBool,
    /// The other thread has to be told when the value is free.
    is_missed: AtomicBool,
}

impl<T> InTurn<T> {
    /// Nobody has this value yet.
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Mutex::new(value),
            is_wanted: AtomicBool::new(false),
            is_missed: AtomicBool::new(false),
        }
    }

    /// The value, once the other thread has dropped it. To be given back by [`InTurn::finish`].
    pub(crate) fn wait(&self) -> MutexGuard<'_, T> {
        self.is_wanted.store(true, Ordering::Relaxed);
        self.value.lock().unwrap_or_else(|panicked| panicked.into_inner())
    }

    /// Gives back what [`InTurn::wait`] returned. `true`: the caller has to tell the other thread to try again.
    #[must_use]
    pub(crate) fn finish(&self, value: MutexGuard<'_, T>) -> bool {
        self.is_wanted.store(false, Ordering::Relaxed);
        drop(value);
        // Either this call sees the mark of the other thread, or that thread sees that the value is free.
        fence(Ordering::SeqCst);
        self.is_missed() && self.is_missed.swap(false, Ordering::Relaxed)
    }

    /// The value, without waiting, until it is dropped. `None`: [`InTurn::is_missed`] is true until the thread that waits gives it back.
    pub(crate) fn try_take(&self) -> Option<MutexGuard<'_, T>> {
        if let Some(value) = self.take_unmarked() {
            return Some(value);
        }
        self.is_missed.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let value = self.take_unmarked()?;
        self.is_missed.store(false, Ordering::Relaxed);
        Some(value)
    }

    fn take_unmarked(&self) -> Option<MutexGuard<'_, T>> {
        if self.is_wanted.load(Ordering::Relaxed) {
            return None;
        }
        self.value.try_lock().ok()
    }

    /// Drops what [`InTurn::try_take`] returned: the caller can do nothing with it before the thread that waits has had it, which tells it.
    pub(crate) fn leave(&self, value: MutexGuard<'_, T>) {
        self.is_missed.store(true, Ordering::Relaxed);
        drop(value);
    }

    /// The other thread missed the value, which was not given back since.
    pub(crate) fn is_missed(&self) -> bool {
        self.is_missed.load(Ordering::Relaxed)
    }
}
