//! Traffic endpoints: created, updated, removed, and referred to.

use causeway_pfcp::{
    CreateTrafficEndpoint, FramedIpv6Route, FramedRoute, Ie, Many, NetworkInstance, RemoveTrafficEndpoint,
    TrafficEndpointId, UeIpAddress, UpdateTrafficEndpoint,
};
use causeway_types::{Interface, Qfi};

use super::ie_support::CheckSupport;
use super::{ethernet, framed, setting, tunnel, ue};
use crate::Reason;
use crate::edits::{Endpoint, EndpointDraft, EndpointId, EndpointUe, EndpointUpdate, Setting};

/// The endpoint that a PDI refers to: at most one, since the feature MTE is not supported.
pub(super) fn reference(ids: &Many<'_, TrafficEndpointId>) -> Result<Option<EndpointId>, Reason> {
    let what = "more than one traffic endpoint of a PDI";
    if ids.len() > 1 {
        return Err(Reason::Unsupported { ie: TrafficEndpointId::TYPE, what });
    }
    Ok(ids.first().map(|id| EndpointId(id.0)))
}

pub(super) fn removed(groups: &Many<'_, RemoveTrafficEndpoint<'_>>) -> Vec<EndpointId> {
    groups.iter().map(|group| EndpointId(group.traffic_endpoint_id.0)).collect()
}

pub(super) fn created(groups: &Many<'_, CreateTrafficEndpoint<'_>>) -> Result<Vec<EndpointDraft>, Reason> {
    groups.iter().map(|group| create(&group)).collect()
}

pub(super) fn updated(groups: &Many<'_, UpdateTrafficEndpoint<'_>>) -> Result<Vec<EndpointUpdate>, Reason> {
    groups.iter().map(|group| update(&group)).collect()
}

fn create(group: &CreateTrafficEndpoint<'_>) -> Result<EndpointDraft, Reason> {
    group.refuse_unsupported()?;
    Ok(EndpointDraft {
        id: EndpointId(group.traffic_endpoint_id.0),
        tunnel: group.local_f_teid.as_ref().map(tunnel::request).transpose()?,
        rest: Endpoint {
            tunnel: None,
            network_instance: group.network_instance.map(|instance| instance.to_owned()),
            ue: addresses(&group.ue_ip_addresses)?,
            framed: framed::routes(&group.framed_routes, &group.framed_ipv6_routes)?,
            qfis: group.qfis.iter().collect(),
            whole_ethernet_session: ethernet::whole_session(group.ethernet_pdu_session_information)?,
        },
    })
}

fn update(group: &UpdateTrafficEndpoint<'_>) -> Result<EndpointUpdate, Reason> {
    group.refuse_unsupported()?;
    let others = &group.other;
    let instance = group.network_instance.map(|instance| instance.to_owned());
    let ue = (!group.ue_ip_addresses.is_empty()).then(|| addresses(&group.ue_ip_addresses)).transpose()?;
    let routes = framed::routes(&group.framed_routes, &group.framed_ipv6_routes)?;
    let framed = match routes.is_empty() {
        false => Setting::Set(routes),
        true if others.removes::<FramedRoute<'_>>() || others.removes::<FramedIpv6Route<'_>>() => {
            Setting::Remove
        }
        true => Setting::Keep,
    };
    let qfis = (!group.qfis.is_empty()).then(|| group.qfis.iter().collect());
    Ok(EndpointUpdate {
        id: EndpointId(group.traffic_endpoint_id.0),
        tunnel: group.local_f_teid.as_ref().map(tunnel::request).transpose()?,
        network_instance: setting::<NetworkInstance<'_>, _>(instance, others),
        ue: setting::<UeIpAddress, _>(ue, others),
        framed,
        qfis: setting::<Qfi, _>(qfis, others),
    })
}

/// The addresses as for packets from the access; a PDR of another source uses them as destinations.
fn addresses(ies: &Many<'_, UeIpAddress>) -> Result<EndpointUe, Reason> {
    let ue::Addresses { first, further, choice } = ue::addresses(ies.iter(), Interface::Access)?;
    Ok(EndpointUe { first, further, choice })
}
