//! The state of a P4 switch behind a data plane.

use crate::NamedCounter;

/// The state of a P4 switch: its program, what its tables have, and who has access to the accounting tables.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SwitchState {
    /// The profile of the P4 program, such as `hip4`.
    pub profile: &'static str,
    /// All tables are being compared with what they should have, after the switch was connected or has restarted. Changes of
    /// sessions wait.
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
