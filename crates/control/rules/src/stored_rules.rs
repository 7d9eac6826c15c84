//! The stored rules of a session between two changes.

use std::borrow::Cow;

use causeway_collections::SortedMap;
use causeway_model::{RuleSet, Usage};
use causeway_pfcp::UsageReport;
use causeway_types::{Seid, UrrId, WallClock};

use crate::session::ReportState;
use crate::{ProfiledRules, Resources, SessionRules};

/// The rules of a session in compact form.
#[derive(Clone, Debug)]
pub struct StoredRules(StoredForm);

#[derive(Clone, Debug)]
enum StoredForm {
    /// No rules.
    Empty,
    Full(Box<SessionRules>),
    Profiled {
        profiled: ProfiledRules,
        /// The state of the reports; empty: as at the session's establishment.
        reports: SortedMap<UrrId, ReportState>,
    },
}

impl Default for StoredRules {
    /// No rules.
    fn default() -> Self {
        Self(StoredForm::Empty)
    }
}

impl From<SessionRules> for StoredRules {
    fn from(whole: SessionRules) -> Self {
        Self(StoredForm::Full(Box::new(whole)))
    }
}

impl From<ProfiledRules> for StoredRules {
    fn from(profiled: ProfiledRules) -> Self {
        Self(StoredForm::Profiled { profiled, reports: SortedMap::new() })
    }
}

impl StoredRules {
    /// A session of a profile whose reports are in this state.
    pub(crate) fn restored(profiled: ProfiledRules, reports: SortedMap<UrrId, ReportState>) -> Self {
        let is_first = profiled.profile_rules().reports == reports;
        Self(StoredForm::Profiled { profiled, reports: if is_first { SortedMap::new() } else { reports } })
    }

    /// The complete rules. O(rules) if they are made on demand.
    pub fn to_rules(&self) -> Cow<'_, SessionRules> {
        match &self.0 {
            StoredForm::Empty => Cow::Owned(SessionRules::default()),
            StoredForm::Full(whole) => Cow::Borrowed(whole),
            StoredForm::Profiled { profiled, reports } => {
                let mut whole = profiled.to_rules();
                if !reports.is_empty() {
                    whole.reports = reports.clone();
                }
                Cow::Owned(whole)
            }
        }
    }

    /// The rules as the data plane has them. O(rules) if they are made on demand.
    pub fn rules(&self) -> Cow<'_, RuleSet> {
        match &self.0 {
            StoredForm::Empty => Cow::Owned(RuleSet::default()),
            StoredForm::Full(whole) => Cow::Borrowed(whole.rules()),
            StoredForm::Profiled { profiled, .. } => Cow::Owned(profiled.rules()),
        }
    }

    /// The profile and parameters, if the session is stored in that form.
    pub fn profiled(&self) -> Option<&ProfiledRules> {
        match &self.0 {
            StoredForm::Empty | StoredForm::Full(_) => None,
            StoredForm::Profiled { profiled, .. } => Some(profiled),
        }
    }

    /// Replaces the rules with these; the state of the reports stays.
    pub fn set_profiled(&mut self, after: ProfiledRules) {
        match &mut self.0 {
            StoredForm::Profiled { profiled, .. } => *profiled = after,
            StoredForm::Empty | StoredForm::Full(_) => *self = after.into(),
        }
    }

    /// The session has a URR of this id.
    pub fn has_urr(&self, urr: UrrId) -> bool {
        match &self.0 {
            StoredForm::Empty => false,
            StoredForm::Full(whole) => whole.rules().urrs.contains_key(&urr),
            StoredForm::Profiled { profiled, .. } => profiled.has_urr(urr),
        }
    }

    /// The ids of its URRs.
    pub fn urrs(&self) -> Vec<UrrId> {
        match &self.0 {
            StoredForm::Empty => Vec::new(),
            StoredForm::Full(whole) => whole.rules().urrs.keys().copied().collect(),
            StoredForm::Profiled { profiled, .. } => {
                profiled.profile_rules().rules().urrs.keys().copied().collect()
            }
        }
    }

    /// The Usage Report IE of a measurement of the data plane, with wall clock times. Increments its sequence
    /// number (UR-SEQN), which begins at 0 for each URR.
    pub fn usage_report(&mut self, usage: &Usage, clock: WallClock) -> UsageReport<'static> {
        if matches!(self.0, StoredForm::Empty) {
            self.0 = StoredForm::Full(Box::default());
        }
        match &mut self.0 {
            StoredForm::Empty => SessionRules::default().usage_report(usage, clock),
            StoredForm::Full(whole) => whole.usage_report(usage, clock),
            StoredForm::Profiled { profiled, reports } => {
                if reports.is_empty() {
                    reports.clone_from(&profiled.profile_rules().reports);
                }
                SessionRules::usage_report_of(reports, usage, clock)
            }
        }
    }

    /// The sequence number (UR-SEQN) of the next report of a URR that it has or had.
    pub fn next_report(&self, urr: UrrId) -> Option<u32> {
        let reports = match &self.0 {
            StoredForm::Empty => return None,
            StoredForm::Full(whole) => &whole.reports,
            StoredForm::Profiled { profiled, reports } if reports.is_empty() => {
                &profiled.profile_rules().reports
            }
            StoredForm::Profiled { reports, .. } => reports,
        };
        Some(reports.get(&urr)?.next)
    }

    /// Releases the UE addresses of a session that is replaced by another, before its end is complete.
    pub fn release_addresses(&self, session: Seid, resources: &mut Resources) {
        match &self.0 {
            StoredForm::Empty => {}
            StoredForm::Full(whole) => resources.release_addresses(session, whole),
            StoredForm::Profiled { profiled, .. } => resources.release_addresses_profiled(session, profiled),
        }
    }
}
