//! Limits of a session.

use crate::{Reason, Rejection};
use causeway_model::{Capabilities, RuleSet};

/// Maximum numbers of QERs, and of URRs, of one PDR; each costs every packet.
const PER_PDR: usize = 16;

/// Maximum number of SDF filters of one PDR; a packet may be compared with each.
const FILTERS_PER_PDR: usize = 64;

/// Maximum number of further UE addresses and framed routes of one PDR; each is an entry in tables of the data
/// plane.
const ROUTES_PER_PDR: usize = 64;

/// Maximum number of additional monitoring times of one URR; each is one more report.
const TIMES_PER_URR: usize = 16;

/// Maximum number of FARs, QERs or URRs of a session, for each PDR that it may have.
const OTHERS_PER_PDR: usize = 2;

/// # Errors
/// [`Reason::TooMany`].
pub(super) fn check(rules: &RuleSet, capabilities: &Capabilities) -> Result<(), Rejection> {
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
