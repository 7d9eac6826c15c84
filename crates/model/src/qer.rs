//! QoS Enforcement Rules.

use causeway_types::{Bitrate, Direction, NodeId, Ppi, QerId, Qfi, Span};

use super::{FlowMarking, PacketRateStatus, PacketRates};

/// A QoS Enforcement Rule (TS 29.244 clause 7.5.2.5).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Qer {
    /// Unique in the session.
    pub id: QerId,
    /// The correlation of QERs of several sessions that share one allowance; `None`: not shared.
    pub correlation: Option<Correlation>,
    /// The uplink gate.
    pub uplink: Gate,
    /// The downlink gate.
    pub downlink: Gate,
    /// Maximum bit rate per direction; `None`: no limit.
    pub mbr: Option<RateLimit>,
    /// Guaranteed bit rate per direction, as sent by the SMF: traffic within it is exempt from limits on more than
    /// the flow. [`Qer::guaranteed`] applies, which is never above the maximum.
    pub gbr: Option<RateLimit>,
    /// The burst that may pass after a pause, as time at the full rate; `None` leaves it to the data plane.
    pub averaging_window: Option<Span>,
    /// Maximum number of packets per direction; `None`: no limit.
    pub packet_rate: Option<PacketRates>,
    /// The packets that remained at an earlier UPF; they apply before `packet_rate`.
    pub packet_rate_status: Option<PacketRateStatus>,
    /// RCSR: the remaining packets are reported at the end of the session.
    pub reports_packet_rate: bool,
    /// The QFI written into the PDU Session Container.
    pub qfi: Option<Qfi>,
    /// Downlink packets carry the Reflective QoS Indicator.
    pub reflective: bool,
    /// The Paging Policy Indicator that downlink packets carry.
    pub ppi: Option<Ppi>,
    /// Other markings of downlink packets.
    pub flow_marking: FlowMarking,
}

/// The correlation of QERs of several sessions (QER Correlation ID, TS 29.244 clause 8.2.10): they share one
/// allowance.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Correlation {
    /// The CP function that chose the id, by its Node ID at the session's establishment.
    pub chosen_by: Option<NodeId>,
    /// The id.
    pub id: u32,
}

impl Qer {
    /// Passes all packets and marks none.
    pub fn new(id: QerId) -> Self {
        Self {
            id,
            correlation: None,
            uplink: Gate::Open,
            downlink: Gate::Open,
            mbr: None,
            gbr: None,
            averaging_window: None,
            packet_rate: None,
            packet_rate_status: None,
            reports_packet_rate: false,
            qfi: None,
            reflective: false,
            ppi: None,
            flow_marking: FlowMarking::default(),
        }
    }

    /// The guaranteed bit rate of one direction, limited to the maximum; some SMFs send a higher one.
    pub fn guaranteed(&self, direction: Direction) -> Option<Bitrate> {
        let (gbr, mbr) = (self.gbr?.rate(direction), self.mbr.map(|mbr| mbr.rate(direction)));
        Some(mbr.map_or(gbr, |mbr| gbr.min(mbr)))
    }

    /// A guaranteed rate exceeds the maximum.
    pub fn guarantees_too_much(&self) -> bool {
        let exceeds = |gbr: RateLimit, mbr: RateLimit| gbr.uplink > mbr.uplink || gbr.downlink > mbr.downlink;
        self.gbr.zip(self.mbr).is_some_and(|(gbr, mbr)| exceeds(gbr, mbr))
    }

    /// The gate of one direction.
    pub fn gate(&self, direction: Direction) -> Gate {
        match direction {
            Direction::Uplink => self.uplink,
            Direction::Downlink => self.downlink,
        }
    }
}

/// A gate (TS 29.244 clause 8.2.7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Gate {
    /// Packets pass.
    Open,
    /// Packets are dropped.
    Closed,
}

/// Bit rates of both directions (TS 29.244 clause 8.2.8), measured on the user IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RateLimit {
    /// From the UE.
    pub uplink: Bitrate,
    /// To the UE.
    pub downlink: Bitrate,
}

impl RateLimit {
    /// The rate of one direction.
    pub fn rate(&self, direction: Direction) -> Bitrate {
        match direction {
            Direction::Uplink => self.uplink,
            Direction::Downlink => self.downlink,
        }
    }
}
