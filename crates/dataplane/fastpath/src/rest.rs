//! How sessions come to rest, and how they wake.

mod wake;

use std::net::IpAddr;

use causeway_dataplane::{Applied, ApplyError, Plan};
use causeway_reference::Reference;
use causeway_rules::{Op, Pdr, ProfileTransition, ProfiledSession};
use causeway_types::{FTeid, IpNet, Seid, Teid, Time};

use crate::FastPath;
use crate::resting::{Paths, Woken};

impl FastPath {
    /// A plan for which no session has to be awake. `None`: it is to be carried out in the slow room.
    pub(crate) fn apply_resting(&mut self, now: Time, plan: &Plan) -> Option<Result<Applied, ApplyError>> {
        if let Some(moved) = plan.ops.transition() {
            return self.change_at_rest(now, plan.session, moved).then(|| Ok(Applied::default()));
        }
        if plan.ops.is_removal() {
            return self.end(now, plan.session).map(Ok);
        }
        let is_new = plan.ops.profiled().is_some() || plan.ops.first() == Some(&Op::CreateSession);
        if is_new && self.is_full(plan.session) {
            let capacity = self.most_sessions.into();
            return Some(Err(ApplyError::Full { table: "sessions", capacity }));
        }
        let alike = plan.ops.profiled()?;
        self.rest(now, plan.session, alike).then(|| Ok(Applied::default()))
    }

    /// There is no room for a session that is new.
    fn is_full(&self, seid: Seid) -> bool {
        self.slow.sessions() + self.resting.len() >= self.most_sessions as usize
            && !self.slow.has(seid)
            && !self.resting.has(seid)
    }

    /// Lets a session rest from its establishment on. `false`: it cannot.
    fn rest(&mut self, now: Time, seid: Seid, alike: &ProfiledSession) -> bool {
        let is_free = |teid: Teid, local: Option<IpAddr>| {
            local.is_none_or(|local| self.slow.is_free([(teid, local)], None))
        };
        let Some(entry) = self.resting.entry(seid, alike) else { return false };
        let can = !self.slow.has(seid)
            && !self.resting.is_at(&entry, seid)
            && self.slow.is_free([], alike.params().ue)
            && alike.tunnels().all(|FTeid { teid, addr }| {
                is_free(teid, addr.v4.map(IpAddr::V4)) && is_free(teid, addr.v6.map(IpAddr::V6))
            })
            && self.resting.has_room(&entry, alike);
        let paths = if can { self.resting.add(&entry, seid, now, alike, None) } else { None };
        let rests = paths.is_some();
        self.follow(now, Paths::default(), paths.unwrap_or_default());
        rests
    }

    /// Changes a session that rests, and goes on to. `false`: it does not rest, or is to wake.
    fn change_at_rest(&mut self, now: Time, seid: Seid, moved: &ProfileTransition) -> bool {
        let Some((old, new)) = self.resting.change(seid, moved) else { return false };
        self.follow(now, old, new);
        moved.end_markers().for_each(|tunnel| self.slow.end(tunnel));
        true
    }

    /// The end of a session that rests. `None`: it does not, or it has been awake.
    fn end(&mut self, now: Time, seid: Seid) -> Option<Applied> {
        let Woken { since, alike, paths, .. } = self.resting.take_fresh(seid)?;
        self.follow(now, paths, Paths::default());
        let usage = Reference::final_usage(alike.profile().rules(), since, now);
        Some(Applied { usage, ..Applied::default() })
    }

    /// Supervises the paths `new` for a session that another worker has, and no longer those in `old`, which it was told for
    /// that session before.
    pub fn follow_paths(&mut self, now: Time, old: &[(IpAddr, IpAddr)], new: &[(IpAddr, IpAddr)]) {
        self.slow.follow_paths(now, old, new);
    }

    pub(crate) fn follow(&mut self, now: Time, old: Paths, new: Paths) {
        old.into_iter().flatten().for_each(|path| self.slow.follow_paths(now, &[path], &[]));
        new.into_iter().flatten().for_each(|path| self.slow.follow_paths(now, &[], &[path]));
    }

    /// A packet from a data network for this address is not for nobody.
    pub(crate) fn knows(&self, address: IpAddr) -> bool {
        self.rests(address) || self.slow.knows(address)
    }

    /// It is the address of a session that rests.
    #[inline]
    pub(crate) fn rests(&self, address: IpAddr) -> bool {
        self.resting.len() > 0 && matches!(address, IpAddr::V4(ue) if self.resting.of_ue(ue).is_some())
    }

    /// A tunnel for which a batch has found no line ends in a session all the same: one that rests, or has woken since.
    #[inline]
    pub(crate) fn has_tunnel(&self, teid: Teid, local: IpAddr) -> bool {
        self.resting.len() > 0 && self.resting.of_tunnel((teid, local)).is_some()
            || self.has_woken && !self.slow.is_free([(teid, local)], None)
    }

    /// Wakes every session that a plan may have to do with.
    pub(crate) fn wake_concerned(&mut self, now: Time, plan: &Plan) {
        if self.resting.len() == 0 {
            return;
        }
        self.wake(plan.session, now);
        let written =
            plan.ops.iter().filter_map(|op| if let Op::PutPdr(pdr) = op { Some(pdr) } else { None });
        let concerned: Vec<_> = written.flat_map(|pdr| self.concerned_by(pdr)).collect();
        concerned.into_iter().for_each(|seid| self.wake(seid, now));
    }

    fn concerned_by(&self, pdr: &Pdr) -> Vec<Seid> {
        let ends = pdr
            .pdi
            .tunnel
            .into_iter()
            .flat_map(|tunnel| tunnel.addr.iter().map(move |ip| (tunnel.teid, ip)).collect::<Vec<_>>());
        let mut concerned: Vec<_> = ends.filter_map(|end| self.resting.of_tunnel(end)).collect();
        for net in pdr.pdi.ue_nets() {
            if let IpNet::V4(net) = net {
                concerned.extend(self.resting.within(net));
            }
        }
        concerned
    }

    /// Since when the session of a plan is there, if it could teach [`FastPath::learn`] something.
    pub(crate) fn could_teach(&self, now: Time, plan: &Plan) -> Option<Time> {
        match plan.ops.transition() {
            Some(_) => self.resting.since(plan.session),
            None => plan.ops.profiled().map(|_| now),
        }
    }
}

#[cfg(test)]
mod tests;
