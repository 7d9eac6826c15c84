//! A part of N4: sessions, with their requests, plans and reports.
//!
//! Each part belongs to one thread at a time. It handles an input in a [`Turn`], with the node, which it only reads, and
//! with the other parts, if the thread has these too. What a part cannot decide alone it leaves as it is, for the one that
//! has all parts.

mod answer;
mod numbering;
mod plan_results;
mod prefetch;
mod receive;
mod removal;
mod reports;
mod session_requests;
mod takeover;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use causeway_dataplane::{Applied, ApplyError, Event};
use causeway_model::{Capabilities, LocalEndpoints, RuleSet};
use causeway_types::{NtpSeconds, Seid, Time};

use crate::association::{AssociationId, SentTimeStamp};
use crate::memory::Needed;
use crate::node::Node;
use crate::output::Outputs;
use crate::report::Reports;
use crate::session::{ResponseTemplates, Sessions};
use crate::transaction::Transactions;
use crate::{ApplyId, Config, Output};

pub(crate) use numbering::PartNumber;
use receive::Undecided;
pub(crate) use receive::cause_of;

/// A part of the sessions of N4, with their requests, plans and reports.
///
/// A thread that has it uses it with the [`Node`], beside others with other parts.
#[derive(Debug)]
pub struct Part {
    pub(crate) number: PartNumber,
    pub(crate) transactions: Transactions,
    pub(crate) sessions: Sessions,
    pub(crate) reports: Reports,
    /// The sessions whose reports wait until changes are recorded; `None`: they do not wait.
    pub(crate) unrecorded_reports: Option<BTreeSet<Seid>>,
    pub(crate) templates: ResponseTemplates,
    pub(crate) out: Outputs,
    /// Requests that this part cannot decide alone.
    pub(crate) undecided: Undecided,
    /// A session has ended that the end of an association, or of the UPF, waits for.
    pub(crate) is_awaited_end: bool,
}

impl Part {
    /// The first part of a new N4.
    pub(crate) fn first(
        config: &Arc<Config>,
        capabilities: Capabilities,
        endpoints: LocalEndpoints,
        recovery: NtpSeconds,
        number: PartNumber,
    ) -> Self {
        let sessions = Sessions::new(Arc::clone(config), capabilities, endpoints, number.clone());
        Self::with_sessions(config, sessions, recovery, number)
    }

    /// A further part, with the same tunnels and UE addresses.
    pub(crate) fn beside(&self, config: &Arc<Config>, recovery: NtpSeconds, number: PartNumber) -> Self {
        Self::with_sessions(config, self.sessions.beside(number.clone()), recovery, number)
    }

    fn with_sessions(
        config: &Arc<Config>,
        sessions: Sessions,
        recovery: NtpSeconds,
        number: PartNumber,
    ) -> Self {
        Self {
            transactions: Transactions::new(config, recovery.0, (number.part(), number.parts())),
            sessions,
            reports: Reports::new(config, number.parts()),
            unrecorded_reports: None,
            templates: ResponseTemplates::default(),
            out: Outputs::default(),
            undecided: Undecided::new(),
            is_awaited_end: false,
            number,
        }
    }

    /// A part without sessions, which takes the place of one that is lent.
    pub(crate) fn vacant(&self, config: &Arc<Config>) -> Self {
        let sessions = self.sessions.vacant(self.number.clone());
        Self::with_sessions(config, sessions, NtpSeconds(0), self.number.clone())
    }

    /// The sessions with this SEID of the UPF are of this part.
    pub fn has(&self, session: Seid) -> bool {
        self.number.has(session)
    }

    /// This part alone, with the node.
    fn alone<'a>(&'a mut self, node: &'a Node) -> Turn<'a> {
        Turn::new(node, self, Others::Elsewhere)
    }

    /// Handles the result of a plan of this part, as [`N4::applied`](crate::N4::applied) does.
    pub fn applied(&mut self, node: &Node, now: Time, id: ApplyId, result: Result<Applied, ApplyError>) {
        self.alone(node).applied(now, id, result);
    }

    /// Handles an event of the data plane about a session of this part, as [`N4::event`](crate::N4::event) does. Returns
    /// an event that concerns the node.
    pub fn event(&mut self, node: &Node, now: Time, event: Event) -> Option<Event> {
        self.alone(node).event(now, event)
    }

    /// The rules of the session with this index, if it is established. O(1), or O(rules) if they are shared.
    pub fn rules_at(&self, index: u32) -> Option<Cow<'_, RuleSet>> {
        let session = self.sessions.at(index).filter(|session| session.is_established())?;
        Some(session.rules().rules())
    }

    /// Discards cached responses that have expired. Call it between inputs.
    pub fn expire(&mut self, now: Time) {
        self.transactions.expire_answers(now);
    }

    /// Tells the other parts how many sessions this one has. Call it before others may work, and after so many datagrams at
    /// the latest as [`Part::MOST_DATAGRAMS`].
    pub fn publish(&self, node: &Node) {
        node.publish(self.number.part(), self.sessions.len(), self.sessions.needed());
    }

    /// The most datagrams between two calls of [`Part::publish`].
    pub const MOST_DATAGRAMS: usize = crate::node::MAX_NEW_SESSIONS;

    /// The one that has all parts has something to do, as after the end of the last session of an association.
    pub fn concerns_node(&self) -> bool {
        self.is_awaited_end || !self.undecided.is_empty()
    }

    /// The next action; `None` when there is none.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.out.pop()
    }

    /// Returns the buffer of a completed [`Output::Send`] for reuse by a later response. Optional.
    pub fn recycle(&mut self, octets: Vec<u8>) {
        self.transactions.recycle(octets);
    }

    /// The next time at which [`N4::timer`](crate::N4::timer) must be called for this part; `None` when no timer runs.
    pub fn next_timer(&self) -> Option<Time> {
        if self.sessions.are_sparse() {
            return Some(Time::default());
        }
        [self.transactions.next_deadline(), self.sessions.next_deadline()].into_iter().flatten().min()
    }
}

/// The other parts.
pub(crate) enum Others<'a> {
    /// They are with other threads.
    Elsewhere,
    /// They are here, in three pieces.
    Here { first: Option<&'a mut Part>, before: &'a mut [Box<Part>], after: &'a mut [Box<Part>] },
}

impl Others<'_> {
    /// The one with the sessions that have such SEIDs, if it is here.
    pub(crate) fn of_seid(&self, seid: Seid) -> Option<&Part> {
        self.iter().find(|part| part.number.has(seid))
    }

    /// The same, mutable.
    pub(crate) fn of_seid_mut(&mut self, seid: Seid) -> Option<&mut Part> {
        let Self::Here { first, before, after } = self else { return None };
        let further = before.iter_mut().chain(after.iter_mut()).map(Box::as_mut);
        first.as_deref_mut().into_iter().chain(further).find(|part| part.number.has(seid))
    }

    /// The one with this number, if it is here.
    pub(crate) fn of_number(&self, number: usize) -> Option<&Part> {
        self.iter().find(|part| part.number.part() == number)
    }

    /// Those that are here.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Part> {
        let (first, before, after) = match self {
            Self::Elsewhere => (None, None, None),
            Self::Here { first, before, after } => (first.as_deref(), Some(&**before), Some(&**after)),
        };
        let further = before.into_iter().chain(after).flatten().map(Box::as_ref);
        first.into_iter().chain(further)
    }

    /// They are with other threads.
    pub(crate) const fn are_elsewhere(&self) -> bool {
        matches!(self, Self::Elsewhere)
    }
}

/// A part while it handles an input.
pub(crate) struct Turn<'a> {
    pub(crate) node: &'a Node,
    pub(crate) part: &'a mut Part,
    pub(crate) others: Others<'a>,
    /// The Recovery Time Stamp of an establishment that shows a restart: nothing else has happened.
    pub(crate) claim: Option<(AssociationId, SentTimeStamp)>,
    /// Restarts that such requests show are noted.
    pub(crate) knows_claims: bool,
}

impl<'a> Turn<'a> {
    /// A part, the node, and these other parts.
    pub(crate) const fn new(node: &'a Node, part: &'a mut Part, others: Others<'a>) -> Self {
        Self { node, part, others, claim: None, knows_claims: false }
    }
}

impl Turn<'_> {
    /// The sessions of all parts, at most. A part alone counts those, too, that the others may establish meanwhile: at a limit, all
    /// parts together decide.
    #[inline]
    fn sessions_at_most(&self) -> usize {
        let own = self.part.sessions.len();
        if self.part.number.parts() == 1 { own } else { own + self.beside(true).0 }
    }

    /// The memory that the sessions of all parts may need, at most.
    #[inline]
    fn needed(&self) -> Needed {
        let own = self.part.sessions.needed();
        if self.part.number.parts() == 1 { own } else { own.and(self.beside(true).1) }
    }

    /// The sessions of all parts, and the memory that they may need; of those elsewhere as last published.
    fn in_all(&self) -> (usize, Needed) {
        let (sessions, needed) = self.beside(false);
        (self.part.sessions.len() + sessions, self.part.sessions.needed().and(needed))
    }

    /// The sessions of all other parts, and the memory that they may need. Of those elsewhere it is what they had last, and with
    /// `at_most` what they may have by now.
    #[inline(never)]
    fn beside(&self, at_most: bool) -> (usize, Needed) {
        if self.others.are_elsewhere() {
            let part = self.part.number.part();
            let (sessions, octets) =
                if at_most { self.node.at_most_beside(part) } else { self.node.beside(part) };
            return (sessions, Needed::default().and_octets(octets));
        }
        let others = self.others.iter().map(|part| &part.sessions);
        others.fold((0, Needed::default()), |(sessions, needed), more| {
            (sessions + more.len(), needed.and(more.needed()))
        })
    }

    /// A session has ended: the end of its association, or of the UPF, may wait for it.
    fn note_end(&mut self, association: AssociationId) {
        self.part.is_awaited_end |=
            self.node.is_stopping || self.node.associations.awaits_end_of_sessions(association);
    }
}
