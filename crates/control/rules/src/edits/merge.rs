//! Applies changes to the existing rules.

use std::collections::BTreeSet;

use causeway_collections::SortedSet;
use causeway_model::{
    Activated, Capabilities, LocalEndpoints, OuterHeader, Pdr, PredefinedRules, Qer, RuleId, RuleMap, RuleSet,
};
use causeway_types::{FTeid, FarId, PdrId};

use crate::addresses::AddressReservation;
use crate::catalogue::activate;
use crate::session::ReportState;
use crate::tunnels::Reservation;
use crate::{Reason, Rejection, SessionRules, ie};

use super::Measuring;
use super::ethernet::SharedFilters;
use super::filters::Definitions;
use super::resolve::{Resolver, matching_removal};
use super::ue::{ChosenUes, UeResolver, home_network, only_network};
use super::{
    Edits, EndpointId, FarUpdate, HasRuleId, PdrDraft, PdrUpdate, RequestedChanges, endpoints as points,
    update, urr,
};

/// The session after the change, and the by-products of the change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Merged {
    pub(crate) session: SessionRules,
    /// The PDRs with a tunnel chosen by CHOOSE, in the order of the message.
    pub(crate) chosen: Vec<(PdrId, FTeid)>,
    /// The traffic endpoints with a tunnel chosen by CHOOSE, in the order of the message.
    pub(crate) chosen_endpoints: Vec<(EndpointId, FTeid)>,
    /// The UE addresses chosen by CHOOSE, in the order of the message.
    pub(crate) ues: ChosenUes,
    /// The old tunnels that are to be sent an End Marker, each once.
    pub(crate) end_markers: Vec<(FarId, FTeid)>,
}

/// Applies the changes to a copy of `old`. The result is not validated yet.
///
/// Removals come first: removal of a QER, URR or BAR also removes the references of other rules to it.
///
/// # Errors
/// If the changes do not fit the existing rules, or a tunnel cannot be chosen.
pub(crate) fn merge(
    old: &SessionRules,
    mut changes: RequestedChanges,
    endpoints: &LocalEndpoints,
    capabilities: &Capabilities,
    predefined: &PredefinedRules,
    reservation: &mut Reservation<'_>,
    addresses: &mut AddressReservation<'_>,
) -> Result<Merged, Rejection> {
    check(&changes, &old.rules)?;
    changes.endpoints.check(&old.endpoints)?;
    let mut session = old.clone();
    session.reports.retain(|urr, _| old.rules.urrs.contains_key(urr));
    remove(&mut session, &changes);
    let end_markers = end_markers(old, &changes.fars.update, capabilities)?;
    merge_session(&mut session, &changes);
    merge_simple(&mut session, &mut changes)?;
    claim_correlations(&mut session);
    changes.inactivity_timer.apply(&mut session.rules.inactivity_timer);
    // A handover changes the destination of packets, not their detection.
    if changes.pdrs.is_empty() && changes.endpoints.is_empty() {
        let (chosen, chosen_endpoints, ues) = (Vec::new(), Vec::new(), ChosenUes::default());
        return Ok(Merged { session, chosen, chosen_endpoints, ues, end_markers });
    }
    let filters = Definitions::of(&changes, &old.rules.pdrs)?;
    let frames = SharedFilters::of(&changes, &old.rules.pdrs, &filters)?;
    let mut choose_ids = std::mem::take(&mut session.choose_ids);
    let mut chosen_ues = std::mem::take(&mut session.chosen_ues);
    let home = home_network(&changes, &chosen_ues, endpoints, addresses);
    let network = only_network(&session, &changes, endpoints).filter(|_| reservation.follows_ues());
    let mut resolver = Resolver {
        network,
        endpoints,
        capabilities,
        reservation,
        choose_ids: &mut choose_ids,
        filters: &filters,
        predefined,
        frames: &frames,
        ues: UeResolver { endpoints, reservation: addresses, chosen: &mut chosen_ues, home },
    };
    let mut ues = ChosenUes::default();
    let chosen_endpoints = points::merge(&mut session, changes.endpoints, &mut resolver, &mut ues)?;
    let chosen = merge_pdrs(&mut session, changes.pdrs, &mut resolver, &mut ues)?;
    frames.apply_to_pdrs(&mut session.rules.pdrs);
    filters.apply_to_pdrs(&mut session.rules.pdrs);
    (session.choose_ids, session.chosen_ues) = (choose_ids, chosen_ues);
    session.discard_unused_choose_ids();
    session.sync_addresses(endpoints.networks.first());
    Ok(Merged { session, chosen, chosen_endpoints, ues, end_markers })
}

fn remove(session: &mut SessionRules, changes: &RequestedChanges) {
    let keeps_others = changes.fars.remove.is_empty()
        && changes.qers.remove.is_empty()
        && changes.urrs.remove.is_empty()
        && changes.bars.remove.is_empty();
    if keeps_others && changes.pdrs.remove.is_empty() && changes.endpoints.remove.is_empty() {
        return;
    }
    points::remove(session, &changes.endpoints.remove);
    let rules = &mut session.rules;
    rules.pdrs.retain(|id, _| !changes.pdrs.remove.contains(id));
    rules.fars.retain(|id, _| !changes.fars.remove.contains(id));
    rules.qers.retain(|id, _| !changes.qers.remove.contains(id));
    rules.urrs.retain(|id, _| !changes.urrs.remove.contains(id));
    rules.bars.retain(|id, _| !changes.bars.remove.contains(id));
    let (fars, bars) = (&changes.fars.remove, &changes.bars.remove);
    let (qers, urrs) = (&changes.qers.remove, &changes.urrs.remove);
    let names_gone = |pdr: &Pdr| {
        pdr.qers.iter().any(|id| qers.contains(id)) || pdr.urrs.iter().any(|id| urrs.contains(id))
    };
    rules.pdrs.change(names_gone, |pdr| {
        pdr.qers.retain(|id| !qers.contains(id));
        pdr.urrs.retain(|id| !urrs.contains(id));
    });
    rules.fars.change(|far| far.bar.is_some_and(|id| bars.contains(&id)), |far| far.bar = None);
    rules.urrs.change(
        |urr| urr.linked.iter().any(|id| urrs.contains(id)),
        |urr| urr.linked.retain(|id| !urrs.contains(id)),
    );
    rules.urrs.change(|urr| urr.quota_far.is_some_and(|id| fars.contains(&id)), |urr| urr.quota_far = None);
}

/// The tunnels for which SNDEM requests an End Marker: the old one of each FAR whose tunnel changes.
fn end_markers(
    old: &SessionRules,
    updates: &[FarUpdate],
    capabilities: &Capabilities,
) -> Result<Vec<(FarId, FTeid)>, Rejection> {
    let mut told = BTreeSet::new();
    let mut markers = Vec::new();
    for update in updates {
        let Some(forwarding) = update.forwarding.as_ref().filter(|forwarding| forwarding.end_marker) else {
            continue;
        };
        if !capabilities.end_marker {
            return Err(Reason::Unsupported { ie: ie::SM_REQ_FLAGS, what: "End Markers" }.of(update.id));
        }
        let current = old.rules.fars.get(&update.id).and_then(|far| far.forwarding.as_ref()?.outer);
        let mut outer = current;
        forwarding.outer.apply(&mut outer);
        let changed = current.filter(|_| current != outer).and_then(OuterHeader::tunnel);
        markers.extend(changed.filter(|tunnel| told.insert(*tunnel)).map(|tunnel| (update.id, tunnel)));
    }
    Ok(markers)
}

/// The changes to the session as a whole.
fn merge_session(session: &mut SessionRules, changes: &RequestedChanges) {
    session.established_by = changes.established_by.clone().or(session.established_by.take());
    session.rules.slice = changes.slice.or(session.rules.slice);
    if let Some(paging) = &changes.paging {
        session.rules.paging = paging.clone();
    }
}

/// QER Correlation IDs belong to the CP function that established the session.
fn claim_correlations(session: &mut SessionRules) {
    let owner = &session.established_by;
    let is_other = |qer: &Qer| qer.correlation.as_ref().is_some_and(|it| it.chosen_by != *owner);
    session.rules.qers.change(is_other, |qer| {
        qer.correlation.iter_mut().for_each(|correlation| correlation.chosen_by.clone_from(owner));
    });
}

/// All rules but PDRs: they need no resolution.
fn merge_simple(session: &mut SessionRules, changes: &mut RequestedChanges) -> Result<(), Rejection> {
    let rules = &mut session.rules;
    rules.fars.extend(std::mem::take(&mut changes.fars.create).into_iter().map(|far| (far.id, far)));
    rules.qers.extend(std::mem::take(&mut changes.qers.create).into_iter().map(|qer| (qer.id, qer)));
    rules.bars.extend(std::mem::take(&mut changes.bars.create).into_iter().map(|bar| (bar.id, bar)));
    for draft in &changes.urrs.create {
        let id = draft.urr.id;
        rules.urrs.insert(id, urr::create(draft).map_err(|reason| reason.of(id))?);
        let Measuring { packets, reduced_detection, .. } = draft.settings.measuring.unwrap_or_default();
        session.reports.insert(id, ReportState { packets, reduced_detection, ..ReportState::default() });
    }
    for change in &changes.fars.update {
        update::far(held(&mut rules.fars, change.id)?, change).map_err(|reason| reason.of(change.id))?;
    }
    for change in &changes.qers.update {
        update::qer(held(&mut rules.qers, change.id)?, change);
    }
    for change in &changes.bars.update {
        update::bar(held(&mut rules.bars, change.id)?, change);
    }
    for change in &changes.urrs.update {
        urr::update(held(&mut rules.urrs, change.id)?, change).map_err(|reason| reason.of(change.id))?;
        if let Some(measuring) = change.measuring {
            let state = session.reports.get_or_insert_with(change.id, ReportState::default);
            (state.packets, state.reduced_detection) = (measuring.packets, measuring.reduced_detection);
        }
    }
    Ok(())
}

fn merge_pdrs(
    session: &mut SessionRules,
    edits: Edits<PdrId, PdrDraft, PdrUpdate>,
    resolver: &mut Resolver<'_, '_, '_>,
    ues: &mut ChosenUes,
) -> Result<Vec<(PdrId, FTeid)>, Rejection> {
    let mut chosen = Vec::new();
    for draft in edits.create {
        let (id, is_choice, endpoint) = (draft.id, draft.pdi.is_choice(), draft.pdi.endpoint);
        let is_ue_choice = draft.pdi.ue_choice.is_some();
        let pdr = new_pdr(draft, resolver, session).map_err(|reason| reason.of(id))?;
        chosen.extend(pdr.pdi.tunnel.filter(|_| is_choice).map(|tunnel| (id, tunnel)));
        ues.created.extend(pdr.pdi.ue.filter(|_| is_ue_choice).map(|ue| (id, ue)));
        session.set_endpoint(id, endpoint);
        session.rules.pdrs.insert(id, pdr);
    }
    for change in edits.update {
        let id = change.id;
        let is_ue_choice = change.pdi.as_ref().is_some_and(|pdi| pdi.ue_choice.is_some());
        let refers = change.pdi.as_ref().filter(|pdi| !pdi.is_unrelated_to_session()).map(|pdi| pdi.endpoint);
        let pdr = held(&mut session.rules.pdrs, id)?;
        update::pdr(pdr, change, resolver, &session.endpoints).map_err(|reason| reason.of(id))?;
        ues.updated.extend(pdr.pdi.ue.filter(|_| is_ue_choice).map(|ue| (id, ue)));
        if let Some(endpoint) = refers {
            session.set_endpoint(id, endpoint);
        }
    }
    let pdrs = &session.rules.pdrs;
    session.endpoint_of.retain(|pdr, _| pdrs.contains_key(pdr));
    Ok(chosen)
}

fn new_pdr(
    draft: PdrDraft,
    resolver: &mut Resolver<'_, '_, '_>,
    session: &SessionRules,
) -> Result<Pdr, Reason> {
    let mut predefined = Activated::new();
    activate(resolver.predefined, &draft.activate, &mut predefined)?;
    let PdrDraft { id, precedence, pdi, removal, vlan_removal, far, qers, urrs, .. } = draft;
    let (active_from, active_until) = (draft.active_from, draft.active_until);
    let pdi = resolver.create(pdi, &session.endpoints)?;
    let removal = removal.map(|removal| matching_removal(removal, pdi.tunnel));
    Ok(Pdr {
        precedence,
        removal,
        vlan_removal,
        qers,
        urrs,
        predefined,
        active_from,
        active_until,
        ..Pdr::new(id, pdi, far)
    })
}

/// The rule to be updated. Its existence was checked before.
fn held<I: Copy + Ord + Into<RuleId>, R: Clone>(
    rules: &mut RuleMap<I, R>,
    id: I,
) -> Result<&mut R, Rejection> {
    rules.get_mut(&id).ok_or_else(|| Reason::RuleUnknown.of(id))
}

/// Checks changes against the existing rules: no duplicates, no new rule that exists, no change of one that does not.
///
/// # Errors
/// [`Reason::DuplicateRule`], [`Reason::RuleExists`] or [`Reason::RuleUnknown`], with the rule.
fn check(changes: &RequestedChanges, rules: &RuleSet) -> Result<(), Rejection> {
    check_kind(&changes.pdrs, &rules.pdrs)?;
    check_kind(&changes.fars, &rules.fars)?;
    check_kind(&changes.qers, &rules.qers)?;
    check_kind(&changes.urrs, &rules.urrs)?;
    check_kind(&changes.bars, &rules.bars)?;
    for qer in &changes.query_packet_rates {
        let current = rules.qers.get(qer).ok_or_else(|| Reason::RuleUnknown.of(*qer))?;
        if current.packet_rate.is_none() {
            let reason = "the QER limits no packet rate";
            return Err(Reason::Incorrect { ie: ie::QUERY_PACKET_RATE_STATUS, why: reason }.of(*qer));
        }
    }
    match changes.query.iter().find(|urr| !rules.urrs.contains_key(urr)) {
        Some(urr) => Err(Reason::RuleUnknown.of(*urr)),
        None => Ok(()),
    }
}

fn check_kind<C: HasRuleId, U: HasRuleId<Id = C::Id>, R>(
    edits: &Edits<C::Id, C, U>,
    current: &RuleMap<C::Id, R>,
) -> Result<(), Rejection> {
    let mut seen = SortedSet::new();
    let mut once = |id: C::Id| if seen.insert(id) { Ok(()) } else { Err(Reason::DuplicateRule.of(id)) };
    let known = |id: C::Id| if current.contains_key(&id) { Ok(()) } else { Err(Reason::RuleUnknown.of(id)) };
    for id in edits.remove.iter().copied().chain(edits.update.iter().map(HasRuleId::id)) {
        once(id)?;
        known(id)?;
    }
    for id in edits.create.iter().map(HasRuleId::id) {
        once(id)?;
        if current.contains_key(&id) {
            return Err(Reason::RuleExists.of(id));
        }
    }
    Ok(())
}
