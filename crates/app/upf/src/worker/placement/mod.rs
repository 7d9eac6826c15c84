//! The placement of sessions on workers, decided by the control side.
//!
//! A session stays with its first worker. Worker 0 owns the state that sessions share: allowances of correlated QERs,
//! limits of slices, and Ethernet networks. Sessions with a common UE address, or with overlapping prefixes, are on
//! one worker, so that a packet that matches no rule of one session is tried with the rules of the other.
//!
//! Several threads can place plans at once, each those of its own sessions: each has a part of the placement, with the keys of its sessions and its
//! plans in flight. All parts have one directory, which says which worker has a key. A part derives the keys of plans by itself. It locks the holders of
//! all keys while it chooses a worker by them and claims the keys for it, and while it releases keys.
//!
//! With many sessions all of it waits for memory, so what several plans need is prefetched before the first of them is placed, and before the lock is
//! taken.

mod key_holders;
mod table;
mod ue_nets;
mod whole;

use std::collections::BTreeMap;
use std::hash::Hash;
use std::mem;
use std::sync::Arc;

use arrayvec::ArrayVec;
use causeway_dataplane::{ApplyError, GtpuPath, Plan, Topology};
use causeway_fastpath::index::prefetch_at;
use causeway_types::Seid;
use smallvec::SmallVec;

use super::directory::{Directory, Key};
use super::peers::FIRST_WORKER;
use super::session_keys::{NewPaths, SessionKey, SessionKeys};
use table::Table;
use whole::Whole;

/// Capacity of the directory for each session, in entries: a tunnel in each direction, an IPv4 and an IPv6 address.
const ENTRIES_PER_SESSION: usize = 4;

/// Keys of a session, or of a change of it, without memory of their own.
const FEW_KEYS: usize = ENTRIES_PER_SESSION;

/// Plans whose memory is prefetched before the first of them is placed.
const PREFETCHED_PLANS: usize = 32;

/// Plans in flight for which memory is reserved.
const USUAL_PLANS: usize = 512;

/// A key of a session, and what the directory calls it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct NamedKey {
    name: Key,
    key: SessionKey,
}

/// A session.
#[derive(Debug)]
struct Placed {
    worker: u32,
    keys: SessionKeys,
}

/// The keys that a plan changes.
#[derive(Debug, Default)]
struct Changes {
    /// The added ones, then the removed ones.
    keys: SmallVec<[NamedKey; FEW_KEYS]>,
    added: usize,
}

impl Changes {
    fn added(&self) -> &[NamedKey] {
        self.keys.get(..self.added).unwrap_or_default()
    }

    fn removed(&self) -> &[NamedKey] {
        self.keys.get(self.added..).unwrap_or_default()
    }
}

/// A plan that is about to be placed.
#[derive(Debug)]
struct Draft {
    /// The worker of the session; `None`: it is new.
    known: Option<usize>,
    needs_first_worker: bool,
    after: SessionKeys,
    changes: Changes,
}

/// A plan in flight.
#[derive(Debug)]
struct Pending {
    session: Seid,
    /// The session before the plan; `None`: it is new.
    before: Option<SessionKeys>,
    is_removal: bool,
    changes: Changes,
}

/// The owner of each session of one part. `K` identifies a plan of the part.
#[derive(Debug)]
pub struct Placement<K> {
    whole: Arc<Whole>,
    own: Sessions<K>,
}

/// The sessions of one part, and its plans in flight.
#[derive(Debug)]
struct Sessions<K> {
    placed: Table<Seid, Placed>,
    pending: Table<K, Pending>,
}

impl<K: Copy + Eq + Hash> Placement<K> {
    /// No session yet, on so many workers. `is_by_seid`: each of them receives N4, and a new session belongs to the one that receives the messages
    /// about it. Their common directory follows.
    pub fn new(topology: Topology, max_sessions: usize, workers: usize, is_by_seid: bool) -> Self {
        let entries = max_sessions.saturating_mul(ENTRIES_PER_SESSION);
        Self::with_directory(topology, max_sessions, (workers, is_by_seid), entries)
    }

    /// The same with a directory for so many entries.
    fn with_directory(
        topology: Topology,
        max_sessions: usize,
        (workers, is_by_seid): (usize, bool),
        entries: usize,
    ) -> Self {
        let whole = Whole::new(topology, max_sessions, (workers, is_by_seid), entries);
        Self { whole: Arc::new(whole), own: Sessions::for_entries(max_sessions) }
    }

    /// Another part of the same placement, without sessions. Memory is reserved as if each worker had one such part, with an eighth more, since SEIDs
    /// are not spread exactly.
    #[must_use]
    pub fn beside(&self) -> Self {
        let share = self.whole.most_sessions.div_ceil(self.whole.workers().max(1));
        let own = Sessions::for_entries(share.saturating_add(share / 8));
        Self { whole: Arc::clone(&self.whole), own }
    }

    /// The directory, which the workers read.
    pub(super) fn directory(&self) -> &Arc<Directory> {
        &self.whole.directory
    }

    /// GTP-U paths are supervised from now on, or not, with sessions of all parts.
    pub(super) fn supervise_paths(&self, are_supervised: bool) {
        self.whole.supervise_paths(are_supervised);
    }

    /// The workers that apply these plans, in order, behind what `workers` has. Packets for the keys that a plan adds go to its worker from now on.
    /// The error of a plan is the reason for which no worker can apply it.
    pub fn assign_workers(&mut self, plans: &[(K, Plan)], workers: &mut Vec<Result<usize, ApplyError>>) {
        let Self { whole, own } = self;
        let mut left = plans;
        while !left.is_empty() {
            let (some, others) = left.split_at(number_together(left));
            some.iter().for_each(|(_, plan)| own.placed.prefetch_index(&plan.session, prefetch_at));
            some.iter().for_each(|(_, plan)| own.placed.prefetch(&plan.session, prefetch_at));
            let drafts: ArrayVec<Result<Draft, usize>, PREFETCHED_PLANS> =
                some.iter().map(|(_, plan)| own.draft(plan, whole)).collect();
            let mut holders = whole.holders();
            let place = |((_, plan), draft): (&(K, Plan), &Result<Draft, usize>)| match draft {
                Ok(draft) => whole.place(&mut holders, plan.session, draft),
                Err(worker) => Ok(*worker),
            };
            let chosen: ArrayVec<_, PREFETCHED_PLANS> = some.iter().zip(&drafts).map(place).collect();
            drop(holders);
            for (((key, plan), draft), worker) in some.iter().zip(drafts).zip(chosen) {
                if let (Ok(draft), Ok(worker)) = (draft, &worker) {
                    own.record(*key, plan, draft, *worker);
                }
                workers.push(worker);
            }
            left = others;
        }
    }

    /// The worker that applies a plan, as [`Placement::assign_workers`] does.
    ///
    /// # Errors
    /// The reason for which no worker can apply it.
    pub fn assign_worker(&mut self, key: K, plan: &Plan) -> Result<usize, ApplyError> {
        let Self { whole, own } = self;
        let draft = match own.draft(plan, whole) {
            Ok(draft) => draft,
            Err(worker) => return Ok(worker),
        };
        let worker = whole.place(&mut whole.holders(), plan.session, &draft)?;
        own.record(key, plan, draft, worker);
        Ok(worker)
    }

    /// Prefetches what the results of these plans will need.
    pub fn expect_results(&self, keys: impl Iterator<Item = K>) {
        for pending in keys.filter_map(|key| self.own.pending.get(&key)) {
            self.own.placed.prefetch(&pending.session, prefetch_at);
            self.whole.prefetch(&pending.changes);
        }
    }

    /// Completes a plan that the worker applied or refused. Returns the session's paths if worker 0 must be notified of
    /// them.
    pub fn complete(&mut self, key: K, is_done: bool) -> Option<NewPaths> {
        let Self { whole, own } = self;
        let Pending { session, before, is_removal, changes } = own.pending.remove(&key)?;
        let placed = own.placed.get_mut(&session)?;
        let worker = placed.worker as usize;
        let follows = is_done && worker != FIRST_WORKER && whole.supervises_paths();
        let news = if follows { new_paths(before.as_ref(), &placed.keys, &whole.topology) } else { None };
        match before {
            Some(before) if !is_done => placed.keys = before,
            None if !is_done => own.forget(session, worker, whole),
            _ if is_removal => own.forget(session, worker, whole),
            _ => {}
        }
        let released = if is_done { changes.removed() } else { changes.added() };
        if !released.is_empty() {
            whole.holders().release(released);
        }
        news
    }

    /// The paths of the sessions of this part that other workers than the first have applied, each as often as it is used.
    pub(super) fn paths_of_others(&self) -> Vec<GtpuPath> {
        let pending = self.own.pending.iter().map(|(_, pending)| (pending.session, pending.before.as_ref()));
        let pending: BTreeMap<Seid, Option<&SessionKeys>> = pending.collect();
        let of_others = self.own.placed.iter().filter(|(_, placed)| placed.worker as usize != FIRST_WORKER);
        let applied = of_others.filter_map(|(seid, placed)| match pending.get(seid) {
            Some(before) => *before,
            None => Some(&placed.keys),
        });
        applied.flat_map(|keys| keys.paths(&self.whole.topology).to_vec()).collect()
    }
}

impl<K: Copy + Eq + Hash> Sessions<K> {
    /// None yet. Memory for so many sessions is reserved.
    fn for_entries(most: usize) -> Self {
        Self { placed: Table::for_entries(most), pending: Table::for_entries(USUAL_PLANS.min(most)) }
    }

    /// The plan as it changes the session, with the memory prefetched that this needs.
    ///
    /// # Errors
    /// It changes nothing; this worker reports the error.
    fn draft(&self, plan: &Plan, whole: &Whole) -> Result<Draft, usize> {
        let placed = self.placed.get(&plan.session);
        let known = placed.map(|placed| placed.worker as usize);
        if known.is_some() == plan.change.is_installation() {
            return Err(known.unwrap_or(FIRST_WORKER));
        }
        let before = placed.map_or(&SessionKeys::None, |placed| &placed.keys);
        let after = before.after(&plan.change, &whole.topology);
        let changes = whole.changes(before, &after);
        whole.prefetch(&changes);
        let needs_first_worker = whole.needs_first_worker(&plan.change);
        Ok(Draft { known, needs_first_worker, after, changes })
    }

    /// Records a plan that is placed.
    fn record(&mut self, key: K, plan: &Plan, Draft { after, changes, .. }: Draft, worker: usize) {
        let before = match self.placed.get_mut(&plan.session) {
            Some(placed) => Some(mem::replace(&mut placed.keys, after)),
            None => {
                self.placed.insert(plan.session, Placed { worker: worker as u32, keys: after });
                None
            }
        };
        let is_removal = plan.change.is_removal();
        self.pending.insert(key, Pending { session: plan.session, before, is_removal, changes });
    }

    fn forget(&mut self, session: Seid, worker: usize, whole: &Whole) {
        self.placed.remove(&session);
        whole.remove_session(worker);
    }
}

/// The number of the first plans that are placed together: at most as many as are prefetched, each of another session, since a plan is drafted by what
/// the plans before it leave.
fn number_together<K>(plans: &[(K, Plan)]) -> usize {
    let mut sessions = ArrayVec::<Seid, PREFETCHED_PLANS>::new();
    let some = plans.iter().take(PREFETCHED_PLANS).map(|(_, plan)| plan.session);
    some.take_while(|session| {
        let is_other = !sessions.contains(session);
        sessions.push(*session);
        is_other
    })
    .count()
}

/// The paths of a session before and after a plan, if they differ.
fn new_paths(before: Option<&SessionKeys>, after: &SessionKeys, topology: &Topology) -> Option<NewPaths> {
    let (old, new) = (before.unwrap_or(&SessionKeys::None).paths(topology), after.paths(topology));
    (*old != *new).then(|| NewPaths { old: old.to_vec(), new: new.to_vec() })
}

#[cfg(test)]
mod tests;
