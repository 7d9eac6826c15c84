//! One session: what is known of it beside its rules.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::PacketRateStatusReport;
use causeway_rules::StoredRules;
use causeway_types::{FSeid, Seid, Time};

use super::SessionSets;
use super::in_flight::{InFlightPlan, QueuedWork};
use crate::association::{Association, AssociationId};
use crate::memory::Footprint;
use crate::report::ReportQueue;
use crate::transaction::RequestKey;

/// One PFCP session (TS 29.244 clause 5.2).
#[derive(Debug)]
pub(crate) struct Session {
    /// Ours.
    pub(crate) seid: Seid,
    /// Whose it is. Changed through [`super::Sessions::set_association`].
    pub(crate) association: AssociationId,
    /// Its number among the sessions of that.
    pub(super) number: u32,
    /// How many purges had begun when it came to its association: those do not concern it.
    pub(super) purges_before: u32,
    /// What it may come to need of memory. Changed through [`super::Sessions::set_footprint`].
    pub(super) footprint: Footprint,
    /// The SMF's end: the SEID of our messages, and where reports go.
    pub(crate) cp: FSeid,
    /// The rules as the data plane has them.
    pub(crate) rules: StoredRules,
    /// What the SMF has to hear.
    pub(crate) reports: ReportQueue,
    /// When it was established.
    pub(crate) since: Time,
    /// The plan that the data plane works on.
    pub(crate) in_flight: Option<InFlightPlan>,
    /// It will be called when its association may send more reports.
    pub(crate) is_waiting_for_slot: bool,
    /// Nobody wants it any more; it goes as soon as the data plane lets it.
    pub(crate) marked_for_removal: bool,
    /// We end it, with reports; the data plane is to remove it.
    pub(crate) releasing: bool,
    /// The data plane has removed it; its last reports are on their way.
    pub(crate) ended: bool,
    /// The request that established it.
    pub(crate) origin: RequestKey,
    /// What few sessions have.
    extras: Option<Box<SessionExtras>>,
}

/// What few sessions have.
#[derive(Debug, Default)]
pub(crate) struct SessionExtras {
    /// What came while a plan was under way, the oldest first.
    pub(super) queued: VecDeque<QueuedWork>,
    /// What its QERs let pass until it ended.
    pub(crate) last_rates: Vec<PacketRateStatusReport<'static>>,
    /// The sets of sessions it belongs to.
    pub(crate) membership: SessionSets,
    /// Where reports go instead of the SMF's end.
    pub(crate) contact: Option<IpAddr>,
    /// Who was given the report that is on its way, beside the SMF's end.
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

    /// What few sessions have, where this one does.
    pub(crate) fn extras(&self) -> Option<&SessionExtras> {
        self.extras.as_deref()
    }

    /// The same, to be changed.
    pub(crate) fn extras_mut(&mut self) -> Option<&mut SessionExtras> {
        self.extras.as_deref_mut()
    }

    /// The same; from now on this one has it.
    pub(crate) fn get_or_create_extras(&mut self) -> &mut SessionExtras {
        self.extras.get_or_insert_default()
    }

    /// Where reports go instead of the SMF's end.
    pub(crate) fn contact(&self) -> Option<IpAddr> {
        self.extras()?.contact
    }

    /// The report that is on its way was given to this host, beside the SMF's end.
    pub(crate) fn has_tried(&self, ip: IpAddr) -> bool {
        self.extras().is_some_and(|it| it.tried.contains(&ip))
    }

    /// The next report begins with the SMF's end again.
    pub(crate) fn forget_tried(&mut self) {
        self.extras_mut().into_iter().for_each(|it| it.tried.clear());
    }

    /// The sets of sessions it belongs to.
    pub(crate) fn membership(&self) -> Option<&SessionSets> {
        self.extras().map(|it| &it.membership)
    }

    /// What waits for a plan of it to be carried out, the oldest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &QueuedWork> {
        self.extras().into_iter().flat_map(|it| &it.queued)
    }

    /// Nothing waits to be done with it.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.releasing && self.reports.is_empty() && self.waiting().next().is_none()
    }

    /// It is in the data plane, and so far nothing has ended it.
    pub(crate) fn is_established(&self) -> bool {
        let establishing = self.in_flight.as_deref().is_some_and(|(_, in_flight)| in_flight.establishes());
        !self.is_ending() && !establishing
    }

    /// To its SMF it is gone, or about to go without its asking.
    pub(crate) const fn is_ending(&self) -> bool {
        self.marked_for_removal || self.releasing || self.ended
    }

    /// Where reports go.
    pub(crate) fn reports_to(&self, association: &Association) -> SocketAddr {
        match self.contact() {
            Some(ip) => SocketAddr::new(ip, association.peer.port()),
            None => reports_go_to(&self.cp, association.peer),
        }
    }
}

/// Where reports of a session go: the address of the SMF's end, of the IP version that its node uses if it
/// has one, and the port that requests to the node go to.
fn reports_go_to(cp: &FSeid, peer: SocketAddr) -> SocketAddr {
    let mut to = peer;
    let same_version = cp.addr.iter().find(|ip| ip.is_ipv4() == peer.is_ipv4());
    let ip = same_version.or(cp.addr.preferred()).unwrap_or(peer.ip());
    if ip != peer.ip() {
        to.set_ip(ip);
    }
    to
}
