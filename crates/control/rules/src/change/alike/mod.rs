//! Sessions that are asked for as others were before.
//!
//! An SMF asks for most sessions of a data network in the same words, but for what is each session's own: the F-SEID, the
//! UE's IPv4 address, the tunnels of gNBs, and the TEIDs here where the SMF chooses them. Decoding, merging and validating
//! do not depend on the values of those, so what they once made of such a request serves for the next: with its own values,
//! and with tunnels of its own. Where bit rates or flow descriptions differ from session to session, too, those are its own as well: its
//! policy.

mod holes;
mod moves;
mod own;
mod policy;
mod session;
mod template;
mod words;

use std::hash::BuildHasher;
use std::sync::Arc;

use causeway_pfcp::{SessionEstablishmentFlags, SessionEstablishmentRequest};
use causeway_types::{FSeid, NtpSeconds, Seid};
use foldhash::fast::SeedableRandomState;

pub use self::moves::Moved;
#[cfg(any(test, feature = "testing"))]
pub(crate) use self::moves::of_plan;
pub use self::own::{Own, Remote};
pub use self::policy::Policy;
pub use self::session::Alike;
pub use self::template::Template;
use self::words::Words;
use super::Change;
use crate::validate::Context;
use crate::{Capabilities, LocalEndpoints, Resources};

/// How many wordings are remembered.
const REMEMBERED: usize = 256;

/// How many of those that were met last are looked at first.
const LATEST: usize = 8;

/// The wordings that were met lately, and what came of them.
#[derive(Clone, Debug)]
pub(crate) struct Wordings {
    hasher: SeedableRandomState,
    /// Each wording has one place, by its hash; the latest there that was met twice in a row is remembered.
    places: Vec<Place>,
    /// The places of the wordings that were met last, the latest first.
    latest: Vec<usize>,
    /// What became of such sessions.
    moves: moves::Moves,
    /// What the templates were checked against.
    surroundings: Option<(Capabilities, LocalEndpoints)>,
}

#[derive(Clone, Default, Debug)]
struct Place {
    /// The hash of the wording that was read here last. One that is met once only is not worth keeping, nor displaces another.
    met: u64,
    known: Option<Box<Meaning>>,
}

/// A wording and what it means.
#[derive(Clone, Debug)]
struct Meaning {
    words: Words,
    template: Arc<Template>,
    /// It puts the session into sets of sessions, which is not a matter of rules.
    names_sets: bool,
}

/// Seeded anew each time, since peers choose the words.
impl Default for Wordings {
    fn default() -> Self {
        Self::with_hasher(SeedableRandomState::random())
    }
}

impl Wordings {
    fn with_hasher(hasher: SeedableRandomState) -> Self {
        Self {
            hasher,
            places: vec![Place::default(); REMEMBERED],
            latest: Vec::new(),
            moves: moves::Moves::default(),
            surroundings: None,
        }
    }
}

/// A request in known words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// What it has in common with others.
    pub template: Arc<Template>,
    /// The SMF's end.
    pub cp: FSeid,
    /// The Recovery Time Stamp, if there is one.
    pub recovery: Option<NtpSeconds>,
    /// What is its own; without the tunnels that the UPF still has to choose.
    own: Own,
    /// Its rates and flows, if its template has slots for them.
    policy: Option<Arc<Policy>>,
}

/// A request that may be remembered.
pub(super) struct Wording {
    /// With the policy as one of the words first, then without it. With hashes.
    ways: Vec<(Words, u64)>,
    body: Box<[u8]>,
    own: Own,
    names_sets: bool,
}

impl Meaning {
    /// The policy of a request in these words, if the template has slots for it. `None`: it could not mean the same as the first one's.
    fn policy(&self, body: &[u8]) -> Option<Option<Arc<Policy>>> {
        let Some(first) = self.template.policy() else { return Some(None) };
        let policy = self.words.holes().policy(body)?;
        self.template.slots().admit(policy, first).map(Some)
    }
}

impl Wordings {
    /// `None`: the request has something that no other session's request has.
    fn read(&self, request: &SessionEstablishmentRequest<'_>) -> Option<Wording> {
        // What is restored has refusals of its own.
        if request.flags.is_some_and(|flags| flags.contains(SessionEstablishmentFlags::RESTI)) {
            return None;
        }
        let body = request.other.octets()?;
        let (words, profile) = Words::of(body)?;
        let names_sets = !request.fq_csids.is_empty() || request.group_id.is_some();
        let own = words.holes().filling(body)?.own;
        let hashed = |words: Words| (self.hasher.hash_one(words.octets()), words);
        let ways = [Some(words), profile].into_iter().flatten().map(hashed);
        let ways = ways.map(|(hash, words)| (words, hash)).collect();
        Some(Wording { ways, body: body.into(), own, names_sets })
    }

    /// Templates hold only where they were made.
    fn is_made_for(&self, context: &Context<'_>) -> bool {
        self.surroundings.as_ref().is_some_and(|(capabilities, endpoints)| {
            capabilities == context.capabilities && endpoints == context.endpoints
        })
    }

    fn meaning(&self, place: usize) -> Option<&Meaning> {
        self.places.get(place)?.known.as_deref()
    }

    /// What a body in known words means.
    fn known(&mut self, body: &[u8]) -> Option<(&Meaning, holes::Filling)> {
        let is_it = |place: &usize| self.meaning(*place)?.words.filling(body);
        // Nearly always the first.
        let first = self.latest.first().and_then(is_it);
        let recent =
            || self.latest.iter().enumerate().skip(1).find_map(|(at, place)| Some((at, is_it(place)?)));
        let filling = match first.map(|filling| (0, filling)).or_else(recent) {
            Some((0, filling)) => filling,
            Some((at, filling)) => {
                self.latest.get_mut(..=at).into_iter().for_each(|all| all.rotate_right(1));
                filling
            }
            None => {
                let (words, profile) = Words::of(body)?;
                let found = [Some(words), profile].into_iter().flatten().find_map(|words| {
                    let place = self.hasher.hash_one(words.octets()) as usize % REMEMBERED;
                    Some((place, is_it(&place)?))
                });
                let (place, filling) = found?;
                self.latest.insert(0, place);
                self.latest.truncate(LATEST);
                filling
            }
        };
        let (_, endpoints) = self.surroundings.as_ref()?;
        filling.own.is_sound(endpoints).then_some(())?;
        Some((self.meaning(*self.latest.first()?)?, filling))
    }
}

impl Resources {
    /// What an establishment with this body asks for, if it is in words that were met before and about nothing but rules. It is
    /// the same as what [`super::establish`] would make of it where those were met, which is to be asked where this does not know.
    pub fn known(&mut self, body: &[u8]) -> Option<Known> {
        let (meaning, filling) = self.recent.alike.known(body).filter(|(meaning, _)| !meaning.names_sets)?;
        let (template, policy) = (Arc::clone(&meaning.template), meaning.policy(body)?);
        Some(Known { template, cp: filling.cp?, recovery: filling.recovery, own: filling.own, policy })
    }

    /// The SMF's end in an establishment with this body, where that may be in the words that were met last: a guess, for whoever
    /// fetches what a session needs before its request is read.
    pub fn guess_cp(&self, body: &[u8]) -> Option<FSeid> {
        let wordings = &self.recent.alike;
        wordings.meaning(*wordings.latest.first()?)?.words.guess_cp(body)
    }

    /// Takes what a session needs. `None`: there are not the tunnels or addresses for it, nothing is taken, and [`super::establish`]
    /// says what is to be done.
    pub fn take(&mut self, known: Known, session: Seid) -> Option<Alike> {
        let Known { template, own, policy, .. } = known;
        let own = template.take(&own, session, &mut self.tunnels, &mut self.addresses)?;
        Some(Alike::new(template, own, policy))
    }

    /// Gives back what [`Resources::take`] took. `was_seen`: others may have heard of it, so that it rests for a while.
    pub fn give_back(&mut self, session: Seid, alike: &Alike, was_seen: bool) {
        for tunnel in alike.tunnels() {
            self.tunnels.release(session, &[tunnel]);
        }
        for (held, net) in alike.nets() {
            self.addresses.release_net(session, (held, &net), was_seen);
        }
    }
}

/// Plans a session as one before it that was asked for in the same words. `Err`: there is none, or not room for another, and
/// what to remember the request by, if it can be.
pub(super) fn establish_alike(
    request: &SessionEstablishmentRequest<'_>,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<Change, Option<Wording>> {
    let wordings = &resources.recent.alike;
    let Some(wording) = wordings.read(request) else { return Err(None) };
    let known = wording.ways.iter().find_map(|(words, hash)| {
        let meaning = wordings.meaning(*hash as usize % REMEMBERED)?;
        let policy = if meaning.words == *words { meaning.policy(&wording.body)? } else { return None };
        Some((Arc::clone(&meaning.template), policy))
    });
    let Some((template, policy)) = known else { return Err(Some(wording)) };
    let Resources { tunnels, addresses, recent } = resources;
    if !(recent.alike.is_made_for(context) && wording.own.is_sound(context.endpoints)) {
        return Err(Some(wording));
    }
    let own = template.take(&wording.own, session, tunnels, addresses).ok_or(Some(wording))?;
    Ok(Alike::new(template, own, policy).as_change(session))
}

/// Remembers what came of a request if it was met before, with the policy as one of the words or, if not that, but for its policy.
pub(super) fn remember(wording: Wording, change: &Change, context: &Context<'_>, resources: &mut Resources) {
    let wordings = &mut resources.recent.alike;
    if !wordings.is_made_for(context) {
        wordings.places.fill(Place::default());
        wordings.moves = moves::Moves::default();
        wordings.surroundings = Some((*context.capabilities, context.endpoints.clone()));
    }
    let Wording { ways, own, names_sets, .. } = wording;
    for (words, hash) in ways {
        let Some(place) = wordings.places.get_mut(hash as usize % REMEMBERED) else { return };
        if place.met != hash {
            place.met = hash;
            continue;
        }
        let holes = words.holes();
        let template = Template::of(change, &own, holes.fars, holes.slots.clone(), words.octets().len());
        if let Some(template) = template {
            place.known = Some(Box::new(Meaning { words, template: Arc::new(template), names_sets }));
        }
        return;
    }
}

#[cfg(test)]
mod tests;
