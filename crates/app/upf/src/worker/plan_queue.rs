//! The plans of one part of N4 on their way to the packet threads.

use std::collections::{BTreeMap, VecDeque};
use std::hash::Hash;
use std::mem;

use causeway_dataplane::{ApplyError, GtpuPath, Plan};

use super::messages::{Command, Report, Task};
use super::peers::FIRST_WORKER;
use super::placement::Placement;
use super::session_keys::{NewPaths, Path};
use super::thread::CommandSender;

/// The plans of the sessions of one part of N4. Each part has a queue, and the threads of the parts use them at once.
///
/// A thread executes the commands of a queue in their order, and those of other queues between them. The result of a plan is for the queue that it
/// comes from ([`PlanQueue::completed`]).
#[derive(Debug)]
pub struct PlanQueue<K> {
    /// The assignment of sessions to threads; `None`: there is one thread.
    placement: Option<Placement<K>>,
    threads: Vec<CommandSender<K>>,
    /// How many more sessions of other threads use a path than the first thread was told.
    new_paths: BTreeMap<Path, i64>,
    /// Reports of the control side in place of a thread.
    own: VecDeque<Report<K>>,
    /// The threads with queued commands that were not notified yet, one bit each.
    unnotified: u64,
}

impl<K: Copy + Eq + Hash> PlanQueue<K> {
    /// An empty queue for these threads.
    pub(super) fn new(placement: Option<Placement<K>>, threads: Vec<CommandSender<K>>) -> Self {
        let (new_paths, own) = (BTreeMap::new(), VecDeque::new());
        Self { placement, threads, new_paths, own, unnotified: 0 }
    }

    /// An empty queue for the same threads, of a part with other sessions.
    pub(super) fn beside(&self) -> Self {
        Self::new(self.placement.as_ref().map(Placement::beside), self.threads.clone())
    }

    /// Queues a plan until [`PlanQueue::wake`] is called. [`Report::Applied`] with the same key contains the result.
    /// `false` when the thread has ended.
    pub fn apply(&mut self, key: K, plan: Plan) -> bool {
        let worker =
            self.placement.as_mut().map_or(Ok(FIRST_WORKER), |placement| placement.assign_worker(key, &plan));
        match worker {
            Ok(worker) => self.apply_at(worker, key, plan),
            Err(error) => {
                self.own.push_back(Report::Applied(key, Err(error)));
                true
            }
        }
    }

    /// The threads that have to apply these plans, in order, behind what `threads` has. With an error no thread can.
    pub fn assign(&mut self, plans: &[(K, Plan)], threads: &mut Vec<Result<usize, ApplyError>>) {
        match &mut self.placement {
            Some(placement) => placement.assign_workers(plans, threads),
            None => threads.extend(plans.iter().map(|_| Ok(FIRST_WORKER))),
        }
    }

    /// Prefetches what [`PlanQueue::completed`] will need for these reports.
    pub fn expect(&self, reports: &VecDeque<Report<K>>) {
        let applied = reports.iter().filter_map(|report| match report {
            Report::Applied(key, _) => Some(*key),
            _ => None,
        });
        if let Some(placement) = &self.placement {
            placement.expect_results(applied);
        }
    }

    /// Queues a plan of this thread, as [`PlanQueue::apply`] does.
    pub fn apply_at(&mut self, worker: usize, key: K, plan: Plan) -> bool {
        self.queue(worker, Command::Apply(key, plan))
    }

    /// The result of a plan that [`PlanQueue::assign`] gave to a thread.
    pub fn completed(&mut self, key: K, is_applied: bool) {
        let news = self.placement.as_mut().and_then(|placement| placement.complete(key, is_applied));
        if let Some(NewPaths { old, new }) = news {
            old.into_iter().for_each(|path| *self.new_paths.entry(path).or_default() -= 1);
            new.into_iter().for_each(|path| *self.new_paths.entry(path).or_default() += 1);
        }
    }

    /// The next report of the control side in place of a thread.
    pub fn own_report(&mut self) -> Option<Report<K>> {
        self.own.pop_front()
    }

    /// GTP-U paths are supervised from now on, or not, with sessions of all queues.
    pub(super) fn supervise_paths(&self, are_supervised: bool) {
        if let Some(placement) = &self.placement {
            placement.supervise_paths(are_supervised);
        }
    }

    /// The paths of the sessions of this queue that other threads than the first have applied, each as often as it is used.
    pub fn paths_of_others(&self) -> Vec<GtpuPath> {
        self.placement.as_ref().map(Placement::paths_of_others).unwrap_or_default()
    }

    /// Queues the paths of sessions of other threads for the first one.
    fn follow_new_paths(&mut self) {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for (path, more) in mem::take(&mut self.new_paths) {
            let list = if more < 0 { &mut old } else { &mut new };
            list.extend((0..more.unsigned_abs()).map(|_| path));
        }
        if !old.is_empty() || !new.is_empty() {
            // If the first thread has ended, its last report ends the control plane, too.
            let _ = self.queue_task(FIRST_WORKER, Task::Follow(NewPaths { old, new }));
        }
    }

    /// Notifies the threads of queued commands: one system call for each that sleeps.
    pub fn wake(&mut self) {
        if !self.new_paths.is_empty() {
            self.follow_new_paths();
        }
        let unnotified = mem::take(&mut self.unnotified);
        let waiting = self.threads.iter().enumerate().filter(|(worker, _)| unnotified & 1 << worker != 0);
        waiting.for_each(|(_, thread)| thread.wake());
    }

    /// Queues a command until [`PlanQueue::wake`] is called. `false` when the thread has ended.
    fn queue(&mut self, worker: usize, command: Command<K>) -> bool {
        self.unnotified |= 1 << worker;
        self.threads.get(worker).is_some_and(|thread| thread.queue(command))
    }

    /// Queues a task, as [`PlanQueue::queue`].
    pub(super) fn queue_task(&mut self, worker: usize, task: Task) -> bool {
        self.queue(worker, Command::Task(task))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;

    use causeway_dataplane::{GtpuEndpoint, Topology};
    use causeway_model::{Far, Forwarding, RuleSet, SessionChange};
    use causeway_ports::Waker;
    use causeway_types::{FTeid, FarId, Interface, Seid, Span, Teid};

    use super::super::notifier::Notifier;
    use super::*;

    const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

    /// A plan of a queue: the number of the queue and of the plan.
    type PlanKey = (usize, u32);

    /// Senders to so many threads, whose commands the receivers have.
    fn threads(count: usize) -> (Vec<CommandSender<PlanKey>>, Vec<Receiver<Command<PlanKey>>>) {
        let thread = |_| {
            let (commands, received) = channel();
            (CommandSender::new(commands, Arc::new(Notifier::new(Waker::new().unwrap()))), received)
        };
        (0..count).map(thread).unzip()
    }

    /// A session that sends to a peer.
    fn session(seid: u64, peer: Ipv4Addr) -> Plan {
        let tunnel = FTeid { teid: Teid::new(7).unwrap(), addr: peer.into() };
        let far = Far::forward(FarId(1), Forwarding::into_tunnel(Interface::Access, tunnel));
        let mut rules = RuleSet::default();
        rules.fars.insert(FarId(1), far);
        Plan::install(Seid(seid), rules)
    }

    fn removal(seid: u64) -> Plan {
        Plan { session: Seid(seid), change: SessionChange::Remove }
    }

    /// The paths that a thread is told to follow, and not to follow any more.
    fn followed(commands: &Receiver<Command<PlanKey>>) -> Vec<(Vec<GtpuPath>, Vec<GtpuPath>)> {
        let told = commands.try_iter().filter_map(|command| match command {
            Command::Task(Task::Follow(NewPaths { old, new })) => Some((old, new)),
            _ => None,
        });
        told.collect()
    }

    // Input:  three queues of two threads, each in a thread of its own that queues a thousand plans for each of the two.
    // Output: each has the plans of each queue, in order.
    #[test]
    fn plans_of_a_queue_stay_in_order_among_those_of_others() {
        let (senders, receivers) = threads(2);
        let first = PlanQueue::new(None, senders);
        let mut queues = [first.beside(), first.beside(), first];
        thread::scope(|scope| {
            for (number, queue) in queues.iter_mut().enumerate() {
                scope.spawn(move || {
                    for plan in 0..1000 {
                        assert!((0..2).all(|worker| queue.apply_at(worker, (number, plan), removal(1))));
                        queue.wake();
                    }
                });
            }
        });
        for commands in receivers {
            let mut plans = [const { Vec::new() }; 3];
            for command in commands.try_iter() {
                let Command::Apply((queue, plan), _) = command else { panic!("{command:?}") };
                plans[queue].push(plan);
            }
            assert!(plans.iter().all(|plans| plans.iter().copied().eq(0..1000)));
        }
    }

    // Input:  two queues of two threads; a session of each on the second thread, which send to different peers; one ends; supervision of paths ends for
    //         one queue, and the session of the other queue ends.
    // Output: each queue has the first thread follow the path of its session, and lists that one alone; nothing about the last session.
    #[test]
    fn each_queue_has_the_paths_of_its_sessions_followed() {
        let mut topology = Topology { gtpu: vec![GtpuEndpoint::new(UPF.into())], ..Topology::default() };
        topology.routing.echo.interval = Span::from_secs(60);
        let (senders, receivers) = threads(2);
        let mut one = PlanQueue::new(Some(Placement::new(topology, 100, 2, true)), senders);
        let mut other = one.beside();
        let peers = [2, 3].map(|last| Ipv4Addr::new(192, 0, 2, last));
        let paths = peers.map(|peer| (UPF.into(), peer.into()));
        let apply = |queue: &mut PlanQueue<PlanKey>, number, plan: Plan| {
            let key = (number, 0);
            assert!(queue.apply(key, plan));
            queue.completed(key, true);
            queue.wake();
        };
        apply(&mut one, 0, session(1, peers[0]));
        apply(&mut other, 1, session(3, peers[1]));
        assert_eq!(followed(&receivers[0]), paths.map(|path| (vec![], vec![path])));
        assert_eq!([&one, &other].map(PlanQueue::paths_of_others), paths.map(|path| vec![path]));
        apply(&mut one, 0, removal(1));
        assert_eq!(followed(&receivers[0]), [(vec![paths[0]], vec![])]);
        one.supervise_paths(false);
        apply(&mut other, 1, removal(3));
        assert_eq!(followed(&receivers[0]), []);
        assert!([&one, &other].iter().all(|queue| queue.paths_of_others().is_empty()));
    }

    // Input:  a placement for one session, and two queues; a session of each.
    // Output: the second queue has the report that the limit is reached; no thread has that plan.
    #[test]
    fn a_plan_that_no_thread_can_apply_is_reported_to_its_queue() {
        let (senders, receivers) = threads(2);
        let mut one = PlanQueue::new(Some(Placement::new(Topology::default(), 1, 2, true)), senders);
        let mut other = one.beside();
        assert!(one.apply((0, 0), session(2, UPF)) && other.apply((1, 0), session(3, UPF)));
        assert!(one.own_report().is_none());
        let report = other.own_report();
        let full = ApplyError::Full { table: "sessions", capacity: 1 };
        assert!(matches!(&report, Some(Report::Applied((1, 0), Err(error))) if *error == full), "{report:?}");
        assert_eq!(receivers.iter().map(|commands| commands.try_iter().count()).collect::<Vec<_>>(), [1, 0]);
    }
}
