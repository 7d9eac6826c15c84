//! Keys of the tables in external memory.

use std::hash::BuildHasher;
use std::net::IpAddr;

use causeway_packet::{Flow, Ports};
use causeway_slowpath::lease::LookupKey;
use causeway_types::{Direction, Qfi};
use foldhash::fast::FixedState;

use crate::octets::Writer;

/// Octets of a [`UeKey`].
pub(crate) const UE_KEY: usize = 24;
/// Octets of a [`FlowKey`].
pub(crate) const FLOW_KEY: usize = 40;

/// The lookup key of a UE in one direction: a local tunnel, or a UE address in a data network. Never all zeroes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UeKey(pub(crate) [u8; UE_KEY]);

impl UeKey {
    /// The key of packets with this lookup key. `None`: the number of the network is too large.
    pub fn new(key: &LookupKey) -> Option<Self> {
        let mut out = Writer::default();
        match key {
            LookupKey::Tunnel { teid, local } => {
                out.u8(1 + u8::from(local.is_ipv6())).u8(0).u16(0).u32(teid.value()).bytes(&address(*local));
            }
            LookupKey::Ipv4 { network, ue } => {
                out.u8(3).u8(0).u16(u16::try_from(*network).ok()?).u32((*ue).into()).bytes(&[0; 16]);
            }
            LookupKey::Ipv6 { network, prefix } => {
                out.u8(4).u8(0).u16(u16::try_from(*network).ok()?).u32(0).u64(*prefix).u64(0);
            }
        }
        out.finish(UE_KEY).first_chunk().copied().map(Self)
    }

    /// A number for tests and models: the TEID of a tunnel of one address.
    pub fn of_number(number: u32) -> Self {
        let mut key = [0; UE_KEY];
        key[0] = 1;
        key[4..8].copy_from_slice(&number.to_be_bytes());
        Self(key)
    }

    pub(crate) fn hash(&self, seed: u64) -> u64 {
        FixedState::with_seed(seed).hash_one(self.0)
    }
}

/// A flow of a UE: addresses, ports and protocol, and what else a rule may look at: QFI and DSCP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey(pub(crate) [u8; FLOW_KEY]);

impl FlowKey {
    pub(crate) fn hash(&self, ue: &UeKey, seed: u64) -> u64 {
        FixedState::with_seed(seed).hash_one((self.0, ue.0))
    }
}

/// The fields of a packet that rules look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fields {
    /// Source and destination.
    pub src: IpAddr,
    /// Of the same family.
    pub dst: IpAddr,
    /// The IP protocol.
    pub protocol: u8,
    /// Ports, if it has any.
    pub ports: Option<Ports>,
    /// Type of service or traffic class without ECN.
    pub dscp: u8,
    /// The QFI that it came with.
    pub qfi: Option<Qfi>,
}

impl Fields {
    /// The fields of a packet that is no fragment.
    pub fn new(flow: &Flow, qfi: Option<Qfi>) -> Self {
        let Flow { src, dst, protocol, ports, tos, .. } = *flow;
        Self { src, dst, protocol: protocol.0, ports, dscp: tos & 0xfc, qfi }
    }

    /// The flow.
    pub fn key(&self) -> FlowKey {
        let mut out = Writer::default();
        let flags = 1 | u8::from(self.src.is_ipv6()) << 1 | u8::from(self.ports.is_some()) << 2;
        let ports = self.ports.unwrap_or(Ports { src: 0, dst: 0 });
        out.u8(flags).u8(self.protocol).u8(self.dscp).u8(self.qfi.map_or(0xff, Qfi::value));
        out.u16(ports.src).u16(ports.dst).bytes(&address(self.src)).bytes(&address(self.dst));
        FlowKey(out.finish(FLOW_KEY).first_chunk().copied().unwrap_or([0; FLOW_KEY]))
    }

    /// The remote and the local end: address and port.
    pub(crate) fn ends(&self, direction: Direction) -> [(IpAddr, Option<u16>); 2] {
        let source = (self.src, self.ports.map(|ports| ports.src));
        let destination = (self.dst, self.ports.map(|ports| ports.dst));
        match direction {
            Direction::Uplink => [destination, source],
            Direction::Downlink => [source, destination],
        }
    }
}

/// An address of either family in 16 octets; the family is told beside it.
pub(crate) fn address(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}
