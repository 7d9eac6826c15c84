//! The kinds of packets: a good one, and how it is spoilt.

use causeway_packet::checksum::checksum;
use causeway_ports::Meta;

use crate::pipeline::Way;

/// The GTP-U header of good uplink packets, with a PDU Session Container.
const TUNNEL: usize = 16;
/// The type of an extension header that is not known, and must not be understood (TS 29.281 clause 5.2.1).
const UNKNOWN: u8 = 0x3f;
/// Extension headers that are stacked.
const STACKED: usize = 16;

/// What packets are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Good(Way),
    UnknownTeid,
    OldTeid,
    SpoofedSource,
    OuterEct1,
    OuterCongestion,
    UnknownExtension,
    StackedExtensions,
    NoGtpu,
    TinyFragment(Way),
    Options(Way),
    LastHop(Way),
    Damaged(Way),
    Truncated(Way),
    UnknownUe,
    NoProtocol(Way),
}

impl Kind {
    /// Good ones of each direction first.
    pub(super) const ALL: &[Self] = &[
        Self::Good(Way::Uplink),
        Self::UnknownTeid,
        Self::OldTeid,
        Self::SpoofedSource,
        Self::OuterEct1,
        Self::OuterCongestion,
        Self::UnknownExtension,
        Self::StackedExtensions,
        Self::NoGtpu,
        Self::TinyFragment(Way::Uplink),
        Self::Options(Way::Uplink),
        Self::LastHop(Way::Uplink),
        Self::Damaged(Way::Uplink),
        Self::Truncated(Way::Uplink),
        Self::NoProtocol(Way::Uplink),
        Self::Good(Way::Downlink),
        Self::UnknownUe,
        Self::TinyFragment(Way::Downlink),
        Self::Options(Way::Downlink),
        Self::LastHop(Way::Downlink),
        Self::Damaged(Way::Downlink),
        Self::Truncated(Way::Downlink),
        Self::NoProtocol(Way::Downlink),
    ];

    pub(super) fn is_good(self) -> bool {
        matches!(self, Self::Good(_))
    }

    /// Which way they go.
    pub(super) const fn way(self) -> Way {
        match self {
            Self::Good(way)
            | Self::TinyFragment(way)
            | Self::Options(way)
            | Self::LastHop(way)
            | Self::Damaged(way)
            | Self::Truncated(way)
            | Self::NoProtocol(way) => way,
            Self::UnknownUe => Way::Downlink,
            Self::UnknownTeid
            | Self::OldTeid
            | Self::SpoofedSource
            | Self::OuterEct1
            | Self::OuterCongestion
            | Self::UnknownExtension
            | Self::StackedExtensions
            | Self::NoGtpu => Way::Uplink,
        }
    }

    /// In the table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Good(_) => "good",
            Self::UnknownTeid => "random TEID",
            Self::OldTeid => "TEID with one bit changed",
            Self::SpoofedSource => "UE address of another",
            Self::OuterEct1 => "ECT(1) in the outer header",
            Self::OuterCongestion => "ECN CE in the outer header",
            Self::UnknownExtension => "unknown extension header",
            Self::StackedExtensions => "16 unknown extension headers",
            Self::NoGtpu => "no GTP-U",
            Self::TinyFragment(_) => "fragment of 8 octets",
            Self::Options(_) => "IPv4 options",
            Self::LastHop(_) => "TTL of 1",
            Self::Damaged(_) => "wrong header checksum",
            Self::Truncated(_) => "shorter than it says",
            Self::UnknownUe => "address of no UE",
            Self::NoProtocol(_) => "neither TCP nor UDP",
        }
    }

    /// Makes one of them of a good packet. It has room behind it.
    pub(super) fn spoil(self, (meta, frame): (&mut Meta, &mut Vec<u8>), random: &mut fastrand::Rng) {
        let start = if self.way() == Way::Uplink { TUNNEL } else { 0 };
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
            Self::NoGtpu => frame[..TUNNEL].fill_with(|| random.u8(..)),
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
            Self::LastHop(_) => with_header(frame, start, |ip| ip[8] = 1),
            Self::Damaged(_) => frame[start + 10] ^= 0x55,
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
        }
    }
}

/// Changes the IPv4 header that begins there, and makes its checksum right.
fn with_header(frame: &mut [u8], start: usize, change: impl FnOnce(&mut [u8])) {
    change(&mut frame[start..]);
    let end = start + usize::from(frame[start] & 0x0f) * 4;
    frame[start + 10..start + 12].fill(0);
    let sum = checksum(&frame[start..end]);
    frame[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
}

/// Makes the length of the GTP-U header right, if there is one.
fn set_length(frame: &mut [u8], start: usize) {
    if start > 0 {
        let length = (frame.len() - 8) as u16;
        frame[2..4].copy_from_slice(&length.to_be_bytes());
    }
}

/// Puts unknown extension headers behind the container.
fn extend(frame: &mut Vec<u8>, count: usize) {
    frame[TUNNEL - 1] = UNKNOWN;
    let last = count - 1;
    let headers = (0..count).flat_map(|index| [1, 0, 0, if index < last { UNKNOWN } else { 0 }]);
    frame.splice(TUNNEL..TUNNEL, headers.collect::<Vec<_>>());
    set_length(frame, TUNNEL);
}
