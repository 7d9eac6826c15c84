//! Validates a rule set as a whole.

mod ethernet;
mod far;
mod limits;
mod outer;
mod pdr;
mod qer;
mod routes;
mod steering;
mod urr;

use causeway_model::{Capabilities, LocalEndpoints, RuleSet};
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
    limits::check(rules, context.capabilities)?;
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

fn known(instance: Option<&NetworkInstance>, context: &Context<'_>) -> Result<(), Reason> {
    match instance.filter(|instance| !context.endpoints.knows(instance)) {
        Some(unknown) => Err(Reason::UnknownNetworkInstance(unknown.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
