//! The state of a P4 switch behind a data plane.

use crate::NamedCounter;

/// The state of a P4 switch: its program, what its tables have, and who has access to the accounting tables.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SwitchState {
    /// The profile of the P4 program, such as `hip4`.
    pub profile: &'static str,
    /// All tables are being compared with what they should have, after the switch was connected or has restarted, or the switch is
    /// not connected. Changes of sessions wait.
    pub is_reconciling: bool,
    /// Sessions on the switch.
    pub sessions: usize,
    /// Rule numbers in use, with those of removed rules whose last usage is not read yet.
    pub rule_numbers: usize,
    /// Changes of sessions that have not ended.
    pub changes: usize,
    /// The tables that sessions, routes and templates fill, in the order of the program.
    pub tables: Vec<SwitchTable>,
    /// The accounting tables, before and after QoS enforcement.
    pub accounting: Vec<AccountingSide>,
    /// Role swaps of partitions since the start (HiP4-UPF section 5.1).
    pub swaps: u64,
    /// Changes that had to wait for a swap, since the partition for writes was full.
    pub swap_waits: u64,
    /// Event counters since the start.
    pub events: Vec<NamedCounter>,
}

/// A table of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchTable {
    /// Its name in the program.
    pub name: String,
    /// Its entries, as they should be; those of changes in flight are not among them.
    pub entries: usize,
    /// The largest number of entries.
    pub size: usize,
    /// Its entries are no rules of sessions: they are the same in all parts of a switch.
    pub is_common: bool,
}

/// The accounting of one side: before QoS enforcement, or after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountingSide {
    /// `pre_qos` or `post_qos`.
    pub name: &'static str,
    /// Its partitions; a single one where counters have indices, or where one is read and written in turn.
    pub partitions: Vec<AccountingPartition>,
    /// Passes of its reader since the start.
    pub passes: u64,
}

/// A partition of an accounting table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccountingPartition {
    /// Rule numbers with a counter in it.
    pub entries: usize,
    /// The largest number of these.
    pub size: usize,
    /// Its reader has it now: no entries are written meanwhile.
    pub is_read: bool,
    /// New entries are written to it.
    pub takes_entries: bool,
}

impl SwitchState {
    /// The state of a switch of which this and the other one are parts, each with the rules of other sessions.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.is_reconciling |= other.is_reconciling;
        self.sessions += other.sessions;
        self.rule_numbers += other.rule_numbers;
        self.changes += other.changes;
        self.swaps += other.swaps;
        self.swap_waits += other.swap_waits;
        for (table, more) in self.tables.iter_mut().zip(other.tables) {
            if table.is_common {
                table.entries = table.entries.max(more.entries);
            } else {
                table.entries += more.entries;
                table.size += more.size;
            }
        }
        for (side, more) in self.accounting.iter_mut().zip(other.accounting) {
            side.passes += more.passes;
            for (partition, more) in side.partitions.iter_mut().zip(more.partitions) {
                partition.entries += more.entries;
                partition.size += more.size;
                partition.is_read |= more.is_read;
                partition.takes_entries |= more.takes_entries;
            }
        }
        for (event, more) in self.events.iter_mut().zip(other.events) {
            event.value += more.value;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part with so many rules of sessions, and two routes.
    fn part(rules: usize) -> SwitchState {
        let table =
            |name: &str, entries, is_common| SwitchTable { name: name.into(), entries, size: 8, is_common };
        let partition =
            |is_read| AccountingPartition { entries: rules, size: 8, is_read, takes_entries: !is_read };
        SwitchState {
            sessions: rules,
            is_reconciling: rules == 0,
            tables: vec![table("rules", rules, false), table("routes", 2, true)],
            accounting: vec![AccountingSide {
                name: "pre_qos",
                partitions: vec![partition(rules == 0)],
                passes: 3,
            }],
            events: vec![NamedCounter { name: "changes", value: 5 }],
            ..SwitchState::default()
        }
    }

    // Input:  two parts of a switch, with 3 rules and none, and with the same routes; one is being compared, and one is read.
    // Output: 3 of 16 rules, 2 of 8 routes; the whole is being compared, and read.
    #[test]
    fn parts_are_added_up() {
        let whole = part(3).with(part(0));
        let tables: Vec<_> = whole.tables.iter().map(|table| (table.entries, table.size)).collect();
        assert_eq!((whole.sessions, whole.is_reconciling, tables), (3, true, vec![(3, 16), (2, 8)]));
        let side = &whole.accounting[0];
        let partition = AccountingPartition { entries: 3, size: 16, is_read: true, takes_entries: true };
        assert_eq!((side.passes, side.partitions[0], whole.events[0].value), (6, partition, 10));
    }
}
