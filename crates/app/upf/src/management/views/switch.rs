//! The P4 switch.

use causeway_dataplane::{AccountingSide, SwitchState};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::system::NamedCount;

/// The P4 switch of the UPF.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SwitchView {
    /// Its state; absent where no P4 switch is the data plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<SwitchStateView>,
}

/// The state of the P4 switch.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SwitchStateView {
    /// The profile of the P4 program, such as `hip4`.
    pub profile: String,
    /// Where it is, as in `upf.switch.address`; absent for a model in the process of the UPF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// All tables are being compared with what they should have, or the switch is not connected: changes of sessions wait.
    pub is_reconciling: bool,
    /// Sessions on the switch.
    pub sessions: usize,
    /// Rule numbers in use, with those of removed rules whose last usage is not read yet.
    pub rule_numbers: usize,
    /// Changes of sessions that have not ended.
    pub changes: usize,
    /// The tables that the UPF fills, in the order of the program.
    pub tables: Vec<SwitchTableView>,
    /// The stages of Tofino 1 for which the compiler placed these tables, in order; empty if the profile was not compiled.
    pub stages: Vec<TableStageView>,
    /// The accounting tables, before and after QoS enforcement.
    pub accounting: Vec<AccountingView>,
    /// Role swaps of partitions since the start.
    pub swaps: u64,
    /// Changes that had to wait for a swap, since the partition for writes was full.
    pub swap_waits: u64,
    /// Counters of events since the start.
    pub events: Vec<NamedCount>,
}

/// A table of the program.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SwitchTableView {
    /// Its name in the program.
    pub name: String,
    /// Its entries.
    pub entries: usize,
    /// The largest number of entries.
    pub size: usize,
}

/// Where a part of a table is.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct TableStageView {
    /// The stage, from 0.
    pub stage: u8,
    /// `ingress` or `egress`.
    pub pipeline: String,
    /// The name of the table.
    pub table: String,
}

/// The accounting of one side.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct AccountingView {
    /// `pre_qos` or `post_qos`.
    pub side: String,
    /// Passes of its reader since the start.
    pub passes: u64,
    /// Its partitions; one where counters have indices.
    pub partitions: Vec<AccountingPartitionView>,
}

/// A partition of an accounting table.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct AccountingPartitionView {
    /// Rule numbers with a counter in it.
    pub entries: usize,
    /// The largest number of these.
    pub size: usize,
    /// Its reader has it now.
    pub is_read: bool,
    /// New entries are written to it.
    pub takes_entries: bool,
}

impl SwitchStateView {
    /// The state of the switch at this address, with the stages of its tables.
    pub(crate) fn of(state: SwitchState, address: Option<String>) -> Self {
        let names: Vec<&str> = state.tables.iter().map(|table| table.name.as_str()).collect();
        let stages = causeway_p4::stages(state.profile, &names).into_iter().map(|part| TableStageView {
            stage: part.stage,
            pipeline: if part.is_egress { "egress" } else { "ingress" }.into(),
            table: part.table.to_owned(),
        });
        let stages = stages.collect();
        let tables = state.tables.into_iter().map(|table| SwitchTableView {
            name: table.name,
            entries: table.entries,
            size: table.size,
        });
        Self {
            profile: state.profile.into(),
            address,
            is_reconciling: state.is_reconciling,
            sessions: state.sessions,
            rule_numbers: state.rule_numbers,
            changes: state.changes,
            tables: tables.collect(),
            stages,
            accounting: state.accounting.iter().map(AccountingView::of).collect(),
            swaps: state.swaps,
            swap_waits: state.swap_waits,
            events: state
                .events
                .into_iter()
                .map(|event| NamedCount { name: event.name.into(), count: event.value })
                .collect(),
        }
    }
}

impl AccountingView {
    fn of(side: &AccountingSide) -> Self {
        let partition = |partition: &causeway_dataplane::AccountingPartition| AccountingPartitionView {
            entries: partition.entries,
            size: partition.size,
            is_read: partition.is_read,
            takes_entries: partition.takes_entries,
        };
        Self {
            side: side.name.into(),
            passes: side.passes,
            partitions: side.partitions.iter().map(partition).collect(),
        }
    }
}
