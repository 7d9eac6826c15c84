//! A value that threads use in turn, of which only one ever waits for it.

use std::hint;

use super::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering, fence};

/// A value for several threads. One waits for it ([`InTurn::wait`]); the others, each with a number below 64, take it if nobody has it
/// and that one does not wait for it ([`InTurn::try_take`], some times in a row [`InTurn::take_soon`]), and are told to try again when they missed it.
#[derive(Debug)]
pub(crate) struct InTurn<T> {
    value: Mutex<T>,
    /// The thread that waits has the value, or waits for it. It comes first: otherwise those that take the value again and again would keep
    /// it out.
    is_wanted: AtomicBool,
    /// The threads that have to be told when the value is free, one bit each.
    missed: AtomicU64,
}

impl<T> InTurn<T> {
    /// Nobody has this value yet.
    pub(crate) fn new(value: T) -> Self {
        Self { value: Mutex::new(value), is_wanted: AtomicBool::new(false), missed: AtomicU64::new(0) }
    }

    /// The value, once another thread has given it back. To be given back by [`InTurn::finish`].
    pub(crate) fn wait(&self) -> MutexGuard<'_, T> {
        self.is_wanted.store(true, Ordering::Relaxed);
        self.value.lock().unwrap_or_else(|panicked| panicked.into_inner())
    }

    /// Gives back what [`InTurn::wait`] returned. The caller has to tell the threads of these bits to try again.
    #[must_use]
    pub(crate) fn finish(&self, value: MutexGuard<'_, T>) -> u64 {
        self.is_wanted.store(false, Ordering::Relaxed);
        self.give_back(value)
    }

    /// The thread that waits has the value, or waits for it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// Gives back what [`InTurn::try_take`] returned. The caller has to tell the threads of these bits to try again.
    #[must_use]
    pub(crate) fn give_back(&self, value: MutexGuard<'_, T>) -> u64 {
        drop(value);
        // Either this call sees the mark of another thread, or that thread sees that the value is free.
        fence(Ordering::SeqCst);
        if self.missed.load(Ordering::Relaxed) == 0 { 0 } else { self.missed.swap(0, Ordering::Relaxed) }
    }

    /// The value, without waiting, for this thread. `None`: [`InTurn::is_missed`] is true until another thread gives it back.
    pub(crate) fn try_take(&self, thread: usize) -> Option<MutexGuard<'_, T>> {
        if let Some(value) = self.take_unmarked() {
            return Some(value);
        }
        self.mark_missed(thread);
        fence(Ordering::SeqCst);
        let value = self.take_unmarked()?;
        self.missed.fetch_and(!bit(thread), Ordering::Relaxed);
        Some(value)
    }

    /// The same, after up to so many tries with pauses of about a microsecond while another thread that never waits has the value. The thread that
    /// waits comes first.
    pub(crate) fn take_soon(&self, thread: usize, tries: u32) -> Option<MutexGuard<'_, T>> {
        for _ in 1..tries {
            if self.is_wanted() {
                break;
            }
            if let Some(value) = self.take_unmarked() {
                return Some(value);
            }
            (0..PAUSES).for_each(|_| hint::spin_loop());
        }
        self.try_take(thread)
    }

    fn take_unmarked(&self) -> Option<MutexGuard<'_, T>> {
        if self.is_wanted() {
            return None;
        }
        self.value.try_lock().ok()
    }

    /// Gives back what [`InTurn::try_take`] returned: this thread can do nothing with it before the thread that waits has had it, which tells
    /// it, and all that missed it.
    pub(crate) fn leave(&self, value: MutexGuard<'_, T>, thread: usize) {
        self.mark_missed(thread);
        drop(value);
    }

    fn mark_missed(&self, thread: usize) {
        self.missed.fetch_or(bit(thread), Ordering::Relaxed);
    }

    /// The threads that missed the value, which was not given back since, one bit each.
    pub(crate) fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// This thread missed the value, which was not given back since.
    pub(crate) fn is_missed(&self, thread: usize) -> bool {
        self.missed() & bit(thread) != 0
    }
}

/// Processor pauses between two tries of [`InTurn::take_soon`].
const PAUSES: u32 = 16;

const fn bit(thread: usize) -> u64 {
    1 << (thread % 64)
}
