//! A value that two threads use in turn, one of which never waits for it.

use super::sync::{AtomicBool, Mutex, MutexGuard, Ordering, fence};

/// A value for two threads. One waits for it ([`InTurn::wait`]); the other takes it if nobody has it or waits for it
/// ([`InTurn::try_take`]), and is told to try again when it missed it.
#[derive(Debug)]
pub(crate) struct InTurn<T> {
    value: Mutex<T>,
    /// The thread that waits has no value yet. It comes first: otherwise one that takes the value again and again would keep it out.
    is_wanted: AtomicBool,
    /// The thread that never waits has to be told when the value is free.
    is_missed: AtomicBool,
}

impl<T> InTurn<T> {
    /// Nobody has this value yet.
    pub(crate) fn new(value: T) -> Self {
        let flag = || AtomicBool::new(false);
        Self { value: Mutex::new(value), is_wanted: flag(), is_missed: flag() }
    }

    /// The value, once the other thread has given it back. To be given back by [`InTurn::give_back`].
    pub(crate) fn wait(&self) -> MutexGuard<'_, T> {
        self.is_wanted.store(true, Ordering::Relaxed);
        let value = self.value.lock().unwrap_or_else(|panicked| panicked.into_inner());
        self.is_wanted.store(false, Ordering::Relaxed);
        value
    }

    /// Gives back what [`InTurn::wait`] returned. `true`: the caller has to tell the other thread to try again.
    #[must_use]
    pub(crate) fn give_back(&self, value: MutexGuard<'_, T>) -> bool {
        drop(value);
        // Either this call sees the mark of the other thread, or that thread sees that the value is free.
        fence(Ordering::SeqCst);
        self.is_missed.load(Ordering::Relaxed) && self.is_missed.swap(false, Ordering::Relaxed)
    }

    /// The value, without waiting. `None`: [`InTurn::is_missed`] is true until the other thread gives it back.
    pub(crate) fn try_take(&self) -> Option<MutexGuard<'_, T>> {
        if let Some(value) = self.take_unmarked() {
            return Some(value);
        }
        self.mark_missed();
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

    /// The caller of [`InTurn::try_take`] can do nothing with the value before the other thread has had it.
    pub(crate) fn mark_missed(&self) {
        self.is_missed.store(true, Ordering::Relaxed);
    }

    /// The value was missed, and not given back since.
    pub(crate) fn is_missed(&self) -> bool {
        self.is_missed.load(Ordering::Relaxed)
    }
}
