//! The changes that one message requests, typed but not yet checked against the rules.

mod endpoints;
mod ethernet;
mod filters;
mod merge;
mod pdr;
mod resolve;
mod ue;
mod update;
mod urr;

use std::collections::BTreeSet;

use causeway_types::{
    BarId, FarId, Interface, NetworkInstance, NodeId, PdrId, Ppi, QerId, Qfi, SNssai, Span, UrrId,
};

pub(crate) use endpoints::{Endpoint, EndpointDraft, EndpointEdits, EndpointId, EndpointUe, EndpointUpdate};
pub(crate) use ethernet::EthernetDraft;
pub(crate) use filters::FilterDraft;
pub(crate) use merge::{Merged, merge};
pub(crate) use pdr::{PdiDraft, PdrDraft, PdrUpdate, TunnelRequest, UeChoice};
pub(crate) use ue::{ChosenUes, DEFAULT_PREFIX, is_unusual};
pub(crate) use urr::{LimitsUpdate, Measuring, MonitoringUpdate, UrrDraft, UrrUpdate};

use causeway_model::{
    ApplyAction, Bar, CopyTo, Correlation, DeliveryStatus, ExtendedBuffering, Far, FlowMarking, Gate,
    HttpField, OuterHeader, PacketRates, PagingPolicy, PduSessionType, PolicyName, Qer, RateLimit, Redirect,
    Replacement, RuleId, TosMarking, UeMac, VlanTags,
};

/// All requests of one session message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct RequestedChanges {
    pub(crate) pdrs: Edits<PdrId, PdrDraft, PdrUpdate>,
    pub(crate) fars: Edits<FarId, Far, FarUpdate>,
    pub(crate) qers: Edits<QerId, Qer, QerUpdate>,
    pub(crate) urrs: Edits<UrrId, UrrDraft, UrrUpdate>,
    pub(crate) bars: Edits<BarId, Bar, BarUpdate>,
    pub(crate) endpoints: EndpointEdits,
    /// URRs to report now.
    pub(crate) query: BTreeSet<UrrId>,
    /// QAURR: report every URR now.
    pub(crate) query_all: bool,
    /// Query URR Reference: returned in the reports.
    pub(crate) query_reference: Option<u32>,
    /// PDN Type of a new session.
    pub(crate) pdu_type: PduSessionType,
    /// QERs whose packet rate status is to be reported now.
    pub(crate) query_packet_rates: BTreeSet<QerId>,
    /// The SMF that establishes the session; `None` in a modification.
    pub(crate) established_by: Option<NodeId>,
    /// The slice of the session, if the message contains one.
    pub(crate) slice: Option<SNssai>,
    /// The new paging policies of the session, if the message contains them.
    pub(crate) paging: Option<Vec<PagingPolicy>>,
    /// MAC addresses of the session's old anchor.
    pub(crate) macs: Vec<UeMac>,
    /// RESTI: a session from before a restart of the UPF is restored.
    pub(crate) restoration: bool,
    /// DROBU: buffered packets are dropped first.
    pub(crate) drop_buffered: bool,
    /// Extended buffering of BARs.
    pub(crate) extended: Vec<ExtendedBuffering>,
    /// The User Plane Inactivity Timer.
    pub(crate) inactivity_timer: Setting<Span>,
}

/// The changes to one kind of rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Edits<I, C, U> {
    pub(crate) remove: Vec<I>,
    pub(crate) create: Vec<C>,
    pub(crate) update: Vec<U>,
}

impl<I, C, U> Edits<I, C, U> {
    /// There are no changes.
    pub(crate) const fn is_empty(&self) -> bool {
        self.remove.is_empty() && self.create.is_empty() && self.update.is_empty()
    }
}

impl<I, C, U> Default for Edits<I, C, U> {
    fn default() -> Self {
        Self { remove: Vec::new(), create: Vec::new(), update: Vec::new() }
    }
}

/// The change of an optional part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Setting<T> {
    /// The part stays as it is.
    #[default]
    Keep,
    /// The part is removed: an IE of null length (TS 29.244 clause 5.6.3).
    Remove,
    /// The part is replaced.
    Set(T),
}

impl<T: Clone> Setting<T> {
    pub(crate) fn apply(&self, current: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Remove => *current = None,
            Self::Set(value) => *current = Some(value.clone()),
        }
    }

    /// The part is set or removed.
    pub(crate) fn is_given(&self) -> bool {
        !matches!(self, Self::Keep)
    }

    /// For a part with a default value.
    pub(crate) fn apply_or_default(&self, current: &mut T)
    where
        T: Default,
    {
        match self {
            Self::Keep => {}
            Self::Remove => *current = T::default(),
            Self::Set(value) => *current = value.clone(),
        }
    }
}

/// A value with a rule id.
pub(crate) trait HasRuleId {
    type Id: Copy + Ord + Into<RuleId>;

    fn id(&self) -> Self::Id;
}

/// The changes to a FAR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FarUpdate {
    pub(crate) id: FarId,
    pub(crate) action: Option<ApplyAction>,
    /// Set together with the action.
    pub(crate) delivery_status: Option<DeliveryStatus>,
    /// DUPL, set together with the action.
    pub(crate) duplicate: Option<bool>,
    pub(crate) forwarding: Option<ForwardingUpdate>,
    pub(crate) duplicates: Setting<Vec<DuplicateUpdate>>,
    pub(crate) bar: Setting<BarId>,
}

/// The changes to Forwarding Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ForwardingUpdate {
    pub(crate) destination: Option<Interface>,
    pub(crate) network_instance: Setting<NetworkInstance>,
    pub(crate) outer: Setting<OuterHeader>,
    pub(crate) vlan: Setting<VlanTags>,
    pub(crate) steering: SteeringUpdate,
    pub(crate) marking: Setting<TosMarking>,
    pub(crate) enrichment: Setting<Vec<HttpField>>,
    /// SNDEM: send an End Marker to the old tunnel.
    pub(crate) end_marker: bool,
}

/// The changes to steering.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SteeringUpdate {
    pub(crate) redirect: Setting<Redirect>,
    pub(crate) replacement: Setting<Replacement>,
    pub(crate) policy: Setting<PolicyName>,
}

/// The changes to one destination of copies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct DuplicateUpdate {
    pub(crate) destination: Option<CopyTo>,
    pub(crate) outer: Setting<OuterHeader>,
    pub(crate) policy: Setting<PolicyName>,
}

/// The changes to a QER.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct QerUpdate {
    pub(crate) id: QerId,
    pub(crate) correlation: Setting<Correlation>,
    pub(crate) gates: Option<(Gate, Gate)>,
    pub(crate) mbr: Setting<RateLimit>,
    pub(crate) gbr: Setting<RateLimit>,
    pub(crate) averaging_window: Setting<Span>,
    pub(crate) packet_rate: Setting<PacketRates>,
    pub(crate) reports_packet_rate: Setting<bool>,
    pub(crate) qfi: Setting<Qfi>,
    pub(crate) reflective: Setting<bool>,
    pub(crate) ppi: Setting<Ppi>,
    pub(crate) flow_marking: Setting<FlowMarking>,
}

/// The changes to a BAR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BarUpdate {
    pub(crate) id: BarId,
    pub(crate) notification_delay: Option<Span>,
    pub(crate) suggested_packets: Setting<u16>,
}

/// Implements [`HasRuleId`] for each type.
macro_rules! named {
    ($($type:ty: $id:ty, $path:tt $(. $rest:tt)*;)*) => {
        $(impl HasRuleId for $type {
            type Id = $id;

            fn id(&self) -> $id {
                self.$path$(.$rest)*
            }
        })*
    };
}

named! {
    PdrDraft: PdrId, id;
    PdrUpdate: PdrId, id;
    Far: FarId, id;
    FarUpdate: FarId, id;
    Qer: QerId, id;
    QerUpdate: QerId, id;
    UrrDraft: UrrId, urr.id;
    UrrUpdate: UrrId, id;
    Bar: BarId, id;
    BarUpdate: BarId, id;
}
