//! Cached modifications of sessions with a profile.
//!
//! Most handover requests differ only in the tunnel of the gNB and in the session parameters that they repeat. They
//! change sessions of one profile into sessions of another. The transition is computed once: decoding, merging,
//! validation and planning depend neither on the parameters nor on the session.

use std::hash::BuildHasher;
use std::sync::Arc;

use causeway_model::{
    MAX_TUNNELS, ProfileTransition, RuleSet, SessionParams, SessionProfile, TransitionEffect,
};
use causeway_pfcp::template::{RequestTemplate, RequestValues, node_id};
use causeway_types::{FSeid, FTeid, NodeId};
use foldhash::fast::SeedableRandomState;

use super::{CACHE_SIZE, ControlProfile, ProfiledRules, TemplateCache};
use crate::change::Change;
use crate::edits::ChosenUes;
use crate::validate::Context;
use crate::{ResourceChange, Resources, SessionRules};

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
    template: RequestTemplate,
    from: Arc<ControlProfile>,
    to: Arc<ControlProfile>,
    /// The sources of the session's tunnels.
    sources: [Option<Source>; MAX_TUNNELS],
    /// The local tunnels that the request refers to.
    locals: Locals,
    /// The Node ID in the request.
    node: Option<NodeId>,
    effect: Arc<TransitionEffect>,
}

/// The source of a tunnel: the session before the change, or the request.
#[derive(Clone, Copy, Debug)]
enum Source {
    Held(usize),
    AssignedTeid(usize),
}

type Locals = [Option<usize>; MAX_TUNNELS];

/// A modification that matches a cached message template.
#[derive(Clone, Debug)]
pub struct RecognizedModification {
    /// The new CP F-SEID, if the request has one.
    pub cp: Option<FSeid>,
    /// The change for the data plane.
    pub transition: ProfileTransition,
    /// The rules after it.
    pub after: ProfiledRules,
    template: Arc<TransitionTemplate>,
}

impl RecognizedModification {
    /// The Node ID in the request.
    pub fn node(&self) -> Option<&NodeId> {
        self.template.node.as_ref()
    }
}

impl Default for TransitionCache {
    fn default() -> Self {
        Self { places: vec![CacheSlot::default(); CACHE_SIZE], latest: Vec::new() }
    }
}

impl TransitionCache {
    fn find(
        &mut self,
        profiled: &ProfiledRules,
        body: &[u8],
        hash: impl FnOnce(&RequestTemplate) -> u64,
    ) -> Option<RecognizedModification> {
        let recent =
            (0..).zip(&self.latest).find_map(|(at, known)| Some((at, known.change(profiled, body)?)));
        if let Some((at, transition)) = recent {
            self.latest.get_mut(..=at)?.rotate_right(1);
            return Some(transition);
        }
        let index = hash(&RequestTemplate::modification(body)?) as usize % CACHE_SIZE;
        let known = self.places.get(index)?.cached.as_ref()?;
        let transition = known.change(profiled, body)?;
        self.latest.insert(0, Arc::clone(known));
        self.latest.truncate(RECENT_FIRST);
        Some(transition)
    }

    /// An equal profile, if there is one: a handover forth and back ends with the profile that it started with.
    fn equivalent(&self, profile: &ControlProfile) -> Option<Arc<ControlProfile>> {
        let known = self.places.iter().filter_map(|index| index.cached.as_ref());
        known.flat_map(|known| [&known.to, &known.from]).find(|known| known.is_equivalent(profile)).cloned()
    }
}

impl TransitionTemplate {
    /// The change of a session. `None`: the body has another template, or values are equal that must differ.
    fn change(self: &Arc<Self>, profiled: &ProfiledRules, body: &[u8]) -> Option<RecognizedModification> {
        if !Arc::ptr_eq(&self.from, profiled.profile()) {
            return None;
        }
        let values = self.template.values(body)?;
        let before = *profiled.params();
        let from = self.from.profile();
        changes_every_tunnel(&self.template, &values, from, &before).then_some(())?;
        (locals_of(&values, from, &before)? == self.locals).then_some(())?;
        let after = |source: Option<Source>| match source? {
            Source::Held(at) => before.remotes.get(at).copied().flatten(),
            Source::AssignedTeid(at) => values.remotes.get(at).copied().flatten(),
        };
        let params = SessionParams { remotes: self.sources.map(after), ..before };
        let policy = profiled.policy().cloned();
        let transition = ProfileTransition::new(Arc::clone(&self.effect), before, params, policy.clone());
        let after = ProfiledRules::new(Arc::clone(&self.to), params, policy);
        Some(RecognizedModification { cp: values.cp, transition, after, template: Arc::clone(self) })
    }
}

/// The local tunnels of the session that the request refers to. `None`: it refers to an address or tunnel that the
/// session does not have.
fn locals_of(values: &RequestValues, from: &SessionProfile, before: &SessionParams) -> Option<Locals> {
    values.ue.is_none_or(|ue| before.ue == Some(ue)).then_some(())?;
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
    template: &RequestTemplate,
    values: &RequestValues,
    from: &SessionProfile,
    before: &SessionParams,
) -> bool {
    let fars = template.slots().fars().iter().zip(values.remotes);
    let mut held = fars.map(|(far, values)| (far.and_then(|far| from.remote_of(far, before)), values));
    let [one, other] = before.remotes;
    held.all(|(held, values)| held.is_none() || held != values) && (one.is_none() || one != other)
}

fn hash_of(hasher: &SeedableRandomState, from: &Arc<ControlProfile>, template: &RequestTemplate) -> u64 {
    hasher.hash_one((Arc::as_ptr(from).addr(), template.octets()))
}

impl Resources {
    /// The change of a session by a modification with this body, if it matches a cached one and changes FARs only.
    /// The result equals that of [`crate::modify`] at the time the modification was cached; call that if this
    /// returns `None`.
    pub fn recognize_modification(
        &mut self,
        profiled: &ProfiledRules,
        body: &[u8],
    ) -> Option<RecognizedModification> {
        let TemplateCache { hasher, transitions, checked_against, .. } = &mut self.recent.template_cache;
        let transition =
            transitions.find(profiled, body, |template| hash_of(hasher, profiled.profile(), template))?;
        let (_, endpoints) = checked_against.as_ref()?;
        transition.after.params().has_remote_peers(endpoints).then_some(transition)
    }

    /// Caches a modification if its template was received before. `profiled`: the session before it.
    pub fn cache_transition(
        &mut self,
        profiled: &ProfiledRules,
        body: &[u8],
        change: &Change,
        context: &Context<'_>,
    ) {
        let templates = &mut self.recent.template_cache;
        let Some(template) = RequestTemplate::modification(body).filter(|_| templates.is_made_for(context))
        else {
            return;
        };
        let TemplateCache { hasher, transitions, .. } = templates;
        let hash = hash_of(hasher, profiled.profile(), &template);
        let at = hash as usize % CACHE_SIZE;
        let was_met = transitions.places.get(at).is_some_and(|index| index.last_hash == hash);
        let learnt =
            if was_met { transition_of(template, profiled, body, change, transitions) } else { None };
        let Some(index) = transitions.places.get_mut(at) else { return };
        index.last_hash = hash;
        if let Some(learnt) = learnt {
            index.cached = Some(Arc::new(learnt));
        }
    }
}

/// `None`: the modification has an effect that it would not have on another session of the profile.
fn transition_of(
    template: RequestTemplate,
    profiled: &ProfiledRules,
    body: &[u8],
    change: &Change,
    transitions: &TransitionCache,
) -> Option<TransitionTemplate> {
    let (held, before) = (profiled.profile(), profiled.params());
    let from = held.profile();
    let values = template.values(body)?;
    let changes_nothing_else = changes_only_fars(&profiled.to_rules(), change)
        && !change.plan.change.is_empty()
        && changes_every_tunnel(&template, &values, from, before);
    let (locals, node) = (locals_of(&values, from, before)?, node_id(body)?);
    let to = held.with_fars(before, &change.session).filter(|_| changes_nothing_else)?;
    let to = transitions
        .equivalent(&to)
        .or_else(|| held.is_equivalent(&to).then(|| Arc::clone(held)))
        .unwrap_or(Arc::new(to));
    let source = |far| {
        let values = template.slots().fars().iter().position(|values| *values == Some(far));
        values.map(Source::AssignedTeid).or_else(|| from.remote_index(far).map(Source::Held))
    };
    let sources = to.profile().fars().map(|far| far.and_then(source));
    let ops = change.plan.ops().into_owned();
    let effect = TransitionEffect::new(Arc::clone(from), Arc::clone(to.profile()), ops)?;
    let (from, effect) = (Arc::clone(held), Arc::new(effect));
    Some(TransitionTemplate { template, from, to, sources, locals, node, effect })
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
