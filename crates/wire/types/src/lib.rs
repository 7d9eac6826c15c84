//! Identifiers, addresses, volumes and time shared by every crate.
//!
//! Values are legal by construction: an out-of-range QFI or a zero TEID cannot be represented. No type here does
//! I/O, reads a clock or depends on another crate of Causeway.

#![forbid(unsafe_code)]

mod addr;
mod id;
mod id_cipher;
mod mac;
mod network;
mod ppi;
mod qfi;
mod slice;
mod teid_scheme;
mod time;
mod trigger;
mod volume;

pub use addr::{DualIp, FSeid, FTeid, FTeidV4, NodeId};
pub use id::{BarId, FarId, PdrId, Precedence, QerId, Seid, Teid, UrrId};
pub use id_cipher::IdCipher;
pub use ipnet::{IpNet, Ipv4Net, Ipv4Subnets, Ipv6Net, Ipv6Subnets};
pub use mac::MacAddr;
pub use network::{Interface, NetworkInstance};
pub use ppi::Ppi;
pub use qfi::{Qfi, QfiSet};
pub use slice::SNssai;
pub use teid_scheme::TeidScheme;
pub use time::{NtpSeconds, Span, Time, WallClock, WallTime};
pub use trigger::{ReportingTriggers, UsageInformation, UsageReportTrigger};
pub use volume::{Bitrate, Direction, Volume};
