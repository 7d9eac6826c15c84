//! From a request of the SMF to a change that the data plane can carry out, or a rejection.

mod profile;

use causeway_pfcp::{
    EthernetContextInformation, Ie, MacAddressesDetected, SessionEstablishmentRequest,
    SessionModificationRequest, SessionReportResponse,
};
use causeway_types::{FTeid, IpNet, PdrId, Seid};

pub(crate) use self::profile::TemplateCache;
#[cfg(any(test, feature = "testing"))]
pub(crate) use self::profile::from_plan;
pub use self::profile::{
    Policy, ProfileTransition, ProfiledSession, RecognizedRequest, Remote, SessionParams, SessionProfile,
};
use self::profile::{establish_profiled, insert as cache_template};
use crate::addresses::{AddressReservation, ClaimError, PrefixKind};
use crate::decode;
use crate::diff::{PlanOptions, plan_deletion, plan_establishment, plan_modification};
use crate::edits::{ChosenUes, EndpointId, Merged, RequestedChanges, Setting, merge};
use crate::rejection::refuse_if;
use crate::tunnels::Reservation;
use crate::validate::{Context, validate};
use crate::{
    Leniency, Pdr, PduSessionType, Plan, Reason, Rejection, ResourceChange, Resources, RuleSet, SessionRules,
    UeMac, ie, leniency,
};

/// A change of one session's rules, ready to be carried out.
///
/// Give `plan` to the data plane. If it carries the plan out, keep `session` and
/// [`Resources::commit`] `resources`; if it does not, [`Resources::abandon`] them: then nothing has changed.
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
    /// Who asked for a UE address of the UPF's choice, and what they have got.
    pub(crate) ues: ChosenUes,
    /// What is taken from and given back to [`Resources`].
    pub resources: ResourceChange,
    /// Goes back in the reports of URRs that were queried.
    pub(crate) query_reference: Option<u32>,
    /// What of the request is not as it should be.
    pub tolerated: Vec<Leniency>,
}

/// Plans the session that a request asks for. `session` is the UPF's own SEID for it.
///
/// # Errors
/// Why the request is not carried out; `resources` is as before.
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

/// What the UPF chose when it carried out this request, read from the session that it established: for the answer to a
/// repetition of the request. Changes nothing. What a later modification has removed is left out.
///
/// # Errors
/// The request is none that could have established a session.
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
    let plan = Plan { session, ops: crate::Ops::default() };
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

/// Plans the change that a request asks for of the session with the UPF's SEID `session`.
///
/// # Errors
/// Why the request is not carried out; `resources` is as before.
pub fn modify(
    old: &SessionRules,
    request: &SessionModificationRequest<'_>,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<Change, Rejection> {
    modify_with(old, decode::modification(request)?, session, context, resources)
}

/// What the SMF asks for in its answer to a report: packets to be dropped, a BAR to be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instructions(RequestedChanges);

impl Instructions {
    /// Reads what an answer asks for; `None` if that is nothing.
    ///
    /// # Errors
    /// The first IE that is wrong or not supported. There is no way to tell the SMF.
    pub fn of(response: &SessionReportResponse<'_>) -> Result<Option<Self>, Rejection> {
        let changes = decode::report_response(response)?;
        Ok((changes != RequestedChanges::default()).then_some(Self(changes)))
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
    resources: &mut Resources,
) -> Result<Change, Rejection> {
    modify_with(old, instructions.0.clone(), session, context, resources)
}

/// The end of a session: everything goes, and every URR reports.
pub fn delete(old: &SessionRules, session: Seid) -> Change {
    // What is still needed of it: how far the reports have come.
    let left = SessionRules { reports: old.reports.clone(), ..SessionRules::default() };
    Change::without_choices(left, plan_deletion(session), ResourceChange::releasing_all(session, old))
}

impl Change {
    /// The framed routes that the session gets by it.
    pub fn new_routes(&self) -> impl Iterator<Item = IpNet> {
        self.resources.addresses.routes()
    }

    /// How many framed routes it has then.
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
    let plan = plan_establishment(session, merged.session.rules());
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

/// Only an Ethernet session has MAC addresses, and none of them is a group's.
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

/// Buffering for longer needs a data plane that can, and a BAR that is there.
fn check_extended(changes: &RequestedChanges, context: &Context<'_>) -> Result<(), Rejection> {
    let Some(first) = changes.extended.first() else { return Ok(()) };
    let cannot = !context.capabilities.extended_buffering;
    refuse_if(cannot, ie::DL_BUFFERING_DURATION, "buffering for longer")
        .map_err(|reason| reason.of(first.bar))
}

fn take(
    old: &SessionRules,
    changes: RequestedChanges,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<(Merged, ResourceChange), Rejection> {
    let (mut tunnels, mut addresses) = resources.reserve(session);
    let Context { endpoints, capabilities, catalogue } = context;
    let mut merged =
        merge(old, changes, endpoints, capabilities, &catalogue.predefined, &mut tunnels, &mut addresses)?;
    validate(merged.session.rules(), context)?;
    let change = claim(session, old, &merged.session, tunnels, addresses)?;
    resources.recent.intern(&mut merged.session.rules, &old.rules);
    Ok((merged, change))
}

/// Takes the tunnels and addresses that a session has from now on and did not have before.
fn claim(
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
    // Last, so that whoever gives way for this session does so for one that is otherwise legal.
    let addresses = addresses
        .claim_changes(&old.addresses, &new.addresses)
        .map_err(|error| claim_rejection(error, new))?;
    Ok(ResourceChange { tunnels: tunnels.claim_changes(&held, &wanted), addresses })
}

fn claim_rejection(error: ClaimError, session: &SessionRules) -> Rejection {
    let (held, owners) = match error {
        ClaimError::InUse { held, owners } => (held, owners),
        ClaimError::TooMany { what, limit } => return Reason::TooMany { what, limit }.into(),
    };
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

/// The cause of a restoration that fails is one of its own.
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
