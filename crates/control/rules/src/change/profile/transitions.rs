//! Cached modifications of sessions with a profile.
//!
//! Most handover requests differ only in the tunnel of the gNB and in the session parameters that they repeat. They
//! change sessions of one profile into sessions of another. The transition is computed once: decoding, merging,
//! validation and planning depend neither on the parameters nor on the session.

use std::hash::BuildHasher;
use std::sync::Arc;

use causeway_types::{FSeid, FTeid, NodeId};
use foldhash::fast::SeedableRandomState;

use super::message_template::MessageTemplate;
use super::params::MAX_TUNNELS;
use super::slots::{SlotValues, node_id};
use super::{CACHE_SIZE, Policy, ProfiledSession, SessionParams, SessionProfile, TemplateCache};
use crate::change::Change;
use crate::edits::ChosenUes;
use crate::plan::Op;
use crate::validate::Context;
use crate::{ResourceChange, Resources, RuleSet, SessionRules};

/// The number of most recently used transitions that are tried first.
const RECENT_FIRST: usize = 16;

/// The recently used transitions.
#[derive(Clone, Debug)]
pub(super) struct TransitionCache {
    /// Each transition has one place, by the hash of its message template and its profile, as in the template
    /// cache.
    places: Vec<CacheSlot>,
    latest: Vec<Arc<TransitionTemplate>>,
}

#[derive(Clone, Default, Debug)]
struct CacheSlot {
    last_hash: u64,
    cached: Option<Arc<TransitionTemplate>>,
}

/// The effect of one message template on sessions of one profile.
#[derive(Debug)]
struct TransitionTemplate {
    template: MessageTemplate,
    from: Arc<SessionProfile>,
    to: Arc<SessionProfile>,
    /// The sources of the session's tunnels.
    sources: [Option<Source>; MAX_TUNNELS],
    /// The local tunnels that the request refers to.
    locals: Locals,
    /// The Node ID in the request.
    node: Option<NodeId>,
    /// The writes for the first session.
    ops: Vec<Op>,
}

/// The source of a tunnel: the session before the change, or the request.
#[derive(Clone, Copy, Debug)]
enum Source {
    Held(usize),
    AssignedTeid(usize),
}

type Locals = [Option<usize>; MAX_TUNNELS];

/// A change of a profiled session by a cached modification.
#[derive(Clone, Debug)]
pub struct ProfileTransition {
    how: Arc<TransitionTemplate>,
    cp: Option<FSeid>,
    before: SessionParams,
    after: SessionParams,
    /// The session's rates and flow descriptions, before and after.
    policy: Option<Arc<Policy>>,
}

impl Default for TransitionCache {
    fn default() -> Self {
        Self { places: vec![CacheSlot::default(); CACHE_SIZE], latest: Vec::new() }
    }
}

impl TransitionCache {
    fn find(
        &mut self,
        profiled: &ProfiledSession,
        body: &[u8],
        hash: impl FnOnce(&MessageTemplate) -> u64,
    ) -> Option<ProfileTransition> {
        let recent =
            (0..).zip(&self.latest).find_map(|(at, known)| Some((at, known.change(profiled, body)?)));
        if let Some((at, transition)) = recent {
            self.latest.get_mut(..=at)?.rotate_right(1);
            return Some(transition);
        }
        let index = hash(&MessageTemplate::of_update(body)?) as usize % CACHE_SIZE;
        let known = self.places.get(index)?.cached.as_ref()?;
        let transition = known.change(profiled, body)?;
        self.latest.insert(0, Arc::clone(known));
        self.latest.truncate(RECENT_FIRST);
        Some(transition)
    }

    /// An equal profile, if there is one: a handover forth and back ends with the profile that it started with.
    fn same(&self, profile: &SessionProfile) -> Option<Arc<SessionProfile>> {
        let known = self.places.iter().filter_map(|index| index.cached.as_ref());
        known.flat_map(|known| [&known.to, &known.from]).find(|known| known.is_equivalent(profile)).cloned()
    }
}

impl TransitionTemplate {
    /// The change of a session. `None`: the body has another template, or values are equal that must differ.
    fn change(self: &Arc<Self>, profiled: &ProfiledSession, body: &[u8]) -> Option<ProfileTransition> {
        if !Arc::ptr_eq(&self.from, profiled.profile()) {
            return None;
        }
        let values = self.template.slot_values(body)?;
        let before = *profiled.params();
        changes_every_tunnel(&self.template, &values, &self.from, &before).then_some(())?;
        (locals_of(&values, &self.from, &before)? == self.locals).then_some(())?;
        let after = |source: Option<Source>| match source? {
            Source::Held(at) => before.remotes.get(at).copied().flatten(),
            Source::AssignedTeid(at) => values.params.remotes.get(at).copied().flatten(),
        };
        let after = SessionParams { remotes: self.sources.map(after), ..before };
        let policy = profiled.policy().cloned();
        Some(ProfileTransition { how: Arc::clone(self), cp: values.cp, before, after, policy })
    }
}

/// The local tunnels of the session that the request refers to. `None`: it refers to an address or tunnel that the
/// session does not have.
fn locals_of(values: &SlotValues, from: &SessionProfile, before: &SessionParams) -> Option<Locals> {
    values.params.ue.is_none_or(|ue| before.ue == Some(ue)).then_some(())?;
    let mut locals = [None; MAX_TUNNELS];
    for (local, values) in locals.iter_mut().zip(values.locals) {
        if let Some(values) = values.map(FTeid::from) {
            *local = Some(from.tunnels(before).position(|tunnel| tunnel == values)?);
        }
    }
    Some(locals)
}

/// Every tunnel in the request differs from the one before, and no two were equal: otherwise there would be fewer
/// writes and End Markers.
fn changes_every_tunnel(
    template: &MessageTemplate,
    values: &SlotValues,
    from: &SessionProfile,
    before: &SessionParams,
) -> bool {
    let fars = template.slots().fars.iter().zip(values.params.remotes);
    let mut held = fars.map(|(far, values)| (far.and_then(|far| from.remote_of(far, before)), values));
    let [one, other] = before.remotes;
    held.all(|(held, values)| held.is_none() || held != values) && (one.is_none() || one != other)
}

impl ProfileTransition {
    /// The new CP F-SEID, if the request has one.
    pub const fn cp(&self) -> Option<FSeid> {
        self.cp
    }

    /// The Node ID in the request.
    pub fn node(&self) -> Option<&NodeId> {
        self.how.node.as_ref()
    }

    /// The session before.
    pub fn before(&self) -> ProfiledSession {
        ProfiledSession::new(Arc::clone(&self.how.from), self.before, self.policy.clone())
    }

    /// The session after.
    pub fn after(&self) -> ProfiledSession {
        ProfiledSession::new(Arc::clone(&self.how.to), self.after, self.policy.clone())
    }

    /// The session's profile and parameters, before and after.
    pub fn before_and_after(&self) -> [(&Arc<SessionProfile>, &SessionParams); 2] {
        [(&self.how.from, &self.before), (&self.how.to, &self.after)]
    }

    /// The tunnels that are sent an End Marker, in the order of the plan.
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

fn hash_of(hasher: &SeedableRandomState, from: &Arc<SessionProfile>, template: &MessageTemplate) -> u64 {
    hasher.hash_one((Arc::as_ptr(from).addr(), template.octets()))
}

impl Resources {
    /// The change of a session by a modification with this body, if it matches a cached one and changes FARs only.
    /// The result equals that of [`crate::modify`] at the time the modification was cached; call that if this
    /// returns `None`.
    pub fn recognize_modification(
        &mut self,
        profiled: &ProfiledSession,
        body: &[u8],
    ) -> Option<ProfileTransition> {
        let TemplateCache { hasher, transitions: moves, checked_against: topology, .. } =
            &mut self.recent.template_cache;
        let transition =
            moves.find(profiled, body, |template| hash_of(hasher, profiled.profile(), template))?;
        let (_, endpoints) = topology.as_ref()?;
        transition.after.has_remote_peers(endpoints).then_some(transition)
    }

    /// Caches a modification if its template was received before. `profiled`: the session before it.
    pub fn cache_transition(
        &mut self,
        profiled: &ProfiledSession,
        body: &[u8],
        change: &Change,
        context: &Context<'_>,
    ) {
        let templates = &mut self.recent.template_cache;
        let Some(template) = MessageTemplate::of_update(body).filter(|_| templates.is_made_for(context))
        else {
            return;
        };
        let TemplateCache { hasher, transitions: moves, .. } = templates;
        let hash = hash_of(hasher, profiled.profile(), &template);
        let at = hash as usize % CACHE_SIZE;
        let was_met = moves.places.get(at).is_some_and(|index| index.last_hash == hash);
        let learnt = if was_met { transition_of(template, profiled, body, change, moves) } else { None };
        let Some(index) = moves.places.get_mut(at) else { return };
        index.last_hash = hash;
        if let Some(learnt) = learnt {
            index.cached = Some(Arc::new(learnt));
        }
    }
}

/// `None`: the modification has an effect that it would not have on another session of the profile.
fn transition_of(
    template: MessageTemplate,
    profiled: &ProfiledSession,
    body: &[u8],
    change: &Change,
    moves: &TransitionCache,
) -> Option<TransitionTemplate> {
    let (from, before) = (profiled.profile(), profiled.params());
    let values = template.slot_values(body)?;
    let is_plain = changes_only_fars(&profiled.to_rules(), change)
        && change.plan.ops.iter().all(writes_fars)
        && !change.plan.ops.is_empty()
        && changes_every_tunnel(&template, &values, from, before);
    let (locals, node) = (locals_of(&values, from, before)?, node_id(body)?);
    let to = from.with_fars(before, &change.session).filter(|_| is_plain)?;
    let to =
        moves.same(&to).or_else(|| from.is_equivalent(&to).then(|| Arc::clone(from))).unwrap_or(Arc::new(to));
    let source = |far| {
        let values = template.slots().fars.iter().position(|values| *values == Some(far));
        values.map(Source::AssignedTeid).or_else(|| from.remote_index(far).map(Source::Held))
    };
    let sources = to.fars().map(|far| far.and_then(source));
    let ops = change.plan.ops.to_vec();
    Some(TransitionTemplate { template, from: Arc::clone(from), to, sources, locals, node, ops })
}

/// The write is one that [`ProfileTransition`] can reproduce.
const fn writes_fars(op: &Op) -> bool {
    matches!(op, Op::PutFar(_) | Op::SendEndMarker { .. } | Op::NotifyAgain(_))
}

fn changes_only_fars(old: &SessionRules, change: &Change) -> bool {
    let Change { session, plan, chosen, chosen_endpoints, ues, resources, query_reference, tolerated } =
        change;
    let rules = RuleSet { fars: old.rules.fars.clone(), ..session.rules.clone() };
    let as_before = SessionRules { rules, ..session.clone() };
    as_before == *old
        && chosen.is_empty()
        && chosen_endpoints.is_empty()
        && *ues == ChosenUes::default()
        && *resources == ResourceChange::empty(plan.session)
        && query_reference.is_none()
        && tolerated.is_empty()
}

/// The transition of a session by this plan. `None`: it writes more than FARs.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn from_plan(
    profiled: &ProfiledSession,
    to: &ProfiledSession,
    ops: Vec<Op>,
) -> Option<ProfileTransition> {
    let (before, after) = (*profiled.params(), *to.params());
    let policy = to.policy().cloned();
    let (from, to) = (Arc::clone(profiled.profile()), Arc::clone(to.profile()));
    let is_plain = ops.iter().all(writes_fars);
    let (template, sources, locals) = (MessageTemplate::default(), [None; MAX_TUNNELS], [None; MAX_TUNNELS]);
    let how = TransitionTemplate { template, from, to, sources, locals, node: None, ops };
    is_plain.then(|| ProfileTransition { how: Arc::new(how), cp: None, before, after, policy })
}
