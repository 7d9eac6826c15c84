//! Heartbeats in both directions (TS 29.244 clause 6.2.2, TS 23.007 clause 20).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use causeway_pfcp::{
    Header, HeartbeatRequest, HeartbeatResponse, Message, RecoveryTimeStamp, SourceIpAddress,
};
use causeway_types::{NodeId, Seid, Time};

use super::{AssociationId, Associations, Confirmed, SentTimeStamp};
use crate::left_out::LeftOut;
use crate::output::Outputs;
use crate::transaction::{Purpose, RequestKey, Response, Transactions};
use crate::{Config, DiscardReason, MessageResult, Notice};

impl Associations {
    /// Responds to a heartbeat of any sender: no association is needed.
    pub(crate) fn heartbeat_request(
        &mut self,
        now: Time,
        key: RequestKey,
        header: &Header,
        body: &[u8],
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let (recovery, claimed) = match Message::decode(header, body) {
            Ok(Message::HeartbeatRequest(request)) => {
                (request.recovery_time_stamp.0, request.source_ip_address)
            }
            Ok(_) => return,
            // The response has no cause IE.
            Err(error) => {
                out.received(Some(key.message), MessageResult::Malformed);
                let reason = DiscardReason::Decode(error);
                return out.notice(Notice::Discarded { from: key.from, reason });
            }
        };
        let response = HeartbeatResponse::new(RecoveryTimeStamp(self.recovery));
        let message = response.into();
        let response = Response { seid: Seid(0), cause: None, message: &message, left_out: LeftOut::NONE };
        transactions.answer_uncached(key, response, out);
        let claimed = claimed_source(key.from, claimed);
        if let Some((id, entity)) =
            self.identify(claimed).and_then(|id| self.entity(id, key.from.ip(), claimed.ip()))
        {
            let stamp = SentTimeStamp { entity, from: key.from, recovery };
            self.on_recovery_time_stamp(now, id, stamp, transactions, out);
        }
    }

    /// The PFCP entity of the peer that a message from `from` concerns, which claims to be `claimed`. `None` for an
    /// unassociated peer, whose claim is ignored. Behind address translation the Node ID is the source address of the
    /// setup.
    fn entity(&self, id: AssociationId, from: IpAddr, claimed: IpAddr) -> Option<(AssociationId, IpAddr)> {
        let association = self.get(id).filter(|association| association.uses_address(from))?;
        let is_main = association.node == NodeId::Ip(claimed) && association.source.ip() == from;
        Some((id, if is_main { from } else { claimed }))
    }

    /// Sends the heartbeats that are due.
    pub(crate) fn send_heartbeats(&mut self, now: Time, transactions: &mut Transactions, out: &mut Outputs) {
        let due = |due: Option<Time>| due.is_some_and(|due| due <= now);
        let ids: Vec<_> = self
            .iter()
            .filter(|association| due(association.heartbeat_due))
            .map(|association| association.id)
            .collect();
        for id in ids {
            self.send_heartbeat(now, id, transactions, out);
        }
    }

    fn send_heartbeat(
        &mut self,
        now: Time,
        id: AssociationId,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let Some(association) = self.get_mut(id) else { return };
        association.heartbeat_due = None;
        let peer = association.peer;
        let request = HeartbeatRequest::new(RecoveryTimeStamp(self.recovery));
        transactions.request(now, peer, &request.into(), Purpose::Heartbeat(id), out);
    }

    /// Sends the first heartbeat of an association that the UPF initiated, unless heartbeats are off. An SMF that had
    /// sessions here before the UPF restarted restores them when the recovery time stamp changes; some (Open5GS)
    /// compare it in heartbeats only.
    pub(crate) fn send_first_heartbeat(
        &mut self,
        now: Time,
        id: AssociationId,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        if !self.config.heartbeat.interval.is_zero() {
            self.send_heartbeat(now, id, transactions, out);
        }
    }

    /// The SMF responded to a heartbeat.
    pub(crate) fn heartbeat_answered(
        &mut self,
        now: Time,
        id: AssociationId,
        answer: &HeartbeatResponse<'_>,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) -> Option<Confirmed> {
        self.schedule_heartbeat(now, id);
        self.path_is_up(now, id, out);
        self.on_own_time_stamp(now, id, answer.recovery_time_stamp.0, transactions, out)
    }

    /// The last retransmission of a heartbeat got no response, and the association stays.
    pub(crate) fn path_is_down(&mut self, now: Time, id: AssociationId, out: &mut Outputs) {
        self.schedule_heartbeat(now, id);
        let Some(association) = self.get_mut(id) else { return };
        if std::mem::replace(&mut association.path_up, false) {
            out.notice(Notice::PathDown { node: association.node.clone(), peer: association.peer });
        }
    }

    /// Schedules the next heartbeat after the interval, unless heartbeats are off.
    pub(crate) fn schedule_heartbeat(&mut self, now: Time, id: AssociationId) {
        let interval = self.config.heartbeat.interval;
        if let Some(association) = self.get_mut(id) {
            association.heartbeat_due = (!interval.is_zero()).then(|| now + interval);
        }
    }

    /// Follows changed settings. With another interval the next heartbeats are an interval from now.
    pub(crate) fn reconfigure(&mut self, now: Time, config: Arc<Config>) {
        let before = std::mem::replace(&mut self.config, config).heartbeat.interval;
        if before != self.config.heartbeat.interval {
            let ids: Vec<AssociationId> = self.iter().map(|association| association.id).collect();
            ids.into_iter().for_each(|id| self.schedule_heartbeat(now, id));
        }
    }

    /// A part receives a message from this address, and no path is up that was down. `false`: nothing is noted, since that
    /// concerns the node.
    pub(crate) fn hear(&self, now: Time, from: SocketAddr, part: usize) -> bool {
        let Some(association) = self.identify(from).and_then(|id| self.get(id)) else { return true };
        if association.path_up {
            association.counts.hear(part, now);
        }
        association.path_up
    }

    /// A message was received from this address.
    pub(crate) fn on_message_from(&mut self, now: Time, from: SocketAddr, out: &mut Outputs) {
        if let Some(id) = self.identify(from) {
            self.path_is_up(now, id, out);
        }
    }

    fn path_is_up(&mut self, now: Time, id: AssociationId, out: &mut Outputs) {
        let Some(association) = self.get_mut(id) else { return };
        association.counts.hear(0, now);
        if !std::mem::replace(&mut association.path_up, true) {
            association.path_up_since = now;
            let notice = Notice::PathUp { node: association.node.clone(), peer: association.peer };
            out.notice(notice);
        }
    }
}

/// Behind address translation, a peer is identified by the address that it announces.
fn claimed_source(from: SocketAddr, claimed: Option<SourceIpAddress>) -> SocketAddr {
    let addr = claimed.map(|claimed| claimed.addr).unwrap_or_default();
    match addr.preferred() {
        Some(ip) if !addr.contains(from.ip()) => SocketAddr::new(ip, from.port()),
        _ => from,
    }
}
