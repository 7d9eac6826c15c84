//! The loop of a packet thread.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::task::Poll;
use std::time::Duration;

use arrayvec::ArrayVec;
use causeway_dataplane::{
    Applied, ApplyError, Counters, DropReason, PacketEngine, Plan, PlanId, ReceiveSource,
};
use causeway_packet::{BATCH, Batch};
use causeway_ports::{MAX_PORTS, PortError, Ready, wait_with};
use causeway_types::Time;

use super::commands::Cost;
use super::context::WorkerContext;
use super::fairness::{BatchFill, Fairness, Owner};
use super::messages::{Command, Report, Snapshot, Turns};
use super::n4::{N4Exchange, N4Result, N4Work};
use super::notifier::Notifier;
use super::peers::WorkerPeers;
use super::ports::PortSet;
use super::thread::Reports;
use super::watch::Watches;
use crate::clock::Clock;
use crate::data_planes::BoxedDataPlane;
use crate::watchdog::Activity;

/// The plans in flight, with their keys.
#[derive(Debug)]
pub(super) struct InFlight<K> {
    plans: Vec<(PlanId, K)>,
    /// The number of the next plan.
    next: PlanId,
}

impl<K> Default for InFlight<K> {
    fn default() -> Self {
        Self { plans: Vec::new(), next: PlanId(0) }
    }
}

/// Completed plans whose results are not reported yet, with their keys: maximum number.
type CompletedPlans<K> = ArrayVec<(K, Result<Applied, ApplyError>), 32>;

/// Minimum frame size of a batch, in octets.
const MIN_FRAME: usize = 2048;

/// Maximum size of the outer headers of a user packet, in octets: GTP-U with a PDU Session Container, and space for
/// extension headers of peers.
const OUTER: usize = 128;

/// Maximum number of batches of one port, or of one other worker, in one turn.
const BURST: usize = 4;

/// Maximum number of commands in one turn.
const COMMANDS: usize = 32;

/// Maximum number of turns for N4 in one turn: requests, results, and plans that waited for these, with their results.
const N4_TURNS: usize = 4;

/// Number of commands whose state is prefetched while earlier ones are executed.
const PREFETCHED_COMMANDS: usize = 6;

/// Maximum time that the thread sleeps with packets for another worker that is behind.
const HELD: Duration = Duration::from_millis(1);

/// The reason for which the loop ends.
pub(super) enum End {
    Asked,
    Lost(PortError),
}

impl From<PortError> for End {
    fn from(error: PortError) -> Self {
        Self::Lost(error)
    }
}

/// The size of the largest frame that these ports receive, in octets.
pub(super) fn frame_size(ports: &PortSet) -> usize {
    let mtu = ports.ports().map(|port| port.mtu() as usize).max().unwrap_or(0);
    MIN_FRAME.max(mtu + OUTER)
}

/// The loop of one packet thread, with its data plane and ports.
pub(super) struct PacketLoop {
    pub(super) context: WorkerContext,
    pub(super) received: Batch,
    pub(super) clock: Clock,
    notifier: Arc<Notifier>,
    busy_poll: bool,
    /// The other workers, if there are any.
    peers: Option<WorkerPeers>,
    /// The demands on each port.
    fairness: Vec<Fairness>,
    /// The number of packets dropped beyond fair shares.
    unfair: Counters,
    turns: Turns,
    /// The sessions whose packets are observed; `None`: there is none.
    pub(super) watches: Option<Box<Watches>>,
    /// The present turn has received packets.
    has_packets: bool,
}

impl<K> InFlight<K> {
    /// Submits a plan. A key comes back with its result, here or when it has completed.
    fn submit(
        &mut self,
        data_plane: &mut dyn PacketEngine,
        now: Time,
        key: K,
        plan: &Plan,
    ) -> Poll<(K, Result<Applied, ApplyError>)> {
        let id = self.next;
        match data_plane.submit(now, id, plan) {
            Poll::Ready(applied) => Poll::Ready((key, applied)),
            Poll::Pending => {
                self.plans.push((id, key));
                self.next = PlanId(id.0.wrapping_add(1));
                Poll::Pending
            }
        }
    }
}

impl PacketLoop {
    pub(super) fn new(
        data_plane: BoxedDataPlane,
        ports: PortSet,
        clock: Clock,
        notifier: Arc<Notifier>,
        busy_poll: bool,
        peers: Option<WorkerPeers>,
    ) -> Self {
        let frame = frame_size(&ports);
        let received = Batch::with_frame_size(frame);
        let fairness = ports.slots().iter().map(|_| Fairness::new()).collect();
        let (context, unfair) = (WorkerContext::new(data_plane, ports, frame), Counters::default());
        let turns = Turns::default();
        Self {
            context,
            received,
            clock,
            notifier,
            busy_poll,
            peers,
            fairness,
            unfair,
            turns,
            watches: None,
            has_packets: false,
        }
    }

    /// Runs until a command or a lost port ends it, then reports the last counters. With `n4` it receives N4 itself.
    pub(super) fn run<K>(
        mut self,
        commands: &Receiver<Command<K>>,
        mut reports: Reports<K>,
        mut n4: Option<Box<dyn N4Work<K>>>,
    ) {
        let mut in_flight = InFlight::default();
        self.notifier.heartbeat().begin();
        let end = loop {
            if let Err(end) = self.turn(commands, &mut reports, &mut in_flight, &mut n4) {
                break end;
            }
        };
        let last = match end {
            End::Asked => Ok(Box::new(self.snapshot())),
            End::Lost(error) => Err(error),
        };
        // What N4 in this thread did not take comes before. It fails only when the control plane has ended.
        let _ = reports.leave_to_control_thread().and_then(|()| reports.send(Report::Stopped(last)));
    }

    /// One turn: wait, receive, execute commands, expire timers, report.
    fn turn<K>(
        &mut self,
        commands: &Receiver<Command<K>>,
        reports: &mut Reports<K>,
        in_flight: &mut InFlight<K>,
        n4: &mut Option<Box<dyn N4Work<K>>>,
    ) -> Result<(), End> {
        let sockets = n4.as_ref().map(|n4| n4.sockets()).unwrap_or_default();
        let is_n4_left = sockets.is_empty();
        let has_datagrams = n4.as_ref().is_some_and(|n4| n4.has_datagrams());
        let has_reports = reports.n4.as_ref().is_some_and(N4Exchange::has_work) && !is_n4_left;
        let has_work = has_datagrams || has_reports;
        let ready = if self.busy_poll { None } else { Some(self.wait(sockets, has_work)?) };
        self.notifier.heartbeat().set_activity(Activity::Packets);
        self.has_packets = false;
        for index in 0..self.context.ports().slots().len().min(MAX_PORTS) {
            if ready.is_none_or(|ready| ready.port(index)) {
                self.receive(index)?;
            } else {
                self.record_turn(index, BatchFill::Drained);
            }
        }
        self.receive_handoffs()?;
        self.handle_new_commands(commands, reports, in_flight)?;
        if self.context.next_deadline().is_some() {
            self.notifier.heartbeat().set_activity(Activity::Timers);
            self.context.advance(self.clock.now())?;
        }
        self.finish(reports, in_flight)?;
        if let Some(n4) = n4 {
            self.notifier.heartbeat().set_activity(Activity::N4Sockets);
            let receives = ready.is_none_or(|ready| ready.others || is_n4_left) || n4.has_datagrams();
            self.serve_n4(&mut **n4, receives, (commands, &mut *reports), in_flight)?;
        }
        self.turns.count(self.has_packets);
        self.notifier.heartbeat().set_activity(Activity::Reporting);
        self.report(reports)
    }

    /// Waits for packets, commands and N4. `has_work`: only looks.
    fn wait(&self, n4: &[OwnedFd], has_work: bool) -> Result<Ready, End> {
        let timeout: Option<Duration> = self.context.next_deadline().map(|at| self.clock.until(at));
        self.notifier.heartbeat().set_activity(Activity::Waiting);
        let may_sleep = self.notifier.prepare_sleep() && self.peers.as_ref().is_none_or(WorkerPeers::is_idle);
        let is_holding = self.peers.as_ref().is_some_and(WorkerPeers::is_holding);
        let timeout = match timeout {
            _ if has_work || !may_sleep => Some(Duration::ZERO),
            timeout if is_holding => Some(timeout.map_or(HELD, |timeout| timeout.min(HELD))),
            timeout => timeout,
        };
        let others = n4.iter().map(AsFd::as_fd);
        let ready = wait_with(self.context.ports().ports(), others, Some(self.notifier.waker()), timeout);
        let ready = ready.map_err(|source| {
            End::Lost(PortError::System { operation: "waiting for packets".into(), source })
        });
        self.notifier.mark_awake();
        ready
    }

    /// Processes the batches that wait at one port, up to the limit of a turn.
    fn receive(&mut self, index: usize) -> Result<(), End> {
        for burst in 0..BURST {
            let Some((source, count)) = self.context.receive(index, &mut self.received)? else {
                self.record_turn(index, if burst == 0 { BatchFill::Drained } else { BatchFill::Part });
                break;
            };
            self.has_packets = true;
            if self.fairness.get(index).is_some_and(Fairness::is_watching) {
                self.drop_unfair(index, source);
            }
            if let Some(peers) = &mut self.peers {
                peers.hand_over(source, &mut self.received);
            }
            if !self.received.is_empty() {
                let now = self.clock.now();
                match &mut self.watches {
                    None => self.context.process(now, source, &mut self.received)?,
                    Some(watches) => {
                        watches.process(&mut self.context, now, source, &mut self.received)?;
                        self.end_watches();
                    }
                }
            }
            if count < BATCH {
                self.record_turn(
                    index,
                    if burst == 0 && count < BATCH / 2 { BatchFill::Drained } else { BatchFill::Part },
                );
                break;
            }
            self.record_turn(index, BatchFill::Full);
        }
        Ok(())
    }

    /// Gives N4 what this thread has for it, and applies its plans, until nothing is left, in a limited number of turns. What is left comes in
    /// the next turn of the loop.
    fn serve_n4<K>(
        &mut self,
        n4: &mut dyn N4Work<K>,
        mut receives: bool,
        (commands, reports): (&Receiver<Command<K>>, &mut Reports<K>),
        in_flight: &mut InFlight<K>,
    ) -> Result<(), End> {
        for _ in 0..N4_TURNS {
            let Some(exchange) = reports.n4.as_mut().filter(|n4| receives || n4.has_work()) else { break };
            if receives || !exchange.reports.is_empty() {
                match n4.turn(exchange, receives) {
                    N4Result::Done(has_received) => self.has_packets |= has_received,
                    N4Result::Left => return reports.leave_to_control_thread(),
                }
            }
            receives = false;
            self.handle_new_commands(commands, reports, in_flight)?;
            while reports.n4.as_ref().is_some_and(|n4| !n4.plans.is_empty()) {
                self.handle_commands(commands, reports, in_flight)?;
            }
        }
        Ok(())
    }

    /// Ends the turn of a port for the fairness.
    fn record_turn(&mut self, index: usize, turn: BatchFill) {
        if let Some(fairness) = self.fairness.get_mut(index)
            && (turn == BatchFill::Full || fairness.needs_every_turn())
        {
            let ports = self.context.ports();
            fairness.end_turn(self.clock.now(), turn, || ports.slots().get(index)?.port.fill_percent());
        }
    }

    /// Drops packets beyond the share of their UE or gNB.
    fn drop_unfair(&mut self, index: usize, source: ReceiveSource) {
        let Some(fairness) = self.fairness.get_mut(index) else { return };
        let unfair = &mut self.unfair;
        self.received.retain(|frame| {
            let admits = fairness.admit(Owner::of(source, &frame));
            if !admits {
                let received = match source {
                    ReceiveSource::Gtpu => &mut unfair.gtpu_received,
                    ReceiveSource::Network(_) => &mut unfair.ip_received,
                    ReceiveSource::Ethernet(_) => &mut unfair.ethernet_received,
                };
                received.count(frame.data.len());
                unfair.count_drop(DropReason::FairShare);
            }
            admits
        });
    }

    /// Processes the batches that other workers received for this one.
    fn receive_handoffs(&mut self) -> Result<(), End> {
        let Some(peers) = &mut self.peers else { return Ok(()) };
        peers.flush();
        for from in 0..peers.others() {
            for _ in 0..BURST {
                let Some((source, mut batch)) = peers.take(from) else { break };
                self.has_packets = true;
                let now = self.clock.now();
                let done = match &mut self.watches {
                    None => self.context.process(now, source, &mut batch),
                    Some(watches) => watches.process(&mut self.context, now, source, &mut batch),
                };
                peers.recycle(from, batch);
                done?;
            }
        }
        Ok(())
    }

    /// Executes commands if the thread was notified of some.
    fn handle_new_commands<K>(
        &mut self,
        commands: &Receiver<Command<K>>,
        reports: &mut Reports<K>,
        in_flight: &mut InFlight<K>,
    ) -> Result<(), End> {
        if self.notifier.take_commands_flag() {
            self.notifier.heartbeat().set_activity(Activity::Commands);
            self.handle_commands(commands, reports, in_flight)?;
            self.notifier.heartbeat().beat();
        }
        Ok(())
    }

    /// Executes the queued commands, up to the limit of a turn. Packets sent by plans are transmitted as a batch,
    /// before the results are reported.
    fn handle_commands<K>(
        &mut self,
        commands: &Receiver<Command<K>>,
        reports: &mut Reports<K>,
        in_flight: &mut InFlight<K>,
    ) -> Result<(), End> {
        let mut done = CompletedPlans::new();
        let mut coming = VecDeque::new();
        let mut left = COMMANDS;
        loop {
            // The state of the next commands is prefetched while earlier ones are executed.
            while coming.len() < PREFETCHED_COMMANDS.min(left)
                && let Ok(command) = reports.next_command(commands)
            {
                if let Command::Apply(_, plan) = &command
                    && !coming.is_empty()
                {
                    self.context.data_plane().prefetch(plan);
                }
                coming.push_back(command);
            }
            if left == 0 {
                self.flush_results(reports, &mut done)?;
                // The remaining commands are left to the next turn; the thread does not sleep before it.
                self.notifier.notify_commands();
                return Ok(());
            }
            left -= 1;
            let command = coming.pop_front().map_or_else(|| reports.next_command(commands), Ok);
            if done.is_full() || !matches!(command, Ok(Command::Apply(..))) {
                self.flush_results(reports, &mut done)?;
            }
            match command {
                Ok(Command::Apply(key, plan)) => self.apply(key, &plan, reports, in_flight, &mut done)?,
                Ok(Command::Task(task)) => {
                    if self.execute(task, reports)? == Cost::RestOfTurn {
                        // But for what was taken already.
                        left = coming.len();
                    }
                }
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return Err(End::Asked),
                Err(TryRecvError::Empty) => {
                    // The data plane may have notified the thread.
                    self.context.data_plane().advance(self.clock.now());
                    return self.context.flush().map_err(End::from);
                }
            }
        }
    }

    /// Applies a plan.
    fn apply<K>(
        &mut self,
        key: K,
        plan: &Plan,
        reports: &mut Reports<K>,
        in_flight: &mut InFlight<K>,
        done: &mut CompletedPlans<K>,
    ) -> Result<(), End> {
        // Events before the plan are reported before its result, events caused by it afterwards.
        let now = self.clock.now();
        self.context.data_plane().advance(now);
        while let Some(event) = self.context.data_plane().poll_event() {
            self.flush_results(reports, done)?;
            reports.send(Report::Event(event))?;
        }
        match in_flight.submit(self.context.data_plane(), now, key, plan) {
            Poll::Ready(applied) => done.push(applied),
            Poll::Pending => self.context.flush()?,
        }
        Ok(())
    }

    /// Without a watch, packets are processed as if there had never been one.
    fn end_watches(&mut self) {
        if self.watches.as_mut().is_some_and(|watches| watches.have_ended()) {
            self.watches = None;
            self.context.show_released(None);
        }
    }

    /// Transmits the packets of the plans, and reports the results.
    fn flush_results<K>(
        &mut self,
        reports: &mut Reports<K>,
        done: &mut CompletedPlans<K>,
    ) -> Result<(), End> {
        if done.is_empty() {
            return Ok(());
        }
        self.context.flush()?;
        done.drain(..).try_for_each(|(key, applied)| reports.send(Report::Applied(key, applied)))
    }

    /// Reports the results of plans in flight that have completed.
    fn finish<K>(&mut self, reports: &mut Reports<K>, in_flight: &mut InFlight<K>) -> Result<(), End> {
        let now = if in_flight.plans.is_empty() { return Ok(()) } else { self.clock.now() };
        while let Some((id, applied)) = self.context.data_plane().poll_applied(now) {
            self.context.flush()?;
            if let Some(place) = in_flight.plans.iter().position(|(known, _)| *known == id) {
                let (_, key) = in_flight.plans.swap_remove(place);
                reports.send(Report::Applied(key, applied))?;
            }
        }
        Ok(())
    }

    fn report<K>(&mut self, reports: &mut Reports<K>) -> Result<(), End> {
        while let Some(event) = self.context.data_plane().poll_event() {
            reports.send(Report::Event(event))?;
        }
        Ok(())
    }

    /// The present counters of the thread.
    pub(super) fn snapshot(&self) -> Snapshot {
        let snapshot = self.context.snapshot(self.clock.now());
        let snapshot =
            Snapshot { counters: snapshot.counters.with(&self.unfair), turns: self.turns, ..snapshot };
        match &self.peers {
            Some(peers) => Snapshot {
                counters: snapshot.counters.with(peers.lost()),
                handed: peers.handed_over(),
                ..snapshot
            },
            None => snapshot,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::Task;
    use super::super::thread::{WorkerMessage, channel};
    use super::*;
    use causeway_dataplane::Topology;
    use causeway_fastpath::FastPath;
    use causeway_model::RuleSet;
    use causeway_ports::Waker;
    use causeway_slowpath::Limits;
    use causeway_types::Seid;

    // Input:  a hundred queued plans, which establish and delete fifty sessions, and a request for counters.
    // Output: the thread executes at most 32 before it checks its ports again, and does not sleep before all are done;
    //         each is reported once, in order, and the counters after them.
    #[test]
    fn packets_do_not_wait_for_many_plans() {
        let engine = Box::new(FastPath::new(Topology::default(), Limits::default()).unwrap());
        let notifier = Arc::new(Notifier::new(Waker::new().unwrap()));
        let mut packets =
            PacketLoop::new(engine, PortSet::default(), Clock::new(), Arc::clone(&notifier), false, None);
        let (message, mut results) = channel();
        let mut reports = Reports::to(message);
        let (commands, received) = std::sync::mpsc::channel();
        for seid in (1..=50).map(Seid) {
            let begins = Plan::install(seid, RuleSet::default());
            commands.send(Command::Apply(seid.0 * 2, begins)).unwrap();
            commands.send(Command::Apply(seid.0 * 2 + 1, Plan::removal(seid))).unwrap();
        }
        let (reply, mut answered) = tokio::sync::oneshot::channel();
        commands.send(Command::Task(Task::Snapshot(reply))).unwrap();
        notifier.notify_commands();
        let (mut keys, mut turns) = (Vec::new(), 0);
        while notifier.take_commands_flag() {
            let before = keys.len();
            assert!(packets.handle_commands(&received, &mut reports, &mut InFlight::default()).is_ok());
            while let Some(WorkerMessage::Report(Report::Applied(key, result))) = results.next_now() {
                assert!(result.is_ok());
                keys.push(key);
            }
            assert!(keys.len() <= before + 32);
            assert_eq!(answered.try_recv().is_ok(), keys.len() == 100);
            turns += 1;
        }
        assert_eq!((keys, turns), ((2..102).collect::<Vec<u64>>(), 4));
    }

    /// N4 that is with the control thread.
    struct N4Elsewhere;

    impl N4Work<u64> for N4Elsewhere {
        fn sockets(&self) -> &[OwnedFd] {
            &[]
        }

        fn has_datagrams(&self) -> bool {
            false
        }

        fn turn(&mut self, _: &mut N4Exchange<u64>, _: bool) -> N4Result {
            N4Result::Left
        }
    }

    // Input:  a thread with N4; a plan and the end of the thread, queued together.
    // Output: the control thread has the result of the plan, which N4 in the thread did not take, and then the end with the counters.
    #[test]
    fn a_thread_with_n4_reports_its_end() {
        let engine = Box::new(FastPath::new(Topology::default(), Limits::default()).unwrap());
        let notifier = Arc::new(Notifier::new(Waker::new().unwrap()));
        let packets =
            PacketLoop::new(engine, PortSet::default(), Clock::new(), Arc::clone(&notifier), false, None);
        let (message, mut results) = channel();
        let mut reports = Reports::to(message);
        reports.n4 = Some(N4Exchange::new(Arc::clone(&notifier)));
        let (commands, received) = std::sync::mpsc::channel();
        commands.send(Command::Apply(1, Plan::install(Seid(1), RuleSet::default()))).unwrap();
        commands.send(Command::Stop).unwrap();
        notifier.notify_commands();
        packets.run(&received, reports, Some(Box::new(N4Elsewhere)));
        let mut next = || match results.next_now() {
            Some(WorkerMessage::Report(report)) => Some(report),
            _ => None,
        };
        assert!(matches!(next(), Some(Report::Applied(1, Ok(_)))));
        assert!(matches!(next(), Some(Report::Stopped(Ok(_)))));
        assert!(next().is_none());
    }
}
