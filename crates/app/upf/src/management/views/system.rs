//! The UPF as a whole: status, peers, pools, packet threads, interfaces, drops, configuration.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The state of the UPF in brief.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct StatusView {
    /// The version of Causeway.
    pub version: String,
    /// How it was built: `release`, or `debug` with checks that cost speed.
    pub build: String,
    /// The Node ID.
    pub node_id: String,
    /// The data plane: `fastpath`, `slowpath` or `switch`.
    pub data_plane: String,
    /// The start time, in seconds since the Unix epoch.
    pub started: u64,
    /// Associations with SMFs.
    pub associations: u64,
    /// PFCP sessions, including those being established or removed.
    pub sessions: u64,
    /// Maximum number of sessions.
    pub max_sessions: u64,
    /// The UPF is being drained: it accepts no new sessions.
    #[serde(default)]
    pub draining: bool,
    /// The number of packet threads.
    pub workers: usize,
    /// Packets received by the data plane.
    pub received_packets: u64,
    /// Received packets that were forwarded.
    pub forwarded_packets: u64,
    /// Received packets that were dropped.
    pub dropped_packets: u64,
    /// Packets that are buffered for idle UEs.
    pub buffered_packets: u64,
    /// PFCP datagrams that were dropped because a socket buffer, or a queue between packet threads, was full.
    pub lost_datagrams: u64,
    /// The longest pause of the control thread or a packet thread, in seconds.
    pub longest_pause: f64,
    /// Memory.
    pub memory: MemoryView,
}

/// Memory, in octets.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MemoryView {
    /// The memory limit with the least space left; zero before the first reading.
    pub limit: u64,
    /// What is in use under that limit.
    pub used: u64,
    /// The budget of sessions and PFDs.
    pub for_sessions: u64,
    /// The estimated need of the present sessions and PFDs.
    pub needed: u64,
    /// Requests that were refused because memory was short.
    pub refusals: u64,
}

/// A page of the supervised GTP-U paths.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Peers {
    /// Echo Requests are sent (`upf.gtpu.echo.interval`); otherwise no path is supervised, and the list is empty.
    pub supervised: bool,
    /// The paths, by local address and peer.
    pub peers: Vec<PeerView>,
    /// The `after` parameter of the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A GTP-U path to a gNB or another UPF.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PeerView {
    /// The local address.
    pub local: String,
    /// The address of the peer.
    pub peer: String,
    /// The peer answers Echo Requests.
    pub up: bool,
    /// The number of FARs that send to it.
    pub fars: u64,
}

/// The UE address pools.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Pools {
    /// The pools, by data network.
    pub pools: Vec<PoolView>,
}

/// A pool from which the UPF allocates UE addresses.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PoolView {
    /// The data network.
    pub dnn: String,
    /// The UE IP address Pool Identity.
    pub identity: Option<String>,
    /// 4 or 6.
    pub ip_version: u8,
    /// The addresses.
    #[serde(default)]
    pub range: String,
    /// IPv4 addresses, or /64 prefixes, in total.
    pub size: u64,
    /// How many the UPF has allocated. Addresses that SMFs choose themselves do not count, except in a pool that is
    /// drained.
    pub allocated: u64,
    /// The pool is not in the configuration any more: nothing is allocated from it, sessions keep their addresses, and it
    /// goes when the last one is released.
    #[serde(default)]
    pub draining: bool,
}

/// The packet threads.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Workers {
    /// The threads, by number.
    pub workers: Vec<WorkerView>,
}

/// A packet thread.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct WorkerView {
    /// Its number.
    pub number: usize,
    /// Its sessions.
    pub sessions: u64,
    /// The time for which it ran on a core, in seconds. Its load is the increase in a second; with
    /// `upf.workers.busy_poll` it is always near one.
    pub core_seconds: f64,
    /// Packets received.
    pub received_packets: u64,
    /// Received packets that were forwarded.
    pub forwarded_packets: u64,
    /// Received packets that were dropped.
    pub dropped_packets: u64,
    /// Packets that are buffered for idle UEs.
    pub buffered_packets: u64,
    /// Packets that it received and handed to the thread of their session.
    pub handed_over_packets: u64,
    /// Times that it did not respond for 0.1 s or more.
    pub pauses: u64,
    /// Its longest pause, in seconds.
    pub longest_pause: f64,
}

/// The packet ports.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Interfaces {
    /// The ports, by packet thread.
    pub interfaces: Vec<InterfaceView>,
}

/// A packet port.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct InterfaceView {
    /// Its name: `n3-ADDRESS` or `n6-DEVICE`, with `.NUMBER` for further packet threads.
    pub name: String,
    /// The data networks behind it.
    pub dnn: Vec<String>,
    /// Packets received.
    pub received_packets: u64,
    /// Octets received.
    pub received_octets: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Octets sent.
    pub sent_octets: u64,
    /// Packets that the port could not receive or send, by the name of the cause.
    pub failures: Vec<NamedCount>,
}

/// A counter.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct NamedCount {
    /// Its name.
    pub name: String,
    /// Its value.
    pub count: u64,
}

/// Dropped packets by reason.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Drops {
    /// Every reason, also those without a packet.
    pub drops: Vec<DropView>,
}

/// Packets that were dropped for one reason.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DropView {
    /// The reason, as in metrics.
    pub reason: String,
    /// The number of packets since the start.
    pub count: u64,
    /// What it means.
    pub meaning: String,
    /// What can be done about it.
    pub remedy: String,
}

/// The configuration in force, defaults included. It names files with secrets, and has none of them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ConfigView {
    /// The section `upf` of the configuration file.
    #[schema(value_type = Object)]
    pub upf: Value,
}

impl ConfigView {
    /// The same in the form of a configuration file.
    pub fn to_yaml(&self) -> String {
        // Serialization to a string fails only for maps with unsupported keys; there are none.
        serde_yaml_ng::to_string(self).unwrap_or_default()
    }
}

/// What became of a reload of the configuration. A change is a key; or an item of a list that came or went, such as
/// `upf.session: 10.46.0.0/16 added`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ReloadedView {
    /// The changes that are in force.
    pub applied: Vec<String>,
    /// The changes that take effect at the next start.
    pub at_restart: Vec<String>,
}

/// Whether the UPF is being drained.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainRequest {
    /// `true`: no new sessions are accepted; `false`: they are.
    pub draining: bool,
}

/// The state of draining.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DrainView {
    /// No new sessions are accepted.
    pub draining: bool,
    /// The present sessions.
    pub sessions: u64,
}

/// The level of the logs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogLevelView {
    /// The least severe level that is logged: `error`, `warn`, `info`, `debug` or `trace`.
    #[schema(example = "debug", pattern = "^(error|warn|info|debug|trace)$")]
    pub level: String,
}
