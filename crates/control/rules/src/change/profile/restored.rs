//! Profiles of restored sessions: those that differ in their parameters alone share one, as if a template had established them.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use causeway_model::{Capabilities, LocalEndpoints, RuleSet, SessionParams};
use causeway_types::{FTeidV4, Seid};
use foldhash::fast::SeedableRandomState;

use super::{ControlProfile, ProfiledRules};
use crate::validate::Context;
use crate::{Resources, SessionRules};

/// Capacity in profiles.
const CACHE_SIZE: usize = 1024;

/// The profiles of sessions restored lately. It changes no result, only time and memory.
#[derive(Clone, Debug)]
pub(crate) struct RestoredProfiles {
    hasher: SeedableRandomState,
    /// Each kind of session has one place, by its hash.
    places: Vec<Place>,
    /// What they were checked against.
    checked_against: Option<(Capabilities, LocalEndpoints)>,
}

/// A profile is made for the second session of a kind.
#[derive(Clone, Default, Debug)]
struct Place {
    last_hash: u64,
    profile: Option<Arc<ControlProfile>>,
}

impl Default for RestoredProfiles {
    fn default() -> Self {
        Self { hasher: SeedableRandomState::random(), places: Vec::new(), checked_against: None }
    }
}

impl RestoredProfiles {
    /// A hash of what sessions of one profile have in common, and of little else.
    fn hash(&self, session: &SessionRules) -> u64 {
        let (mut hasher, rules) = (self.hasher.build_hasher(), &session.rules);
        for pdr in rules.pdrs.values() {
            (pdr.id, pdr.precedence, pdr.far).hash(&mut hasher);
        }
        for far in rules.fars.values() {
            let to = far.forwarding.as_ref().map(|it| (it.destination, it.tunnel().is_some()));
            (far.id, far.action, to).hash(&mut hasher);
        }
        rules.qers.values().for_each(|qer| qer.hash(&mut hasher));
        rules.urrs.values().for_each(|urr| urr.hash(&mut hasher));
        session.established_by.hash(&mut hasher);
        hasher.finish()
    }

    fn place(&self, hash: u64) -> Option<&Place> {
        self.places.get(hash as usize % CACHE_SIZE).filter(|place| place.last_hash == hash)
    }

    fn is_made_for(&self, context: &Context<'_>) -> bool {
        self.checked_against.as_ref().is_some_and(|(capabilities, endpoints)| {
            capabilities == context.capabilities && endpoints == context.endpoints
        })
    }
}

impl Resources {
    /// The session with these rules as one of a known profile, with its tunnels and addresses taken. `None`: it is of no such
    /// profile, or cannot have what it needs; nothing is taken.
    pub(crate) fn restore_profiled(
        &mut self,
        session: Seid,
        rules: &SessionRules,
        context: &Context<'_>,
    ) -> Option<ProfiledRules> {
        let known = &self.recent.restored;
        let profile = Arc::clone(known.place(known.hash(rules))?.profile.as_ref()?);
        let params = profile.params_of(rules).filter(|_| known.is_made_for(context))?;
        if !params.has_valid_addresses(context.endpoints) || !profile.is_of(rules, &params) {
            return None;
        }
        let params = profile.take(&params, session, &mut self.claims())?;
        Some(ProfiledRules::new(profile, params, None))
    }

    /// A session with these rules was validated and restored: the next one of its kind gets a profile.
    pub(crate) fn remember_restored(&mut self, rules: &SessionRules, context: &Context<'_>) {
        let known = &mut self.recent.restored;
        if !known.is_made_for(context) {
            known.places = vec![Place::default(); CACHE_SIZE];
            known.checked_against = Some((*context.capabilities, context.endpoints.clone()));
        }
        let hash = known.hash(rules);
        let Some(place) = known.places.get_mut(hash as usize % CACHE_SIZE) else { return };
        if place.last_hash == hash {
            place.profile = ControlProfile::of_restored(rules).map(Arc::new);
        } else {
            *place = Place { last_hash: hash, profile: None };
        }
    }
}

/// The parameters of a session of a profile with these FARs and tunnels.
impl ControlProfile {
    fn params_of(&self, session: &SessionRules) -> Option<SessionParams> {
        let (profile, rules) = (self.profile(), &session.rules);
        let mut params = SessionParams { ue: ue_of(rules), ..SessionParams::default() };
        for (first, teid) in profile.first_tunnels().iter().zip(&mut params.tunnels) {
            let mut pdrs = profile.rules().pdrs.values();
            let pdr = pdrs.find(|pdr| pdr.pdi.tunnel == Some(*first))?;
            *teid = Some(rules.pdrs.get(&pdr.id)?.pdi.tunnel?.teid);
        }
        for (far, remote) in profile.fars().iter().zip(&mut params.remotes) {
            let Some(far) = far else { continue };
            let tunnel = rules.fars.get(far)?.forwarding.as_ref()?.tunnel()?;
            *remote = Some(FTeidV4::of(tunnel)?);
        }
        Some(params)
    }
}

/// The IPv4 address of the UE.
pub(super) fn ue_of(rules: &RuleSet) -> Option<std::net::Ipv4Addr> {
    rules.pdrs.values().find_map(|pdr| pdr.pdi.ue?.v4)
}
