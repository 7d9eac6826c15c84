//! The parsed header of a user packet.

use std::net::{IpAddr, Ipv4Addr};

use causeway_packet::{Ip, UserPacket};
use causeway_types::{Direction, Qfi};

use crate::classify::filters::FullPacketKey;

/// In the octet of an IPv4 header that contains the flags.
const DO_NOT_FRAGMENT: u8 = 0x40;

/// The header fields of a user packet that the flow entries need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct UserHeader {
    /// Octets of the packet, without trailing octets.
    pub(crate) len: u32,
    /// Source and destination; IPv4 addresses in the lower 32 bits.
    pub(crate) src: u128,
    pub(crate) dst: u128,
    pub(crate) is_v6: bool,
    pub(crate) tos: u8,
    pub(crate) hops: u8,
    /// It has neither options nor extension headers and is no fragment.
    pub(crate) is_common: bool,
    /// The checksum of the header is wrong.
    pub(crate) has_bad_checksum: bool,
    /// It must not be fragmented.
    pub(crate) is_unfragmentable: bool,
}

impl UserHeader {
    /// No packet.
    pub(crate) const NOTHING: Self = Self {
        len: 0,
        src: 0,
        dst: 0,
        is_v6: false,
        tos: 0,
        hops: 0,
        is_common: false,
        has_bad_checksum: false,
        is_unfragmentable: false,
    };

    /// `None`: not a well-formed IP packet.
    #[inline]
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        match bytes.first()? {
            0x45 => Self::parse_v4(bytes.first_chunk()?, bytes),
            0x60..=0x6f => Self::parse_v6(bytes.first_chunk()?, bytes),
            _ => Self::parse_any(bytes),
        }
    }

    #[inline]
    fn parse_v4(head: &[u8; 20], bytes: &[u8]) -> Option<Self> {
        let len = u16::from_be_bytes([head[2], head[3]]);
        if u16::from_be_bytes([head[6], head[7]]) & 0x3fff != 0 {
            return Self::parse_any(bytes);
        }
        if usize::from(len) < head.len() || usize::from(len) > bytes.len() {
            return None;
        }
        Some(Self {
            len: len.into(),
            src: u32::from_be_bytes([head[12], head[13], head[14], head[15]]).into(),
            dst: u32::from_be_bytes([head[16], head[17], head[18], head[19]]).into(),
            is_v6: false,
            tos: head[1],
            hops: head[8],
            is_common: true,
            has_bad_checksum: !has_valid_checksum(head),
            is_unfragmentable: head[6] & DO_NOT_FRAGMENT != 0,
        })
    }

    #[inline]
    fn parse_v6(head: &[u8; 40], bytes: &[u8]) -> Option<Self> {
        // An extension header follows.
        if matches!(head[6], 0 | 43 | 44 | 60) {
            return Self::parse_any(bytes);
        }
        let len = 40 + usize::from(u16::from_be_bytes([head[4], head[5]]));
        if len > bytes.len() {
            return None;
        }
        let src = u128::from_be_bytes(*head[8..24].first_chunk()?);
        let dst = u128::from_be_bytes(*head[24..40].first_chunk()?);
        let tos = head[0] << 4 | head[1] >> 4;
        Some(Self {
            len: len as u32,
            src,
            dst,
            is_v6: true,
            tos,
            hops: head[7],
            is_common: true,
            has_bad_checksum: false,
            is_unfragmentable: true,
        })
    }

    #[cold]
    fn parse_any(bytes: &[u8]) -> Option<Self> {
        let user = UserPacket::parse(bytes).ok()?;
        let (src, dst, hops, has_bad_checksum, is_unfragmentable) = match user.ip() {
            Ip::V4(ip) => {
                let (src, dst) = (u32::from(ip.src()).into(), u32::from(ip.dst()).into());
                (src, dst, ip.ttl(), !ip.checksum_is_valid(), ip.dont_fragment())
            }
            Ip::V6(ip) => (u128::from(ip.src()), u128::from(ip.dst()), ip.hop_limit(), false, true),
        };
        let (len, tos, is_v6) = (user.len() as u32, user.flow.tos, user.flow.src.is_ipv6());
        Some(Self { len, src, dst, is_v6, tos, hops, is_common: false, has_bad_checksum, is_unfragmentable })
    }

    /// The source.
    pub(crate) fn src_addr(&self) -> IpAddr {
        self.addr(self.src)
    }

    /// The destination.
    pub(crate) fn dst_addr(&self) -> IpAddr {
        self.addr(self.dst)
    }

    fn addr(&self, address: u128) -> IpAddr {
        if self.is_v6 {
            IpAddr::from(address.to_be_bytes())
        } else {
            Ipv4Addr::from_bits(address as u32).into()
        }
    }

    /// The upper half of an IPv6 address.
    #[inline]
    pub(crate) const fn prefix(address: u128) -> u64 {
        (address >> 64) as u64
    }

    /// Whether one of its addresses is link-local or a group: such packets are for the slow path.
    #[inline]
    pub(crate) const fn is_link_scoped(&self) -> bool {
        if self.is_v6 {
            is_link_scoped_v6(self.src) || is_link_scoped_v6(self.dst)
        } else {
            is_link_scoped_v4(self.src) || is_link_scoped_v4(self.dst)
        }
    }

    /// Whether both addresses of an IPv6 packet are link-local or a group.
    #[inline]
    pub(crate) const fn is_link_scoped_both(&self) -> bool {
        is_link_scoped_v6(self.src) && is_link_scoped_v6(self.dst)
    }

    /// The fields that filters compare. `is_ue`: whether the remote and the local address are the UE's.
    #[inline]
    pub(crate) fn key(
        &self,
        bytes: &[u8],
        direction: Direction,
        qfi: Option<Qfi>,
        is_ue: (bool, bool),
    ) -> Option<FullPacketKey> {
        let key = if self.is_common { self.plain_key(bytes, direction)? } else { any_key(bytes, direction)? };
        // The ECN of the outer header may have changed it.
        let key = key.with_tos(self.tos).with_ue(is_ue.0, is_ue.1);
        Some(qfi.map_or(key, |qfi| key.with_qfi(qfi)))
    }

    #[inline]
    fn plain_key(&self, bytes: &[u8], direction: Direction) -> Option<FullPacketKey> {
        let (remote, local) = match direction {
            Direction::Uplink => (self.dst, self.src),
            Direction::Downlink => (self.src, self.dst),
        };
        let (start, protocol, key) = if self.is_v6 {
            let head = bytes.first_chunk::<40>()?;
            let label = u32::from_be_bytes([0, head[1] & 0x0f, head[2], head[3]]);
            let key = FullPacketKey::v6(remote, local, head[6], self.tos).with_flow_label(label);
            (40, head[6], key)
        } else {
            let protocol = *bytes.get(9)?;
            (20, protocol, FullPacketKey::v4(remote as u32, local as u32, protocol, self.tos))
        };
        let transport = bytes.get(start..self.len as usize)?;
        Some(match (protocol, transport.first_chunk::<4>()) {
            (6 | 17 | 33 | 132 | 136, Some([a, b, c, d])) => {
                let (src, dst) = (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]));
                match direction {
                    Direction::Uplink => key.with_ports(dst, src),
                    Direction::Downlink => key.with_ports(src, dst),
                }
            }
            (50 | 51, _) => return any_key(bytes, direction),
            _ => key,
        })
    }
}

#[cold]
fn any_key(bytes: &[u8], direction: Direction) -> Option<FullPacketKey> {
    let flow = UserPacket::parse(bytes).ok()?.flow;
    Some(FullPacketKey::from_flow(&flow, direction, None, |_| false))
}

const fn is_link_scoped_v4(address: u128) -> bool {
    address >> 16 == 0xa9fe
}

/// Link-local, unspecified, or a group.
const fn is_link_scoped_v6(address: u128) -> bool {
    address >> 118 == 0x3fa || address >> 120 == 0xff || address == 0
}

/// Whether the checksum of the header is right: the sum of its words, carries added, is all ones.
#[inline]
fn has_valid_checksum(head: &[u8; 20]) -> bool {
    let mut sum = 0_u64;
    for word in head.chunks_exact(4) {
        if let Some(word) = word.first_chunk() {
            sum += u64::from(u32::from_ne_bytes(*word));
        }
    }
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    sum == 0xffff
}
