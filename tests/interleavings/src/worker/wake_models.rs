//! Models of a packet thread that sleeps when nothing is queued.

use std::sync::Arc;

use causeway_dataplane::ReceiveSource;
use causeway_packet::{Frame, Meta};
use loom::sync::atomic::AtomicUsize;
use loom::thread::{self, JoinHandle};

use super::explore;
use super::handoff_ring::{RingReceiver, RingSender, ring_of};
use super::notifier::Notifier;
use super::sync::{Ordering, Waker};

/// Words of a stack that holds batches.
const STACK: usize = 1 << 17;

/// The turn of a packet thread begins: it sleeps unless something is queued, as `PacketLoop::wait` does.
fn wait(notifier: &Notifier, is_idle: impl Fn() -> bool) {
    if notifier.prepare_sleep() && is_idle() {
        notifier.waker().wait();
    } else {
        notifier.waker().reset();
    }
    notifier.mark_awake();
}

/// Two commands from one thread to another that sleeps whenever none is queued: it wakes up for each, and finds it.
///
/// # Panics
/// A command is slept through.
pub fn no_command_is_slept_through() {
    explore(3, || {
        let notifier = Arc::new(Notifier::new(Waker::new()));
        // How many commands are queued: what a channel holds.
        let queued = Arc::new(AtomicUsize::new(0));
        let (caller, queue) = (Arc::clone(&notifier), Arc::clone(&queued));
        let sender = thread::spawn(move || {
            for number in 1..=2 {
                // The flag alone must make the command visible.
                queue.store(number, Ordering::Relaxed);
                caller.notify_commands();
            }
        });
        let mut done = 0;
        while done < 2 {
            wait(&notifier, || true);
            if notifier.take_commands_flag() {
                done = queued.load(Ordering::Relaxed);
            }
        }
        sender.join().expect("the sender ends");
    });
}

fn push(sender: &mut RingSender, number: u8) -> bool {
    let is_accepted = sender.push(ReceiveSource::Gtpu, Frame { meta: Meta::Ip, data: &[number] });
    sender.flush();
    is_accepted
}

fn take(receiver: &mut RingReceiver, received: &mut Vec<u8>) {
    while let Some((_, batch)) = receiver.take() {
        received.extend(batch.frames().map(|frame| frame.data[0]));
        receiver.recycle(batch);
    }
}

/// Three packets over a ring of two batches to a thread that sleeps when the ring is empty, and commands in between: it wakes up,
/// each packet that the ring accepts arrives once, and in order.
///
/// # Panics
/// A packet is lost, doubled, late or slept through.
pub fn packets_arrive_once_and_in_order() {
    explore(2, || {
        spawn_large(receive_three).join().expect("the receiver ends");
    });
}

/// Spawns a thread with room for batches, whose stack loom makes small.
fn spawn_large<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    thread::Builder::new().stack_size(STACK).spawn(run).expect("there are few threads")
}

fn receive_three() {
    let notifier = Arc::new(Notifier::new(Waker::new()));
    let (sender, mut receiver) = ring_of(2, Arc::clone(&notifier), 64);
    let sending = spawn_large(move || send_three(sender));
    let mut received = Vec::new();
    while received.last() != Some(&3) {
        wait(&notifier, || receiver.is_empty());
        take(&mut receiver, &mut received);
    }
    assert_eq!(received, sending.join().expect("the sender ends"));
}

/// The packets that the ring accepted.
fn send_three(mut sender: RingSender) -> Vec<u8> {
    let mut accepted: Vec<u8> = (1..=2).filter(|number| push(&mut sender, *number)).collect();
    // The last one may have to wait for a batch that is returned.
    while !push(&mut sender, 3) {
        thread::yield_now();
    }
    accepted.push(3);
    while sender.is_holding() {
        thread::yield_now();
        sender.flush();
    }
    accepted
}
