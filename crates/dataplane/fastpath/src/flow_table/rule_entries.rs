//! Lines of rules: a session's that has several, each with an account of its own.

use std::ops::Range;

use super::FlowTable;
use crate::flow_entry::RuleEntry;
use crate::index::prefetch;

impl FlowTable {
    /// Fetches the line of a rule into the cache.
    #[inline]
    pub(crate) fn prefetch_rule(&self, number: u32) {
        prefetch(&self.rules, number as usize);
    }

    /// The line of a rule, to be written.
    #[inline]
    pub(crate) fn rule_mut(&mut self, number: u32) -> Option<&mut RuleEntry> {
        self.rules.get_mut(number as usize)
    }

    /// So many rule lines one after the other. Returns the number of the first; `None` where there is no room.
    pub(crate) fn take_rules(&mut self, count: u32) -> Option<u32> {
        let first = self.rule_numbers.take(count)?;
        let Range { start, end } = self.rules.as_ptr_range();
        self.rule_regions.take(first, count);
        self.rules_ahead.advance(start.wrapping_add(first as usize).cast(), end.cast());
        Some(first)
    }

    /// The rule lines are free.
    pub(crate) fn release_rules(&mut self, first: u32, count: u32) {
        if let Some(entries) = self.rules.get_mut(first as usize..(first + count) as usize) {
            entries.fill(RuleEntry::default());
            self.rule_numbers.give_back(first, count);
            if let Some(region) = self.rule_regions.leave(first, count) {
                let region = region.start..region.end.min(self.rules.len());
                self.rules.release(region);
            }
        }
    }
}
