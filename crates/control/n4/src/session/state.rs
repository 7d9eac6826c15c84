//! The state of one session beside its rules.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::PacketRateStatusReport;
use causeway_rules::StoredRules;
use causeway_types::{FSeid, Seid, Time};

use super::SessionSets;
use super::in_flight::{InFlight, InFlightPlan, QueuedWork};
use crate::association::{Association, AssociationId};
use crate::memory::Footprint;
use crate::report::ReportQueue;
use crate::transaction::RequestKey;

/// One PFCP session (TS 29.244 clause 5.2).
#[derive(Debug)]
pub(crate) struct Session {
    /// The UPF's SEID.
    pub(crate) seid: Seid,
    /// Its association. Changed through [`super::Sessions::set_association`].
    pub(crate) association: AssociationId,
    /// Its number among the sessions of its association.
    pub(super) number: u32,
    /// The number of purges that had begun when it joined its association: those do not concern it.
    pub(super) purges_before: u32,
    /// The memory that it may need. Changed through [`super::Sessions::set_footprint`].
    pub(super) footprint: Footprint,
    /// The CP F-SEID: the SEID of messages to the SMF, and the destination of reports.
    pub(crate) cp: FSeid,
    /// The rules as applied in the data plane.
    pub(crate) rules: StoredRules,
    /// The reports to the SMF.
    pub(crate) reports: ReportQueue,
    /// When it was established.
    pub(crate) since: Time,
    /// The plan in flight.
    pub(crate) in_flight: Option<InFlightPlan>,
    /// It is called when its association may send more reports.
    pub(crate) is_waiting_for_slot: bool,
    /// It is marked for removal: the data plane removes it as soon as possible.
    pub(crate) marked_for_removal: bool,
    /// The UPF ends it, with reports; the data plane is to remove it.
    pub(crate) releasing: bool,
    /// The data plane has removed it; its last reports are in flight.
    pub(crate) ended: bool,
    /// The request that established it.
    pub(crate) origin: RequestKey,
    /// State that few sessions have.
    extras: Option<Box<SessionExtras>>,
}

/// State that few sessions have.
#[derive(Debug, Default)]
pub(crate) struct SessionExtras {
    /// Work queued while a plan is in flight, the oldest first.
    pub(super) queued: VecDeque<QueuedWork>,
    /// The packet rate status of its QERs at its end.
    pub(crate) last_rates: Vec<PacketRateStatusReport<'static>>,
    /// The session sets that it belongs to.
    pub(crate) membership: SessionSets,
    /// The destination of reports instead of the CP F-SEID.
    pub(crate) contact: Option<IpAddr>,
    /// The hosts that received the report in flight, beside the CP F-SEID.
    pub(crate) tried: Vec<IpAddr>,
}

impl Session {
    pub(crate) fn new(
        now: Time,
        seid: Seid,
        association: AssociationId,
        cp: FSeid,
        origin: RequestKey,
        footprint: Footprint,
    ) -> Self {
        Self {
            seid,
            association,
            number: 0,
            purges_before: 0,
            footprint,
            cp,
            rules: StoredRules::default(),
            reports: ReportQueue::default(),
            since: now,
            in_flight: None,
            is_waiting_for_slot: false,
            marked_for_removal: false,
            releasing: false,
            ended: false,
            origin,
            extras: None,
        }
    }

    /// The state that few sessions have, if this one has it.
    pub(crate) fn extras(&self) -> Option<&SessionExtras> {
        self.extras.as_deref()
    }

    /// The same, mutable.
    pub(crate) fn extras_mut(&mut self) -> Option<&mut SessionExtras> {
        self.extras.as_deref_mut()
    }

    /// The same; created if missing.
    pub(crate) fn get_or_create_extras(&mut self) -> &mut SessionExtras {
        self.extras.get_or_insert_default()
    }

    /// The destination of reports instead of the CP F-SEID.
    pub(crate) fn contact(&self) -> Option<IpAddr> {
        self.extras()?.contact
    }

    /// The report in flight was sent to this host, beside the CP F-SEID.
    pub(crate) fn has_tried(&self, ip: IpAddr) -> bool {
        self.extras().is_some_and(|it| it.tried.contains(&ip))
    }

    /// The next report is sent to the CP F-SEID first again.
    pub(crate) fn forget_tried(&mut self) {
        self.extras_mut().into_iter().for_each(|it| it.tried.clear());
    }

    /// The session sets that it belongs to.
    pub(crate) fn membership(&self) -> Option<&SessionSets> {
        self.extras().map(|it| &it.membership)
    }

    /// Work queued behind its plan in flight, the oldest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &QueuedWork> {
        self.extras().into_iter().flat_map(|it| &it.queued)
    }

    /// Its plan in flight.
    pub(crate) fn plan(&self) -> Option<&InFlight> {
        self.in_flight.as_deref()?.1.as_ref()
    }

    /// It has no plan in flight and no queued work.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.releasing && self.reports.is_empty() && self.waiting().next().is_none()
    }

    /// It is in the data plane, and is not ending.
    pub(crate) fn is_established(&self) -> bool {
        let establishing = self.plan().is_some_and(InFlight::establishes);
        !self.is_ending() && !establishing
    }

    /// For its SMF it no longer exists, or it is about to end without a request.
    pub(crate) const fn is_ending(&self) -> bool {
        self.marked_for_removal || self.releasing || self.ended
    }

    /// The destination of reports.
    pub(crate) fn reports_to(&self, association: &Association) -> SocketAddr {
        match self.contact() {
            Some(ip) => SocketAddr::new(ip, association.peer.port()),
            None => reports_go_to(&self.cp, association.peer),
        }
    }
}

/// The destination of the reports of a session: the address of the CP F-SEID, of the IP version that its node uses if
/// it has one, and the port of requests to the node.
fn reports_go_to(cp: &FSeid, peer: SocketAddr) -> SocketAddr {
    let mut to = peer;
    let same_version = cp.addr.iter().find(|ip| ip.is_ipv4() == peer.is_ipv4());
    let ip = same_version.or(cp.addr.preferred()).unwrap_or(peer.ip());
    if ip != peer.ip() {
        to.set_ip(ip);
    }
    to
}
