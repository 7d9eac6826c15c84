//! Numbers of a session's rules before and after a change.

use std::collections::{BTreeMap, BTreeSet};

use causeway_dataplane::ApplyError;
use causeway_types::{PdrId, QerId};

use super::{Allocator, Change};
use crate::SwitchPdr;
use crate::backend::compile_session::{CompiledRule, LookupKey};
use crate::backend::direct::{OWN_ENTRY_BASE, of_pool, rows, simple_number, ue_entry};
use crate::backend::pdr_treatment::unsupported;
use crate::backend::session_state::{PlacedRule, SessionState};
use crate::backend::sessions::Sessions;
use crate::backend::template::Template;
use crate::backend::writer::BackgroundWrites;

impl Allocator {
    /// Places a session's rules: numbers, templates and entries.
    pub(super) fn place_by_index(
        &mut self,
        state: &SessionState,
        wanted: BTreeMap<PdrId, CompiledRule>,
        ues: &BTreeMap<LookupKey, Option<PdrId>>,
        change: &mut Change,
        sessions: &Sessions,
        background: &mut BackgroundWrites,
    ) -> Result<(), ApplyError> {
        self.number_ues(state, ues, change)?;
        let numbers = self.simple_numbers(state, &wanted, &change.ues, sessions);
        for (pdr, mut wanted) in wanted {
            let before = state.placed.get(&pdr);
            let kept = before.filter(|before| counts_alike(before, &wanted, sessions));
            let number = match (numbers.get(&pdr).copied(), kept) {
                (Some(number), Some(before)) if number == before.number => number,
                (Some(number), _) => self.assign(pdr, number, change),
                (None, Some(before)) if before.number.0 >= OWN_ENTRY_BASE => before.number,
                (None, _) => {
                    let number = self.numbers.allocate_rule_number()?;
                    self.assign(pdr, number, change)
                }
            };
            let before = before.filter(|before| before.number == number);
            let template = self.template_number(number, before, &wanted, change, background)?;
            wanted.rows = rows(&self.layout, &wanted, number, &change.ues)?;
            let placed = PlacedRule { number, wanted, template, armed: None };
            if before.is_some_and(|before| before.template != template || !does_alike(before, &placed.wanted))
            {
                change.altered.push(number);
            }
            change.placed.insert(pdr, placed);
        }
        Ok(())
    }

    /// Assigns the number to this rule.
    fn assign(&mut self, pdr: PdrId, number: SwitchPdr, change: &mut Change) -> SwitchPdr {
        self.numbers.mark_in_use(number);
        change.fresh.push((pdr, number));
        change.add.push(number);
        number
    }

    /// Each UE has a number as long as the session has it; its addresses share one if packets of no class have the same
    /// rule.
    fn number_ues(
        &mut self,
        state: &SessionState,
        ues: &BTreeMap<LookupKey, Option<PdrId>>,
        change: &mut Change,
    ) -> Result<(), ApplyError> {
        let known = |key: &LookupKey| match key {
            LookupKey::V4(tenant, ip) => {
                state.ues.get(key).copied().or_else(|| of_pool(&self.config, *tenant, *ip))
            }
            _ => state.ues.get(key).copied(),
        };
        let mut owners: BTreeMap<u32, Option<PdrId>> = BTreeMap::new();
        for (key, owner) in ues {
            let fits = |session: &u32| owners.get(session).is_none_or(|other| other == owner);
            let mut alike = ues.iter().filter(|(_, other)| *other == owner).map(|(key, _)| key);
            let common = || alike.find_map(|key| known(key).or(change.ues.get(key).copied()).filter(fits));
            let session = match known(key).filter(fits).or_else(common) {
                Some(session) => session,
                None => {
                    let session = self.numbers.allocate_session_number()?;
                    change.taken_sessions.push(session);
                    session
                }
            };
            owners.insert(session, *owner);
            change.ues.insert(*key, session);
        }
        for (key, session) in &change.ues {
            let is_of_pool =
                matches!(key, LookupKey::V4(tenant, ip) if of_pool(&self.config, *tenant, *ip).is_some());
            if !is_of_pool {
                let entry = ue_entry(&self.layout, *key, *session);
                change
                    .guards
                    .push(entry.ok_or(unsupported("the program has no table for the UE's address"))?);
            }
        }
        let kept: BTreeSet<u32> = change.ues.values().copied().collect();
        let remaining: BTreeSet<u32> = state.ues.values().copied().collect();
        change.left_sessions.extend(remaining.difference(&kept));
        Ok(())
    }

    /// The numbers of rules that fit into the entries of their sessions' numbers, where those are free. Rules that
    /// share a rate have the same kind of meter, so all of them are there or none is.
    fn simple_numbers(
        &self,
        state: &SessionState,
        wanted: &BTreeMap<PdrId, CompiledRule>,
        ues: &BTreeMap<LookupKey, u32>,
        sessions: &Sessions,
    ) -> BTreeMap<PdrId, SwitchPdr> {
        let mut numbers = BTreeMap::new();
        for (pdr, wanted) in wanted {
            let point = wanted.spot.as_ref().filter(|_| wanted.shares.is_empty());
            let number = point.and_then(|point| simple_number(point, wanted.content.template, ues));
            let Some(number) = number else { continue };
            let before = state.placed.get(pdr);
            let is_own = before
                .is_some_and(|before| before.number == number && counts_alike(before, wanted, sessions));
            let stays =
                before.is_some_and(|before| before.number.0 >= OWN_ENTRY_BASE && is_same(before, wanted));
            let has_template = self.numbers.has_template(&wanted.content.template);
            if !stays && has_template && (is_own || !self.numbers.is_busy(number)) {
                numbers.insert(*pdr, number);
            }
        }
        let meter = |wanted: &CompiledRule| Some((wanted.content.meter?, wanted.content.template.is_uplink));
        let elsewhere: BTreeSet<(QerId, bool)> = wanted
            .iter()
            .filter(|(pdr, _)| !numbers.contains_key(pdr))
            .filter_map(|(_, wanted)| meter(wanted))
            .collect();
        numbers
            .retain(|pdr, _| wanted.get(pdr).and_then(meter).is_none_or(|meter| !elsewhere.contains(&meter)));
        numbers
    }

    /// The template number of a rule; the template is written before the rule.
    fn template_number(
        &mut self,
        number: SwitchPdr,
        before: Option<&PlacedRule>,
        wanted: &CompiledRule,
        change: &mut Change,
        background: &mut BackgroundWrites,
    ) -> Result<Option<u16>, ApplyError> {
        if number.0 >= OWN_ENTRY_BASE {
            return Ok(None);
        }
        let template = wanted.content.template;
        if let Some(before) = before.filter(|before| before.wanted.content.template == template) {
            return Ok(before.template);
        }
        let (number, update) = self.numbers.take_template(&self.layout, template)?;
        change.taken_templates.push(template);
        background.push(update.into_iter().collect());
        Ok(Some(number))
    }

    /// Rules no longer use these templates.
    pub(super) fn leave_templates(&mut self, templates: &[Template], background: &mut BackgroundWrites) {
        for template in templates {
            let update = self.numbers.leave_template(&self.layout, *template);
            background.push(update.into_iter().collect());
        }
    }
}

/// Whether the rule's number continues to count under the same conditions.
fn counts_alike(before: &PlacedRule, wanted: &CompiledRule, sessions: &Sessions) -> bool {
    let (old, new) = (&before.wanted.content, &wanted.content);
    let continues = sessions
        .rule(before.number)
        .is_some_and(|rule| rule.has_same_headers(new.template.action) && !rule.is_expired);
    old.urrs == new.urrs
        && old.uncounted == new.uncounted
        && old.before_qos == new.before_qos
        && old.is_tunnelled == new.is_tunnelled
        && old.underlay == new.underlay
        && old.template.is_uplink == new.template.is_uplink
        && continues
}

/// Whether the rule has the same content as before.
fn is_same(before: &PlacedRule, wanted: &CompiledRule) -> bool {
    before.wanted.content == wanted.content && before.wanted.spot == wanted.spot
}

/// Whether the rule's entries under its earlier number are unchanged.
fn does_alike(before: &PlacedRule, wanted: &CompiledRule) -> bool {
    match before.template {
        Some(_) => is_same(before, wanted),
        None => before.wanted.content == wanted.content,
    }
}
