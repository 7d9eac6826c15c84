//! Associations.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// All associations.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Associations {
    /// The associations, the oldest first.
    pub associations: Vec<AssociationView>,
}

/// An association with an SMF.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct AssociationView {
    /// The Node ID of the SMF.
    pub node_id: String,
    /// The destination of requests.
    pub peer: String,
    /// The start time, in seconds since the Unix epoch.
    pub since: u64,
    /// Whether the SMF responds to Heartbeat Requests.
    pub path_up: bool,
    /// The number of its sessions.
    pub sessions: u64,
    /// The types of the IEs that are omitted in session messages to this SMF, since it responded only to messages
    /// without them.
    pub left_out_ies: Vec<u16>,
}

/// An association that was ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct EndedAssociation {
    /// The number of its sessions, which are being removed.
    pub sessions: u64,
}

/// An association whose SMF was requested to release it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct RequestedRelease {
    /// The Node ID of the SMF.
    pub node_id: String,
}
