//! Plans: applied to a copy of the session, then committed.

use causeway_dataplane::{Applied, ApplyError, Plan};
use causeway_model::RuleSet;
use causeway_types::{Seid, Time};

use crate::apply_ops::{Effects, EndedTimer, apply_ops};
use crate::buffering_duration::ExtendedUntil;
use crate::engine::SlowPath;
use crate::session::Session;
use crate::timers::Timer;

impl SlowPath {
    /// Applies a plan without expiring timers first.
    pub(crate) fn apply_plan(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        let (session, effects) = self.preview(now, plan)?;
        self.commit(now, plan, session, &effects);
        Ok(Applied { usage: effects.usage, packet_rates: effects.packet_rates })
    }

    /// The session after the plan, and the plan's other effects.
    pub(crate) fn preview(&self, now: Time, plan: &Plan) -> Result<(Box<Session>, Effects), ApplyError> {
        let mut session = self.session_before(plan)?;
        let effects = apply_ops(&mut session, &self.shared, plan, now)?;
        self.check_capacity(plan, &session)?;
        self.check_macs(plan.session, &session, &effects.macs)?;
        Ok((session, effects))
    }

    fn check_capacity(&self, plan: &Plan, session: &Session) -> Result<(), ApplyError> {
        let (pdrs, capacity) = (session.rules.pdrs.len(), self.limits.max_pdrs_per_session);
        if pdrs > usize::from(capacity) {
            return Err(ApplyError::Full { table: "PDRs of the session", capacity: capacity.into() });
        }
        match self.index.conflict(plan.session, &session.rules) {
            Some(tunnel) => Err(ApplyError::TunnelInUse(tunnel)),
            None => Ok(()),
        }
    }

    /// The session that a plan starts from.
    fn session_before(&self, plan: &Plan) -> Result<Box<Session>, ApplyError> {
        match (self.sessions.get(&plan.session), plan.change.is_installation()) {
            (None, true) if self.sessions.len() >= self.limits.max_sessions as usize => {
                Err(ApplyError::Full { table: "sessions", capacity: self.limits.max_sessions.into() })
            }
            (None, true) => Ok(Box::default()),
            (Some(session), false) => Ok(session.clone()),
            (Some(_), true) => Err(ApplyError::SessionExists(plan.session)),
            (None, false) => Err(ApplyError::UnknownSession(plan.session)),
        }
    }

    /// Replaces the session with the changed one, for packets from now on.
    fn commit(&mut self, now: Time, plan: &Plan, session: Box<Session>, effects: &Effects) {
        let seid = plan.session;
        let old = self.sessions.insert(seid, session);
        let none = RuleSet::default();
        for ended in &effects.ended_timers {
            self.forget_timer(seid, *ended);
        }
        if let Some(old) = old.as_ref().filter(|old| !old.extended.is_empty()) {
            self.forget_extended(seid, old);
        }
        let old = old.as_ref().map_or(&none, |old| &old.rules);
        self.update_class(now, seid, effects.removed);
        if let Some(session) = self.sessions.get(&seid) {
            self.index.update(seid, old, &session.rules);
            self.shared.update(seid, old, &session.rules, now);
            self.paths.update(now, old, &session.rules, &self.topology);
        }
        for (tunnel, far) in &effects.end_markers {
            self.end(*tunnel, far.as_deref());
        }
        self.check_usage(now, seid);
        if effects.drop_buffered {
            self.drop_buffered(now, seid);
        }
        self.drain_buffer(now, seid);
        self.advertise_owed(now, seid);
        self.schedule_expiry(seid);
        self.schedule_inactivity(seid);
        self.take_macs(now, seid, &effects.macs);
        self.report_macs(now, seid);
        if effects.removed {
            self.stations.forget(seid);
            self.neighbours.forget(seid);
            if let Some(removed) = self.sessions.remove(&seid) {
                self.timers.forget(seid, &removed);
            }
        }
        self.counters.sessions = self.sessions.len() as u64;
    }

    fn forget_timer(&mut self, seid: Seid, ended: EndedTimer) {
        match ended {
            EndedTimer::Inactivity(at) => self.timers.remove(at, seid, Timer::Inactivity),
            EndedTimer::Urr(id, set) => self.timers.forget_urr(seid, id, set),
        }
    }

    /// Extended buffering has ended, or ends at another time than before.
    fn forget_extended(&mut self, seid: Seid, old: &Session) {
        let Some(session) = self.sessions.get(&seid) else { return };
        for (bar, extended) in old.extended.iter() {
            let still = session.extended.get(bar).and_then(|extended| extended.until);
            if let Some(ExtendedUntil::Time(at)) = extended.until
                && still != extended.until
            {
                self.timers.remove(at, seid, Timer::ExtendedBuffering(*bar));
            }
        }
    }
}
