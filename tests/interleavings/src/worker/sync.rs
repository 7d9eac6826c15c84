//! The atomics, waker and rings that loom explores, in place of those of the module of that name in the daemon.

use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, Mutex as Slot, PoisonError};

use loom::sync::Condvar;
use loom::sync::atomic::AtomicUsize;
pub(super) use loom::sync::atomic::{AtomicU64, Ordering, fence};
pub(super) use loom::sync::{Mutex, MutexGuard};

/// A flag. A store is made by exchange, since loom would let a later load see what an exchange between two stores wrote, as if it were
/// after both.
#[derive(Debug)]
pub(super) struct AtomicBool(loom::sync::atomic::AtomicBool);

impl AtomicBool {
    pub(super) fn new(value: bool) -> Self {
        Self(loom::sync::atomic::AtomicBool::new(value))
    }

    pub(super) fn load(&self, order: Ordering) -> bool {
        self.0.load(order)
    }

    pub(super) fn store(&self, value: bool, order: Ordering) {
        self.0.swap(value, order);
    }

    pub(super) fn swap(&self, value: bool, order: Ordering) -> bool {
        self.0.swap(value, order)
    }
}

/// Every run of a model does the same, so hashes have no secret.
pub(super) type RandomState = BuildHasherDefault<DefaultHasher>;

/// An eventfd: a call is kept until somebody waits.
#[derive(Debug)]
pub(super) struct Waker {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Waker {
    pub(super) fn new() -> Self {
        Self { is_set: Mutex::new(false), changed: Condvar::new() }
    }

    pub(super) fn wake(&self) {
        *self.is_set.lock().expect("no thread panics with it") = true;
        self.changed.notify_one();
    }

    /// Takes a call that was made, without waiting.
    pub(super) fn reset(&self) -> bool {
        std::mem::take(&mut *self.is_set.lock().expect("no thread panics with it"))
    }

    /// Waits for a call, and takes it.
    pub(super) fn wait(&self) {
        let mut is_set = self.is_set.lock().expect("no thread panics with it");
        while !std::mem::take(&mut *is_set) {
            is_set = self.changed.wait(is_set).expect("no thread panics with it");
        }
    }
}

/// A ring with one sender and one receiver: the atomics of rtrb 0.4, with its orders. Slots are no part of what is explored.
pub(super) struct RingBuffer;

struct Shared<T> {
    slots: Box<[Slot<Option<T>>]>,
    /// How many items were taken, and how many were put.
    head: AtomicUsize,
    tail: AtomicUsize,
}

/// The sending end.
pub(super) struct Producer<T> {
    shared: Arc<Shared<T>>,
    /// As read last.
    head: usize,
    tail: usize,
}

/// The receiving end.
pub(super) struct Consumer<T> {
    shared: Arc<Shared<T>>,
    head: usize,
    /// As read last.
    tail: usize,
}

impl RingBuffer {
    #[allow(clippy::new_ret_no_self, reason = "as in rtrb")]
    pub(super) fn new<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
        let slots = (0..capacity).map(|_| Slot::new(None)).collect();
        let shared = Arc::new(Shared { slots, head: AtomicUsize::new(0), tail: AtomicUsize::new(0) });
        (Producer { shared: Arc::clone(&shared), head: 0, tail: 0 }, Consumer { shared, head: 0, tail: 0 })
    }
}

impl<T> Shared<T> {
    fn slot(&self, number: usize) -> std::sync::MutexGuard<'_, Option<T>> {
        self.slots[number % self.slots.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Producer<T> {
    pub(super) fn push(&mut self, item: T) -> Result<(), T> {
        if self.tail - self.head == self.shared.slots.len() {
            self.head = self.shared.head.load(Ordering::Acquire);
            if self.tail - self.head == self.shared.slots.len() {
                return Err(item);
            }
        }
        assert!(self.shared.slot(self.tail).replace(item).is_none(), "an item is overwritten");
        self.tail += 1;
        self.shared.tail.store(self.tail, Ordering::Release);
        Ok(())
    }
}

impl<T> Consumer<T> {
    pub(super) fn pop(&mut self) -> Result<T, ()> {
        if self.head == self.tail {
            self.tail = self.shared.tail.load(Ordering::Acquire);
            if self.head == self.tail {
                return Err(());
            }
        }
        let item = self.shared.slot(self.head).take();
        self.head += 1;
        self.shared.head.store(self.head, Ordering::Release);
        Ok(item.expect("what was put"))
    }

    /// The number of items that can be taken.
    pub(super) fn slots(&self) -> usize {
        self.shared.tail.load(Ordering::Acquire) - self.head
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head == self.shared.tail.load(Ordering::Acquire)
    }
}
