//! Events.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::HeavyHitterView;

/// An event, with its time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct TimedEvent {
    /// In seconds since the Unix epoch.
    pub time: f64,
    /// What has happened.
    #[serde(flatten)]
    pub event: EventView,
}

/// What has happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventView {
    /// A session was established.
    SessionEstablished {
        /// The UPF's SEID.
        seid: String,
    },
    /// The rules of a session were modified.
    SessionModified {
        /// The UPF's SEID.
        seid: String,
    },
    /// A session was removed from the data plane.
    SessionDeleted {
        /// The UPF's SEID.
        seid: String,
    },
    /// An association was set up.
    AssociationUp {
        /// The Node ID of the SMF.
        node_id: String,
    },
    /// An association ended.
    AssociationDown {
        /// The Node ID of the SMF.
        node_id: String,
    },
    /// An SMF or a GTP-U peer answers again.
    PathUp {
        /// Its address.
        peer: String,
    },
    /// An SMF or a GTP-U peer does not answer.
    PathDown {
        /// Its address.
        peer: String,
    },
    /// A Session Report Request was sent, or repeated.
    ReportSent {
        /// The SMF's SEID.
        cp_seid: String,
        /// The receiver.
        to: String,
    },
    /// A flow has become a heavy hitter.
    HeavyHitter {
        /// The flow.
        #[serde(flatten)]
        hitter: HeavyHitterView,
    },
    /// A flow is a heavy hitter no longer.
    HeavyHitterOver {
        /// The flow, with its last rate.
        #[serde(flatten)]
        hitter: HeavyHitterView,
    },
    /// The application class of a session's traffic has changed.
    ClassChange {
        /// The UPF's SEID.
        seid: String,
        /// The UE: an IPv4 address, or an IPv6 prefix of 64 bits; absent if no rule names one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ue: Option<String>,
        /// The class before.
        from: String,
        /// The class from now on.
        to: String,
    },
    /// The client was too slow: events before this one are missing.
    Lost {
        /// How many.
        events: u64,
    },
}

impl EventView {
    /// Its name in the stream.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SessionEstablished { .. } => "session_established",
            Self::SessionModified { .. } => "session_modified",
            Self::SessionDeleted { .. } => "session_deleted",
            Self::AssociationUp { .. } => "association_up",
            Self::AssociationDown { .. } => "association_down",
            Self::PathUp { .. } => "path_up",
            Self::PathDown { .. } => "path_down",
            Self::ReportSent { .. } => "report_sent",
            Self::HeavyHitter { .. } => "heavy_hitter",
            Self::HeavyHitterOver { .. } => "heavy_hitter_over",
            Self::ClassChange { .. } => "class_change",
            Self::Lost { .. } => "lost",
        }
    }
}
