//! From a request of the SMF to a change that the data plane can carry out, or a rejection.

use causeway_pfcp::{SessionEstablishmentRequest, SessionModificationRequest, SessionReportResponse};
use causeway_types::{FTeid, PdrId, Seid};

use crate::decode;
use crate::diff::{Extras, plan_deletion, plan_establishment, plan_modification};
use crate::edits::{Changes, EndpointId, Merged, Setting, merge};
use crate::reject::refuse_if;
use crate::tunnels::Reservation;
use crate::validate::{Context, validate};
use crate::{Plan, Reason, Rejection, SessionRules, TunnelChange, Tunnels, ie};

/// A change of one session's rules, ready to be carried out.
///
/// Give `plan` to the data plane. If it carries the plan out, keep `session` and
/// [`Tunnels::commit`] `tunnels`; if it does not, [`Tunnels::abandon`] them: then nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The session as it will be.
    pub session: SessionRules,
    /// The writes.
    pub plan: Plan,
    /// The PDRs whose F-TEID the UPF chose, in the order of the request: the Created PDR IEs.
    pub chosen: Vec<(PdrId, FTeid)>,
    /// The traffic endpoints whose F-TEID the UPF chose, in the order of the request: the Created Traffic
    /// Endpoint IEs.
    pub(crate) chosen_endpoints: Vec<(EndpointId, FTeid)>,
    /// What is taken from and given back to [`Tunnels`].
    pub tunnels: TunnelChange,
    /// Goes back in the reports of URRs that were queried.
    pub(crate) query_reference: Option<u32>,
}

/// Plans the session that a request asks for. `session` is the UPF's own SEID for it.
///
/// # Errors
/// Why the request is not carried out; `tunnels` is as before.
pub fn establish(
    request: &SessionEstablishmentRequest<'_>,
    session: Seid,
    context: &Context<'_>,
    tunnels: &mut Tunnels,
) -> Result<Change, Rejection> {
    establish_with(decode::establishment(request)?, session, context, tunnels)
}

/// Plans the change that a request asks for of the session with the UPF's SEID `session`.
///
/// # Errors
/// Why the request is not carried out; `tunnels` is as before.
pub fn modify(
    old: &SessionRules,
    request: &SessionModificationRequest<'_>,
    session: Seid,
    context: &Context<'_>,
    tunnels: &mut Tunnels,
) -> Result<Change, Rejection> {
    modify_with(old, decode::modification(request)?, session, context, tunnels)
}

/// What the SMF asks for in its answer to a report: packets to be dropped, a BAR to be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instructions(Changes);

impl Instructions {
    /// Reads what an answer asks for; `None` if that is nothing.
    ///
    /// # Errors
    /// The first IE that is wrong or not supported. There is no way to tell the SMF.
    pub fn of(response: &SessionReportResponse<'_>) -> Result<Option<Self>, Rejection> {
        let changes = decode::report_response(response)?;
        Ok((changes != Changes::default()).then_some(Self(changes)))
    }
}

/// Plans what an answer to a report asks for.
///
/// # Errors
/// Why it is not carried out: there is no such BAR.
pub fn instruct(
    old: &SessionRules,
    instructions: &Instructions,
    session: Seid,
    context: &Context<'_>,
    tunnels: &mut Tunnels,
) -> Result<Change, Rejection> {
    modify_with(old, instructions.0.clone(), session, context, tunnels)
}

/// The end of a session: everything goes, and every URR reports.
pub fn delete(old: &SessionRules, session: Seid) -> Change {
    Change {
        session: old.clone(),
        plan: plan_deletion(session),
        chosen: Vec::new(),
        chosen_endpoints: Vec::new(),
        tunnels: TunnelChange::giving_back(session, &old.tunnels()),
        query_reference: None,
    }
}

pub(crate) fn establish_with(
    changes: Changes,
    session: Seid,
    context: &Context<'_>,
    tunnels: &mut Tunnels,
) -> Result<Change, Rejection> {
    let restoration = changes.restoration;
    let reservation = Reservation::new(tunnels, session);
    let taken = take(&SessionRules::of_type(changes.pdu_type), changes, context, reservation);
    let (merged, tunnels) =
        taken.map_err(|rejection| if restoration { not_restored(rejection) } else { rejection })?;
    let plan = plan_establishment(session, merged.session.rules());
    let Merged { session, chosen, chosen_endpoints, .. } = merged;
    Ok(Change { session, plan, chosen, chosen_endpoints, tunnels, query_reference: None })
}

pub(crate) fn modify_with(
    old: &SessionRules,
    changes: Changes,
    session: Seid,
    context: &Context<'_>,
    tunnels: &mut Tunnels,
) -> Result<Change, Rejection> {
    check_extended(&changes, context)?;
    let mut queries = changes.query.clone();
    if changes.query_all {
        queries.extend(old.rules().urrs.keys());
    }
    let instructed = changes.fars.update.iter().filter(|update| update.action.is_some());
    let extras = Extras {
        instructed: instructed.map(|update| update.id).collect(),
        queries,
        renewed: changes.urrs.update.iter().map(|update| (update.id, update.renewed())).collect(),
        end_markers: Vec::new(),
        drop_buffered: changes.drop_buffered,
        extended: changes.extended.clone(),
        inactivity_timer: changes.inactivity_timer != Setting::Keep,
    };
    let query_reference = changes.query_reference;
    let reservation = Reservation::new(tunnels, session);
    let (merged, tunnels) = take(old, changes, context, reservation)?;
    let extras = Extras { end_markers: merged.end_markers, ..extras };
    let plan = plan_modification(session, old.rules(), merged.session.rules(), &extras);
    let Merged { session, chosen, chosen_endpoints, .. } = merged;
    Ok(Change { session, plan, chosen, chosen_endpoints, tunnels, query_reference })
}

/// Buffering for longer needs a data plane that can, and a BAR that is there.
fn check_extended(changes: &Changes, context: &Context<'_>) -> Result<(), Rejection> {
    let Some(first) = changes.extended.first() else { return Ok(()) };
    let cannot = !context.capabilities.extended_buffering;
    refuse_if(cannot, ie::DL_BUFFERING_DURATION, "buffering for longer")
        .map_err(|reason| reason.of(first.bar))
}

fn take(
    old: &SessionRules,
    changes: Changes,
    context: &Context<'_>,
    mut reservation: Reservation<'_>,
) -> Result<(Merged, TunnelChange), Rejection> {
    let merged = merge(old, changes, context.endpoints, context.capabilities, &mut reservation)?;
    validate(merged.session.rules(), context)?;
    let new = merged.session.tunnels();
    let change = reservation.keep(&old.tunnels(), &new).map_err(|tunnel| in_use(tunnel, &merged.session))?;
    Ok((merged, change))
}

fn in_use(tunnel: FTeid, session: &SessionRules) -> Rejection {
    let user = session.rules().pdrs.values().find(|pdr| pdr.pdi.tunnel == Some(tunnel));
    Rejection { rule: user.map(|pdr| pdr.id.into()), reason: Reason::TunnelInUse(tunnel) }
}

/// The cause of a restoration that fails is one of its own.
fn not_restored(rejection: Rejection) -> Rejection {
    match rejection.reason {
        Reason::ForeignTunnel(tunnel) | Reason::TunnelInUse(tunnel) => {
            Rejection { reason: Reason::NotRestorable(tunnel), ..rejection }
        }
        _ => rejection,
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
