//! Admission of sessions and PFDs by their estimated memory.
//!
//! The memory of a session is estimated from its rules, with traffic in both directions: the data plane allocates most
//! of it at the first packet, when it is too late to reject the session.

use causeway_model::{RuleSet, SessionProfile};
use causeway_pfcp::Cause;
use causeway_rules::{PendingChange, StoredRules};

use crate::RefusalReason;
use crate::load::share;
use crate::transaction::RequestRefusal;

/// Octets of a session without rules, with its index entries; and of each of its rules.
const SESSION: usize = 2048;
const PDR: usize = 768;
const OTHER: usize = 384;

/// The minimum of octets that a dormant session needs less; and the number of sessions that could be dormant but are
/// all counted as active.
const DORMANT_SAVING: usize = 2048;
const MIN_ACTIVE: usize = 1 << 18;

/// Octets of a session whose data plane state is in cold storage, in N4 and the data plane.
const COLD: usize = 768;

/// The memory that a session may need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Footprint {
    octets: u32,
    /// Only its session parameters are stored; the rest is in a shared profile.
    is_profiled: bool,
}

impl Footprint {
    /// The footprint of a session with these rules.
    pub(crate) fn of(rules: &RuleSet) -> Self {
        Self::with_variable(rules, rules.variable_memory())
    }

    /// The footprint of a profiled session.
    pub(crate) fn profiled(template: &SessionProfile) -> Self {
        Self { is_profiled: true, ..Self::with_variable(template.rules(), template.variable_memory()) }
    }

    /// The footprint of a session with these rules, whose parts of variable number need `variable` octets.
    fn with_variable(rules: &RuleSet, variable: usize) -> Self {
        let others = rules.fars.len() + rules.qers.len() + rules.urrs.len() + rules.bars.len();
        let octets = SESSION + PDR * rules.pdrs.len() + OTHER * others + variable;
        Self { octets: u32::try_from(octets).unwrap_or(u32::MAX), is_profiled: false }
    }

    /// The footprint of a session after a change.
    pub(crate) fn after(change: &PendingChange) -> Self {
        change
            .profiled()
            .map_or_else(|| Self::of(&change.rules()), |it| Self::profiled(it.profile().profile()))
    }

    /// The footprint of a session with these stored rules.
    pub(crate) fn kept(kept: &StoredRules) -> Self {
        kept.profiled()
            .map_or_else(|| Self::of(&kept.rules()), |profiled| Self::profiled(profiled.profile().profile()))
    }

    const fn octets_if_profiled(self) -> usize {
        if self.is_profiled { self.octets as usize } else { 0 }
    }

    /// The octets that it needs beyond another.
    pub(crate) const fn beyond(self, other: Self) -> usize {
        self.octets.saturating_sub(other.octets) as usize
    }

    /// The maximum of both.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { octets: self.octets.max(other.octets), is_profiled: self.is_profiled && other.is_profiled }
    }
}

/// The memory that all sessions may need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Needed {
    octets: usize,
    profiled: usize,
    /// Octets of the profiled sessions, among the others.
    of_profiled: usize,
    /// Octets of what N4 alone keeps of sessions: User IDs, session sets.
    of_n4: usize,
    /// The data plane moves the state of idle sessions out of memory.
    has_cold_storage: bool,
}

impl Needed {
    /// Without sessions. `has_cold_storage`: the data plane moves the state of idle sessions out of memory.
    pub(crate) fn new(has_cold_storage: bool) -> Self {
        Self { has_cold_storage, ..Self::default() }
    }

    /// A session was created.
    pub(crate) fn add(&mut self, footprint: Footprint) {
        self.octets += footprint.octets as usize;
        self.profiled += usize::from(footprint.is_profiled);
        self.of_profiled += footprint.octets_if_profiled();
    }

    /// A session was removed.
    pub(crate) fn remove(&mut self, footprint: Footprint) {
        self.octets -= footprint.octets as usize;
        self.profiled -= usize::from(footprint.is_profiled);
        self.of_profiled -= footprint.octets_if_profiled();
    }

    /// Those of another part, too.
    #[must_use]
    pub(crate) const fn and(mut self, other: Self) -> Self {
        self.octets += other.octets;
        self.profiled += other.profiled;
        self.of_profiled += other.of_profiled;
        self.of_n4 += other.of_n4;
        self
    }

    /// So many octets of other parts, too.
    #[must_use]
    pub(crate) const fn and_octets(mut self, octets: usize) -> Self {
        self.of_n4 += octets;
        self
    }

    /// N4 keeps so many octets of a session in place of others, beside its footprint.
    pub(crate) const fn replace_in_n4(&mut self, before: usize, after: usize) {
        self.of_n4 = self.of_n4 - before + after;
    }

    /// The total in octets.
    pub(crate) fn octets(&self) -> usize {
        let dormant = self.profiled.saturating_sub(MIN_ACTIVE);
        if self.has_cold_storage && dormant > 0 {
            let each = self.of_profiled / self.profiled;
            return self.octets - dormant * each + dormant * COLD + self.of_n4;
        }
        self.octets - dormant * DORMANT_SAVING + self.of_n4
    }
}

/// The limit of the memory that all sessions and PFDs may need.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    limit: usize,
    /// The process is short of memory, whatever the estimate.
    is_short: bool,
    /// Estimated octets of the PFDs received over N4.
    pfds: usize,
}

impl MemoryLimit {
    /// So many octets.
    pub(crate) const fn new(limit: usize) -> Self {
        Self { limit, is_short: false, pfds: 0 }
    }

    /// Changes the limit.
    pub(crate) const fn set(&mut self, octets: usize) {
        self.limit = octets;
    }

    /// Sets whether the process is short of memory.
    pub(crate) const fn set_short(&mut self, is_short: bool) {
        self.is_short = is_short;
    }

    /// The PFDs need so many octets.
    pub(crate) const fn set_pfds(&mut self, octets: usize) {
        self.pfds = octets;
    }

    /// Octets that the PFDs and the sessions may need.
    pub(crate) fn needed(&self, sessions: Needed) -> usize {
        sessions.octets() + self.pfds
    }

    /// There is memory for so many octets more.
    pub(crate) fn admits(&self, sessions: Needed, more: usize) -> bool {
        !self.is_short && self.needed(sessions).saturating_add(more) <= self.limit
    }

    /// Rejects a session that would need so many octets more, if there are fewer. A session that needs no more is never
    /// rejected.
    pub(crate) fn check_session(&self, sessions: Needed, more: usize) -> Result<(), RequestRefusal> {
        match more {
            0 => Ok(()),
            more => self.check(sessions, more),
        }
    }

    /// Rejects PFDs that need so much, if there is not enough. PFDs that need no more than the present ones are never
    /// rejected.
    pub(crate) fn check_pfds(&self, sessions: Needed, octets: usize) -> Result<(), RequestRefusal> {
        match octets.saturating_sub(self.pfds) {
            0 => Ok(()),
            more => self.check(sessions, more),
        }
    }

    fn check(&self, sessions: Needed, more: usize) -> Result<(), RequestRefusal> {
        let reason = match () {
            () if self.is_short => RefusalReason::ShortOfMemory,
            () if self.needed(sessions).saturating_add(more) > self.limit => RefusalReason::MemoryLimit,
            () => return Ok(()),
        };
        Err(RequestRefusal::new(Cause::NoResourcesAvailable, reason))
    }

    /// The memory in use, in percent of the limit.
    pub(crate) fn load(&self, sessions: Needed) -> u8 {
        if self.is_short { 100 } else { share(self.needed(sessions), self.limit) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  300,000 sessions of one profile; then one without; then all are removed.
    // Output: as many as may be active need the full size, the others less; zero at the end.
    #[test]
    fn sessions_that_rest_need_less() {
        let mut needed = Needed::default();
        let one = Footprint { octets: 5000, is_profiled: true };
        (0..300_000).for_each(|_| needed.add(one));
        assert_eq!(needed.octets(), 300_000 * 5000 - (300_000 - MIN_ACTIVE) * DORMANT_SAVING);
        let other = Footprint { octets: 6000, is_profiled: false };
        needed.add(other);
        assert_eq!(needed.octets(), 300_000 * 5000 - (300_000 - MIN_ACTIVE) * DORMANT_SAVING + 6000);
        assert_eq!((other.beyond(one), one.beyond(other), one.or(other)), (1000, 0, other));
        (0..300_000).for_each(|_| needed.remove(one));
        needed.remove(other);
        assert_eq!(needed, Needed::default());
    }

    // Input:  ten million sessions of two profiles, and one without, where idle sessions are in cold storage.
    // Output: as many as may be active need the full size, the others little; zero at the end.
    #[test]
    fn sessions_in_cold_storage_need_little() {
        let mut needed = Needed::new(true);
        let (one, two) =
            (Footprint { octets: 4000, is_profiled: true }, Footprint { octets: 6000, is_profiled: true });
        let other = Footprint { octets: 7000, is_profiled: false };
        needed.add(one);
        assert_eq!(needed.octets(), 4000);
        needed.remove(one);
        (0..5_000_000).for_each(|_| [one, two].into_iter().for_each(|it| needed.add(it)));
        needed.add(other);
        assert_eq!(needed.octets(), MIN_ACTIVE * 5000 + (10_000_000 - MIN_ACTIVE) * COLD + 7000);
        (0..5_000_000).for_each(|_| [one, two].into_iter().for_each(|it| needed.remove(it)));
        needed.remove(other);
        assert_eq!(needed, Needed::new(true));
    }
}
