//! Where the rules of a session are, if the switch is in front of a software data plane that has all rules: each direction
//! of a session is on the switch as a whole, or in the software.

use std::collections::BTreeSet;

use causeway_dataplane::ApplyError;
use causeway_model::{Pdr, RuleSet, UeSide};
use causeway_slowpath::lease;
use causeway_types::{Direction, PdrId, Span, UrrId};

use super::allocator::Change;
use super::application_classes::ClassView;
use super::compile_session::compile;
use super::config::Config;
use super::layout::Layout;
use super::pdr_treatment::unsupported;
use super::session_state::SessionState;
use super::template::RuleAction;
use crate::SwitchPdr;
use crate::armed::Arming;
use crate::driver::Update;

/// The directions of a session that the switch forwards: the uplink, whose packets arrive in tunnels, and the downlink,
/// whose packets arrive from the data network. Both directions of a session between UPFs arrive in tunnels, and are its
/// uplink here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Places {
    /// Packets in tunnels.
    pub uplink: bool,
    /// Packets of the data network.
    pub downlink: bool,
}

impl Places {
    /// Whether the switch forwards the direction.
    pub const fn has(self, direction: Direction) -> bool {
        match direction {
            Direction::Uplink => self.uplink,
            Direction::Downlink => self.downlink,
        }
    }

    /// The same, with this direction on the switch or not.
    #[must_use]
    pub const fn with(mut self, direction: Direction, is_on_switch: bool) -> Self {
        match direction {
            Direction::Uplink => self.uplink = is_on_switch,
            Direction::Downlink => self.downlink = is_on_switch,
        }
        self
    }
}

/// A move of a session's rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Placement {
    pub(super) direction: Direction,
    pub(super) is_on_switch: bool,
    /// The gap after which rules flip that are armed then.
    pub(super) gap: Span,
}

/// Both directions.
pub(super) const DIRECTIONS: [Direction; 2] = [Direction::Uplink, Direction::Downlink];

/// The direction of packets, by how they arrive.
pub(super) const fn direction_of(is_tunnelled: bool) -> Direction {
    if is_tunnelled { Direction::Uplink } else { Direction::Downlink }
}

/// The rules of one direction, if the switch can forward all its packets as the software would.
///
/// # Errors
/// Why the software must.
pub(super) fn forwarded(
    rules: &RuleSet,
    direction: Direction,
    exhausted: &BTreeSet<UrrId>,
    layout: &Layout,
    config: &Config,
) -> Result<(), ApplyError> {
    let part = part(rules, Places::default().with(direction, true));
    if part.pdrs.is_empty() {
        return Err(unsupported("a direction without rules"));
    }
    if part.pdrs.values().any(|pdr| pdr.urrs.iter().any(|urr| exhausted.contains(urr))) {
        return Err(unsupported("an exhausted quota"));
    }
    let compiled = compile(&part, exhausted, layout, config, None, ClassView::Unknown)?;
    // The switch looks at sources by their UE alone. The software drops packets to a data network whose source is no host's.
    let is_from_any = |pdr: &Pdr| {
        let named = pdr.pdi.ue.filter(|ue| ue.side == UeSide::Source);
        lease::direction_of(pdr) == Direction::Uplink && named.is_none()
    };
    let leaves = |id: &PdrId| {
        let action = compiled.rules.get(id).map(|rule| rule.content.template.action);
        matches!(action, Some(RuleAction::Decapsulate { .. }))
    };
    if part.pdrs.values().any(|pdr| leaves(&pdr.id) && is_from_any(pdr)) {
        return Err(unsupported("uplink packets from any source: the PDR names no UE"));
    }
    let forwards = compiled.rules.values().all(|rule| rule.content.template.action.forwards());
    if forwards { Ok(()) } else { Err(unsupported("packets that are buffered or dropped")) }
}

/// The session with the PDRs of these directions alone.
pub(super) fn part(rules: &RuleSet, places: Places) -> RuleSet {
    let mut part = rules.clone();
    part.pdrs.retain(|_, pdr| places.has(direction_of(pdr.pdi.tunnel.is_some())));
    part
}

impl Change {
    /// Arms new rules whose packets the software may still have, and frees the entries of rules that have flipped or
    /// are gone. `state`: before the change; `arm` arms a rule.
    pub(super) fn arm(
        &mut self,
        layout: &Layout,
        state: &SessionState,
        placement: Option<Placement>,
        arm: &mut dyn FnMut(SwitchPdr) -> Arming,
        updates: &mut Vec<Update>,
    ) {
        let is_still_armed = |wanted: Direction| {
            state.placed.values().any(|placed| {
                direction_of(placed.wanted.content.is_tunnelled) == wanted
                    && placed.armed.is_some()
                    && !state.flipped.contains(&placed.number)
            })
        };
        let mut first = Vec::new();
        for placed in self.placed.values_mut() {
            let from = direction_of(placed.wanted.content.is_tunnelled);
            let before = state.placed.values().find(|before| before.number == placed.number);
            match before {
                None => {
                    let is_new = !state.places.has(from) || is_still_armed(from);
                    placed.armed = is_new.then(|| arm(placed.number));
                    first.extend(
                        placed
                            .armed
                            .and_then(|arming| layout.armed_entry(placed.number, arming))
                            .map(Update::Insert),
                    );
                }
                Some(before) if state.flipped.contains(&placed.number) => {
                    let key = layout.armed_key(placed.number).filter(|_| before.armed.is_some());
                    updates.extend(key.map(Update::Delete));
                }
                Some(before) => {
                    placed.armed = before.armed;
                    let relaxed = placement.filter(|it| it.direction == from && it.is_on_switch);
                    if let (Some(armed), Some(relaxed)) = (&mut placed.armed, relaxed)
                        && relaxed.gap < armed.gap
                    {
                        armed.gap = relaxed.gap;
                        first.extend(layout.armed_entry(placed.number, *armed).map(Update::Modify));
                    }
                }
            }
        }
        let is_gone = |pdr: &PdrId, number| self.placed.get(pdr).is_none_or(|after| after.number != number);
        for (pdr, placed) in &state.placed {
            if placed.armed.is_some() && is_gone(pdr, placed.number) {
                updates.extend(layout.armed_key(placed.number).map(Update::Delete));
            }
        }
        updates.splice(0..0, first);
    }

    /// Arms all rules, and the updates that add them: the switch has lost the session's entries.
    pub(super) fn rearm(
        &mut self,
        layout: &Layout,
        arm: &mut dyn FnMut(SwitchPdr) -> Arming,
        updates: &mut Vec<Update>,
    ) {
        let armed_table = layout.armed_key(SwitchPdr(0)).map(|key| key.table);
        updates.retain(|update| match update {
            Update::Insert(entry) | Update::Modify(entry) => Some(entry.key.table) != armed_table,
            Update::Delete(_) | Update::SetMeter { .. } | Update::SetRegister { .. } => true,
        });
        let mut first = Vec::new();
        for placed in self.placed.values_mut() {
            let arming = arm(placed.number);
            placed.armed = Some(arming);
            let is_fresh = self.fresh.iter().any(|(_, fresh)| *fresh == placed.number);
            let entry = layout.armed_entry(placed.number, arming).filter(|_| is_fresh);
            first.extend(entry.map(Update::Insert));
        }
        // A rule that was to be freed is armed again.
        let kept: Vec<_> =
            self.placed.values().filter_map(|placed| layout.armed_key(placed.number)).collect();
        updates.retain(|update| !matches!(update, Update::Delete(key) if kept.contains(key)));
        updates.splice(0..0, first);
    }
}
