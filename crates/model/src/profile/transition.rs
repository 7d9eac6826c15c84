//! Changes of FARs that turn a session of one profile into a session of another.

use std::sync::Arc;

use causeway_types::{FTeid, FarId};

use super::{Policy, ProfiledSession, SessionParams, SessionProfile};
use crate::Op;

/// A change of FARs, the same for all sessions of one profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransitionEffect {
    from: Arc<SessionProfile>,
    to: Arc<SessionProfile>,
    /// The writes for the first session.
    ops: Vec<Op>,
}

impl TransitionEffect {
    /// A change with these writes. `None`: one of them concerns more than FARs.
    pub fn new(from: Arc<SessionProfile>, to: Arc<SessionProfile>, ops: Vec<Op>) -> Option<Self> {
        let writes_fars =
            |op: &Op| matches!(op, Op::PutFar(_) | Op::SendEndMarker { .. } | Op::NotifyAgain(_));
        ops.iter().all(writes_fars).then_some(Self { from, to, ops })
    }

    /// The profile before the change.
    pub const fn from(&self) -> &Arc<SessionProfile> {
        &self.from
    }

    /// The profile after it.
    pub const fn to(&self) -> &Arc<SessionProfile> {
        &self.to
    }
}

/// The change of one session by a [`TransitionEffect`], such as a handover.
#[derive(Clone, Debug)]
pub struct ProfileTransition {
    effect: Arc<TransitionEffect>,
    before: SessionParams,
    after: SessionParams,
    policy: Option<Arc<Policy>>,
}

impl ProfileTransition {
    /// The change of a session with the parameters `before`, which has `after` then. `policy`: it stays.
    pub const fn new(
        effect: Arc<TransitionEffect>,
        before: SessionParams,
        after: SessionParams,
        policy: Option<Arc<Policy>>,
    ) -> Self {
        Self { effect, before, after, policy }
    }

    /// The session before.
    pub fn before(&self) -> ProfiledSession {
        ProfiledSession::new(Arc::clone(&self.effect.from), self.before, self.policy.clone())
    }

    /// The session after.
    pub fn after(&self) -> ProfiledSession {
        ProfiledSession::new(Arc::clone(&self.effect.to), self.after, self.policy.clone())
    }

    /// The session's profile and parameters, before and after.
    pub fn before_and_after(&self) -> [(&Arc<SessionProfile>, &SessionParams); 2] {
        [(&self.effect.from, &self.before), (&self.effect.to, &self.after)]
    }

    /// The tunnels that are sent an End Marker, each with the FAR that sent packets into it, in the order of the plan.
    pub fn end_markers(&self) -> impl Iterator<Item = (FarId, FTeid)> {
        self.effect.ops.iter().filter_map(|op| match op {
            Op::SendEndMarker { far, tunnel } => {
                let remote = self.effect.from.remote_of(*far, &self.before);
                Some((*far, remote.map_or(*tunnel, FTeid::from)))
            }
            _ => None,
        })
    }

    /// The writes. O(changed rules).
    pub(crate) fn ops(&self) -> Vec<Op> {
        let mut markers = self.end_markers();
        let renewed = |op: &Op| match op {
            Op::PutFar(far) => match self.effect.to.far_with(far.id, &self.after) {
                Some(renewed) => Op::PutFar(Arc::new(renewed)),
                None => Op::PutFar(Arc::clone(far)),
            },
            Op::SendEndMarker { far, tunnel } => {
                Op::SendEndMarker { far: *far, tunnel: markers.next().map_or(*tunnel, |(_, tunnel)| tunnel) }
            }
            op => op.clone(),
        };
        self.effect.ops.iter().map(renewed).collect()
    }
}
