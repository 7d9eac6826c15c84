//! Change of the SMF that controls a session: by its own message, by another SMF of its set, or because it does not
//! respond (TS 29.244 clause 5.22).

use std::net::IpAddr;

use causeway_pfcp::{Cause, SessionReportResponse};
use causeway_types::{FSeid, NodeId, Seid};

use super::{Session, SessionSets};
use crate::association::AssociationId;
use crate::transaction::RequestKey;
use crate::transaction::RequestRefusal;
use crate::{N4, Notice};

/// The change of the controlling SMF in a message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Takeover {
    /// The new CP F-SEID.
    pub(super) cp: Option<FSeid>,
    /// The association of the SMF that takes over.
    pub(super) association: Option<AssociationId>,
    /// The new session sets, if they change.
    pub(super) membership: Option<SessionSets>,
}

impl N4 {
    /// The takeover in a modification with this CP F-SEID, Node ID and session sets, if it contains one of them.
    ///
    /// # Errors
    /// The Node ID is not that of an SMF of the set, or does not belong to the sender; the F-SEID has an address that
    /// is not known to be theirs.
    pub(crate) fn takeover(
        &self,
        key: RequestKey,
        seid: Seid,
        (cp, node): (Option<FSeid>, Option<&NodeId>),
        membership: Option<SessionSets>,
    ) -> Result<Option<Box<Takeover>>, RequestRefusal> {
        if cp.is_none() && node.is_none() && membership.is_none() {
            return Ok(None);
        }
        let Some(session) = self.sessions.get(seid) else { return Ok(None) };
        let held = session.association;
        let detail = "the Node ID is not that of an SMF that may control the session";
        let foreign = || RequestRefusal::new(Cause::NoEstablishedAssociation, detail);
        let association = match node {
            None => None,
            Some(node) => Some(self.associations.authorized_successor(key, held, node).ok_or_else(foreign)?),
        };
        let cp = match cp {
            Some(cp) if cp != session.cp => {
                Some(self.associations.end_of(association.unwrap_or(held), key.from.ip(), cp)?)
            }
            cp => cp,
        };
        Ok(Some(Box::new(Takeover { cp, association, membership })))
    }

    /// The change is applied.
    pub(crate) fn take_over(&mut self, seid: Seid, takeover: Takeover) {
        let Takeover { cp, association, membership } = takeover;
        if let (Some(membership), Some(session)) = (membership, self.sessions.get_mut(seid)) {
            session.get_or_create_extras().membership = membership;
        }
        let is_another = association.is_some_and(|association| self.move_to_association(seid, association));
        if let Some(cp) = cp {
            self.move_session(seid, cp, is_another);
        }
    }

    /// The takeover in a report response.
    pub(crate) fn take_over_from_response(
        &mut self,
        seid: Seid,
        from: IpAddr,
        answer: &SessionReportResponse<'_>,
    ) {
        let Some(session) = self.sessions.get_mut(seid) else { return };
        if answer.fq_csid.is_some() || answer.group_id.is_some() {
            session.get_or_create_extras().membership.update(answer.fq_csid.into_iter(), answer.group_id);
        }
        let held = session.association;
        let named = answer.node_id.as_ref().and_then(|node| self.associations.of_node(&node.to_owned()));
        let able = named.filter(|id| self.associations.are_of_one_set(held, *id));
        let is_another = able.is_some_and(|id| self.move_to_association(seid, id));
        let Some(cp) = answer.cp_f_seid else { return };
        match self.associations.end_of(able.unwrap_or(held), from, cp) {
            Ok(cp) => self.move_session(seid, cp, is_another),
            Err(RequestRefusal { detail, .. }) => {
                self.out.notice(Notice::InstructionsFailed { session: seid, detail });
            }
        }
    }

    /// Moves a session to an association. Returns whether it had another.
    pub(crate) fn move_to_association(&mut self, seid: Seid, id: AssociationId) -> bool {
        let counts = |session: &Session| !session.marked_for_removal && !self.sessions.is_uncounted(session);
        let Some(counts) = self.sessions.get(seid).map(counts) else { return false };
        let Some(before) = self.sessions.set_association(seid, id) else { return false };
        if counts {
            self.associations.uncount_session(before);
            self.associations.count_session(id);
        }
        before != id
    }
}
