//! Changes of rules on their way through the data plane.

use std::borrow::Cow;

use causeway_model::{Plan, RuleSet, Usage};
use causeway_pfcp::{CreatedPdr, CreatedTrafficEndpoint, UpdatedPdr, UsageReport};
use causeway_types::{Seid, UrrId, WallClock};

use super::{Change, ProfiledRules, RecognizedModification, delete};
use crate::{Leniency, Resources, StoredRules};

/// A planned change: its plan for the data plane, and what follows from its result.
#[derive(Debug)]
pub struct PlannedChange {
    /// The plan.
    pub plan: Plan,
    /// The rest.
    pub pending: PendingChange,
}

/// A change whose plan was submitted. If the data plane applies it, call [`PendingChange::commit`], otherwise
/// [`PendingChange::abandon`]: then nothing has changed. `held` in its methods are the session's rules before it.
#[must_use = "resources stay allocated until the change is committed or abandoned"]
#[derive(Debug)]
pub struct PendingChange(Form);

#[derive(Debug)]
enum Form {
    /// Any change of rules, with all its results.
    Full(Box<Change>),
    /// A new session of a known profile: its resources are taken.
    Install(ProfiledRules),
    /// A session of a known profile that has these rules then: its resources stay.
    Rebind(ProfiledRules),
    /// The end of a session of a known profile.
    Remove,
}

impl From<Change> for PlannedChange {
    fn from(mut change: Change) -> Self {
        let plan = Plan { session: change.plan.session, change: std::mem::take(&mut change.plan.change) };
        Self { plan, pending: PendingChange(Form::Full(Box::new(change))) }
    }
}

impl PlannedChange {
    /// A new session of a profile, with resources taken by [`Resources::take`].
    pub fn install(session: Seid, rules: ProfiledRules) -> Self {
        let plan = Plan { session, change: rules.to_session().into() };
        Self { plan, pending: PendingChange(Form::Install(rules)) }
    }

    /// A recognized modification.
    pub fn rebind(session: Seid, known: RecognizedModification) -> Self {
        let RecognizedModification { transition, after, .. } = known;
        let plan = Plan { session, change: transition.into() };
        Self { plan, pending: PendingChange(Form::Rebind(after)) }
    }

    /// The end of a session with these rules.
    pub fn removal(session: Seid, held: &StoredRules) -> Self {
        match held.profiled() {
            Some(_) => Self { plan: Plan::removal(session), pending: PendingChange(Form::Remove) },
            None => delete(&held.to_rules(), session).into(),
        }
    }
}

impl PendingChange {
    /// The rules after the change as a profile and parameters, if they are stored so.
    pub const fn profiled(&self) -> Option<&ProfiledRules> {
        match &self.0 {
            Form::Install(rules) | Form::Rebind(rules) => Some(rules),
            Form::Full(_) | Form::Remove => None,
        }
    }

    /// It is the end of a session that is stored as a profile and parameters.
    pub const fn is_profiled_removal(&self) -> bool {
        matches!(self.0, Form::Remove)
    }

    /// It is a recognized modification: the session keeps its URRs and resources, and chooses nothing.
    pub const fn is_rebinding(&self) -> bool {
        matches!(self.0, Form::Rebind(_))
    }

    /// The rules after the change. O(rules) if they are made on demand.
    pub fn rules(&self) -> Cow<'_, RuleSet> {
        match &self.0 {
            Form::Full(change) => Cow::Borrowed(change.session.rules()),
            Form::Install(rules) | Form::Rebind(rules) => Cow::Owned(rules.rules()),
            Form::Remove => Cow::Owned(RuleSet::default()),
        }
    }

    /// The session has a URR of this id after the change.
    pub fn has_urr(&self, urr: UrrId) -> bool {
        match &self.0 {
            Form::Full(change) => change.session.rules().urrs.contains_key(&urr),
            Form::Install(rules) | Form::Rebind(rules) => rules.has_urr(urr),
            Form::Remove => false,
        }
    }

    /// The ids of the URRs that the session has after the change.
    pub fn urrs(&self) -> Vec<UrrId> {
        match &self.0 {
            Form::Full(change) => change.session.rules().urrs.keys().copied().collect(),
            Form::Install(rules) | Form::Rebind(rules) => {
                rules.profile_rules().rules().urrs.keys().copied().collect()
            }
            Form::Remove => Vec::new(),
        }
    }

    /// The Created PDR IEs: the F-TEID and the UE address of each PDR that requested one with CHOOSE.
    pub fn created_pdrs(&self) -> Vec<CreatedPdr<'static>> {
        match &self.0 {
            Form::Full(change) => change.created_pdrs(),
            Form::Install(rules) => rules.created_pdrs(),
            Form::Rebind(_) | Form::Remove => Vec::new(),
        }
    }

    /// The Created Traffic Endpoint IEs.
    pub fn created_traffic_endpoints(&self) -> Vec<CreatedTrafficEndpoint<'static>> {
        self.full().map(Change::created_traffic_endpoints).unwrap_or_default()
    }

    /// The Updated PDR IEs.
    pub fn updated_pdrs(&self) -> Vec<UpdatedPdr<'static>> {
        self.full().map(Change::updated_pdrs).unwrap_or_default()
    }

    /// The tolerated deviations of the request.
    pub fn tolerated(&self) -> &[Leniency] {
        self.full().map_or(&[], |change| &change.tolerated)
    }

    /// The Usage Report IE of an earlier measurement, with wall clock times. Increments its sequence number.
    pub fn usage_report(
        &mut self,
        held: &mut StoredRules,
        usage: &Usage,
        clock: WallClock,
    ) -> UsageReport<'static> {
        match &mut self.0 {
            Form::Full(change) => change.session.usage_report(usage, clock),
            Form::Install(_) | Form::Rebind(_) | Form::Remove => held.usage_report(usage, clock),
        }
    }

    /// The Usage Report IEs of the measurements that the change yielded.
    pub fn usage_reports(
        &mut self,
        held: &mut StoredRules,
        usage: &[Usage],
        clock: WallClock,
    ) -> Vec<UsageReport<'static>> {
        match &mut self.0 {
            Form::Full(change) => change.usage_reports(usage, clock),
            _ => usage.iter().map(|usage| held.usage_report(usage, clock)).collect(),
        }
    }

    /// Releases the UE addresses that the session has after the change: it is replaced by another session.
    pub fn release_addresses(&self, session: Seid, resources: &mut Resources) {
        match &self.0 {
            Form::Full(change) => resources.release_addresses(session, &change.session),
            Form::Install(rules) | Form::Rebind(rules) => {
                resources.release_addresses_profiled(session, rules);
            }
            Form::Remove => {}
        }
    }

    /// The change is in force: `held` becomes the rules after it, and the resources that it releases are free.
    pub fn commit(self, session: Seid, held: &mut StoredRules, resources: &mut Resources) {
        match self.0 {
            Form::Full(change) => {
                resources.commit(change.resources);
                *held = change.session.into();
            }
            Form::Install(rules) | Form::Rebind(rules) => held.set_profiled(rules),
            Form::Remove => PendingChange(Form::Remove).end(session, held, resources),
        }
    }

    /// The session with the rules `held` has ended: its resources are free.
    pub fn end(self, session: Seid, held: &StoredRules, resources: &mut Resources) {
        match (self.0, held.profiled()) {
            (Form::Full(change), _) => resources.commit(change.resources),
            (_, Some(profiled)) => resources.release(session, profiled, true),
            (_, None) => {}
        }
    }

    /// The change is not in force: the resources that it took are free.
    pub fn abandon(self, session: Seid, resources: &mut Resources) {
        match self.0 {
            Form::Full(change) => resources.abandon(change.resources),
            Form::Install(rules) => resources.release(session, &rules, false),
            Form::Rebind(_) | Form::Remove => {}
        }
    }

    fn full(&self) -> Option<&Change> {
        match &self.0 {
            Form::Full(change) => Some(change),
            Form::Install(_) | Form::Rebind(_) | Form::Remove => None,
        }
    }
}
