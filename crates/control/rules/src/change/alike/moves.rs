//! Changes of sessions that were asked for in the same words.
//!
//! A handover is asked for in the same words for most sessions, but for the tunnel of the gNB and what is said again of the session, and takes sessions with one template
//! to sessions with another. What that is was found out once: decoding, merging, validating and planning depend neither on the
//! values nor on the session.

use std::hash::BuildHasher;
use std::sync::Arc;

use causeway_types::{FSeid, FTeid, NodeId};
use foldhash::fast::SeedableRandomState;

use super::holes::{Filling, node_of};
use super::own::MOST;
use super::words::Words;
use super::{Alike, Own, Policy, REMEMBERED, Template, Wordings};
use crate::change::Change;
use crate::edits::ChosenUes;
use crate::plan::Op;
use crate::validate::Context;
use crate::{ResourceChange, Resources, RuleSet, SessionRules};

/// How many of those that were met last are looked at first.
const LATEST: usize = 16;

/// The changes that were met lately.
#[derive(Clone, Debug)]
pub(super) struct Moves {
    /// Each has one place, by the hash of its words and its template, as wordings have.
    places: Vec<Place>,
    latest: Vec<Arc<Move>>,
}

#[derive(Clone, Default, Debug)]
struct Place {
    met: u64,
    known: Option<Arc<Move>>,
}

/// What one wording makes of the sessions of a template.
#[derive(Debug)]
struct Move {
    words: Words,
    from: Arc<Template>,
    to: Arc<Template>,
    /// Where the tunnels of a session come from.
    sources: [Option<Source>; MOST],
    /// Which of the tunnels that end here those are that the request names.
    locals: Locals,
    /// Which SMF the request says it is from.
    node: Option<NodeId>,
    /// What was written for the session that it was first met with.
    ops: Vec<Op>,
}

/// Where a tunnel comes from: one of those that the session had, or of those in the request.
#[derive(Clone, Copy, Debug)]
enum Source {
    Held(usize),
    Given(usize),
}

type Locals = [Option<usize>; MOST];

/// A change of a session in known words.
#[derive(Clone, Debug)]
pub struct Moved {
    how: Arc<Move>,
    cp: Option<FSeid>,
    before: Own,
    after: Own,
    /// Its rates and flows, before and after.
    policy: Option<Arc<Policy>>,
}

impl Default for Moves {
    fn default() -> Self {
        Self { places: vec![Place::default(); REMEMBERED], latest: Vec::new() }
    }
}

impl Moves {
    fn find(&mut self, alike: &Alike, body: &[u8], hash: impl FnOnce(&Words) -> u64) -> Option<Moved> {
        let recent = (0..).zip(&self.latest).find_map(|(at, known)| Some((at, known.change(alike, body)?)));
        if let Some((at, moved)) = recent {
            self.latest.get_mut(..=at)?.rotate_right(1);
            return Some(moved);
        }
        let place = hash(&Words::of_update(body)?) as usize % REMEMBERED;
        let known = self.places.get(place)?.known.as_ref()?;
        let moved = known.change(alike, body)?;
        self.latest.insert(0, Arc::clone(known));
        self.latest.truncate(LATEST);
        Some(moved)
    }

    /// A template that says the same as this one, if there is one: so that handovers there and back end where they began.
    fn same(&self, template: &Template) -> Option<Arc<Template>> {
        let known = self.places.iter().filter_map(|place| place.known.as_ref());
        known.flat_map(|known| [&known.to, &known.from]).find(|known| known.is_like(template)).cloned()
    }
}

impl Move {
    /// What it makes of a session. `None`: the words are others, or values that must differ do not.
    fn change(self: &Arc<Self>, alike: &Alike, body: &[u8]) -> Option<Moved> {
        if !Arc::ptr_eq(&self.from, alike.template()) {
            return None;
        }
        let given = self.words.filling(body)?;
        let before = *alike.own();
        is_change(&self.words, &given, &self.from, &before).then_some(())?;
        (locals_of(&given, &self.from, &before)? == self.locals).then_some(())?;
        let after = |source: Option<Source>| match source? {
            Source::Held(at) => before.remotes.get(at).copied().flatten(),
            Source::Given(at) => given.own.remotes.get(at).copied().flatten(),
        };
        let after = Own { remotes: self.sources.map(after), ..before };
        let policy = alike.policy().cloned();
        Some(Moved { how: Arc::clone(self), cp: given.cp, before, after, policy })
    }
}

/// Which tunnels of the session the request names. `None`: it names what the session has not, its address or a tunnel.
fn locals_of(given: &Filling, from: &Template, before: &Own) -> Option<Locals> {
    given.own.ue.is_none_or(|ue| before.ue == Some(ue)).then_some(())?;
    let mut locals = [None; MOST];
    for (local, given) in locals.iter_mut().zip(given.locals) {
        if let Some(given) = given.map(FTeid::from) {
            *local = Some(from.tunnels(before).position(|tunnel| tunnel == given)?);
        }
    }
    Some(locals)
}

/// Every tunnel that is given is another one than before, and no two were the same: else less would be written, and fewer would hear
/// of their end.
fn is_change(words: &Words, given: &Filling, from: &Template, before: &Own) -> bool {
    let fars = words.holes().fars.iter().zip(given.own.remotes);
    let mut held = fars.map(|(far, given)| (far.and_then(|far| from.remote_of(far, before)), given));
    let [one, other] = before.remotes;
    held.all(|(held, given)| held.is_none() || held != given) && (one.is_none() || one != other)
}

impl Moved {
    /// The SMF's new end, if the request names one.
    pub const fn cp(&self) -> Option<FSeid> {
        self.cp
    }

    /// Which SMF the request says it is from.
    pub fn node(&self) -> Option<&NodeId> {
        self.how.node.as_ref()
    }

    /// The session before.
    pub fn before(&self) -> Alike {
        Alike::new(Arc::clone(&self.how.from), self.before, self.policy.clone())
    }

    /// The session after.
    pub fn after(&self) -> Alike {
        Alike::new(Arc::clone(&self.how.to), self.after, self.policy.clone())
    }

    /// What the session has in common with others and what is its own, before and after.
    pub fn both(&self) -> [(&Arc<Template>, &Own); 2] {
        [(&self.how.from, &self.before), (&self.how.to, &self.after)]
    }

    /// The tunnels that hear of their end, in the order of the plan.
    pub fn end_markers(&self) -> impl Iterator<Item = FTeid> {
        self.how.ops.iter().filter_map(|op| match op {
            Op::SendEndMarker { far, tunnel } => {
                Some(self.how.from.remote_of(*far, &self.before).map_or(*tunnel, FTeid::from))
            }
            _ => None,
        })
    }

    /// The writes. O(changed rules).
    pub(crate) fn ops(&self) -> Vec<Op> {
        let mut markers = self.end_markers();
        let renewed = |op: &Op| match op {
            Op::PutFar(far) => match self.how.to.far_with(far.id, &self.after) {
                Some(renewed) => Op::PutFar(Arc::new(renewed)),
                None => Op::PutFar(Arc::clone(far)),
            },
            Op::SendEndMarker { far, tunnel } => {
                Op::SendEndMarker { far: *far, tunnel: markers.next().unwrap_or(*tunnel) }
            }
            op => op.clone(),
        };
        self.how.ops.iter().map(renewed).collect()
    }
}

fn hash_of(hasher: &SeedableRandomState, from: &Arc<Template>, words: &Words) -> u64 {
    hasher.hash_one((Arc::as_ptr(from).addr(), words.octets()))
}

impl Resources {
    /// What a modification with this body makes of a session, if it is one that was met before and changes nothing but FARs. It is the
    /// same as what [`crate::modify`] would make of it where that was met, which is to be asked where this does not know.
    pub fn moved(&mut self, alike: &Alike, body: &[u8]) -> Option<Moved> {
        let Wordings { hasher, moves, surroundings, .. } = &mut self.recent.alike;
        let moved = moves.find(alike, body, |words| hash_of(hasher, alike.template(), words))?;
        let (_, endpoints) = surroundings.as_ref()?;
        moved.after.leads_out(endpoints).then_some(moved)
    }

    /// Remembers what came of a modification with this body if one like it was met before. `alike`: the session before it.
    pub fn remember_move(&mut self, alike: &Alike, body: &[u8], change: &Change, context: &Context<'_>) {
        let wordings = &mut self.recent.alike;
        let Some(words) = Words::of_update(body).filter(|_| wordings.is_made_for(context)) else { return };
        let Wordings { hasher, moves, .. } = wordings;
        let hash = hash_of(hasher, alike.template(), &words);
        let at = hash as usize % REMEMBERED;
        let was_met = moves.places.get(at).is_some_and(|place| place.met == hash);
        let learnt = if was_met { learnt(words, alike, body, change, moves) } else { None };
        let Some(place) = moves.places.get_mut(at) else { return };
        place.met = hash;
        if let Some(learnt) = learnt {
            place.known = Some(Arc::new(learnt));
        }
    }
}

/// `None`: it does more than another session with the same template would have done to it.
fn learnt(words: Words, alike: &Alike, body: &[u8], change: &Change, moves: &Moves) -> Option<Move> {
    let (from, before) = (alike.template(), alike.own());
    let given = words.filling(body)?;
    let is_plain = changes_fars_alone(&alike.whole(), change)
        && change.plan.ops.iter().all(writes_fars)
        && !change.plan.ops.is_empty()
        && is_change(&words, &given, from, before);
    let (locals, node) = (locals_of(&given, from, before)?, node_of(body)?);
    let to = from.with_fars(before, &change.session).filter(|_| is_plain)?;
    let to = moves.same(&to).or_else(|| from.is_like(&to).then(|| Arc::clone(from))).unwrap_or(Arc::new(to));
    let source = |far| {
        let given = words.holes().fars.iter().position(|given| *given == Some(far));
        given.map(Source::Given).or_else(|| from.place_of(far).map(Source::Held))
    };
    let sources = to.fars().map(|far| far.and_then(source));
    let ops = change.plan.ops.to_vec();
    Some(Move { words, from: Arc::clone(from), to, sources, locals, node, ops })
}

/// It does nothing but what [`Moved`] can do again.
const fn writes_fars(op: &Op) -> bool {
    matches!(op, Op::PutFar(_) | Op::SendEndMarker { .. } | Op::NotifyAgain(_))
}

fn changes_fars_alone(old: &SessionRules, change: &Change) -> bool {
    let Change { session, plan, chosen, chosen_endpoints, ues, resources, query_reference, tolerated } =
        change;
    let rules = RuleSet { fars: old.rules.fars.clone(), ..session.rules.clone() };
    let as_before = SessionRules { rules, ..session.clone() };
    as_before == *old
        && chosen.is_empty()
        && chosen_endpoints.is_empty()
        && *ues == ChosenUes::default()
        && *resources == ResourceChange::nothing(plan.session)
        && query_reference.is_none()
        && tolerated.is_empty()
}

/// A change of a session to this plan, as one that was met before. `None`: it writes more than FARs.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn of_plan(alike: &Alike, to: &Alike, ops: Vec<Op>) -> Option<Moved> {
    let (before, after) = (*alike.own(), *to.own());
    let policy = to.policy().cloned();
    let (from, to) = (Arc::clone(alike.template()), Arc::clone(to.template()));
    let is_plain = ops.iter().all(writes_fars);
    let (words, sources, locals) = (Words::default(), [None; MOST], [None; MOST]);
    let how = Move { words, from, to, sources, locals, node: None, ops };
    is_plain.then(|| Moved { how: Arc::new(how), cp: None, before, after, policy })
}
