//! The values of table keys for a packet.

use causeway_p4::names::{key, table};

use super::packet::{Family, Packet};
use crate::tables;

/// The packet field of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
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
    /// Numbers of profile `direct`.
    Session,
    Template,
    FilterClass,
    /// Of the segment that the frame came from or leaves to.
    Vni,
    Remote,
    Mac,
    Segment,
    Tenant,
    Gnb,
}

/// A table as the packet path looks it up.
#[derive(Clone, Debug)]
pub(super) struct TableKeys {
    pub(super) id: u32,
    pub(super) fields: Vec<Field>,
}

impl TableKeys {
    /// The keys of a packet.
    pub(super) fn keys(&self, packet: &Packet) -> Vec<u128> {
        self.fields.iter().map(|field| field.of(packet)).collect()
    }
}

impl Field {
    pub(super) fn named(table: &str, key: &str) -> Option<Self> {
        let family = if tables::is_ipv6(table) { Family::V6 } else { Family::V4 };
        let is_uplink = tables::is_uplink(table);
        Some(match key {
            key::IS_UPLINK => Self::IsUplink,
            key::IS_IPV4 => Self::Is(Family::V4),
            key::IS_IPV6 => Self::Is(Family::V6),
            key::TEID => Self::Teid,
            key::QFI if table == table::QUEUE_ASSIGNMENT => Self::QfiOut,
            key::QFI => Self::Qfi,
            key::REMOTE_ADDRESS if is_uplink => Self::Destination(family),
            key::SOURCE_ADDRESS | key::REMOTE_ADDRESS => Self::Source(family),
            key::DESTINATION if matches!(table, table::TUNNEL_EXACT | table::TUNNEL_LPM) => Self::Tunnel,
            key::DESTINATION_ADDRESS | key::UE_ADDRESS | key::DESTINATION => Self::Destination(family),
            key::UE_PREFIX => Self::DestinationPrefix,
            key::SOURCE if family == Family::V6 => Self::SourcePrefix,
            key::SOURCE => Self::Source(family),
            key::DIFFERENCE => Self::Difference(family),
            key::PROTOCOL => Self::Protocol(family),
            key::DSCP => Self::Dscp(family),
            key::SOURCE_PORT => Self::SourcePort,
            key::DESTINATION_PORT => Self::DestinationPort,
            key::HAS_PORTS => Self::HasPorts,
            key::RULE => Self::Rule,
            key::COLOR => Self::Colour,
            key::REASON => Self::Punt,
            // Values that are too wide for the key are truncated.
            key::SESSION if is_uplink => Self::Teid,
            key::SESSION => Self::Session,
            key::TEMPLATE => Self::Template,
            key::FILTER_CLASS => Self::FilterClass,
            key::VNI => Self::Vni,
            key::REMOTE => Self::Remote,
            key::MAC => Self::Mac,
            key::SEGMENT => Self::Segment,
            key::TENANT => Self::Tenant,
            key::GNB => Self::Gnb,
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
            Self::Session => packet.session.into(),
            Self::Template => packet.index.template.into(),
            Self::FilterClass => packet.filter_class.into(),
            Self::Vni => packet.arrival.map_or(0, |arrival| arrival.vni.into()),
            Self::Remote => packet.arrival.map_or(0, |arrival| arrival.remote),
            Self::Mac => packet.arrival.map_or(0, |arrival| arrival.mac.into()),
            Self::Segment => packet.segment.into(),
            Self::Tenant => packet.tenant.into(),
            Self::Gnb => packet.gnb.into(),
        }
    }
}
