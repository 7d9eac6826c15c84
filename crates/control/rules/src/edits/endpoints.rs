//! Traffic endpoints: the common part of PDIs of a session (TS 29.244 clause 5.2.1A.2).

use std::fmt;

use causeway_collections::SortedMap;
use causeway_types::{FTeid, Interface, IpNet, NetworkInstance, QfiSet};

use crate::{Reason, Rejection, SessionRules, ie};
use causeway_model::{Pdi, Pdr, UeAddress, UeSide};

use super::resolve::{Resolver, matching_removal};
use super::ue::ChosenUes;
use super::{Setting, TunnelRequest, UeChoice};

/// A Traffic Endpoint ID, unique in the session (TS 29.244 clause 8.2.92).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct EndpointId(pub(crate) u8);

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A traffic endpoint.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Endpoint {
    pub(crate) tunnel: Option<FTeid>,
    pub(crate) network_instance: Option<NetworkInstance>,
    pub(crate) ue: EndpointUe,
    pub(crate) framed: Vec<IpNet>,
    pub(crate) qfis: QfiSet,
    /// ETHI: all downlink frames of the session.
    pub(crate) whole_ethernet_session: bool,
}

/// The UE addresses of an endpoint. Their address field in a packet also depends on the PDR's source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EndpointUe {
    /// The addresses as for packets from the access.
    pub(crate) first: Option<UeAddress>,
    pub(crate) further: Vec<IpNet>,
    /// The part that the UPF chooses; `None` once it is chosen.
    pub(crate) choice: Option<UeChoice>,
}

/// A traffic endpoint to be created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EndpointDraft {
    pub(crate) id: EndpointId,
    pub(crate) tunnel: Option<TunnelRequest>,
    /// All other parts.
    pub(crate) rest: Endpoint,
}

impl EndpointDraft {
    /// The UPF chooses its tunnel.
    pub(crate) fn is_choice(&self) -> bool {
        matches!(self.tunnel, Some(TunnelRequest::Choose { .. }))
    }
}

/// The changes to a traffic endpoint; `None` leaves a part as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EndpointUpdate {
    pub(crate) id: EndpointId,
    pub(crate) tunnel: Option<TunnelRequest>,
    pub(crate) network_instance: Setting<NetworkInstance>,
    pub(crate) ue: Setting<EndpointUe>,
    pub(crate) framed: Setting<Vec<IpNet>>,
    pub(crate) qfis: Setting<QfiSet>,
}

/// The changes to traffic endpoints in one message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EndpointEdits {
    pub(crate) remove: Vec<EndpointId>,
    pub(crate) create: Vec<EndpointDraft>,
    pub(crate) update: Vec<EndpointUpdate>,
}

impl EndpointEdits {
    /// There are no changes.
    pub(super) const fn is_empty(&self) -> bool {
        self.remove.is_empty() && self.create.is_empty() && self.update.is_empty()
    }

    /// # Errors
    /// If an endpoint occurs twice, is created though it exists, or changed though it does not.
    pub(super) fn check(&self, current: &SortedMap<EndpointId, Endpoint>) -> Result<(), Reason> {
        let mut seen = Vec::new();
        let changed = self.remove.iter().copied().chain(self.update.iter().map(|update| update.id));
        for (id, exists) in
            changed.map(|id| (id, true)).chain(self.create.iter().map(|draft| (draft.id, false)))
        {
            if seen.contains(&id) {
                return Err(Reason::Endpoint { id: id.0, what: "appears more than once in the message" });
            }
            seen.push(id);
            match (current.contains_key(&id), exists) {
                (true, false) => return Err(Reason::Endpoint { id: id.0, what: "exists already" }),
                (false, true) => return Err(Reason::Endpoint { id: id.0, what: "does not exist" }),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Removes endpoints with every PDR that refers to them.
pub(super) fn remove(session: &mut SessionRules, gone: &[EndpointId]) {
    session.endpoints.retain(|id, _| !gone.contains(id));
    let users = &session.endpoint_of;
    session.rules.pdrs.retain(|pdr, _| users.get(pdr).is_none_or(|endpoint| !gone.contains(endpoint)));
}

/// Creates and updates endpoints, and updates the PDRs that refer to them. Returns the chosen tunnels, in the order
/// of the message.
pub(super) fn merge(
    session: &mut SessionRules,
    edits: EndpointEdits,
    resolver: &mut Resolver<'_, '_, '_>,
    ues: &mut ChosenUes,
) -> Result<Vec<(EndpointId, FTeid)>, Rejection> {
    let mut chosen = Vec::new();
    for EndpointDraft { id, tunnel, mut rest } in edits.create {
        let is_choice = matches!(tunnel, Some(TunnelRequest::Choose { .. }));
        ues.endpoints.extend(rest.choose(None, resolver)?.map(|ue| (id, ue)));
        let ue = rest.ue.first.and_then(|ue| ue.v4);
        let tunnel = resolver.tunnel(tunnel, rest.network_instance.as_ref(), ue)?;
        chosen.extend(tunnel.filter(|_| is_choice).map(|tunnel| (id, tunnel)));
        session.endpoints.insert(id, Endpoint { tunnel, ..rest });
    }
    for update in edits.update {
        let id = update.id;
        let unknown = Reason::Endpoint { id: id.0, what: "does not exist" };
        let endpoint = session.endpoints.get_mut(&id).ok_or(unknown)?;
        let is_choice = matches!(update.tunnel, Some(TunnelRequest::Choose { .. }));
        let current = endpoint.ue.first;
        change(endpoint, update, resolver)?;
        ues.endpoints.extend(endpoint.choose(current, resolver)?.map(|ue| (id, ue)));
        chosen.extend(endpoint.tunnel.filter(|_| is_choice).map(|tunnel| (id, tunnel)));
        let users = session.endpoint_of.iter().filter(|(_, used)| **used == id).map(|(pdr, _)| pdr);
        for pdr in users {
            if let Some(pdr) = session.rules.pdrs.get_mut(pdr) {
                endpoint.fill_pdr(pdr);
            }
        }
    }
    Ok(chosen)
}

fn change(
    endpoint: &mut Endpoint,
    update: EndpointUpdate,
    resolver: &mut Resolver<'_, '_, '_>,
) -> Result<(), Reason> {
    update.network_instance.apply(&mut endpoint.network_instance);
    if update.tunnel.is_some() {
        let ue = endpoint.ue.first.and_then(|ue| ue.v4);
        endpoint.tunnel = resolver.tunnel(update.tunnel, endpoint.network_instance.as_ref(), ue)?;
    }
    replace(update.ue, &mut endpoint.ue);
    replace(update.framed, &mut endpoint.framed);
    replace(update.qfis, &mut endpoint.qfis);
    Ok(())
}

/// A part that is never absent, only empty.
fn replace<T: Default>(setting: Setting<T>, current: &mut T) {
    match setting {
        Setting::Keep => {}
        Setting::Remove => *current = T::default(),
        Setting::Set(value) => *current = value,
    }
}

impl Endpoint {
    /// Chooses the requested parts; the result is the whole UE address.
    fn choose(
        &mut self,
        current: Option<UeAddress>,
        resolver: &mut Resolver<'_, '_, '_>,
    ) -> Result<Option<UeAddress>, Reason> {
        let Some(choice) = self.ue.choice.take() else { return Ok(None) };
        let instance = self.network_instance.as_ref();
        self.ue.first = resolver.ues.resolve(self.ue.first, Some(&choice), instance, current)?;
        Ok(self.ue.first)
    }

    /// Fills the PDI of a PDR that refers to this endpoint.
    pub(super) fn fill_pdr(&self, pdr: &mut Pdr) {
        self.fill_pdi(&mut pdr.pdi);
        pdr.removal = pdr.removal.map(|removal| matching_removal(removal, self.tunnel));
    }

    pub(super) fn fill_pdi(&self, pdi: &mut Pdi) {
        pdi.tunnel = self.tunnel;
        pdi.network_instance = self.network_instance.clone();
        let side = |ue: UeAddress| match pdi.source {
            Interface::Access => ue.side,
            _ => UeSide::Destination,
        };
        pdi.ue = self.ue.first.map(|ue| UeAddress { side: side(ue), ..ue });
        pdi.routes = self.ue.further.iter().chain(&self.framed).copied().collect();
        pdi.further = self.ue.further.len();
        pdi.whole_ethernet_session |= self.whole_ethernet_session;
        if !self.qfis.is_empty() {
            pdi.qfis = self.qfis;
        }
    }
}

/// Checks that a PDI that refers to an endpoint repeats no IE of it.
///
/// # Errors
/// [`Reason::Incorrect`] with the IE that is in both.
pub(super) fn check_reference(
    tunnel: bool,
    network_instance: bool,
    ue: bool,
    qfis: bool,
) -> Result<(), Reason> {
    let both = [
        (tunnel, ie::F_TEID),
        (network_instance, ie::NETWORK_INSTANCE),
        (ue, ie::UE_IP_ADDRESS),
        (qfis, ie::QFI),
    ];
    let reason = "it belongs to the traffic endpoint that the PDI refers to";
    match both.into_iter().find(|(given, _)| *given) {
        Some((_, ie)) => Err(Reason::Incorrect { ie, why: reason }),
        None => Ok(()),
    }
}
