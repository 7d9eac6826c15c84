//! Models of two threads that have a value in turn.

use loom::sync::Arc;
use loom::thread;

use super::explore;
use super::in_turn::InTurn;
use super::sync::Waker;

/// The value, and the waker of the thread that never waits for it.
struct Shared {
    value: InTurn<u32>,
    waker: Waker,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self { value: InTurn::new(0), waker: Waker::new() })
    }

    /// A turn of the thread that waits.
    fn turn(&self) {
        let mut value = self.value.wait();
        *value += 1;
        if self.value.finish(value) {
            self.waker.wake();
        }
    }

    /// A turn of the other thread. `false`: it missed the value, and is told when it is free.
    fn try_turn(&self) -> bool {
        let Some(mut value) = self.value.try_take() else { return false };
        *value += 1;
        true
    }
}

/// A thread takes the value twice, waiting; the other one needs it once, and sleeps when it missed it: it is told when it can have it.
///
/// # Panics
/// It sleeps for ever, or a change is lost.
pub fn a_turn_that_was_missed_comes() {
    explore(3, || {
        let shared = Shared::new();
        let own = Arc::clone(&shared);
        let packets = thread::spawn(move || {
            while !own.try_turn() {
                own.waker.wait();
            }
        });
        shared.turn();
        shared.turn();
        packets.join().expect("it ends");
        assert_eq!((*shared.value.wait(), shared.value.is_missed()), (3, false));
    });
}

/// A thread takes the value and can do nothing with it before the one that waits has had it, which tells it.
///
/// # Panics
/// It sleeps for ever.
pub fn the_waiting_thread_comes_first() {
    explore(3, || {
        let shared = Shared::new();
        let own = Arc::clone(&shared);
        let packets = thread::spawn(move || {
            loop {
                if let Some(value) = own.value.try_take() {
                    if *value > 0 {
                        return;
                    }
                    own.value.leave(value);
                }
                own.waker.wait();
            }
        });
        shared.turn();
        packets.join().expect("it ends");
    });
}
