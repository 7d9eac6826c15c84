//! How sessions become dormant and active.

mod activate;

use std::net::IpAddr;

use causeway_dataplane::{Applied, ApplyError, BackendError, Plan};
use causeway_model::{Op, Pdr, ProfileTransition, ProfiledSession, SessionChange};
use causeway_slowpath::SlowPath;
use causeway_types::{FTeid, Seid, Teid, Time};

use crate::FastPath;
use crate::session::cold::Unreadable;
use crate::session::dormant::{Activated, Paths};

impl FastPath {
    /// Applies a plan that needs no active session. `None`: the slow path must apply it.
    pub(crate) fn apply_dormant(&mut self, now: Time, plan: &Plan) -> Option<Result<Applied, ApplyError>> {
        match &plan.change {
            SessionChange::Install(_) if self.is_full(plan.session) => {
                let capacity = self.max_sessions.into();
                Some(Err(ApplyError::Full { table: "sessions", capacity }))
            }
            SessionChange::Install(session) => {
                self.make_dormant(now, plan.session, session).then(|| Ok(Applied::default()))
            }
            SessionChange::Rebind(transition) => {
                self.change_dormant(now, plan.session, transition).then(|| Ok(Applied::default()))
            }
            SessionChange::Remove => self.remove_dormant(now, plan.session).map(Ok),
            SessionChange::Update(_) => None,
        }
    }

    /// Whether there is no capacity for a new session.
    fn is_full(&self, seid: Seid) -> bool {
        self.slow_path.sessions() + self.dormant.len() >= self.max_sessions as usize
            && !self.slow_path.has(seid)
            && !self.dormant.has(seid)
    }

    /// Makes a new session dormant from its establishment on. `false`: it cannot be dormant.
    fn make_dormant(&mut self, now: Time, seid: Seid, profiled: &ProfiledSession) -> bool {
        let is_free = |teid: Teid, local: Option<IpAddr>| {
            local.is_none_or(|local| self.slow_path.is_free([(teid, local)], None))
        };
        let Some(entry) = self.dormant.entry(seid, profiled) else { return false };
        let can = !self.slow_path.has(seid)
            && !self.dormant.is_at(&entry, seid)
            && self.slow_path.is_free([], profiled.params().ue)
            && profiled.tunnels().all(|FTeid { teid, addr }| {
                is_free(teid, addr.v4.map(IpAddr::V4)) && is_free(teid, addr.v6.map(IpAddr::V6))
            })
            && self.dormant.can_insert(&entry, profiled);
        let paths = if can { self.dormant.add(&entry, seid, now, profiled, None) } else { None };
        let is_dormant = paths.is_some();
        self.update_paths(now, &Paths::default(), &paths.unwrap_or_default());
        is_dormant
    }

    /// Changes a dormant session without activating it. `false`: it is not dormant, or must become active.
    fn change_dormant(&mut self, now: Time, seid: Seid, transition: &ProfileTransition) -> bool {
        let Some((old, new)) = self.dormant.change(seid, transition) else { return false };
        self.update_paths(now, &old, &new);
        let [(before, _), _] = transition.before_and_after();
        for (far, tunnel) in transition.end_markers() {
            self.slow_path.end(tunnel, before.rules().fars.get(&far));
        }
        true
    }

    /// Removes a dormant session. `None`: it is not dormant, or it has been active.
    fn remove_dormant(&mut self, now: Time, seid: Seid) -> Option<Applied> {
        let Activated { since, profiled, paths, .. } = self.dormant.take_never_active(seid)?;
        self.update_paths(now, &paths, &Paths::default());
        let usage = SlowPath::final_usage(profiled.profile().rules(), since, now);
        Some(Applied { usage, ..Applied::default() })
    }

    /// Supervises the paths `new` for a session of another worker instead of the paths `old`, which were set for that
    /// session before.
    pub fn follow_paths(&mut self, now: Time, old: &[(IpAddr, IpAddr)], new: &[(IpAddr, IpAddr)]) {
        self.slow_path.follow_paths(now, old, new);
    }

    pub(crate) fn update_paths(&mut self, now: Time, old: &Paths, new: &Paths) {
        old.visit(|path| self.slow_path.follow_paths(now, &[path], &[]));
        new.visit(|path| self.slow_path.follow_paths(now, &[], &[path]));
    }

    /// Whether a packet from a data network to this address has a destination.
    pub(crate) fn has_destination(&self, address: IpAddr) -> bool {
        self.is_dormant(address) || self.slow_path.has_destination(address)
    }

    /// Whether it is the address of a dormant session.
    #[inline]
    pub(crate) fn is_dormant(&self, address: IpAddr) -> bool {
        self.dormant.len() > 0 && self.dormant.of_address(address).is_some()
    }

    /// Whether a tunnel without a flow entry belongs to a session all the same: a dormant one, or one that has become
    /// active since the lookup.
    #[inline]
    pub(crate) fn has_tunnel(&self, teid: Teid, local: IpAddr) -> bool {
        self.dormant.len() > 0 && self.dormant.of_tunnel((teid, local)).is_some()
            || self.has_activated && !self.slow_path.is_free([(teid, local)], None)
    }

    /// Activates every session that a plan may affect.
    ///
    /// # Errors
    /// The state of one of them cannot be read now.
    pub(crate) fn activate_affected(&mut self, now: Time, plan: &Plan) -> Result<(), ApplyError> {
        if self.dormant.len() == 0 {
            return Ok(());
        }
        let unreadable = |Unreadable| ApplyError::from(BackendError::ColdStorage);
        self.activate(plan.session, now).map_err(unreadable)?;
        if matches!(plan.change, SessionChange::Rebind(_) | SessionChange::Remove) {
            return Ok(());
        }
        let ops = plan.ops();
        let written = ops.iter().filter_map(|op| if let Op::PutPdr(pdr) = op { Some(pdr) } else { None });
        let concerned: Vec<_> = written.flat_map(|pdr| self.affected_by(pdr)).collect();
        concerned.into_iter().try_for_each(|seid| self.activate(seid, now)).map_err(unreadable)
    }

    fn affected_by(&self, pdr: &Pdr) -> Vec<Seid> {
        let ends = pdr
            .pdi
            .tunnel
            .into_iter()
            .flat_map(|tunnel| tunnel.addr.iter().map(move |ip| (tunnel.teid, ip)).collect::<Vec<_>>());
        let mut concerned: Vec<_> = ends.filter_map(|end| self.dormant.of_tunnel(end)).collect();
        for net in pdr.pdi.ue_nets() {
            concerned.extend(self.dormant.within(net));
        }
        concerned
    }

    /// The establishment time of the session of a plan, if [`FastPath::learn_profile`] could learn its profile.
    pub(crate) fn can_learn_from(&self, now: Time, plan: &Plan) -> Option<Time> {
        match &plan.change {
            SessionChange::Install(session) => session.is_shared().then_some(now),
            SessionChange::Rebind(_) => self.dormant.since(plan.session),
            SessionChange::Update(_) | SessionChange::Remove => None,
        }
    }
}

#[cfg(test)]
mod tests;
