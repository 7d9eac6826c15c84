//! The placement of sessions on workers, decided by the control side.
//!
//! A session stays with its first worker. Worker 0 owns the state that sessions share: allowances of correlated QERs,
//! limits of slices, and Ethernet networks. Sessions with a common UE address, or with overlapping prefixes, are on
//! one worker, so that a packet that matches no rule of one session is tried with the rules of the other.
//!
//! The directory says which worker has a key; here are the keys of each session. With many sessions all of it waits for memory, so what several plans
//! need is prefetched before the first of them is placed.

mod table;
mod ue_nets;

use std::collections::BTreeMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use arrayvec::ArrayVec;
use causeway_collections::PartitionedMap;
use causeway_dataplane::{ApplyError, GtpuPath, Op, Plan, Topology};
use causeway_fastpath::index::{ask_for_huge_pages_in, prefetch_at};
use causeway_model::{PduSessionType, RuleSet, SessionChange};
use causeway_ports::udp::pfcp_socket_of;
use causeway_types::{DualIp, FTeid, SNssai, Seid};
use smallvec::SmallVec;

use super::directory::{ALL_WORKERS, Directory, Key, Writer};
use super::peers::{FIRST_WORKER, local_addresses};
use super::session_keys::{NewPaths, SessionKey, SessionKeys};
use table::Table;
use ue_nets::UeNets;

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
    /// The number of changes of the keys, modulo 2^32.
    changes: u32,
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
    /// [`Placed::changes`] of the session before the plan; `None`: it is new.
    based_on: Option<u32>,
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

/// The owner of each session. `K` identifies a plan.
#[derive(Debug)]
pub struct Placement<K> {
    topology: Topology,
    locals: Vec<IpAddr>,
    most_sessions: usize,
    writer: Writer,
    /// New sessions are spread by SEID, as the messages about them are.
    is_by_seid: bool,
    /// GTP-U paths are supervised: worker 0 must be notified of those of the other workers.
    supervises_paths: bool,
    /// The number of sessions of each worker.
    loads: Vec<usize>,
    sessions: Table<Seid, Placed>,
    /// The number of sessions that have a key of the directory, beside the first one.
    further: PartitionedMap<Key, usize>,
    ue_nets: UeNets,
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
        let (_, writer) = Directory::new(entries, ask_for_huge_pages_in);
        Self {
            is_by_seid,
            supervises_paths: !topology.routing.echo.interval.is_zero(),
            locals: local_addresses(&topology),
            topology,
            most_sessions: max_sessions,
            writer,
            loads: vec![0; workers],
            sessions: Table::for_entries(max_sessions),
            further: PartitionedMap::default(),
            ue_nets: UeNets::default(),
            pending: Table::for_entries(USUAL_PLANS.min(max_sessions)),
        }
    }

    /// The directory, which the workers read.
    pub(super) fn directory(&self) -> &Arc<Directory> {
        self.writer.directory()
    }

    /// GTP-U paths are supervised from now on, or not.
    pub(super) fn supervise_paths(&mut self, are_supervised: bool) {
        self.supervises_paths = are_supervised;
    }

    /// The workers that apply these plans, in order, behind what `workers` has. Packets for the keys that a plan adds go to its worker from now on.
    /// The error of a plan is the reason for which no worker can apply it.
    pub fn assign_workers(&mut self, plans: &[(K, Plan)], workers: &mut Vec<Result<usize, ApplyError>>) {
        for some in plans.chunks(PREFETCHED_PLANS) {
            some.iter().for_each(|(_, plan)| self.sessions.prefetch_index(&plan.session, prefetch_at));
            some.iter().for_each(|(_, plan)| self.sessions.prefetch(&plan.session, prefetch_at));
            let drafts: ArrayVec<Option<Draft>, PREFETCHED_PLANS> =
                some.iter().map(|(_, plan)| self.draft(plan)).collect();
            workers.extend(some.iter().zip(drafts).map(|((key, plan), draft)| self.place(*key, plan, draft)));
        }
    }

    /// The worker that applies a plan, as [`Placement::assign_workers`] does.
    ///
    /// # Errors
    /// The reason for which no worker can apply it.
    pub fn assign_worker(&mut self, key: K, plan: &Plan) -> Result<usize, ApplyError> {
        let draft = self.draft(plan);
        self.place(key, plan, draft)
    }

    /// The plan as it changes the session now, with the memory prefetched that this needs. `None`: it changes nothing.
    fn draft(&self, plan: &Plan) -> Option<Draft> {
        let placed = self.sessions.get(&plan.session);
        if placed.is_some() == plan.change.is_installation() {
            return None;
        }
        let before = placed.map_or(&SessionKeys::None, |placed| &placed.keys);
        let after = before.after(&plan.change, &self.topology);
        let changes = self.changes(before, &after);
        self.prefetch(&changes);
        Some(Draft { based_on: placed.map(|placed| placed.changes), after, changes })
    }

    fn prefetch(&self, changes: &Changes) {
        changes.keys.iter().for_each(|key| self.writer.directory().prefetch(key.name, prefetch_at));
    }

    fn changes(&self, before: &SessionKeys, after: &SessionKeys) -> Changes {
        let named = |keys: &SessionKeys, other: &SessionKeys| {
            let mut named = SmallVec::<[NamedKey; FEW_KEYS]>::new();
            keys.visit_changeable(other, |key| named.push(NamedKey { name: self.name(key), key }));
            named.sort_unstable();
            named.dedup();
            named
        };
        let (old, new) = (named(before, after), named(after, before));
        if old.is_empty() {
            return Changes { added: new.len(), keys: new };
        }
        if new.is_empty() {
            return Changes { added: 0, keys: old };
        }
        let mut changes = Changes::default();
        let mut push_only_in = |these: &[NamedKey], others: &[NamedKey]| {
            let only = these.iter().filter(|key| others.binary_search(key).is_err());
            only.for_each(|key| changes.keys.push(*key));
            changes.keys.len()
        };
        let added = push_only_in(&new, &old);
        push_only_in(&old, &new);
        Changes { added, ..changes }
    }

    fn place(&mut self, key: K, plan: &Plan, draft: Option<Draft>) -> Result<usize, ApplyError> {
        let placed = self.sessions.get(&plan.session).map(|placed| (placed.worker as usize, placed.changes));
        match placed {
            // The worker reports the error.
            None if !plan.change.is_installation() => return Ok(FIRST_WORKER),
            Some((worker, _)) if plan.change.is_installation() => return Ok(worker),
            None if self.sessions.len() >= self.most_sessions => {
                return Err(ApplyError::Full { table: "sessions", capacity: self.most_sessions as u64 });
            }
            _ => {}
        }
        // An earlier plan may have changed the session since.
        let present = draft.filter(|draft| draft.based_on == placed.map(|(_, changes)| changes));
        let Some(Draft { after, changes, .. }) = present.or_else(|| self.draft(plan)) else {
            return Ok(FIRST_WORKER);
        };
        let worker = self.choose_worker(placed.map(|(worker, _)| worker), plan, changes.added())?;
        if !self.claim(worker, changes.added()) {
            return Err(self.full());
        }
        let before = match self.sessions.get_mut(&plan.session) {
            Some(placed) => Some(placed.change(after)),
            None => {
                self.count(worker, true);
                self.sessions.insert(plan.session, Placed { worker: worker as u32, changes: 0, keys: after });
                None
            }
        };
        let is_removal = plan.change.is_removal();
        self.pending.insert(key, Pending { session: plan.session, before, is_removal, changes });
        Ok(worker)
    }

    /// Prefetches what the results of these plans will need.
    pub fn expect_results(&self, keys: impl Iterator<Item = K>) {
        for pending in keys.filter_map(|key| self.pending.get(&key)) {
            self.sessions.prefetch(&pending.session, prefetch_at);
            self.prefetch(&pending.changes);
        }
    }

    /// Completes a plan that the worker applied or refused. Returns the session's paths if worker 0 must be notified of
    /// them.
    pub fn complete(&mut self, key: K, is_done: bool) -> Option<NewPaths> {
        let Pending { session, before, is_removal, changes } = self.pending.remove(&key)?;
        let placed = self.sessions.get_mut(&session)?;
        let worker = placed.worker as usize;
        let follows = is_done && worker != FIRST_WORKER && self.supervises_paths;
        let news = if follows { new_paths(before.as_ref(), &placed.keys, &self.topology) } else { None };
        match before {
            Some(before) if !is_done => drop(placed.change(before)),
            None if !is_done => self.forget(session, worker),
            _ if is_removal => self.forget(session, worker),
            _ => {}
        }
        self.release(if is_done { changes.removed() } else { changes.added() });
        news
    }

    /// The paths of the sessions that other workers than the first have applied, each as often as it is used.
    pub(super) fn paths_of_others(&self) -> Vec<GtpuPath> {
        let pending = self.pending.iter().map(|(_, pending)| (pending.session, pending.before.as_ref()));
        let pending: BTreeMap<Seid, Option<&SessionKeys>> = pending.collect();
        let of_others = self.sessions.iter().filter(|(_, placed)| placed.worker as usize != FIRST_WORKER);
        let applied = of_others.filter_map(|(seid, placed)| match pending.get(seid) {
            Some(before) => *before,
            None => Some(&placed.keys),
        });
        applied.flat_map(|keys| keys.paths(&self.topology).to_vec()).collect()
    }

    fn forget(&mut self, session: Seid, worker: usize) {
        self.sessions.remove(&session);
        self.count(worker, false);
    }

    fn count(&mut self, worker: usize, is_more: bool) {
        if let Some(load) = self.loads.get_mut(worker) {
            *load = if is_more { *load + 1 } else { load.saturating_sub(1) };
        }
    }

    /// The worker of a new session, or of a session with additional keys.
    fn choose_worker(
        &self,
        known: Option<usize>,
        plan: &Plan,
        added: &[NamedKey],
    ) -> Result<usize, ApplyError> {
        let needs_first_worker = match &plan.change {
            SessionChange::Install(session) => self.uses_shared_state(session.profile().rules()),
            // FARs use no shared state.
            SessionChange::Rebind(_) | SessionChange::Remove => false,
            SessionChange::Update(ops) => ops.iter().any(|op| self.needs_first_worker(op)),
        };
        // The lowest and the highest one.
        let mut bound: Option<(usize, usize)> = None;
        for key in added {
            self.visit_holders(key, |worker| {
                let (lowest, highest) = bound.unwrap_or((worker, worker));
                bound = Some((lowest.min(worker), highest.max(worker)));
            });
        }
        let worker = match (known, bound) {
            (Some(known), _) => known,
            (None, _) if needs_first_worker => FIRST_WORKER,
            (None, Some((lowest, _))) => lowest,
            (None, None) if self.is_by_seid => pfcp_socket_of(plan.session.0, self.loads.len()),
            (None, None) => self.least_loaded(),
        };
        if needs_first_worker && worker != FIRST_WORKER {
            return Err(ApplyError::Unsupported(
                "a session that begins to use shared state after its establishment, with several workers",
            ));
        }
        if bound.is_none_or(|bound| bound == (worker, worker)) {
            return Ok(worker);
        }
        let mut other: Option<(usize, SessionKey)> = None;
        for key in added {
            self.visit_holders(key, |holder| {
                if holder != worker && other.is_none_or(|(known, _)| holder <= known) {
                    other = Some((holder, key.key));
                }
            });
        }
        other.map_or(Ok(worker), |(_, key)| Err(in_use(key)))
    }

    fn full(&self) -> ApplyError {
        ApplyError::Full { table: "directory of the workers", capacity: self.writer.capacity() as u64 }
    }

    fn least_loaded(&self) -> usize {
        let loads = self.loads.iter().enumerate();
        loads.min_by_key(|(_, load)| **load).map_or(FIRST_WORKER, |(worker, _)| worker)
    }

    /// Whether a session with these rules uses state that sessions share.
    fn uses_shared_state(&self, rules: &RuleSet) -> bool {
        rules.pdu_type == PduSessionType::Ethernet
            || rules.slice.is_some_and(|slice| self.is_limited(slice))
            || rules.qers.values().any(|qer| qer.correlation.is_some())
    }

    fn is_limited(&self, slice: SNssai) -> bool {
        self.topology.slices.iter().any(|limit| limit.slice == slice)
    }

    /// Whether the write adds state that sessions share.
    fn needs_first_worker(&self, op: &Op) -> bool {
        match op {
            Op::SetPduType(pdu_type) => *pdu_type == PduSessionType::Ethernet,
            Op::SetSlice(slice) => slice.is_some_and(|slice| self.is_limited(slice)),
            Op::PutQer(qer) => qer.correlation.is_some(),
            _ => false,
        }
    }

    /// Calls `see` with the workers to which this key binds a session. Sessions of several workers may send to one tunnel.
    fn visit_holders(&self, key: &NamedKey, mut see: impl FnMut(usize)) {
        let directory = self.writer.directory();
        let mut see =
            |name| directory.owner(name).filter(|owner| *owner != ALL_WORKERS).into_iter().for_each(&mut see);
        match key.key {
            SessionKey::Tunnel(..) => see(key.name),
            SessionKey::Ue(net) => {
                see(key.name);
                let overlapping = self.ue_nets.around(net).chain(self.ue_nets.inside(net));
                overlapping.for_each(|net| see(directory.ue(net)));
            }
            SessionKey::Remote(..) => {}
        }
    }

    /// Adds a session of a worker to these keys. `false`: the directory is full, and nothing has changed.
    fn claim(&mut self, worker: usize, keys: &[NamedKey]) -> bool {
        for (at, NamedKey { name, key }) in keys.iter().enumerate() {
            match (self.writer.claim(*name, worker), key) {
                (Some(true), SessionKey::Ue(net)) => {
                    if self.ue_nets.insert(*net) {
                        self.writer.has_prefixes(net.addr().is_ipv4(), net.prefix_len(), true);
                    }
                }
                (Some(true), _) => {}
                (Some(false), _) => *self.further.get_or_insert_with(*name, || 0) += 1,
                (None, _) => {
                    self.release(keys.get(..at).unwrap_or_default());
                    return false;
                }
            }
        }
        true
    }

    /// Removes a session from these keys.
    fn release(&mut self, keys: &[NamedKey]) {
        for NamedKey { name, key } in keys {
            if self.has_further(*name) || !self.writer.remove(*name) {
                continue;
            }
            if let SessionKey::Ue(net) = key
                && self.ue_nets.remove(*net)
            {
                self.writer.has_prefixes(net.addr().is_ipv4(), net.prefix_len(), false);
            }
        }
    }

    /// Another session has the key; this removes one.
    fn has_further(&mut self, name: Key) -> bool {
        if self.further.is_empty() {
            return false;
        }
        let Some(further) = self.further.get_mut(&name) else { return false };
        *further -= 1;
        if *further == 0 {
            self.further.remove(&name);
        }
        true
    }

    /// The key as the directory calls it.
    fn name(&self, key: SessionKey) -> Key {
        let directory = self.writer.directory();
        match key {
            SessionKey::Tunnel(local, teid) => {
                let number = self.locals.iter().position(|known| *known == local);
                match number.map(u8::try_from) {
                    Some(Ok(number)) => directory.tunnel(number, teid.value()),
                    _ => directory.other_tunnel(local, teid),
                }
            }
            SessionKey::Ue(net) => directory.ue(net),
            SessionKey::Remote(peer, teid) => directory.remote(peer, teid),
        }
    }
}

impl Placed {
    /// Changes the keys. Returns the previous ones.
    fn change(&mut self, keys: SessionKeys) -> SessionKeys {
        self.changes = self.changes.wrapping_add(1);
        std::mem::replace(&mut self.keys, keys)
    }
}

/// The paths of a session before and after a plan, if they differ.
fn new_paths(before: Option<&SessionKeys>, after: &SessionKeys, topology: &Topology) -> Option<NewPaths> {
    let (old, new) = (before.unwrap_or(&SessionKeys::None).paths(topology), after.paths(topology));
    (*old != *new).then(|| NewPaths { old: old.to_vec(), new: new.to_vec() })
}

/// The key is one of a session of another worker.
fn in_use(key: SessionKey) -> ApplyError {
    match key {
        SessionKey::Tunnel(addr, teid) | SessionKey::Remote(addr, teid) => {
            ApplyError::TunnelInUse(FTeid { teid, addr: DualIp::from(addr) })
        }
        SessionKey::Ue(net) => ApplyError::UeAddressInUse(net),
    }
}

#[cfg(test)]
mod tests;
