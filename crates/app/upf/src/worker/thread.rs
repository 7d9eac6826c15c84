//! One packet thread, as the control side holds it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::{io, mem};

use tokio::sync::mpsc;

use super::messages::{Command, Report, SnapshotRequest};
use super::notifier::Notifier;
use super::packet_loop::{End, PacketLoop};
use super::schedule::Schedule;
use crate::watchdog::WatchedThread;

/// Reports that wait for the control plane. When it falls behind that far, the packet threads wait for it:
/// a flood of events fills socket buffers, not the memory.
const REPORTS: usize = 4096;

/// What comes from the packet threads.
#[derive(Debug)]
pub(super) enum WorkerMessage<K> {
    Report(Report<K>),
    /// A thread has ended, and its last words are on standard error.
    Panicked,
}

/// The way of the reports of all threads.
pub(super) fn channel<K>() -> (mpsc::Sender<WorkerMessage<K>>, mpsc::Receiver<WorkerMessage<K>>) {
    mpsc::channel(REPORTS)
}

/// The way of one thread's reports. Dropped by a panic, it tells of it.
pub(super) struct Reports<K>(mpsc::Sender<WorkerMessage<K>>);

impl<K> Reports<K> {
    #[cfg(test)]
    pub(super) const fn to(message: mpsc::Sender<WorkerMessage<K>>) -> Self {
        Self(message)
    }

    /// Reports, and waits for room.
    ///
    /// # Errors
    /// Nobody is left to hear it.
    pub(super) fn tell(&self, report: Report<K>) -> Result<(), End> {
        self.0.blocking_send(WorkerMessage::Report(report)).map_err(|_| End::Asked)
    }
}

impl<K> Drop for Reports<K> {
    fn drop(&mut self) {
        if thread::panicking() {
            // Nobody is left to hear it when the control plane is gone.
            let _ = self.0.blocking_send(WorkerMessage::Panicked);
        }
    }
}

/// A packet thread. Dropped, it is stopped and waited for.
#[derive(Debug)]
pub(super) struct PacketThread<K> {
    number: usize,
    commands: Sender<Command<K>>,
    notifier: Arc<Notifier>,
    thread: Option<JoinHandle<()>>,
}

impl<K: Send + 'static> PacketThread<K> {
    /// Starts the thread with that number.
    ///
    /// # Errors
    /// The system has no thread left, or the thread may not run where it should.
    pub(super) fn spawn(
        number: usize,
        packets: PacketLoop,
        notifier: Arc<Notifier>,
        schedule: Schedule,
        message: mpsc::Sender<WorkerMessage<K>>,
    ) -> io::Result<Self> {
        let (commands, received): (_, Receiver<Command<K>>) = std::sync::mpsc::channel();
        let (placed, place) = std::sync::mpsc::channel();
        let run = move || {
            let in_place = schedule.pin_current_thread();
            let is_in_place = in_place.is_ok();
            // Whoever started the thread waits for it.
            let _ = placed.send(in_place);
            if is_in_place {
                packets.run(&received, &Reports(message));
            }
        };
        let thread = thread::Builder::new().name(format!("packets-{number}")).spawn(run)?;
        let thread = Self { number, commands, notifier, thread: Some(thread) };
        place.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
        Ok(thread)
    }

    /// The thread, to be watched.
    pub(super) fn watched(&self) -> WatchedThread {
        let (name, notifier) = (format!("packet thread {}", self.number), Arc::clone(&self.notifier));
        WatchedThread {
            name,
            heartbeat: Arc::clone(notifier.heartbeat()),
            ring: Box::new(move || notifier.notify_commands()),
        }
    }

    /// Asks for the counters, without the handle.
    pub(super) fn snapshot_asker(&self) -> SnapshotRequest {
        let (commands, notifier) = (self.commands.clone(), Arc::clone(&self.notifier));
        Box::new(move |reply| {
            // When it fails the thread has ended, and the answer says so.
            let _ = commands.send(Command::Snapshot(reply));
            notifier.notify_commands();
        })
    }
}

impl<K> PacketThread<K> {
    /// Lets a command wait for [`PacketThread::wake`]. `false` when the thread has ended.
    pub(super) fn queue(&self, command: Command<K>) -> bool {
        self.commands.send(command).is_ok()
    }

    /// Has the thread carry out the commands that wait.
    pub(super) fn wake(&self) {
        self.notifier.notify_commands();
    }

    /// Has the thread stop. `false` when it has ended.
    pub(super) fn stop(&self) -> bool {
        let sent = self.queue(Command::Stop);
        self.wake();
        sent
    }
}

impl<K> Drop for PacketThread<K> {
    fn drop(&mut self) {
        // It fails only when the thread has ended.
        let _ = self.stop();
        if let Some(thread) = mem::take(&mut self.thread) {
            // A panic there has been written to standard error already.
            let _ = thread.join();
        }
    }
}
