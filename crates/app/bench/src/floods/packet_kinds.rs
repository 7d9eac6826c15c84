//! The kinds of packets: a valid one, and its malformed variants.

use std::net::Ipv6Addr;

use causeway_packet::Meta;

use super::malform::{extend, set_length, to_ipv6, unknown_hosts, with_header};
use crate::pipeline::Direction;
use crate::world::shape;

/// The GTP-U header of good uplink packets, with a PDU Session Container.
pub(super) const TUNNEL: usize = 16;
/// The type of an extension header that an endpoint must understand, and that is not known.
const REQUIRED: u8 = 0x8a;
/// Extension headers that are stacked.
const STACKED: usize = 16;
/// Protocol ESP.
const ESP: u8 = 50;
/// Octets of packets that are larger than the way out.
const LARGE: usize = 1900;
/// A server in the data network.
const SERVER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 9);

/// What packets are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Good(Direction),
    UnknownTeid,
    OldTeid,
    SpoofedSource,
    OuterEct1,
    OuterCongestion,
    UnknownExtension,
    StackedExtensions,
    RequiredExtension,
    EmptyExtension,
    NoTeid,
    NoGtpu,
    UnknownMessage,
    TinyFragment(Direction),
    LaterFragment(Direction),
    Options(Direction),
    TtlExpired(Direction),
    BadChecksum(Direction),
    Truncated(Direction),
    UnknownUe,
    NoProtocol(Direction),
    Esp(Direction),
    TooLarge(Direction),
    GoodIpv6(Direction),
    Ipv6(Direction),
    StackedIpv6(Direction),
}

impl Kind {
    /// Good ones of each direction first.
    pub(super) const ALL: &[Self] = &[
        Self::Good(Direction::Uplink),
        Self::UnknownTeid,
        Self::OldTeid,
        Self::SpoofedSource,
        Self::OuterEct1,
        Self::OuterCongestion,
        Self::UnknownExtension,
        Self::StackedExtensions,
        Self::RequiredExtension,
        Self::EmptyExtension,
        Self::NoTeid,
        Self::NoGtpu,
        Self::UnknownMessage,
        Self::TinyFragment(Direction::Uplink),
        Self::LaterFragment(Direction::Uplink),
        Self::Options(Direction::Uplink),
        Self::TtlExpired(Direction::Uplink),
        Self::BadChecksum(Direction::Uplink),
        Self::Truncated(Direction::Uplink),
        Self::NoProtocol(Direction::Uplink),
        Self::Esp(Direction::Uplink),
        Self::TooLarge(Direction::Uplink),
        Self::GoodIpv6(Direction::Uplink),
        Self::Ipv6(Direction::Uplink),
        Self::StackedIpv6(Direction::Uplink),
        Self::Good(Direction::Downlink),
        Self::UnknownUe,
        Self::TinyFragment(Direction::Downlink),
        Self::LaterFragment(Direction::Downlink),
        Self::Options(Direction::Downlink),
        Self::TtlExpired(Direction::Downlink),
        Self::BadChecksum(Direction::Downlink),
        Self::Truncated(Direction::Downlink),
        Self::NoProtocol(Direction::Downlink),
        Self::Esp(Direction::Downlink),
        Self::TooLarge(Direction::Downlink),
        Self::GoodIpv6(Direction::Downlink),
        Self::Ipv6(Direction::Downlink),
        Self::StackedIpv6(Direction::Downlink),
    ];

    pub(super) fn is_good(self) -> bool {
        matches!(self, Self::Good(_))
    }

    /// Which way they go.
    pub(super) const fn way(self) -> Direction {
        match self {
            Self::Good(way)
            | Self::TinyFragment(way)
            | Self::Options(way)
            | Self::TtlExpired(way)
            | Self::BadChecksum(way)
            | Self::Truncated(way)
            | Self::LaterFragment(way)
            | Self::NoProtocol(way)
            | Self::Esp(way)
            | Self::TooLarge(way)
            | Self::GoodIpv6(way)
            | Self::Ipv6(way)
            | Self::StackedIpv6(way) => way,
            Self::UnknownUe => Direction::Downlink,
            Self::UnknownTeid
            | Self::OldTeid
            | Self::SpoofedSource
            | Self::OuterEct1
            | Self::OuterCongestion
            | Self::UnknownExtension
            | Self::StackedExtensions
            | Self::RequiredExtension
            | Self::EmptyExtension
            | Self::NoTeid
            | Self::NoGtpu
            | Self::UnknownMessage => Direction::Uplink,
        }
    }

    /// In the table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Good(_) => "good",
            Self::UnknownTeid => "random TEID",
            Self::OldTeid => "TEID with one bit changed",
            Self::SpoofedSource => "UE address of another UE",
            Self::OuterEct1 => "ECT(1) in the outer header",
            Self::OuterCongestion => "ECN CE in the outer header",
            Self::UnknownExtension => "unknown extension header",
            Self::StackedExtensions => "16 unknown extension headers",
            Self::RequiredExtension => "extension header for the UPF",
            Self::EmptyExtension => "extension header of length 0",
            Self::NoTeid => "TEID of 0",
            Self::NoGtpu => "no GTP-U",
            Self::UnknownMessage => "unknown GTP-U message",
            Self::TinyFragment(_) => "fragment of 8 octets",
            Self::LaterFragment(_) => "later fragment, no ports",
            Self::Options(_) => "IPv4 options",
            Self::TtlExpired(_) => "TTL of 1",
            Self::BadChecksum(_) => "wrong header checksum",
            Self::Truncated(_) => "shorter than its length",
            Self::UnknownUe => "address of no UE",
            Self::NoProtocol(_) => "neither TCP nor UDP",
            Self::Esp(_) => "ESP",
            Self::TooLarge(_) => "too large",
            Self::GoodIpv6(_) => "IPv6, the UE's",
            Self::Ipv6(_) => "IPv6, not the UE's",
            Self::StackedIpv6(_) => "IPv6, 16 extension headers",
        }
    }

    /// Makes one of them of a good packet. It has room behind it.
    pub(super) fn spoil(self, (meta, frame): (&mut Meta, &mut Vec<u8>), random: &mut fastrand::Rng) {
        let start = if self.way() == Direction::Uplink { TUNNEL } else { 0 };
        match self {
            Self::Good(_) => {}
            Self::UnknownTeid => frame[4..8].copy_from_slice(&random.u32(1..).to_be_bytes()),
            Self::OldTeid => frame[4] ^= 1 << random.u8(..8),
            Self::SpoofedSource => {
                with_header(frame, start, |ip| {
                    ip[12..16].copy_from_slice(&[10, 255, random.u8(..), random.u8(..)]);
                });
            }
            Self::OuterEct1 | Self::OuterCongestion => {
                if let Meta::Gtpu { tos, .. } = meta {
                    *tos |= if self == Self::OuterEct1 { 0x01 } else { 0x03 };
                }
            }
            Self::UnknownExtension => extend(frame, 1),
            Self::StackedExtensions => extend(frame, STACKED),
            Self::RequiredExtension => {
                extend(frame, 1);
                frame[TUNNEL - 1] = REQUIRED;
            }
            Self::EmptyExtension => {
                extend(frame, 1);
                frame[TUNNEL] = 0;
            }
            Self::NoTeid => frame[4..8].fill(0),
            Self::NoGtpu => frame[..TUNNEL].fill_with(|| random.u8(..)),
            Self::UnknownMessage => frame[1] = 77,
            Self::TinyFragment(_) => {
                frame.truncate(start + 28);
                let more = 0x2000_u16.to_be_bytes();
                with_header(frame, start, |ip| {
                    ip[2..4].copy_from_slice(&28_u16.to_be_bytes());
                    ip[4..6].copy_from_slice(&random.u16(..).to_be_bytes());
                    ip[6..8].copy_from_slice(&more);
                });
                set_length(frame, start);
            }
            Self::LaterFragment(_) => {
                with_header(frame, start, |ip| {
                    ip[4..6].copy_from_slice(&random.u16(..).to_be_bytes());
                    ip[6..8].copy_from_slice(&3_u16.to_be_bytes());
                });
            }
            Self::Options(_) => {
                // No operation, three times, and the end of the options.
                frame.splice(start + 20..start + 20, [1, 1, 1, 0]);
                let length = (frame.len() - start) as u16;
                with_header(frame, start, |ip| {
                    ip[0] = 0x46;
                    ip[2..4].copy_from_slice(&length.to_be_bytes());
                });
                set_length(frame, start);
            }
            Self::TtlExpired(_) => with_header(frame, start, |ip| ip[8] = 1),
            Self::BadChecksum(_) => frame[start + 10] ^= 0x55,
            Self::Truncated(_) => {
                frame.truncate(frame.len() - 4);
                set_length(frame, start);
            }
            Self::UnknownUe => {
                with_header(frame, 0, |ip| {
                    ip[16..20].copy_from_slice(&[11, random.u8(..), random.u8(..), 1]);
                });
            }
            Self::NoProtocol(_) => with_header(frame, start, |ip| ip[9] = 253),
            Self::Esp(_) => with_header(frame, start, |ip| ip[9] = ESP),
            Self::TooLarge(_) => {
                frame.resize(start + LARGE, 0);
                with_header(frame, start, |ip| {
                    ip[2..4].copy_from_slice(&(LARGE as u16).to_be_bytes());
                    ip[6] = 0x40;
                });
                set_length(frame, start);
            }
            Self::GoodIpv6(way) => {
                let at = if way == Direction::Uplink { start + 12 } else { start + 16 };
                let ue: [u8; 4] = std::array::from_fn(|octet| frame[at + octet]);
                let ends = [shape::ue_v6(shape::session_of(ue.into())), SERVER];
                to_ipv6(frame, start, 0, if way == Direction::Uplink { ends } else { [ends[1], ends[0]] });
            }
            Self::Ipv6(_) => to_ipv6(frame, start, 0, unknown_hosts(random)),
            Self::StackedIpv6(_) => to_ipv6(frame, start, STACKED, unknown_hosts(random)),
        }
    }
}
