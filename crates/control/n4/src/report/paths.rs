//! User plane paths that fail and recover: Node Reports to the SMFs whose sessions use them (TS 29.244 clauses 6.2.9
//! and 7.4.5, TS 23.527 clause 5.4).

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::{
    DestinationInterface, NetworkInstance, NodeId, NodeReportRequest, NodeReportType, RemoteGtpuPeer,
    UserPlanePathFailureReport, UserPlanePathRecoveryReport,
};
use causeway_types::{Interface, Time};

use super::Reports;
use crate::Notice;
use crate::association::AssociationId;
use crate::output::Outputs;
use crate::transaction::{Purpose, Transactions};

/// How sessions reach a peer: interface and network instance.
pub(crate) type PathUsers = BTreeSet<(Interface, Option<causeway_types::NetworkInstance>)>;

/// What is reported of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathState {
    /// It has failed.
    Failed,
    /// It has recovered.
    Recovered,
}

impl Reports {
    /// The path to a GTP-U peer failed. Returns the SMFs to notify: those whose sessions use it, each once until it
    /// recovers.
    pub(crate) fn path_failed(
        &mut self,
        peer: IpAddr,
        users: BTreeMap<AssociationId, PathUsers>,
        out: &mut Outputs,
    ) -> Vec<(AssociationId, PathUsers)> {
        let untold: Vec<_> =
            users.into_iter().filter(|(id, _)| self.reported_paths.insert((*id, peer))).collect();
        if !untold.is_empty() {
            out.notice(Notice::PeerDown { peer, notified: untold.len() });
        }
        untold
    }

    /// The path recovered. Returns the SMFs to notify: those that were notified of the failure, and whose sessions still
    /// use it.
    pub(crate) fn path_recovered(
        &mut self,
        peer: IpAddr,
        users: BTreeMap<AssociationId, PathUsers>,
        out: &mut Outputs,
    ) -> Vec<(AssociationId, PathUsers)> {
        let notified: Vec<_> =
            users.into_iter().filter(|(id, _)| self.reported_paths.contains(&(*id, peer))).collect();
        self.reported_paths.retain(|(_, down)| *down != peer);
        out.notice(Notice::PeerUp { peer, notified: notified.len() });
        notified
    }

    /// No session uses the path any more: no recovery is reported.
    pub(crate) fn path_forgotten(&mut self, peer: IpAddr) {
        self.reported_paths.retain(|(_, down)| *down != peer);
    }

    /// Sends a Node Report about the path to a GTP-U peer, whose users are these, to the SMF of an association at `to`.
    pub(crate) fn report_path(
        &self,
        now: Time,
        (association, to): (AssociationId, SocketAddr),
        (peer, ways): (IpAddr, &PathUsers),
        state: PathState,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let purpose = Purpose::PathReport { association, peer };
        // Earlier reports of this path are obsolete.
        transactions.cancel_of(association, |other| *other == purpose);
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
        let node = NodeId::from(&self.node);
        let request = match state {
            PathState::Failed => NodeReportRequest {
                user_plane_path_failure_report: Some(UserPlanePathFailureReport::new(peers)),
                ..NodeReportRequest::new(node, NodeReportType::UPFR)
            },
            PathState::Recovered => NodeReportRequest {
                user_plane_path_recovery_report: Some(UserPlanePathRecoveryReport::new(peers)),
                ..NodeReportRequest::new(node, NodeReportType::UPRR)
            },
        };
        transactions.request(now, to, &request.into(), purpose, out);
    }

    /// The peer of an association restarted, or its association ended: no path counts as reported to it.
    pub(crate) fn forget_paths(&mut self, id: AssociationId, transactions: &mut Transactions) {
        self.reported_paths.retain(|(association, _)| *association != id);
        transactions.cancel_of(id, |purpose| matches!(purpose, Purpose::PathReport { .. }));
    }
}
