//! Validates a rule set as a whole.

mod ethernet;
mod far;
mod outer;
mod pdr;
mod qer;
mod routes;
mod steering;
mod urr;

use causeway_model::{Capabilities, LocalEndpoints, PduSessionType, RuleSet};
use causeway_types::NetworkInstance;

pub use routes::is_routable;

use crate::rejection::refuse_if;
use crate::{Catalogue, Reason, Rejection, ie};

/// The context of validation: the capabilities of the data plane, and its topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context<'a> {
    /// The capabilities of the data plane.
    pub capabilities: &'a Capabilities,
    /// The addresses and networks that rules may refer to.
    pub endpoints: &'a LocalEndpoints,
    /// The applications that rules may refer to.
    pub catalogue: &'a Catalogue,
}

/// Checks all rules of a session: every reference resolves, every packet that a PDR can match has a destination if
/// its FAR forwards, and the data plane supports all of it.
///
/// # Errors
/// The first rule that fails and why, URRs before FARs before PDRs.
pub fn validate(rules: &RuleSet, context: &Context<'_>) -> Result<(), Rejection> {
    check_limits(rules, context.capabilities)?;
    ethernet::check_type(rules.pdu_type, context)?;
    qer::check_paging(rules, context.capabilities)?;
    for bar in rules.bars.values() {
        let delayed = !bar.notification_delay.is_zero() && !context.capabilities.notification_delay;
        let what = "notification delay";
        refuse_if(delayed, ie::NOTIFICATION_DELAY, what).map_err(|reason| reason.of(bar.id))?;
    }
    let timed = rules.inactivity_timer.is_some() && !context.capabilities.inactivity_detection;
    refuse_if(timed, ie::USER_PLANE_INACTIVITY_TIMER, "inactivity detection")?;
    for qer in rules.qers.values() {
        qer::check(qer, context.capabilities).map_err(|reason| reason.of(qer.id))?;
    }
    for urr in rules.urrs.values() {
        urr::check(urr, rules, context.capabilities).map_err(|reason| reason.of(urr.id))?;
    }
    for far in rules.fars.values() {
        far::check(far, rules, context).map_err(|reason| reason.of(far.id))?;
    }
    for pdr in rules.pdrs.values() {
        pdr::check(pdr, rules, context).map_err(|reason| reason.of(pdr.id))?;
    }
    Ok(())
}

fn require(there: bool, ie: u16, reason: &'static str) -> Result<(), Reason> {
    if there { Ok(()) } else { Err(Reason::ConditionalMissing { ie, why: reason }) }
}

/// The network instance of a rule, if there is one, is configured.
fn known(
    instance: Option<&NetworkInstance>,
    kind: PduSessionType,
    context: &Context<'_>,
) -> Result<(), Reason> {
    match instance.filter(|instance| !context.endpoints.knows(instance)) {
        Some(instance) => Err(unknown(instance, kind, context)),
        None => Ok(()),
    }
}

/// The data networks for sessions of this type.
fn networks<'a>(kind: PduSessionType, context: &Context<'a>) -> &'a [NetworkInstance] {
    match kind {
        PduSessionType::Ip => &context.endpoints.networks,
        PduSessionType::Ethernet => &context.endpoints.ethernet,
    }
}

/// The refusal of a network instance that is no data network for sessions of this type.
fn unknown(instance: &NetworkInstance, kind: PduSessionType, context: &Context<'_>) -> Reason {
    let key = match kind {
        PduSessionType::Ip => "upf.session",
        PduSessionType::Ethernet => "upf.ethernet",
    };
    let there = networks(kind, context);
    let mut names: Vec<String> = there.iter().take(NAMES).map(ToString::to_string).collect();
    match there.len() {
        0 => names.push("none".into()),
        number if number > NAMES => names.push(format!("and {} more", number - NAMES)),
        _ => {}
    }
    Reason::UnknownNetworkInstance { instance: instance.clone(), key, known: names.join(", ").into() }
}

/// Maximum number of data networks that a refusal names.
const NAMES: usize = 8;

#[cfg(test)]
mod tests;

/// Maximum numbers of QERs, and of URRs, of one PDR; each costs every packet.
const PER_PDR: usize = 16;

/// Maximum number of SDF filters of one PDR; a packet may be compared with each.
const FILTERS_PER_PDR: usize = 64;

/// Maximum number of further UE addresses and framed routes of one PDR; each is an entry in tables of the data
/// plane.
const ROUTES_PER_PDR: usize = 64;

/// Maximum number of destinations of copies of one FAR; each costs every packet a copy.
const DUPLICATES_PER_FAR: usize = 8;

/// Maximum number of additional monitoring times of one URR; each is one more report.
const TIMES_PER_URR: usize = 16;

/// Maximum number of FARs, QERs or URRs of a session, for each PDR that it may have.
const OTHERS_PER_PDR: usize = 2;

/// # Errors
/// [`Reason::TooMany`].
fn check_limits(rules: &RuleSet, capabilities: &Capabilities) -> Result<(), Rejection> {
    let pdrs = usize::from(capabilities.max_pdrs_per_session);
    let others = pdrs * OTHERS_PER_PDR;
    at_most(rules.pdrs.len(), pdrs, "PDRs in the session")?;
    at_most(rules.fars.len(), others, "FARs in the session")?;
    at_most(rules.qers.len(), others, "QERs in the session")?;
    at_most(rules.urrs.len(), others, "URRs in the session")?;
    for urr in rules.urrs.values() {
        let filters = urr.exempted_filters.len();
        at_most(filters, FILTERS_PER_PDR, "SDF filters in the URR").map_err(|reason| reason.of(urr.id))?;
        let times = urr.additional_monitoring.len();
        at_most(times, TIMES_PER_URR, "monitoring times in the URR").map_err(|reason| reason.of(urr.id))?;
    }
    for far in rules.fars.values() {
        let copies = far.duplicates.len();
        let what = "Duplicating Parameters in the FAR";
        at_most(copies, DUPLICATES_PER_FAR, what).map_err(|reason| reason.of(far.id))?;
    }
    for pdr in rules.pdrs.values() {
        at_most(pdr.qers.len(), PER_PDR, "QERs in the PDR").map_err(|reason| reason.of(pdr.id))?;
        at_most(pdr.urrs.len(), PER_PDR, "URRs in the PDR").map_err(|reason| reason.of(pdr.id))?;
        let filters = pdr.pdi.filters.len();
        let routes = pdr.pdi.routes.len();
        at_most(routes, ROUTES_PER_PDR, "framed routes in the PDR").map_err(|reason| reason.of(pdr.id))?;
        at_most(filters, FILTERS_PER_PDR, "SDF filters in the PDR").map_err(|reason| reason.of(pdr.id))?;
        let frames = pdr.pdi.ethernet.iter().map(|filter| filter.flows.len().max(1)).sum();
        let what = "Ethernet filters in the PDR, each SDF filter of one counted";
        at_most(frames, FILTERS_PER_PDR, what).map_err(|reason| reason.of(pdr.id))?;
    }
    Ok(())
}

fn at_most(count: usize, limit: usize, what: &'static str) -> Result<(), Reason> {
    if count <= limit { Ok(()) } else { Err(Reason::TooMany { what, limit }) }
}
