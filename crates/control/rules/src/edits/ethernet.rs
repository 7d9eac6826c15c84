//! Ethernet Packet Filters that PDRs of both directions share (TS 29.244 clause 5.13.4).

use std::collections::BTreeMap;

use causeway_pfcp::{EthernetFilterId, Ie};
use causeway_types::PdrId;

use super::{Edits, PdrDraft, PdrUpdate};
use crate::{EthernetFilter, Pdr, Reason};

/// An Ethernet Packet Filter as a message has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum EthernetDraft {
    /// It is defined here; bidirectional if it has an id.
    Given(EthernetFilter),
    /// It is defined here under an id, without saying that it is bidirectional: a new definition of the
    /// bidirectional filter of that id if there is one, else a filter of this PDR alone.
    Changed(u32, EthernetFilter),
    /// The bidirectional filter of this id.
    Shared(u32),
}

/// The bidirectional filters of a session, by id. A filter lives as long as a PDR uses it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct SharedFilters(BTreeMap<u32, EthernetFilter>);

impl SharedFilters {
    /// Those there are, with what a message defines or defines anew.
    pub(super) fn new(pdrs: &BTreeMap<PdrId, Pdr>, edits: &Edits<PdrId, PdrDraft, PdrUpdate>) -> Self {
        let held = pdrs.values().flat_map(|pdr| &pdr.pdi.ethernet);
        let mut filters = Self(held.filter_map(|held| Some((held.shared?, held.clone()))).collect());
        let created = edits.create.iter().map(|draft| &draft.pdi);
        let updated = edits.update.iter().filter_map(|update| update.pdi.as_ref());
        for draft in created.chain(updated).flat_map(|pdi| &pdi.ethernet) {
            filters.define(draft);
        }
        filters
    }

    fn define(&mut self, draft: &EthernetDraft) {
        match draft {
            EthernetDraft::Given(filter) => {
                if let Some(id) = filter.shared {
                    self.0.insert(id, filter.clone());
                }
            }
            EthernetDraft::Changed(id, filter) => {
                if let Some(held) = self.0.get_mut(id) {
                    *held = EthernetFilter { shared: Some(*id), ..filter.clone() };
                }
            }
            EthernetDraft::Shared(_) => {}
        }
    }

    /// The filters of a PDI.
    ///
    /// # Errors
    /// [`Reason::Incorrect`] when a filter is only named, and no bidirectional one has its id.
    pub(super) fn resolve(&self, drafts: Vec<EthernetDraft>) -> Result<Vec<EthernetFilter>, Reason> {
        drafts.into_iter().map(|draft| self.one(draft)).collect()
    }

    fn one(&self, draft: EthernetDraft) -> Result<EthernetFilter, Reason> {
        let (id, filter) = match draft {
            EthernetDraft::Given(filter) => (filter.shared, Some(filter)),
            EthernetDraft::Changed(id, filter) => (Some(id), Some(filter)),
            EthernetDraft::Shared(id) => (Some(id), None),
        };
        let why = "no bidirectional Ethernet filter of the session has this id";
        let unknown = Reason::Incorrect { ie: EthernetFilterId::TYPE, why };
        id.and_then(|id| self.0.get(&id).cloned()).or(filter).ok_or(unknown)
    }

    /// Gives every PDR the definitions there are now.
    pub(super) fn spread(&self, pdrs: &mut BTreeMap<PdrId, Pdr>) {
        for filter in pdrs.values_mut().flat_map(|pdr| &mut pdr.pdi.ethernet) {
            if let Some(current) = filter.shared.and_then(|id| self.0.get(&id)) {
                *filter = current.clone();
            }
        }
    }
}
