//! Responses, with the load of the UPF and without the IEs that their SMF cannot decode.

use causeway_pfcp::{Cause, CpFeatures, Message, MessageType};
use causeway_types::{DualIp, FSeid, Seid, Time};

use super::Turn;
use crate::association::{Association, AssociationId};
use crate::left_out::LeftOut;
use crate::load::{LoadStatus, share};
use crate::transaction::{RequestKey, RequestRefusal, Response};

impl Turn<'_> {
    /// Sends the response to a request in progress, and caches it for duplicates.
    ///
    /// `seid` is the SMF's SEID, in a session related response.
    pub(crate) fn answer(
        &mut self,
        now: Time,
        key: RequestKey,
        seid: Seid,
        cause: Option<Cause>,
        message: &Message<'_>,
    ) {
        let left_out = self.left_out(&key);
        let response = Response { seid, cause, message, left_out };
        self.part.transactions.answer(now, key, response, &mut self.part.out);
    }

    /// Sends the response that accepts a request about the node, and caches it for duplicates.
    pub(crate) fn accept(&mut self, now: Time, key: RequestKey, message: &Message<'_>) {
        self.part.transactions.answer(now, key, Response::accepting(message), &mut self.part.out);
    }

    /// The same with an encoded response that accepts the request.
    pub(crate) fn answer_with(&mut self, now: Time, key: RequestKey, message: MessageType, bytes: Vec<u8>) {
        self.part.transactions.answer_encoded(now, key, message, bytes, &mut self.part.out);
    }

    /// Rejects a request in progress.
    pub(crate) fn refuse(&mut self, now: Time, key: RequestKey, refusal: RequestRefusal) {
        let status = self.status_for_refused(now, key);
        let (left_out, refusal) = (self.left_out(&key), self.with_origin(&key, refusal));
        self.part.transactions.refuse(now, key, refusal, status, left_out, &mut self.part.out);
    }

    /// Rejects a request without caching the response.
    pub(crate) fn refuse_at_once(&mut self, key: RequestKey, refusal: RequestRefusal) {
        let (left_out, refusal) = (self.left_out(&key), self.with_origin(&key, refusal));
        self.part.transactions.refuse_uncached(
            key,
            refusal,
            LoadStatus::default(),
            left_out,
            &mut self.part.out,
        );
    }

    /// Adds for the log which SMF sent the request, and which session it is about.
    fn with_origin(&self, key: &RequestKey, refusal: RequestRefusal) -> RequestRefusal {
        let ip = key.from.ip();
        let node = self.node.associations.at_host(ip).map(|association| association.node().clone());
        let cp = (refusal.seid != Seid(0)).then(|| FSeid { seid: refusal.seid, addr: DualIp::from(ip) });
        let session = refusal.session.or_else(|| self.part.sessions.by_cp_f_seid(&cp?));
        RequestRefusal { node, session, ..refusal }
    }

    /// The IEs left out of the response to a request.
    fn left_out(&self, key: &RequestKey) -> LeftOut {
        match key.message.is_session_related() {
            true => self.node.associations.left_out_for(key.from.ip()),
            false => LeftOut::NONE,
        }
    }

    /// The information to send to the SMF of an association in a response now; `leaving` sessions end with it.
    #[inline]
    pub(crate) fn status(
        &mut self,
        now: Time,
        association: Option<AssociationId>,
        leaving: usize,
    ) -> LoadStatus {
        let listens = |it: &Association| it.supports(CpFeatures::LOAD | CpFeatures::OVRL);
        match association {
            Some(id) if self.node.associations.get(id).is_some_and(listens) => {
                self.status_for(now, id, leaving)
            }
            _ => LoadStatus::default(),
        }
    }

    #[inline(never)]
    fn status_for(&mut self, now: Time, id: AssociationId, leaving: usize) -> LoadStatus {
        let (sessions, needed) = self.in_all();
        let sessions = sessions.saturating_sub(leaving);
        let load = match self.node.is_draining {
            true => 100,
            false => share(sessions, self.part.sessions.most()).max(self.node.memory.load(needed)),
        };
        let limits = &self.node.config.limits;
        let (inbound, waiting) = (&self.part.transactions, self.part.sessions.waiting_octets());
        let (reports, parts) = (&self.part.reports, self.part.number.parts());
        // The highest of the limits that the SMFs can reach in this part.
        let fullness = || {
            load.max(share(waiting, limits.waiting_octets.div_ceil(parts)))
                .max(share(inbound.most_in_progress(), limits.in_progress_per_peer.div_ceil(parts)))
                .max(share(reports.most_in_flight(), limits.outstanding_reports.div_ceil(parts)))
        };
        self.node.load_status(now, id, load, fullness)
    }

    /// The information to send with the rejection of a request.
    fn status_for_refused(&mut self, now: Time, key: RequestKey) -> LoadStatus {
        let is_about_session = key.message.is_session_related();
        let association = is_about_session.then(|| self.node.associations.identify(key.from)).flatten();
        self.status(now, association, 0)
    }
}
