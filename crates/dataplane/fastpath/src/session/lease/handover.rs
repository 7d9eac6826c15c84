//! Changes the tunnels that a session's packets are sent into.

use std::sync::Arc;

use causeway_types::Teid;

use super::layout::teid_of;
use super::{AccountLocation, CompiledProfile, Lease};
use crate::table::FlowTable;

impl Lease {
    /// Switches the session to `profile`, with `remote` as the TEID of the tunnel that its packets are sent into; its
    /// grants stay. Returns the previous profile. `None`: the layouts differ; nothing has happened.
    pub(crate) fn set_remote(
        &mut self,
        profile: Arc<CompiledProfile>,
        remote: Option<Teid>,
        table: &mut FlowTable,
    ) -> Option<Arc<CompiledProfile>> {
        let held = self.profile.as_ref()?;
        if !Arc::ptr_eq(held, &profile) {
            let can = held.has_same_layout(&profile)
                && self.rules.iter().all(|rule| held.key(rule.rule) == profile.key(rule.rule));
            let programs: Vec<_> = can.then(|| held.programs().zip(profile.programs()).collect())?;
            let is_clear = |(old, new): &(u32, u32)| programs.iter().all(|(of, to)| of != old || to == new);
            if !programs.iter().all(is_clear) {
                return None;
            }
            for entry in &self.entries {
                let Some(entry) = table.entry_mut(*entry) else { continue };
                if let Some((_, new)) = programs.iter().find(|(old, _)| *old == entry.program()) {
                    entry.set_program(*new);
                }
            }
        }
        for rule in &self.rules {
            let act = profile.rule(rule.rule.into()).map(|(_, rule)| &rule.action);
            let Some(teid) = act.and_then(teid_of) else { continue };
            let teid = remote.map_or(teid, Teid::value);
            match rule.place {
                AccountLocation::Entry(entry) => {
                    table.entry_mut(entry).into_iter().for_each(|entry| entry.ue_or_teid = teid);
                }
                AccountLocation::RuleEntry(rule) => {
                    table.rule_mut(rule).into_iter().for_each(|rule| rule.teid = teid);
                }
            }
        }
        self.profile.replace(profile)
    }
}
