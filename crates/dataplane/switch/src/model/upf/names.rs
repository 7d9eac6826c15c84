//! The tables, actions, counters and meters that the packet path needs, found in a program by their names.

use causeway_p4::names::{action, counter, meter, parameter, table};

use crate::tables::variants;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use foldhash::fast::RandomState;

use super::keys::{Field, TableKeys};
use super::packet::{Family, Forward, Packet, Underlay};
use crate::driver::{self, Program};
use crate::indexed_counters::IndexedCounters;
use crate::meters::Meters;
use crate::model::register::RegisterError;
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
    /// An access to a register that no switch can make.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// Its rules are found by index, which are never armed.
    #[error("the model does not support software behind a switch with profile direct")]
    DirectWithSoftware,
    /// Its tunnels are over IPv6.
    #[error("the model does not support tunnels over IPv6")]
    OuterIpv6,
}

/// PDR_IDs of profile `thesis`: that of tenant 0 in each direction.
const UPLINK_OF_TENANT: u32 = 0x100;
const DOWNLINK_OF_TENANT: u32 = 0x200;

/// The tables of a program by their names; tables that a profile lacks are not looked up.
#[derive(Clone, Debug)]
pub(super) struct Names {
    tables: HashMap<&'static str, TableKeys, RandomState>,
    actions: HashMap<u32, driver::Action, RandomState>,
    pub(super) drops: u32,
    pub(super) queue_packets: u32,
    pub(super) meters: Meters,
    /// Rules are tenants' (profile `thesis`).
    pub(super) by_tenant: bool,
    /// UEs have IPv6.
    pub(super) has_ipv6: bool,
    /// The IP version of the underlay, where there are VXLAN segments.
    pub(super) underlay_version: Family,
    /// Meters of sessions' simple rules, and the counters of rules, if they are by index.
    pub(super) by_index: Option<(Meters, IndexedCounters)>,
}

/// The IP version of the addresses of segments.
fn underlay_version(program: &Program) -> Family {
    let enter = program.action_named(action::ENTER_SEGMENT);
    let remote = enter.and_then(|enter| enter.parameters.iter().find(|it| it.name == parameter::REMOTE));
    if remote.is_some_and(|remote| remote.width == 128) { Family::V6 } else { Family::V4 }
}

impl Names {
    pub(super) fn new(program: &Program) -> Result<Self, UnknownProgram> {
        let tunnels = program.table_named(table::TUNNEL_EXACT).and_then(|table| table.keys.first());
        if tunnels.is_some_and(|key| key.width != 32) {
            return Err(UnknownProgram::OuterIpv6);
        }
        let mut tables: HashMap<&'static str, TableKeys, RandomState> = HashMap::default();
        // Those two are looked up by what is no field of a packet.
        let is_apart = |name: &&str| [table::SOFTWARE_PORTS, table::PACKET_LIMITS].contains(name);
        for name in TABLES.into_iter().filter(|name| !is_apart(name)) {
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
        let by_index = match program.table_named(table::UL_SESSIONS_LOW) {
            None => None,
            Some(_) => {
                let cells =
                    IndexedCounters::of(program).ok_or(UnknownProgram::Missing(counter::PRE_QOS_0))?;
                let meters = Meters::of_sessions(program);
                Some((meters.ok_or(UnknownProgram::Missing("session_meters"))?, cells))
            }
        };
        let actions = program.actions.iter().map(|action| (action.id, action.clone())).collect();
        Ok(Self {
            by_tenant: tables.contains_key(table::UE_TUNNELS),
            has_ipv6: tables.contains_key(table::SOURCE_GUARD_IPV6),
            underlay_version: underlay_version(program),
            tables,
            actions,
            drops: counter(counter::DROPS)?,
            queue_packets: counter(counter::QUEUE_PACKETS)?,
            meters: Meters::of_rules(program).ok_or(UnknownProgram::Missing(meter::RULE_METERS))?,
            by_index,
        })
    }

    /// An address in the underlay.
    fn underlay_address(&self, bits: u128) -> IpAddr {
        match self.underlay_version {
            Family::V4 => Ipv4Addr::from(bits as u32).into(),
            Family::V6 => Ipv6Addr::from(bits).into(),
        }
    }

    /// A table, if the program has it.
    pub(super) fn table(&self, name: &str) -> Option<&TableKeys> {
        self.tables.get(name)
    }

    /// Executes the action of an entry.
    pub(super) fn act(&self, packet: &mut Packet, action: u32, parameters: &[u128]) {
        let Some(action) = self.actions.get(&action) else { return };
        let named = action.parameters.iter().zip(parameters);
        if let action::SET_UPLINK
        | action::SET_DOWNLINK
        | action::SET_SESSION_IPV4
        | action::SET_SESSION_IPV6 = action.name.as_str()
        {
            return named.for_each(|(parameter, value)| packet.index.set(&parameter.name, *value as u32));
        }
        if action.name == action::ENTER_SEGMENT {
            let nowhere = self.underlay_address(0);
            let mut underlay =
                Underlay { source: 0, neighbour: 0, vni: 0, local: nowhere, remote: nowhere, too_big: 0 };
            for (parameter, value) in named {
                match parameter.name.as_str() {
                    parameter::PORT => packet.egress_port = *value as u16,
                    parameter::SOURCE => underlay.source = *value as u64,
                    parameter::NEIGHBOUR => underlay.neighbour = *value as u64,
                    parameter::VNI => underlay.vni = *value as u32,
                    parameter::LOCAL => underlay.local = self.underlay_address(*value),
                    parameter::REMOTE => underlay.remote = self.underlay_address(*value),
                    parameter::TOO_BIG => underlay.too_big = *value as u32,
                    _ => {}
                }
            }
            packet.underlay = Some(underlay);
            return;
        }
        named.for_each(|(parameter, value)| set(packet, &parameter.name, *value));
        match action.name.as_str() {
            action::DENY => packet.is_denied = true,
            action::ASK_SOFTWARE => (packet.is_denied, packet.is_undecided) = (true, true),
            action::PASS if self.by_tenant => {
                packet.rule = UPLINK_OF_TENANT + u32::from(packet.tenant);
                packet.meter = packet.rule;
                packet.forward = Some(Forward::Decapsulate);
            }
            action::SET_GNB | variants::SET_TUNNEL => {
                packet.rule = DOWNLINK_OF_TENANT + u32::from(packet.tenant);
                packet.meter = packet.tenant.into();
                packet.forward = Some(Forward::Encapsulate);
            }
            action::DECAPSULATE | action::DECAPSULATE_BY_RULE => packet.forward = Some(Forward::Decapsulate),
            action::ENCAPSULATE | action::ENCAPSULATE_BY_RULE => packet.forward = Some(Forward::Encapsulate),
            action::BUFFER => packet.buffer = true,
            action::BUFFER_BY_RULE => (packet.buffer, packet.meter) = (true, 0),
            action::DROP_BY_RULE => packet.meter = 0,
            // The index in one of two halves.
            variants::ASK_EVEN => packet.meter *= 2,
            variants::ASK_ODD => packet.meter = 2 * packet.meter + 1,
            _ => {}
        }
    }
}

/// Sets a packet property from an action parameter.
fn set(packet: &mut Packet, name: &str, value: u128) {
    match name {
        parameter::RULE => packet.rule = value as u32,
        parameter::FILTER_CLASS => packet.filter_class = value as u16,
        parameter::METER_INDEX => packet.meter = value as u32,
        parameter::TEID => packet.teid_out = value as u32,
        parameter::TUNNEL => packet.tunnel = value as u32,
        parameter::QFI => packet.qfi_out = value as u8,
        parameter::PDU_TYPE => packet.pdu_type = value as u8,
        parameter::DSCP => packet.dscp = value as u8,
        parameter::MARK => packet.mark_dscp = value != 0,
        parameter::NOTIFY => packet.notify = value != 0,
        parameter::REASON => packet.drop = Some(super::codes::DropReason::of(value)),
        parameter::QUEUE => packet.queue = value as u8,
        parameter::PORT => packet.egress_port = value as u16,
        parameter::SOURCE => packet.ethernet[6..12].copy_from_slice(&value.to_be_bytes()[10..]),
        parameter::NEIGHBOUR => packet.ethernet[..6].copy_from_slice(&value.to_be_bytes()[10..]),
        parameter::ADDRESS => packet.local = value as u32,
        parameter::TENANT => packet.tenant = value as u8,
        parameter::SEGMENT => packet.segment = value as u8,
        parameter::GNB => packet.gnb = value as u32,
        _ => {}
    }
}
