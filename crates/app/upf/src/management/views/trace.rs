//! What a trace of a session shows.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ExplanationView, ReasonView, SentView};

/// An event of a trace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TraceEvent {
    /// A packet was processed.
    Packet(Box<TracedPacketView>),
    /// Packets are not shown. They were processed as ever.
    Missed {
        /// Those that the client read too slowly for.
        lost: u64,
        /// Those beyond the rate that is observed.
        not_observed: u64,
    },
    /// The trace has ended.
    Ended {
        /// Why.
        end: TraceEnd,
        /// The packets since the last `missed` that the client read too slowly for.
        lost: u64,
        /// Those since then beyond the rate that is observed.
        not_observed: u64,
    },
}

impl TraceEvent {
    /// The name of the kind.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Packet(_) => "packet",
            Self::Missed { .. } => "missed",
            Self::Ended { .. } => "ended",
        }
    }
}

/// Why a trace has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceEnd {
    /// Its time is over.
    Seconds,
    /// Its number of packets is reached.
    Packets,
    /// The session has ended.
    Session,
}

/// A packet with its rules and what became of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct TracedPacketView {
    /// When it was processed, in seconds since the Unix epoch.
    pub time: f64,
    /// Where it came from: a GTP-U peer, or a data network.
    pub from: String,
    /// Its length from the GTP-U or IP header on, in octets.
    pub octets: usize,
    /// What became of it: `forwarded`, `buffered`, `consumed` or `dropped`.
    pub disposition: String,
    /// Why it was dropped.
    pub reason: Option<ReasonView>,
    /// The packets that were sent because of it.
    pub sent: Vec<SentView>,
    /// Its key and rules, as they were just before it; `null`: the data plane does not explain packets of this kind.
    pub explanation: Option<ExplanationView>,
}
