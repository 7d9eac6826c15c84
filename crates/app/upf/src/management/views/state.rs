//! The state of a session in the data plane.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{LimitsView, ReasonView};

/// The state of a session that its packets have created.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SessionStateView {
    /// The packet thread that has the session.
    pub worker: usize,
    /// When the last packet arrived that matched a PDR with a URR, in seconds since the Unix epoch. Of other packets no
    /// time is recorded.
    pub last_packet: Option<f64>,
    /// The packets that are buffered.
    pub buffer: BufferView,
    /// The usage of each URR.
    pub usage: Vec<UrrStateView>,
    /// Its dropped packets; `null`: none is known. A packet thread keeps them for the sessions that dropped most recently,
    /// of 2,048 tunnels and UE addresses at most, and not for Ethernet sessions.
    #[serde(default)]
    pub drops: Option<SessionDropsView>,
}

/// Dropped packets of a session.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SessionDropsView {
    /// When the first of them was dropped, in seconds since the Unix epoch.
    pub since: f64,
    /// When the last one was dropped, in seconds since the Unix epoch.
    pub last: f64,
    /// Why the last one was dropped, what that means, and what to do.
    pub last_reason: ReasonView,
    /// The number for each reason, the most frequent first.
    pub reasons: Vec<SessionDropView>,
}

/// Packets of a session that were dropped for one reason.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SessionDropView {
    /// The reason, as in metrics.
    pub reason: String,
    /// The number of packets.
    pub packets: u64,
}

/// Buffered packets of a session.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct BufferView {
    /// The number of packets.
    pub packets: usize,
    /// Their octets.
    pub octets: usize,
    /// When the oldest was received, in seconds since the Unix epoch.
    pub oldest: Option<f64>,
}

/// The usage that a URR has measured.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UrrStateView {
    /// The URR.
    pub urr: u32,
    /// When the present report period started, in seconds since the Unix epoch.
    pub since: f64,
    /// The usage since then, which the next report contains.
    pub unreported: UsageView,
    /// The usage since the URR was created.
    pub total: UsageView,
    /// The usage until the next threshold.
    pub until_threshold: LimitsView,
    /// The usage until a quota is exhausted.
    pub until_quota: LimitsView,
    /// A quota is exhausted or void.
    pub exhausted: bool,
    /// The measurement is neither paused nor at the end of its number of reports.
    pub active: bool,
}

/// Measured usage. What the URR does not measure is zero.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UsageView {
    /// Octets from the UE.
    pub uplink_octets: u64,
    /// Octets to the UE.
    pub downlink_octets: u64,
    /// Packets from the UE.
    pub uplink_packets: u64,
    /// Packets to the UE.
    pub downlink_packets: u64,
    /// Time of use, in seconds.
    pub seconds: f64,
    /// Traffic starts.
    pub events: u64,
}
