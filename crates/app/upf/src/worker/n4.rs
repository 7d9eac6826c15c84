//! N4 in the packet threads (`upf.pfcp.accelerate`), as a thread sees it.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use causeway_dataplane::Plan;

use super::messages::Report;
use super::notifier::Notifier;

/// N4, whose sockets a packet thread waits for. `K` identifies a plan.
pub trait N4Work<K>: Send {
    /// The sockets to wait for; none while N4 has to wait for the control thread, which then notifies this one.
    fn sockets(&self) -> &[OwnedFd];

    /// Other threads have received datagrams for this one.
    fn has_datagrams(&self) -> bool;

    /// Gives N4 the reports of this thread, then, if it `receives`, what has arrived at its sockets. Takes the plans for its sessions, and sends.
    /// Waits for no other thread.
    fn turn(&mut self, exchange: &mut N4Exchange<K>, receives: bool) -> N4Result;
}

/// The end of a turn for N4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum N4Result {
    /// N4 has the reports; whether anything had arrived.
    Done(bool),
    /// N4 is for the control thread, and so are the reports. It notifies this thread.
    Left,
}

/// What a packet thread and N4 have for each other.
#[derive(Debug)]
pub struct N4Exchange<K> {
    /// Results of plans, and events that come before or between them, in order.
    pub reports: VecDeque<Report<K>>,
    /// Plans for this thread, before all that are queued as commands.
    pub plans: VecDeque<(K, Plan)>,
    notifier: Arc<Notifier>,
}

impl<K> N4Exchange<K> {
    /// That of the thread with this notifier.
    pub(super) const fn new(notifier: Arc<Notifier>) -> Self {
        Self { reports: VecDeque::new(), plans: VecDeque::new(), notifier }
    }

    /// That of no thread.
    #[cfg(test)]
    pub(crate) fn of_no_thread() -> Self {
        Self::new(Arc::new(Notifier::new(causeway_ports::Waker::new().unwrap())))
    }

    /// Commands are queued that the thread has not executed: plans have to be queued behind them.
    pub fn has_commands(&self) -> bool {
        self.notifier.has_commands()
    }

    /// There is work left for the thread or for N4.
    pub(super) fn has_work(&self) -> bool {
        !self.plans.is_empty() || !self.reports.is_empty()
    }
}
