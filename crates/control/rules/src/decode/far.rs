//! Create FAR, Update FAR and the forwarding parameters in them.

use causeway_model::{ApplyAction, DeliveryStatus, Far, Forwarding, HttpField};
use causeway_pfcp::{
    ApplyAction as Flags, CreateFar, DestinationInterface, ForwardingParameters, HeaderEnrichment, Ie, Many,
    NetworkInstance, OuterHeaderCreation, SessionModificationFlags, TransportLevelMarking, UpdateFar,
    UpdateForwardingParameters,
};
use causeway_types::{BarId, Interface};

use super::ie_support::CheckSupport;
use super::{about, duplicate, ethernet, marking, not_predefined, redirect, setting, tunnel};
use crate::edits::{FarUpdate, ForwardingUpdate, Setting};
use crate::rejection::refuse_if;
use crate::{Reason, Rejection, ie};

pub(super) fn create(group: &CreateFar<'_>) -> Result<Far, Rejection> {
    about(group.far_id, || {
        group.refuse_unsupported()?;
        group.refuse_nulls()?;
        not_predefined(group.far_id.0, ie::FAR_ID)?;
        Ok(Far {
            id: group.far_id,
            action: action(group.apply_action)?,
            delivery_status: delivery_status(group.apply_action)?,
            forwarding: group.forwarding_parameters.as_ref().map(forwarding).transpose()?,
            duplicate: group.apply_action.contains(Flags::DUPL),
            duplicates: duplicate::all(&group.duplicating_parameters)?,
            bar: group.bar_id,
        })
    })
}

pub(super) fn update(group: &UpdateFar<'_>) -> Result<FarUpdate, Rejection> {
    about(group.far_id, || {
        group.refuse_unsupported()?;
        Ok(FarUpdate {
            id: group.far_id,
            action: group.apply_action.map(|flags| action(flags - DELIVERY_STATUS)).transpose()?,
            delivery_status: group.apply_action.map(delivery_status).transpose()?,
            duplicate: group.apply_action.map(|flags| flags.contains(Flags::DUPL)),
            forwarding: group.update_forwarding_parameters.as_ref().map(forwarding_update).transpose()?,
            duplicates: duplicate::updates(&group.update_duplicating_parameters)?,
            bar: setting::<BarId, _>(group.bar_id, &group.other),
        })
    })
}

/// The flags for reports of the downlink data delivery status.
const DELIVERY_STATUS: Flags = Flags::BDPN.union(Flags::DDPN);

/// BDPN only with BUFF, DDPN with BUFF or DROP (clause 8.2.26).
fn delivery_status(flags: Flags) -> Result<DeliveryStatus, Reason> {
    let is = |flag| flags.contains(flag);
    let status = DeliveryStatus { buffered: is(Flags::BDPN), discarded: is(Flags::DDPN) };
    let wrong =
        status.buffered && !is(Flags::BUFF) || status.discarded && !is(Flags::BUFF) && !is(Flags::DROP);
    let reason = "BDPN without BUFF, or DDPN without BUFF or DROP";
    if wrong { Err(Reason::Incorrect { ie: ie::APPLY_ACTION, why: reason }) } else { Ok(status) }
}

/// Exactly one of DROP, FORW and BUFF; NOCP with BUFF only. DUPL with any (clause 8.2.26).
fn action(flags: Flags) -> Result<ApplyAction, Reason> {
    let flags = flags - DELIVERY_STATUS - Flags::DUPL;
    let known = Flags::DROP | Flags::FORW | Flags::BUFF | Flags::NOCP;
    let what = "an action other than DROP, FORW, BUFF, NOCP and DUPL";
    refuse_if(!known.contains(flags), ie::APPLY_ACTION, what)?;
    if flags == Flags::DROP {
        Ok(ApplyAction::Drop)
    } else if flags == Flags::FORW {
        Ok(ApplyAction::Forward)
    } else if flags == Flags::BUFF {
        Ok(ApplyAction::Buffer { notify: false })
    } else if flags == Flags::BUFF | Flags::NOCP {
        Ok(ApplyAction::Buffer { notify: true })
    } else {
        let reason = "not exactly one of DROP, FORW and BUFF, or NOCP without BUFF";
        Err(Reason::Incorrect { ie: ie::APPLY_ACTION, why: reason })
    }
}

fn forwarding(group: &ForwardingParameters<'_>) -> Result<Forwarding, Reason> {
    group.refuse_unsupported()?;
    Ok(Forwarding {
        destination: destination(group.destination_interface)?,
        network_instance: group.network_instance.map(|instance| instance.to_owned()),
        outer: group.outer_header_creation.as_ref().map(tunnel::outer).transpose()?.flatten(),
        marking: group.transport_level_marking.map(|given| marking::tos(given.0)),
        vlan: group.outer_header_creation.as_ref().map(ethernet::tags).transpose()?.flatten(),
        proxying: ethernet::proxying(group.proxying),
        steering: redirect::steering(group)?,
        enrichment: header_fields(&group.header_enrichment)?,
    })
}

fn forwarding_update(group: &UpdateForwardingParameters<'_>) -> Result<ForwardingUpdate, Reason> {
    group.refuse_unsupported()?;
    let flags = group.flags.unwrap_or_default();
    let unsupported = flags - SessionModificationFlags::SNDEM;
    refuse_if(!unsupported.is_empty(), ie::SM_REQ_FLAGS, "a flag of the FAR other than SNDEM")?;
    let instance = group.network_instance.map(|instance| instance.to_owned());
    let marking = group.transport_level_marking.map(|given| marking::tos(given.0));
    let outer = match &group.outer_header_creation {
        Some(creation) => tunnel::outer(creation)?.map_or(Setting::Remove, Setting::Set),
        None => setting::<OuterHeaderCreation, _>(None, &group.other),
    };
    let vlan = match &group.outer_header_creation {
        Some(creation) => ethernet::tags(creation)?.map_or(Setting::Remove, Setting::Set),
        None => setting::<OuterHeaderCreation, _>(None, &group.other),
    };
    Ok(ForwardingUpdate {
        destination: group.destination_interface.map(destination).transpose()?,
        network_instance: setting::<NetworkInstance<'_>, _>(instance, &group.other),
        outer,
        marking: setting::<TransportLevelMarking, _>(marking, &group.other),
        vlan,
        steering: redirect::steering_update(group)?,
        enrichment: update_header_fields(group)?,
        end_marker: flags.contains(SessionModificationFlags::SNDEM),
    })
}

pub(super) fn destination(interface: DestinationInterface) -> Result<Interface, Reason> {
    match interface {
        DestinationInterface::Spare(_) => {
            let reason = "no release defines this interface";
            Err(Reason::Incorrect { ie: ie::DESTINATION_INTERFACE, why: reason })
        }
        _ => {
            let what = "forwarding to this interface";
            interface.interface().ok_or(Reason::Unsupported { ie: ie::DESTINATION_INTERFACE, what })
        }
    }
}

/// HTTP, the only header type (clause 8.2.67).
const HTTP: u8 = 0;

/// The fields, in the order of the message.
fn header_fields(ies: &Many<'_, HeaderEnrichment<'_>>) -> Result<Vec<HttpField>, Reason> {
    let fields = ies.iter().map(|ie| header_field(&ie)).collect::<Result<Vec<_>, _>>()?;
    let octets: usize = fields.iter().map(HttpField::line_len).sum();
    if octets > HttpField::MAX_LINES {
        incorrect("more than 1000 octets of header fields")
    } else {
        Ok(fields)
    }
}

/// New fields replace all existing ones; one of null length removes them.
fn update_header_fields(group: &UpdateForwardingParameters<'_>) -> Result<Setting<Vec<HttpField>>, Reason> {
    let fields = header_fields(&group.header_enrichment)?;
    Ok(setting::<HeaderEnrichment<'_>, _>(Some(fields).filter(|fields| !fields.is_empty()), &group.other))
}

fn header_field(ie: &HeaderEnrichment<'_>) -> Result<HttpField, Reason> {
    if ie.header_type != HTTP {
        return incorrect("a header type that no release defines");
    }
    HttpField::new(ie.name.0, ie.value.0).map_or_else(|| incorrect("not an HTTP field that may be added"), Ok)
}

fn incorrect<T>(reason: &'static str) -> Result<T, Reason> {
    Err(Reason::Incorrect { ie: HeaderEnrichment::TYPE, why: reason })
}
