//! SMF sets, whose members may all control a session (TS 29.244 clause 5.22), and session sets.

use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::{
    AlternativeSmfIpAddress, Cause, CpFeatures, FqCsid, Ie, OffendingIe, SessionChangeInfo,
    SessionSetDeletionRequest, SessionSetDeletionResponse, SessionSetModificationRequest,
    SessionSetModificationResponse,
};
use causeway_types::{Seid, Time};

use super::{Association, AssociationId, Associations};
use crate::session::{PendingRequests, PurgeFilter, Session, named};
use crate::transaction::RequestKey;
use crate::transaction::RequestRefusal;
use crate::{N4, Notice};

impl Associations {
    /// Both are the same association, or of SMFs of one set (clause 5.22.3).
    pub(crate) fn are_of_one_set(&self, one: AssociationId, other: AssociationId) -> bool {
        let set = |id| self.get(id).and_then(|association| association.smf_set.as_deref());
        one == other || set(one).is_some_and(|name| set(other) == Some(name))
    }

    /// The host belongs to the SMF of an association, or to another SMF of its set.
    pub(crate) fn is_authorized_for(&self, id: AssociationId, ip: IpAddr) -> bool {
        let Some(it) = self.get(id) else { return false };
        // Most SMFs belong to no set.
        it.uses_address(ip)
            || it.smf_set.is_some() && self.of_set(id).any(|association| association.uses_address(ip))
    }

    /// The associations of the SMF set that this one belongs to, this one first.
    pub(crate) fn of_set(&self, id: AssociationId) -> impl Iterator<Item = &Association> {
        let others = self.iter().filter(move |other| other.id != id && self.are_of_one_set(id, other.id));
        self.get(id).into_iter().chain(others)
    }

    /// Another association of the set whose path is up.
    pub(crate) fn available_set_member(&self, id: AssociationId) -> Option<AssociationId> {
        self.of_set(id).skip(1).find(|association| association.path_up).map(|association| association.id)
    }
}

impl N4 {
    /// Removes the sessions of session sets that failed, without reports (TS 23.007 clause 23).
    pub(crate) fn session_set_deletion(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &SessionSetDeletionRequest<'_>,
    ) {
        let Some(id) = self.association_named(now, key, &request.node_id) else { return };
        if request.fq_csids.is_empty() {
            return self.refuse_set(now, key, "no FQ-CSID identifies the sessions");
        }
        let sets = named(&request.fq_csids);
        let removed =
            self.purge_sessions(now, self.set_of(id), PurgeFilter::In(sets), PendingRequests::Answer);
        self.notify_purged(removed, Notice::SessionSetDeleted { from: key.from, sessions: 0 });
        let node = self.config.node.clone();
        let cause = Cause::RequestAccepted;
        let response = SessionSetDeletionResponse::new((&node).into(), cause);
        self.answer(now, key, Seid(0), Some(cause), &response.into());
        for id in self.set_of(id) {
            self.wake_ready_sessions(now, id);
        }
    }

    /// Redirects the reports of session sets to another SMF (clause 5.22.4).
    pub(crate) fn session_set_modification(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &SessionSetModificationRequest<'_>,
    ) {
        let Some(id) = self.association_named(now, key, &request.node_id) else { return };
        let names_none = |info: SessionChangeInfo<'_>| {
            info.fq_csids.is_empty() && info.group_ids.is_empty() && info.cp_ip_addresses.is_empty()
        };
        if request.session_change_info.iter().any(names_none) {
            return self.refuse_set(now, key, "no IE identifies the sessions");
        }
        let heirs = request
            .session_change_info
            .iter()
            .filter_map(|it| it.alternative_smf_ip_address.addr.preferred());
        if let Some(foreign) = heirs.into_iter().find(|ip| !self.is_host_of(id, *ip)) {
            let detail =
                format!("{foreign} is not known as an SMF of the set; it can be listed in upf.pfcp.smf");
            let refusal = RequestRefusal {
                offending_ie: Some(OffendingIe(AlternativeSmfIpAddress::TYPE)),
                ..RequestRefusal::new(Cause::MandatoryIeIncorrect, &detail)
            };
            return self.transactions.refuse_node(now, key, refusal, &mut self.out);
        }
        let ids = self.set_of(id);
        let mut moved = 0;
        for info in request.session_change_info.iter() {
            let Some(to) = info.alternative_smf_ip_address.addr.preferred() else { continue };
            let sets = named(&info.fq_csids);
            let is_meant = |session: &Session| {
                session.membership().is_some_and(|of| of.is_in(&sets))
                    || info
                        .group_ids
                        .iter()
                        .any(|group| session.membership().is_some_and(|of| of.is_of(group.0)))
                    || info
                        .cp_ip_addresses
                        .iter()
                        .any(|cp| session.cp.addr.iter().any(|ip| cp.0.contains(ip)))
            };
            let sessions: Vec<_> = ids.iter().flat_map(|id| self.sessions_of(*id)).collect();
            for seid in sessions {
                if self.sessions.get(seid).is_some_and(is_meant) {
                    self.redirect_reports(seid, to);
                    moved += 1;
                }
            }
        }
        self.out.notice(Notice::SessionSetModified { from: key.from, sessions: moved });
        let node = self.config.node.clone();
        let cause = Cause::RequestAccepted;
        let response = SessionSetModificationResponse::new((&node).into(), cause);
        self.answer(now, key, Seid(0), Some(cause), &response.into());
    }

    fn refuse_set(&mut self, now: Time, key: RequestKey, detail: &str) {
        let refusal = RequestRefusal {
            offending_ie: Some(OffendingIe(FqCsid::TYPE)),
            ..RequestRefusal::new(Cause::ConditionalIeMissing, detail)
        };
        self.transactions.refuse_node(now, key, refusal, &mut self.out);
    }

    fn set_of(&self, id: AssociationId) -> Vec<AssociationId> {
        self.associations.of_set(id).map(|association| association.id).collect()
    }

    /// Hands the sessions of an association over to another one of its set.
    pub(crate) fn hand_over(&mut self, from: AssociationId, to: AssociationId) -> usize {
        let sessions = self.sessions_of(from);
        for seid in &sessions {
            self.move_to_association(*seid, to);
        }
        sessions.len()
    }

    /// The next destination of a session request that got no response: other entities of the SMF, the preferred ones
    /// first, then other SMFs of the set. None that was tried already.
    pub(crate) fn next_peer(&self, seid: Seid) -> Option<SocketAddr> {
        let session = self.sessions.get(seid)?;
        let association = self.associations.get(session.association)?;
        let of_sets = CpFeatures::SSET | CpFeatures::MPAS;
        if !association.cp_features.intersects(of_sets) {
            return None;
        }
        let entities = |preferred| {
            let all =
                association.alternatives.iter().filter(move |(_, is_preferred)| *is_preferred == preferred);
            all.map(|(ip, _)| SocketAddr::new(*ip, association.peer.port()))
        };
        let siblings = self.associations.of_set(association.id).filter(|it| it.path_up).map(|it| it.peer);
        let current = self.reports.destination(seid, &session.cp, association.peer);
        let mut all = entities(true).chain(entities(false)).chain(siblings);
        all.find(|peer| !self.reports.has_tried(seid, peer.ip()) && peer.ip() != current.ip())
    }
}
