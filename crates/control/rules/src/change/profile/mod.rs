//! Sessions that are established with the message template of an earlier request.
//!
//! Most establishment requests of an SMF for one data network differ only in session parameters: the F-SEID, the
//! UE's IPv4 address, the tunnels of gNBs, and local TEIDs where the SMF assigns them. Decoding, merging and
//! validation do not depend on these values. The result for one request therefore serves the next, with the next
//! session's parameters and tunnels. Where bit rates or flow descriptions differ from session to session, they are
//! parameters as well: the policy.

mod control_profile;
mod profiled_rules;
mod restored;
mod transitions;

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use causeway_model::{Capabilities, LocalEndpoints, Policy, PolicySlots, RateKind, RateLimit, SessionParams};
use causeway_pfcp::template::{PolicyValues, RateSlot, RequestSlots, RequestTemplate, RequestValues};
use causeway_pfcp::{Mbr, SessionEstablishmentFlags, SessionEstablishmentRequest};
use causeway_types::{FSeid, NtpSeconds, Seid};
use foldhash::fast::SeedableRandomState;

pub use self::control_profile::ControlProfile;
pub use self::profiled_rules::ProfiledRules;
pub(crate) use self::restored::RestoredProfiles;
pub use self::transitions::RecognizedModification;
use super::Change;
use crate::Resources;
use crate::validate::Context;

/// Capacity of the cache in message templates.
const CACHE_SIZE: usize = 256;

/// The number of most recently used templates that are tried first.
const RECENT_FIRST: usize = 8;

/// The recently used message templates and their session profiles.
#[derive(Clone, Debug)]
pub(crate) struct TemplateCache {
    hasher: SeedableRandomState,
    /// Each template has one place, by its hash. A place holds the latest template that was received twice in a
    /// row.
    places: Vec<CacheSlot>,
    /// The places of the most recently used templates, the latest first.
    latest: Vec<usize>,
    /// The cached modifications of such sessions.
    transitions: transitions::TransitionCache,
    /// What the templates were checked against.
    checked_against: Option<(Capabilities, LocalEndpoints)>,
}

#[derive(Clone, Default, Debug)]
struct CacheSlot {
    /// The hash of the last request read here. A template that is received only once is not cached and replaces
    /// none.
    last_hash: u64,
    cached: Option<Box<CachedTemplate>>,
}

/// A message template and its session profile.
#[derive(Clone, Debug)]
struct CachedTemplate {
    template: RequestTemplate,
    profile: Arc<ControlProfile>,
    /// The request puts the session into session sets, which are not part of the rules.
    names_sets: bool,
    /// The place of the User ID in the requests; empty: they have none.
    user: Range<usize>,
}

/// The hash is seeded at random, since peers choose the octets.
impl Default for TemplateCache {
    fn default() -> Self {
        Self::with_hasher(SeedableRandomState::random())
    }
}

impl TemplateCache {
    fn with_hasher(hasher: SeedableRandomState) -> Self {
        Self {
            hasher,
            places: vec![CacheSlot::default(); CACHE_SIZE],
            latest: Vec::new(),
            transitions: transitions::TransitionCache::default(),
            checked_against: None,
        }
    }
}

/// A request that matches a cached message template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecognizedRequest {
    /// The session profile.
    pub profile: Arc<ControlProfile>,
    /// The CP F-SEID.
    pub cp: FSeid,
    /// The Recovery Time Stamp, if there is one.
    pub recovery: Option<NtpSeconds>,
    /// The place of the User ID in the body; empty: there is none.
    pub user: Range<usize>,
    /// The session parameters, without the tunnels that the UPF has yet to choose.
    params: SessionParams,
    /// The session's bit rates and flow descriptions, if its template has slots for them.
    policy: Option<Arc<Policy>>,
}

/// A request that may be cached.
pub(super) struct TemplateCandidate {
    /// The templates to try, with hashes: the one with the policy as fixed octets first, then the one with the
    /// policy in slots.
    templates: Vec<(RequestTemplate, u64)>,
    body: Box<[u8]>,
    params: SessionParams,
    names_sets: bool,
}

impl CachedTemplate {
    /// The policy of a request with this template, if the template has slots for it. `None`: the policy could lead
    /// to another result than that of the first request.
    fn policy(&self, body: &[u8]) -> Option<Option<Arc<Policy>>> {
        let Some(first) = self.profile.profile().policy() else { return Some(None) };
        let policy = policy_of(&self.template.slots().policy(body)?)?;
        self.profile.profile().slots().admit(policy, first).map(Some)
    }
}

impl TemplateCache {
    /// `None`: the request has a value that no other session's request has.
    fn read(&self, request: &SessionEstablishmentRequest<'_>) -> Option<TemplateCandidate> {
        // A restoration has rejections of its own.
        if request.flags.is_some_and(|flags| flags.contains(SessionEstablishmentFlags::RESTI)) {
            return None;
        }
        let body = request.other.octets()?;
        let (template, with_policy) = RequestTemplate::establishment(body)?;
        let names_sets = !request.fq_csids.is_empty() || request.group_id.is_some();
        let params = params_of(&template.values(body)?);
        let hashed = |template: RequestTemplate| {
            let hash = self.hasher.hash_one(template.octets());
            (template, hash)
        };
        let templates = [Some(template), with_policy].into_iter().flatten().map(hashed).collect();
        Some(TemplateCandidate { templates, body: body.into(), params, names_sets })
    }

    /// A profile is valid only for the capabilities and addresses that it was made with.
    fn is_made_for(&self, context: &Context<'_>) -> bool {
        self.checked_against.as_ref().is_some_and(|(capabilities, endpoints)| {
            capabilities == context.capabilities && endpoints == context.endpoints
        })
    }

    fn cached_at(&self, index: usize) -> Option<&CachedTemplate> {
        self.places.get(index)?.cached.as_deref()
    }

    /// The cached template that a body matches, and the slot values of the body.
    fn recognize(&mut self, body: &[u8]) -> Option<(&CachedTemplate, RequestValues, SessionParams)> {
        let values_at = |index: &usize| self.cached_at(*index)?.template.values(body);
        // Nearly always the first one.
        let first = self.latest.first().and_then(values_at);
        let recent =
            || self.latest.iter().enumerate().skip(1).find_map(|(at, index)| Some((at, values_at(index)?)));
        let values = match first.map(|values| (0, values)).or_else(recent) {
            Some((0, values)) => values,
            Some((at, values)) => {
                self.latest.get_mut(..=at).into_iter().for_each(|all| all.rotate_right(1));
                values
            }
            None => {
                let (template, with_policy) = RequestTemplate::establishment(body)?;
                let found = [Some(template), with_policy].into_iter().flatten().find_map(|template| {
                    let index = self.hasher.hash_one(template.octets()) as usize % CACHE_SIZE;
                    Some((index, values_at(&index)?))
                });
                let (index, values) = found?;
                self.latest.insert(0, index);
                self.latest.truncate(RECENT_FIRST);
                values
            }
        };
        let (_, endpoints) = self.checked_against.as_ref()?;
        let params = params_of(&values);
        params.has_valid_addresses(endpoints).then_some(())?;
        Some((self.cached_at(*self.latest.first()?)?, values, params))
    }
}

impl Resources {
    /// The session that an establishment body requests, if it matches a cached template and concerns rules only.
    /// The result equals that of [`super::establish`] at the time the template was cached; call that if this
    /// returns `None`.
    pub fn recognize(&mut self, body: &[u8]) -> Option<RecognizedRequest> {
        let (cached, values, params) = self.recent.template_cache.recognize(body)?;
        if cached.names_sets {
            return None;
        }
        let (profile, policy) = (Arc::clone(&cached.profile), cached.policy(body)?);
        let (recovery, user) = (values.recovery, cached.user.clone());
        Some(RecognizedRequest { profile, cp: values.cp?, recovery, user, params, policy })
    }

    /// The CP F-SEID of an establishment body, if it matches the most recent template: a prediction, for
    /// prefetching the state of a session before its request is decoded.
    pub fn peek_cp_f_seid(&self, body: &[u8]) -> Option<FSeid> {
        let templates = &self.recent.template_cache;
        templates.cached_at(*templates.latest.first()?)?.template.peek_cp_f_seid(body)
    }

    /// Takes the tunnels and addresses of a session. `None`: they cannot be had, nothing is taken, and
    /// [`super::establish`] decides what happens.
    pub fn take(&mut self, known: RecognizedRequest, session: Seid) -> Option<ProfiledRules> {
        let RecognizedRequest { profile, params, policy, .. } = known;
        let params = profile.take(&params, session, &mut self.claims())?;
        Some(ProfiledRules::new(profile, params, policy))
    }

    /// Releases what [`Resources::take`] took. `was_seen`: others may know the address or tunnel, so it is
    /// quarantined.
    pub fn release(&mut self, session: Seid, profiled: &ProfiledRules, was_seen: bool) {
        let mut claims = self.claims();
        for tunnel in profiled.tunnels() {
            claims.tunnels.release(session, &[tunnel]);
        }
        for (held, net) in profiled.nets() {
            claims.addresses.release_net(session, (held, &net), was_seen);
        }
    }
}

/// Plans a session from the profile of an earlier one with the same message template. `Err`: there is no profile,
/// or there are no resources for another session; with the candidate to cache the request by, if it can be cached.
pub(super) fn establish_profiled(
    request: &SessionEstablishmentRequest<'_>,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<Change, Option<TemplateCandidate>> {
    let templates = &resources.recent.template_cache;
    let Some(candidate) = templates.read(request) else { return Err(None) };
    let known = candidate.templates.iter().find_map(|(template, hash)| {
        let cached = templates.cached_at(*hash as usize % CACHE_SIZE)?;
        let policy =
            if cached.template == *template { cached.policy(&candidate.body)? } else { return None };
        Some((Arc::clone(&cached.profile), policy))
    });
    let Some((profile, policy)) = known else { return Err(Some(candidate)) };
    let Resources { claims, recent } = resources;
    if !(recent.template_cache.is_made_for(context)
        && candidate.params.has_valid_addresses(context.endpoints))
    {
        return Err(Some(candidate));
    }
    let params = profile.take(&candidate.params, session, &mut claims.lock()).ok_or(Some(candidate))?;
    Ok(ProfiledRules::new(profile, params, policy).as_change(session))
}

/// Caches the result of a request if its template was received before: with the policy as fixed octets if that
/// matches, otherwise with the policy in slots.
pub(super) fn insert(
    candidate: TemplateCandidate,
    change: &Change,
    context: &Context<'_>,
    resources: &mut Resources,
) {
    let cache = &mut resources.recent.template_cache;
    if !cache.is_made_for(context) {
        cache.places.fill(CacheSlot::default());
        cache.transitions = transitions::TransitionCache::default();
        cache.checked_against = Some((*context.capabilities, context.endpoints.clone()));
    }
    let TemplateCandidate { templates, params, names_sets, .. } = candidate;
    for (template, hash) in templates {
        let Some(slot) = cache.places.get_mut(hash as usize % CACHE_SIZE) else { return };
        if slot.last_hash != hash {
            slot.last_hash = hash;
            continue;
        }
        let profile = ControlProfile::of(change, &params, template.slots(), template.octets().len());
        if let Some(profile) = profile {
            let (profile, user) = (Arc::new(profile), template.slots().user().unwrap_or_default());
            slot.cached = Some(Box::new(CachedTemplate { template, profile, names_sets, user }));
        }
        return;
    }
}

/// The session parameters of a request.
fn params_of(values: &RequestValues) -> SessionParams {
    SessionParams { ue: values.ue, tunnels: values.assigned, remotes: values.remotes }
}

/// The policy of a request. `None`: a flow description cannot be parsed.
fn policy_of(values: &PolicyValues<'_>) -> Option<Policy> {
    let rate = |Mbr { uplink, downlink }: &Mbr| RateLimit { uplink: *uplink, downlink: *downlink };
    Some(Policy {
        rates: values.rates.iter().map(rate).collect(),
        flows: values.flows.iter().map(|flow| flow.parse().ok()).collect::<Option<_>>()?,
        further: None,
    })
}

/// The places of policy values in the rules of such a request.
fn policy_slots_of(slots: &RequestSlots) -> PolicySlots {
    let kind = |slot| match slot {
        RateSlot::Maximum => RateKind::Maximum,
        RateSlot::Guaranteed => RateKind::Guaranteed,
    };
    PolicySlots {
        rates: slots.rates().iter().map(|(qer, slot)| (*qer, kind(*slot))).collect(),
        flows: slots.flows().to_vec(),
        ..PolicySlots::default()
    }
}

#[cfg(test)]
mod tests;
