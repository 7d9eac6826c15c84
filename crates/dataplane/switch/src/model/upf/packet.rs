//! A packet between the parser and its queue.

use std::net::IpAddr;

use super::by_index::Index;
use super::codes::{Command, DropReason, Punt};

/// EtherType of frames of the CPU port.
pub(super) const ETHERTYPE_CPU: u16 = 0x88b5;
pub(super) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(super) const ETHERTYPE_IPV6: u16 = 0x86dd;
pub(super) const ETHERTYPE_ARP: u16 = 0x0806;

/// The encapsulation of a matched packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Forward {
    /// Without a tunnel.
    Decapsulate,
    /// In a new tunnel.
    Encapsulate,
}

/// A new tunnel around a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Tunnel {
    pub(super) peer: u32,
    pub(super) teid: u32,
    pub(super) qfi: u8,
    pub(super) pdu_type: u8,
    /// DSCP and ECN of the outer header.
    pub(super) tos: u8,
    /// Octets of the user packet, from its header.
    pub(super) length: u16,
}

/// The headers between the Ethernet header and the user packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outer {
    /// Nothing.
    None,
    /// The received ones.
    AsItCame(Vec<u8>),
    /// A tunnel from the UPF.
    New(Tunnel),
}

/// What a frame of a VXLAN segment says of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Arrival {
    pub(super) vni: u32,
    /// The other end in the underlay, of 32 or 128 bits.
    pub(super) remote: u128,
    /// Destination in the segment.
    pub(super) mac: u64,
    /// The type of service in the underlay.
    pub(super) tos: u8,
}

/// A segment that a frame is transmitted to: MAC addresses and addresses in the underlay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Underlay {
    pub(super) source: u64,
    pub(super) neighbour: u64,
    pub(super) vni: u32,
    pub(super) local: IpAddr,
    pub(super) remote: IpAddr,
    /// The length of the smallest IP packet that is too big for the segment.
    pub(super) too_big: u32,
}

/// The user packet's IP version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    V4,
    V6,
}

/// Headers and metadata.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Packet {
    /// Destination, source and EtherType.
    pub(super) ethernet: [u8; 14],
    pub(super) outer: Outer,
    /// The user packet and the rest of the frame, or the part that the parser did not examine.
    pub(super) inner: Vec<u8>,
    /// It has a user packet of this family.
    pub(super) family: Option<Family>,
    /// Octets of the user packet, from its header: for IPv4 including the header, for IPv6 without it.
    pub(super) length: u16,
    pub(super) ports: Option<(u16, u16)>,
    pub(super) bad_checksum: bool,
    pub(super) ingress_port: u16,
    /// Octets of the received frame.
    pub(super) octets: u64,
    pub(super) command: Option<Command>,
    /// From the CPU port with an unknown command.
    pub(super) bad_command: bool,
    /// Port and queue of a SEND command.
    pub(super) send_to: (u16, u8),
    pub(super) drop: Option<DropReason>,
    pub(super) punt: Option<Punt>,
    /// It came in UDP to an address at which GTP-U arrives.
    pub(super) is_for_gtpu: bool,
    pub(super) is_tunnelled: bool,
    pub(super) teid_in: u32,
    pub(super) qfi_in: u8,
    pub(super) rule: u32,
    pub(super) meter: u32,
    pub(super) teid_out: u32,
    pub(super) forward: Option<Forward>,
    pub(super) notify: bool,
    pub(super) buffer: bool,
    pub(super) mark_dscp: bool,
    pub(super) dscp: u8,
    pub(super) tunnel: u32,
    /// The local address on the path to the tunnel's other end.
    pub(super) local: u32,
    pub(super) qfi_out: u8,
    pub(super) pdu_type: u8,
    pub(super) colour: u8,
    pub(super) egress_port: u16,
    pub(super) queue: u8,
    /// In profile `direct`: the downlink's number of its session, the entry of a number, and its class of filters.
    pub(super) session: u32,
    pub(super) index: Index,
    pub(super) filter_class: u16,
    /// The segment that the frame came from, if it came from one, and the one that it leaves to.
    pub(super) arrival: Option<Arrival>,
    pub(super) tenant: u8,
    /// The number of the segment that the packet leaves to; zero for none.
    pub(super) segment: u8,
    pub(super) underlay: Option<Underlay>,
    /// The operator's firewall denies it.
    pub(super) is_denied: bool,
    /// It does not show what a rule of the firewall is about: the software behind the switch decides.
    pub(super) is_undecided: bool,
    /// In profile `thesis`: the gNB of the UE.
    pub(super) gnb: u32,
}

impl Packet {
    pub(super) fn new(ingress_port: u16, frame: &[u8]) -> Self {
        Self {
            ethernet: frame.first_chunk().copied().unwrap_or_default(),
            outer: Outer::None,
            inner: frame.get(14..).unwrap_or_default().to_vec(),
            family: None,
            length: 0,
            ports: None,
            bad_checksum: false,
            ingress_port,
            octets: frame.len() as u64,
            command: None,
            bad_command: false,
            send_to: (0, 0),
            drop: None,
            punt: None,
            is_for_gtpu: false,
            is_tunnelled: false,
            teid_in: 0,
            qfi_in: 0,
            rule: 0,
            meter: 0,
            teid_out: 0,
            forward: None,
            notify: false,
            buffer: false,
            mark_dscp: false,
            dscp: 0,
            tunnel: 0,
            local: 0,
            qfi_out: 0,
            pdu_type: 0,
            colour: 0,
            egress_port: 0,
            queue: 0,
            session: 0,
            index: Index::default(),
            filter_class: 0,
            arrival: None,
            tenant: 0,
            segment: 0,
            underlay: None,
            is_denied: false,
            is_undecided: false,
            gnb: 0,
        }
    }

    /// The UDP source port in an underlay: the last 14 bits of the UE's address or prefix.
    pub(super) fn flow_port(&self) -> u16 {
        let address = match (self.family, self.is_tunnelled) {
            (Some(Family::V4), true) => self.inner_field(12..16),
            (Some(Family::V4), false) => self.inner_field(16..20),
            (Some(Family::V6), true) => self.inner_field(8..16),
            (Some(Family::V6), false) => self.inner_field(24..32),
            (None, _) => 0,
        };
        0xc000 | (address & 0x3fff) as u16
    }

    pub(super) fn ether_type(&self) -> u16 {
        u16::from_be_bytes([self.ethernet[12], self.ethernet[13]])
    }

    pub(super) fn set_ether_type(&mut self, ether_type: u16) {
        self.ethernet[12..].copy_from_slice(&ether_type.to_be_bytes());
    }

    /// Bits of the user packet's header as a number, big endian; zero beyond its end.
    pub(super) fn inner_field(&self, octets: std::ops::Range<usize>) -> u128 {
        let bytes = self.inner.get(octets).unwrap_or_default();
        bytes.iter().fold(0, |value, octet| value << 8 | u128::from(*octet))
    }

    /// DSCP and ECN of the user packet.
    pub(super) fn tos(&self) -> u8 {
        match self.family {
            Some(Family::V4) => self.inner_field(1..2) as u8,
            Some(Family::V6) => (self.inner_field(0..2) >> 4) as u8,
            None => 0,
        }
    }

    pub(super) fn set_tos(&mut self, tos: u8) {
        match (self.family, self.inner.as_mut_slice()) {
            (Some(Family::V4), [_, field, ..]) => *field = tos,
            (Some(Family::V6), [first, second, ..]) => {
                *first = *first & 0xf0 | tos >> 4;
                *second = *second & 0x0f | tos << 4;
            }
            _ => {}
        }
    }
}
