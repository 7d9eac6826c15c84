//! Sessions that are asked for as others were before.
//!
//! An SMF asks for most sessions of a data network in the same words, but for what is each session's own: the F-SEID, the
//! UE's IPv4 address, the tunnels of gNBs, and the TEIDs here where the SMF chooses them. Decoding, merging and validating
//! do not depend on the values of those, so what they once made of such a request serves for the next: with its own values,
//! and with tunnels of its own. Where bit rates or flow descriptions differ from session to session, too, those are its own as well: its
//! policy.

mod message_template;
mod params;
mod policy;
mod profiled_session;
mod session_profile;
mod slots;
mod transitions;

use std::hash::BuildHasher;
use std::sync::Arc;

use causeway_pfcp::{SessionEstablishmentFlags, SessionEstablishmentRequest};
use causeway_types::{FSeid, NtpSeconds, Seid};
use foldhash::fast::SeedableRandomState;

use self::message_template::MessageTemplate;
pub use self::params::{Remote, SessionParams};
pub use self::policy::Policy;
pub use self::profiled_session::ProfiledSession;
pub use self::session_profile::SessionProfile;
pub use self::transitions::ProfileTransition;
#[cfg(any(test, feature = "testing"))]
pub(crate) use self::transitions::from_plan;
use super::Change;
use crate::validate::Context;
use crate::{Capabilities, LocalEndpoints, Resources};

/// How many wordings are remembered.
const CACHE_SIZE: usize = 256;

/// How many of those that were met last are looked at first.
const RECENT_FIRST: usize = 8;

/// The wordings that were met lately, and what came of them.
#[derive(Clone, Debug)]
pub(crate) struct TemplateCache {
    hasher: SeedableRandomState,
    /// Each wording has one place, by its hash; the latest there that was met twice in a row is remembered.
    places: Vec<CacheSlot>,
    /// The places of the wordings that were met last, the latest first.
    latest: Vec<usize>,
    /// What became of such sessions.
    transitions: transitions::TransitionCache,
    /// What the templates were checked against.
    checked_against: Option<(Capabilities, LocalEndpoints)>,
}

#[derive(Clone, Default, Debug)]
struct CacheSlot {
    /// The hash of the wording that was read here last. One that is met once only is not worth keeping, nor displaces another.
    last_hash: u64,
    cached: Option<Box<CachedTemplate>>,
}

/// A wording and what it means.
#[derive(Clone, Debug)]
struct CachedTemplate {
    template: MessageTemplate,
    profile: Arc<SessionProfile>,
    /// It puts the session into sets of sessions, which is not a matter of rules.
    names_sets: bool,
}

/// Seeded anew each time, since peers choose the words.
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

/// A request in known words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecognizedRequest {
    /// What it has in common with others.
    pub profile: Arc<SessionProfile>,
    /// The SMF's end.
    pub cp: FSeid,
    /// The Recovery Time Stamp, if there is one.
    pub recovery: Option<NtpSeconds>,
    /// What is its own; without the tunnels that the UPF still has to choose.
    params: SessionParams,
    /// Its rates and flows, if its template has slots for them.
    policy: Option<Arc<Policy>>,
}

/// A request that may be remembered.
pub(super) struct TemplateCandidate {
    /// With the policy as one of the words first, then without it. With hashes.
    ways: Vec<(MessageTemplate, u64)>,
    body: Box<[u8]>,
    params: SessionParams,
    names_sets: bool,
}

impl CachedTemplate {
    /// The policy of a request in these words, if the template has slots for it. `None`: it could not mean the same as the first one's.
    fn policy(&self, body: &[u8]) -> Option<Option<Arc<Policy>>> {
        let Some(first) = self.profile.policy() else { return Some(None) };
        let policy = self.template.slots().policy(body)?;
        self.profile.slots().admit(policy, first).map(Some)
    }
}

impl TemplateCache {
    /// `None`: the request has something that no other session's request has.
    fn read(&self, request: &SessionEstablishmentRequest<'_>) -> Option<TemplateCandidate> {
        // What is restored has refusals of its own.
        if request.flags.is_some_and(|flags| flags.contains(SessionEstablishmentFlags::RESTI)) {
            return None;
        }
        let body = request.other.octets()?;
        let (template, profile) = MessageTemplate::of(body)?;
        let names_sets = !request.fq_csids.is_empty() || request.group_id.is_some();
        let params = template.slots().slot_values(body)?.params;
        let hashed = |template: MessageTemplate| (self.hasher.hash_one(template.octets()), template);
        let ways = [Some(template), profile].into_iter().flatten().map(hashed);
        let ways = ways.map(|(hash, template)| (template, hash)).collect();
        Some(TemplateCandidate { ways, body: body.into(), params, names_sets })
    }

    /// Templates hold only where they were made.
    fn is_made_for(&self, context: &Context<'_>) -> bool {
        self.checked_against.as_ref().is_some_and(|(capabilities, endpoints)| {
            capabilities == context.capabilities && endpoints == context.endpoints
        })
    }

    fn meaning(&self, index: usize) -> Option<&CachedTemplate> {
        self.places.get(index)?.cached.as_deref()
    }

    /// What a body in known words means.
    fn recognize(&mut self, body: &[u8]) -> Option<(&CachedTemplate, slots::SlotValues)> {
        let is_it = |index: &usize| self.meaning(*index)?.template.slot_values(body);
        // Nearly always the first.
        let first = self.latest.first().and_then(is_it);
        let recent =
            || self.latest.iter().enumerate().skip(1).find_map(|(at, index)| Some((at, is_it(index)?)));
        let filling = match first.map(|filling| (0, filling)).or_else(recent) {
            Some((0, filling)) => filling,
            Some((at, filling)) => {
                self.latest.get_mut(..=at).into_iter().for_each(|all| all.rotate_right(1));
                filling
            }
            None => {
                let (template, profile) = MessageTemplate::of(body)?;
                let found = [Some(template), profile].into_iter().flatten().find_map(|template| {
                    let index = self.hasher.hash_one(template.octets()) as usize % CACHE_SIZE;
                    Some((index, is_it(&index)?))
                });
                let (index, filling) = found?;
                self.latest.insert(0, index);
                self.latest.truncate(RECENT_FIRST);
                filling
            }
        };
        let (_, endpoints) = self.checked_against.as_ref()?;
        filling.params.has_valid_addresses(endpoints).then_some(())?;
        Some((self.meaning(*self.latest.first()?)?, filling))
    }
}

impl Resources {
    /// What an establishment with this body asks for, if it is in words that were met before and about nothing but rules. It is
    /// the same as what [`super::establish`] would make of it where those were met, which is to be asked where this does not know.
    pub fn recognize(&mut self, body: &[u8]) -> Option<RecognizedRequest> {
        let (meaning, filling) =
            self.recent.template_cache.recognize(body).filter(|(meaning, _)| !meaning.names_sets)?;
        let (profile, policy) = (Arc::clone(&meaning.profile), meaning.policy(body)?);
        Some(RecognizedRequest {
            profile,
            cp: filling.cp?,
            recovery: filling.recovery,
            params: filling.params,
            policy,
        })
    }

    /// The SMF's end in an establishment with this body, where that may be in the words that were met last: a guess, for whoever
    /// fetches what a session needs before its request is read.
    pub fn peek_cp_f_seid(&self, body: &[u8]) -> Option<FSeid> {
        let templates = &self.recent.template_cache;
        templates.meaning(*templates.latest.first()?)?.template.peek_cp_f_seid(body)
    }

    /// Takes what a session needs. `None`: there are not the tunnels or addresses for it, nothing is taken, and [`super::establish`]
    /// says what is to be done.
    pub fn take(&mut self, known: RecognizedRequest, session: Seid) -> Option<ProfiledSession> {
        let RecognizedRequest { profile, params, policy, .. } = known;
        let params = profile.take(&params, session, &mut self.tunnels, &mut self.addresses)?;
        Some(ProfiledSession::new(profile, params, policy))
    }

    /// Gives back what [`Resources::take`] took. `was_seen`: others may have heard of it, so that it rests for a while.
    pub fn release(&mut self, session: Seid, profiled: &ProfiledSession, was_seen: bool) {
        for tunnel in profiled.tunnels() {
            self.tunnels.release(session, &[tunnel]);
        }
        for (held, net) in profiled.nets() {
            self.addresses.release_net(session, (held, &net), was_seen);
        }
    }
}

/// Plans a session as one before it that was asked for in the same words. `Err`: there is none, or not room for another, and
/// what to remember the request by, if it can be.
pub(super) fn establish_profiled(
    request: &SessionEstablishmentRequest<'_>,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<Change, Option<TemplateCandidate>> {
    let templates = &resources.recent.template_cache;
    let Some(candidate) = templates.read(request) else { return Err(None) };
    let known = candidate.ways.iter().find_map(|(template, hash)| {
        let meaning = templates.meaning(*hash as usize % CACHE_SIZE)?;
        let policy =
            if meaning.template == *template { meaning.policy(&candidate.body)? } else { return None };
        Some((Arc::clone(&meaning.profile), policy))
    });
    let Some((profile, policy)) = known else { return Err(Some(candidate)) };
    let Resources { tunnels, addresses, recent } = resources;
    if !(recent.template_cache.is_made_for(context)
        && candidate.params.has_valid_addresses(context.endpoints))
    {
        return Err(Some(candidate));
    }
    let params = profile.take(&candidate.params, session, tunnels, addresses).ok_or(Some(candidate))?;
    Ok(ProfiledSession::new(profile, params, policy).as_change(session))
}

/// Remembers what came of a request if it was met before, with the policy as one of the words or, if not that, but for its policy.
pub(super) fn insert(
    candidate: TemplateCandidate,
    change: &Change,
    context: &Context<'_>,
    resources: &mut Resources,
) {
    let templates = &mut resources.recent.template_cache;
    if !templates.is_made_for(context) {
        templates.places.fill(CacheSlot::default());
        templates.transitions = transitions::TransitionCache::default();
        templates.checked_against = Some((*context.capabilities, context.endpoints.clone()));
    }
    let TemplateCandidate { ways, params, names_sets, .. } = candidate;
    for (template, hash) in ways {
        let Some(index) = templates.places.get_mut(hash as usize % CACHE_SIZE) else { return };
        if index.last_hash != hash {
            index.last_hash = hash;
            continue;
        }
        let slots = template.slots();
        let profile =
            SessionProfile::of(change, &params, slots.fars, slots.slots.clone(), template.octets().len());
        if let Some(profile) = profile {
            index.cached =
                Some(Box::new(CachedTemplate { template, profile: Arc::new(profile), names_sets }));
        }
        return;
    }
}

#[cfg(test)]
mod tests;
