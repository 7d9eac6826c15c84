//! One member of the chain.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::message::{MessageOf, OutputOf};
use crate::{Configuration, Epoch, Executed, Machine, Member, Message, Output, Update, Version};

/// The requests of one session whose responses are kept: an SMF may have at most as many of them open at a time.
pub const OPEN_REQUESTS: usize = 4;

/// The request is dropped: this member is not the head of the chain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NotHead;

impl fmt::Display for NotHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this member is not the head of the chain")
    }
}

impl std::error::Error for NotHead {}

/// The state of a session.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Record<S, A> {
    version: Version,
    /// `None`: it was deleted.
    state: Option<S>,
    answered: Vec<(u32, A)>,
    /// All members have this version, and a joining member that the tail has reported as ready.
    acknowledged: bool,
    /// How many of the last responses this member has not sent, nor learnt that the tail has.
    owed: usize,
}

impl<S, A> Record<S, A> {
    /// The requests whose responses are owed; at least the last one.
    fn owed(&self) -> impl Iterator<Item = u32> {
        let answered = self.answered.len().saturating_sub(self.owed.max(1));
        self.answered.iter().skip(answered).map(|(sequence, _)| *sequence)
    }
}

/// The sessions that a joining member has not acknowledged.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Transfer<K> {
    to: Member,
    /// It follows this epoch: until then it may have states of an earlier one.
    has_begun: bool,
    missing: BTreeSet<K>,
    /// It had all sessions once. From then on it is behind in nothing that was answered.
    is_ready: bool,
}

/// The record of a session: the session, its state, `None` for one that was deleted, and the responses to its last requests with their
/// sequence numbers.
pub type RecordOf<'a, M> =
    (&'a <M as Machine>::Key, Option<&'a <M as Machine>::State>, &'a [(u32, <M as Machine>::Answer)]);

/// One member of the chain: the state of all sessions, and its part of the protocol.
///
/// Each input returns what the owner does next, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Replica<M: Machine> {
    machine: M,
    member: Member,
    configuration: Configuration,
    /// The number of versions made in this epoch, as its head.
    made: u64,
    records: BTreeMap<M::Key, Record<M::State, M::Answer>>,
    transfer: Option<Transfer<M::Key>>,
}

impl<M: Machine> Replica<M> {
    /// A member without sessions, in no chain.
    pub fn new(member: Member, machine: M) -> Self {
        Self {
            machine,
            member,
            configuration: Configuration::default(),
            made: 0,
            records: BTreeMap::new(),
            transfer: None,
        }
    }

    /// The member that it is.
    pub const fn member(&self) -> Member {
        self.member
    }

    /// The configuration in force; of epoch 0 before the first.
    pub const fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// The application.
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// The member is the tail: it forwards user packets and responds to SMFs.
    pub fn is_primary(&self) -> bool {
        self.configuration.tail() == Some(self.member)
    }

    /// The sessions with their states, without those that were deleted.
    pub fn sessions(&self) -> impl Iterator<Item = (&M::Key, &M::State)> {
        self.records.iter().filter_map(|(key, record)| Some((key, record.state.as_ref()?)))
    }

    /// All records: session, state, `None` for one that was deleted, and the responses to its last requests, the oldest first.
    pub fn records(&self) -> impl Iterator<Item = RecordOf<'_, M>> {
        self.records.iter().map(|(key, record)| (key, record.state.as_ref(), record.answered.as_slice()))
    }

    /// The number of records, with those of deleted sessions. O(1).
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// There are no records. O(1).
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The sequence number of the last request of a session; also of one that was deleted.
    pub fn last_sequence(&self, key: &M::Key) -> Option<u32> {
        self.last_request(key)
    }

    /// All members have the state of a session, and a joining member that was reported as ready.
    pub fn is_acknowledged(&self, key: &M::Key) -> bool {
        self.records.get(key).is_some_and(|record| record.acknowledged)
    }

    /// The sessions that a joining member has not acknowledged; `None` if this member is not the one that gives them. O(1).
    pub fn missing(&self) -> Option<usize> {
        self.transfer.as_ref().map(|transfer| transfer.missing.len())
    }

    /// This member has reported the joining one as ready in this epoch: the coordinator may have taken it. O(1).
    pub fn has_reported_ready(&self) -> bool {
        self.transfer.as_ref().is_some_and(|transfer| transfer.is_ready)
    }

    /// The version of a session; also of one that was deleted, until [`Replica::forget`].
    pub fn version(&self, key: &M::Key) -> Option<Version> {
        self.records.get(key).map(|record| record.version)
    }

    /// Follows a configuration; one that is not later than that in force changes nothing. A member that is not in it, or
    /// that joins by it, forgets its sessions: their states may have been left behind.
    pub fn configure(&mut self, next: &Configuration) -> Vec<OutputOf<M>> {
        if next.epoch <= self.configuration.epoch {
            return Vec::new();
        }
        let has_joined = self.configuration.joining == Some(self.member);
        self.configuration = next.clone();
        self.made = 0;
        self.transfer = None;
        let mut out = Vec::new();
        if self.configuration.position(self.member).is_none() {
            self.records.clear();
            self.announce_joining(&mut out);
            return out;
        }
        if self.is_primary() {
            if let Some(to) = self.configuration.joining {
                let missing = self.records.keys().cloned().collect();
                self.transfer = Some(Transfer { to, has_begun: false, missing, is_ready: false });
            }
            // What the next member had not acknowledged is complete here now. A member that has joined has what the tail
            // had answered, and answers what waited for it; the rest comes again.
            for key in &self.unacknowledged() {
                let last = self.last_request(key).filter(|_| !has_joined);
                self.complete(key, last, &mut out);
            }
        }
        self.send_missing(&mut out);
        out
    }

    /// A request with its sequence number. A new one is executed; one of the last [`OPEN_REQUESTS`] of the session gets
    /// the same response again.
    ///
    /// # Errors
    /// The request is dropped, and changes nothing.
    pub fn request(
        &mut self,
        key: &M::Key,
        sequence: u32,
        operation: &M::Operation,
    ) -> Result<Vec<OutputOf<M>>, NotHead> {
        if self.configuration.members.first() != Some(&self.member) {
            return Err(NotHead);
        }
        let mut out = Vec::new();
        let before = self.records.get(key);
        if before.is_some_and(|record| record.answered.iter().any(|(known, _)| *known == sequence)) {
            self.pass_on(key, Some(sequence), &mut out);
            return Ok(out);
        }
        let Executed { state, answer } =
            self.machine.execute(key, before.and_then(|record| record.state.as_ref()), operation);
        let mut answered = before.map_or_else(Vec::new, |record| record.answered.clone());
        let owed = before.map_or(0, |record| record.owed) + 1;
        if answered.len() == OPEN_REQUESTS {
            let unrepeated = answered.iter().position(|(_, answer)| self.machine.is_unrepeated(answer));
            answered.remove(unrepeated.unwrap_or(0));
        }
        answered.push((sequence, answer));
        self.made += 1;
        let version = Version { epoch: self.configuration.epoch, number: self.made };
        let owed = owed.min(answered.len());
        self.records.insert(key.clone(), Record { version, state, answered, acknowledged: false, owed });
        self.pass_on(key, Some(sequence), &mut out);
        Ok(out)
    }

    /// A message of another member. Those of other epochs, and late ones, change nothing.
    pub fn receive(&mut self, from: Member, message: &MessageOf<M>) -> Vec<OutputOf<M>> {
        let mut out = Vec::new();
        if message.epoch() != self.configuration.epoch {
            return out;
        }
        match message {
            Message::Update(update) if Some(from) == self.previous() => self.update(update, &mut out),
            Message::Acknowledge { key, version, .. } => self.acknowledge(from, key, *version, &mut out),
            Message::Joining { .. } => {
                if let Some(transfer) = self.transfer.as_mut().filter(|transfer| transfer.to == from) {
                    transfer.has_begun = true;
                    self.report_ready(&mut out);
                }
            }
            Message::Update(_) => {}
        }
        out
    }

    /// Sends again what was not acknowledged, and reports a joining member that has all sessions. Call it periodically.
    pub fn audit(&mut self) -> Vec<OutputOf<M>> {
        let mut out = Vec::new();
        self.send_missing(&mut out);
        self.announce_joining(&mut out);
        self.report_ready(&mut out);
        out
    }

    /// Forgets a deleted session, and the responses to its last requests. Call it for each member once no repeated request
    /// and no message of the session can arrive any more. No effect on a session that exists, or whose deletion is not
    /// acknowledged, also by a joining member: that may have the session.
    pub fn forget(&mut self, key: &M::Key) {
        if self.transfer.as_ref().is_some_and(|transfer| transfer.missing.contains(key)) {
            return;
        }
        if self.records.get(key).is_some_and(|record| record.state.is_none() && record.acknowledged) {
            self.records.remove(key);
        }
    }

    /// The member that sends updates to this one.
    fn previous(&self) -> Option<Member> {
        match self.configuration.position(self.member) {
            Some(position) => self.configuration.members.get(position.checked_sub(1)?).copied(),
            None if self.configuration.joining == Some(self.member) => self.configuration.tail(),
            None => None,
        }
    }

    fn next(&self) -> Option<Member> {
        let position = self.configuration.position(self.member)?;
        self.configuration.members.get(position + 1).copied()
    }

    fn unacknowledged(&self) -> Vec<M::Key> {
        let records = self.records.iter().filter(|(_, record)| !record.acknowledged);
        records.map(|(key, _)| key.clone()).collect()
    }

    /// The state of a session from the previous member.
    fn update(&mut self, update: &Update<M::Key, M::State, M::Answer>, out: &mut Vec<OutputOf<M>>) {
        let key = &update.key;
        let before = self.records.get(key);
        let known = before.map(|record| record.version);
        if known.is_some_and(|known| known > update.version) {
            return;
        }
        if known != Some(update.version) {
            // Requests of which this member hears for the first time: an update may have come before an earlier one. The tail has
            // answered those of which a joining member hears, unless it says that it waits for that member.
            let is_known = |(sequence, _): &&(u32, M::Answer)| {
                before.is_some_and(|record| record.answered.iter().any(|(known, _)| known == sequence))
            };
            let new = update.answered.iter().rev().take_while(|answer| !is_known(answer)).count();
            let owed = new + before.map_or(0, |record| record.owed);
            let is_told = self.configuration.joining == Some(self.member) && update.respond_to.is_none();
            let record = Record {
                version: update.version,
                state: update.state.clone(),
                answered: update.answered.clone(),
                acknowledged: false,
                owed: if is_told { 0 } else { owed.min(update.answered.len()) },
            };
            self.records.insert(key.clone(), record);
        }
        self.pass_on(key, update.respond_to, out);
    }

    /// Passes the state of a session to the next member. At the tail it is complete: the response to the request with this
    /// sequence number is sent.
    fn pass_on(&mut self, key: &M::Key, respond_to: Option<u32>, out: &mut Vec<OutputOf<M>>) {
        if let Some(next) = self.next() {
            return self.send(next, key, respond_to, out);
        }
        let Some(record) = self.records.get(key) else { return };
        if self.configuration.joining == Some(self.member) {
            let acknowledged = self.acknowledgement(key, record.version);
            return out.extend(self.previous().map(|to| Output::Send { to, message: acknowledged }));
        }
        if let Some(transfer) = &mut self.transfer {
            let (to, is_ready) = (transfer.to, transfer.is_ready);
            if !record.acknowledged {
                transfer.missing.insert(key.clone());
            }
            if transfer.missing.contains(key) {
                let waits = self.last_request(key).filter(|_| is_ready);
                self.send(to, key, waits, out);
                if is_ready {
                    return;
                }
            }
        }
        self.complete(key, respond_to, out);
    }

    /// All members have the state of a session: the tail responds, also to requests to which it did not yet, and acknowledges.
    fn complete(&mut self, key: &M::Key, respond_to: Option<u32>, out: &mut Vec<OutputOf<M>>) {
        let Some(record) = self.records.get_mut(key) else { return };
        record.acknowledged = true;
        let version = record.version;
        let told = record.answered.len() - std::mem::take(&mut record.owed).min(record.answered.len());
        for (at, (sequence, answer)) in record.answered.iter().enumerate() {
            if at >= told || Some(*sequence) == respond_to {
                out.push(Output::Answer { key: key.clone(), sequence: *sequence, answer: answer.clone() });
            }
        }
        let message = self.acknowledgement(key, version);
        out.extend(self.previous().map(|to| Output::Send { to, message }));
    }

    /// The sequence number of the last request of a session.
    fn last_request(&self, key: &M::Key) -> Option<u32> {
        self.records.get(key)?.answered.last().map(|(sequence, _)| *sequence)
    }

    fn acknowledge(&mut self, from: Member, key: &M::Key, version: Version, out: &mut Vec<OutputOf<M>>) {
        let next = self.next();
        let Some(record) = self.records.get_mut(key).filter(|record| record.version == version) else {
            return;
        };
        if next == Some(from) {
            record.owed = 0;
            if !std::mem::replace(&mut record.acknowledged, true) {
                let message = self.acknowledgement(key, version);
                out.extend(self.previous().map(|to| Output::Send { to, message }));
            }
            return;
        }
        let Some(transfer) = self.transfer.as_mut().filter(|transfer| transfer.to == from) else { return };
        if transfer.missing.remove(key) {
            if !record.acknowledged {
                let last = self.last_request(key);
                self.complete(key, last, out);
            }
            self.report_ready(out);
        }
    }

    /// A joining member tells the tail that it has begun.
    fn announce_joining(&self, out: &mut Vec<OutputOf<M>>) {
        let tail = self.configuration.tail().filter(|_| self.configuration.joining == Some(self.member));
        let message = Message::Joining { epoch: self.epoch() };
        out.extend(tail.map(|to| Output::Send { to, message }));
    }

    /// Reports the joining member, once it has all sessions.
    fn report_ready(&mut self, out: &mut Vec<OutputOf<M>>) {
        let epoch = self.configuration.epoch;
        if let Some(transfer) = &mut self.transfer
            && (transfer.is_ready || transfer.has_begun && transfer.missing.is_empty())
        {
            transfer.is_ready = true;
            out.push(Output::Ready { epoch });
        }
    }

    /// Sends what the next member, or a joining one, has not acknowledged. The responses to the last requests may have been
    /// lost with it.
    fn send_missing(&self, out: &mut Vec<OutputOf<M>>) {
        if let Some(next) = self.next() {
            for (key, record) in self.records.iter().filter(|(_, record)| !record.acknowledged) {
                record.owed().for_each(|sequence| self.send(next, key, Some(sequence), out));
            }
        }
        if let Some(transfer) = &self.transfer {
            for key in &transfer.missing {
                let waits = transfer.is_ready && !self.is_acknowledged(key);
                self.send(transfer.to, key, self.last_request(key).filter(|_| waits), out);
            }
        }
    }

    fn send(&self, to: Member, key: &M::Key, respond_to: Option<u32>, out: &mut Vec<OutputOf<M>>) {
        let Some(record) = self.records.get(key) else { return };
        let message = Message::Update(Update {
            epoch: self.configuration.epoch,
            key: key.clone(),
            version: record.version,
            state: record.state.clone(),
            answered: record.answered.clone(),
            respond_to,
        });
        out.push(Output::Send { to, message });
    }

    fn acknowledgement(&self, key: &M::Key, version: Version) -> MessageOf<M> {
        Message::Acknowledge { epoch: self.epoch(), key: key.clone(), version }
    }

    const fn epoch(&self) -> Epoch {
        self.configuration.epoch
    }
}
