//! Ethernet Packet Filters that PDRs of both directions share (TS 29.244 clause 5.13.4).

use std::collections::BTreeMap;

use causeway_model::{EthernetFilter, Pdr, RuleMap};
use causeway_pfcp::{EthernetFilterId, Ie};
use causeway_types::PdrId;

use super::filters::Definitions;
use super::{FilterDraft, PdiDraft, RequestedChanges};
use crate::{Reason, Rejection};

/// An Ethernet Packet Filter of a message; its flows are not resolved yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum EthernetDraft {
    /// A definition; bidirectional if it has an id.
    Given(EthernetFilter, Vec<FilterDraft>),
    /// A definition with an id but without the bidirectional flag: a new definition of the bidirectional filter of
    /// that id if there is one, otherwise a filter of this PDR alone.
    Changed(u32, EthernetFilter, Vec<FilterDraft>),
    /// The bidirectional filter of this id.
    Shared(u32),
}

impl EthernetDraft {
    /// The SDF filters inside it.
    pub(super) fn flows(&self) -> &[FilterDraft] {
        match self {
            Self::Given(_, flows) | Self::Changed(_, _, flows) => flows,
            Self::Shared(_) => &[],
        }
    }
}

/// The bidirectional filters of a session, by id. A filter exists as long as a PDR uses it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SharedFilters(BTreeMap<u32, EthernetFilter>);

impl SharedFilters {
    /// The filters of the PDRs, with the definitions of a message.
    ///
    /// # Errors
    /// [`Reason::Incorrect`] if the message defines one filter in two ways.
    pub(super) fn of(
        changes: &RequestedChanges,
        current: &RuleMap<PdrId, Pdr>,
        definitions: &Definitions,
    ) -> Result<Self, Rejection> {
        let current = current.values().flat_map(|pdr| &pdr.pdi.ethernet);
        let current = current.filter_map(|current| Some((current.shared?, current.clone()))).collect();
        let (mut filters, mut seen) = (Self(current), BTreeMap::new());
        let created = changes.pdrs.create.iter().map(|pdr| (pdr.id, &pdr.pdi));
        let updated = changes.pdrs.update.iter().filter_map(|pdr| Some((pdr.id, pdr.pdi.as_ref()?)));
        for (id, pdi) in created.chain(updated) {
            filters.define(pdi, definitions, &mut seen).map_err(|reason| reason.of(id))?;
        }
        Ok(filters)
    }

    fn define(
        &mut self,
        pdi: &PdiDraft,
        definitions: &Definitions,
        seen: &mut BTreeMap<u32, EthernetFilter>,
    ) -> Result<(), Reason> {
        for draft in &pdi.ethernet {
            let (id, filter, flows) = match draft {
                EthernetDraft::Given(filter, flows) => (filter.shared, filter, flows),
                EthernetDraft::Changed(id, filter, flows) => {
                    (Some(*id).filter(|id| self.0.contains_key(id)), filter, flows)
                }
                EthernetDraft::Shared(_) => continue,
            };
            let Some(id) = id else { continue };
            let flows = definitions.resolve(flows.clone())?;
            let filter = EthernetFilter { shared: Some(id), flows, ..filter.clone() };
            if seen.insert(id, filter.clone()).is_some_and(|other| other != filter) {
                let reason = "the message defines the Ethernet Filter ID twice";
                return Err(Reason::Incorrect { ie: EthernetFilterId::TYPE, why: reason });
            }
            self.0.insert(id, filter);
        }
        Ok(())
    }

    /// The filters of a PDI.
    ///
    /// # Errors
    /// [`Reason::Incorrect`] if a filter refers to an id without a bidirectional filter.
    pub(super) fn resolve(
        &self,
        drafts: Vec<EthernetDraft>,
        definitions: &Definitions,
    ) -> Result<Vec<EthernetFilter>, Reason> {
        drafts.into_iter().map(|draft| self.one(draft, definitions)).collect()
    }

    fn one(&self, draft: EthernetDraft, definitions: &Definitions) -> Result<EthernetFilter, Reason> {
        let (id, filter, flows) = match draft {
            EthernetDraft::Given(filter, flows) => (filter.shared, Some(filter), flows),
            EthernetDraft::Changed(id, filter, flows) => (Some(id), Some(filter), flows),
            EthernetDraft::Shared(id) => (Some(id), None, Vec::new()),
        };
        if let Some(shared) = id.and_then(|id| self.0.get(&id)) {
            return Ok(shared.clone());
        }
        let reason = "no bidirectional Ethernet filter of the session has this id";
        let filter = filter.ok_or(Reason::Incorrect { ie: EthernetFilterId::TYPE, why: reason })?;
        Ok(EthernetFilter { flows: definitions.resolve(flows)?, ..filter })
    }

    /// Updates every PDR to the current definitions.
    pub(super) fn apply_to_pdrs(&self, pdrs: &mut RuleMap<PdrId, Pdr>) {
        let current = |filter: &EthernetFilter| filter.shared.and_then(|id| self.0.get(&id));
        let is_old = |filter: &EthernetFilter| current(filter).is_some_and(|current| current != filter);
        let concerns = |pdr: &Pdr| pdr.pdi.ethernet.iter().any(is_old);
        pdrs.change(concerns, |pdr| {
            for filter in &mut pdr.pdi.ethernet {
                if let Some(current) = current(filter) {
                    *filter = current.clone();
                }
            }
        });
    }
}
