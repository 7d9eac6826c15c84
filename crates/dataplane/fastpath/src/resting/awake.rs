//! Sessions that could rest again, in the order in which they woke.

use std::collections::{HashMap, VecDeque};

use causeway_rules::Alike;
use causeway_types::{Seid, Time};
use foldhash::fast::RandomState;

/// How many such sessions are awake at most, if they can rest: they take five times as much memory as those that rest.
const MOST: usize = 1 << 18;

/// Sessions that have rested and are awake.
#[derive(Debug)]
pub(crate) struct Awake {
    most: usize,
    sessions: HashMap<Seid, (u64, Candidate), RandomState>,
    /// Those that are not among `sessions` with this turn have been removed.
    order: VecDeque<(u64, Seid)>,
    turn: u64,
}

/// A session as it was established, but for changes that others had, too.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) since: Time,
    pub(crate) alike: Alike,
}

impl Default for Awake {
    fn default() -> Self {
        Self { most: MOST, sessions: HashMap::default(), order: VecDeque::new(), turn: 0 }
    }
}

impl Awake {
    /// No more than so many are to be awake.
    pub(crate) const fn limit(&mut self, most: usize) {
        self.most = most;
    }

    /// A session is awake: the latest one.
    pub(crate) fn add(&mut self, seid: Seid, candidate: Candidate) {
        self.turn += 1;
        self.sessions.insert(seid, (self.turn, candidate));
        self.order.push_back((self.turn, seid));
        // Those that were removed are forgotten before they are as many as the others.
        if self.order.len() > 2 * self.sessions.len() + 1 {
            let sessions = &self.sessions;
            self.order.retain(|(turn, seid)| sessions.get(seid).is_some_and(|(its, _)| its == turn));
        }
    }

    /// A session is awake for good, or no longer. What was known of it.
    pub(crate) fn remove(&mut self, seid: Seid) -> Option<Candidate> {
        self.sessions.remove(&seid).map(|(_, candidate)| candidate)
    }

    /// Takes out the one that has been awake for longest, if there are too many.
    pub(crate) fn pop(&mut self) -> Option<(Seid, Candidate)> {
        while self.sessions.len() > self.most {
            let (turn, seid) = self.order.pop_front()?;
            if self.sessions.get(&seid).is_some_and(|(its, _)| *its == turn) {
                return Some((seid, self.remove(seid)?));
            }
        }
        None
    }
}
