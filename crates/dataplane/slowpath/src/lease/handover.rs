//! Handovers: a session's packets are sent into other tunnels, and nothing else changes.

use std::sync::Arc;

use causeway_dataplane::{Op, Plan};
use causeway_model::{ApplyAction, Far, PduSessionType};
use causeway_types::{Seid, Time};

use super::profile::{differ_in_tunnel_only, tunnel_of};
use crate::engine::SlowPath;
use crate::paths::path_of;
use crate::session::Session;

impl SlowPath {
    /// Applies, in place, a plan that only changes remote GTP-U tunnels and sends End Markers into the old ones. The
    /// usage of the session's packets need not be known. `false`: the plan contains more, or the session has pending
    /// state; nothing has changed.
    pub fn hand_over(&mut self, now: Time, plan: &Plan) -> bool {
        let Some(session) = self.sessions.get(&plan.session) else { return false };
        if plan.change.is_installation() || plan.change.is_removal() {
            return false;
        }
        let ops = plan.ops();
        let does_no_more = ops.iter().all(|op| match op {
            Op::PutFar(far) => can_hand_over(session, far),
            Op::SendEndMarker { .. } => true,
            _ => false,
        });
        if !does_no_more || !has_no_pending_state(session) {
            return false;
        }
        for op in ops.iter() {
            if let Op::PutFar(far) = op {
                self.hand_over_far(now, plan.session, far);
            }
        }
        // The FARs have changed in their tunnels alone.
        for op in ops.iter() {
            if let Op::SendEndMarker { far, tunnel } = op {
                let far = self.rules_of(plan.session).and_then(|rules| rules.fars.get_shared(far)).cloned();
                self.end(*tunnel, far.as_deref());
            }
        }
        true
    }

    fn hand_over_far(&mut self, now: Time, seid: Seid, far: &Arc<Far>) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let Some(held) = session.rules.fars.insert(far.id, Arc::clone(far)) else { return };
        if let (Some(old), Some(new)) = (tunnel_of(&held), tunnel_of(far)) {
            self.index.hand_over(seid, old, new);
        }
        let (old, new) = (path_of(&held, &self.topology), path_of(far, &self.topology));
        self.follow_paths(now, old.as_slice(), new.as_slice());
    }
}

/// The FAR forwards into a tunnel and changes to another one. No other FAR of the session uses the old one.
fn can_hand_over(session: &Session, far: &Far) -> bool {
    let fars = &session.rules.fars;
    let Some(held) = fars.get(&far.id) else { return false };
    let tunnel = tunnel_of(held);
    let mut others = fars.values().filter(|other| other.id != far.id);
    held.action == ApplyAction::Forward
        && differ_in_tunnel_only(held, far)
        && others.all(|other| tunnel_of(other) != tunnel)
}

/// No packet is buffered and no report was sent that depends on the destination of FARs.
fn has_no_pending_state(session: &Session) -> bool {
    session.rules.pdu_type == PduSessionType::Ip
        && session.buffer.is_empty()
        && session.refused_tunnels.is_empty()
        && session.extended.is_empty()
}
