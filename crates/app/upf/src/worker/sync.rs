//! What the shared state of packet threads is made of. `tests/interleavings` compiles the modules that use it with another module of
//! this name, of which it explores all interleavings.

pub(super) use std::hash::RandomState;
pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
pub(super) use std::sync::{Mutex, MutexGuard};

pub(super) use causeway_ports::Waker;
pub(super) use rtrb::{Consumer, Producer, RingBuffer};
