//! Meters of a session before and after a change.

use std::collections::{BTreeMap, BTreeSet};

use causeway_dataplane::ApplyError;
use causeway_types::QerId;

use super::session_change::Change;
use super::session_state::{MeterKey, PlacedRule, SessionState};
use super::switch::Switch;
use crate::driver::{Rates, SwitchDriver, Update};

impl<D: SwitchDriver> Switch<D> {
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
            let index = match state.meters.get(&of) {
                Some((index, _)) => *index,
                None => {
                    let index = self.allocate_meter(of.is_simple)?;
                    change.taken.push((of, index));
                    index
                }
            };
            if state.meters.get(&of).is_none_or(|(_, set)| set != rates)
                && let Some((meter, index)) = self.layout.meters(of.is_simple).cell(index)
            {
                updates.push(Update::SetMeter { meter, index, rates: Some(*rates) });
            }
            change.meters.insert(of, (index, *rates));
        }
        let freed = state.meters.iter().filter(|(of, _)| !change.meters.contains_key(of));
        change.freed.extend(freed.map(|(of, (index, _))| (*of, *index)));
        Ok(())
    }

    fn allocate_meter(&mut self, is_simple: bool) -> Result<u32, ApplyError> {
        let kind = usize::from(is_simple);
        if let Some(index) = self.free_meters[kind].pop() {
            return Ok(index);
        }
        let (place, meters) = (self.next_meter[kind], self.layout.meters(is_simple));
        if place >= meters.count {
            let capacity = u64::from(meters.count.saturating_sub(1));
            return Err(ApplyError::Full { table: meters.name, capacity });
        }
        self.next_meter[kind] += 1;
        Ok(meters.number(place))
    }

    /// Releases these meters.
    pub(super) fn free_meters(&mut self, meters: &[(MeterKey, u32)]) {
        for (of, index) in meters {
            self.free_meters[usize::from(of.is_simple)].push(*index);
        }
    }
}
