//! What is kept of a session's rules while nothing happens to it.

use std::borrow::Cow;

use causeway_pfcp::UsageReport;
use causeway_types::{Seid, UrrId, WallClock};

use crate::change::{Change, delete};
use crate::session::ReportState;
use crate::{
    Alike, Ops, Plan, ResourceChange, Resources, RuleSet, SessionRules, SortedMap, Usage, plan_deletion,
};

/// The rules of a session, as small as they can be kept.
#[derive(Clone, Debug)]
pub struct Kept(Form);

#[derive(Clone, Debug)]
enum Form {
    /// No rules.
    Nothing,
    Whole(Box<SessionRules>),
    Alike {
        alike: Alike,
        /// How far the reports have come; empty: as far as when the session began.
        reports: SortedMap<UrrId, ReportState>,
    },
}

impl Default for Kept {
    /// No rules.
    fn default() -> Self {
        Self(Form::Nothing)
    }
}

impl From<SessionRules> for Kept {
    fn from(whole: SessionRules) -> Self {
        Self(Form::Whole(Box::new(whole)))
    }
}

impl From<Alike> for Kept {
    fn from(alike: Alike) -> Self {
        Self(Form::Alike { alike, reports: SortedMap::new() })
    }
}

impl Kept {
    /// All of it. O(rules) where it is made for the purpose.
    pub fn whole(&self) -> Cow<'_, SessionRules> {
        match &self.0 {
            Form::Nothing => Cow::Owned(SessionRules::default()),
            Form::Whole(whole) => Cow::Borrowed(whole),
            Form::Alike { alike, reports } => {
                let mut whole = alike.whole();
                if !reports.is_empty() {
                    whole.reports = reports.clone();
                }
                Cow::Owned(whole)
            }
        }
    }

    /// The rules as the data plane has them. O(rules) where they are made for the purpose.
    pub fn rules(&self) -> Cow<'_, RuleSet> {
        match &self.0 {
            Form::Nothing => Cow::Owned(RuleSet::default()),
            Form::Whole(whole) => Cow::Borrowed(whole.rules()),
            Form::Alike { alike, .. } => Cow::Owned(alike.rules()),
        }
    }

    /// What it has in common with others and what is its own, where it is kept so.
    pub fn alike(&self) -> Option<&Alike> {
        match &self.0 {
            Form::Nothing | Form::Whole(_) => None,
            Form::Alike { alike, .. } => Some(alike),
        }
    }

    /// It has become this; how far the reports have come is as before.
    pub fn become_alike(&mut self, after: Alike) {
        match &mut self.0 {
            Form::Alike { alike, .. } => *alike = after,
            Form::Nothing | Form::Whole(_) => *self = after.into(),
        }
    }

    /// A change that leaves it as it is.
    pub fn unchanged(&self, session: Seid) -> Change {
        let plan = Plan { session, ops: Ops::default() };
        Change::without_choices(self.whole().into_owned(), plan, ResourceChange::nothing(session))
    }

    /// It has a URR of this id.
    pub fn has_urr(&self, urr: UrrId) -> bool {
        match &self.0 {
            Form::Nothing => false,
            Form::Whole(whole) => whole.rules().urrs.contains_key(&urr),
            Form::Alike { alike, .. } => alike.common().rules().urrs.contains_key(&urr),
        }
    }

    /// The Usage Report IE of what the data plane measured, with times as the wall clock says them. Counts its sequence number (UR-SEQN), which begins at 0 for each
    /// URR.
    pub fn usage_report(&mut self, usage: &Usage, clock: WallClock) -> UsageReport<'static> {
        if matches!(self.0, Form::Nothing) {
            self.0 = Form::Whole(Box::default());
        }
        match &mut self.0 {
            Form::Nothing => SessionRules::default().usage_report(usage, clock),
            Form::Whole(whole) => whole.usage_report(usage, clock),
            Form::Alike { alike, reports } => {
                if reports.is_empty() {
                    reports.clone_from(&alike.common().reports);
                }
                SessionRules::usage_report_of(reports, usage, clock)
            }
        }
    }

    /// The sequence number (UR-SEQN) of the next report of a URR that it has or had.
    pub fn next_report(&self, urr: UrrId) -> Option<u32> {
        let reports = match &self.0 {
            Form::Nothing => return None,
            Form::Whole(whole) => &whole.reports,
            Form::Alike { alike, reports } if reports.is_empty() => &alike.common().reports,
            Form::Alike { reports, .. } => reports,
        };
        Some(reports.get(&urr)?.next)
    }

    /// The end of the session, as [`delete`] plans it.
    pub fn delete(&self, session: Seid) -> Change {
        match &self.0 {
            Form::Nothing => delete(&SessionRules::default(), session),
            Form::Whole(whole) => delete(whole, session),
            Form::Alike { alike, reports } => {
                let reports = if reports.is_empty() { &alike.common().reports } else { reports };
                let left = SessionRules { reports: reports.clone(), ..SessionRules::default() };
                let resources = ResourceChange::giving_back_of(session, alike);
                Change::without_choices(left, plan_deletion(session), resources)
            }
        }
    }

    /// Takes away the UE addresses of a session that ends in favour of another, before its end has come.
    pub fn disown(&self, session: Seid, resources: &mut Resources) {
        match &self.0 {
            Form::Nothing => {}
            Form::Whole(whole) => resources.disown(session, whole),
            Form::Alike { alike, .. } => resources.disown_alike(session, alike),
        }
    }
}
