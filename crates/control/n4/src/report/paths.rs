//! User plane paths that fail and recover: Node Reports to the SMFs whose sessions use them (TS 29.244 clauses 6.2.9
//! and 7.4.5, TS 23.527 clause 5.4).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use causeway_pfcp::{
    Cause, DestinationInterface, NetworkInstance, NodeId, NodeReportRequest, NodeReportType, RemoteGtpuPeer,
    UserPlanePathFailureReport, UserPlanePathRecoveryReport,
};
use causeway_types::{Interface, Time};

use crate::association::AssociationId;
use crate::transaction::Purpose;
use crate::transaction::UnansweredRequest;
use crate::{N4, Notice};

/// How sessions reach a peer: interface and network instance.
type PathUsers = BTreeSet<(Interface, Option<causeway_types::NetworkInstance>)>;

impl N4 {
    /// The path to a GTP-U peer failed: the SMFs whose sessions use it are notified, each once until it recovers.
    pub(crate) fn path_failed(&mut self, now: Time, peer: IpAddr) {
        let users = self.users_of(peer);
        let untold: Vec<_> =
            users.into_iter().filter(|(id, _)| self.reported_paths.insert((*id, peer))).collect();
        if untold.is_empty() {
            return;
        }
        self.out.notice(Notice::PeerDown { peer, notified: untold.len() });
        for (id, ways) in untold {
            self.report_path(now, id, peer, &ways, true);
        }
    }

    /// The path recovered: the SMFs that were notified of the failure, and whose sessions still use it, are notified.
    pub(crate) fn path_recovered(&mut self, now: Time, peer: IpAddr) {
        let users = self.users_of(peer);
        let notified: Vec<_> =
            users.into_iter().filter(|(id, _)| self.reported_paths.contains(&(*id, peer))).collect();
        self.reported_paths.retain(|(_, down)| *down != peer);
        self.out.notice(Notice::PeerUp { peer, notified: notified.len() });
        for (id, ways) in notified {
            self.report_path(now, id, peer, &ways, false);
        }
    }

    /// No session uses the path any more: no recovery is reported.
    pub(crate) fn path_forgotten(&mut self, peer: IpAddr) {
        self.reported_paths.retain(|(_, down)| *down != peer);
    }

    /// The associations with sessions that send to the peer. O(rules of all sessions): paths fail rarely.
    fn users_of(&self, peer: IpAddr) -> BTreeMap<AssociationId, PathUsers> {
        let mut users: BTreeMap<AssociationId, PathUsers> = BTreeMap::new();
        let goes_on = |session: &&crate::session::Session| {
            !session.marked_for_removal && !self.sessions.is_in_purge(session)
        };
        for session in self.sessions.iter().filter(goes_on) {
            let rules = session.rules.rules();
            for forwarding in rules.fars.values().filter_map(|far| far.forwarding.as_ref()) {
                if forwarding.tunnel().is_some_and(|tunnel| tunnel.addr.contains(peer)) {
                    let way = (forwarding.destination, forwarding.network_instance.clone());
                    users.entry(session.association).or_default().insert(way);
                }
            }
        }
        users
    }

    fn report_path(&mut self, now: Time, id: AssociationId, peer: IpAddr, ways: &PathUsers, failed: bool) {
        let purpose = Purpose::PathReport { association: id, peer };
        // Earlier reports of this path are obsolete.
        self.transactions.cancel_of(id, |other| *other == purpose);
        let Some(to) = self.associations.get(id).map(|association| association.peer) else { return };
        let names: Vec<_> =
            ways.iter().map(|(_, network)| network.as_ref().map(NetworkInstance::from)).collect();
        let peers: Vec<_> = ways
            .iter()
            .zip(names)
            .map(|((side, _), network_instance)| RemoteGtpuPeer {
                addr: peer.into(),
                interface: Some(DestinationInterface::from(*side)),
                network_instance,
            })
            .collect();
        let node = self.config.node.clone();
        let request = match failed {
            true => NodeReportRequest {
                user_plane_path_failure_report: Some(UserPlanePathFailureReport::new(peers)),
                ..NodeReportRequest::new(NodeId::from(&node), NodeReportType::UPFR)
            },
            false => NodeReportRequest {
                user_plane_path_recovery_report: Some(UserPlanePathRecoveryReport::new(peers)),
                ..NodeReportRequest::new(NodeId::from(&node), NodeReportType::UPRR)
            },
        };
        self.transactions.request(now, to, &request.into(), purpose, &mut self.out);
    }

    pub(crate) fn path_report_answered(&mut self, id: AssociationId, cause: Cause) {
        let Some(association) = self.associations.get(id).filter(|_| !cause.is_accepted()) else { return };
        let node = association.node.clone();
        self.out.notice(Notice::NodeReportRefused { node, cause });
    }

    /// The last retransmission of a report got no response. It is kept and repeated after pauses, until it gets a
    /// response or is obsolete, or the association ends.
    pub(crate) fn path_report_unanswered(
        &mut self,
        now: Time,
        id: AssociationId,
        unanswered: UnansweredRequest<Purpose>,
    ) {
        let Some(association) = self.associations.get(id) else { return };
        let node = association.node.clone();
        if unanswered.retained {
            return self.transactions.repeat_retained(now, unanswered, false, &mut self.out);
        }
        self.out.notice(Notice::NodeReportUnanswered { node, to: unanswered.to });
        self.transactions.retain(now, unanswered);
    }

    /// The peer of an association restarted, or its association ended: no path counts as reported to it.
    pub(crate) fn forget_reported_paths(&mut self, id: AssociationId) {
        self.reported_paths.retain(|(association, _)| *association != id);
        self.transactions.cancel_of(id, |purpose| matches!(purpose, Purpose::PathReport { .. }));
    }
}
