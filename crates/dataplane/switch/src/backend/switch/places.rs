//! Moves rules between the switch and the software behind it, where the software has all rules.

use std::collections::{BTreeSet, HashMap, VecDeque};

use causeway_dataplane::{ApplyError, Egress};
use causeway_model::RuleSet;
use causeway_types::{Direction, Seid, Span, Time, UrrId};
use foldhash::fast::RandomState;

use super::Switch;
use crate::Count;
use crate::armed::Arming;
use crate::backend::allocator::Change;
use crate::backend::application_classes::ClassView;
use crate::backend::compile_session::arrives_from;
use crate::backend::operation::Operation;
use crate::backend::placement::{DIRECTIONS, Placement, Places, direction_of, forwarded, part};
use crate::backend::segments::Tenant;
use crate::driver::{SwitchDriver, Update};
use crate::pendulum::Reading;

/// What the moves of rules need beside the state of sessions.
#[derive(Debug, Default)]
pub(super) struct Placing {
    /// The number of the last arming.
    generation: u32,
    /// The gap of the last move: that of rules that are armed again after a restart of the switch.
    gap: Span,
    counted: VecDeque<Counted>,
    /// Directions on the switch that were armed again.
    rearmed: VecDeque<(Seid, Direction)>,
    /// Packets of the software, which has ports of its own.
    pub(super) released: Vec<(Egress, Vec<u8>)>,
}

impl Placing {
    /// An arming with a number of its own: so rules that are armed at the same time have different cells, while there are cells.
    fn arm(&mut self, gap: Span) -> Arming {
        self.generation = self.generation.wrapping_add(1).max(1);
        Arming { generation: self.generation, gap }
    }
}

/// Frames of a direction that the switch has forwarded since the last reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    /// The session.
    pub session: Seid,
    /// The direction.
    pub direction: Direction,
    /// Frames and their octets, with all headers.
    pub count: Count,
}

impl<D: SwitchDriver> Switch<D> {
    /// Other sessions that get packets of the same addresses and the same data network as this one: the switch cannot tell which of them a packet is
    /// for.
    pub fn sessions_in_common(&mut self, now: Time, session: Seid) -> Vec<Seid> {
        let mut others = self.software.overlapping_sessions(session);
        if !others.is_empty() {
            let own = self.arrives_from(now, session);
            others.retain(|other| !own.is_disjoint(&self.arrives_from(now, *other)));
        }
        others
    }

    /// The tenants from which packets without a tunnel come to a session.
    fn arrives_from(&mut self, now: Time, session: Seid) -> BTreeSet<Tenant> {
        let Some(rules) = self.software.rules_of(now, session) else { return BTreeSet::new() };
        let pdrs = rules.pdrs.values().filter(|pdr| pdr.pdi.tunnel.is_none());
        pdrs.flat_map(|pdr| arrives_from(pdr, &self.config)).collect()
    }

    /// Moves a direction of a session to the switch, or back to the software; [`Switch::poll`] returns the result.
    ///
    /// Its rules are armed then: the switch sends their packets to the software, until it has seen none of a rule for
    /// `gap`. For a direction that is armed on the switch, a shorter gap replaces the earlier one.
    ///
    /// The operation fails, and nothing changes, if the switch cannot forward the direction as the software would: with
    /// the reason, or the full table. Usage that the switch has counted is read for the last time afterwards; a plan
    /// that reports usage waits for that.
    pub fn place(
        &mut self,
        now: Time,
        session: Seid,
        direction: Direction,
        is_on_switch: bool,
        gap: Span,
    ) -> Operation {
        self.placing.gap = self.placing.gap.max(gap);
        let operation = self.operations.add(session, None);
        self.operations.set_placement(operation, Placement { direction, is_on_switch, gap });
        if self.sessions.enqueue(session, operation) {
            self.operations.make_ready(operation);
        }
        self.run_without_path_timers(now);
        operation
    }

    /// The directions of a session that the switch forwards.
    pub fn places(&self, session: Seid) -> Places {
        self.sessions.get(session).map(|state| state.places).unwrap_or_default()
    }

    /// Whether the switch has rules of a session, counters that were not read for the last time, or changes in progress:
    /// plans of the session are then submitted here, otherwise to the software.
    pub fn has_session(&self, session: Seid) -> bool {
        self.sessions.get(session).is_some()
    }

    /// What the switch has counted for a direction, oldest first: every reading with packets.
    pub fn poll_counted(&mut self) -> Option<Counted> {
        self.placing.counted.pop_front()
    }

    /// The next direction that is armed again, since the switch had lost entries of its session.
    pub fn poll_rearmed(&mut self) -> Option<(Seid, Direction)> {
        self.placing.rearmed.pop_front()
    }

    /// The packets that timers and plans have released in the software, in order: it transmits them by its own ports.
    pub fn take_released(&mut self) -> Vec<(Egress, Vec<u8>)> {
        std::mem::take(&mut self.placing.released)
    }

    /// The software has handled a packet of a session, which may have exhausted a quota.
    pub fn packet_in_software(&mut self, now: Time, session: Seid) {
        self.update_for_quota(now, session);
    }

    /// Arms the rules whose entries the switch has lost, and those that writes in progress add to their sessions:
    /// meanwhile the software has their packets.
    pub(super) fn rearm_lost(&mut self) {
        if !self.config.places {
            return;
        }
        let (gap, placing) = (self.placing.gap, &mut self.placing);
        let mut armings = HashMap::<_, _, RandomState>::default();
        // One of each rule, although a write in progress may name it again.
        let mut arm = |number| *armings.entry(number).or_insert_with(|| placing.arm(gap));
        let lost = self.recovery.lost_sessions(&self.sessions);
        for seid in &lost {
            self.sessions.rearm(*seid, &mut arm);
        }
        self.writer.rearm(&self.layout, &lost, &mut arm);
        for seid in lost {
            let places = self.places(seid);
            let rearmed = DIRECTIONS.into_iter().filter(|direction| places.has(*direction));
            self.placing.rearmed.extend(rearmed.map(|direction| (seid, direction)));
        }
    }

    /// Compiles the part of a session that the switch is to forward after an operation. A direction that it can no
    /// longer forward, or for which there is no space, returns to the software.
    pub(super) fn change_placed(
        &mut self,
        seid: Seid,
        rules: &RuleSet,
        exhausted: &BTreeSet<UrrId>,
        placement: Option<Placement>,
    ) -> Result<(Change, Vec<Update>), ApplyError> {
        let before = self.places(seid);
        let mut places = before;
        for direction in DIRECTIONS {
            if before.has(direction)
                && forwarded(rules, direction, exhausted, &self.layout, &self.config).is_err()
            {
                places = places.with(direction, false);
            }
        }
        if let Some(Placement { direction, is_on_switch, .. }) = placement {
            if is_on_switch {
                forwarded(rules, direction, exhausted, &self.layout, &self.config)?;
            }
            places = places.with(direction, is_on_switch);
        }
        let gap = placement.map_or(self.placing.gap, |it| it.gap);
        let (mut change, mut updates) = match self.compile_part(seid, rules, exhausted, places) {
            Err(error) if placement.is_some_and(|it| it.is_on_switch) => return Err(error),
            Err(_) => {
                places = Places::default();
                self.compile_part(seid, rules, exhausted, places)?
            }
            Ok(compiled) => compiled,
        };
        change.places = places;
        if let Some(state) = self.sessions.get(seid) {
            change.arm(&self.layout, state, placement, &mut |_| self.placing.arm(gap), &mut updates);
        }
        Ok((change, updates))
    }

    fn compile_part(
        &mut self,
        seid: Seid,
        rules: &RuleSet,
        exhausted: &BTreeSet<UrrId>,
        places: Places,
    ) -> Result<(Change, Vec<Update>), ApplyError> {
        let (sessions, background) = (&self.sessions, self.writer.background());
        let part = part(rules, places);
        self.allocator.change_session(seid, &part, exhausted, ClassView::Unknown, sessions, background)
    }

    /// Records what rules have forwarded. Armed rules that have forwarded packets have flipped: their entries are freed.
    pub(super) fn record_placed(&mut self, side: usize, readings: &[Reading]) {
        // After QoS enforcement: what was transmitted.
        if !self.config.places || side != 1 {
            return;
        }
        for reading in readings.iter().filter(|reading| reading.usage != Count::ZERO) {
            let Some(rule) = self.sessions.rule(reading.number) else { continue };
            let direction = direction_of(rule.content.is_tunnelled);
            let (session, count) = (rule.session, reading.usage);
            self.placing.counted.push_back(Counted { session, direction, count });
            if self.sessions.set_flipped(reading.number) {
                self.rewrite(session);
            }
        }
    }
}
