//! What all parts of a placement have in common: the directory, the holders of its keys, and the number of sessions of each worker.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use causeway_dataplane::{ApplyError, Op, Topology};
use causeway_fastpath::index::{ask_for_huge_pages_in, prefetch_at};
use causeway_model::{PduSessionType, RuleSet, SessionChange};
use causeway_ports::udp::pfcp_socket_of;
use causeway_types::{DualIp, FTeid, SNssai, Seid};
use smallvec::SmallVec;

use super::super::directory::{Directory, Key};
use super::super::peers::{FIRST_WORKER, local_addresses};
use super::super::session_keys::{SessionKey, SessionKeys};
use super::key_holders::KeyHolders;
use super::{Changes, Draft, FEW_KEYS, NamedKey};

/// What all parts have in common. Only the holders of keys are locked.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) topology: Topology,
    locals: Vec<IpAddr>,
    pub(super) most_sessions: usize,
    pub(super) directory: Arc<Directory>,
    /// New sessions are spread by SEID, as the messages about them are.
    is_by_seid: bool,
    /// GTP-U paths are supervised: worker 0 must be notified of those of the other workers.
    supervises_paths: AtomicBool,
    /// The number of sessions of each worker. They become more only while the holders are locked, so that there are never too many in all.
    loads: Box<[AtomicUsize]>,
    holders: Mutex<KeyHolders>,
}

impl Whole {
    /// No session yet, on so many workers; `is_by_seid` as in [`super::Placement::new`]. The directory is for so many entries.
    pub(super) fn new(
        topology: Topology,
        most_sessions: usize,
        (workers, is_by_seid): (usize, bool),
        entries: usize,
    ) -> Self {
        let (directory, writer) = Directory::new(entries, ask_for_huge_pages_in);
        Self {
            is_by_seid,
            supervises_paths: AtomicBool::new(!topology.routing.echo.interval.is_zero()),
            locals: local_addresses(&topology),
            topology,
            most_sessions,
            directory,
            loads: (0..workers).map(|_| AtomicUsize::default()).collect(),
            holders: Mutex::new(KeyHolders::new(writer)),
        }
    }

    /// The holders of all keys. Whoever chooses a worker by them claims the keys before it gives them back.
    pub(super) fn holders(&self) -> MutexGuard<'_, KeyHolders> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// GTP-U paths are supervised from now on, or not.
    pub(super) fn supervise_paths(&self, are_supervised: bool) {
        self.supervises_paths.store(are_supervised, Ordering::Relaxed);
    }

    /// GTP-U paths are supervised.
    pub(super) fn supervises_paths(&self) -> bool {
        self.supervises_paths.load(Ordering::Relaxed)
    }

    /// The number of workers.
    pub(super) fn workers(&self) -> usize {
        self.loads.len()
    }

    /// A worker has a session less.
    pub(super) fn remove_session(&self, worker: usize) {
        if let Some(load) = self.loads.get(worker) {
            load.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The worker of a plan for this session, which is a holder of the added keys now.
    ///
    /// # Errors
    /// The reason for which no worker can apply it; nothing has changed.
    pub(super) fn place(
        &self,
        holders: &mut KeyHolders,
        session: Seid,
        draft: &Draft,
    ) -> Result<usize, ApplyError> {
        let is_new = draft.known.is_none();
        if is_new && self.loads().sum::<usize>() >= self.most_sessions {
            return Err(ApplyError::Full { table: "sessions", capacity: self.most_sessions as u64 });
        }
        let worker = self.choose_worker(holders, session, draft)?;
        if !holders.claim(worker, draft.changes.added()) {
            return Err(holders.full());
        }
        if let Some(load) = self.loads.get(worker).filter(|_| is_new) {
            load.fetch_add(1, Ordering::Relaxed);
        }
        Ok(worker)
    }

    /// Prefetches the entries of these keys.
    pub(super) fn prefetch(&self, changes: &Changes) {
        changes.keys.iter().for_each(|key| self.directory.prefetch(key.name, prefetch_at));
    }

    /// The keys in which two states of a session differ.
    pub(super) fn changes(&self, before: &SessionKeys, after: &SessionKeys) -> Changes {
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

    /// The worker of a new session, or of a session with additional keys.
    fn choose_worker(&self, holders: &KeyHolders, session: Seid, draft: &Draft) -> Result<usize, ApplyError> {
        let &Draft { known, needs_first_worker, .. } = draft;
        let added = draft.changes.added();
        // The lowest and the highest one.
        let mut bound: Option<(usize, usize)> = None;
        for key in added {
            holders.visit(key, |worker| {
                let (lowest, highest) = bound.unwrap_or((worker, worker));
                bound = Some((lowest.min(worker), highest.max(worker)));
            });
        }
        let worker = match (known, bound) {
            (Some(known), _) => known,
            (None, _) if needs_first_worker => FIRST_WORKER,
            (None, Some((lowest, _))) => lowest,
            (None, None) if self.is_by_seid => pfcp_socket_of(session.0, self.loads.len()),
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
            holders.visit(key, |holder| {
                if holder != worker && other.is_none_or(|(known, _)| holder <= known) {
                    other = Some((holder, key.key));
                }
            });
        }
        other.map_or(Ok(worker), |(_, key)| Err(in_use(key)))
    }

    /// The number of sessions of each worker; while the caller has the holders, they only fall.
    pub(super) fn loads(&self) -> impl Iterator<Item = usize> {
        self.loads.iter().map(|load| load.load(Ordering::Relaxed))
    }

    fn least_loaded(&self) -> usize {
        self.loads().enumerate().min_by_key(|(_, load)| *load).map_or(FIRST_WORKER, |(worker, _)| worker)
    }

    /// Whether the change adds state that sessions share.
    pub(super) fn needs_first_worker(&self, change: &SessionChange) -> bool {
        match change {
            SessionChange::Install(session) => self.uses_shared_state(session.profile().rules()),
            // FARs use no shared state.
            SessionChange::Rebind(_) | SessionChange::Remove => false,
            SessionChange::Update(ops) => ops.iter().any(|op| self.adds_shared_state(op)),
        }
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
    fn adds_shared_state(&self, op: &Op) -> bool {
        match op {
            Op::SetPduType(pdu_type) => *pdu_type == PduSessionType::Ethernet,
            Op::SetSlice(slice) => slice.is_some_and(|slice| self.is_limited(slice)),
            Op::PutQer(qer) => qer.correlation.is_some(),
            _ => false,
        }
    }

    /// The key as the directory calls it.
    pub(super) fn name(&self, key: SessionKey) -> Key {
        let directory = &self.directory;
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

/// The key is one of a session of another worker.
fn in_use(key: SessionKey) -> ApplyError {
    match key {
        SessionKey::Tunnel(addr, teid) | SessionKey::Remote(addr, teid) => {
            ApplyError::TunnelInUse(FTeid { teid, addr: DualIp::from(addr) })
        }
        SessionKey::Ue(net) => ApplyError::UeAddressInUse(net),
    }
}
