//! Sessions that the data plane establishes itself: N4 says for which SMFs it may, and adopts sessions.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_types::{FSeid, NodeId, Seid, Time};

use super::N4;
use crate::association::Association;
use crate::memory::Footprint;
use crate::session::Session;
use crate::transaction::RequestKey;
use crate::{DirectSession, DirectSmf};

impl N4 {
    /// The SMFs whose requests the data plane may answer itself, as long as nothing here changes.
    pub fn direct_smfs(&self) -> impl Iterator<Item = DirectSmf> {
        self.associations.iter().filter_map(|association| {
            let NodeId::Ip(IpAddr::V4(node)) = *association.node() else { return None };
            let host = association.source().ip();
            let is_alone = self.associations.iter().filter(|it| it.uses_address(host)).count() == 1;
            let is_plain = association.may_be_direct() && !association.is_leaving();
            let is_its = host == IpAddr::V4(node) && association.addresses() == [host];
            (is_alone && is_plain && is_its).then(|| DirectSmf {
                host: node,
                node,
                recovery: association.recovery(),
                epoch: self.transactions.epoch(host),
                since: association.since(),
                is_open: self.may_be_established(association),
            })
        })
    }

    fn may_be_established(&self, association: &Association) -> bool {
        self.refuse_new_session(association.id()).is_ok()
            && self.memory.admits(self.sessions.needed(), Footprint::default())
    }

    /// The largest slot of a TEID that N4 chooses ([`causeway_types::TeidScheme`]).
    pub fn last_teid_slot(&self) -> u32 {
        self.sessions.last_teid_slot()
    }

    /// The data plane has so many sessions of this SMF that are not adopted.
    pub fn set_direct_sessions(&mut self, host: Ipv4Addr, sessions: usize) {
        self.associations.set_direct_sessions(IpAddr::V4(host), sessions);
    }

    /// The CP F-SEID of the session with this SEID, whatever its state.
    pub fn cp_f_seid(&self, seid: Seid) -> Option<FSeid> {
        self.sessions.get(seid).map(Session::cp)
    }

    /// Takes over a session that the data plane established, with the responses to its requests: from now on its messages
    /// and its events are for N4, as if N4 had established it. The data plane keeps its rules. Returns its index
    /// ([`ApplyId::session_index`](crate::ApplyId::session_index)).
    ///
    /// # Errors
    /// Its SMF is not associated, or another session has a tunnel or an address of it. The session is returned, and the
    /// data plane has to remove it.
    pub fn adopt(&mut self, now: Time, session: DirectSession) -> Result<u32, Box<DirectSession>> {
        self.sessions.set_time(now);
        let is_known = self.sessions.get(session.seid).is_some();
        let Some(association) = self.associations.of_node(&session.node).filter(|_| !is_known) else {
            return Err(Box::new(session));
        };
        let DirectSession { seid, cp, since, epoch, chosen, .. } = session;
        let (rules, node) = (session.rules.clone(), session.node.clone());
        let footprint = Footprint::of(&rules);
        let Ok(stored) = self.sessions.adopt(seid, rules, chosen, node) else {
            return Err(Box::new(session));
        };
        let host = cp.addr.preferred().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let mut origin = None;
        for request in &session.answered {
            let from = SocketAddr::new(host, request.port);
            let key = RequestKey::of_answered(from, request.message, request.sequence, request.digest, epoch);
            self.transactions.remember_sent(now, key, &request.response);
            origin.get_or_insert(key);
        }
        let Some(origin) = origin else { return Err(Box::new(session)) };
        let mut adopted = Session::new(since, seid, association, cp, origin, footprint);
        adopted.set_rules(stored);
        let index = self.sessions.insert_adopted(adopted);
        if epoch == self.transactions.epoch(host) {
            self.associations.count_new_session(association);
        } else {
            self.associations.count_session(association);
        }
        Ok(index)
    }
}
