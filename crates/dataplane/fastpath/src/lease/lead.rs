//! A session in the lines whose packets leave by other tunnels.

use std::sync::Arc;

use causeway_types::Teid;

use super::layout::teid_of;
use super::{Lease, Pattern, Place};
use crate::table::Table;

impl Lease {
    /// Lets the session be as `pattern`, with `remote` as the TEID of the tunnel that its packets leave by; what its lines are granted
    /// stays. Returns the pattern that it had. `None`: it is too different from that one; nothing has happened.
    pub(crate) fn lead(
        &mut self,
        pattern: Arc<Pattern>,
        remote: Option<Teid>,
        table: &mut Table,
    ) -> Option<Arc<Pattern>> {
        let held = self.pattern.as_ref()?;
        if !Arc::ptr_eq(held, &pattern) {
            let can = held.is_laid_out_like(&pattern)
                && self.rules.iter().all(|rule| held.key(rule.rule) == pattern.key(rule.rule));
            let programs: Vec<_> = can.then(|| held.programs().zip(pattern.programs()).collect())?;
            let is_clear = |(old, new): &(u32, u32)| programs.iter().all(|(of, to)| of != old || to == new);
            if !programs.iter().all(is_clear) {
                return None;
            }
            for line in &self.lines {
                let Some(line) = table.line_mut(*line) else { continue };
                if let Some((_, new)) = programs.iter().find(|(old, _)| *old == line.program()) {
                    line.set_program(*new);
                }
            }
        }
        for rule in &self.rules {
            let act = pattern.rule(rule.rule.into()).map(|(_, rule)| &rule.act);
            let Some(teid) = act.and_then(teid_of) else { continue };
            let teid = remote.map_or(teid, Teid::value);
            match rule.place {
                Place::Line(line) => table.line_mut(line).into_iter().for_each(|line| line.aux = teid),
                Place::Rule(rule) => table.rule_mut(rule).into_iter().for_each(|rule| rule.teid = teid),
            }
        }
        self.pattern.replace(pattern)
    }
}
