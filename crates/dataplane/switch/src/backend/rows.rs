//! The entries that a rule has: its rows, and what baseline keeps by its number.

use causeway_dataplane::ApplyError;

use super::direct;
use super::held::Placed;
use super::layout::Profile;
use super::picture::Content;
use super::switch::Switch;
use super::treat::unsupported;
use crate::SwitchPdr;
use crate::driver::{Entry, EntryKey, FieldMatch, SwitchDriver};

impl<D: SwitchDriver> Switch<D> {
    /// The entry of a row.
    pub(super) fn row_entry(&self, placed: &Placed, row: &EntryKey, meter: u32) -> Result<Entry, ApplyError> {
        let Content { template, teid, .. } = placed.wanted.content;
        let own = [("rule", placed.number.0.into()), ("meter_index", meter.into()), ("teid", teid.into())];
        let entry = match self.layout.profile {
            Profile::Direct => direct::entry(&self.layout, placed, row, meter),
            Profile::Hip4 => self
                .layout
                .entry(row.clone(), "set_rule_and_tunnel", &own)
                .or_else(|| self.layout.entry(row.clone(), "set_rule", &own)),
            Profile::Baseline => self.layout.entry(row.clone(), "set_rule", &own),
            Profile::Red | Profile::RedSpt => {
                let (action, mut parameters) = template.deed.action();
                parameters.extend(own);
                self.layout.entry(row.clone(), action, &parameters)
            }
        };
        entry.ok_or(unsupported("the program has no action for the rule"))
    }

    /// What a profile keeps by the rule's number beside templates: its FAR and its meter.
    pub(super) fn number_entries(&self, placed: &Placed, meter: u32) -> Result<Vec<Entry>, ApplyError> {
        if self.layout.profile != Profile::Baseline {
            return Ok(Vec::new());
        }
        let Content { template, teid, .. } = placed.wanted.content;
        let key = vec![FieldMatch::Exact(placed.number.0.into())];
        let (action, mut parameters) = template.deed.action();
        parameters.push(("teid", teid.into()));
        let far = self.layout.plain("far", key.clone(), action, &parameters);
        let mut entries = vec![far.ok_or(unsupported("the program has no action for the FAR"))?];
        let meter = (meter != 0)
            .then(|| self.layout.plain("meter_lookup", key, "set_meter", &[("meter_index", meter.into())]));
        entries.extend(meter.flatten());
        Ok(entries)
    }

    /// The keys of these entries of a number that has been written.
    pub(super) fn number_keys(&self, number: SwitchPdr) -> Vec<EntryKey> {
        if self.layout.profile != Profile::Baseline {
            return Vec::new();
        }
        let has_meter = self.rules.get(&number).is_some_and(|rule| rule.content.meter.is_some());
        let tables = ["far", "meter_lookup"].into_iter().take(1 + usize::from(has_meter));
        let key = |name| {
            let table = self.layout.table(name)?.id;
            Some(EntryKey { table, fields: vec![FieldMatch::Exact(number.0.into())], priority: 0 })
        };
        tables.filter_map(key).collect()
    }
}
