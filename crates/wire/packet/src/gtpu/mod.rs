//! GTP-U (TS 29.281) and the PDU Session Container (TS 38.415).
//!
//! [`Packet`] is the view of one UDP payload, [`Repr`] writes one. User data needs neither: [`prefix`] has headers
//! of fixed size.

mod extension;
mod header;
mod ie;
mod message;
mod packet;
mod pdu_session;
pub mod prefix;

pub use causeway_types::Ppi;
pub use extension::{Comprehension, Extension, Extensions, MAX_EXTENSION_HEADERS};
pub use header::{Header, MessageType};
pub use message::{ErrorIndication, Message};
pub use packet::{Packet, Repr};
pub use pdu_session::{DlPduSession, PduSession, QfiSequence, UlPduSession, UlTimeStamps};

/// The UDP port of GTP-U (TS 29.281 clause 4.4.2).
pub const PORT: u16 = 2152;

/// Extension header types (TS 29.281 clause 5.2.1).
pub mod extension_type {
    /// No extension header.
    pub const NONE: u8 = 0x00;
    /// Service Class Indicator, for service differentiation in GERAN (TS 29.281 clause 5.2.2.3).
    pub const SERVICE_CLASS_INDICATOR: u8 = 0x20;
    /// UDP Port of the packet that triggered an Error Indication.
    pub const UDP_PORT: u8 = 0x40;
    /// PDU Session Container.
    pub const PDU_SESSION_CONTAINER: u8 = 0x85;
}
