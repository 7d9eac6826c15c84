//! What there is on N4, as JSON.

use serde::Serialize;

/// An association, as the API shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct AssociationView {
    /// The Node ID of the SMF.
    pub(crate) node_id: String,
    /// Where our requests go.
    pub(crate) peer: String,
    /// Since when, in seconds since the Unix epoch.
    pub(crate) since: u64,
    /// It answers heartbeats.
    pub(crate) path_up: bool,
    /// How many sessions it has.
    pub(crate) sessions: u64,
    /// The types of the IEs that it gets messages about sessions without, since it answered only such.
    pub(crate) left_out_ies: Vec<u16>,
}

/// A session, as the API shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct SessionView {
    /// Our SEID, in hexadecimal.
    pub(crate) seid: String,
    /// The SMF's SEID, in hexadecimal.
    pub(crate) cp_seid: String,
    /// The address of the SMF.
    pub(crate) cp_address: String,
    /// The Node ID of the SMF.
    pub(crate) node_id: String,
    /// Since when, in seconds since the Unix epoch.
    pub(crate) since: u64,
    /// UE addresses and prefixes.
    pub(crate) ue: Vec<String>,
    /// Local tunnels, as `teid@address`.
    pub(crate) tunnels: Vec<String>,
    /// How many rules of each kind.
    pub(crate) rules: RuleCounts,
}

/// How many rules of each kind a session has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct RuleCounts {
    pub(crate) pdr: usize,
    pub(crate) far: usize,
    pub(crate) qer: usize,
    pub(crate) urr: usize,
    pub(crate) bar: usize,
}

/// The sessions in some places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SessionPart {
    /// How many sessions there are in all.
    pub(crate) total: u64,
    /// Those in these places.
    pub(crate) sessions: Vec<SessionView>,
    /// The place after them; `None`: there is none.
    pub(crate) next: Option<u64>,
}

/// A part of all sessions, in an order that stays while they last.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct SessionPage {
    /// How many sessions there are in all.
    pub(crate) total: u64,
    /// The sessions of this page.
    pub(crate) sessions: Vec<SessionView>,
    /// What to ask for the next page with; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}
