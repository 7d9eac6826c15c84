//! A session as another had it: a member of a chain of UPFs, or a data plane that established it itself.

use causeway_model::Adopted;
use causeway_rules::{PlannedChange, Restored, SessionRules};
use causeway_types::{FSeid, NodeId, Seid, Time, transfer_fields};
use thin_vec::ThinVec;

use super::{Session, SessionSets, Sessions, UsageMarks};
use crate::RestoreError;
use crate::association::AssociationId;
use crate::memory::Footprint;
use crate::report::UnacknowledgedReports;
use crate::transaction::RequestKey;

/// The state of an established session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SessionRecord {
    seid: Seid,
    cp: FSeid,
    /// The Node ID of its association.
    pub(crate) node: NodeId,
    user: Vec<u8>,
    since: Time,
    origin: RequestKey,
    sets: Option<SessionSets>,
    rules: SessionRules,
    marks: UsageMarks,
    /// Usage that its SMF has not acknowledged.
    pub(crate) reports: UnacknowledgedReports,
}

transfer_fields! {
    SessionRecord { seid, cp, node, user, since, origin, sets, rules, marks, reports }
}

impl SessionRecord {
    /// The UPF's SEID.
    pub(crate) const fn seid(&self) -> Seid {
        self.seid
    }

    /// The record of a session of this node.
    pub(crate) fn of(session: &Session, node: NodeId, reports: UnacknowledgedReports) -> Self {
        Self {
            seid: session.seid,
            cp: session.cp,
            node,
            user: session.user.to_vec(),
            since: session.since,
            origin: session.origin,
            sets: session.membership().cloned(),
            rules: session.rules.to_rules().into_owned(),
            marks: session.marks(),
            reports,
        }
    }
}

impl Sessions {
    /// Enters a session of another member, and plans it.
    ///
    /// # Errors
    /// It cannot be; nothing has changed.
    pub(crate) fn restore(
        &mut self,
        now: Time,
        record: SessionRecord,
        association: AssociationId,
    ) -> Result<PlannedChange, RestoreError> {
        let seid = record.seid;
        if !self.takes(seid) {
            return Err(RestoreError::Seid(seid));
        }
        let Restored { planned, held } = self.plan_restored(record.rules, seid)?;
        let footprint = Footprint::after(&planned.pending);
        let mut session = Session::new(now, seid, association, record.cp, record.origin, footprint);
        (session.since, session.rules) = (record.since, held);
        session.user = ThinVec::from(record.user.as_slice());
        record.sets.into_iter().for_each(|sets| session.set_membership(sets));
        session.restore_marks(record.marks);
        self.insert_restored(session);
        Ok(planned)
    }

    /// Plans a session that the data plane has established.
    ///
    /// # Errors
    /// It cannot be; nothing has changed.
    pub(crate) fn plan_adopted(&mut self, adopted: &Adopted) -> Result<Restored, RestoreError> {
        let (seid, most) = (adopted.seid, self.most());
        if seid == Seid(0) || !self.is_of_data_plane(seid) || self.get(seid).is_some() {
            return Err(RestoreError::Seid(seid));
        }
        if self.len() >= most {
            return Err(RestoreError::Full(most));
        }
        let (rules, node) = (adopted.rules.clone(), adopted.node.clone());
        let rules = SessionRules::adopted(rules, adopted.choose_id, node, &self.planning.endpoints);
        self.plan_restored(rules, seid)
    }

    fn plan_restored(&mut self, rules: SessionRules, seid: Seid) -> Result<Restored, RestoreError> {
        let Self { planning, resources, .. } = self;
        causeway_rules::restore(rules, seid, &planning.context(), resources)
            .map_err(|why| RestoreError::Rules(seid, why.to_string()))
    }
}
