//! The tables, actions, counters and meters that the packet path needs, found in a program by their names.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::packet::{Family, Forward, Packet};
use crate::driver::{self, Program};

/// A program that the packet path cannot run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnknownProgram {
    /// Something that all programs have is missing.
    #[error("the program has no {0}")]
    Missing(&'static str),
    /// A key that the packet path does not know.
    #[error("table {table} has key {key}, which the model does not know")]
    Key {
        /// Alias of the table.
        table: String,
        /// Name of the key.
        key: String,
    },
    /// Its rules are addressed by index, in another packet path.
    #[error("the model does not run profile direct")]
    Direct,
    /// Its tunnels are of IPv6.
    #[error("the model does not run tunnels of IPv6")]
    OuterIpv6,
}

/// What a key is of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    IsUplink,
    Is(Family),
    Teid,
    Qfi,
    Source(Family),
    SourcePrefix,
    Destination(Family),
    DestinationPrefix,
    Protocol(Family),
    Dscp(Family),
    SourcePort,
    DestinationPort,
    HasPorts,
    /// The last 24 bits of the source address or prefix against the TEID.
    Difference(Family),
    Rule,
    Colour,
    QfiOut,
    Tunnel,
    Punt,
}

/// A table as the packet path asks it.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) id: u32,
    fields: Vec<Field>,
}

impl Asked {
    /// The keys of a packet.
    pub(super) fn keys(&self, packet: &Packet) -> Vec<u128> {
        self.fields.iter().map(|field| field.of(packet)).collect()
    }
}

impl Field {
    fn named(table: &str, key: &str) -> Option<Self> {
        let family = if table.ends_with("_ipv6") { Family::V6 } else { Family::V4 };
        let is_uplink = table.starts_with("ul_");
        Some(match key {
            "is_uplink" => Self::IsUplink,
            "is_ipv4" => Self::Is(Family::V4),
            "is_ipv6" => Self::Is(Family::V6),
            "teid" => Self::Teid,
            "qfi" if table == "queue_assignment" => Self::QfiOut,
            "qfi" => Self::Qfi,
            "remote_address" if is_uplink => Self::Destination(family),
            "source_address" | "remote_address" => Self::Source(family),
            "destination" if table.starts_with("tunnel_") => Self::Tunnel,
            "destination_address" | "ue_address" | "destination" => Self::Destination(family),
            "ue_prefix" => Self::DestinationPrefix,
            "source" if family == Family::V6 => Self::SourcePrefix,
            "source" => Self::Source(family),
            "difference" => Self::Difference(family),
            "protocol" => Self::Protocol(family),
            "dscp" => Self::Dscp(family),
            "source_port" => Self::SourcePort,
            "destination_port" => Self::DestinationPort,
            "has_ports" => Self::HasPorts,
            "rule" => Self::Rule,
            "color" => Self::Colour,
            "reason" => Self::Punt,
            _ => return None,
        })
    }

    /// Zero where the packet has no such header.
    fn of(self, packet: &Packet) -> u128 {
        let of_family = |family, octets| {
            if packet.family == Some(family) { packet.inner_field(octets) } else { 0 }
        };
        match self {
            Self::IsUplink => packet.is_tunnelled.into(),
            Self::Is(family) => (packet.family == Some(family)).into(),
            Self::Teid => packet.teid_in.into(),
            Self::Qfi => packet.qfi_in.into(),
            Self::Source(Family::V4) => of_family(Family::V4, 12..16),
            Self::Source(Family::V6) => of_family(Family::V6, 8..24),
            Self::SourcePrefix => of_family(Family::V6, 8..16),
            Self::Destination(Family::V4) => of_family(Family::V4, 16..20),
            Self::Destination(Family::V6) => of_family(Family::V6, 24..40),
            Self::DestinationPrefix => of_family(Family::V6, 24..32),
            Self::Protocol(Family::V4) => of_family(Family::V4, 9..10),
            Self::Protocol(Family::V6) => of_family(Family::V6, 6..7),
            Self::Dscp(family) if packet.family == Some(family) => u128::from(packet.tos() >> 2),
            Self::Dscp(_) => 0,
            Self::SourcePort => packet.ports.map_or(0, |(source, _)| source.into()),
            Self::DestinationPort => packet.ports.map_or(0, |(_, destination)| destination.into()),
            Self::HasPorts => packet.ports.is_some().into(),
            Self::Difference(Family::V4) => of_family(Family::V4, 13..16) ^ u128::from(packet.teid_in),
            Self::Difference(Family::V6) => of_family(Family::V6, 13..16) ^ u128::from(packet.teid_in),
            Self::Rule => packet.rule.into(),
            Self::Colour => packet.colour.into(),
            Self::QfiOut => packet.qfi_out.into(),
            Self::Tunnel => packet.tunnel.into(),
            Self::Punt => packet.punt.map_or(0, |punt| punt as u128),
        }
    }
}

/// The tables of a program by their names; what a profile does not have is not asked.
#[derive(Clone, Debug)]
pub(super) struct Names {
    tables: HashMap<&'static str, Asked, RandomState>,
    actions: HashMap<u32, driver::Action, RandomState>,
    pub(super) drops: u32,
    pub(super) queue_packets: u32,
    pub(super) meters: u32,
}

/// All that the packet path may ask.
const TABLES: [&str; 37] = [
    "source_guard",
    "source_guard_ipv6",
    "complex",
    "complex_ipv6",
    "ul_simple",
    "dl_simple",
    "dl_simple_ipv6",
    "ul_to_n6_complex",
    "ul_to_n6_complex_ipv6",
    "ul_to_n9_n3_complex",
    "ul_to_n9_n3_complex_ipv6",
    "ul_to_n6_simple",
    "ul_to_n9_n3_simple",
    "dl_from_n9_simple",
    "dl_from_n6_complex",
    "dl_from_n6_complex_ipv6",
    "dl_from_n6_simple",
    "dl_from_n6_simple_ipv6",
    "far",
    "meter_lookup",
    "ul_to_n6_template",
    "ul_to_n9_n3_template",
    "dl_template",
    "pre_qos_a",
    "pre_qos_b",
    "post_qos_a",
    "post_qos_b",
    "queue_assignment",
    "tunnel_exact",
    "tunnel_lpm",
    "network_exact",
    "network_lpm",
    "network_lpm_ipv6",
    "punt_ports",
    "ul_sessions_low",
    "ul_sessions_high",
    "ue_pools",
];

impl Names {
    pub(super) fn new(program: &Program) -> Result<Self, UnknownProgram> {
        if program.table_named("ul_sessions_low").is_some() {
            return Err(UnknownProgram::Direct);
        }
        let tunnels = program.table_named("tunnel_exact").and_then(|table| table.keys.first());
        if tunnels.is_some_and(|key| key.width != 32) {
            return Err(UnknownProgram::OuterIpv6);
        }
        let mut tables: HashMap<&'static str, Asked, RandomState> = HashMap::default();
        for name in TABLES {
            let Some(table) = program.table_named(name) else { continue };
            let field = |key: &driver::Key| {
                let unknown = || UnknownProgram::Key { table: name.to_owned(), key: key.name.clone() };
                Field::named(name, &key.name).ok_or_else(unknown)
            };
            let fields = table.keys.iter().map(field).collect::<Result<_, _>>()?;
            tables.insert(name, Asked { id: table.id, fields });
        }
        let counter = |name: &'static str| {
            let found = program.counters.iter().find(|counter| counter.name == name);
            found.map(|counter| counter.id).ok_or(UnknownProgram::Missing(name))
        };
        let meters = program.meters.iter().find(|meter| meter.name == "rule_meters");
        let actions = program.actions.iter().map(|action| (action.id, action.clone())).collect();
        Ok(Self {
            tables,
            actions,
            drops: counter("drops")?,
            queue_packets: counter("queue_packets")?,
            meters: meters.map(|meter| meter.id).ok_or(UnknownProgram::Missing("rule_meters"))?,
        })
    }

    /// A table, if the program has it.
    pub(super) fn table(&self, name: &str) -> Option<&Asked> {
        self.tables.get(name)
    }

    /// Carries out the action of an entry.
    pub(super) fn act(&self, packet: &mut Packet, action: u32, parameters: &[u128]) {
        let Some(action) = self.actions.get(&action) else { return };
        let named = action.parameters.iter().zip(parameters);
        named.for_each(|(parameter, value)| set(packet, &parameter.name, *value));
        match action.name.as_str() {
            "decapsulate" => packet.forward = Some(Forward::Decapsulate),
            "encapsulate" => packet.forward = Some(Forward::Encapsulate),
            "buffer" => packet.buffer = true,
            _ => {}
        }
    }
}

/// What a parameter of an action says of the packet.
fn set(packet: &mut Packet, name: &str, value: u128) {
    match name {
        "rule" => packet.rule = value as u32,
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
