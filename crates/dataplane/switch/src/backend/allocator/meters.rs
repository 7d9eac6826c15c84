//! Meters of a session before and after a change.

use std::collections::{BTreeMap, BTreeSet};

use causeway_dataplane::ApplyError;
use causeway_types::QerId;

use super::{Allocator, Change};
use crate::backend::session_state::{MeterKey, PlacedRule, SessionState};
use crate::driver::{Rates, Update};
use crate::meters::Meters;

/// Meters in use and free ones: of rules, and of simple rules of sessions where those are separate.
#[derive(Debug)]
pub(super) struct MeterNumbers {
    next: [u32; 2],
    free: [Vec<u32>; 2],
}

impl Default for MeterNumbers {
    fn default() -> Self {
        // Meter 0 is that of rules without one.
        Self { next: [1; 2], free: [Vec::new(), Vec::new()] }
    }
}

impl MeterNumbers {
    fn allocate(&mut self, is_simple: bool, meters: Meters) -> Result<u32, ApplyError> {
        let kind = usize::from(is_simple);
        if let Some(index) = self.free[kind].pop() {
            return Ok(index);
        }
        let place = self.next[kind];
        if place >= meters.count {
            let capacity = u64::from(meters.count.saturating_sub(1));
            return Err(ApplyError::Full { table: meters.name, capacity });
        }
        self.next[kind] += 1;
        Ok(meters.number(place))
    }

    /// Releases these meters.
    pub(super) fn release(&mut self, meters: &[(MeterKey, u32)]) {
        for (of, index) in meters {
            self.free[usize::from(of.is_simple)].push(*index);
        }
    }

    #[cfg(test)]
    pub(super) fn free(&self) -> [usize; 2] {
        [0, 1].map(|kind| self.free[kind].len())
    }
}

impl Allocator {
    /// The meters of its rules after the change, and the updates that set them.
    pub(super) fn change_meters(
        &mut self,
        state: &SessionState,
        rates: &BTreeMap<(QerId, bool), Rates>,
        change: &mut Change,
        updates: &mut Vec<Update>,
    ) -> Result<(), ApplyError> {
        let wanted: BTreeSet<MeterKey> = change.placed.values().filter_map(PlacedRule::meter).collect();
        for of in wanted {
            let Some(rates) = rates.get(&(of.qer, of.is_uplink)) else { continue };
            let meters = self.layout.meters(of.is_simple);
            let index = match state.meters.get(&of) {
                Some((index, _)) => *index,
                None => {
                    let index = self.meters.allocate(of.is_simple, meters)?;
                    change.taken.push((of, index));
                    index
                }
            };
            if state.meters.get(&of).is_none_or(|(_, set)| set != rates)
                && let Some((meter, index)) = meters.cell(index)
            {
                updates.push(Update::SetMeter { meter, index, rates: Some(*rates) });
            }
            change.meters.insert(of, (index, *rates));
        }
        let freed = state.meters.iter().filter(|(of, _)| !change.meters.contains_key(of));
        change.freed.extend(freed.map(|(of, (index, _))| (*of, *index)));
        Ok(())
    }
}
