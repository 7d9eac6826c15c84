//! Finds idle sessions and moves them to cold storage.

use causeway_cold::MAX_RECORD;
use causeway_slowpath::lease::Kept;
use causeway_types::{Seid, Span, Time};

use super::load::record_of;
use super::{ColdStorage, STEP};
use crate::FastPath;
use crate::session::dormant::{DormancyCandidate, Paths, PriorState};

/// What one step of the search looks at and moves at most: slots of dormant sessions, sessions whose last packet it asks for, sessions
/// that move. A step takes less than a millisecond.
const SLOTS: u32 = 4096;
const LOOKED_AT: u32 = 256;
const MOVED: u32 = 64;

/// Rounds of the search in the time that a session must be idle.
const ROUNDS: u32 = 4;

impl ColdStorage {
    /// Whether a session whose last packet arrived then is idle, and the store wants it.
    fn wants(&self, now: Time, last: Time) -> bool {
        last + self.idle_after <= now && self.store.has_room()
    }
}

impl FastPath {
    /// One step of the search for idle sessions, if it is due.
    #[inline]
    pub(crate) fn move_idle_out(&mut self, now: Time) {
        if self.next_cold_step().is_some_and(|at| at <= now) {
            self.search_idle(now);
        }
    }

    /// Moves all sessions that can to cold storage, if they need not be idle for any time.
    #[inline]
    pub(crate) fn move_all_out(&mut self, now: Time) {
        if self.cold.as_deref().is_some_and(|cold| cold.idle_after.is_zero() && cold.store.has_room()) {
            let dormant =
                (0..self.dormant.slots()).filter_map(|slot| self.dormant.last_packet_in(slot, &self.table));
            let mut all: Vec<Seid> = dormant.map(|(seid, _)| seid).collect();
            all.extend(self.active.behind(0).map(|(_, seid, _)| seid));
            all.sort_unstable();
            for seid in all {
                self.evict(now, seid);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn search_idle(&mut self, now: Time) {
        let Some(cold) = self.cold.as_deref() else { return };
        let (mut round, mut idle) = (cold.round, Vec::new());
        let (mut looked_at, slots) = (0, self.dormant.slots());
        let is_busy = |looked_at: u32, idle: &Vec<Seid>| looked_at >= LOOKED_AT || idle.len() as u32 >= MOVED;
        let end = round.slot.saturating_add(SLOTS).min(slots);
        while round.slot < end && !is_busy(looked_at, &idle) {
            if let Some((seid, last)) = self.dormant.last_packet_in(round.slot, &self.table) {
                looked_at += 1;
                idle.extend(cold.wants(now, last).then_some(seid));
            }
            round.slot += 1;
        }
        let mut is_at_end = round.slot >= slots;
        if is_at_end {
            for (sequence, seid, candidate) in self.active.behind(round.active) {
                if is_busy(looked_at, &idle) {
                    is_at_end = false;
                    break;
                }
                looked_at += 1;
                round.active = sequence;
                let forwarded = self.leases.get(&seid).and_then(|lease| lease.last_arrival(&self.table));
                let last = forwarded.max(self.slow_path.last_packet_of(seid)).max(Some(candidate.active_at));
                idle.extend(last.is_some_and(|last| cold.wants(now, last)).then_some(seid));
            }
        }
        for seid in idle {
            self.evict(now, seid);
        }
        let Some(cold) = self.cold.as_deref_mut() else { return };
        cold.next_step = now + STEP;
        cold.round = round;
        if is_at_end {
            let next = round.began + cold.idle_after / ROUNDS;
            cold.next_step = next.max(cold.next_step);
            cold.round = super::Round { began: cold.next_step, ..super::Round::default() };
        }
    }

    /// Moves sessions to cold storage again that a query has loaded.
    pub(crate) fn move_back(&mut self, now: Time, sessions: impl IntoIterator<Item = Seid>) {
        sessions.into_iter().for_each(|seid| self.evict(now, seid));
    }

    /// Moves a session that is active, or has been, to cold storage, if what is to be kept of it is measurements and timers that are not due soon.
    fn evict(&mut self, now: Time, seid: Seid) {
        // The state of a session that is not in cold storage is in memory.
        if self.has_waiting_plans(seid) || self.activate(seid, now).is_err() {
            return;
        }
        let Some(candidate) = self.active.get(seid).cloned() else { return };
        if candidate.profiled.is_none() && !self.slow_path.is_independent(seid) {
            return;
        }
        self.settle_lease(seid);
        if self.move_out(now, seid, &candidate) {
            self.active.remove(seid);
        } else {
            self.grant_lease(seid, now);
        }
    }

    /// The same with a session that is settled. `false`: it has other state, or cannot be dormant.
    fn move_out(&mut self, now: Time, seid: Seid, candidate: &DormancyCandidate) -> bool {
        let idle_after = self.cold.as_deref().map_or(Span::ZERO, |cold| cold.idle_after);
        let (since, kept) = (candidate.since, Kept::Timers { stays_until: now + idle_after });
        let Some(profiled) = self.profile_of_candidate(seid, candidate, kept) else { return false };
        let Some(entry) = self.dormancy_location(seid, &profiled) else { return false };
        let removed = self.slow_path.remove_for_dormancy(seid, since, now, kept);
        let Some(measured) = removed else { return false };
        self.remove_session(seid);
        let record = record_of(seid, since, &measured);
        let is_short = record.len() <= MAX_RECORD;
        let prior = (!is_short).then(|| Box::new(PriorState { lease: None, measured }));
        let paths = self.dormant.add(&entry, seid, since, &profiled, prior);
        self.update_paths(now, &Paths::default(), &paths.unwrap_or_default());
        if is_short && let (Some(cold), Some(slot)) = (self.cold.as_deref_mut(), self.dormant.mark_cold(seid))
        {
            cold.store.put(slot, record);
            cold.evictions += 1;
        }
        true
    }
}
