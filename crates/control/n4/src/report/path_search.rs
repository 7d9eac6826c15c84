//! The search for the SMFs whose sessions use paths that have failed or recovered.
//!
//! One pass over the sessions serves all paths that wait when it begins, a few sessions at a time: N4 answers requests
//! in between. A path of which the state changes during a pass waits for the next one.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{PathState, PathUsers};
use crate::association::AssociationId;

/// The number of session indices of one step.
const STEP: u32 = 128;

/// The peers that a pass looks for: what their paths have done, and the sessions found so far, by association.
pub(crate) type SearchedPeers = BTreeMap<IpAddr, (PathState, BTreeMap<AssociationId, PathUsers>)>;

/// The search, with at most one state for each peer in the present pass, and one behind it.
#[derive(Debug, Default)]
pub(crate) struct PathSearch {
    waiting: BTreeMap<IpAddr, PathState>,
    peers: SearchedPeers,
    /// The indices from this one on have not been examined.
    next: u32,
}

impl PathSearch {
    /// A path has failed or recovered. A later state replaces one whose pass has not begun.
    pub(crate) fn add(&mut self, peer: IpAddr, state: PathState) {
        self.waiting.insert(peer, state);
    }

    /// No session uses the path any more.
    pub(crate) fn forget(&mut self, peer: IpAddr) {
        self.waiting.remove(&peer);
        self.peers.remove(&peer);
    }

    /// Nothing is searched.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.peers.is_empty()
    }

    /// Examines the next sessions, of which indices below `end` exist. Returns the peers whose users are known now.
    pub(crate) fn step(&mut self, end: u32, examine: impl Fn(u32, &mut SearchedPeers)) -> SearchedPeers {
        if self.peers.is_empty() {
            let waiting = std::mem::take(&mut self.waiting).into_iter();
            self.peers = waiting.map(|(peer, state)| (peer, (state, BTreeMap::new()))).collect();
            self.next = 0;
        }
        let from = self.next;
        self.next = from.saturating_add(STEP).min(end).max(from);
        (from..self.next).for_each(|index| examine(index, &mut self.peers));
        if self.next >= end { std::mem::take(&mut self.peers) } else { SearchedPeers::new() }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    // Input:  300 sessions; forty paths fail, one of them recovers during the pass, another one is not used any more.
    // Output: each session is examined once in a pass, at most 128 in a step; the thirty-nine that are left have
    //         failed after three steps, and the one has recovered after three more.
    #[test]
    fn one_pass_serves_all_paths() {
        let peer = |n| IpAddr::from([192, 0, 2, n]);
        let mut search = PathSearch::default();
        (0..40).for_each(|n| search.add(peer(n), PathState::Failed));
        let examined = Cell::new(0);
        let step = |search: &mut PathSearch| {
            examined.set(0);
            let found = search.step(300, |_, _| examined.set(examined.get() + 1));
            (examined.get(), found.into_iter().map(|(peer, (state, _))| (peer, state)).collect::<Vec<_>>())
        };
        assert_eq!(step(&mut search), (128, Vec::new()));
        search.add(peer(7), PathState::Recovered);
        search.forget(peer(8));
        assert_eq!(step(&mut search), (128, Vec::new()));
        let failed = (0..40).filter(|n| *n != 8).map(|n| (peer(n), PathState::Failed)).collect();
        assert_eq!(step(&mut search), (44, failed));
        assert_eq!((step(&mut search).0, step(&mut search).0), (128, 128));
        assert_eq!(step(&mut search), (44, vec![(peer(7), PathState::Recovered)]));
        assert!(search.is_empty());
    }
}
