//! Heavy hitters.

use causeway_dataplane::{FiveTuple, HeavyHitter};
use causeway_types::{Direction, IpNet, WallClock};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The heavy hitters of the UPF.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct HeavyHittersView {
    /// Heavy hitters are looked for (`upf.traffic.heavy_hitters.threshold`); otherwise the list is empty.
    pub enabled: bool,
    /// From which rate on a flow is heavy, as in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<String>,
    /// The time over which rates are measured, in milliseconds.
    pub window_ms: u64,
    /// The number of flows that are heavy.
    pub total: usize,
    /// The flows with the highest rates, highest first; at most `limit`.
    pub flows: Vec<HeavyHitterView>,
    /// Heavy flows that could not be listed, since the start of the search.
    pub unlisted: u64,
}

/// A flow that is heavy.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct HeavyHitterView {
    /// `uplink` or `downlink`.
    pub direction: String,
    /// The UE: an IPv4 address, or an IPv6 prefix of 64 bits.
    pub ue: String,
    /// The UPF's SEID of the session; absent if it had ended when the flow became heavy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seid: Option<String>,
    /// The Node ID of the session's SMF; absent in events, and when the session has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smf: Option<String>,
    /// The transport flow, with `upf.traffic.heavy_hitters.flow: five_tuple`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<TransportFlowView>,
    /// Since when it is heavy, in seconds since the Unix epoch.
    pub since: u64,
    /// Bits of IP packets in a second, over the last window.
    pub bits_per_second: u64,
    /// IP packets in a second, over the last window.
    pub packets_per_second: u64,
}

/// A transport flow.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct TransportFlowView {
    /// The protocol number of IPv4, or the last next header of IPv6.
    pub protocol: u8,
    /// The sender.
    pub source: String,
    /// Its port; zero for a protocol without ports.
    pub source_port: u16,
    /// The receiver.
    pub destination: String,
    /// Its port; zero for a protocol without ports.
    pub destination_port: u16,
}

impl HeavyHitterView {
    /// A flow, without its SMF.
    pub(crate) fn of(hitter: &HeavyHitter, clock: WallClock) -> Self {
        let flow = &hitter.flow;
        Self {
            direction: direction_text(flow.direction).into(),
            ue: ue_text(&flow.ue),
            seid: flow.session.map(|seid| seid.to_string()),
            smf: None,
            flow: flow.transport.as_ref().map(TransportFlowView::of),
            since: clock.at(hitter.since).as_nanos() / 1_000_000_000,
            bits_per_second: hitter.bits_per_second,
            packets_per_second: hitter.packets_per_second,
        }
    }
}

impl TransportFlowView {
    fn of(flow: &FiveTuple) -> Self {
        Self {
            protocol: flow.protocol,
            source: flow.addresses.0.to_string(),
            source_port: flow.ports.0,
            destination: flow.addresses.1.to_string(),
            destination_port: flow.ports.1,
        }
    }
}

pub(crate) const fn direction_text(direction: Direction) -> &'static str {
    match direction {
        Direction::Uplink => "uplink",
        Direction::Downlink => "downlink",
    }
}

/// A UE: an address alone, or a prefix.
pub(crate) fn ue_text(ue: &IpNet) -> String {
    if ue.prefix_len() == ue.max_prefix_len() { ue.addr().to_string() } else { ue.to_string() }
}
