//! Turns a request of the SMF into a change for the data plane, or a rejection.

mod pending;
mod profile;

use causeway_model::{Pdr, PduSessionType, Plan, PlanOptions, RuleSet, UeMac, plan_modification};
use causeway_pfcp::{
    EthernetContextInformation, Ie, MacAddressesDetected, SessionEstablishmentRequest,
    SessionModificationRequest, SessionReportResponse,
};
use causeway_types::{FTeid, IpNet, PdrId, Seid};

pub use self::pending::{PendingChange, PlannedChange};
pub use self::profile::{ControlProfile, ProfiledRules, RecognizedModification, RecognizedRequest};
pub(crate) use self::profile::{RestoredProfiles, TemplateCache};
use self::profile::{establish_profiled, insert as cache_template};
use crate::addresses::{AddressReservation, ClaimError, PrefixKind};
use crate::decode;
use crate::edits::{ChosenUes, EndpointId, Merged, RequestedChanges, Setting, merge};
use crate::rejection::refuse_if;
use crate::tunnels::Reservation;
use crate::validate::{Context, validate};
use crate::{Leniency, Reason, Rejection, ResourceChange, Resources, SessionRules, ie, leniency};

/// A planned change of one session's rules.
///
/// Give `plan` to the data plane. If it succeeds, keep `session` and [`Resources::commit`] `resources`; if it
/// fails, [`Resources::abandon`] them: then nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The session after the change.
    pub session: SessionRules,
    /// The writes.
    pub plan: Plan,
    /// The PDRs whose F-TEID the UPF chose, in the order of the request: the Created PDR IEs.
    pub chosen: Vec<(PdrId, FTeid)>,
    /// The traffic endpoints whose F-TEID the UPF chose, in the order of the request: the Created Traffic
    /// Endpoint IEs.
    pub(crate) chosen_endpoints: Vec<(EndpointId, FTeid)>,
    /// The PDRs that requested a UE address of the UPF's choice, and the addresses chosen.
    pub(crate) ues: ChosenUes,
    /// The allocations and releases in [`Resources`].
    pub resources: ResourceChange,
    /// The Query URR Reference to return in the reports of the queried URRs.
    pub(crate) query_reference: Option<u32>,
    /// The tolerated deviations of the request.
    pub tolerated: Vec<Leniency>,
}

/// Plans the session that a request establishes. `session` is the UPF's own SEID for it.
///
/// # Errors
/// The rejection; `resources` is unchanged.
pub fn establish(
    request: &SessionEstablishmentRequest<'_>,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<Change, Rejection> {
    let candidate = match establish_profiled(request, session, context, resources) {
        Ok(change) => return Ok(change),
        Err(candidate) => candidate,
    };
    let change = establish_with(decode::establishment(request)?, session, context, resources)?;
    // Those with routes are few, and each has routes of its own.
    let has_routes = change.session.addresses.iter().any(|held| held.kind == PrefixKind::Route);
    if let Some(candidate) = candidate.filter(|_| !has_routes) {
        cache_template(candidate, &change, context, resources);
    }
    Ok(change)
}

/// The choices of the UPF for this request, read from the session that it established: for the response to a
/// repetition of the request. Changes nothing. Rules that a later modification removed are left out.
///
/// # Errors
/// The request cannot have established a session.
pub fn repeat_establishment(
    request: &SessionEstablishmentRequest<'_>,
    session: Seid,
    held: &SessionRules,
) -> Result<Change, Rejection> {
    let changes = decode::establishment(request)?;
    let pdr = |id| held.rules.pdrs.get(&id);
    let (pdrs, points) = (&changes.pdrs.create, &changes.endpoints.create);
    let chosen = pdrs.iter().filter(|draft| draft.pdi.is_choice());
    let ues = pdrs.iter().filter(|draft| draft.pdi.ue_choice.is_some());
    let ends = points.iter().filter(|draft| draft.is_choice());
    let end_ues = points.iter().filter(|draft| draft.rest.ue.choice.is_some());
    let plan = Plan::update(session, Vec::new());
    Ok(Change {
        chosen: chosen.filter_map(|draft| Some((draft.id, pdr(draft.id)?.pdi.tunnel?))).collect(),
        chosen_endpoints: ends
            .filter_map(|draft| Some((draft.id, held.endpoints.get(&draft.id)?.tunnel?)))
            .collect(),
        ues: ChosenUes {
            created: ues.filter_map(|draft| Some((draft.id, pdr(draft.id)?.pdi.ue?))).collect(),
            updated: Vec::new(),
            endpoints: end_ues
                .filter_map(|draft| Some((draft.id, held.endpoints.get(&draft.id)?.ue.first?)))
                .collect(),
        },
        ..Change::without_choices(held.clone(), plan, ResourceChange::empty(session))
    })
}

/// Plans a modification of the session with the UPF's SEID `session`.
///
/// # Errors
/// The rejection; `resources` is unchanged.
pub fn modify(
    old: &SessionRules,
    request: &SessionModificationRequest<'_>,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<Change, Rejection> {
    modify_with(old, decode::modification(request)?, session, context, resources)
}

/// The SMF's instructions in its response to a report: drop buffered packets, change a BAR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instructions(RequestedChanges);

impl Instructions {
    /// Reads the instructions of a response; `None` if it has none.
    ///
    /// # Errors
    /// The first IE that is wrong or not supported. PFCP has no message that reports it to the SMF.
    pub fn of(response: &SessionReportResponse<'_>) -> Result<Option<Self>, Rejection> {
        let changes = decode::report_response(response)?;
        Ok((changes != RequestedChanges::default()).then_some(Self(changes)))
    }
}

/// Plans the instructions of a response to a report.
///
/// # Errors
/// The rejection: there is no such BAR.
pub fn instruct(
    old: &SessionRules,
    instructions: &Instructions,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<Change, Rejection> {
    modify_with(old, instructions.0.clone(), session, context, resources)
}

/// The end of a session: all rules are removed, and every URR reports.
pub fn delete(old: &SessionRules, session: Seid) -> Change {
    // The final reports still need their sequence numbers.
    let left = SessionRules { reports: old.reports.clone(), ..SessionRules::default() };
    Change::without_choices(left, Plan::removal(session), ResourceChange::releasing_all(session, old))
}

impl Change {
    /// The framed routes that this change adds to the session.
    pub fn new_routes(&self) -> impl Iterator<Item = IpNet> {
        self.resources.addresses.routes()
    }

    /// The number of framed routes of the session after the change.
    pub fn routes(&self) -> usize {
        self.session.addresses.iter().filter(|held| held.kind == PrefixKind::Route).count()
    }

    pub(crate) fn without_choices(left: SessionRules, plan: Plan, resources: ResourceChange) -> Self {
        Self {
            session: left,
            plan,
            chosen: Vec::new(),
            chosen_endpoints: Vec::new(),
            ues: ChosenUes::default(),
            resources,
            query_reference: None,
            tolerated: Vec::new(),
        }
    }
}

pub(crate) fn establish_with(
    changes: RequestedChanges,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<Change, Rejection> {
    let restoration = changes.restoration;
    let empty = SessionRules::of_type(changes.pdu_type);
    let taken = take(&empty, changes, session, context, resources);
    let (merged, resources) =
        taken.map_err(|rejection| if restoration { not_restored(rejection) } else { rejection })?;
    let plan = Plan::install(session, merged.session.rules().clone());
    let Merged { session, chosen, chosen_endpoints, ues, .. } = merged;
    let tolerated = leniency::guarantees(&RuleSet::default(), session.rules());
    Ok(Change { session, plan, chosen, chosen_endpoints, ues, resources, query_reference: None, tolerated })
}

pub(crate) fn modify_with(
    old: &SessionRules,
    mut changes: RequestedChanges,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<Change, Rejection> {
    let mut tolerated = leniency::drop_absent_removals(&mut changes, old.rules());
    check_extended(&changes, context)?;
    check_macs(&changes.macs, old.rules().pdu_type)?;
    let mut queries = changes.query.clone();
    if changes.query_all {
        queries.extend(old.rules().urrs.keys());
    }
    let instructed = changes.fars.update.iter().filter(|update| update.action.is_some());
    let extras = PlanOptions {
        reissued: instructed.map(|update| update.id).collect(),
        queries,
        renewed: changes.urrs.update.iter().map(|update| (update.id, update.renewed())).collect(),
        packet_rates: changes.query_packet_rates.clone(),
        end_markers: Vec::new(),
        drop_buffered: changes.drop_buffered,
        extended: changes.extended.clone(),
        inactivity_timer: changes.inactivity_timer != Setting::Keep,
        macs: changes.macs.clone(),
    };
    let query_reference = changes.query_reference;
    let (merged, resources) = take(old, changes, session, context, resources)?;
    let extras = PlanOptions { end_markers: merged.end_markers, ..extras };
    let plan = plan_modification(session, old.rules(), merged.session.rules(), &extras);
    let Merged { session, chosen, chosen_endpoints, ues, .. } = merged;
    tolerated.extend(leniency::guarantees(old.rules(), session.rules()));
    Ok(Change { session, plan, chosen, chosen_endpoints, ues, resources, query_reference, tolerated })
}

/// Only an Ethernet session has MAC addresses, and all of them are unicast.
fn check_macs(macs: &[UeMac], kind: PduSessionType) -> Result<(), Reason> {
    if !macs.is_empty() && kind != PduSessionType::Ethernet {
        let reason = "the session carries IP packets";
        return Err(Reason::Incorrect { ie: EthernetContextInformation::TYPE, why: reason });
    }
    if macs.iter().any(|mac| mac.mac.is_multicast()) {
        let reason = "a group address behind a UE";
        return Err(Reason::Incorrect { ie: MacAddressesDetected::TYPE, why: reason });
    }
    Ok(())
}

/// Extended buffering requires a data plane with that capability, and an existing BAR.
fn check_extended(changes: &RequestedChanges, context: &Context<'_>) -> Result<(), Rejection> {
    let Some(first) = changes.extended.first() else { return Ok(()) };
    let cannot = !context.capabilities.extended_buffering;
    refuse_if(cannot, ie::DL_BUFFERING_DURATION, "extended buffering").map_err(|reason| reason.of(first.bar))
}

fn take(
    old: &SessionRules,
    changes: RequestedChanges,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<(Merged, ResourceChange), Rejection> {
    let Resources { claims, recent } = resources;
    let mut claims = claims.lock();
    let (mut tunnels, mut addresses) = claims.reserve(session);
    let Context { endpoints, capabilities, catalogue } = context;
    let mut merged =
        merge(old, changes, endpoints, capabilities, &catalogue.predefined, &mut tunnels, &mut addresses)?;
    validate(merged.session.rules(), context)?;
    let change = claim(session, old, &merged.session, tunnels, addresses)?;
    recent.intern(&mut merged.session.rules, &old.rules);
    Ok((merged, change))
}

/// Claims the tunnels and addresses that the change adds to the session.
pub(crate) fn claim(
    session: Seid,
    old: &SessionRules,
    new: &SessionRules,
    tunnels: Reservation<'_>,
    addresses: AddressReservation<'_>,
) -> Result<ResourceChange, Rejection> {
    if old.rules.pdrs == new.rules.pdrs && old.endpoints == new.endpoints && old.addresses == new.addresses {
        return Ok(ResourceChange::empty(session));
    }
    let (held, wanted) = (old.tunnels(), new.tunnels());
    tunnels.check(&held, &wanted).map_err(|tunnel| in_use(tunnel, new))?;
    // Last, so that a conflicting session is replaced only by one that is otherwise legal.
    let addresses = addresses
        .claim_changes(&old.addresses, &new.addresses)
        .map_err(|error| claim_rejection(error, new))?;
    Ok(ResourceChange { tunnels: tunnels.claim_changes(&held, &wanted), addresses })
}

fn claim_rejection(error: ClaimError, session: &SessionRules) -> Rejection {
    let (held, mut owners) = match error {
        ClaimError::InUse { held, owners } => (held, owners),
        ClaimError::TooMany { what, limit } => return Reason::TooMany { what, limit }.into(),
    };
    owners.rules = session.rules().clone();
    let has = |pdr: &&Pdr| pdr.pdi.tunnel.is_none() && pdr.pdi.ue_nets().any(|net| net.trunc() == held.net);
    let user = session.rules().pdrs.values().find(has);
    let ie = match (held.kind, held.net) {
        (PrefixKind::Ue, _) => ie::UE_IP_ADDRESS,
        (PrefixKind::Route, IpNet::V4(_)) => ie::FRAMED_ROUTE,
        (PrefixKind::Route, IpNet::V6(_)) => ie::FRAMED_IPV6_ROUTE,
    };
    let reason = Reason::AddressInUse { net: held.net, ie, owners, restored: false };
    Rejection { rule: user.map(|pdr| pdr.id.into()), reason }
}

fn in_use(tunnel: FTeid, session: &SessionRules) -> Rejection {
    let user = session.rules().pdrs.values().find(|pdr| pdr.pdi.tunnel == Some(tunnel));
    Rejection { rule: user.map(|pdr| pdr.id.into()), reason: Reason::TunnelInUse(tunnel) }
}

/// A restoration that fails has a cause of its own.
fn not_restored(rejection: Rejection) -> Rejection {
    match rejection.reason {
        Reason::NonLocalTunnel(tunnel) | Reason::TunnelInUse(tunnel) => {
            Rejection { reason: Reason::CannotRestore(tunnel), ..rejection }
        }
        Reason::AddressInUse { net, ie, owners, .. } => {
            Rejection { reason: Reason::AddressInUse { net, ie, owners, restored: true }, ..rejection }
        }
        _ => rejection,
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
