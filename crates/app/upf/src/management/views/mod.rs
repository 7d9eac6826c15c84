//! The state of N4 as JSON.

use serde::Serialize;

/// An association in the API.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct AssociationView {
    /// The Node ID of the SMF.
    pub(crate) node_id: String,
    /// The destination of requests.
    pub(crate) peer: String,
    /// The start time, in seconds since the Unix epoch.
    pub(crate) since: u64,
    /// Whether the SMF responds to Heartbeat Requests.
    pub(crate) path_up: bool,
    /// The number of its sessions.
    pub(crate) sessions: u64,
    /// The types of the IEs that are omitted in session messages to this SMF, since it responded only to messages
    /// without them.
    pub(crate) left_out_ies: Vec<u16>,
}

/// A session in the API.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct SessionView {
    /// The UPF's SEID, in hexadecimal.
    pub(crate) seid: String,
    /// The SMF's SEID, in hexadecimal.
    pub(crate) cp_seid: String,
    /// The address of the SMF.
    pub(crate) cp_address: String,
    /// The Node ID of the SMF.
    pub(crate) node_id: String,
    /// The start time, in seconds since the Unix epoch.
    pub(crate) since: u64,
    /// UE addresses and prefixes.
    pub(crate) ue: Vec<String>,
    /// Local tunnels, as `teid@address`.
    pub(crate) tunnels: Vec<String>,
    /// The number of rules of each kind.
    pub(crate) rules: RuleCounts,
}

/// The number of rules of each kind in a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct RuleCounts {
    pub(crate) pdr: usize,
    pub(crate) far: usize,
    pub(crate) qer: usize,
    pub(crate) urr: usize,
    pub(crate) bar: usize,
}

/// The sessions in a range of indexes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SessionPart {
    /// The number of all sessions.
    pub(crate) total: u64,
    /// The sessions in the range.
    pub(crate) sessions: Vec<SessionView>,
    /// The next index; `None`: the range was the last.
    pub(crate) next: Option<u64>,
}

/// A part of all sessions, in an order that stays while they last.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct SessionPage {
    /// The number of all sessions.
    pub(crate) total: u64,
    /// The sessions of this page.
    pub(crate) sessions: Vec<SessionView>,
    /// The `after` parameter of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}
