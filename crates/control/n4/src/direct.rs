//! Sessions that the data plane establishes itself, and the SMFs that may have such sessions.

use std::net::Ipv4Addr;

use causeway_model::RuleSet;
use causeway_pfcp::MessageType;
use causeway_types::{FSeid, FTeid, NodeId, NtpSeconds, Seid, Time};

/// A session that the data plane established, for [`crate::N4::adopt`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DirectSession {
    /// The UPF's SEID, with the tag of [`crate::DirectNumbers`].
    pub seid: Seid,
    /// The CP F-SEID, with an IPv4 address alone.
    pub cp: FSeid,
    /// The Node ID of the SMF.
    pub node: NodeId,
    /// When it was established.
    pub since: Time,
    /// The restart epoch of the SMF in which it was established ([`DirectSmf::epoch`]).
    pub epoch: u32,
    /// Its rules.
    pub rules: RuleSet,
    /// The CHOOSE ID of its tunnel, and the tunnel.
    pub chosen: Option<(u8, FTeid)>,
    /// The requests that were answered, the first of which established the session.
    pub answered: Vec<AnsweredRequest>,
}

/// A request that was answered without N4.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnsweredRequest {
    /// Its type.
    pub message: MessageType,
    /// The UDP port that it came from.
    pub port: u16,
    /// Its sequence number.
    pub sequence: u32,
    /// [`causeway_pfcp::request_digest`] of it.
    pub digest: u64,
    /// The response.
    pub response: Vec<u8>,
}

/// An SMF whose requests the data plane may answer itself: it has one IPv4 address, which is its Node ID, and gets
/// nothing in responses that depends on more than the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirectSmf {
    /// Its host.
    pub host: Ipv4Addr,
    /// Its Node ID.
    pub node: Ipv4Addr,
    /// Its Recovery Time Stamp.
    pub recovery: NtpSeconds,
    /// The restart epoch of its requests.
    pub epoch: u32,
    /// When its association began.
    pub since: Time,
    /// It may establish sessions.
    pub is_open: bool,
}
