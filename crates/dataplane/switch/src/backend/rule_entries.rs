//! The entries of a rule: in tables of rules, and by its number in profile baseline.

use causeway_dataplane::ApplyError;
use causeway_p4::names::{action, parameter, table};
use causeway_types::Direction;

use super::compile_session::NumberContent;
use super::direct;
use super::layout::{Layout, Profile};
use super::pdr_treatment::unsupported;
use super::session_state::PlacedRule;
use super::sessions::Sessions;
use crate::SwitchPdr;
use crate::classes;
use crate::driver::{Entry, EntryKey, FieldMatch};

impl Layout {
    /// The entry of a rule with this key.
    pub(super) fn row_entry(
        &self,
        placed: &PlacedRule,
        row: &EntryKey,
        meter: u32,
    ) -> Result<Entry, ApplyError> {
        let NumberContent { template, teid, .. } = placed.wanted.content;
        let own = [
            (parameter::RULE, placed.number.0.into()),
            (parameter::METER_INDEX, meter.into()),
            (parameter::TEID, teid.into()),
        ];
        let entry = match self.profile {
            Profile::Direct => direct::entry(self, placed, row, meter),
            Profile::Hip4 => self
                .entry(row.clone(), action::SET_RULE_AND_TUNNEL, &own)
                .or_else(|| self.entry(row.clone(), action::SET_RULE, &own)),
            Profile::Baseline => self.entry(row.clone(), action::SET_RULE, &own),
            Profile::Red | Profile::RedSpt => {
                let (action, mut parameters) = template.action.action();
                parameters.extend(own);
                self.entry(row.clone(), action, &parameters)
            }
        };
        entry.ok_or(unsupported("the program has no action for the rule"))
    }

    /// Entries by the rule's number beside templates: its FAR, and its meter if it has one.
    pub(super) fn number_entries(&self, placed: &PlacedRule, meter: u32) -> Result<Vec<Entry>, ApplyError> {
        let key = vec![FieldMatch::Exact(placed.number.0.into())];
        match self.profile {
            Profile::Baseline => {}
            Profile::Hip4 if meter != 0 => {
                let entry = self.metered(key, meter);
                return Ok(vec![entry.ok_or(unsupported("the program has no table for the rule's meter"))?]);
            }
            _ => return Ok(Vec::new()),
        }
        let NumberContent { template, teid, .. } = placed.wanted.content;
        let (action, mut parameters) = template.action.action();
        parameters.push((parameter::TEID, teid.into()));
        let far = self.plain(table::FAR, key.clone(), action, &parameters);
        let mut entries = vec![far.ok_or(unsupported("the program has no action for the FAR"))?];
        let meter = (meter != 0).then(|| {
            self.plain(table::METER_LOOKUP, key, action::SET_METER, &[(parameter::METER_INDEX, meter.into())])
        });
        entries.extend(meter.flatten());
        Ok(entries)
    }

    /// The entry by which packets of a rule count for the application class of the session at a place; `None`: it forwards none.
    pub(super) fn member_entry(&self, placed: &PlacedRule, place: u32) -> Option<Entry> {
        let NumberContent { template, .. } = placed.wanted.content;
        let rule = match self.profile {
            Profile::Direct => direct::rule_of_packets(placed),
            _ => placed.number.0,
        };
        let direction = if template.is_uplink { Direction::Uplink } else { Direction::Downlink };
        template.action.forwards().then(|| classes::member(&self.program, rule, direction, place)).flatten()
    }

    /// The keys of these entries of a number that has been written.
    pub(super) fn number_keys(&self, number: SwitchPdr, sessions: &Sessions) -> Vec<EntryKey> {
        let meter = meter_of(number, sessions);
        let tables = match (self.profile, meter) {
            (Profile::Baseline, None) => vec![table::FAR],
            (Profile::Baseline, Some(_)) => vec![table::FAR, table::METER_LOOKUP],
            (Profile::Hip4, Some(index)) => vec![self.meters.row(index).0],
            _ => Vec::new(),
        };
        let key = |name| {
            let table = self.table(name)?.id;
            Some(EntryKey { table, fields: vec![FieldMatch::Exact(number.0.into())], priority: 0 })
        };
        tables.into_iter().filter_map(key).collect()
    }
}

/// The meter of the rule with this number.
fn meter_of(number: SwitchPdr, sessions: &Sessions) -> Option<u32> {
    let rule = sessions.rule(number)?;
    let state = sessions.get(rule.session)?;
    let placed = state.placed.get(&rule.pdr).filter(|placed| placed.number == number)?;
    Some(state.meters.get(&placed.meter()?)?.0)
}
