//! Models of threads that use a value in turn.

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

use super::explore;
use super::in_turn::InTurn;
use super::sync::Waker;

/// The value, and the wakers of the threads that never wait for it.
struct Shared {
    value: InTurn<u32>,
    wakers: Vec<Waker>,
}

impl Shared {
    fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self { value: InTurn::new(0), wakers: (0..threads).map(|_| Waker::new()).collect() })
    }

    /// A turn of the thread that waits.
    fn turn(&self) {
        let mut value = self.value.wait();
        *value += 1;
        self.tell(self.value.finish(value));
    }

    /// A turn of another thread. `false`: it missed the value, and is told when it is free.
    fn try_turn(&self, thread: usize) -> bool {
        let Some(mut value) = self.value.take_soon(thread, 2) else { return false };
        *value += 1;
        self.tell(self.value.give_back(value));
        true
    }

    fn tell(&self, missed: u64) {
        let told = self.wakers.iter().enumerate().filter(|(thread, _)| missed & 1 << thread != 0);
        told.for_each(|(_, waker)| waker.wake());
    }
}

/// A thread that needs the value once, and sleeps when it missed it.
fn once(shared: &Arc<Shared>, number: usize) -> JoinHandle<()> {
    let own = Arc::clone(shared);
    thread::spawn(move || {
        while !own.try_turn(number) {
            own.wakers[number].wait();
        }
    })
}

/// A thread takes the value twice, waiting; another needs it once, and sleeps when it missed it: it is told when it can have it.
///
/// # Panics
/// It sleeps for ever, or a change is lost.
pub fn a_turn_that_was_missed_comes() {
    explore(3, || {
        let shared = Shared::new(1);
        let packets = once(&shared, 0);
        shared.turn();
        shared.turn();
        packets.join().expect("it ends");
        assert_eq!(*shared.value.wait(), 3);
    });
}

/// Two threads that never wait need the value once each, beside one that waits: each is told by the one that it missed it for.
///
/// # Panics
/// One sleeps for ever, or a change is lost.
pub fn each_thread_that_missed_it_is_told() {
    explore(2, || {
        let shared = Shared::new(2);
        let packets = [0, 1].map(|number| once(&shared, number));
        shared.turn();
        packets.into_iter().for_each(|thread| thread.join().expect("it ends"));
        assert_eq!((*shared.value.wait(), shared.value.missed()), (3, 0));
    });
}

/// Two threads take the value and can do nothing with it before the one that waits has had it: it tells both.
///
/// # Panics
/// One sleeps for ever.
pub fn the_waiting_thread_comes_first() {
    explore(2, || {
        let shared = Shared::new(2);
        let packets = [0, 1].map(|number| {
            let own = Arc::clone(&shared);
            thread::spawn(move || {
                loop {
                    if let Some(value) = own.value.try_take(number) {
                        if *value > 0 {
                            return own.tell(own.value.give_back(value));
                        }
                        own.value.leave(value, number);
                    }
                    own.wakers[number].wait();
                }
            })
        });
        shared.turn();
        packets.into_iter().for_each(|thread| thread.join().expect("it ends"));
    });
}
