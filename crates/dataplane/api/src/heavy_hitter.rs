//! Heavy hitters: flows of at least a configured rate.

use causeway_traffic::FiveTuple;
use causeway_traffic::heavy::{HeavyHitterCounts, ListedFlow};
use causeway_types::{Direction, IpNet, Seid};

/// A flow that can be a heavy hitter: the packets of a UE, or of one transport flow of it, in one direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeavyFlow {
    /// The UPF's SEID of the session with the UE address when the flow became heavy. `None`: several sessions have it.
    pub session: Option<Seid>,
    /// Uplink or downlink.
    pub direction: Direction,
    /// The address at the UE's end: an IPv4 address, or an IPv6 prefix of 64 bits.
    pub ue: IpNet,
    /// The transport flow, where each is a flow of its own.
    pub transport: Option<FiveTuple>,
}

/// A flow that is heavy, with its rate.
pub type HeavyHitter = ListedFlow<HeavyFlow>;

/// The heavy hitters of a data plane at a time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeavyHitterList {
    /// The flows, in no order.
    pub flows: Vec<HeavyHitter>,
    /// What has been counted since heavy hitters are looked for.
    pub counts: HeavyHitterCounts,
}
