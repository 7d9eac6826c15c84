//! Resolves the tunnel, the filters and the traffic endpoint of a PDI.

use std::net::Ipv4Addr;

use causeway_collections::SortedMap;
use causeway_model::{
    Capabilities, EthernetFilter, HeaderRemoval, LocalEndpoints, Pdi, PredefinedRules, RemovedHeader,
    SdfFilter, UeAddress,
};
use causeway_types::{FTeid, NetworkInstance};

use crate::Reason;
use crate::tunnels::{OwnUe, Reservation};

use super::endpoints::check_reference;
use super::ethernet::SharedFilters;
use super::filters::Definitions;
use super::ue::UeResolver;
use super::{Endpoint, EndpointId, PdiDraft, TunnelRequest};

/// Chooses tunnels for the PDIs of one message, and resolves references.
pub(super) struct Resolver<'a, 'b, 'c> {
    /// The data network of the session, where TEIDs depend on it.
    pub(super) network: Option<NetworkInstance>,
    pub(super) endpoints: &'a LocalEndpoints,
    pub(super) capabilities: &'a Capabilities,
    pub(super) reservation: &'a mut Reservation<'b>,
    pub(super) choose_ids: &'a mut SortedMap<u8, FTeid>,
    pub(super) filters: &'a Definitions,
    pub(super) predefined: &'a PredefinedRules,
    pub(super) ues: UeResolver<'a, 'c>,
    pub(super) frames: &'a SharedFilters,
}

/// The filters of one PDI.
struct Filters {
    sdf: Vec<SdfFilter>,
    ethernet: Vec<EthernetFilter>,
}

/// The traffic endpoints of the session.
type Endpoints = SortedMap<EndpointId, Endpoint>;

impl Resolver<'_, '_, '_> {
    /// The PDI of a new PDR.
    pub(super) fn create(&mut self, mut draft: PdiDraft, endpoints: &Endpoints) -> Result<Pdi, Reason> {
        let filters = self.resolve_filters(&mut draft)?;
        match draft.endpoint {
            Some(id) => at_endpoint(draft, filters, named(endpoints, id)?),
            None => {
                draft.ue = self.ue(&draft, None)?;
                let ue = draft.ue.and_then(|ue| ue.v4);
                let tunnel = self.tunnel(draft.tunnel, draft.network_instance.as_ref(), ue)?;
                Ok(pdi(draft, filters, tunnel))
            }
        }
    }

    fn ue(&mut self, draft: &PdiDraft, current: Option<UeAddress>) -> Result<Option<UeAddress>, Reason> {
        self.ues.resolve(draft.ue, draft.ue_choice.as_ref(), draft.network_instance.as_ref(), current)
    }

    /// The filters of a PDI, with references resolved.
    fn resolve_filters(&self, draft: &mut PdiDraft) -> Result<Filters, Reason> {
        let frames = std::mem::take(&mut draft.ethernet);
        Ok(Filters {
            sdf: self.filters.resolve(std::mem::take(&mut draft.filters))?,
            ethernet: self.frames.resolve(frames, self.filters)?,
        })
    }

    /// The tunnel that a PDI or a traffic endpoint requests, for this UE.
    pub(super) fn tunnel(
        &mut self,
        request: Option<TunnelRequest>,
        instance: Option<&NetworkInstance>,
        ue: Option<Ipv4Addr>,
    ) -> Result<Option<FTeid>, Reason> {
        match request {
            None => Ok(None),
            Some(TunnelRequest::Assigned(tunnel)) => self.assigned(tunnel, instance).map(Some),
            Some(TunnelRequest::Choose { v4, v6, choose_id }) => {
                let current = choose_id.and_then(|id| self.choose_ids.get(&id)).copied();
                let tunnel = match current {
                    Some(current) => self.checked_current(current, v4, v6, instance)?,
                    None => self.choose(v4, v6, instance, ue)?,
                };
                self.choose_ids.extend(choose_id.map(|id| (id, tunnel)));
                Ok(Some(tunnel))
            }
        }
    }

    /// The PDI that replaces `current`. No tunnel is chosen: CHOOSE stands for the existing one.
    ///
    /// A PDI with neither a tunnel nor a UE address nor a traffic endpoint could match no packet. SMFs send the flow
    /// descriptions alone if only these change: all that says where the packets come from is kept, with the Network
    /// Instance and the QFIs unless the PDI contains others.
    pub(super) fn update(
        &mut self,
        mut draft: PdiDraft,
        current: &Pdi,
        endpoints: &Endpoints,
    ) -> Result<Pdi, Reason> {
        let filters = self.resolve_filters(&mut draft)?;
        if let Some(id) = draft.endpoint {
            return at_endpoint(draft, filters, named(endpoints, id)?);
        }
        draft.ue = self.ue(&draft, current.ue)?;
        let instance = draft.network_instance.as_ref();
        let tunnel = match draft.tunnel {
            None if draft.is_unrelated_to_session() => {
                let (ue, routes, further) = (current.ue, current.routes.clone(), current.further);
                draft.network_instance = draft.network_instance.or_else(|| current.network_instance.clone());
                draft.qfis = if draft.qfis.is_empty() { current.qfis } else { draft.qfis };
                return Ok(Pdi { ue, routes, further, ..pdi(draft, filters, current.tunnel) });
            }
            None => None,
            Some(TunnelRequest::Assigned(tunnel)) => Some(self.assigned(tunnel, instance)?),
            Some(TunnelRequest::Choose { v4, v6, choose_id }) => {
                let named = choose_id.and_then(|id| self.choose_ids.get(&id)).copied();
                let tunnel = named.or(current.tunnel).ok_or(Reason::ChooseInUpdate)?;
                Some(self.checked_current(tunnel, v4, v6, instance)?)
            }
        };
        Ok(pdi(draft, filters, tunnel))
    }

    fn assigned(&self, tunnel: FTeid, instance: Option<&NetworkInstance>) -> Result<FTeid, Reason> {
        let is_local = |ip| self.endpoints.is_local(ip, instance);
        if tunnel.addr.iter().all(is_local) { Ok(tunnel) } else { Err(Reason::NonLocalTunnel(tunnel)) }
    }

    /// The existing tunnel, if it fits the request.
    fn checked_current(
        &self,
        current: FTeid,
        v4: bool,
        v6: bool,
        instance: Option<&NetworkInstance>,
    ) -> Result<FTeid, Reason> {
        let names_none = !v4 && !v6;
        let has_version = names_none || v4 && current.addr.v4.is_some() || v6 && current.addr.v6.is_some();
        let serves = current.addr.iter().all(|ip| self.endpoints.is_local(ip, instance));
        if has_version && serves { Ok(current) } else { Err(Reason::ChooseConflict(current)) }
    }

    fn choose(
        &mut self,
        v4: bool,
        v6: bool,
        instance: Option<&NetworkInstance>,
        ue: Option<Ipv4Addr>,
    ) -> Result<FTeid, Reason> {
        let (has_v4, has_v6) = (self.capabilities.outer_ipv4, self.capabilities.outer_ipv6);
        let names_none = !v4 && !v6;
        let v4 = (v4 || names_none) && has_v4;
        let v6 = (v6 || names_none && !has_v4) && has_v6;
        let addr = self.endpoints.addresses(instance, v4, v6);
        if addr.is_empty() {
            return Err(Reason::NoAddressToChoose);
        }
        let of = ue.map(|ue| OwnUe { ue, network: self.network.as_ref() });
        self.reservation.choose(addr, of).ok_or(Reason::NoTeid)
    }
}

/// The removal that fits the tunnel.
///
/// SMFs send the version of the user's packets instead of the tunnel's, which they cannot know if the UPF chooses
/// it. Unless the tunnel has exactly the version sent, headers of either version are removed.
pub(super) fn matching_removal(removal: HeaderRemoval, tunnel: Option<FTeid>) -> HeaderRemoval {
    let Some(FTeid { addr, .. }) = tunnel else { return removal };
    let fits = match removal.header {
        RemovedHeader::GtpuIpv4 => addr.v6.is_none(),
        RemovedHeader::GtpuIpv6 => addr.v4.is_none(),
        _ => true,
    };
    if fits { removal } else { HeaderRemoval { header: RemovedHeader::Gtpu, ..removal } }
}

fn named(endpoints: &Endpoints, id: EndpointId) -> Result<&Endpoint, Reason> {
    endpoints.get(&id).ok_or(Reason::Endpoint { id: id.0, what: "does not exist" })
}

/// A PDI whose session is identified by a traffic endpoint.
fn at_endpoint(draft: PdiDraft, filters: Filters, endpoint: &Endpoint) -> Result<Pdi, Reason> {
    let ue = draft.ue.is_some() || draft.ue_choice.is_some() || !draft.routes.is_empty();
    let qfis = !draft.qfis.is_empty() && !endpoint.qfis.is_empty();
    check_reference(draft.tunnel.is_some(), draft.network_instance.is_some(), ue, qfis)?;
    let mut pdi = pdi(draft, filters, None);
    endpoint.fill_pdi(&mut pdi);
    Ok(pdi)
}

fn pdi(draft: PdiDraft, filters: Filters, tunnel: Option<FTeid>) -> Pdi {
    Pdi {
        tunnel,
        network_instance: draft.network_instance,
        ue: draft.ue,
        routes: draft.routes,
        further: draft.further,
        qfis: draft.qfis,
        filters: filters.sdf,
        application: draft.application,
        whole_ethernet_session: draft.whole_ethernet_session,
        ethernet: filters.ethernet,
        ..Pdi::new(draft.source)
    }
}
