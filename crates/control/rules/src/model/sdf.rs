//! Service Data Flow filters: the IP flows that a PDR is about.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use causeway_types::IpNet;

/// The flow description of an SDF filter (TS 29.244 clause 8.2.5, the IPFilterRule of RFC 6733 section 4.3.1).
///
/// Written for the downlink (`permit out`): `remote` is the source and `local` the UE's side. An uplink
/// packet is compared with the two ends exchanged.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SdfFilter {
    /// The IP protocol; `None` for `ip`, which is any.
    pub protocol: Option<u8>,
    /// The far end, in the data network.
    pub remote: FlowEnd,
    /// The near end, the UE or what lies behind it.
    pub local: FlowEnd,
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

    /// The port is among those asked for; `None` is a packet without ports.
    pub fn covers_port(&self, port: Option<u16>) -> bool {
        self.ports.is_empty() || port.is_some_and(|port| self.ports.iter().any(|range| range.contains(&port)))
    }

    /// The address is among those asked for, `is_assigned` deciding what the UE's own are.
    pub fn covers_address(&self, ip: IpAddr, is_assigned: impl Fn(IpAddr) -> bool) -> bool {
        match &self.address {
            FlowAddress::Any => true,
            FlowAddress::Assigned => is_assigned(ip),
            FlowAddress::Net(net) => net.contains(&ip),
        }
    }
}
