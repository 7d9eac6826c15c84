//! The difference between two compiled states of a session: numbers, meters, and the updates of one batch.

use causeway_p4::names::{action, parameter};
use std::collections::{BTreeMap, BTreeSet, HashMap};

use causeway_dataplane::ApplyError;
use causeway_types::{FTeid, IpNet, PdrId, Seid};
use foldhash::fast::RandomState;

use super::{Allocator, full_numbers};
use crate::SwitchPdr;
use crate::backend::application_classes::Measured;
use crate::backend::compile_session::{CompiledSession, LookupKey, NumberContent};
use crate::backend::direct::{Filters, rank};
use crate::backend::layout::{Layout, Profile};
use crate::backend::pdr_treatment::unsupported;
use crate::backend::placement::Places;
use crate::backend::session_state::{MeterKey, PlacedRule, SessionState};
use crate::backend::sessions::Sessions;
use crate::backend::template::{RuleAction, Template};
use crate::backend::writer::{BackgroundWrites, template_updates};
use crate::driver::{Entry, EntryKey, Rates, Update};

/// The effects of a batch, beside its updates.
#[derive(Debug, Default)]
pub(in crate::backend) struct Change {
    /// The rules of the session after the change.
    pub(in crate::backend) placed: BTreeMap<PdrId, PlacedRule>,
    /// The application class for which they are made.
    pub(in crate::backend) measured: Option<Measured>,
    pub(in crate::backend) guards: Vec<Entry>,
    pub(in crate::backend) keys: BTreeSet<LookupKey>,
    pub(in crate::backend) ues: BTreeMap<LookupKey, u32>,
    /// Filters of its rules that have classes then, and the version of all classes for which its entries were made.
    pub(in crate::backend) filters: Filters,
    pub(in crate::backend) classes: u64,
    pub(in crate::backend) meters: BTreeMap<MeterKey, (u32, Rates)>,
    /// New numbers, of which some have entries for accounting.
    pub(in crate::backend) fresh: Vec<(PdrId, SwitchPdr)>,
    pub(in crate::backend) add: Vec<SwitchPdr>,
    /// Numbers without a rule after the change; those with entries for accounting.
    pub(in crate::backend) gone: Vec<SwitchPdr>,
    pub(in crate::backend) expire: Vec<SwitchPdr>,
    /// Numbers that stay, of rules that change their action.
    pub(in crate::backend) altered: Vec<SwitchPdr>,
    /// Meters that were allocated for it, and those that are free afterwards.
    pub(in crate::backend) taken: Vec<(MeterKey, u32)>,
    pub(in crate::backend) freed: Vec<(MeterKey, u32)>,
    /// Numbers of sessions that were allocated for it, and those that are free afterwards; templates likewise.
    pub(in crate::backend) taken_sessions: Vec<u32>,
    pub(in crate::backend) left_sessions: Vec<u32>,
    pub(in crate::backend) taken_templates: Vec<Template>,
    pub(in crate::backend) left_templates: Vec<Template>,
    /// The directions that the switch forwards after the change.
    pub(in crate::backend) places: Places,
    /// The increase or decrease of each table's entries.
    pub(in crate::backend) tables: BTreeMap<u32, i64>,
    /// The background batch with its templates, which must be written before.
    pub(in crate::backend) after_background: u64,
}

impl Change {
    /// The action of each rule after the change.
    pub(in crate::backend) fn rule_actions(&self) -> Vec<(PdrId, RuleAction)> {
        let action = |placed: &PlacedRule| placed.wanted.content.template.action;
        self.placed.iter().map(|(pdr, placed)| (*pdr, action(placed))).collect()
    }
}

impl Allocator {
    /// Computes a change: all its resources are allocated, or none if it is refused.
    pub(super) fn prepare(
        &mut self,
        seid: Seid,
        session: CompiledSession,
        sessions: &Sessions,
        background: &mut BackgroundWrites,
    ) -> Result<(Change, Vec<Update>), ApplyError> {
        self.check_keys(seid, &session)?;
        let mut change = Change { classes: self.classes.version(), ..Change::default() };
        let filters = session.filters.clone();
        let made = self.fill(seid, session, &mut change, sessions, background);
        match made {
            Ok(updates) => {
                let taken = change.keys.iter().map(|key| (*key, seid));
                self.keys.extend(taken);
                self.classes.hold(seid, &filters);
                change.filters = filters;
                self.reserve_space(&change);
                // A change that only removes rules needs no template.
                let needs_none = change.fresh.is_empty() && change.altered.is_empty();
                change.after_background = if needs_none { 0 } else { background.enqueued() };
                Ok((change, updates))
            }
            Err(error) => {
                self.give_back_unreserved(seid, &change, true, sessions, background);
                Err(error)
            }
        }
    }

    fn check_keys(&self, seid: Seid, session: &CompiledSession) -> Result<(), ApplyError> {
        let is_foreign = |key: &&LookupKey| self.keys.get(key).is_some_and(|owner| *owner != seid);
        match session.keys.iter().find(is_foreign) {
            None => Ok(()),
            Some(LookupKey::Tunnel(teid)) => Err(self.tunnel_in_use(*teid)),
            Some(LookupKey::V4(_, ip)) => {
                Err(ApplyError::UeAddressInUse(IpNet::from(std::net::IpAddr::V4(*ip))))
            }
            Some(LookupKey::V6(..)) => Err(unsupported("an IPv6 prefix that another session has")),
        }
    }

    fn tunnel_in_use(&self, teid: u32) -> ApplyError {
        let own = self.config.topology.gtpu.first().map(|end| end.addr);
        match causeway_types::Teid::new(teid).zip(own) {
            Some((teid, addr)) => ApplyError::TunnelInUse(FTeid { teid, addr }),
            None => unsupported("a TEID that another session has"),
        }
    }

    fn fill(
        &mut self,
        seid: Seid,
        session: CompiledSession,
        change: &mut Change,
        sessions: &Sessions,
        background: &mut BackgroundWrites,
    ) -> Result<Vec<Update>, ApplyError> {
        let none = SessionState::default();
        let state = sessions.get(seid).unwrap_or(&none);
        change.keys.clone_from(&session.keys);
        let mut updates = Vec::new();
        let guards = session.guards.into_iter().map(|(key, tenant)| {
            self.layout.entry(key, action::PASS, &[(parameter::TENANT, tenant.0.into())])
        });
        let guards: Option<Vec<Entry>> = guards.collect();
        change.guards = guards.ok_or(unsupported("the program has no action for its source guard"))?;
        if self.layout.profile == Profile::Direct {
            self.place_by_index(state, session.rules, &session.ues, change, sessions, background)?;
        } else {
            for (pdr, wanted) in session.rules {
                let kept = state.placed.get(&pdr).filter(|placed| placed.wanted.content == wanted.content);
                let number = match kept {
                    Some(placed) => placed.number,
                    None => self.allocate(pdr, &wanted.content, change, background)?,
                };
                change.placed.insert(pdr, PlacedRule { number, wanted, template: None, armed: None });
            }
        }
        if let Some(Measured { place, .. }) = session.measured {
            let members = change.placed.values().filter_map(|placed| self.layout.member_entry(placed, place));
            change.guards.extend(members);
        }
        change.measured = session.measured;
        self.change_meters(state, &session.meters, change, &mut updates)?;
        for placed in state.placed.values() {
            let is_kept = change.placed.values().any(|other| other.number == placed.number);
            if !is_kept {
                change.gone.push(placed.number);
                change.expire.extend(placed.wanted.content.is_counted.then_some(placed.number));
            }
        }
        change.left_templates = left_templates(state, change);
        let deletions = self.compare(state, change, &mut updates, sessions)?;
        updates.extend(deletions);
        Ok(updates)
    }

    fn allocate(
        &mut self,
        pdr: PdrId,
        content: &NumberContent,
        change: &mut Change,
        background: &mut BackgroundWrites,
    ) -> Result<SwitchPdr, ApplyError> {
        let has_templates = self.layout.profile == Profile::Hip4;
        let template = if has_templates { content.template } else { Template::COMMON };
        let allocation = self.ranges.allocate(&template).map_err(|error| full_numbers(&error))?;
        if has_templates {
            background.push(template_updates(&self.layout, &allocation.writes));
        }
        change.fresh.push((pdr, allocation.number));
        change.add.extend(content.is_counted.then_some(allocation.number));
        Ok(allocation.number)
    }

    /// Insertions and changes go to `updates`; deletions, which follow them, are returned.
    fn compare(
        &self,
        state: &SessionState,
        change: &mut Change,
        updates: &mut Vec<Update>,
        sessions: &Sessions,
    ) -> Result<Vec<Update>, ApplyError> {
        let mut before: HashMap<&EntryKey, SwitchPdr, RandomState> = HashMap::default();
        for placed in state.placed.values() {
            before.extend(placed.wanted.rows.iter().map(|row| (row, placed.number)));
        }
        let mut stale_guards: BTreeSet<usize> = (0..state.guards.len()).collect();
        for guard in &change.guards {
            match state.guards.iter().position(|other| other.key == guard.key) {
                Some(place) => {
                    stale_guards.remove(&place);
                    let is_same = state.guards.get(place) == Some(guard);
                    updates.extend((!is_same).then(|| Update::Modify(guard.clone())));
                }
                None => updates.push(Update::Insert(guard.clone())),
            }
        }
        let fresh: BTreeSet<SwitchPdr> = change.fresh.iter().map(|(_, number)| *number).collect();
        for placed in change.placed.values() {
            let meter = placed.meter().and_then(|of| change.meters.get(&of));
            let index = meter.map_or(0, |(index, _)| *index);
            if fresh.contains(&placed.number) {
                updates.extend(self.layout.number_entries(placed, index)?.into_iter().map(Update::Insert));
            }
            for row in &placed.wanted.rows {
                match before.remove(row) {
                    Some(number) if number == placed.number && !change.altered.contains(&number) => {}
                    Some(_) => updates.push(Update::Modify(self.layout.row_entry(placed, row, index)?)),
                    None => updates.push(Update::Insert(self.layout.row_entry(placed, row, index)?)),
                }
            }
        }
        let mut deletions: Vec<Update> = before.into_keys().cloned().map(Update::Delete).collect();
        let guards = stale_guards.into_iter().filter_map(|place| state.guards.get(place));
        deletions.extend(guards.map(|guard| Update::Delete(guard.key.clone())));
        for number in &change.gone {
            deletions.extend(self.layout.number_keys(*number, sessions).into_iter().map(Update::Delete));
        }
        if self.layout.profile == Profile::Direct {
            updates.sort_by_key(|update| update_rank(&self.layout, update));
            deletions.sort_by_key(|update| std::cmp::Reverse(update_rank(&self.layout, update)));
        }
        for update in updates.iter().chain(&deletions) {
            match update {
                Update::Insert(entry) => *change.tables.entry(entry.key.table).or_default() += 1,
                Update::Delete(key) => *change.tables.entry(key.table).or_default() -= 1,
                Update::Modify(_) | Update::SetMeter { .. } | Update::SetRegister { .. } => {}
            }
        }
        self.check_insertions(updates)?;
        Ok(deletions)
    }
}

/// The order of an update; meters and registers are set first.
fn update_rank(layout: &Layout, update: &Update) -> Option<u8> {
    match update {
        Update::Insert(entry) | Update::Modify(entry) => Some(rank(layout, entry.key.table)),
        Update::Delete(key) => Some(rank(layout, key.table)),
        Update::SetMeter { .. } | Update::SetRegister { .. } => None,
    }
}

/// Templates by number that rules no longer have.
fn left_templates(state: &SessionState, change: &Change) -> Vec<Template> {
    let template =
        |placed: &PlacedRule| placed.template.map(|number| (placed.wanted.content.template, number));
    let remaining = |(pdr, before): &(&PdrId, &PlacedRule)| {
        let after = change.placed.get(pdr).filter(|after| after.number == before.number);
        after.and_then(template) != template(before)
    };
    let had = state.placed.iter().filter(remaining);
    had.filter_map(|(_, before)| Some(template(before)?.0)).collect()
}
