//! Checks of the steering of a FAR.

use causeway_model::{Forwarding, PduSessionType, PolicyName, Redirect};
use causeway_types::Interface;

use crate::rejection::refuse_if;
use crate::{Reason, ie};

use super::Context;

/// Policies exist, and the data plane supports the rest, for IP packets.
pub(super) fn check(
    forwarding: &Forwarding,
    kind: PduSessionType,
    context: &Context<'_>,
) -> Result<(), Reason> {
    let steering = &forwarding.steering;
    let able = |ability| ability && kind == PduSessionType::Ip;
    let redirects = steering.redirect.is_some() && !able(context.capabilities.redirection);
    refuse_if(redirects, ie::REDIRECT_INFORMATION, "redirection")?;
    let replaces = steering.replacement.is_some() && !able(context.capabilities.address_replacement);
    refuse_if(replaces, ie::IP_ADDRESS_AND_PORT_REPLACEMENT, "replacement of addresses and ports")?;
    check_enrichment(forwarding, able(context.capabilities.header_enrichment))?;
    check_policy(steering.policy.as_ref(), kind, context)
}

/// Only packets from the UE are enriched, so the destination cannot be the access (clause 8.2.67).
fn check_enrichment(forwarding: &Forwarding, is_able: bool) -> Result<(), Reason> {
    if forwarding.enrichment.is_empty() {
        return Ok(());
    }
    refuse_if(!is_able, ie::HEADER_ENRICHMENT, "header enrichment")?;
    let reason = "header enrichment of packets to the access";
    let to_ue = forwarding.destination == Interface::Access;
    if to_ue { Err(Reason::Incorrect { ie: ie::HEADER_ENRICHMENT, why: reason }) } else { Ok(()) }
}

/// The policy, if there is one, is configured.
pub(super) fn check_policy(
    name: Option<&PolicyName>,
    kind: PduSessionType,
    context: &Context<'_>,
) -> Result<(), Reason> {
    let Some(name) = name else { return Ok(()) };
    if context.endpoints.policy(name).is_none() {
        return Err(Reason::UnknownPolicy(name.clone()));
    }
    refuse_if(!context.capabilities.traffic_steering, ie::FORWARDING_POLICY, "forwarding policies")?;
    let frames = kind == PduSessionType::Ethernet;
    refuse_if(frames, ie::FORWARDING_POLICY, "forwarding policies for Ethernet frames")
}

/// HTTP requests are answered locally, so the FAR forwards no packet (clause 5.4.7).
pub(super) fn answers_http(forwarding: &Forwarding, context: &Context<'_>) -> bool {
    let by_policy = || {
        let policy = forwarding.steering.policy.as_ref().and_then(|name| context.endpoints.policy(name));
        policy.is_some_and(|policy| policy.answers_http)
    };
    match &forwarding.steering.redirect {
        Some(Redirect::Http(_)) => true,
        Some(Redirect::Destination(_)) => false,
        None => by_policy(),
    }
}
