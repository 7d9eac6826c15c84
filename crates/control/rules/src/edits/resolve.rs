//! From what a PDI asks for to the tunnel it gets.

use std::collections::BTreeMap;

use causeway_types::{FTeid, NetworkInstance};

use crate::tunnels::Reservation;
use crate::{Capabilities, GtpuRemoval, LocalEndpoints, Pdi, Reason, UeAddress};

use super::ue::UeResolver;
use super::{PdiDraft, TunnelRequest};

/// Chooses tunnels for the PDIs of one message.
pub(super) struct Resolver<'a, 'b, 'c> {
    pub(super) endpoints: &'a LocalEndpoints,
    pub(super) capabilities: &'a Capabilities,
    pub(super) reservation: &'a mut Reservation<'b>,
    pub(super) choose_ids: &'a mut BTreeMap<u8, FTeid>,
    pub(super) ues: UeResolver<'a, 'c>,
}

impl Resolver<'_, '_, '_> {
    /// The PDI of a new PDR.
    pub(super) fn create(&mut self, draft: PdiDraft) -> Result<Pdi, Reason> {
        let ue = self.ues.resolve(&draft, None)?;
        let instance = draft.network_instance.as_ref();
        let tunnel = match draft.tunnel {
            None => None,
            Some(TunnelRequest::Assigned(tunnel)) => Some(self.assigned(tunnel, instance)?),
            Some(TunnelRequest::Choose { v4, v6, choose_id }) => {
                let held = choose_id.and_then(|id| self.choose_ids.get(&id)).copied();
                let tunnel = match held {
                    Some(held) => self.same(held, v4, v6, instance)?,
                    None => self.choose(v4, v6, instance)?,
                };
                self.choose_ids.extend(choose_id.map(|id| (id, tunnel)));
                Some(tunnel)
            }
        };
        Ok(pdi(draft, tunnel, ue))
    }

    /// The PDI that replaces `held`. Nothing new is chosen: CHOOSE stands for the tunnel there is.
    ///
    /// A PDI with neither F-TEID nor UE address could match no packet, so both are kept then: SMFs send
    /// the flow descriptions alone when only those change.
    pub(super) fn update(&mut self, draft: PdiDraft, held: &Pdi) -> Result<Pdi, Reason> {
        let ue = self.ues.resolve(&draft, held.ue)?;
        let instance = draft.network_instance.as_ref();
        let tunnel = match draft.tunnel {
            None if ue.is_none() => return Ok(pdi(draft, held.tunnel, held.ue)),
            None => None,
            Some(TunnelRequest::Assigned(tunnel)) => Some(self.assigned(tunnel, instance)?),
            Some(TunnelRequest::Choose { v4, v6, choose_id }) => {
                let named = choose_id.and_then(|id| self.choose_ids.get(&id)).copied();
                let tunnel = named.or(held.tunnel).ok_or(Reason::ChooseInUpdate)?;
                Some(self.same(tunnel, v4, v6, instance)?)
            }
        };
        Ok(pdi(draft, tunnel, ue))
    }

    fn assigned(&self, tunnel: FTeid, instance: Option<&NetworkInstance>) -> Result<FTeid, Reason> {
        let is_local = |ip| self.endpoints.is_local(ip, instance);
        if tunnel.addr.iter().all(is_local) { Ok(tunnel) } else { Err(Reason::ForeignTunnel(tunnel)) }
    }

    /// A tunnel that exists, if it is what is asked for.
    fn same(
        &self,
        held: FTeid,
        v4: bool,
        v6: bool,
        instance: Option<&NetworkInstance>,
    ) -> Result<FTeid, Reason> {
        let has_version = v4 && held.addr.v4.is_some() || v6 && held.addr.v6.is_some();
        let serves = held.addr.iter().all(|ip| self.endpoints.is_local(ip, instance));
        if has_version && serves { Ok(held) } else { Err(Reason::ChooseConflict(held)) }
    }

    fn choose(&mut self, v4: bool, v6: bool, instance: Option<&NetworkInstance>) -> Result<FTeid, Reason> {
        let v4 = v4 && self.capabilities.outer_ipv4;
        let v6 = v6 && self.capabilities.outer_ipv6;
        let addr = self.endpoints.addresses(instance, v4, v6);
        if addr.is_empty() {
            return Err(Reason::NoAddressToChoose);
        }
        self.reservation.choose(addr).ok_or(Reason::NoTeid)
    }
}

/// The removal that fits the tunnel.
///
/// SMFs name the version of the user's packets instead of the tunnel's, which they cannot know when the
/// UPF chooses it. Unless the tunnel has exactly the version named, whichever arrives is taken off.
pub(super) fn fitting(removal: GtpuRemoval, tunnel: Option<FTeid>) -> GtpuRemoval {
    let Some(FTeid { addr, .. }) = tunnel else { return removal };
    match removal {
        GtpuRemoval::Ipv4 if addr.v6.is_none() => removal,
        GtpuRemoval::Ipv6 if addr.v4.is_none() => removal,
        _ => GtpuRemoval::Any,
    }
}

fn pdi(draft: PdiDraft, tunnel: Option<FTeid>, ue: Option<UeAddress>) -> Pdi {
    Pdi {
        source: draft.source,
        tunnel,
        network_instance: draft.network_instance,
        ue,
        qfis: draft.qfis,
        filters: draft.filters,
    }
}
