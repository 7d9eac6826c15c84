//! The rules of a session.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A Packet Detection Rule.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PdrView {
    /// PDR ID.
    pub id: u16,
    /// Precedence: a lower number is matched first.
    pub precedence: u32,
    /// The Source Interface: `access`, `core`, `n6-lan`, `cp-function` or `5g-vn-internal`.
    pub source: String,
    /// The Local F-TEID.
    pub tunnel: Option<TunnelView>,
    /// The Network Instance.
    pub network_instance: Option<String>,
    /// UE addresses and prefixes.
    pub ue: Vec<String>,
    /// Framed routes behind the UE.
    pub framed_routes: Vec<String>,
    /// The QFIs that a packet may carry; empty: any.
    pub qfis: Vec<u8>,
    /// The flow descriptions of SDF filters, of which one must match; empty: any.
    pub filters: Vec<String>,
    /// The number of Ethernet Packet Filters.
    pub ethernet_filters: usize,
    /// The Application ID.
    pub application: Option<String>,
    /// The names of predefined rules that are active.
    pub predefined_rules: Vec<String>,
    /// The outer header is removed: `gtpu`, `udp` or `ip`.
    pub outer_header_removal: Option<String>,
    /// The FAR.
    pub far: u32,
    /// The QERs.
    pub qers: Vec<u32>,
    /// The URRs.
    pub urrs: Vec<u32>,
    /// The Activation Time, in seconds since the Unix epoch.
    pub active_from: Option<u64>,
    /// The Deactivation Time, in seconds since the Unix epoch.
    pub active_until: Option<u64>,
}

/// The end of a GTP-U tunnel.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct TunnelView {
    /// The TEID, in hexadecimal.
    pub teid: String,
    /// The addresses, of each IP version at most one.
    pub addresses: Vec<String>,
}

/// A Forwarding Action Rule.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct FarView {
    /// FAR ID.
    pub id: u32,
    /// `forward`, `drop`, `buffer`, or `buffer_and_notify`.
    pub action: String,
    /// The Destination Interface.
    pub destination: Option<String>,
    /// The Network Instance.
    pub network_instance: Option<String>,
    /// The tunnel into which packets are sent: that of a gNB or another UPF.
    pub tunnel: Option<TunnelView>,
    /// Another outer header that packets get: `udp ADDRESS:PORT`, `ip ADDRESS`, or `unknown` while the remote end of a
    /// tunnel is not known yet.
    pub outer_header: Option<String>,
    /// The name of the forwarding policy.
    pub forwarding_policy: Option<String>,
    /// The redirect target: a URL or an address.
    pub redirect: Option<String>,
    /// The BAR.
    pub bar: Option<u8>,
    /// The number of copies of each packet.
    pub duplicates: usize,
}

/// A QoS Enforcement Rule.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct QerView {
    /// QER ID.
    pub id: u32,
    /// The QER Correlation ID: QERs of several sessions share the limits.
    pub correlation: Option<u32>,
    /// The gates.
    pub gates: Gates,
    /// Maximum bit rate.
    pub mbr: Option<RateView>,
    /// Guaranteed bit rate.
    pub gbr: Option<RateView>,
    /// A Packet Rate limits the number of packets.
    pub limits_packet_rate: bool,
    /// The QFI of packets to the gNB.
    pub qfi: Option<u8>,
    /// Downlink packets carry the Reflective QoS Indicator.
    pub reflective: bool,
    /// The Paging Policy Indicator of downlink packets.
    pub paging_policy: Option<u8>,
}

/// Whether packets pass the gates of a QER.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Gates {
    /// Packets from the UE pass.
    pub uplink_open: bool,
    /// Packets to the UE pass.
    pub downlink_open: bool,
}

/// Bit rates, in kbit/s.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RateView {
    /// From the UE.
    pub uplink_kbps: u64,
    /// To the UE.
    pub downlink_kbps: u64,
}

/// A Usage Reporting Rule.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UrrView {
    /// URR ID.
    pub id: u32,
    /// What it measures: `volume`, `duration` and `events`.
    pub measures: Vec<String>,
    /// The Reporting Triggers, by their names in TS 29.244.
    pub triggers: Vec<String>,
    /// The thresholds, as the SMF gave them.
    pub thresholds: LimitsView,
    /// The quotas, as the SMF gave them.
    pub quotas: LimitsView,
    /// The interval of periodic reports, in seconds.
    pub period: Option<f64>,
    /// The Quota Holding Time, in seconds.
    pub quota_holding_time: Option<f64>,
    /// The FAR of packets beyond a quota; without one they are dropped.
    pub quota_far: Option<u32>,
    /// The URRs whose reports cause one of this URR.
    pub linked: Vec<u32>,
    /// Usage is measured before QoS enforcement.
    pub before_qos: bool,
    /// The measurement is paused.
    pub inactive: bool,
}

/// Thresholds or quotas, or what is left of them. A limit that is not set is absent.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct LimitsView {
    /// Octets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<DirectionalVolume>,
    /// Time, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<u32>,
}

/// Octets by direction.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DirectionalVolume {
    /// Of both directions together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// From the UE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<u64>,
    /// To the UE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downlink: Option<u64>,
}

/// A Buffering Action Rule.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct BarView {
    /// BAR ID.
    pub id: u8,
    /// The Downlink Data Notification Delay, in seconds.
    pub notification_delay: f64,
    /// The maximum number of buffered packets that the SMF suggests.
    pub suggested_packets: Option<u16>,
}
