//! The state of N4 as octets, for another member of a chain of UPFs, and N4 with the state of another member, or with sessions that the data
//! plane has established itself.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use causeway_dataplane::RestoredUrr;
use causeway_model::{Adopted, Answered};
use causeway_pfcp::MessageType;
use causeway_rules::Restored;
use causeway_types::{NodeId, NtpSeconds, Seid, Time, Transfer};

use super::N4;
use crate::association::AssociationRecord;
use crate::memory::Footprint;
use crate::output::KeptResponse;
use crate::session::{PlanPurpose, Session, SessionRecord, UsageSnapshot};
use crate::transaction::{RequestKey, Transactions};

/// The golden ratio of 2^32: multiples of it, for primaries that follow each other, are far from each other.
const APART: u32 = 0x9e37_79b1;

/// Why N4 cannot go on with what another had.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RestoreError {
    /// The octets are no record.
    #[error("the octets are no record of this version")]
    NoRecord,
    /// The limit of sessions is reached.
    #[error("there are {0} sessions already, the limit")]
    Full(usize),
    /// The session is of an SMF without an association.
    #[error("{0} has no association")]
    NoAssociation(NodeId),
    /// The SEID does not belong to the secret or to the numbers of the data plane, or its place is taken.
    #[error("the SEID {0} cannot be given")]
    Seid(Seid),
    /// This UPF cannot have the rules.
    #[error("session {0}: {1}")]
    Rules(Seid, String),
}

/// State of a chain of UPFs, whose N4 is in one part. Nothing is recorded before [`N4::record_changes`].
impl N4 {
    /// Numbers of requests are far from those of primaries before, which an SMF may still know; those of load information are higher. `primary` is a number that
    /// grows from one primary of the chain to the next, `start` the time at which this one begins: two of them may begin in the same second. The Recovery
    /// Time Stamp stays. Before any other call.
    pub fn number_from(&mut self, start: NtpSeconds, primary: u32) {
        self.first.transactions =
            Transactions::new(&self.node.config, primary.wrapping_mul(APART) >> 8, (0, 1));
        self.node.number_load_from(start.0.wrapping_add(primary));
    }

    /// Records changes from now on: [`N4::next_changed_session`] and [`N4::next_response`]. Reports of restored sessions have waited for it.
    pub fn record_changes(&mut self, now: Time) {
        self.first.sessions.record_changes();
        self.first.out.keep_responses();
        for seid in self.first.unrecorded_reports.take().into_iter().flatten() {
            self.turn(0).send_reports(now, seid);
        }
    }

    /// The index of a session that has changed or ended since the last call for it; `None`: no more. Ask after each input,
    /// before the outputs.
    pub fn next_changed_session(&mut self) -> Option<u32> {
        self.first.sessions.next_changed()
    }

    /// The next response that was cached, for [`N4::restore_response`] of another member; `None`: no more.
    pub fn next_response(&mut self) -> Option<Vec<u8>> {
        self.first.out.next_kept()
    }

    /// The number of plans in flight. O(parts).
    pub fn plans_in_flight(&self) -> usize {
        self.parts().map(|part| part.sessions.in_flight()).sum()
    }

    /// The session with this index; `None` if there is none that is established. O(rules).
    pub fn session_record(&self, index: u32) -> Option<Vec<u8>> {
        let session = self.first.sessions.at(index).filter(|session| session.is_established())?;
        if self.first.sessions.is_in_purge(session) {
            return None;
        }
        let node = self.node.associations.get(session.association())?.node().clone();
        let reports = self.first.reports.unacknowledged(session.seid(), &self.first.transactions);
        Some(SessionRecord::of(session, node, reports).to_octets())
    }

    /// The SEID of the session with this index; `None` if there is none that is established. O(1).
    pub fn established_session(&self, index: u32) -> Option<Seid> {
        let session = self.first.sessions.at(index).filter(|session| session.is_established())?;
        Some(session.seid()).filter(|_| !self.first.sessions.is_in_purge(session))
    }

    /// The index of a session. `None`: there is no such session.
    pub fn session_index(&self, session: Seid) -> Option<u32> {
        self.first.sessions.index(session)
    }

    /// A snapshot of the usage of a session, which the data plane took after all events that N4 has been given, and before all others. `None`: there is no such
    /// session.
    pub fn usage_snapshot(&self, session: Seid, octets: Vec<u8>) -> Option<UsageSnapshot> {
        Some(UsageSnapshot::new(session, self.first.sessions.get(session)?.marks(), octets))
    }

    /// The URRs of a restored session that go on from a snapshot of its usage. Empty: there is no such session, or all usage in the snapshot was taken out of
    /// the measurements afterwards.
    pub fn restored_urrs(&self, snapshot: &UsageSnapshot) -> Vec<RestoredUrr> {
        let Some(session) = self.first.sessions.get(snapshot.session) else { return Vec::new() };
        session.marks().restored(session.urrs().into_iter(), snapshot.marks())
    }

    /// All associations: the Node ID of each, and its record.
    pub fn association_records(&self) -> impl Iterator<Item = (NodeId, Vec<u8>)> {
        self.node.associations.iter().map(|it| (it.node().clone(), AssociationRecord::of(it).to_octets()))
    }

    /// Restores an association, and returns its Node ID.
    ///
    /// # Errors
    /// [`RestoreError::NoRecord`].
    pub fn restore_association(&mut self, now: Time, octets: &[u8]) -> Result<NodeId, RestoreError> {
        let record = AssociationRecord::from_octets(octets).ok_or(RestoreError::NoRecord)?;
        let node = record.node.clone();
        self.node.associations.restore(now, record, &mut self.first.transactions, &mut self.first.out);
        Ok(node)
    }

    /// Restores a session of another member: the data plane gets a plan. Restore associations first, then the sessions in the
    /// order of their indices, then their last responses, all before any datagram. No session reports before [`N4::record_changes`].
    ///
    /// # Errors
    /// The session cannot be restored, and does not exist.
    pub fn restore_session(&mut self, now: Time, octets: &[u8]) -> Result<(), RestoreError> {
        let mut record = SessionRecord::from_octets(octets).ok_or(RestoreError::NoRecord)?;
        let Some(association) = self.node.associations.of_node(&record.node) else {
            return Err(RestoreError::NoAssociation(record.node));
        };
        self.first.unrecorded_reports.get_or_insert_default();
        let (seid, reports) = (record.seid(), std::mem::take(&mut record.reports));
        let change = self.first.sessions.restore(now, record, association)?;
        self.first.reports.resume(now, (seid, association), reports, &mut self.first.transactions);
        self.node.associations.count_new_session(association, 0);
        self.first.sessions.submit(PlanPurpose::Restore, change, &mut self.first.out);
        Ok(())
    }

    /// Restores the response to a request, for duplicates of the request.
    ///
    /// # Errors
    /// [`RestoreError::NoRecord`].
    pub fn restore_response(&mut self, now: Time, octets: &[u8]) -> Result<(), RestoreError> {
        let kept = KeptResponse::from_octets(octets).ok_or(RestoreError::NoRecord)?;
        self.first.transactions.restore(now, kept.key, &kept.octets);
        Ok(())
    }
}

/// Sessions that the data plane has established itself; N4 is in one part.
impl N4 {
    /// Takes over a session that the data plane has established ([`Config::data_plane`](crate::Config::data_plane)): the session keeps its
    /// numbers, and a repeated request that the data plane has answered gets the same response. Call it before the message with which the
    /// session came. The result of the plan is that of any plan: a session that it refuses does not exist.
    ///
    /// # Errors
    /// The session cannot be taken over, and does not exist for N4. It is an error that no right data plane causes.
    pub fn adopt(&mut self, now: Time, adopted: Adopted) -> Result<(), RestoreError> {
        self.first.sessions.set_time(now);
        let Some(association) = self.node.associations.of_node(&adopted.node) else {
            return Err(RestoreError::NoAssociation(adopted.node));
        };
        let (cp, seid) = (adopted.cp, adopted.seid);
        let (Some(host), Some(first)) = (cp.addr.iter().next(), adopted.answered.first()) else {
            return Err(RestoreError::NoRecord);
        };
        let epoch = self.first.transactions.epoch(host);
        let key = |message, request: &Answered| {
            let Answered { sequence, port, digest } = *request;
            RequestKey::restored((host, port).into(), sequence, message, digest).in_epoch(epoch)
        };
        let origin = key(MessageType::SessionEstablishmentRequest, first);
        let Restored { planned, held } = self.first.sessions.plan_adopted(&adopted)?;
        // An SMF that uses a CP F-SEID again has lost the session that had it.
        let mut turn = self.turn(0);
        let reused = turn.replaced_by(&cp, association);
        turn.end_replaced_sessions(now, reused, BTreeSet::new());
        let since = if adopted.since == Time::default() { now } else { adopted.since };
        let footprint = Footprint::after(&planned.pending);
        self.first
            .sessions
            .insert_adopted(Session::new(since, seid, association, cp, origin, footprint).with_rules(held));
        self.node.associations.count_new_session(association, 0);
        self.first.sessions.submit(PlanPurpose::Restore, planned, &mut self.first.out);
        let later = adopted.answered.iter().skip(1);
        let later = later.map(|request| key(MessageType::SessionModificationRequest, request));
        for (key, answer) in std::iter::once(origin).chain(later).zip(&adopted.answers) {
            self.first.transactions.restore(now, key, answer);
        }
        Ok(())
    }
}

impl Transfer for RequestKey {
    fn put(&self, out: &mut Vec<u8>) {
        self.from.put(out);
        self.sequence.put(out);
        self.message.code().put(out);
        self.digest().put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let (from, sequence) = (SocketAddr::take(input)?, u32::take(input)?);
        let message = MessageType::from_code(u8::take(input)?)?;
        Some(Self::restored(from, sequence, message, u64::take(input)?))
    }
}

impl Transfer for KeptResponse {
    fn put(&self, out: &mut Vec<u8>) {
        self.key.put(out);
        self.octets.put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Some(Self { key: Transfer::take(input)?, octets: Transfer::take(input)? })
    }
}
