//! A session as another member of a chain of UPFs had it.

use causeway_rules::{Change, SessionRules};
use causeway_types::{FSeid, NodeId, Seid, Time, transfer_fields};
use thin_vec::ThinVec;

use super::{Session, SessionSets, Sessions};
use crate::RestoreError;
use crate::association::AssociationId;
use crate::memory::Footprint;
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
}

transfer_fields! {
    SessionRecord { seid, cp, node, user, since, origin, sets, rules }
}

impl SessionRecord {
    /// The record of a session of this node.
    pub(crate) fn of(session: &Session, node: NodeId) -> Self {
        Self {
            seid: session.seid,
            cp: session.cp,
            node,
            user: session.user.to_vec(),
            since: session.since,
            origin: session.origin,
            sets: session.membership().cloned(),
            rules: session.rules.to_rules().into_owned(),
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
    ) -> Result<Change, RestoreError> {
        let seid = record.seid;
        if !self.takes(seid) {
            return Err(RestoreError::Seid(seid));
        }
        let Self { planning, resources, .. } = self;
        let change = causeway_rules::restore(record.rules, seid, &planning.context(), resources)
            .map_err(|why| RestoreError::Rules(seid, why.to_string()))?;
        let footprint = Footprint::of(change.session.rules());
        let mut session = Session::new(now, seid, association, record.cp, record.origin, footprint);
        session.since = record.since;
        session.user = ThinVec::from(record.user.as_slice());
        record.sets.into_iter().for_each(|sets| session.set_membership(sets));
        self.insert_restored(session);
        Ok(change)
    }
}
