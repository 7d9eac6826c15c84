use std::sync::Arc;
use std::sync::mpsc::channel;

use causeway_ports::{Waker, wait};

use super::super::notifier::Notifier;

// Input:  fifty thousand numbered commands from one thread to another that sleeps whenever none is queued.
// Output: all arrive, once and in order.
#[test]
fn no_command_is_slept_through() {
    let notifier = Arc::new(Notifier::new(Waker::new().unwrap()));
    let (commands, received) = channel();
    let caller = Arc::clone(&notifier);
    let sender = std::thread::spawn(move || {
        for n in 0..50_000_u32 {
            commands.send(n).unwrap();
            caller.notify_commands();
        }
    });
    let mut next = 0;
    while next < 50_000 {
        if notifier.prepare_sleep() {
            wait([], Some(notifier.waker()), None).unwrap();
        }
        notifier.mark_awake();
        if notifier.take_commands_flag() {
            while let Ok(n) = received.try_recv() {
                assert_eq!(n, next);
                next += 1;
            }
        }
    }
    sender.join().unwrap();
}

// Input:  a notification while the thread is active, then one while it is about to sleep.
// Output: only the second wakes the thread; each is seen once.
#[test]
fn an_active_thread_is_not_notified() {
    let notifier = Notifier::new(Waker::new().unwrap());
    notifier.notify_commands();
    assert!(!notifier.waker().reset());
    assert!(notifier.take_commands_flag() && !notifier.take_commands_flag());
    assert!(notifier.prepare_sleep());
    notifier.notify_commands();
    assert!(notifier.waker().reset());
    assert!(!notifier.prepare_sleep() && notifier.take_commands_flag());
}
