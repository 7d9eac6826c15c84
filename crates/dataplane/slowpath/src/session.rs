//! One session: its rules and their state.

use std::collections::BTreeSet;

use causeway_collections::SortedMap;
use causeway_model::{Applications, Far, Pdr, Qer, RuleSet, UeSide};
use causeway_types::{BarId, Direction, FTeid, FarId, Interface, PdrId, QerId, UrrId};

use crate::application_class::SessionClass;
use crate::application_detection::Detector;
use crate::buffer::{Buffer, BufferedPacket};
use crate::buffering_duration::ExtendedBufferingState;
use crate::downlink_notification::NotificationState;
use crate::enforcer::QerState;
use crate::enrich::EnrichedFlows;
use crate::inactivity::Inactivity;
use crate::lazy::Lazy;
use crate::measure::Measurement;
use crate::router_advertisement::Advertised;
use crate::steer::RedirectedFlows;
use crate::timers::SessionTimers;

/// A session's rules and their state. Cloned before each change, so that a failed change has no effect.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Session {
    pub(crate) rules: RuleSet,
    /// The state of the QERs that share with no other session.
    pub(crate) enforcers: SortedMap<QerId, Lazy<QerState>>,
    pub(crate) measurements: SortedMap<UrrId, Lazy<Measurement>>,
    pub(crate) buffer: Buffer,
    /// Application detection from its flows.
    pub(crate) detector: Detector,
    /// The class of its traffic.
    pub(crate) class: SessionClass,
    /// Remote tunnels with an Error Indication since the FARs that use them changed.
    pub(crate) refused_tunnels: BTreeSet<FTeid>,
    /// The reports to the SMF about buffered or discarded packets.
    pub(crate) notified: NotificationState,
    /// BARs with extended buffering.
    pub(crate) extended: SortedMap<BarId, ExtendedBufferingState>,
    /// Uplink flows that were redirected to another address.
    pub(crate) redirected: RedirectedFlows,
    /// TCP connections whose HTTP requests are enriched.
    pub(crate) enriched: EnrichedFlows,
    /// The User Plane Inactivity Timer, if there is one.
    pub(crate) inactivity: Option<Inactivity>,
    /// The UE has solicited the UPF, which advertises itself again.
    pub(crate) advertised: Option<Advertised>,
    pub(crate) timers: SessionTimers,
}

impl Session {
    /// The PDRs in the order in which they are tried: by precedence, then by id.
    pub(crate) fn pdrs_in_order(&self) -> Vec<&Pdr> {
        let mut pdrs: Vec<_> = self.rules.pdrs.values().collect();
        pdrs.sort_unstable_by_key(|pdr| (pdr.precedence, pdr.id));
        pdrs
    }

    /// The applications of its PDRs need packet inspection.
    pub(crate) fn needs_dpi(&self, applications: &Applications) -> bool {
        let pdrs = || self.rules.pdrs.values();
        let predefined = pdrs().flat_map(|pdr| pdr.predefined.values()).flat_map(|rules| rules.iter());
        let named = pdrs().filter_map(|pdr| pdr.pdi.application.as_ref());
        let mut all = named.chain(predefined.filter_map(|rule| rule.application.as_ref()));
        all.any(|id| applications.needs_dpi(id))
    }

    /// The FAR that applies to a PDR now: its own, or that of an exhausted quota. Applied rules have no dangling
    /// references.
    pub(crate) fn far_of(&self, pdr: PdrId) -> Option<&Far> {
        let pdr = self.rules.pdrs.get(&pdr)?;
        self.quota_far(pdr).or_else(|| self.rules.fars.get(&pdr.far))
    }

    /// The QERs of a PDR in the order it lists them.
    pub(crate) fn qers_of<'s>(&'s self, pdr: &'s Pdr) -> impl Iterator<Item = &'s Qer> {
        pdr.qers.iter().filter_map(|id| self.rules.qers.get(id))
    }

    /// The BAR that controls the buffering of a packet.
    pub(crate) fn bar_of(&self, buffered: &BufferedPacket) -> Option<BarId> {
        self.rules.fars.get(&buffered.far)?.bar
    }

    /// The number of buffered packets for the FARs of a BAR.
    pub(crate) fn buffered_for(&self, bar: BarId) -> usize {
        self.buffer.iter().filter(|buffered| self.bar_of(buffered) == Some(bar)).count()
    }

    /// Packets of some flows are rewritten depending on earlier packets.
    pub(crate) fn has_rewritten_flows(&self) -> bool {
        !(self.redirected.is_empty() && self.enriched.is_empty())
    }

    /// A FAR changes: Error Indications about its tunnel no longer apply.
    pub(crate) fn forget_error_indications(&mut self, far: FarId) {
        let tunnel = self.rules.fars.get(&far).and_then(|far| far.forwarding.as_ref()?.tunnel());
        self.refused_tunnels.retain(|refused| Some(refused.teid) != tunnel.map(|tunnel| tunnel.teid));
    }

    /// The URRs that a PDR uses.
    pub(crate) fn urrs_in_use(&self) -> Vec<UrrId> {
        let mut used: Vec<_> = self.rules.pdrs.values().flat_map(|pdr| pdr.urrs.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        used
    }
}

/// The direction of the traffic that a PDR matches: traffic from the access side is uplink. Traffic from the SMF is
/// downlink, unless the PDI says that the UE sent it (TS 29.244 clause 5.3.5.3).
pub fn direction_of(pdr: &Pdr) -> Direction {
    let from_ue = pdr.pdi.ue.is_some_and(|ue| ue.side == UeSide::Source);
    match pdr.pdi.source {
        Interface::Access => Direction::Uplink,
        Interface::CpFunction if from_ue => Direction::Uplink,
        Interface::Core | Interface::SgiLan | Interface::CpFunction | Interface::VnInternal => {
            Direction::Downlink
        }
    }
}
