//! Sessions that are asked for as others were before.
//!
//! An SMF asks for most sessions of a data network in the same words, but for what is each session's own: the F-SEID, the
//! UE's IPv4 address and the TEIDs of gNBs. Decoding, merging and validating do not depend on the values of those, so
//! what they once made of such a request serves for the next: with its own values, and with tunnels of its own.

mod mask;
mod template;

use std::hash::BuildHasher;

use causeway_pfcp::{SessionEstablishmentFlags, SessionEstablishmentRequest};
use causeway_types::Seid;
use foldhash::fast::RandomState;

use self::mask::{Own, mask};
use self::template::Template;
use super::Change;
use crate::validate::Context;
use crate::{Capabilities, LocalEndpoints, Rejection, Resources};

/// How many wordings are remembered.
const REMEMBERED: usize = 256;

/// The wordings that were met lately, and what came of them.
#[derive(Clone, Debug)]
pub(crate) struct Alike {
    hasher: RandomState,
    /// Each wording has one place, by its hash; the latest there is remembered.
    places: Vec<Place>,
    /// What the templates were checked against.
    surroundings: Option<(Capabilities, LocalEndpoints)>,
    /// The request that is looked at, without what is its session's own.
    scratch: Vec<u8>,
}

#[derive(Clone, Default, Debug)]
struct Place {
    /// The hash of the wording that was met here last. One that is met once only is not worth keeping.
    met: u64,
    wording: Box<[u8]>,
    template: Option<Box<Template>>,
}

impl Default for Alike {
    fn default() -> Self {
        let places = vec![Place::default(); REMEMBERED];
        Self { hasher: RandomState::default(), places, surroundings: None, scratch: Vec::new() }
    }
}

/// A request that may be remembered: its hash, and what is its session's own.
pub(super) struct Wording {
    hash: u64,
    own: Own,
}

impl Alike {
    /// `None`: the request has something that no other session's request has.
    fn read(&mut self, request: &SessionEstablishmentRequest<'_>) -> Option<Wording> {
        // What is restored has refusals of its own.
        if request.flags.is_some_and(|flags| flags.contains(SessionEstablishmentFlags::RESTI)) {
            return None;
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(request.other.octets()?);
        let own = mask(&mut self.scratch)?;
        Some(Wording { hash: self.hasher.hash_one(&self.scratch[..]), own })
    }

    /// Templates hold only where they were made.
    fn is_made_for(&self, context: &Context<'_>) -> bool {
        self.surroundings.as_ref().is_some_and(|(capabilities, endpoints)| {
            capabilities == context.capabilities && endpoints == context.endpoints
        })
    }

    fn template(&self, hash: u64) -> Option<&Template> {
        let place = self.places.get(hash as usize % REMEMBERED)?;
        let is_it = place.met == hash && *place.wording == self.scratch[..];
        place.template.as_deref().filter(|_| is_it)
    }
}

/// Plans a session as one before it that was asked for in the same words. `Err`: there is none, and what to remember the
/// request by, if it can be.
pub(super) fn establish_alike(
    request: &SessionEstablishmentRequest<'_>,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<Result<Change, Rejection>, Option<Wording>> {
    let alike = &mut resources.recent.alike;
    let Some(wording) = alike.read(request) else { return Err(None) };
    if !alike.is_made_for(context) {
        return Err(Some(wording));
    }
    let Resources { tunnels, addresses, recent } = resources;
    let Some(template) = recent.alike.template(wording.hash) else { return Err(Some(wording)) };
    template.establish(&wording.own, session, tunnels, addresses).ok_or(Some(wording))
}

/// Remembers what came of a request if it was met before.
pub(super) fn remember(wording: Wording, change: &Change, context: &Context<'_>, resources: &mut Resources) {
    let alike = &mut resources.recent.alike;
    if !alike.is_made_for(context) {
        alike.places.fill(Place::default());
        alike.surroundings = Some((*context.capabilities, context.endpoints.clone()));
    }
    let Some(place) = alike.places.get_mut(wording.hash as usize % REMEMBERED) else { return };
    if place.met != wording.hash {
        *place = Place { met: wording.hash, ..Place::default() };
    } else if let Some(template) = Template::of(change, wording.own) {
        place.wording = Box::from(&alike.scratch[..]);
        place.template = Some(Box::new(template));
    }
}

#[cfg(test)]
mod tests;
