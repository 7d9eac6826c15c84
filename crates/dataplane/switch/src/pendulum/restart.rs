//! Entries that a switch has lost.

use super::side::{Partition, Side};
use super::table_access::TableAccess;
use crate::{Count, SwitchPdr};

impl<W> TableAccess<W> {
    /// The partitions of a number's entries on each side; `None` where there is none.
    pub fn partitions_of(&self, number: SwitchPdr) -> [Option<Partition>; 2] {
        let places = self.rules.get(&number).map(|rule| rule.places);
        places.unwrap_or_default().map(|index| index.map(|index| index.partition))
    }

    /// The counter value of a number without a rule: its next rule counts from there.
    pub fn set_base(&mut self, side: Side, number: SwitchPdr, count: Count) {
        if !self.rules.contains_key(&number) {
            self.bases.entry(number).or_default()[side as usize] = count;
        }
    }

    /// All counters start from zero, including those of numbers without a rule. Only while no pass is in flight.
    pub fn all_restarted(&mut self) {
        self.bases.clear();
        self.rules.values_mut().for_each(|rule| rule.last = [Count::ZERO; 2]);
    }

    /// The switch had lost the entry of a number, and has it again: its counter starts from zero. Only while no pass of
    /// the side is in flight.
    pub fn restarted(&mut self, side: Side, number: SwitchPdr) {
        if let Some(rule) = self.rules.get_mut(&number) {
            rule.last[side as usize] = Count::ZERO;
        }
    }
}
