//! GTP-U on the wire: exact octets, hostile octets, round trips.

#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod messages;
mod pdu_session;
mod properties;
