//! Keys of the tables in external memory.

use std::net::IpAddr;

use causeway_packet::{Flow, Ports};
use causeway_slowpath::lease::LookupKey;
use causeway_types::{Direction, Qfi};
use crc32fast::Hasher;

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
        let mut out = Writer::of_size(UE_KEY);
        match key {
            LookupKey::Tunnel { teid, local } => {
                out.u8(1 + u8::from(local.is_ipv6())).u8(0).u16(0).u32(teid.value()).bytes(&address(*local));
            }
            LookupKey::Ipv4 { network, ue } => {
                out.u8(3).u8(0).u16(u16::try_from(*network).ok()?).u32((*ue).into()).bytes(&[0; 16]);
            }
            LookupKey::Ipv6 { network, prefix } => {
                out.u8(KIND_IPV6).u8(0).u16(u16::try_from(*network).ok()?).u32(0).u64(*prefix).u64(0);
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

    /// The hash that chooses its bucket, queue pair and generation: CRC-32 (IEEE 802.3) of its kind and its TEID or IPv4 address, as P4 profile `xplane`
    /// computes it, and of what that has no keys of: another network than the first, and a prefix.
    pub(crate) fn hash(&self) -> u32 {
        let [kind, _, network @ .., w0, w1, w2, w3] = *self.0.first_chunk::<8>().unwrap_or(&[0; 8]);
        let mut crc = Hasher::new();
        crc.update(&[kind, w0, w1, w2, w3]);
        if kind == KIND_IPV6 || network != [0; 2] {
            crc.update(&network);
            crc.update(&self.0[8..16]);
        }
        crc.finalize()
    }

    /// The queue pair, of so many, over which all operations of the UE go.
    pub fn queue_pair(&self, pairs: u64) -> u64 {
        u64::from(self.hash()) % pairs.max(1)
    }
}

/// The kind of keys that are a prefix in a data network.
const KIND_IPV6: u8 = 4;

/// The bit of a flow's first octet that says that its addresses are of IPv6.
const IS_IPV6: u8 = 2;

/// A flow of a UE: addresses, ports and protocol, and what else a rule may look at: QFI and DSCP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey(pub(crate) [u8; FLOW_KEY]);

impl FlowKey {
    /// The hash that chooses its bucket, as P4 profile `xplane` computes it: CRC-32 of the UE's TEID or IPv4 address, source, destination, ports, protocol
    /// and QFI. Flows that differ in their DSCP alone have one bucket.
    pub(crate) fn hash(&self, ue: &UeKey) -> u32 {
        let [flags, protocol, _, qfi] = *self.0.first_chunk().unwrap_or(&[0; 4]);
        let skipped = if flags & IS_IPV6 == 0 { 12 } else { 0 };
        let mut crc = Hasher::new();
        crc.update(&ue.0[4..8]);
        crc.update(&self.0[8 + skipped..24]);
        crc.update(&self.0[24 + skipped..FLOW_KEY]);
        crc.update(&self.0[4..8]);
        crc.update(&[protocol, qfi]);
        crc.finalize()
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
        let flags = 1 | (IS_IPV6 * u8::from(self.src.is_ipv6())) | u8::from(self.ports.is_some()) << 2;
        let ports = self.ports.unwrap_or(Ports { src: 0, dst: 0 });
        let mut key = [0; FLOW_KEY];
        key[..4].copy_from_slice(&[flags, self.protocol, self.dscp, self.qfi.map_or(0xff, Qfi::value)]);
        key[4..6].copy_from_slice(&ports.src.to_be_bytes());
        key[6..8].copy_from_slice(&ports.dst.to_be_bytes());
        key[8..24].copy_from_slice(&address(self.src));
        key[24..].copy_from_slice(&address(self.dst));
        FlowKey(key)
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

#[cfg(test)]
mod tests {
    use causeway_types::Teid;

    use super::*;

    /// CRC-32 bit by bit.
    fn crc(octets: &[u8]) -> u32 {
        let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        !octets.iter().fold(u32::MAX, |crc, octet| (0..8).fold(crc ^ u32::from(*octet), step))
    }

    // Input:  a tunnel, an address in the first data network, the same in the second; two flows that differ in QFI, and in DSCP.
    // Output: the CRC-32 of what docs/xplane.md says; another network is another hash, another QFI too, another DSCP is not.
    #[test]
    fn hashes_are_those_of_the_switch() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
        let (teid, local) = (Teid::new(0x1234_5678).unwrap(), "192.0.2.1".parse().unwrap());
        let tunnel = UeKey::new(&LookupKey::Tunnel { teid, local }).unwrap();
        assert_eq!(tunnel.hash(), crc(&[1, 0x12, 0x34, 0x56, 0x78]));
        let [first, second] = [0, 1]
            .map(|network| UeKey::new(&LookupKey::Ipv4 { network, ue: [10, 45, 0, 2].into() }).unwrap());
        assert_eq!(first.hash(), crc(&[3, 10, 45, 0, 2]));
        assert_ne!(first.hash(), second.hash());

        let fields = Fields {
            src: "10.45.0.2".parse().unwrap(),
            dst: "198.51.100.9".parse().unwrap(),
            protocol: 17,
            ports: Some(Ports { src: 0x0102, dst: 0x0304 }),
            dscp: 0xb8,
            qfi: Qfi::new(9),
        };
        let expected = crc(&[0x12, 0x34, 0x56, 0x78, 10, 45, 0, 2, 198, 51, 100, 9, 1, 2, 3, 4, 17, 9]);
        assert_eq!(fields.key().hash(&tunnel), expected);
        assert_eq!(Fields { dscp: 0, ..fields }.key().hash(&tunnel), expected);
        assert_ne!(Fields { qfi: None, ..fields }.key().hash(&tunnel), expected);
    }
}
