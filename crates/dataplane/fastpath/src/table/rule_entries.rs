//! Rule entries: a session with several rules has one account for each.

use std::ops::Range;

use super::FlowTable;
use crate::table::flow_entry::RuleEntry;
use crate::table::index::prefetch;

impl FlowTable {
    /// Prefetches a rule entry into the cache.
    #[inline]
    pub(crate) fn prefetch_rule(&self, number: u32) {
        prefetch(&self.rules, number as usize);
    }

    /// A rule entry, mutable.
    #[inline]
    pub(crate) fn rule_mut(&mut self, number: u32) -> Option<&mut RuleEntry> {
        self.rules.get_mut(number as usize)
    }

    /// Allocates consecutive rule entries. Returns the number of the first; `None` when the table is full.
    pub(crate) fn take_rules(&mut self, count: u32) -> Option<u32> {
        let first = self.rule_numbers.take(count)?;
        let Range { start, end } = self.rules.as_ptr_range();
        self.rule_regions.take(first, count);
        self.rules_ahead.advance(start.wrapping_add(first as usize).cast(), end.cast());
        Some(first)
    }

    /// Frees the rule entries.
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
