//! The figures of the control thread, as a scrape gets them.

use causeway_types::WallClock;

use crate::chain::ChainStatus;

/// The figures of N4.
#[derive(Clone, Debug, Default)]
pub(crate) struct N4Status {
    /// Converts the start time.
    pub(crate) wall: WallClock,
    pub(crate) associations: u64,
    /// Associations whose SMF answers heartbeats.
    pub(crate) peers_active: u64,
    pub(crate) sessions: u64,
    pub(crate) session_limit: u64,
    /// New sessions are rejected.
    pub(crate) is_draining: bool,
    pub(crate) networks: Vec<NetworkStatus>,
    pub(crate) pools: Vec<PoolStatus>,
    pub(crate) routes: u64,
    pub(crate) paths: PathStatus,
    pub(crate) messages: Vec<MessageCount>,
    pub(crate) establishment: EstablishmentStatus,
    /// Session Report Requests, without retransmissions.
    pub(crate) reports_sent: u64,
    pub(crate) reports_accepted: u64,
    /// The time to answer each type of request.
    pub(crate) latencies: Vec<(String, HistogramStatus)>,
    /// Datagrams that were dropped because a socket buffer, or a queue between packet threads, was full.
    pub(crate) lost_datagrams: u64,
    /// Datagrams that came by interfaces that are not accepted, of N4 and of N3.
    pub(crate) refused_datagrams: [(&'static str, u64); 2],
    pub(crate) late_events: u64,
    pub(crate) lost_reports: u64,
    pub(crate) failed_plans: u64,
    pub(crate) memory: MemoryStatus,
    /// Datagrams that a packet thread has handled.
    pub(crate) by_packet_thread: u64,
    /// The chain whose primary this is.
    pub(crate) chain: Option<ChainStatus>,
}

/// The sessions of a data network.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetworkStatus {
    pub(crate) dnn: String,
    pub(crate) sessions: u64,
    /// The QFIs of the QERs of each session.
    pub(crate) qos_flows: u64,
}

/// The UE address pools of a data network and an IP version.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct PoolStatus {
    pub(crate) dnn: String,
    /// 4 or 6.
    pub(crate) ip_version: u8,
    /// IPv4 addresses, or /64 prefixes.
    pub(crate) addresses: u64,
    pub(crate) used: u64,
}

/// The GTP-U paths of sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PathStatus {
    /// Paths that are down.
    pub(crate) down: u64,
    /// Times that a path went down.
    pub(crate) failures: u64,
}

/// Session establishments.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EstablishmentStatus {
    pub(crate) requests: u64,
    /// Refused requests by the number of the cause, in ascending order.
    pub(crate) failures: Vec<(u8, u64)>,
}

/// A histogram.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct HistogramStatus {
    pub(crate) sum: f64,
    pub(crate) count: u64,
    /// The upper bound of each bucket, the last one `f64::INFINITY`, and the number of values in it alone.
    pub(crate) buckets: Vec<(f64, u64)>,
}

/// Memory, in octets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemoryStatus {
    /// The memory limit with the least space left, and its usage; zero before the first reading.
    pub(crate) limit: u64,
    pub(crate) used: u64,
    /// The budget of sessions and PFDs, and their estimated need.
    pub(crate) for_sessions: u64,
    pub(crate) needed: u64,
    /// Requests that were refused because memory was short.
    pub(crate) refusals: u64,
}

/// The number of messages of one kind.
#[derive(Clone, Debug)]
pub(crate) struct MessageCount {
    /// For example `session_establishment_request`.
    pub(crate) message_type: String,
    /// `received` or `sent`.
    pub(crate) direction: &'static str,
    /// `ok`, a cause such as `session_context_not_found`, or another result.
    pub(crate) result: String,
    pub(crate) count: u64,
}
