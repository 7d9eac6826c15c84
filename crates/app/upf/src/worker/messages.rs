//! The messages between the control plane and the packet threads.

use std::sync::Arc;
use std::time::Duration;

use causeway_dataplane::{
    Applied, ApplyError, ColdStorageState, Counters, Event, Explanation, GtpuPath, HeavyHitterList,
    HeavyHitterSettings, HostReachability, Ingress, MemoryLosses, NamedCounter, PathState, PlacedRule, Plan,
    RestoredUrr, RulePlacement, SessionClasses, SessionState, Settings, SwitchState,
};
use causeway_model::{ApplicationId, Applications};
use causeway_ports::PortError;
use causeway_types::{Seid, Time, WallClock};
use tokio::sync::oneshot;

use super::session_keys::NewPaths;
use super::watch::Watch;

/// A command to a packet thread. `K` identifies a plan.
#[derive(Debug)]
pub(super) enum Command<K> {
    /// Apply a plan and send [`Report::Applied`] with the same key.
    Apply(K, Plan),
    /// Do this between packets.
    Task(Task),
    /// Stop.
    Stop,
}

/// What a packet thread is to do besides plans.
#[derive(Debug)]
pub(super) enum Task {
    /// Detect these applications from now on.
    Provision(Arc<Applications>),
    /// Look for heavy hitters in this way from now on, or not at all.
    HeavyHitters(Option<HeavyHitterSettings>),
    /// The host has these addresses from now on.
    Host(Arc<HostReachability>),
    /// These settings are in force from now on.
    Settings(Arc<Settings>),
    /// The wall clock has this relation to the monotonic clock from now on.
    WallClock(WallClock),
    /// Replace the supervised paths of a session of another worker.
    Follow(NewPaths),
    /// Return the present counters.
    Snapshot(oneshot::Sender<Snapshot>),
    /// Return the state of a session.
    SessionState(Seid, oneshot::Sender<Option<SessionState>>),
    /// Return the application classes of these sessions.
    ApplicationClasses(Arc<[Seid]>, oneshot::Sender<ClassesOf>),
    /// Return the state of the P4 switch.
    SwitchState(oneshot::Sender<Option<SwitchState>>),
    /// Return what would become of a packet.
    Explain(Arc<(Ingress, Vec<u8>)>, oneshot::Sender<Option<Explanation>>),
    /// Return the supervised paths: at most so many behind this one.
    Paths(Option<GtpuPath>, usize, oneshot::Sender<Vec<PathState>>),
    /// Return how many rules are where, and rules: of this session, or those that are not at rest in the software; at most so
    /// many.
    PlacedRules(Option<Seid>, usize, oneshot::Sender<PlacedRules>),
    /// Send [`Report::Usage`] with snapshots of those of these sessions of which packets have arrived since.
    UsageSnapshots(Arc<[(Seid, Time)]>),
    /// Go on with usage of sessions that was measured elsewhere, and send [`Report::UsageRestored`].
    RestoreUsage(Arc<[RestoredUsage]>),
    /// Observe the packets of a session from now on, or with other keys than before.
    Watch(Watch),
}

/// A report of the packet threads to the control plane.
#[derive(Debug)]
pub enum Report<K> {
    /// The result of a plan.
    Applied(K, Result<Applied, ApplyError>),
    /// An event of the data plane. It precedes the [`Report::Applied`] of any later plan of its session.
    Event(Event),
    /// Snapshots of the usage of sessions, each before any later event and plan of its session.
    Usage(Vec<(Seid, Vec<u8>)>),
    /// So many sessions go on with their usage.
    UsageRestored(usize),
    /// The threads have ended, with the reason: a command, or a lost port.
    Stopped(Result<Box<Snapshot>, PortError>),
}

/// The usage of a session that was measured elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RestoredUsage {
    /// The session.
    pub session: Seid,
    /// What [`causeway_dataplane::Dataplane::usage_snapshot`] returned there.
    pub snapshot: Vec<u8>,
    /// The URRs that go on from it.
    pub urrs: Vec<RestoredUrr>,
}

/// The application class of each of some sessions, in their order, if its traffic is measured.
pub type ClassesOf = Vec<Option<ApplicationId>>;

/// How many rules are where, if the data plane moves any, and rules that were asked for.
pub type PlacedRules = (Option<RulePlacement>, Vec<PlacedRule>);

/// A snapshot of the counters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// Those of the data plane.
    pub counters: Counters,
    /// Packets that the data plane sent to an address or network without a port.
    pub unroutable: u64,
    /// Packets by the stage of the data plane that decided them.
    pub stages: Vec<NamedCounter>,
    /// Events at the P4 switch.
    pub switch_events: Vec<NamedCounter>,
    /// Packets that one worker received and handed to another, which owns them.
    pub handed: u64,
    /// The heavy hitters; `None`: they are not looked for.
    pub heavy_hitters: Option<HeavyHitterList>,
    /// The sessions by application class.
    pub classes: SessionClasses,
    /// Where rules are; `None`: the data plane moves none.
    pub rule_placement: Option<RulePlacement>,
    /// Idle sessions; `None`: all state is in memory.
    pub cold_storage: Option<ColdStorageState>,
    /// What was lost with external memory; `None`: no state is there.
    pub memory_losses: Option<MemoryLosses>,
    /// The time for which the threads ran on a core.
    pub core_time: Duration,
    /// The turns of the thread's loop.
    pub turns: Turns,
}

/// The turns of the loop of a packet thread: how busy it is, even if it never sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Turns {
    /// Those that received packets, from a port or another thread.
    pub with_packets: u64,
    /// All others.
    pub without_packets: u64,
}

impl Turns {
    /// Counts one turn.
    pub(super) const fn count(&mut self, has_packets: bool) {
        if has_packets {
            self.with_packets += 1;
        } else {
            self.without_packets += 1;
        }
    }

    /// The sum.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            with_packets: self.with_packets + other.with_packets,
            without_packets: self.without_packets + other.without_packets,
        }
    }
}

impl Snapshot {
    /// The sum of the counters of two workers.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        Self {
            counters: self.counters.with(&other.counters),
            unroutable: self.unroutable + other.unroutable,
            stages: sum(self.stages, &other.stages),
            switch_events: sum(self.switch_events, &other.switch_events),
            handed: self.handed + other.handed,
            heavy_hitters: merged(self.heavy_hitters, other.heavy_hitters.as_ref()),
            classes: self.classes.with(&other.classes),
            rule_placement: sum_of(self.rule_placement, other.rule_placement),
            cold_storage: self.cold_storage.map_or(other.cold_storage, |one| {
                Some(other.cold_storage.map_or(one, |other| one.with(&other)))
            }),
            memory_losses: self.memory_losses.map_or(other.memory_losses, |one| {
                Some(other.memory_losses.map_or(one, |other| one.with(&other)))
            }),
            core_time: self.core_time + other.core_time,
            turns: self.turns.with(other.turns),
        }
    }
}

/// Where the rules of two workers are, which have different sessions and one switch.
fn sum_of(one: Option<RulePlacement>, other: Option<RulePlacement>) -> Option<RulePlacement> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.with(&other)),
        (one, other) => one.or(other),
    }
}

/// The heavy hitters of two workers, which have different sessions.
fn merged(one: Option<HeavyHitterList>, other: Option<&HeavyHitterList>) -> Option<HeavyHitterList> {
    let Some(other) = other else { return one };
    let mut sum = one.unwrap_or_default();
    sum.flows.extend_from_slice(&other.flows);
    sum.counts = sum.counts.with(&other.counts);
    Some(sum)
}

/// The sum of counters with the same name.
fn sum(mut counters: Vec<NamedCounter>, others: &[NamedCounter]) -> Vec<NamedCounter> {
    for other in others {
        match counters.iter_mut().find(|known| known.name == other.name) {
            Some(known) => known.value += other.value,
            None => counters.push(*other),
        }
    }
    counters
}

/// Requests of another thread to one packet thread.
pub(super) trait Questions: Send + Sync {
    /// Requests the counters.
    fn snapshot(&self, reply: oneshot::Sender<Snapshot>);

    /// Requests the state of a session.
    fn session_state(&self, session: Seid, reply: oneshot::Sender<Option<SessionState>>);

    /// Requests the application classes of sessions.
    fn application_classes(&self, sessions: Arc<[Seid]>, reply: oneshot::Sender<ClassesOf>);

    /// Requests the state of the P4 switch.
    fn switch_state(&self, reply: oneshot::Sender<Option<SwitchState>>);

    /// Requests what would become of a packet.
    fn explain(&self, packet: Arc<(Ingress, Vec<u8>)>, reply: oneshot::Sender<Option<Explanation>>);

    /// Requests the supervised paths: at most so many behind this one.
    fn paths(&self, after: Option<GtpuPath>, most: usize, reply: oneshot::Sender<Vec<PathState>>);

    /// Requests rules and where they are.
    fn placed_rules(&self, session: Option<Seid>, most: usize, reply: oneshot::Sender<PlacedRules>);

    /// Observes the packets of a session from now on.
    fn watch(&self, watch: Watch);
}

/// Reads counters and sessions of the packet threads, from any thread or task.
pub struct SnapshotClient(pub(super) Vec<Box<dyn Questions>>);

impl SnapshotClient {
    /// The counters of each thread now, in the order of their numbers; `None` when one has ended.
    pub async fn snapshots(&self) -> Option<Vec<Snapshot>> {
        self.ask_all(|thread, reply| thread.snapshot(reply)).await
    }

    /// The sum of the present counters of all threads; `None` when one has ended.
    pub async fn snapshot(&self) -> Option<Snapshot> {
        let snapshots = self.snapshots().await?;
        Some(snapshots.iter().fold(Snapshot::default(), Snapshot::with))
    }

    /// The state of a session, with the number of its thread; `None` when a thread has ended. The inner `None`: no
    /// thread has the session, or its data plane cannot tell.
    pub async fn session_state(&self, session: Seid) -> Option<Option<(usize, SessionState)>> {
        let states = self.ask_all(|thread, reply| thread.session_state(session, reply)).await?;
        Some(states.into_iter().enumerate().find_map(|(number, state)| Some((number, state?))))
    }

    /// The application classes of sessions, in their order; `None` when a thread has ended.
    pub async fn application_classes(&self, sessions: Arc<[Seid]>) -> Option<ClassesOf> {
        let ask = |thread: &dyn Questions, reply| thread.application_classes(Arc::clone(&sessions), reply);
        let by_thread = self.ask_all(ask).await?;
        let mut all = vec![None; sessions.len()];
        for classes in by_thread {
            for (known, class) in all.iter_mut().zip(classes) {
                *known = known.take().or(class);
            }
        }
        Some(all)
    }

    /// The state of the P4 switch, of which each thread may have a part; `None` when a thread has ended. The inner `None`: there is no
    /// switch.
    pub async fn switch_state(&self) -> Option<Option<SwitchState>> {
        let states = self.ask_all(|thread, reply| thread.switch_state(reply)).await?;
        Some(states.into_iter().flatten().reduce(SwitchState::with))
    }

    /// What would become of a packet, by the thread that has its session; `None` when a thread has ended. The inner `None`:
    /// the data plane explains no packets of this kind.
    pub async fn explain(&self, ingress: Ingress, packet: Vec<u8>) -> Option<Option<Explanation>> {
        let packet = Arc::new((ingress, packet));
        let explained = self.ask_all(|thread, reply| thread.explain(Arc::clone(&packet), reply)).await?;
        let rank = |it: &Explanation| (it.rules.is_some(), !it.sessions.is_empty());
        Some(explained.into_iter().flatten().max_by_key(rank))
    }

    /// Observes the packets of a session in every thread, or with other keys than before.
    pub(crate) fn watch(&self, watch: &Watch) {
        self.0.iter().for_each(|thread| thread.watch(watch.clone()));
    }

    /// The supervised paths of all threads, at most `most` of those behind `after`; `None` when a thread has ended.
    pub async fn paths(&self, after: Option<GtpuPath>, most: usize) -> Option<Vec<PathState>> {
        let mut paths = self.ask_all(|thread, reply| thread.paths(after, most, reply)).await?.concat();
        paths.sort_unstable_by_key(|path| path.path);
        paths.truncate(most);
        Some(paths)
    }

    /// How many rules are where, and rules: those of a session, or those that are not at rest in the software, at most `most` of
    /// them; `None` when a thread has ended.
    pub async fn placed_rules(&self, session: Option<Seid>, most: usize) -> Option<PlacedRules> {
        let of_threads = self.ask_all(|thread, reply| thread.placed_rules(session, most, reply)).await?;
        let (mut placement, mut rules) = (None, Vec::new());
        for (of_thread, some) in of_threads {
            placement = sum_of(placement, of_thread);
            // A session is asked for at each thread, and known to one: the others have none of its rules.
            rules.extend(some);
        }
        rules.sort_by_key(|rule: &PlacedRule| std::cmp::Reverse(rule.octets_per_second));
        rules.truncate(most);
        Some((placement, rules))
    }

    /// Sends a request to each thread, then awaits all results; `None` when a thread has ended.
    async fn ask_all<T>(&self, ask: impl Fn(&dyn Questions, oneshot::Sender<T>)) -> Option<Vec<T>> {
        let asked: Vec<_> = self
            .0
            .iter()
            .map(|thread| {
                let (reply, answer) = oneshot::channel();
                ask(&**thread, reply);
                answer
            })
            .collect();
        let mut answers = Vec::with_capacity(asked.len());
        for answer in asked {
            answers.push(answer.await.ok()?);
        }
        Some(answers)
    }
}
