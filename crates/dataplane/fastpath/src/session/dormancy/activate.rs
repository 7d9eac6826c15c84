//! Moves sessions between dormancy and the slow path.

use causeway_dataplane::{Applied, Dataplane, Op, Plan, Topology};
use causeway_model::{Far, ProfiledSession, SessionChange, SessionProfile};
use causeway_slowpath::lease::{Kept, MeasuredState};
use causeway_slowpath::path_of;
use causeway_types::{Seid, Time};

use crate::FastPath;
use crate::session::cold::Unreadable;
use crate::session::dormant::{Activated, DormancyCandidate, Paths, PriorState, SessionLocation, Sources};

/// The number of sessions that are tried at a time to become dormant again: one more may have become active.
const DORMANCY_ATTEMPTS: usize = 2;

impl FastPath {
    /// Limits the number of active sessions that could become dormant.
    #[must_use]
    pub fn with_max_active(mut self, most: usize) -> Self {
        self.active.limit(most);
        self
    }

    /// Activates a session if it is dormant: establishes it in the slow path as of its establishment time. Measurements
    /// of its packets are restored, and its flow entries continue.
    ///
    /// # Errors
    /// [`Unreadable`] when its state is in cold storage and cannot be read now; it is still dormant.
    pub(crate) fn activate(&mut self, seid: Seid, now: Time) -> Result<(), Unreadable> {
        let loaded = self.load(now, seid)?;
        self.activate_with(seid, now, loaded);
        Ok(())
    }

    /// The same with the state that was in cold storage. Packets that were held for it go on.
    pub(crate) fn activate_with(&mut self, seid: Seid, now: Time, loaded: Option<MeasuredState>) {
        let Some(Activated { since, profiled, paths, has_own_profile, prior }) = self.dormant.take(seid)
        else {
            return;
        };
        let was_cold = loaded.is_some();
        self.has_activated = true;
        let prior = prior.map(|prior| *prior).or(loaded.map(|measured| PriorState { lease: None, measured }));
        let lease = match prior {
            Some(PriorState { lease, measured }) => {
                self.slow_path.restore_session(now, seid, since, profiled.rules(), &measured);
                lease
            }
            None => {
                let change = profiled.clone().into();
                let done = self.slow_path.apply(since, &Plan { session: seid, change });
                debug_assert_eq!(done, Ok(Applied::default()));
                None
            }
        };
        self.update_paths(now, &paths, &Paths::default());
        match lease {
            Some(lease) => self.resume_lease(seid, lease),
            None => self.insert_session(seid, true, now),
        }
        let profiled = (!has_own_profile).then_some(profiled);
        self.active.add(seid, DormancyCandidate { since, active_at: now, profiled });
        if was_cold {
            self.release_held(seid, now);
        }
    }

    /// After a plan was applied: its session can become dormant with a profile that it has, or with one that is to be found by its rules.
    pub(crate) fn update_candidate(&mut self, now: Time, plan: &Plan) {
        match &plan.change {
            SessionChange::Update(ops) if ops.iter().all(|op| matches!(op, Op::QueryUrr(_))) => {}
            SessionChange::Install(session) => {
                let profiled = Some(session).filter(|session| self.dormant.has_profile(session)).cloned();
                self.active.add(plan.session, DormancyCandidate { since: now, active_at: now, profiled });
            }
            SessionChange::Rebind(transition) => {
                let profiled = self.active.get_mut(plan.session).and_then(|it| it.profiled.as_mut());
                profiled.into_iter().for_each(|profiled| *profiled = transition.after());
            }
            SessionChange::Update(_) => {
                self.active.get_mut(plan.session).into_iter().for_each(|it| it.profiled = None);
            }
            SessionChange::Remove => drop(self.active.remove(plan.session)),
        }
    }

    /// Makes sessions dormant again, longest active first, if too many are active.
    pub(crate) fn limit_active(&mut self, now: Time) {
        for _ in 0..DORMANCY_ATTEMPTS {
            let Some((seid, candidate)) = self.active.pop() else { break };
            if !self.make_dormant_again(now, seid, &candidate) {
                self.active.add(seid, candidate);
            }
        }
        self.move_all_out(now);
    }

    /// `false`: a timer or report is due, or the session has state that dormancy cannot keep.
    fn make_dormant_again(&mut self, now: Time, seid: Seid, candidate: &DormancyCandidate) -> bool {
        let since = candidate.since;
        let kept = Kept::Untimed;
        let Some(profiled) = self.profile_of_candidate(seid, candidate, kept) else { return false };
        let Some(entry) = self.dormancy_location(seid, &profiled) else { return false };
        let removed = self.slow_path.remove_for_dormancy(seid, since, now, kept);
        let Some(traces) = removed else { return false };
        let prior = PriorState { lease: self.detach_lease(seid), measured: traces };
        let paths = self.dormant.add(&entry, seid, since, &profiled, Some(Box::new(prior)));
        self.update_paths(now, &Paths::default(), &paths.unwrap_or_default());
        true
    }

    /// The profile of an active session, which is found or made if its rules have changed in an unknown way. `None`: its rules or its state
    /// are none that dormancy can keep, or there are too many profiles.
    pub(crate) fn profile_of_candidate(
        &mut self,
        seid: Seid,
        DormancyCandidate { since, profiled, .. }: &DormancyCandidate,
        kept: Kept,
    ) -> Option<ProfiledSession> {
        if let Some(profiled) = profiled {
            return Some(profiled.clone());
        }
        let has_little_state = self.slow_path.is_independent(seid)
            && self.slow_path.has_measured_state_alone(seid, *since, kept);
        let rules = self.slow_path.rules_of(seid).filter(|_| has_little_state)?;
        self.dormant.own_profile(rules, |profile| sources_of(profile, &self.topology))
    }

    /// Where an active session is among the dormant ones, if it can be one of them but for its state.
    pub(crate) fn dormancy_location(
        &mut self,
        seid: Seid,
        profiled: &ProfiledSession,
    ) -> Option<SessionLocation> {
        debug_assert_eq!(self.slow_path.rules_of(seid), Some(&profiled.rules()));
        let is_unknown = !self.dormant.has_profile(profiled) && !profiled.profile().has_fixed_prefix();
        if is_unknown && self.slow_path.is_independent(seid) {
            self.learn_dormant_profile(profiled);
        }
        let entry = self.dormant.entry(seid, profiled)?;
        let can =
            self.dormant.can_insert(&entry, profiled) && self.slow_path.overlapping_sessions(seid).is_empty();
        can.then_some(entry)
    }

    /// Stores the profile of a session that was just established, or changed while dormant, if such sessions can be
    /// dormant.
    pub(crate) fn learn_profile(&mut self, since: Time, plan: &Plan) {
        let profiled = match &plan.change {
            SessionChange::Install(session) => Some(session.clone()),
            SessionChange::Rebind(transition) => Some(transition.after()),
            SessionChange::Update(_) | SessionChange::Remove => None,
        };
        let Some(profiled) = profiled.filter(|profiled| !self.dormant.has_profile(profiled)) else { return };
        // Packets would not find a dormant session by an IPv6 prefix that is no parameter: such a session has an own profile.
        if profiled.profile().has_fixed_prefix() {
            return;
        }
        if self.slow_path.can_be_dormant(plan.session, since) {
            self.learn_dormant_profile(&profiled);
        }
    }

    fn learn_dormant_profile(&mut self, profiled: &ProfiledSession) {
        let sources = sources_of(profiled.profile(), &self.topology);
        self.dormant.learn(profiled, sources);
    }
}

/// The local source addresses of packets to the peers of a profile.
fn sources_of(profile: &SessionProfile, topology: &Topology) -> Sources {
    let source = |far: Option<&Far>| Some(path_of(far?, topology)?.0);
    let mut senders = profile.senders();
    let further = profile.further_senders().filter_map(|(far, number)| Some((source(far)?, number)));
    Sources { usual: [(); 2].map(|()| source(senders.next().flatten())), further: further.collect() }
}
