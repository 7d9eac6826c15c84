//! From the shape of a session to its lines.

use std::net::IpAddr;
use std::sync::Arc;

use causeway_dataplane::Egress;
use causeway_reference::lease::{Act, Door, DoorKey, Own, RuleShape, Send, Shape};
use causeway_types::{Direction, Teid};

use super::layout::{Layout, counts_drops, own_meters, rate_of, teid_of};
use super::{Lease, LeasedRule, Pattern, Place, SharedRate};
use crate::filters::{FilterSets, Rule, SetId};
use crate::key::Key;
use crate::line::{Line, RuleLine};
use crate::program::{Deed, MAX_HEADER, Program, Programs, Sending, Step, Tunnel, Way};
use crate::surroundings::Surroundings;
use crate::table::Table;

/// Writes sessions into lines and takes them out.
pub(crate) struct Compiler<'a> {
    pub(crate) table: &'a mut Table,
    pub(crate) programs: &'a mut Programs,
    pub(crate) sets: &'a mut FilterSets,
    pub(crate) surroundings: &'a Surroundings,
}

impl Compiler<'_> {
    /// Enters a session. `own`: what it has of its own, if the pattern is another's. `tunnels`: where its packets come
    /// out, known to the pattern or not.
    pub(crate) fn enter(
        &mut self,
        pattern: Option<Arc<Pattern>>,
        own: Option<&Own>,
        tunnels: &[(Teid, IpAddr)],
    ) -> Lease {
        let mut lease = pattern.as_deref().map(Lease::for_pattern).unwrap_or_default();
        if let Some(pattern) = &pattern {
            for direction in [Direction::Uplink, Direction::Downlink] {
                self.enter_direction(pattern, direction, own, &mut lease);
            }
        }
        lease.pattern = pattern;
        self.enter_others(tunnels, &mut lease);
        lease
    }

    /// Takes a session out.
    pub(crate) fn remove(&mut self, lease: Lease) {
        lease.keys.into_iter().for_each(|(key, line)| self.table.forget(key, line));
        lease.lines.into_iter().for_each(|line| self.table.release(line));
        lease.runs.into_iter().for_each(|(first, count)| self.table.release_rules(first, count));
        lease.programs.into_iter().for_each(|program| self.forget_program(program));
        lease.pattern.into_iter().for_each(|pattern| self.forget_pattern(pattern));
    }

    /// A pattern has one user less.
    pub(crate) fn forget_pattern(&mut self, pattern: Arc<Pattern>) {
        let last = Arc::into_inner(pattern);
        last.into_iter()
            .for_each(|pattern| pattern.programs().for_each(|program| self.forget_program(program)));
    }

    fn forget_program(&mut self, program: u32) {
        if let Some(set) = self.programs.remove(program) {
            self.sets.remove(set);
        }
    }

    fn enter_direction(
        &mut self,
        pattern: &Pattern,
        direction: Direction,
        own: Option<&Own>,
        lease: &mut Lease,
    ) {
        let mut primary = None;
        for (door, program) in pattern.doors(direction) {
            let renewed = own.map(|own| door.of_another(own));
            let door = renewed.as_ref().unwrap_or(door);
            let (Some(key), Some(program)) = (self.key_of(door), program) else { continue };
            // Both addresses of a UE lead to one line where the rules are the same.
            if let Some((line, known)) = primary
                && known == program
                && !matches!(door.key, DoorKey::Tunnel { .. })
            {
                if self.table.lead(key, line) {
                    self.add_address(line, door);
                    lease.keys.push((key, line));
                }
                continue;
            }
            let of = primary.map(|(line, _)| line);
            let Some(line) = self.table.insert(key, line_of(door, key, program, of)) else { continue };
            lease.keys.push((key, line));
            lease.lines.push(line);
            if primary.is_none() {
                primary = Some((line, program));
            }
        }
        if let Some((line, _)) = primary {
            let remote = own.and_then(|own| own.remote);
            self.place(pattern, direction, remote, line, lease);
        }
    }

    /// Gives the rules their accounts.
    fn place(
        &mut self,
        pattern: &Pattern,
        direction: Direction,
        remote: Option<Teid>,
        line: u32,
        lease: &mut Lease,
    ) {
        let layout = pattern.layout(direction);
        let first = if layout.is_inline || layout.accounts.is_empty() {
            None
        } else {
            let count = layout.accounts.len() as u32;
            // Without room the rules have nothing granted, and their packets are for the slow room.
            let Some(first) = self.table.take_rules(count) else { return };
            lease.runs.push((first, count));
            if let Some(line) = self.table.line_mut(line) {
                line.account.budget = first.into();
            }
            Some(first)
        };
        lease.shared.extend(layout.shared.map(|meter| SharedRate::new(meter.qer, direction, line)));
        for (offset, rules) in (0..).zip(&layout.accounts) {
            let Some((number, rule)) = rules.first().and_then(|rule| pattern.rule(*rule)) else { continue };
            let place = first.map_or(Place::Line(line), |first| Place::Rule(first + offset));
            let own = own_meters(rule, layout.shared.as_ref()).map(|meter| meter.qer).next();
            lease.rules.push(LeasedRule { rule: number, place, own, granted: 0, since: 0 });
            let teid = teid_of(&rule.act).map(|teid| remote.map_or(teid, Teid::value));
            match (place, teid) {
                (Place::Rule(rule), teid) => {
                    if let Some(slot) = self.table.rule_mut(rule) {
                        *slot = RuleLine { teid: teid.unwrap_or(0), ..RuleLine::default() };
                    }
                }
                (Place::Line(line), Some(teid)) => {
                    if let Some(line) = self.table.line_mut(line) {
                        line.aux = teid;
                    }
                }
                (Place::Line(_), None) => {}
            }
        }
    }

    /// Lets the tunnels that have no door lead to the slow room, so that they are not unknown.
    fn enter_others(&mut self, tunnels: &[(Teid, IpAddr)], lease: &mut Lease) {
        for (teid, local) in tunnels {
            let Some(local) = self.surroundings.local(local) else { continue };
            let key = Key::Tunnel(teid.value(), local);
            if lease.keys.iter().any(|(known, _)| *known == key) {
                continue;
            }
            let (program, _) = self.programs.insert(ask(local), self.surroundings);
            lease.programs.push(program);
            if let Some(line) = self.table.insert(key, Line::new(teid.value(), key.place(), program)) {
                lease.keys.push((key, line));
                lease.lines.push(line);
            }
        }
    }

    fn add_address(&mut self, line: u32, door: &Door) {
        let Some(line) = self.table.line_mut(line) else { return };
        match door.key {
            DoorKey::Ipv4 { ue, .. } => line.key = ue.into(),
            DoorKey::Ipv6 { prefix, .. } => line.prefix = prefix,
            DoorKey::Tunnel { .. } => {}
        }
    }

    pub(super) fn key_of(&self, door: &Door) -> Option<Key> {
        Some(match door.key {
            DoorKey::Tunnel { teid, local } => Key::Tunnel(teid.value(), self.surroundings.local(&local)?),
            DoorKey::Ipv4 { network, ue } => Key::Ipv4(u16::try_from(network).ok()?, ue.into()),
            DoorKey::Ipv6 { network, prefix } => Key::Ipv6(u16::try_from(network).ok()?, prefix),
        })
    }

    /// The number of the program of a door, which has one user more.
    pub(super) fn program(&mut self, shape: &Shape, door: &Door, layout: &Layout) -> u32 {
        let asked = door.rules.iter().filter_map(|index| {
            let rule = shape.rules.get(usize::from(*index))?;
            let filter = Rule { qfis: rule.qfis, filters: rule.filters.clone() };
            Some((filter, self.step(rule, *index, layout)))
        });
        let (rules, steps) = super::join::join(asked);
        let local = match door.key {
            DoorKey::Tunnel { local, .. } => self.surroundings.local(&local),
            _ => None,
        };
        let (set, steps) = match self.sets.insert(&rules) {
            Ok(set) => (set, steps),
            // What does not fit into the table of sets is for the slow room.
            Err(_) => (SetId::ANY, Box::from([Step::ASK])),
        };
        let program = Program {
            set,
            steps,
            direction: door.direction,
            shared: layout.shared.as_ref().map(rate_of),
            local,
            names_ue: door.ue.is_named,
            has_more: door.ue.has_more,
            is_final: door.is_final,
        };
        let (id, is_new) = self.programs.insert(program, self.surroundings);
        if !is_new {
            self.sets.remove(set);
        }
        id
    }

    fn step(&self, rule: &RuleShape, index: u8, layout: &Layout) -> Step {
        let deed = self.deed(&rule.act);
        let Some(account) = layout.account(usize::from(index)).filter(|_| deed != Deed::Ask) else {
            return Step::ASK;
        };
        let shared = layout.shared.as_ref();
        Step {
            deed,
            account,
            own: own_meters(rule, shared).next().map(rate_of),
            is_shared: shared.is_some_and(|shared| rule.meters.contains(shared)),
            reports_drops: rule.reports_drops,
            counts_drops: counts_drops(rule),
            pause: u64::try_from(rule.pause.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    fn deed(&self, act: &Act) -> Deed {
        match act {
            Act::Ask => Deed::Ask,
            Act::Drop(reason) => Deed::Drop(*reason),
            Act::Send(send) => self.sending(send).map_or(Deed::Ask, Deed::Send),
        }
    }

    fn sending(&self, send: &Send) -> Option<Sending> {
        let way = match &send.egress {
            Egress::Ip { network } if send.header.is_empty() => {
                Way::Network(self.surroundings.network(network)?)
            }
            Egress::Gtpu { local, peer, .. } => {
                let mut header = [0; MAX_HEADER];
                header.get_mut(..send.header.len())?.copy_from_slice(&send.header);
                header[4..8].fill(0);
                Way::Tunnel(Tunnel {
                    local: self.surroundings.local(local)?,
                    peer: *peer,
                    header,
                    header_len: send.header.len() as u8,
                    tos: send.marking.map_or(0, |marking| marking.apply(0)),
                })
            }
            _ => return None,
        };
        Some(Sending {
            way,
            room: u32::try_from(send.room).unwrap_or(u32::MAX),
            is_routed: send.is_routed,
            leaves_link: send.leaves_link,
            is_gated: send.is_gated,
        })
    }
}

/// All packets of a tunnel are for the slow room.
fn ask(local: u8) -> Program {
    Program {
        set: SetId::ANY,
        steps: Box::from([Step::ASK]),
        direction: Direction::Uplink,
        shared: None,
        local: Some(local),
        names_ue: false,
        has_more: false,
        is_final: false,
    }
}

fn line_of(door: &Door, at: Key, program: u32, of: Option<u32>) -> Line {
    let v4 = door.ue.v4.map_or(0, u32::from);
    let (key, aux, prefix) = match door.key {
        DoorKey::Tunnel { teid, .. } => (teid.value(), v4, door.ue.v6.unwrap_or(0)),
        DoorKey::Ipv4 { ue, .. } => (ue.into(), 0, 0),
        DoorKey::Ipv6 { prefix, .. } => (0, 0, prefix),
    };
    let mut line = match of {
        Some(of) => Line::alias(key, at.place(), program, of),
        None => Line::new(key, at.place(), program),
    };
    (line.aux, line.prefix) = (aux, prefix);
    line
}
