//! Numbers of a session's rules before and after a change.

use std::collections::{BTreeMap, BTreeSet};

use causeway_dataplane::ApplyError;
use causeway_types::{PdrId, QerId};

use super::OWN;
use super::numbers::of_pool;
use super::place::{rows, simple_number, ue_entry};
use crate::SwitchPdr;
use crate::backend::change::Change;
use crate::backend::held::{Held, Placed};
use crate::backend::picture::{Door, Wanted};
use crate::backend::switch::Switch;
use crate::backend::treat::unsupported;
use crate::driver::SwitchDriver;

impl<D: SwitchDriver> Switch<D> {
    /// Numbers, templates and rows of a session's rules.
    pub(in crate::backend) fn place_by_index(
        &mut self,
        held: &Held,
        wanted: BTreeMap<PdrId, Wanted>,
        ues: &BTreeMap<Door, Option<PdrId>>,
        change: &mut Change,
    ) -> Result<(), ApplyError> {
        self.number_ues(held, ues, change)?;
        let numbers = self.simple_numbers(held, &wanted, &change.ues);
        for (pdr, mut wanted) in wanted {
            let before = held.placed.get(&pdr);
            let kept = before.filter(|before| self.counts_alike(before, &wanted));
            let number = match (numbers.get(&pdr).copied(), kept) {
                (Some(number), Some(before)) if number == before.number => number,
                (Some(number), _) => self.take_number(pdr, number, change),
                (None, Some(before)) if before.number.0 >= OWN => before.number,
                (None, _) => {
                    let number = self.numbers.take_own()?;
                    self.take_number(pdr, number, change)
                }
            };
            let before = before.filter(|before| before.number == number);
            let template = self.template_number(number, before, &wanted, change)?;
            wanted.rows = rows(&self.layout, &wanted, number, &change.ues)?;
            let placed = Placed { number, wanted, template };
            if before.is_some_and(|before| before.template != template || !does_alike(before, &placed.wanted))
            {
                change.altered.push(number);
            }
            change.placed.insert(pdr, placed);
        }
        Ok(())
    }

    /// The number is this rule's.
    fn take_number(&mut self, pdr: PdrId, number: SwitchPdr, change: &mut Change) -> SwitchPdr {
        self.numbers.occupy(number);
        change.fresh.push((pdr, number));
        change.add.push(number);
        number
    }

    /// Each UE has a number as long as the session has it; its addresses have the same one if packets of no class have the same rule.
    fn number_ues(
        &mut self,
        held: &Held,
        ues: &BTreeMap<Door, Option<PdrId>>,
        change: &mut Change,
    ) -> Result<(), ApplyError> {
        let known = |door: &Door| match door {
            Door::V4(ip) => held.ues.get(door).copied().or_else(|| of_pool(&self.config.guards, *ip)),
            _ => held.ues.get(door).copied(),
        };
        let mut owners: BTreeMap<u32, Option<PdrId>> = BTreeMap::new();
        for (door, owner) in ues {
            let fits = |session: &u32| owners.get(session).is_none_or(|other| other == owner);
            let mut alike = ues.iter().filter(|(_, other)| *other == owner).map(|(door, _)| door);
            let common = || alike.find_map(|door| known(door).or(change.ues.get(door).copied()).filter(fits));
            let session = match known(door).filter(fits).or_else(common) {
                Some(session) => session,
                None => {
                    let session = self.numbers.take_session()?;
                    change.taken_sessions.push(session);
                    session
                }
            };
            owners.insert(session, *owner);
            change.ues.insert(*door, session);
        }
        for (door, session) in &change.ues {
            let is_of_pool = matches!(door, Door::V4(ip) if of_pool(&self.config.guards, *ip).is_some());
            if !is_of_pool {
                let entry = ue_entry(&self.layout, *door, *session);
                change
                    .guards
                    .push(entry.ok_or(unsupported("the program has no table for the UE's address"))?);
            }
        }
        let kept: BTreeSet<u32> = change.ues.values().copied().collect();
        let left: BTreeSet<u32> = held.ues.values().copied().collect();
        change.left_sessions.extend(left.difference(&kept));
        Ok(())
    }

    /// The numbers of rules that the entries of their sessions' numbers can hold and are free to. Rules that keep a rate together have the same
    /// kind of meter, so they are all there or none is.
    fn simple_numbers(
        &self,
        held: &Held,
        wanted: &BTreeMap<PdrId, Wanted>,
        ues: &BTreeMap<Door, u32>,
    ) -> BTreeMap<PdrId, SwitchPdr> {
        let mut numbers = BTreeMap::new();
        for (pdr, wanted) in wanted {
            let spot = wanted.spot.as_ref().filter(|_| wanted.shares.is_empty());
            let number = spot.and_then(|spot| simple_number(spot, wanted.content.template, ues));
            let Some(number) = number else { continue };
            let before = held.placed.get(pdr);
            let is_own =
                before.is_some_and(|before| before.number == number && self.counts_alike(before, wanted));
            let stays = before.is_some_and(|before| before.number.0 >= OWN && is_same(before, wanted));
            let has_template = self.numbers.templates.has_room(&wanted.content.template);
            if !stays && has_template && (is_own || !self.numbers.is_busy(number)) {
                numbers.insert(*pdr, number);
            }
        }
        let meter = |wanted: &Wanted| Some((wanted.content.meter?, wanted.content.template.is_uplink));
        let elsewhere: BTreeSet<(QerId, bool)> = wanted
            .iter()
            .filter(|(pdr, _)| !numbers.contains_key(pdr))
            .filter_map(|(_, wanted)| meter(wanted))
            .collect();
        numbers
            .retain(|pdr, _| wanted.get(pdr).and_then(meter).is_none_or(|meter| !elsewhere.contains(&meter)));
        numbers
    }

    /// What is counted under the rule's number goes on under the same conditions.
    fn counts_alike(&self, before: &Placed, wanted: &Wanted) -> bool {
        let (old, new) = (&before.wanted.content, &wanted.content);
        let is_alike = |number: &SwitchPdr| {
            self.rules.get(number).is_some_and(|rule| rule.fits(new.template.deed) && !rule.is_expired)
        };
        old.urrs == new.urrs
            && old.uncounted == new.uncounted
            && old.before_qos == new.before_qos
            && old.is_tunnelled == new.is_tunnelled
            && old.template.is_uplink == new.template.is_uplink
            && is_alike(&before.number)
    }

    /// The template of a rule by number; it is written before the rule is.
    fn template_number(
        &mut self,
        number: SwitchPdr,
        before: Option<&Placed>,
        wanted: &Wanted,
        change: &mut Change,
    ) -> Result<Option<u16>, ApplyError> {
        if number.0 >= OWN {
            return Ok(None);
        }
        let template = wanted.content.template;
        if let Some(before) = before.filter(|before| before.wanted.content.template == template) {
            return Ok(before.template);
        }
        let (number, update) = self.numbers.templates.take(&self.layout, template)?;
        change.taken_templates.push(template);
        self.chores.push(update.into_iter().collect());
        Ok(Some(number))
    }

    /// Rules have templates no longer.
    pub(in crate::backend) fn leave_templates(&mut self, templates: &[crate::backend::Template]) {
        for template in templates {
            let update = self.numbers.templates.leave(&self.layout, *template);
            self.chores.push(update.into_iter().collect());
        }
    }
}

/// The same is asked of the rule as before.
fn is_same(before: &Placed, wanted: &Wanted) -> bool {
    before.wanted.content == wanted.content && before.wanted.spot == wanted.spot
}

/// Rows of the rule under the number that it had say what they said before.
fn does_alike(before: &Placed, wanted: &Wanted) -> bool {
    match before.template {
        Some(_) => is_same(before, wanted),
        None => before.wanted.content == wanted.content,
    }
}
