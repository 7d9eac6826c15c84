//! Makes random changes fit the existing rules, so that most of them are legal.

use std::collections::BTreeSet;

use causeway_types::QerId;

use crate::SessionRules;
use crate::edits::{Edits, EndpointId, FilterDraft, HasRuleId, RequestedChanges, Setting};

/// Drops changes that contain a rule twice, create one that exists or change one that does not; references are set
/// to rules that will exist, if there are any.
pub(crate) fn fit(mut changes: RequestedChanges, session: &SessionRules) -> RequestedChanges {
    let rules = session.rules();
    fit_endpoints(&mut changes, session);
    let fars = fit_kind(&mut changes.fars, rules.fars.keys().copied().collect());
    let qers = fit_kind(&mut changes.qers, rules.qers.keys().copied().collect());
    let urrs = fit_kind(&mut changes.urrs, rules.urrs.keys().copied().collect());
    let bars = fit_kind(&mut changes.bars, rules.bars.keys().copied().collect());
    fit_kind(&mut changes.pdrs, rules.pdrs.keys().copied().collect());
    changes.query.retain(|urr| rules.urrs.contains_key(urr));
    let counts = |qer: &QerId| rules.qers.get(qer).is_some_and(|qer| qer.packet_rate.is_some());
    changes.query_packet_rates.retain(counts);
    changes.extended.retain(|extended| bars.contains(&extended.bar));
    let used: BTreeSet<_> = rules.pdrs.values().map(|pdr| pdr.far).collect();
    let orphans: Vec<_> = changes.fars.remove.iter().filter(|far| used.contains(far)).copied().collect();
    let gone = rules.pdrs.values().filter(|pdr| orphans.contains(&pdr.far)).map(|pdr| pdr.id);
    let by_endpoint =
        |pdr| session.endpoint_of.get(&pdr).is_some_and(|id| changes.endpoints.remove.contains(id));
    changes.pdrs.remove = gone.filter(|pdr| !by_endpoint(*pdr)).collect();
    changes.pdrs.update.retain(|update| !changes.pdrs.remove.contains(&update.id) && !by_endpoint(update.id));
    let nearest = |far| fars.range(far..).next().or(fars.first()).copied();
    for pdr in &mut changes.pdrs.create {
        pdr.far = nearest(pdr.far).unwrap_or(pdr.far);
        pdr.qers.retain(|qer| qers.contains(qer));
        pdr.urrs.retain(|urr| urrs.contains(urr));
    }
    for pdr in &mut changes.pdrs.update {
        pdr.far = pdr.far.and_then(nearest);
        pdr.qers = pdr.qers.take().filter(|list| list.iter().all(|qer| qers.contains(qer)));
        pdr.urrs = pdr.urrs.take().filter(|list| list.iter().all(|urr| urrs.contains(urr)));
    }
    for far in &mut changes.fars.create {
        far.bar = far.bar.filter(|bar| bars.contains(bar));
    }
    for far in &mut changes.fars.update {
        if matches!(&far.bar, Setting::Set(bar) if !bars.contains(bar)) {
            far.bar = Setting::Remove;
        }
    }
    changes
}

/// Endpoints are created, changed and referred to only if that is legal; filters have no ids.
fn fit_endpoints(changes: &mut RequestedChanges, session: &SessionRules) {
    let mut seen = BTreeSet::new();
    let held: BTreeSet<EndpointId> = session.endpoints.keys().copied().collect();
    let edits = &mut changes.endpoints;
    edits.remove.retain(|id| held.contains(id) && seen.insert(*id));
    edits.update.retain(|update| held.contains(&update.id) && seen.insert(update.id));
    edits.create.retain(|draft| !held.contains(&draft.id) && seen.insert(draft.id));
    let stays = |id: &EndpointId| {
        held.contains(id) && !edits.remove.contains(id) || edits.create.iter().any(|draft| draft.id == *id)
    };
    let created = changes.pdrs.create.iter_mut().map(|pdr| &mut pdr.pdi);
    let updated = changes.pdrs.update.iter_mut().filter_map(|pdr| pdr.pdi.as_mut());
    for pdi in created.chain(updated) {
        pdi.endpoint = pdi.endpoint.filter(stays);
        pdi.filters.retain(|filter| matches!(filter, FilterDraft::Defined(it) if it.id.is_none()));
    }
}

/// Fits one kind; returns the ids that will exist.
fn fit_kind<C: HasRuleId, U: HasRuleId<Id = C::Id>>(
    edits: &mut Edits<C::Id, C, U>,
    mut held: BTreeSet<C::Id>,
) -> BTreeSet<C::Id> {
    let mut seen = BTreeSet::new();
    edits.remove.retain(|id| held.contains(id) && seen.insert(*id));
    edits.update.retain(|update| held.contains(&update.id()) && seen.insert(update.id()));
    edits.create.retain(|rule| !held.contains(&rule.id()) && seen.insert(rule.id()));
    held.retain(|id| !edits.remove.contains(id));
    held.extend(edits.create.iter().map(HasRuleId::id));
    held
}
