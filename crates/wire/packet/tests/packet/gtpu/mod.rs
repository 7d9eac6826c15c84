//! GTP-U on the wire: exact octets, hostile octets, round trips.

mod hostile;
mod messages;
mod pdu_session;
mod properties;
