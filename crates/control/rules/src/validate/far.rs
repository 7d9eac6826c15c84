//! Checks of one FAR.

use causeway_model::{
    ApplyAction, CopyTo, DeliveryStatus, Duplicate, Far, Forwarding, OuterHeader, PduSessionType, RuleSet,
};
use causeway_types::Interface;

use crate::rejection::refuse_if;
use crate::{Reason, ie};

use super::{Context, ethernet, known, networks, outer, require, steering, unknown};

pub(super) fn check(far: &Far, rules: &RuleSet, context: &Context<'_>) -> Result<(), Reason> {
    let buffers = matches!(far.action, ApplyAction::Buffer { .. });
    refuse_if(buffers && !context.capabilities.buffering, ie::APPLY_ACTION, "buffering")?;
    let told = far.delivery_status != DeliveryStatus::NONE && !context.capabilities.delivery_status;
    refuse_if(told, ie::APPLY_ACTION, "the delivery status of downlink data")?;
    if let Some(bar) = far.bar.filter(|bar| !rules.bars.contains_key(bar)) {
        return Err(Reason::DanglingReference(bar.into()));
    }
    if let Some(forwarding) = &far.forwarding {
        check_forwarding(forwarding, rules.pdu_type, context)?;
        ethernet::check_forwarding(forwarding, rules.pdu_type, context)?;
    }
    check_duplicates(far, rules.pdu_type, context)?;
    match (far.action, &far.forwarding) {
        (ApplyAction::Forward, Some(forwarding)) => check_way_out(forwarding, rules.pdu_type, context),
        (ApplyAction::Forward, None) => require(false, ie::FORWARDING_PARAMETERS, "the FAR forwards"),
        _ => Ok(()),
    }
}

/// Checks that apply even while the FAR does not forward.
fn check_forwarding(
    forwarding: &Forwarding,
    kind: PduSessionType,
    context: &Context<'_>,
) -> Result<(), Reason> {
    let unsupported = forwarding.destination == Interface::VnInternal;
    refuse_if(unsupported, ie::DESTINATION_INTERFACE, "forwarding to this interface")?;
    let network = forwarding.network_instance.as_ref();
    known(network, kind, context)?;
    steering::check(forwarding, kind, context)?;
    let marks = forwarding.marking.is_some() && !context.capabilities.tos_marking;
    refuse_if(marks, ie::TRANSPORT_LEVEL_MARKING, "transport level marking")?;
    let to_network = matches!(forwarding.destination, Interface::Core | Interface::SgiLan);
    outer::check(forwarding.outer, kind, to_network, network, context)?;
    // A copy into such a tunnel steers no traffic.
    let is_over_n6 = forwarding.outer.and_then(OuterHeader::n6_peer).is_some();
    let unable = is_over_n6 && !context.capabilities.traffic_steering;
    refuse_if(unable, ie::OUTER_HEADER_CREATION, "tunnels over N6")
}

/// The access (N3) and the SMF (N4-u, clause 5.3.1) are reached through a tunnel; the core through a tunnel (N9) or
/// without one (N6). The tunnel of the access may be set later: until then packets to it are dropped.
fn check_way_out(forwarding: &Forwarding, kind: PduSessionType, context: &Context<'_>) -> Result<(), Reason> {
    outer::check_known(forwarding.outer, context)?;
    if matches!(forwarding.outer, Some(OuterHeader::Gtpu(_))) || steering::answers_http(forwarding, context) {
        return Ok(());
    }
    if forwarding.destination == Interface::Access {
        return Ok(());
    }
    let reason = "packets to the CP function need a tunnel";
    require(forwarding.destination != Interface::CpFunction, ie::OUTER_HEADER_CREATION, reason)?;
    match &forwarding.network_instance {
        Some(instance) if !networks(kind, context).contains(instance) => {
            Err(unknown(instance, kind, context))
        }
        None => {
            let nowhere = networks(kind, context).is_empty();
            refuse_if(nowhere, ie::DESTINATION_INTERFACE, "N6 without a data network for it")
        }
        Some(_) => Ok(()),
    }
}

/// Copies need a destination, and each destination must be reachable.
fn check_duplicates(far: &Far, kind: PduSessionType, context: &Context<'_>) -> Result<(), Reason> {
    refuse_if(far.duplicate && !context.capabilities.duplication, ie::APPLY_ACTION, "duplication")?;
    let there = !far.duplicate || !far.duplicates.is_empty();
    require(there, ie::DUPLICATING_PARAMETERS, "the FAR duplicates")?;
    far.duplicates.iter().try_for_each(|duplicate| check_duplicate(duplicate, far.duplicate, kind, context))
}

/// Without a tunnel only a data network can be reached.
fn check_duplicate(
    duplicate: &Duplicate,
    used: bool,
    kind: PduSessionType,
    context: &Context<'_>,
) -> Result<(), Reason> {
    let unsupported = duplicate.destination == CopyTo::Side(Interface::VnInternal);
    refuse_if(unsupported, ie::DESTINATION_INTERFACE, "copies to this interface")?;
    let to_network = matches!(duplicate.destination, CopyTo::Side(Interface::Core | Interface::SgiLan));
    steering::check_policy(duplicate.policy.as_ref(), kind, context)?;
    outer::check(duplicate.outer, kind, to_network, None, context)?;
    if !used {
        return Ok(());
    }
    outer::check_known(duplicate.outer, context)?;
    if duplicate.outer.is_some() {
        return Ok(());
    }
    require(to_network, ie::OUTER_HEADER_CREATION, "copies to this interface need a tunnel")?;
    let nowhere = networks(kind, context).is_empty();
    refuse_if(nowhere, ie::DESTINATION_INTERFACE, "N6 without a data network for it")
}
