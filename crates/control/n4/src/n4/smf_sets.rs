//! Requests about session sets (TS 29.244 clause 5.22.4), and sessions that move to another SMF of a set.

use std::collections::BTreeSet;
use std::sync::Arc;

use causeway_pfcp::{
    AlternativeSmfIpAddress, Cause, FqCsid, Ie, OffendingIe, SessionChangeInfo, SessionSetDeletionRequest,
    SessionSetDeletionResponse, SessionSetModificationRequest, SessionSetModificationResponse,
};
use causeway_types::Time;

use super::N4;
use crate::session::{ChangedReceivers, PendingRequests, PurgeFilter, named};
use crate::transaction::{RequestKey, RequestRefusal};
use crate::{Notice, RefusalReason};

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
            return self.refuse_set(now, key, RefusalReason::NoFqCsid);
        }
        let sets = named(&request.fq_csids);
        let of_set = self.node.associations.ids_of_set(id);
        let removed = self.purge_sessions(now, &of_set, &PurgeFilter::In(sets), PendingRequests::Answer);
        self.notify_purged(removed, Notice::SessionSetDeleted { from: key.from, sessions: 0 });
        let config = Arc::clone(&self.node.config);
        let node = (&config.node).into();
        let response = SessionSetDeletionResponse::new(node, Cause::RequestAccepted);
        self.turn(0).accept(now, key, &response.into());
        for id in self.node.associations.ids_of_set(id) {
            self.each_turn(|turn| turn.wake_ready_sessions(now, id));
        }
    }

    /// Redirects the reports of session sets to another SMF (clause 5.22.4). One pass over the sessions of the SMF and its
    /// set, whatever the number of changes; of several changes about one session the last counts.
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
            return self.refuse_set(now, key, RefusalReason::NoSessionIds);
        }
        let receivers = request
            .session_change_info
            .iter()
            .filter_map(|it| it.alternative_smf_ip_address.addr.preferred())
            .collect::<BTreeSet<_>>();
        if let Some(foreign) = receivers.into_iter().find(|ip| !self.node.associations.is_host_of(id, *ip)) {
            let refusal = RequestRefusal {
                offending_ie: Some(OffendingIe(AlternativeSmfIpAddress::TYPE)),
                ..RequestRefusal::new(Cause::MandatoryIeIncorrect, RefusalReason::UnknownSmf(foreign))
            };
            return self.first.transactions.refuse_node(now, key, refusal, &mut self.first.out);
        }
        let changes = ChangedReceivers::of(&request.session_change_info);
        let mut moved = 0;
        for id in self.node.associations.ids_of_set(id) {
            self.each_turn(|turn| moved += turn.redirect_sessions(id, &changes));
        }
        self.first.out.notice(Notice::SessionSetModified { from: key.from, sessions: moved });
        let config = Arc::clone(&self.node.config);
        let node = (&config.node).into();
        let response = SessionSetModificationResponse::new(node, Cause::RequestAccepted);
        self.turn(0).accept(now, key, &response.into());
    }

    fn refuse_set(&mut self, now: Time, key: RequestKey, reason: RefusalReason) {
        let refusal = RequestRefusal {
            offending_ie: Some(OffendingIe(FqCsid::TYPE)),
            ..RequestRefusal::new(Cause::ConditionalIeMissing, reason)
        };
        self.first.transactions.refuse_node(now, key, refusal, &mut self.first.out);
    }
}
