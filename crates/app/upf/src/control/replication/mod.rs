//! The primary of a chain: what N4 changes is recorded, and datagrams wait until the standby has it.
//!
//! A key is one octet for its kind, then: nothing for the UPF itself, the place of an association, the index of a session, or the number of a block of sessions
//! whose usage the record has. A place is taken again when its association has ended, so that there are as many records as there ever were associations at a time.

mod primary;
mod usage;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use causeway_chain::Octets;
use causeway_n4::N4;
use causeway_types::{NodeId, NtpSeconds, Seid, Span, Time, Transfer};
use tracing::{info, warn};

use crate::chain::{ChainHead, ChainStatus, Change, Record};
use crate::worker::RestoredUsage;
pub(crate) use primary::ChainInputs;
pub(super) use primary::Primary;
use usage::{ChangedBlock, UsageSnapshots};

/// Datagrams that wait, at most. SMFs repeat what gets no response.
const MAX_HELD: usize = 1 << 17;

/// The kinds of records.
const UPF: u8 = 0;
const ASSOCIATION: u8 = 1;
const SESSION: u8 = 2;
const USAGE: u8 = 3;

/// Sessions whose usage a packet thread restores at a time.
const RESTORED_AT_ONCE: usize = 256;

/// What all primaries of a chain have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    /// The Recovery Time Stamp: to SMFs the UPF has not restarted.
    pub(crate) recovery: NtpSeconds,
    /// The secret of SEIDs and TEIDs.
    pub(crate) secret: [u64; 3],
}

impl Transfer for Identity {
    fn put(&self, out: &mut Vec<u8>) {
        self.recovery.put(out);
        self.secret.iter().for_each(|word| word.put(out));
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let recovery = Transfer::take(input)?;
        Some(Self {
            recovery,
            secret: [Transfer::take(input)?, Transfer::take(input)?, Transfer::take(input)?],
        })
    }
}

/// The identity among these records; `None`: no primary was there before.
pub(crate) fn identity(records: &[Record]) -> Option<Identity> {
    let record = records.iter().find(|record| record.key.first() == Some(&UPF))?;
    Identity::from_octets(record.state.as_deref()?)
}

/// An association, as its record has it.
struct RecordedAssociation {
    place: u32,
    state: Vec<u8>,
}

/// The records of this primary, and what waits for the standby.
pub(super) struct Replication {
    head: ChainHead,
    /// The number of changes recorded, and of those that are acknowledged with all before them.
    made: u64,
    acknowledged: u64,
    /// Datagrams, each behind the change with this number.
    held: VecDeque<(u64, SocketAddr, Vec<u8>)>,
    associations: BTreeMap<NodeId, RecordedAssociation>,
    /// Places of associations that have ended. With those of the others they are all places from 0 on.
    free_places: BTreeSet<u32>,
    /// By session index: there is a record of an established session.
    is_known: Vec<bool>,
    usage: UsageSnapshots,
    /// Usage of the earlier primary, until the data plane has its sessions.
    to_restore: Vec<RestoredUsage>,
}

impl Replication {
    /// `interval`: how often usage is recorded; zero: never.
    pub(super) fn new(head: ChainHead, interval: Span) -> Self {
        Self {
            head,
            made: 0,
            acknowledged: 0,
            held: VecDeque::new(),
            associations: BTreeMap::new(),
            free_places: BTreeSet::new(),
            is_known: Vec::new(),
            usage: UsageSnapshots::new(interval),
            to_restore: Vec::new(),
        }
    }

    /// Gives N4 what an earlier primary had.
    pub(super) fn begin(&mut self, now: Time, n4: &mut N4, identity: Identity) {
        let records = std::mem::take(&mut self.head.records);
        if self::identity(&records) != Some(identity) {
            self.record(vec![UPF].into(), Some(identity.to_octets()));
        }
        self.restore(now, n4, &records);
    }

    /// The data plane has the sessions of the earlier primary, but for those that it refused. Changes are recorded from now on. Returns usage for the data
    /// plane, a part of the sessions each.
    pub(super) fn record_changes(&mut self, now: Time, n4: &mut N4) -> Vec<Arc<[RestoredUsage]>> {
        for index in 0..self.is_known.len() as u32 {
            let was_known = self.is_known.get(index as usize) == Some(&true);
            if was_known && n4.session_at(index).is_none() {
                self.set_known(index, false);
                self.record(key_of(SESSION, index), None);
            }
        }
        n4.record_changes(now);
        let usage = std::mem::take(&mut self.to_restore);
        usage.chunks(RESTORED_AT_ONCE).map(Arc::from).collect()
    }

    /// The data plane has all of the earlier primary; so many sessions go on with their usage.
    pub(super) fn restored(&self, with_usage: usize) {
        let millis = self.head.since.elapsed().as_millis();
        info!(
            "chain: the data plane has the sessions after {millis} ms, {with_usage} of them go on with their usage"
        );
    }

    fn restore(&mut self, now: Time, n4: &mut N4, records: &[Record]) {
        let of_kind = |kind: u8| records.iter().filter(move |record| record.key.first() == Some(&kind));
        let (mut restored, mut lost) = (0_u64, 0_u64);
        for record in of_kind(ASSOCIATION) {
            let Some(place) = index_of(&record.key) else { continue };
            let Some(state) = record.state.as_deref() else {
                self.free_places.insert(place);
                continue;
            };
            match n4.restore_association(now, state) {
                Ok(node) => {
                    self.associations.insert(node, RecordedAssociation { place, state: state.to_vec() });
                }
                Err(error) => {
                    warn!("chain: an association is lost: {error}");
                    self.free_places.insert(place);
                    self.record(record.key.clone(), None);
                }
            }
        }
        // Keys have their order, so indices grow.
        for record in of_kind(SESSION) {
            if let (Some(index), Some(state)) = (index_of(&record.key), record.state.as_deref()) {
                match n4.restore_session(now, state) {
                    Ok(()) => {
                        self.set_known(index, true);
                        restored += 1;
                    }
                    Err(error) => {
                        lost += 1;
                        warn!("chain: a session is lost: {error}");
                        self.record(record.key.clone(), None);
                    }
                }
            }
            for response in
                record.responses.iter().filter_map(|octets| Vec::<Vec<u8>>::from_octets(octets)).flatten()
            {
                // An old response that cannot be read is repeated by none.
                let _ = n4.restore_response(now, &response);
            }
        }
        for record in of_kind(USAGE) {
            if let (Some(block), Some(state)) = (index_of(&record.key), &record.state) {
                self.to_restore.extend(self.usage.restore(now, n4, block, state));
            }
        }
        let (associations, millis) = (self.associations.len(), self.head.since.elapsed().as_millis());
        info!(
            "chain: {associations} associations and {restored} sessions continue, {lost} are lost; planned after {millis} ms"
        );
    }

    /// The state of the chain.
    pub(super) fn status(&self) -> ChainStatus {
        ChainStatus {
            usage_records: self.usage.records() as u64,
            usage_round: self.usage.last_round().as_millis() as u64,
            usage_rounds: self.usage.rounds(),
            ..self.head.view().status()
        }
    }

    /// When [`Replication::ask_for_usage`] has something to do.
    pub(super) fn next_usage_step(&self) -> Option<Time> {
        self.usage.next_step()
    }

    /// The sessions of which packet threads are to send snapshots now, each with the time of its last one.
    pub(super) fn ask_for_usage(&mut self, now: Time, n4: &N4) -> Arc<[(Seid, Time)]> {
        let (sessions, gone) = self.usage.ask(now, n4, self.made.saturating_sub(self.acknowledged));
        self.record_usage(gone);
        sessions.into()
    }

    /// So many packet threads were asked.
    pub(super) const fn asked_for_usage(&mut self, threads: usize) {
        self.usage.asked(threads);
    }

    /// A packet thread has sent these snapshots.
    pub(super) fn usage_measured(&mut self, n4: &N4, snapshots: Vec<(Seid, Vec<u8>)>) {
        let changed = self.usage.answered(n4, snapshots);
        self.record_usage(changed);
    }

    fn record_usage(&mut self, changed: Vec<ChangedBlock>) {
        for (block, state) in changed {
            self.put(Change {
                key: key_of(USAGE, block),
                state,
                responses: Vec::<Vec<u8>>::new().to_octets().into(),
            });
        }
    }

    /// Records what has changed in N4 since the last call.
    pub(super) fn follow(&mut self, n4: &mut N4, looks_at_associations: bool) {
        if looks_at_associations {
            self.follow_associations(n4);
        }
        let responses: Vec<Vec<u8>> = std::iter::from_fn(|| n4.next_response()).collect();
        let mut last = None;
        while let Some(index) = n4.next_changed_session() {
            self.usage.changed(index);
            let state = n4.session_record(index);
            let was_known = self.is_known.get(index as usize) == Some(&true);
            if state.is_some() || was_known {
                self.set_known(index, state.is_some());
                if let Some((key, state)) = last.replace((key_of(SESSION, index), state)) {
                    self.record(key, state);
                }
            }
        }
        // With the last change, in most cases the only one: whoever has a response has what it says. Refusals change nothing, and are the same
        // again.
        if let Some((key, state)) = last {
            self.record_with(key, state, responses);
        }
    }

    fn follow_associations(&mut self, n4: &N4) {
        let now: BTreeMap<NodeId, Vec<u8>> = n4.association_records().collect();
        let is_over = |node: &&NodeId| !now.contains_key(*node);
        let ended: Vec<NodeId> = self.associations.keys().filter(is_over).cloned().collect();
        for node in ended {
            let Some(association) = self.associations.remove(&node) else { continue };
            self.free_places.insert(association.place);
            self.record(key_of(ASSOCIATION, association.place), None);
        }
        for (node, state) in now {
            let before = self.associations.get(&node);
            if before.is_some_and(|before| before.state == state) {
                continue;
            }
            let place = before.map(|before| before.place).or_else(|| self.free_places.pop_first());
            let place = place.unwrap_or(self.associations.len() as u32);
            self.record(key_of(ASSOCIATION, place), Some(state.clone()));
            self.associations.insert(node, RecordedAssociation { place, state });
        }
    }

    fn record(&mut self, key: Octets, state: Option<Vec<u8>>) {
        self.record_with(key, state, Vec::new());
    }

    /// Records a change, from which these responses follow.
    fn record_with(&mut self, key: Octets, state: Option<Vec<u8>>, responses: Vec<Vec<u8>>) {
        let responses = responses.to_octets().into();
        self.put(Change { key, state: state.map(Into::into), responses });
    }

    fn put(&mut self, change: Change) {
        self.head.record(change);
        self.made += 1;
    }

    fn set_known(&mut self, index: u32, is_known: bool) {
        let index = index as usize;
        if self.is_known.len() <= index {
            self.is_known.resize(index + 1, false);
        }
        if let Some(place) = self.is_known.get_mut(index) {
            *place = is_known;
        }
    }

    /// Holds a datagram until all changes before it are acknowledged. Returns it if they are.
    pub(super) fn hold(&mut self, to: SocketAddr, octets: Vec<u8>) -> Option<(SocketAddr, Vec<u8>)> {
        if self.made == self.acknowledged {
            return Some((to, octets));
        }
        if self.held.len() < MAX_HELD {
            self.held.push_back((self.made, to, octets));
        }
        None
    }

    /// So many changes are acknowledged.
    pub(super) fn acknowledged(&mut self, changes: u64) {
        self.acknowledged = self.acknowledged.max(changes);
    }

    /// The next datagram that may leave now.
    pub(super) fn release(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.held.front().filter(|(behind, ..)| *behind <= self.acknowledged)?;
        let (_, to, octets) = self.held.pop_front()?;
        Some((to, octets))
    }

    /// The next acknowledgement; without end, if the member has ended.
    pub(super) fn acknowledgements(&mut self) -> tokio::sync::mpsc::UnboundedReceiver<u64> {
        let (_, none) = tokio::sync::mpsc::unbounded_channel();
        std::mem::replace(&mut self.head.acknowledged, none)
    }
}

fn key_of(kind: u8, index: u32) -> Octets {
    let mut key = vec![kind];
    index.put(&mut key);
    key.into()
}

fn index_of(key: &[u8]) -> Option<u32> {
    u32::from_octets(key.get(1..)?)
}

#[cfg(test)]
mod tests;
