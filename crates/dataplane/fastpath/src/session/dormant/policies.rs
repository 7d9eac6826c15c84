//! The policies of dormant sessions.

use std::sync::Arc;

use causeway_model::{FurtherParams, Policy};

/// Policies of sessions that have their own, by number. Most sessions have none, and take no memory here.
#[derive(Debug)]
pub(super) struct Policies {
    all: Vec<Option<Arc<Policy>>>,
    /// Free numbers.
    free: Vec<u32>,
}

/// The number of a session without its own policy.
const NONE: u32 = u32::MAX;

impl Policies {
    /// Without policies, with capacity for those of this many sessions: memory that is never used is never touched.
    pub(super) fn new(sessions: u32) -> Self {
        Self { all: Vec::with_capacity(sessions as usize), free: Vec::new() }
    }

    /// Stores the policy of a session.
    pub(super) fn add(&mut self, policy: Option<&Arc<Policy>>) -> u32 {
        let Some(policy) = policy.cloned() else { return NONE };
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        match self.all.get_mut(number as usize) {
            Some(slot) => *slot = Some(policy),
            None => self.all.push(Some(policy)),
        }
        number
    }

    /// The addresses and tunnels of a session that are not among its session parameters.
    pub(super) fn further(&self, number: u32) -> Option<&FurtherParams> {
        self.all.get(number as usize)?.as_ref()?.further.as_deref()
    }

    /// Takes out the policy of a session, if it has one.
    pub(super) fn take(&mut self, number: u32) -> Option<Arc<Policy>> {
        let policy = self.all.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(policy)
    }
}
