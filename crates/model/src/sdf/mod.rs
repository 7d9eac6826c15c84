//! Service Data Flow filters: the IP flows of a PDR.
//!
//! A flow description as text is the IPFilterRule of RFC 6733 section 4.3.1, as restricted by TS 29.212 clause 5.4.2.

mod parse;
mod print;

use std::net::IpAddr;
use std::ops::RangeInclusive;

use causeway_types::IpNet;

pub use parse::FlowError;

/// An SDF filter (TS 29.244 clause 8.2.5). A packet must match every part that is present.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SdfFilter {
    /// Addresses, ports and protocol; [`FlowDescription::ANY`] if the filter has no description.
    pub flow: FlowDescription,
    /// Type of service (IPv4) or traffic class (IPv6).
    pub traffic_class: Option<TrafficClass>,
    /// Security Parameter Index of ESP or AH.
    pub spi: Option<u32>,
    /// IPv6 flow label, 20 bits; no IPv4 packet has one.
    pub flow_label: Option<u32>,
    /// The SDF Filter ID of a bidirectional filter: PDRs of the session that refer to it have the same filter.
    pub id: Option<u32>,
}

impl From<FlowDescription> for SdfFilter {
    fn from(flow: FlowDescription) -> Self {
        Self { flow, traffic_class: None, spi: None, flow_label: None, id: None }
    }
}

/// A type of service or traffic class with its mask (TS 29.212 clause 5.3.15).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TrafficClass {
    /// The value.
    pub value: u8,
    /// The bits that are compared; 0xfc for a DSCP.
    pub mask: u8,
}

impl TrafficClass {
    /// The octet matches.
    pub const fn covers(self, octet: u8) -> bool {
        (octet ^ self.value) & self.mask == 0
    }
}

/// A flow description: the IPFilterRule of RFC 6733 section 4.3.1 as restricted by TS 29.212 clause 5.4.2.
///
/// In downlink form (`permit out`): `remote` is the source and `local` the UE's side. For an uplink packet the two
/// ends are exchanged.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FlowDescription {
    /// The IP protocol; `None` for `ip`, which matches any.
    pub protocol: Option<u8>,
    /// The remote end, in the data network.
    pub remote: FlowEnd,
    /// The local end, the UE or a host behind it.
    pub local: FlowEnd,
}

impl FlowDescription {
    /// Every packet.
    pub const ANY: Self = Self { protocol: None, remote: FlowEnd::ANY, local: FlowEnd::ANY };

    /// Upper estimate of its memory in octets.
    pub fn octets(&self) -> usize {
        let ranges = self.remote.ports.len() + self.local.ports.len();
        2 * (size_of::<Self>() + ranges * size_of::<RangeInclusive<u16>>())
    }

    /// The number of pairs of port ranges, at least one.
    pub fn port_pairs(&self) -> usize {
        self.remote.ports.len().max(1).saturating_mul(self.local.ports.len().max(1))
    }

    /// It contains `assigned`, so it requires a UE address.
    pub fn names_assigned(&self) -> bool {
        [&self.remote, &self.local].iter().any(|end| end.address == FlowAddress::Assigned)
    }
}

/// One end of a flow description.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FlowEnd {
    /// The addresses.
    pub address: FlowAddress,
    /// The ports, ascending and disjoint; empty matches any port and packets without ports.
    pub ports: Vec<RangeInclusive<u16>>,
}

/// The addresses of one end of a flow description.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FlowAddress {
    /// `any`.
    Any,
    /// `assigned`: the UE addresses of the PDI.
    Assigned,
    /// A prefix, or one address as its longest prefix.
    Net(IpNet),
}

impl FlowEnd {
    /// Matches everything.
    pub const ANY: Self = Self { address: FlowAddress::Any, ports: Vec::new() };

    /// The port matches; `None` is a packet without ports.
    pub fn covers_port(&self, port: Option<u16>) -> bool {
        self.ports.is_empty() || port.is_some_and(|port| self.ports.iter().any(|range| range.contains(&port)))
    }

    /// The address matches; `is_assigned` decides which addresses are the UE's.
    pub fn covers_address(&self, ip: IpAddr, is_assigned: impl Fn(IpAddr) -> bool) -> bool {
        match &self.address {
            FlowAddress::Any => true,
            FlowAddress::Assigned => is_assigned(ip),
            FlowAddress::Net(net) => net.contains(&ip),
        }
    }
}
