//! From rest to the slow room and back.

use causeway_dataplane::{Applied, Dataplane, Op, Plan};
use causeway_reference::path_of;
use causeway_rules::{Far, ProfileTransition, ProfiledSession};
use causeway_types::{Seid, Time};

use crate::FastPath;
use crate::resting::{Candidate, Past, Paths, Woken};

/// How many sessions are tried at a time that could rest again: one more may have woken.
const TRIES: usize = 2;

impl FastPath {
    /// The same with so many sessions awake at most, of those that could rest.
    #[must_use]
    pub fn with_most_awake(mut self, most: usize) -> Self {
        self.awake.limit(most);
        self
    }

    /// Establishes a session that rests, if it does, as of the time since which it is there. It has what its packets have left behind, and
    /// its lines go on.
    pub(crate) fn wake(&mut self, seid: Seid, now: Time) {
        let Some(Woken { since, alike, paths, past }) = self.resting.take(seid) else { return };
        self.has_woken = true;
        let done = self.slow.apply(since, &Plan { session: seid, ops: alike.clone().into() });
        debug_assert_eq!(done, Ok(Applied::default()));
        self.follow(now, paths, Paths::default());
        match past.map(|past| *past) {
            None => self.enter(seid, true, now),
            Some(Past { lease, traces }) => {
                self.slow.retrace(seid, &traces);
                self.hold(seid, lease);
            }
        }
        self.awake.add(seid, Candidate { since, alike });
    }

    /// A plan has been carried out: its session can rest again only if it has changed as others have.
    pub(crate) fn follow_plan(&mut self, plan: &Plan) {
        let is_query = || plan.ops.iter().all(|op| matches!(op, Op::QueryUrr(_)));
        let moved = plan.ops.transition();
        if moved.is_none() && is_query() {
            return;
        }
        let candidate = self.awake.remove(plan.session);
        if let (Some(candidate), Some(moved)) = (candidate, moved) {
            self.awake.add(plan.session, Candidate { alike: moved.after(), ..candidate });
        }
    }

    /// Lets sessions rest again, those that have been awake for longest, if too many are awake.
    pub(crate) fn calm(&mut self, now: Time) {
        for _ in 0..TRIES {
            let Some((seid, candidate)) = self.awake.pop() else { return };
            if !self.rest_again(now, seid, &candidate) {
                self.awake.add(seid, candidate);
            }
        }
    }

    /// `false`: something is due, or the session has more to it than can be kept of one at rest.
    fn rest_again(&mut self, now: Time, seid: Seid, Candidate { since, alike }: &Candidate) -> bool {
        debug_assert_eq!(self.slow.rules_of(seid), Some(&alike.rules()));
        if !self.resting.knows(alike) && self.slow.is_alone(seid) {
            self.learn_kind(alike);
        }
        let Some(entry) = self.resting.entry(seid, alike) else { return false };
        let is_possible = self.resting.has_room(&entry, alike) && self.slow.rivals(seid).is_empty();
        let Some(traces) = (if is_possible { self.slow.put_to_rest(seid, *since, now) } else { None }) else {
            return false;
        };
        let past = Past { lease: self.let_go(seid), traces };
        let paths = self.resting.add(&entry, seid, *since, alike, Some(Box::new(past)));
        self.follow(now, Paths::default(), paths.unwrap_or_default());
        true
    }

    /// Remembers that sessions like the one just established, or changed at rest, can rest, if they can.
    pub(crate) fn learn(&mut self, since: Time, plan: &Plan) {
        let alike =
            plan.ops.profiled().cloned().or_else(|| plan.ops.transition().map(ProfileTransition::after));
        let Some(alike) = alike.filter(|alike| !self.resting.knows(alike)) else { return };
        if self.slow.could_rest(plan.session, since) {
            self.learn_kind(&alike);
        }
    }

    fn learn_kind(&mut self, alike: &ProfiledSession) {
        let mut senders = alike.profile().senders();
        let source = |far: Option<&Far>| Some(path_of(far?, &self.topology)?.0);
        let sources = [(); 2].map(|()| source(senders.next().flatten()));
        self.resting.learn(alike, sources);
    }
}
