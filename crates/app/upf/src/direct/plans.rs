//! Plans for the data plane: what a request does to its session, in the form that N4 uses.
//!
//! Most sessions of an SMF differ in addresses and tunnels alone. The rules without them are a shape; a session profile is
//! made once for each shape, and the change from one shape to another once for each pair.

use std::net::Ipv4Addr;
use std::sync::Arc;

use causeway_accel::{Accel, Peer, Rules};
use causeway_model::{
    Plan, PlanOptions, ProfileTransition, ProfiledSession, RuleSet, SessionChange, SessionParams,
    SessionProfile, TransitionEffect, plan_modification,
};
use causeway_types::{FTeid, FTeidV4, FarId, Seid};

/// Shapes, and changes between them, that are kept.
const KEPT: usize = 32;

/// Octets of a request, to which the memory of a profile is proportional.
const REQUEST: usize = 512;

/// The profiles of recent sessions, the latest first.
#[derive(Debug, Default)]
pub(super) struct Plans {
    profiles: Vec<(Rules, Arc<SessionProfile>)>,
    changes: Vec<(Shapes, Arc<TransitionEffect>)>,
}

/// A change of FARs between two shapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shapes {
    before: Rules,
    after: Rules,
    instructed: [Option<FarId>; 2],
    has_marker: bool,
}

/// A modification of rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct Modified<'a> {
    pub(super) before: &'a Rules,
    pub(super) after: &'a Rules,
    /// FARs whose action is set, even to what it was.
    pub(super) instructed: [Option<FarId>; 2],
    /// The tunnel that gets an End Marker.
    pub(super) marker: Option<Peer>,
}

impl Plans {
    /// A new session.
    pub(super) fn install(&mut self, accel: &Accel, seid: Seid, rules: &Rules) -> Plan {
        match self.profiled(accel, rules) {
            Some(session) => Plan { session: seid, change: session.into() },
            None => Plan::install(seid, accel.rule_set_of(rules)),
        }
    }

    /// A change of a session.
    pub(super) fn modify(&mut self, accel: &Accel, seid: Seid, modified: Modified<'_>) -> Plan {
        let change = self.transition(accel, seid, modified).map(SessionChange::Rebind);
        let change = change.unwrap_or_else(|| writes(accel, seid, modified).change);
        Plan { session: seid, change }
    }

    fn profiled(&mut self, accel: &Accel, rules: &Rules) -> Option<ProfiledSession> {
        let shape = rules.shape();
        let at = self.profiles.iter().position(|(known, _)| *known == shape);
        let profile = match at {
            Some(at) => Arc::clone(&self.profiles.get(at)?.1),
            None => {
                let profile = Arc::new(profile_of(&accel.rule_set_of(rules), rules)?);
                self.profiles.truncate(KEPT - 1);
                self.profiles.insert(0, (shape, Arc::clone(&profile)));
                profile
            }
        };
        Some(ProfiledSession::new(profile, params_of(rules), None))
    }

    fn transition(&mut self, accel: &Accel, seid: Seid, modified: Modified<'_>) -> Option<ProfileTransition> {
        let Modified { before, after, instructed, marker } = modified;
        let shapes =
            Shapes { before: before.shape(), after: after.shape(), instructed, has_marker: marker.is_some() };
        let known = self.changes.iter().find(|(known, _)| *known == shapes);
        let effect = match known {
            Some((_, effect)) => Arc::clone(effect),
            None => {
                let from = Arc::clone(self.profiled(accel, before)?.profile());
                let to = Arc::clone(self.profiled(accel, after)?.profile());
                let ops = writes(accel, seid, modified).ops().into_owned();
                let effect = Arc::new(TransitionEffect::new(from, to, ops)?);
                self.changes.truncate(KEPT - 1);
                self.changes.insert(0, (shapes, Arc::clone(&effect)));
                effect
            }
        };
        Some(ProfileTransition::new(effect, params_of(before), params_of(after), None))
    }
}

/// The writes of a change one by one.
fn writes(accel: &Accel, seid: Seid, modified: Modified<'_>) -> Plan {
    let Modified { before, after, instructed, marker } = modified;
    let marker = marker.zip(after.downlink).map(|(peer, downlink)| (downlink.far, FTeid::from(peer)));
    let options = PlanOptions {
        end_markers: marker.into_iter().collect(),
        reissued: instructed.into_iter().flatten().collect(),
        ..PlanOptions::default()
    };
    plan_modification(seid, &accel.rule_set_of(before), &accel.rule_set_of(after), &options)
}

/// The profile of a first session with these rules.
fn profile_of(set: &RuleSet, rules: &Rules) -> Option<SessionProfile> {
    let (fars, _) = SessionProfile::remotes_of(set)?;
    let tunnels = set.pdrs.values().filter_map(|pdr| pdr.pdi.tunnel).collect();
    SessionProfile::new(set.clone(), tunnels, fars, params_of(rules), Default::default(), REQUEST)
}

/// What differs from session to session.
fn params_of(rules: &Rules) -> SessionParams {
    let remote = rules.downlink.and_then(|downlink| downlink.peer());
    let remote = remote.map(|Peer { teid, addr }| FTeidV4 { teid, addr });
    SessionParams { ue: ue_of(rules), tunnels: [rules.uplink.teid(), None], remotes: [remote, None] }
}

/// The UE address; the class has one in a session.
fn ue_of(rules: &Rules) -> Option<Ipv4Addr> {
    rules.downlink.map(|downlink| downlink.ue).or(rules.uplink.ue)
}
