//! The placement of sessions on workers, decided by the control side.
//!
//! A session stays with its first worker. Worker 0 owns the state that sessions share: allowances of correlated QERs,
//! limits of slices, and Ethernet networks. Sessions with a common UE address, or with overlapping prefixes, are on
//! one worker, so that a packet that matches no rule of one session is tried with the rules of the other.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::net::IpAddr;
use std::ops::Bound;

use causeway_collections::PartitionedMap;
use causeway_dataplane::{ApplyError, GtpuPath, Op, Plan, Topology};
use causeway_model::{PduSessionType, RuleSet, SessionChange};
use causeway_ports::udp::pfcp_socket_of;
use causeway_types::{DualIp, FTeid, IpNet, SNssai, Seid};

use super::directory::{ALL_WORKERS, Key, Writer};
use super::peers::{FIRST_WORKER, local_addresses};
use super::session_keys::{NewPaths, SessionKey, SessionKeys, wide_length};

/// The owner of a key, and the number of its sessions.
#[derive(Clone, Copy, Debug)]
struct HeldKey {
    worker: usize,
    sessions: usize,
    /// Sessions of several workers have the key.
    is_shared: bool,
}

/// A plan in flight.
#[derive(Debug)]
struct Pending {
    session: Seid,
    /// The session before the plan; `None`: it is new.
    before: Option<SessionKeys>,
    is_removal: bool,
    added: Vec<SessionKey>,
    removed: Vec<SessionKey>,
}

/// The owner of each session. `K` identifies a plan.
#[derive(Debug)]
pub(super) struct Placement<K> {
    topology: Topology,
    locals: Vec<IpAddr>,
    most_sessions: usize,
    writer: Writer,
    /// New sessions are spread by SEID, as the messages about them are.
    is_by_seid: bool,
    /// The number of sessions of each worker.
    loads: Vec<usize>,
    sessions: PartitionedMap<Seid, SessionKeys>,
    held: PartitionedMap<SessionKey, HeldKey>,
    /// The addresses and prefixes of UEs among these keys.
    ue_nets: BTreeSet<IpNet>,
    /// The number of prefixes of more than one UE, by IP version and length.
    wide: BTreeMap<(bool, u8), usize>,
    pending: PartitionedMap<K, Pending>,
}

impl<K: Copy + Eq + Hash> Placement<K> {
    /// No session yet. `is_by_seid`: each worker receives N4, and a new session belongs to the one that receives the messages about it.
    pub(super) fn new(
        topology: Topology,
        max_sessions: usize,
        (workers, is_by_seid): (usize, bool),
        writer: Writer,
    ) -> Self {
        Self {
            is_by_seid,
            locals: local_addresses(&topology),
            topology,
            most_sessions: max_sessions,
            writer,
            loads: vec![0; workers],
            sessions: PartitionedMap::default(),
            held: PartitionedMap::default(),
            ue_nets: BTreeSet::new(),
            wide: BTreeMap::new(),
            pending: PartitionedMap::default(),
        }
    }

    /// The worker that applies a plan. Packets for the keys that the plan adds go to this worker from now on.
    ///
    /// # Errors
    /// The reason for which no worker can apply it.
    pub(super) fn assign_worker(&mut self, key: K, plan: &Plan) -> Result<usize, ApplyError> {
        let before = self.sessions.get(&plan.session).cloned();
        // The keys of other sessions are not listed for this.
        let is_new = plan.change.is_installation();
        match &before {
            // The worker reports the error.
            None if !is_new => return Ok(FIRST_WORKER),
            Some(known) if is_new => return Ok(known.worker),
            None if self.sessions.len() >= self.most_sessions => {
                return Err(ApplyError::Full { table: "sessions", capacity: self.most_sessions as u64 });
            }
            _ => {}
        }
        let mut after = before.clone().unwrap_or_default();
        after.follow(plan, &self.topology);
        let (old, new) = (before.as_ref().map(SessionKeys::keys).unwrap_or_default(), after.keys());
        let added = only_in(&new, &old);
        after.worker = self.choose_worker(before.as_ref(), plan, &added)?;
        if !self.insert_keys(after.worker, &added) {
            self.release(&added);
            return Err(self.full());
        }
        let is_removal = plan.change.is_removal();
        let removed = only_in(&old, &new);
        if before.is_none() {
            self.count(after.worker, true);
        }
        let worker = after.worker;
        self.sessions.insert(plan.session, after);
        self.pending.insert(key, Pending { session: plan.session, before, is_removal, added, removed });
        Ok(worker)
    }

    /// Completes a plan that the worker applied or refused. Returns the session's paths if worker 0 must be notified of
    /// them.
    pub(super) fn complete(&mut self, key: K, is_done: bool) -> Option<NewPaths> {
        let Pending { session, before, is_removal, added, removed } = self.pending.remove(&key)?;
        let record = self.sessions.get(&session)?;
        let worker = record.worker;
        let paths = record.paths(&self.topology);
        self.release(if is_done { &removed } else { &added });
        let old_paths = before.as_ref().map(|before| before.paths(&self.topology)).unwrap_or_default();
        match before {
            Some(before) if !is_done => drop(self.sessions.insert(session, before)),
            None if !is_done => self.forget(session, worker),
            _ if is_removal => self.forget(session, worker),
            _ => {}
        }
        let is_news = is_done && worker != FIRST_WORKER && paths != old_paths;
        is_news.then_some(NewPaths { old: old_paths, new: paths })
    }

    /// The paths of the sessions that other workers than the first have applied, each as often as it is used.
    pub(super) fn paths_of_others(&self) -> Vec<GtpuPath> {
        let pending: BTreeMap<Seid, Option<&SessionKeys>> =
            self.pending.values().map(|pending| (pending.session, pending.before.as_ref())).collect();
        let applied = self.sessions.iter().filter_map(|(seid, keys)| match pending.get(seid) {
            Some(before) => *before,
            None => Some(keys),
        });
        let of_others = applied.filter(|keys| keys.worker != FIRST_WORKER);
        of_others.flat_map(|keys| keys.paths(&self.topology)).collect()
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
        before: Option<&SessionKeys>,
        plan: &Plan,
        added: &[SessionKey],
    ) -> Result<usize, ApplyError> {
        let needs_first_worker = match &plan.change {
            SessionChange::Install(session) => self.uses_shared_state(session.profile().rules()),
            // FARs use no shared state.
            SessionChange::Rebind(_) | SessionChange::Remove => false,
            SessionChange::Update(ops) => ops.iter().any(|op| self.needs_first_worker(op)),
        };
        let taken: BTreeMap<usize, ApplyError> =
            added.iter().flat_map(|holding| self.constraints(*holding)).collect();
        let worker = match (before, taken.keys().next()) {
            (Some(known), _) => known.worker,
            (None, _) if needs_first_worker => FIRST_WORKER,
            (None, Some(holder)) => *holder,
            (None, None) if self.is_by_seid => pfcp_socket_of(plan.session.0, self.loads.len()),
            (None, None) => self.least_loaded(),
        };
        if needs_first_worker && worker != FIRST_WORKER {
            return Err(ApplyError::Unsupported(
                "a session that begins to use shared state after its establishment, with several workers",
            ));
        }
        match taken.into_iter().find(|(holder, _)| *holder != worker) {
            Some((_, error)) => Err(error),
            None => Ok(worker),
        }
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

    /// The workers to which this key binds a session, each with the reason. Sessions of several workers may send to one
    /// tunnel.
    fn constraints(&self, holding: SessionKey) -> Vec<(usize, ApplyError)> {
        let same = self.held.get(&holding).map(|held| held.worker);
        match holding {
            SessionKey::Tunnel(addr, teid) => {
                let error = ApplyError::TunnelInUse(FTeid { teid, addr: DualIp::from(addr) });
                same.map(|worker| (worker, error)).into_iter().collect()
            }
            SessionKey::Ue(net) => {
                let workers = same.into_iter().chain(self.overlapping_owners(net));
                workers.map(|worker| (worker, ApplyError::UeAddressInUse(net))).collect()
            }
            SessionKey::Remote(..) => Vec::new(),
        }
    }

    /// The owners of prefixes that contain a prefix, or that it contains.
    fn overlapping_owners(&self, net: IpNet) -> Vec<usize> {
        let is_v4 = net.addr().is_ipv4();
        let lengths = self.wide.range((is_v4, 0)..(is_v4, net.prefix_len()));
        let wider = lengths.filter_map(|((_, len), _)| IpNet::new(net.addr(), *len).ok());
        let wider = wider.filter_map(|wider| self.held.get(&SessionKey::Ue(wider.trunc())));
        // In an address there is no other.
        let is_wide = net.prefix_len() < net.max_prefix_len();
        let behind = is_wide.then(|| self.ue_nets.range((Bound::Excluded(net), Bound::Unbounded)));
        let inside = behind.into_iter().flatten().take_while(|found| net.contains(&found.addr()));
        let inside = inside.filter_map(|found| self.held.get(&SessionKey::Ue(*found)));
        wider.chain(inside).map(|held| held.worker).collect()
    }

    /// `false`: the directory is full, and the added keys must be released.
    fn insert_keys(&mut self, worker: usize, added: &[SessionKey]) -> bool {
        let mut fits = true;
        for holding in added {
            let new = || HeldKey { worker, sessions: 0, is_shared: false };
            let held = self.held.get_or_insert_with(*holding, new);
            let is_first = held.sessions == 0;
            held.sessions += 1;
            held.is_shared |= held.worker != worker;
            let owner = if held.is_shared { ALL_WORKERS } else { worker };
            if let (SessionKey::Ue(net), true) = (*holding, is_first) {
                self.ue_nets.insert(net);
            }
            fits &= self.key(*holding).is_none_or(|key| self.writer.set(key, owner));
            if let Some((is_v4, length)) = wide_length(*holding).filter(|_| is_first) {
                *self.wide.entry((is_v4, length)).or_default() += 1;
                self.writer.has_prefixes(is_v4, length, true);
            }
        }
        fits
    }

    fn release(&mut self, holdings: &[SessionKey]) {
        for holding in holdings {
            let Some(held) = self.held.get_mut(holding) else { continue };
            held.sessions -= 1;
            if held.sessions == 0 {
                self.held.remove(holding);
                if let SessionKey::Ue(net) = holding {
                    self.ue_nets.remove(net);
                }
                if let Some(length) = wide_length(*holding) {
                    self.remove_length(length);
                }
                if let Some(key) = self.key(*holding) {
                    self.writer.remove(key);
                }
            }
        }
    }

    /// Removes one prefix of this length.
    fn remove_length(&mut self, (is_v4, length): (bool, u8)) {
        let count = self.wide.entry((is_v4, length)).or_default();
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.wide.remove(&(is_v4, length));
            self.writer.has_prefixes(is_v4, length, false);
        }
    }

    /// The directory key, if there is one.
    fn key(&self, holding: SessionKey) -> Option<Key> {
        let directory = self.writer.directory();
        match holding {
            SessionKey::Tunnel(local, teid) => {
                let number = self.locals.iter().position(|known| *known == local)?;
                Some(directory.tunnel(u8::try_from(number).ok()?, teid.value()))
            }
            SessionKey::Ue(net) => Some(directory.ue(net)),
            SessionKey::Remote(peer, teid) => Some(directory.remote(peer, teid)),
        }
    }
}

/// The keys of one list in order that are not in another.
fn only_in(these: &[SessionKey], others: &[SessionKey]) -> Vec<SessionKey> {
    these.iter().filter(|key| others.binary_search(key).is_err()).copied().collect()
}

#[cfg(test)]
mod tests;
