//! What would become of a packet.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A packet that is explained. It is not sent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PacketView {
    /// Where it comes from: `n3` from a gNB or another UPF, in a GTP-U tunnel, or `n6` from a data network.
    #[schema(example = "n6")]
    pub interface: String,
    /// `n3`: the TEID, in decimal or, after `0x`, hexadecimal.
    #[schema(example = "0x2a")]
    pub teid: Option<String>,
    /// `n3`: the QFI in the PDU Session Container; without it there is none.
    #[schema(maximum = 63)]
    pub qfi: Option<u8>,
    /// `n3`: the address of the UPF that it is sent to; by default the first.
    #[schema(value_type = Option<String>, example = "127.0.0.7")]
    pub local: Option<IpAddr>,
    /// `n3`: the address that it comes from; by default 192.0.2.1.
    #[schema(value_type = Option<String>, example = "192.0.2.1")]
    pub peer: Option<IpAddr>,
    /// `n6`: the data network; by default the first.
    pub network: Option<String>,
    /// The user's packet, in hexadecimal from the IP header on; instead of the fields below.
    pub packet: Option<String>,
    /// The source address of the user's packet.
    #[schema(value_type = Option<String>, example = "203.0.113.1")]
    pub source: Option<IpAddr>,
    /// The destination address of the user's packet.
    #[schema(value_type = Option<String>, example = "10.45.0.2")]
    pub destination: Option<IpAddr>,
    /// `udp`, which is the default, `tcp`, `icmp`, or a protocol number.
    #[schema(example = "udp")]
    pub protocol: Option<String>,
    /// The source port of TCP or UDP; 0 by default.
    pub source_port: u16,
    /// The destination port of TCP or UDP; 0 by default.
    pub destination_port: u16,
    /// The length of the user's packet with its IP header, in octets; 100 by default.
    #[schema(minimum = 60, maximum = 1500)]
    pub length: Option<u16>,
}

/// What would become of a packet now, and by which rules. Nothing is sent or counted.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ExplanationView {
    /// `forwarded`, `buffered`, `consumed` (signalling that the UPF handles) or `dropped`.
    pub disposition: String,
    /// Why it would be dropped: the label of the drop reason, its meaning and what to do.
    pub reason: Option<ReasonView>,
    /// The key by which its session is looked up: a tunnel, or a UE address in a data network.
    pub key: Option<String>,
    /// What the firewall decides, and by which rule; `null`: there is none, or no session has the key. If it denies the
    /// packet, no PDR is compared with it.
    #[serde(default)]
    pub firewall: Option<FirewallView>,
    /// The sessions with this key in the order in which they are tried, up to the first with a matching PDR.
    pub sessions: Vec<SessionTrialView>,
    /// The rules of the matching PDR.
    pub rules: Option<MatchedRulesView>,
    /// The packets that would be sent because of it.
    pub sent: Vec<SentView>,
}

/// What the firewall decides on a packet.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct FirewallView {
    /// `uplink` or `downlink`: whose rules were tried.
    pub direction: String,
    /// `permit` or `deny`.
    pub action: String,
    /// The position of the rule that matches among all rules, from 1; `null`: the default decides.
    pub number: Option<u32>,
    /// That rule.
    pub rule: Option<String>,
}

/// `uplink: deny by rule 3, deny in ip from any to 192.0.2.0/24`.
impl fmt::Display for FirewallView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ", self.direction, self.action)?;
        match (self.number, &self.rule) {
            (Some(number), Some(rule)) => write!(f, "by rule {number}, {rule}"),
            _ => f.write_str("by default"),
        }
    }
}

/// A drop reason.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ReasonView {
    /// The label, as in the metrics.
    pub reason: String,
    /// What it means.
    pub meaning: String,
    /// What to do.
    pub remedy: String,
}

/// The PDRs of a session that were compared with a packet.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SessionTrialView {
    /// The UPF's SEID, in hexadecimal.
    pub seid: String,
    /// The PDRs by precedence, up to the first that matches.
    pub pdrs: Vec<PdrTrialView>,
}

/// A PDR that was compared with a packet.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PdrTrialView {
    /// PDR ID.
    pub id: u16,
    /// The first part of it that does not match; `null`: it matches.
    pub mismatch: Option<String>,
}

/// The rules that a matching PDR leads to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MatchedRulesView {
    /// The UPF's SEID, in hexadecimal.
    pub seid: String,
    /// PDR ID.
    pub pdr: u16,
    /// `uplink` or `downlink`.
    pub direction: String,
    /// The FAR that applies: that of the PDR, or of an exhausted quota.
    pub far: u32,
    /// Its action: `forward`, `drop`, `buffer` or `buffer_and_notify`.
    pub action: String,
    /// The QERs in the order of the PDR.
    pub qers: Vec<QerVerdictView>,
    /// The URRs in the order of the PDR.
    pub urrs: Vec<UrrVerdictView>,
}

/// What a QER has to say about a packet.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct QerVerdictView {
    /// QER ID.
    pub id: u32,
    /// The gate in the direction of the packet: `open` or `closed`.
    pub gate: String,
    /// `within_gbr`, `within_mbr` or `above_mbr`; `null`: the QER has no bit rate.
    pub rate: Option<String>,
}

/// The state of a URR before a packet, and what the packet adds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UrrVerdictView {
    /// URR ID.
    pub id: u32,
    /// Its quota is exhausted.
    pub is_exhausted: bool,
    /// The volume that it has measured since it was created, before the packet; zero unless it measures volume.
    #[serde(default)]
    pub before: VolumeView,
    /// The same after the packet.
    #[serde(default)]
    pub after: VolumeView,
}

/// Measured octets and packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct VolumeView {
    /// Octets from the UE.
    pub uplink_octets: u64,
    /// Octets to the UE.
    pub downlink_octets: u64,
    /// Packets from the UE.
    pub uplink_packets: u64,
    /// Packets to the UE.
    pub downlink_packets: u64,
}

/// A packet that would be sent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SentView {
    /// Where to: a GTP-U peer, or a data network.
    pub to: String,
    /// Its length from the GTP-U, IP or Ethernet header on, in octets.
    pub octets: usize,
}
