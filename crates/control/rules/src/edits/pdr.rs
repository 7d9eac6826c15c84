//! The changes to a PDR in a message.

use causeway_model::{ApplicationId, HeaderRemoval, RuleName, UeAddress, UeSide, VlanRemoval};
use causeway_types::{
    FTeid, FarId, Interface, IpNet, NetworkInstance, PdrId, Precedence, QerId, QfiSet, UrrId, WallTime,
};

use super::{EndpointId, EthernetDraft, FilterDraft, Setting};

/// A PDR to be created; its tunnel may not be chosen yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PdrDraft {
    pub(crate) id: PdrId,
    pub(crate) precedence: Precedence,
    pub(crate) pdi: PdiDraft,
    pub(crate) removal: Option<HeaderRemoval>,
    pub(crate) vlan_removal: Option<VlanRemoval>,
    pub(crate) far: FarId,
    pub(crate) qers: Vec<QerId>,
    pub(crate) urrs: Vec<UrrId>,
    /// Predefined rules to activate.
    pub(crate) activate: Vec<RuleName>,
    pub(crate) active_from: Option<WallTime>,
    pub(crate) active_until: Option<WallTime>,
}

/// A PDI whose tunnel may not be chosen yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PdiDraft {
    pub(crate) source: Interface,
    pub(crate) tunnel: Option<TunnelRequest>,
    pub(crate) network_instance: Option<NetworkInstance>,
    pub(crate) ue: Option<UeAddress>,
    /// The part of the UE address that the UPF chooses.
    pub(crate) ue_choice: Option<UeChoice>,
    /// Further UE addresses and framed routes.
    pub(crate) routes: Vec<IpNet>,
    /// The number of addresses among them.
    pub(crate) further: usize,
    pub(crate) qfis: QfiSet,
    pub(crate) filters: Vec<FilterDraft>,
    pub(crate) application: Option<ApplicationId>,
    pub(crate) whole_ethernet_session: bool,
    pub(crate) ethernet: Vec<EthernetDraft>,
    /// The traffic endpoint that provides absent parts among `tunnel`, `network_instance`, `ue` and `routes`.
    pub(crate) endpoint: Option<EndpointId>,
}

impl PdiDraft {
    /// A PDI for all packets from this side.
    pub(crate) fn new(source: Interface) -> Self {
        Self {
            source,
            tunnel: None,
            network_instance: None,
            ue: None,
            ue_choice: None,
            routes: Vec::new(),
            further: 0,
            qfis: QfiSet::EMPTY,
            filters: Vec::new(),
            application: None,
            whole_ethernet_session: false,
            ethernet: Vec::new(),
            endpoint: None,
        }
    }

    /// It identifies no session: an update that concerns other parts.
    pub(crate) fn is_unrelated_to_session(&self) -> bool {
        let no_ue = self.ue.is_none() && self.ue_choice.is_none();
        self.tunnel.is_none() && no_ue && self.routes.is_empty() && self.endpoint.is_none()
    }

    /// The UPF chooses its tunnel.
    pub(crate) fn is_choice(&self) -> bool {
        matches!(self.tunnel, Some(TunnelRequest::Choose { .. }))
    }
}

/// The part of a UE address that the UPF chooses (CHOOSE IPV4, CHOOSE IPV6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UeChoice {
    pub(crate) v4: bool,
    /// The prefix length.
    pub(crate) v6: Option<u8>,
    pub(crate) side: UeSide,
    /// The UE IP address Pool Identities: none, one for all, or that of IPv4 and that of IPv6.
    pub(crate) pools: Vec<Vec<u8>>,
}

/// The Local F-TEID of a PDI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TunnelRequest {
    /// The SMF assigns it.
    Assigned(FTeid),
    /// The UPF chooses it (CHOOSE).
    Choose {
        v4: bool,
        v6: bool,
        /// PDRs of the session with the same CHOOSE ID get the same F-TEID.
        choose_id: Option<u8>,
    },
}

/// The changes to a PDR. `None` leaves a part as it is; lists replace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PdrUpdate {
    pub(crate) id: PdrId,
    pub(crate) precedence: Option<Precedence>,
    pub(crate) pdi: Option<PdiDraft>,
    pub(crate) removal: Setting<HeaderRemoval>,
    pub(crate) vlan_removal: Setting<VlanRemoval>,
    pub(crate) far: Option<FarId>,
    pub(crate) qers: Option<Vec<QerId>>,
    pub(crate) urrs: Option<Vec<UrrId>>,
    /// Predefined rules to activate, after those to deactivate.
    pub(crate) activate: Vec<RuleName>,
    pub(crate) deactivate: Vec<RuleName>,
    pub(crate) active_from: Setting<WallTime>,
    pub(crate) active_until: Setting<WallTime>,
}
