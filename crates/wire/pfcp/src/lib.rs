//! Zero-copy PFCP codec (TS 29.244 Release 17).
//!
//! [`Header::decode`] splits a datagram, [`Message::decode`] decodes a body, [`Message::encode`] writes a
//! message. Decoding borrows from the datagram and never allocates.

#![forbid(unsafe_code)]

pub mod dump;
mod error;
mod field;
mod group;
mod header;
mod ie;
mod many;
mod message;
mod others;
mod raw;
mod read;
mod registry;
mod slot;
mod structure;

pub use error::{DecodeError, Fault, HeaderError, IeError, IePath, TooLong};
pub use field::{Field, Presence};
pub use group::*;
pub use header::Header;
pub use ie::*;
pub use many::{Many, ManyIter};
pub use message::*;
pub use others::Others;
pub use raw::{RawIe, RawIes};
pub use registry::{ALL, IeInfo, ie_info, ie_name};
