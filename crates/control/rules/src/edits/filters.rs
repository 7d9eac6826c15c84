//! Bidirectional SDF filters: one definition for all PDRs of a session that refer to it (TS 29.244 clause
//! 5.2.1A.3).

use std::collections::BTreeMap;

use causeway_types::PdrId;

use crate::{Reason, Rejection, ie};
use causeway_model::{Pdr, RuleMap, SdfFilter};

use super::{EthernetDraft, PdiDraft, RequestedChanges};

/// An SDF filter of a PDI.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FilterDraft {
    /// A definition.
    Defined(SdfFilter),
    /// A reference to a bidirectional filter by its SDF Filter ID.
    Named(u32),
}

/// The bidirectional filters of a session by SDF Filter ID.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Definitions {
    /// The definitions in the message.
    new: BTreeMap<u32, SdfFilter>,
    /// The existing definitions of PDRs.
    held: BTreeMap<u32, SdfFilter>,
}

impl Definitions {
    /// # Errors
    /// [`Reason::Incorrect`] if the message defines one filter in two ways.
    pub(super) fn of(changes: &RequestedChanges, current: &RuleMap<PdrId, Pdr>) -> Result<Self, Rejection> {
        let mut new = BTreeMap::new();
        let created = changes.pdrs.create.iter().map(|pdr| (pdr.id, &pdr.pdi));
        let updated = changes.pdrs.update.iter().filter_map(|pdr| Some((pdr.id, pdr.pdi.as_ref()?)));
        for (id, pdi) in created.chain(updated) {
            define(pdi, &mut new).map_err(|reason| reason.of(id))?;
        }
        let inside = current.values().flat_map(|pdr| &pdr.pdi.ethernet).flat_map(|filter| &filter.flows);
        let filters = current.values().flat_map(|pdr| &pdr.pdi.filters).chain(inside);
        let current = filters.filter_map(|filter| Some((filter.id?, filter.clone()))).collect();
        Ok(Self { new, held: current })
    }

    /// The filters of a PDI, with references resolved.
    ///
    /// # Errors
    /// [`Reason::Incorrect`] for a reference without a definition.
    pub(super) fn resolve(&self, drafts: Vec<FilterDraft>) -> Result<Vec<SdfFilter>, Reason> {
        let reason = "no SDF filter of the session has this SDF Filter ID";
        let unknown = Reason::Incorrect { ie: ie::SDF_FILTER, why: reason };
        let resolve = |draft| match draft {
            FilterDraft::Defined(filter) => Ok(filter),
            FilterDraft::Named(id) => {
                self.new.get(&id).or_else(|| self.held.get(&id)).cloned().ok_or(unknown.clone())
            }
        };
        // The drafts have spare capacity, which sessions would keep.
        let mut filters: Vec<_> = drafts.into_iter().map(resolve).collect::<Result<_, _>>()?;
        filters.shrink_to_fit();
        Ok(filters)
    }

    /// Updates every PDR that refers to a filter to its new definition.
    pub(super) fn apply_to_pdrs(&self, pdrs: &mut RuleMap<PdrId, Pdr>) {
        let is_new = |filter: &SdfFilter| filter.id.is_some_and(|id| self.new.contains_key(&id));
        let concerns = |pdr: &Pdr| {
            let inside = pdr.pdi.ethernet.iter().flat_map(|filter| &filter.flows);
            pdr.pdi.filters.iter().chain(inside).any(is_new)
        };
        pdrs.change(concerns, |Pdr { pdi, .. }| {
            let inside = pdi.ethernet.iter_mut().flat_map(|filter| &mut filter.flows);
            pdi.filters.iter_mut().chain(inside).for_each(|filter| self.update_filter(filter));
        });
    }

    fn update_filter(&self, filter: &mut SdfFilter) {
        if let Some(new) = filter.id.and_then(|id| self.new.get(&id)) {
            *filter = new.clone();
        }
    }
}

fn define(pdi: &PdiDraft, into: &mut BTreeMap<u32, SdfFilter>) -> Result<(), Reason> {
    let inside = pdi.ethernet.iter().flat_map(EthernetDraft::flows);
    for draft in pdi.filters.iter().chain(inside) {
        if let FilterDraft::Defined(filter) = draft
            && let Some(id) = filter.id
            && into.insert(id, filter.clone()).is_some_and(|other| other != *filter)
        {
            let reason = "the message defines the SDF Filter ID twice";
            return Err(Reason::Incorrect { ie: ie::SDF_FILTER, why: reason });
        }
    }
    Ok(())
}
