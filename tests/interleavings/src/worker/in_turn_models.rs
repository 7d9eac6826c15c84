//! Models of two threads that use a value in turn.

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
        if self.value.give_back(value) {
            self.waker.wake();
        }
    }
}

/// A thread takes the value twice, waiting; the other needs it once, and sleeps when it missed it: it is told when it can have it.
///
/// # Panics
/// It sleeps for ever, or a change is lost.
pub fn a_turn_that_was_missed_comes() {
    explore(3, || {
        let shared = Shared::new();
        let own = Arc::clone(&shared);
        let packets = thread::spawn(move || {
            loop {
                match own.value.try_take() {
                    Some(mut value) => {
                        *value += 1;
                        return;
                    }
                    None => own.waker.wait(),
                }
            }
        });
        shared.turn();
        shared.turn();
        packets.join().expect("it ends");
        assert_eq!(*shared.value.wait(), 3);
    });
}

/// A thread takes the value and says that it can do nothing with it before the other has had it: the other tells it.
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
                    own.value.mark_missed();
                }
                own.waker.wait();
            }
        });
        shared.turn();
        packets.join().expect("it ends");
    });
}
