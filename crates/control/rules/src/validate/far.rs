//! Checks of one FAR.

use causeway_types::{FTeid, Interface};

use crate::reject::refuse_if;
use crate::{ApplyAction, DeliveryStatus, Far, Forwarding, Reason, RuleSet, ie};

use super::{Context, known, require};

pub(super) fn check(far: &Far, rules: &RuleSet, context: &Context<'_>) -> Result<(), Reason> {
    let buffers = matches!(far.action, ApplyAction::Buffer { .. });
    refuse_if(buffers && !context.capabilities.buffering, ie::APPLY_ACTION, "buffering")?;
    let told = far.delivery_status != DeliveryStatus::NONE && !context.capabilities.delivery_status;
    refuse_if(told, ie::APPLY_ACTION, "the delivery status of downlink data")?;
    if let Some(bar) = far.bar.filter(|bar| !rules.bars.contains_key(bar)) {
        return Err(Reason::Dangling(bar.into()));
    }
    if let Some(forwarding) = &far.forwarding {
        check_forwarding(forwarding, context)?;
    }
    match (far.action, &far.forwarding) {
        (ApplyAction::Forward, Some(forwarding)) => check_way_out(forwarding, context),
        (ApplyAction::Forward, None) => require(false, ie::FORWARDING_PARAMETERS, "the FAR forwards"),
        _ => Ok(()),
    }
}

/// What holds even while the FAR does not forward.
fn check_forwarding(forwarding: &Forwarding, context: &Context<'_>) -> Result<(), Reason> {
    let unsupported = forwarding.destination == Interface::VnInternal;
    refuse_if(unsupported, ie::DESTINATION_INTERFACE, "forwarding to this interface")?;
    known(forwarding.network_instance.as_ref(), context)?;
    match forwarding.tunnel {
        Some(tunnel) => {
            let what = "a tunnel over an IP version that is not there";
            refuse_if(!is_reachable(tunnel, context), ie::OUTER_HEADER_CREATION, what)
        }
        None => Ok(()),
    }
}

fn is_reachable(tunnel: FTeid, context: &Context<'_>) -> bool {
    let can = |ip: std::net::IpAddr| {
        let able =
            if ip.is_ipv4() { context.capabilities.outer_ipv4 } else { context.capabilities.outer_ipv6 };
        able && context.endpoints.can_send_to(ip)
    };
    tunnel.addr.iter().any(can)
}

/// The access (N3) and the SMF (N4-u, clause 5.3.1) are reached through a tunnel; the core through a tunnel
/// (N9) or as it is (N6).
fn check_way_out(forwarding: &Forwarding, context: &Context<'_>) -> Result<(), Reason> {
    if forwarding.tunnel.is_some() {
        return Ok(());
    }
    let why = "packets to the access need a tunnel";
    require(forwarding.destination != Interface::Access, ie::OUTER_HEADER_CREATION, why)?;
    let why = "packets to the CP function need a tunnel";
    require(forwarding.destination != Interface::CpFunction, ie::OUTER_HEADER_CREATION, why)?;
    match &forwarding.network_instance {
        Some(instance) if !context.endpoints.is_network(instance) => {
            Err(Reason::UnknownNetworkInstance(instance.clone()))
        }
        None => {
            let nowhere = context.endpoints.networks.is_empty();
            refuse_if(nowhere, ie::DESTINATION_INTERFACE, "N6 without a data network")
        }
        Some(_) => Ok(()),
    }
}
