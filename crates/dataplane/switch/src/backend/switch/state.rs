//! The state of the switch, for an operator.

use std::collections::HashMap;

use causeway_dataplane::{AccountingPartition, AccountingSide, NamedCounter, SwitchState, SwitchTable};
use foldhash::fast::RandomState;

use super::Switch;
use crate::backend::layout::ACCOUNTING;
use crate::driver::SwitchDriver;
use crate::pendulum::{PartitionUse, Side};

impl<D: SwitchDriver> Switch<D> {
    /// The state of the switch, as it should be. O(tables and templates).
    pub fn state(&self) -> SwitchState {
        let statistics = self.reader.access().statistics();
        let (sessions, rule_numbers) = self.sessions.len();
        SwitchState {
            profile: self.layout.profile_name(),
            is_reconciling: self.recovery.is_in_progress(),
            sessions,
            rule_numbers,
            changes: self.operations.len(),
            tables: self.table_states(),
            accounting: Side::ALL.map(|side| self.accounting(side)).into(),
            swaps: statistics.swaps,
            swap_waits: statistics.waits,
            events: self.events(),
        }
    }

    fn table_states(&self) -> Vec<SwitchTable> {
        let mut shared: HashMap<u32, usize, RandomState> = HashMap::default();
        let templates = self.allocator.shared_entries();
        for entry in templates.iter().chain(self.recovery.changing()) {
            *shared.entry(entry.key.table).or_default() += 1;
        }
        let accounting = self.accounting_tables();
        let tables = self.layout.filled().map(|table| {
            let of_shared = shared.get(&table.id).copied().unwrap_or_default();
            let entries = match accounting.get(table.name.as_str()) {
                Some(entries) => *entries,
                None => self.allocator.entries_of(table.id) + of_shared,
            };
            let is_common = !self.layout.program.has_rules(table);
            SwitchTable { name: table.name.clone(), entries, size: table.size, is_common }
        });
        tables.collect()
    }

    /// The entries of the accounting tables, by name.
    fn accounting_tables(&self) -> HashMap<&'static str, usize, RandomState> {
        let of_side = |(side, names): (Side, [&'static str; 2])| {
            let partitions = self.reader.access().partitions(side);
            names.into_iter().zip(partitions).map(|(name, partition)| (name, partition.entries))
        };
        Side::ALL.into_iter().zip(ACCOUNTING).flat_map(of_side).collect()
    }

    fn accounting(&self, side: Side) -> AccountingSide {
        let partition = |PartitionUse { entries, capacity, is_read, takes_entries }| AccountingPartition {
            entries,
            size: capacity,
            is_read,
            takes_entries,
        };
        AccountingSide {
            name: match side {
                Side::Ingress => "pre_qos",
                Side::Egress => "post_qos",
            },
            partitions: self.reader.access().partitions(side).into_iter().map(partition).collect(),
            passes: self.reader.passes(side),
        }
    }

    /// Counters of events since the start, always the same ones. O(1).
    pub fn events(&self) -> Vec<NamedCounter> {
        let counts = self.statistics();
        [
            ("changes", counts.done),
            ("refused_changes", counts.refused),
            ("reconciliations", counts.reconciliations),
            ("requests_without_connection", counts.unavailable),
            ("batches_read_back", counts.read_back),
            ("refused_background_writes", counts.rejected_background_writes),
            ("lost_counters", counts.lost_counters),
            ("restarted_counters", counts.restarted_counters),
            ("ignored_frames", counts.ignored_frames),
            ("unsent_frames", counts.unsent_frames),
            ("lost_frames", counts.lost_frames),
            ("class_changes", counts.class_changes),
            ("class_changes_found_by_reading", counts.class_changes_found_by_reading),
            ("sessions_without_class_place", counts.sessions_without_class_place),
            ("sessions_classified_in_software", counts.sessions_classified_in_software),
            ("heavy_hitters_found_by_reading", counts.heavy_hitters_found_by_reading),
        ]
        .map(|(name, value)| NamedCounter { name, value })
        .into()
    }
}
