//! Entries that a switch has lost.

use super::side::{Partition, Side};
use super::table_access::TableAccess;
use crate::{Count, SwitchPdr};

impl<W> TableAccess<W> {
    /// Where the entries of a number are on each side; `None` where there is none, or none any more.
    pub fn partitions_of(&self, number: SwitchPdr) -> [Option<Partition>; 2] {
        let places = self.rules.get(&number).map(|rule| rule.places);
        places.unwrap_or_default().map(|index| index.map(|index| index.partition))
    }

    /// What the counter of a number holds that has no rule: it goes on from there.
    pub fn set_base(&mut self, side: Side, number: SwitchPdr, count: Count) {
        if !self.rules.contains_key(&number) {
            self.bases.entry(number).or_default()[side as usize] = count;
        }
    }

    /// All counters start from zero, also those of numbers that nobody has. Only while no pass is under way.
    pub fn all_restarted(&mut self) {
        self.bases.clear();
        self.rules.values_mut().for_each(|rule| rule.last = [Count::ZERO; 2]);
    }

    /// The switch had lost the entry of a number, and has it again: its counter starts from zero. Only while no pass of the side
    /// is under way.
    pub fn restarted(&mut self, side: Side, number: SwitchPdr) {
        if let Some(rule) = self.rules.get_mut(&number) {
            rule.last[side as usize] = Count::ZERO;
        }
    }
}
