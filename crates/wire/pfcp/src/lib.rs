//! Zero-copy PFCP codec (TS 29.244 Release 17).
//!
//! [`Header::decode`] splits a datagram, [`Message::decode`] decodes a body, [`Message::encode`] writes a message.
//! Decoding borrows from the datagram and never allocates. Every message and grouped IE is a structure with public
//! fields: `T` if mandatory, `Option<T>` if not, [`Many`] if repeated; other IEs are in `other`. Its `new` takes
//! the mandatory fields.
//!
//! Errors follow clause 7.6: an IE too short for its fields refuses the message, whatever its presence; an
//! incorrect value refuses it unless the IE is optional; a missing IE has the severity of the group around it
//! (clause 7.2.3.2). Unknown IEs, spare bits and octets of later releases are ignored. One deviation: an incorrect
//! local F-TEID or UE IP address in a PDI refuses the message although it is optional, since the rule would match
//! more packets without it. An IE of null length in an Update group is a removal, see [`Others::removes`].
//!
//! ```
//! use causeway_pfcp::{Header, HeartbeatRequest, Message, RecoveryTimeStamp};
//! use causeway_types::NtpSeconds;
//!
//! let request = HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(0xe000_0000)));
//! let mut datagram = Vec::new();
//! Message::from(request.clone()).encode(None, 7, &mut datagram)?;
//!
//! let (header, body, rest) = Header::decode(&datagram)?;
//! assert_eq!((header.sequence, rest.len()), (7, 0));
//! assert_eq!(Message::decode(&header, body)?, Message::HeartbeatRequest(request));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub mod template;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use error::{DecodeError, Fault, HeaderError, IeError, IePath, TooLong};
pub use field::{Field, Presence};
pub use group::*;
pub use header::{Header, request_digest};
pub use ie::*;
pub use many::{Many, ManyIter};
pub use message::*;
pub use others::Others;
pub use raw::{RawIe, RawIes};
pub use registry::{ALL, IeInfo, ie_info, ie_name};
