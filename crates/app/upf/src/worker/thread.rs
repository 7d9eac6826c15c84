//! The control side's handle of one packet thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::{io, mem, task};

use causeway_dataplane::{Explanation, GtpuPath, Ingress, PathState, SessionState, SwitchState};
use causeway_types::Seid;
use tokio::sync::{mpsc, oneshot};

use super::messages::{ClassesOf, Command, PlacedRules, Questions, Report, Snapshot, Task};
use super::n4::{N4Exchange, N4Work};
use super::notifier::Notifier;
use super::packet_loop::{End, PacketLoop};
use super::schedule::Schedule;
use super::watch::Watch;
use crate::watchdog::WatchedThread;

/// Maximum number of queued reports. When the queue is full, the packet threads wait for the control plane: a flood of
/// events fills socket buffers, not the memory.
const REPORTS: usize = 4096;

/// A message of the packet threads.
#[derive(Debug)]
pub(crate) enum WorkerMessage<K> {
    Report(Report<K>),
    /// A thread has panicked; its message is on standard error.
    Panicked,
}

/// The channel for reports of all threads.
pub(super) fn channel<K>() -> (mpsc::Sender<WorkerMessage<K>>, WorkerReports<K>) {
    let (sender, receiver) = mpsc::channel(REPORTS);
    (sender, WorkerReports(receiver))
}

/// What the threads report. A thread ends when it is dropped.
#[derive(Debug)]
pub(crate) struct WorkerReports<K>(mpsc::Receiver<WorkerMessage<K>>);

impl<K> WorkerReports<K> {
    /// The next message; `None`: all threads have ended, and all messages were read.
    pub(crate) async fn next(&mut self) -> Option<WorkerMessage<K>> {
        self.0.recv().await
    }

    /// The next message, if one is queued.
    pub(crate) fn next_now(&mut self) -> Option<WorkerMessage<K>> {
        self.0.try_recv().ok()
    }
}

/// The reports of one thread. When a panic drops it, it reports the panic.
pub(super) struct Reports<K> {
    messages: mpsc::Sender<WorkerMessage<K>>,
    /// The number of reports on their way that N4 has to have before later ones of their thread, of all threads.
    awaited: Arc<AtomicU32>,
    /// N4 in this thread takes results itself.
    pub(super) n4: Option<N4Exchange<K>>,
}

impl<K> Reports<K> {
    #[cfg(test)]
    pub(super) fn to(messages: mpsc::Sender<WorkerMessage<K>>) -> Self {
        Self { messages, awaited: Arc::default(), n4: None }
    }

    /// Reports: to N4 in this thread, if it is a result or an event or comes after one, otherwise to the control thread.
    ///
    /// # Errors
    /// The control plane has ended.
    pub(super) fn send(&mut self, report: Report<K>) -> Result<(), End> {
        match &mut self.n4 {
            Some(n4)
                if matches!(report, Report::Applied(..) | Report::Event(_)) || !n4.reports.is_empty() =>
            {
                n4.reports.push_back(report);
                Ok(())
            }
            _ => self.pass_on(report),
        }
    }

    /// Passes what N4 in this thread did not take to the control thread.
    ///
    /// # Errors
    /// As for [`Reports::send`].
    pub(super) fn leave_to_control_thread(&mut self) -> Result<(), End> {
        while let Some(report) = self.n4.as_mut().and_then(|n4| n4.reports.pop_front()) {
            self.pass_on(report)?;
        }
        Ok(())
    }

    /// Reports to the control thread; waits while the queue is full.
    fn pass_on(&self, report: Report<K>) -> Result<(), End> {
        let is_awaited = match report {
            Report::Event(_) => true,
            Report::Applied(..) => self.n4.is_some(),
            _ => false,
        };
        if is_awaited {
            self.awaited.fetch_add(1, Ordering::Relaxed);
        }
        self.messages.blocking_send(WorkerMessage::Report(report)).map_err(|_| End::Asked)
    }

    /// The next command: plans of N4 in this thread come first.
    ///
    /// # Errors
    /// There is none, or the control plane has ended.
    pub(super) fn next_command(
        &mut self,
        commands: &Receiver<Command<K>>,
    ) -> Result<Command<K>, TryRecvError> {
        match self.n4.as_mut().and_then(|n4| n4.plans.pop_front()) {
            Some((key, plan)) => Ok(Command::Apply(key, plan)),
            None => commands.try_recv(),
        }
    }
}

impl<K> Drop for Reports<K> {
    fn drop(&mut self) {
        if thread::panicking() {
            // It fails only when the control plane has ended.
            let _ = self.messages.blocking_send(WorkerMessage::Panicked);
        }
    }
}

/// A packet thread. Dropping the handle stops and joins it.
#[derive(Debug)]
pub(super) struct PacketThread<K> {
    number: usize,
    commands: CommandSender<K>,
    thread: Option<JoinHandle<()>>,
}

impl<K: Send + 'static> PacketThread<K> {
    /// Starts the thread with that number.
    ///
    /// # Errors
    /// The system has no free thread, or the process may not use the configured core.
    pub(super) fn spawn(
        number: usize,
        packets: PacketLoop,
        notifier: Arc<Notifier>,
        schedule: Schedule,
        n4: Option<Box<dyn N4Work<K>>>,
        (messages, awaited): (mpsc::Sender<WorkerMessage<K>>, Arc<AtomicU32>),
    ) -> io::Result<Self> {
        let (commands, received): (_, Receiver<Command<K>>) = std::sync::mpsc::channel();
        let (placed, place) = std::sync::mpsc::channel();
        let exchange = n4.as_ref().map(|_| N4Exchange::new(Arc::clone(&notifier)));
        let run = move || {
            let in_place = schedule.pin_current_thread();
            let is_in_place = in_place.is_ok();
            // The starter waits for this message.
            let _ = placed.send(in_place);
            if is_in_place {
                packets.run(&received, Reports { messages, awaited, n4: exchange }, n4);
            }
        };
        let thread = thread::Builder::new().name(format!("packets-{number}")).spawn(run)?;
        let commands = CommandSender::new(commands, notifier);
        let thread = Self { number, commands, thread: Some(thread) };
        place.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
        Ok(thread)
    }

    /// The thread, for the watchdog.
    pub(super) fn watched(&self) -> WatchedThread {
        let (name, notifier) =
            (format!("packet thread {}", self.number), Arc::clone(&self.commands.notifier));
        WatchedThread {
            name,
            heartbeat: Arc::clone(notifier.heartbeat()),
            ring: Box::new(move || notifier.notify_commands()),
        }
    }

    /// Puts questions to the thread, independent of the handle.
    pub(super) fn questions(&self) -> Box<dyn Questions> {
        Box::new(self.commands.clone())
    }
}

/// Sends commands to a packet thread, in the order of this sender; those of another one come between them.
#[derive(Debug)]
pub(super) struct CommandSender<K> {
    commands: Sender<Command<K>>,
    notifier: Arc<Notifier>,
}

impl<K> Clone for CommandSender<K> {
    fn clone(&self) -> Self {
        Self { commands: self.commands.clone(), notifier: Arc::clone(&self.notifier) }
    }
}

impl<K> CommandSender<K> {
    /// To the thread that receives these commands and is notified of them.
    pub(super) const fn new(commands: Sender<Command<K>>, notifier: Arc<Notifier>) -> Self {
        Self { commands, notifier }
    }

    /// Queues a command until [`CommandSender::wake`] is called. `false` when the thread has ended.
    pub(super) fn queue(&self, command: Command<K>) -> bool {
        self.commands.send(command).is_ok()
    }

    /// Notifies the thread of queued commands.
    pub(super) fn wake(&self) {
        self.notifier.notify_commands();
    }

    fn ask(&self, question: Task) {
        // It fails only when the thread has ended; then the result states so.
        let _ = self.queue(Command::Task(question));
        self.wake();
    }
}

impl<K: Send> Questions for CommandSender<K> {
    fn snapshot(&self, reply: oneshot::Sender<Snapshot>) {
        self.ask(Task::Snapshot(reply));
    }

    fn session_state(&self, session: Seid, reply: oneshot::Sender<Option<SessionState>>) {
        self.ask(Task::SessionState(session, reply));
    }

    fn application_classes(&self, sessions: Arc<[Seid]>, reply: oneshot::Sender<ClassesOf>) {
        self.ask(Task::ApplicationClasses(sessions, reply));
    }

    fn switch_state(&self, reply: oneshot::Sender<Option<SwitchState>>) {
        self.ask(Task::SwitchState(reply));
    }

    fn explain(&self, packet: Arc<(Ingress, Vec<u8>)>, reply: oneshot::Sender<Option<Explanation>>) {
        self.ask(Task::Explain(packet, reply));
    }

    fn paths(&self, after: Option<GtpuPath>, most: usize, reply: oneshot::Sender<Vec<PathState>>) {
        self.ask(Task::Paths(after, most, reply));
    }

    fn placed_rules(&self, session: Option<Seid>, most: usize, reply: oneshot::Sender<PlacedRules>) {
        self.ask(Task::PlacedRules(session, most, reply));
    }

    fn watch(&self, watch: Watch) {
        self.ask(Task::Watch(watch));
    }
}

impl<K> PacketThread<K> {
    /// Sends commands to the thread, independent of the handle.
    pub(super) const fn commands(&self) -> &CommandSender<K> {
        &self.commands
    }

    /// Wakes the thread, as [`CommandSender::wake`].
    pub(super) fn waker(&self) -> task::Waker {
        task::Waker::from(Arc::clone(&self.commands.notifier))
    }

    /// Requests the thread to stop. `false` when it has ended.
    pub(super) fn stop(&self) -> bool {
        let sent = self.commands.queue(Command::Stop);
        self.commands.wake();
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
