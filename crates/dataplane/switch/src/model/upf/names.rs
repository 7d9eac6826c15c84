//! The tables, actions, counters and meters that the packet path needs, found in a program by their names.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::keys::{Field, TableKeys};
use super::packet::{Forward, Packet};
use crate::driver::{self, Program};
use crate::indexed_counters::IndexedCounters;
use crate::meters::Meters;
use crate::tables::TABLES;

/// A program that the packet path cannot run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnknownProgram {
    /// An object that all programs have is missing.
    #[error("the program has no {0}")]
    Missing(&'static str),
    /// A key that is unknown to the packet path.
    #[error("table {table} has key {key}, which is unknown to the model")]
    Key {
        /// Alias of the table.
        table: String,
        /// Name of the key.
        key: String,
    },
    /// Its tunnels are over IPv6.
    #[error("the model does not support tunnels over IPv6")]
    OuterIpv6,
}

/// The tables of a program by their names; tables that a profile lacks are not looked up.
#[derive(Clone, Debug)]
pub(super) struct Names {
    tables: HashMap<&'static str, TableKeys, RandomState>,
    actions: HashMap<u32, driver::Action, RandomState>,
    pub(super) drops: u32,
    pub(super) queue_packets: u32,
    pub(super) meters: Meters,
    /// Meters of sessions' simple rules, and the counters of rules, if they are by index.
    pub(super) by_index: Option<(Meters, IndexedCounters)>,
}

impl Names {
    pub(super) fn new(program: &Program) -> Result<Self, UnknownProgram> {
        let tunnels = program.table_named("tunnel_exact").and_then(|table| table.keys.first());
        if tunnels.is_some_and(|key| key.width != 32) {
            return Err(UnknownProgram::OuterIpv6);
        }
        let mut tables: HashMap<&'static str, TableKeys, RandomState> = HashMap::default();
        for name in TABLES {
            let Some(table) = program.table_named(name) else { continue };
            let field = |key: &driver::Key| {
                let unknown = || UnknownProgram::Key { table: name.to_owned(), key: key.name.clone() };
                Field::named(name, &key.name).ok_or_else(unknown)
            };
            let fields = table.keys.iter().map(field).collect::<Result<_, _>>()?;
            tables.insert(name, TableKeys { id: table.id, fields });
        }
        let counter = |name: &'static str| {
            let found = program.counters.iter().find(|counter| counter.name == name);
            found.map(|counter| counter.id).ok_or(UnknownProgram::Missing(name))
        };
        let by_index = match program.table_named("ul_sessions_low") {
            None => None,
            Some(_) => {
                let cells = IndexedCounters::of(program).ok_or(UnknownProgram::Missing("pre_qos_0"))?;
                let meters = Meters::of_sessions(program);
                Some((meters.ok_or(UnknownProgram::Missing("session_meters"))?, cells))
            }
        };
        let actions = program.actions.iter().map(|action| (action.id, action.clone())).collect();
        Ok(Self {
            tables,
            actions,
            drops: counter("drops")?,
            queue_packets: counter("queue_packets")?,
            meters: Meters::of_rules(program).ok_or(UnknownProgram::Missing("rule_meters"))?,
            by_index,
        })
    }

    /// A table, if the program has it.
    pub(super) fn table(&self, name: &str) -> Option<&TableKeys> {
        self.tables.get(name)
    }

    /// Executes the action of an entry.
    pub(super) fn act(&self, packet: &mut Packet, action: u32, parameters: &[u128]) {
        let Some(action) = self.actions.get(&action) else { return };
        let named = action.parameters.iter().zip(parameters);
        if let "set_uplink" | "set_downlink" | "set_session_ipv4" | "set_session_ipv6" = action.name.as_str()
        {
            return named.for_each(|(parameter, value)| packet.index.set(&parameter.name, *value as u32));
        }
        named.for_each(|(parameter, value)| set(packet, &parameter.name, *value));
        match action.name.as_str() {
            "decapsulate" | "decapsulate_by_rule" => packet.forward = Some(Forward::Decapsulate),
            "encapsulate" | "encapsulate_by_rule" => packet.forward = Some(Forward::Encapsulate),
            "buffer" => packet.buffer = true,
            "buffer_by_rule" => (packet.buffer, packet.meter) = (true, 0),
            "drop_by_rule" => packet.meter = 0,
            // The index in one of two halves.
            "ask_even" => packet.meter *= 2,
            "ask_odd" => packet.meter = 2 * packet.meter + 1,
            _ => {}
        }
    }
}

/// Sets a packet property from an action parameter.
fn set(packet: &mut Packet, name: &str, value: u128) {
    match name {
        "rule" => packet.rule = value as u32,
        "filter_class" => packet.filter_class = value as u16,
        "meter_index" => packet.meter = value as u32,
        "teid" => packet.teid_out = value as u32,
        "tunnel" => packet.tunnel = value as u32,
        "qfi" => packet.qfi_out = value as u8,
        "pdu_type" => packet.pdu_type = value as u8,
        "dscp" => packet.dscp = value as u8,
        "mark" => packet.mark_dscp = value != 0,
        "notify" => packet.notify = value != 0,
        "reason" => packet.drop = Some(super::codes::DropReason::of(value)),
        "queue" => packet.queue = value as u8,
        "port" => packet.egress_port = value as u16,
        "source" => packet.ethernet[6..12].copy_from_slice(&value.to_be_bytes()[10..]),
        "neighbour" => packet.ethernet[..6].copy_from_slice(&value.to_be_bytes()[10..]),
        "address" => packet.local = value as u32,
        _ => {}
    }
}
