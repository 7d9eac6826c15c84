//! The policies of sessions that rest.

use std::sync::Arc;

use causeway_rules::Policy;

/// Those of sessions that have one of their own, by numbers, which they keep. Most sessions have none, and nothing is kept of them.
#[derive(Debug)]
pub(super) struct Policies {
    all: Vec<Option<Arc<Policy>>>,
    /// Numbers that are free.
    free: Vec<u32>,
}

/// The number of a session that has none.
const NONE: u32 = u32::MAX;

impl Policies {
    /// None, and room for those of so many sessions: memory that was never used is never touched.
    pub(super) fn new(sessions: u32) -> Self {
        Self { all: Vec::with_capacity(sessions as usize), free: Vec::new() }
    }

    /// Enters that of a session.
    pub(super) fn add(&mut self, policy: Option<&Arc<Policy>>) -> u32 {
        let Some(policy) = policy.cloned() else { return NONE };
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        match self.all.get_mut(number as usize) {
            Some(slot) => *slot = Some(policy),
            None => self.all.push(Some(policy)),
        }
        number
    }

    /// Takes out that of a session, if it has one.
    pub(super) fn take(&mut self, number: u32) -> Option<Arc<Policy>> {
        let policy = self.all.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(policy)
    }
}
