//! The lines, and how packets find them.

use std::collections::HashMap;

use crate::line::{Line, RuleLine};

/// What brings a packet to a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Key {
    /// A TEID at one of our addresses, by its index.
    Tunnel(u32, u8),
    /// An IPv4 address in a data network, by its index.
    Ipv4(u16, u32),
    /// The upper half of IPv6 addresses in a data network, by its index.
    Ipv6(u16, u64),
}

/// The lines of one worker.
#[derive(Debug, Default)]
pub(crate) struct Table {
    index: HashMap<Key, u32>,
    lines: Vec<Line>,
    free: Vec<u32>,
    rules: Vec<RuleLine>,
    /// Free runs of rule lines by their length.
    free_rules: HashMap<usize, Vec<u32>>,
}

impl Table {
    /// The line of a key.
    #[inline]
    pub(crate) fn find(&self, key: Key) -> Option<u32> {
        self.index.get(&key).copied()
    }

    /// A line.
    #[inline]
    pub(crate) fn line(&self, number: u32) -> Option<&Line> {
        self.lines.get(number as usize)
    }

    /// A line, to be written.
    #[inline]
    pub(crate) fn line_mut(&mut self, number: u32) -> Option<&mut Line> {
        self.lines.get_mut(number as usize)
    }

    /// The line of a rule.
    #[inline]
    pub(crate) fn rule_mut(&mut self, number: u32) -> Option<&mut RuleLine> {
        self.rules.get_mut(number as usize)
    }

    /// Enters a line. Returns its number.
    pub(crate) fn insert(&mut self, key: Key, line: Line) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.lines.push(Line::default());
            self.lines.len() as u32 - 1
        });
        if let Some(slot) = self.lines.get_mut(number as usize) {
            *slot = line;
        }
        self.index.insert(key, number);
        number
    }

    /// Lets one more key lead to a line.
    pub(crate) fn lead(&mut self, key: Key, number: u32) {
        self.index.insert(key, number);
    }

    /// A key leads nowhere.
    pub(crate) fn forget(&mut self, key: Key) {
        self.index.remove(&key);
    }

    /// The line is free.
    pub(crate) fn release(&mut self, number: u32) {
        if let Some(slot) = self.lines.get_mut(number as usize) {
            *slot = Line::default();
            self.free.push(number);
        }
    }

    /// So many rule lines one after the other. Returns the number of the first.
    pub(crate) fn take_rules(&mut self, count: usize) -> u32 {
        if let Some(first) = self.free_rules.get_mut(&count).and_then(Vec::pop) {
            return first;
        }
        let first = self.rules.len() as u32;
        self.rules.resize(self.rules.len() + count, RuleLine::default());
        first
    }

    /// The rule lines are free.
    pub(crate) fn release_rules(&mut self, first: u32, count: usize) {
        let range = first as usize..first as usize + count;
        if let Some(lines) = self.rules.get_mut(range) {
            lines.fill(RuleLine::default());
            self.free_rules.entry(count).or_default().push(first);
        }
    }
}
