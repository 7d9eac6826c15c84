//! How much memory sessions and PFDs may need, and who is refused for want of it.
//!
//! What a session takes is estimated by its rules, as much as it takes with packets in both directions: most of it is taken by the
//! data plane with the first packet, when nobody can be refused any more.

use causeway_pfcp::Cause;
use causeway_rules::{RuleSet, SessionProfile, StoredRules};

use crate::N4;
use crate::answer::RequestRefusal;

/// Octets of a session without rules, with what leads to it; and of each of its rules.
const SESSION: usize = 2048;
const PDR: usize = 768;
const OTHER: usize = 384;

/// Octets that a session needs less while it rests in the data plane, at least; and of how many that could rest all are counted as if they
/// did not.
const RESTING: usize = 2048;
const AWAKE: usize = 1 << 18;

/// What a session may come to need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Footprint {
    octets: u32,
    /// It has nothing but its own values beside what it has in common with others.
    is_alike: bool,
}

impl Footprint {
    /// Of a session with these rules.
    pub(crate) fn of(rules: &RuleSet) -> Self {
        Self::with_filters(rules, rules.filter_memory())
    }

    /// Of a session that is like others.
    pub(crate) fn profiled(template: &SessionProfile) -> Self {
        Self { is_alike: true, ..Self::with_filters(template.rules(), template.filter_memory()) }
    }

    /// Of a session with these rules, whose filters need `filters` octets.
    fn with_filters(rules: &RuleSet, filters: usize) -> Self {
        let others = rules.fars.len() + rules.qers.len() + rules.urrs.len() + rules.bars.len();
        let octets = SESSION + PDR * rules.pdrs.len() + OTHER * others + filters;
        Self { octets: u32::try_from(octets).unwrap_or(u32::MAX), is_alike: false }
    }

    /// Of a session of which this is kept.
    pub(crate) fn kept(kept: &StoredRules) -> Self {
        kept.profiled().map_or_else(|| Self::of(&kept.rules()), |profiled| Self::profiled(profiled.profile()))
    }

    /// It needs more than another.
    pub(crate) const fn exceeds(self, other: Self) -> bool {
        self.octets > other.octets
    }

    /// What both need at most.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { octets: self.octets.max(other.octets), is_alike: self.is_alike && other.is_alike }
    }
}

/// What all sessions may come to need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Needed {
    octets: usize,
    alike: usize,
}

impl Needed {
    /// A session has come.
    pub(crate) fn add(&mut self, footprint: Footprint) {
        self.octets += footprint.octets as usize;
        self.alike += usize::from(footprint.is_alike);
    }

    /// A session has gone.
    pub(crate) fn remove(&mut self, footprint: Footprint) {
        self.octets -= footprint.octets as usize;
        self.alike -= usize::from(footprint.is_alike);
    }

    /// Octets.
    pub(crate) fn octets(&self) -> usize {
        self.octets - self.alike.saturating_sub(AWAKE) * RESTING
    }
}

impl N4 {
    /// Octets that the sessions may come to need, by an estimate from their rules, and those of PFDs; below [`crate::Limits::memory`].
    pub fn memory_needed(&self) -> usize {
        self.sessions.needed().octets() + self.pfd_octets
    }

    /// From now on all sessions and PFDs may come to need so many octets together ([`crate::Limits::memory`]). Those that there are stay.
    pub const fn limit_memory(&mut self, octets: usize) {
        self.config.limits.memory = octets;
    }

    /// From now on the process has hardly any memory left, or has again. While it is so, no session comes, none gets more rules, and
    /// PFDs do not grow, whatever the estimate says.
    pub const fn set_short_of_memory(&mut self, is_short: bool) {
        self.is_short_of_memory = is_short;
    }

    /// There is no memory for so much more.
    pub(crate) fn refuse_for_memory(
        &mut self,
        more: Footprint,
        before: Footprint,
    ) -> Result<(), RequestRefusal> {
        self.refuse_octets(more.octets.saturating_sub(before.octets) as usize)
    }

    /// The same of PFDs that take so much. Those that take no more than what there is are never refused.
    pub(crate) fn refuse_pfds_for_memory(&mut self, octets: usize) -> Result<(), RequestRefusal> {
        match octets.saturating_sub(self.pfd_octets) {
            0 => Ok(()),
            more => self.refuse_octets(more),
        }
    }

    fn refuse_octets(&mut self, more: usize) -> Result<(), RequestRefusal> {
        let limit = self.config.limits.memory;
        let detail = match () {
            () if self.is_short_of_memory => "this process has hardly any memory left",
            () if self.memory_needed().saturating_add(more) > limit => {
                "the sessions and PFDs that there are may need all of the memory (upf.memory)"
            }
            () => return Ok(()),
        };
        self.counters.memory_refusals += 1;
        Err(RequestRefusal::new(Cause::NoResourcesAvailable, detail))
    }

    /// There is memory for so much more.
    pub(crate) fn has_memory_for(&self, more: Footprint) -> bool {
        !self.is_short_of_memory
            && self.memory_needed().saturating_add(more.octets as usize) <= self.config.limits.memory
    }

    /// How full the memory is, in percent.
    pub(crate) fn memory_load(&self) -> u8 {
        if self.is_short_of_memory {
            return 100;
        }
        crate::load::share(self.memory_needed(), self.config.limits.memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  300,000 sessions, all alike; then one that is not; then all go.
    // Output: as many as may be awake need all, the others less; nothing is left in the end.
    #[test]
    fn sessions_that_rest_need_less() {
        let mut needed = Needed::default();
        let one = Footprint { octets: 5000, is_alike: true };
        (0..300_000).for_each(|_| needed.add(one));
        assert_eq!(needed.octets(), 300_000 * 5000 - (300_000 - AWAKE) * RESTING);
        let other = Footprint { octets: 6000, is_alike: false };
        needed.add(other);
        assert_eq!(needed.octets(), 300_000 * 5000 - (300_000 - AWAKE) * RESTING + 6000);
        assert!(other.exceeds(one) && !one.exceeds(other) && one.or(other) == other);
        (0..300_000).for_each(|_| needed.remove(one));
        needed.remove(other);
        assert_eq!(needed, Needed::default());
    }
}
