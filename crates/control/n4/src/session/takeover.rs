//! Change of the SMF that controls a session: by its own message, by another SMF of its set, or because it does not
//! respond (TS 29.244 clause 5.22).

use causeway_pfcp::{Cause, SessionReportResponse};
use causeway_types::{FSeid, NodeId, Seid};

use super::session_sets::GroupTooLong;
use super::{SessionSets, Sessions};
use crate::RefusalReason;
use crate::association::{AssociationId, Associations};
use crate::transaction::{RequestKey, RequestRefusal};

/// The change of the controlling SMF in a message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Takeover {
    /// The new CP F-SEID.
    pub(crate) cp: Option<FSeid>,
    /// The association of the SMF that takes over.
    pub(crate) association: Option<AssociationId>,
    /// The new session sets, if they change.
    pub(crate) membership: Option<SessionSets>,
}

impl Sessions {
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
        associations: &Associations,
    ) -> Result<Option<Box<Takeover>>, RequestRefusal> {
        if cp.is_none() && node.is_none() && membership.is_none() {
            return Ok(None);
        }
        let Some(session) = self.get(seid) else { return Ok(None) };
        let held = session.association;
        let foreign = || RequestRefusal::new(Cause::NoEstablishedAssociation, RefusalReason::NotInControl);
        let association = match node {
            None => None,
            Some(node) => Some(associations.authorized_successor(key, held, node).ok_or_else(foreign)?),
        };
        let cp = match cp {
            Some(cp) if cp != session.cp => {
                Some(associations.end_of(association.unwrap_or(held), key.from.ip(), cp)?)
            }
            cp => cp,
        };
        Ok(Some(Box::new(Takeover { cp, association, membership })))
    }

    /// The session is in other session sets.
    pub(crate) fn set_membership(&mut self, seid: Seid, membership: SessionSets) {
        let Some(session) = self.get_mut(seid) else { return };
        let before = session.octets();
        session.get_or_create_extras().membership = membership;
        let after = session.octets();
        self.needed.replace_in_n4(before, after);
    }

    /// The session sets after a report response, if it contains some.
    ///
    /// # Errors
    /// [`GroupTooLong`].
    pub(crate) fn membership_after(
        &self,
        seid: Seid,
        answer: &SessionReportResponse<'_>,
    ) -> Result<Option<SessionSets>, GroupTooLong> {
        if answer.fq_csid.is_none() && answer.group_id.is_none() {
            return Ok(None);
        }
        let Some(session) = self.get(seid) else { return Ok(None) };
        let mut membership = session.membership().cloned().unwrap_or_default();
        membership.update(answer.fq_csid.into_iter(), answer.group_id)?;
        Ok(Some(membership))
    }

    /// Moves a session to an association. Returns the previous one, and whether both count it.
    pub(crate) fn move_to_association(
        &mut self,
        seid: Seid,
        id: AssociationId,
    ) -> Option<(AssociationId, bool)> {
        let session = self.get(seid)?;
        let counts = !session.marked_for_removal && !self.does_not_count(session);
        Some((self.set_association(seid, id)?, counts))
    }
}
