//! Patterns that sessions were entered by lately.

use std::sync::Arc;

use causeway_reference::Reference;
use causeway_reference::lease::{Likeness, Own};
use causeway_types::Seid;
use foldhash::fast::RandomState;

use super::Pattern;

/// How many patterns are remembered.
const REMEMBERED: usize = 1024;

/// The patterns of sessions that had something in common with others: each has one place, by its hash.
#[derive(Debug)]
pub(crate) struct Kinds {
    hasher: RandomState,
    places: Vec<Option<Kind>>,
}

#[derive(Debug)]
struct Kind {
    hash: u64,
    likeness: Likeness,
    pattern: Arc<Pattern>,
}

/// A session that others may be like.
pub(crate) struct Candidate {
    pub(crate) own: Own,
    hash: u64,
}

impl Default for Kinds {
    fn default() -> Self {
        let mut places = Vec::new();
        places.resize_with(REMEMBERED, || None);
        Self { hasher: RandomState::default(), places }
    }
}

impl Kinds {
    /// `None`: the session is like no other for certain. It has no rivals.
    pub(crate) fn candidate(&self, slow: &Reference, seid: Seid) -> Option<Candidate> {
        slow.own(seid, &self.hasher).map(|(own, hash)| Candidate { own, hash })
    }

    /// The pattern of a session that this one is like.
    pub(crate) fn find(&self, slow: &Reference, seid: Seid, candidate: &Candidate) -> Option<Arc<Pattern>> {
        let kind = self.places.get(candidate.hash as usize % REMEMBERED)?.as_ref()?;
        let is_it = kind.hash == candidate.hash && slow.is_like(seid, &kind.likeness);
        if is_it {
            let renewed = || kind.pattern.shape().of_another(&candidate.own);
            debug_assert_eq!(slow.shape(seid), Some(renewed()));
        }
        is_it.then(|| Arc::clone(&kind.pattern))
    }

    /// Remembers the pattern of a session. Returns the one that had its place.
    pub(crate) fn remember(
        &mut self,
        slow: &Reference,
        seid: Seid,
        candidate: &Candidate,
        pattern: &Arc<Pattern>,
    ) -> Option<Arc<Pattern>> {
        let place = self.places.get_mut(candidate.hash as usize % REMEMBERED)?;
        let likeness = slow.likeness(seid)?;
        let kind = Kind { hash: candidate.hash, likeness, pattern: Arc::clone(pattern) };
        place.replace(kind).map(|held| held.pattern)
    }
}
