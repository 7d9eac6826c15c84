//! The PDU session of the emulated SMF.

use std::net::Ipv4Addr;

use causeway_types::{
    Bitrate, FTeid, FarId, Ipv6Net, NetworkInstance, PdrId, QerId, Qfi, Seid, UrrId, Volume,
};

/// The PDR of the uplink in every session of this SMF.
pub const UPLINK_PDR: PdrId = PdrId(1);
/// The PDR of the downlink.
pub const DOWNLINK_PDR: PdrId = PdrId(2);
/// The FAR of the uplink: to the data network.
pub const UPLINK_FAR: FarId = FarId(1);
/// The FAR of the downlink: to the gNB, or into the buffer.
pub const DOWNLINK_FAR: FarId = FarId(2);
/// The QER of both directions.
pub const QER: QerId = QerId(1);
/// The URR of both directions.
pub const URR: UrrId = UrrId(1);

/// What a PDU session gives its UE: an IPv4 address, an IPv6 prefix of 64 bits, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UeAddresses {
    /// PDU session type IPv4.
    Ipv4(Ipv4Addr),
    /// PDU session type IPv6. The UE chooses the lower 64 bits of its addresses itself.
    Ipv6(Ipv6Net),
    /// PDU session type IPv4v6.
    Ipv4v6(Ipv4Addr, Ipv6Net),
}

impl UeAddresses {
    /// The IPv4 address.
    pub const fn ipv4(self) -> Option<Ipv4Addr> {
        match self {
            Self::Ipv4(address) | Self::Ipv4v6(address, _) => Some(address),
            Self::Ipv6(_) => None,
        }
    }

    /// The IPv6 prefix.
    pub const fn ipv6(self) -> Option<Ipv6Net> {
        match self {
            Self::Ipv6(prefix) | Self::Ipv4v6(_, prefix) => Some(prefix),
            Self::Ipv4(_) => None,
        }
    }
}

impl From<Ipv4Addr> for UeAddresses {
    fn from(address: Ipv4Addr) -> Self {
        Self::Ipv4(address)
    }
}

/// A PDU session to be set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionPlan {
    /// The UE's addresses.
    pub ue: UeAddresses,
    /// The data network.
    pub dnn: NetworkInstance,
    /// The one QoS flow.
    pub qfi: Qfi,
    /// Its maximum bit rate, each way.
    pub mbr: Bitrate,
    /// A usage report is due after so many octets of both directions.
    pub volume_threshold: u64,
}

/// A session that the UPF has accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Session {
    /// Our SEID.
    pub cp_seid: Seid,
    /// The UPF's SEID.
    pub up_seid: Seid,
    /// The tunnel that the UPF chose for the uplink.
    pub uplink: FTeid,
}

/// What becomes of the downlink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Downlink {
    /// The UE is idle: hold packets back and report the first (BUFF and NOCP).
    Buffer,
    /// The UE is connected, or reconnected: send to this tunnel.
    Forward(FTeid),
    /// The UE has moved: send an End Marker to the old tunnel, then send to this one (SNDEM).
    HandOver(FTeid),
}

/// Why the UPF reports usage (TS 29.244 clause 8.2.41).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UsageTrigger {
    /// The SMF asked (IMMER).
    Queried,
    /// The volume threshold is reached (VOLTH).
    VolumeThreshold,
    /// The session or the rule ends (TERMR).
    Terminated,
    /// Another, or none.
    Other,
}

/// One usage report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// The rule.
    pub urr: UrrId,
    /// Counts the reports of a rule from zero (UR-SEQN).
    pub sequence: u32,
    /// What caused it.
    pub trigger: UsageTrigger,
    /// The octets, and the packets where the UPF tells them, since the report before.
    pub volume: Volume,
}

/// A Session Report Request that has arrived and been answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionReport {
    /// Our SEID of the session.
    pub session: Seid,
    /// Downlink data waits for an idle UE: the PDRs it matched (DLDR).
    pub downlink_data: Vec<PdrId>,
    /// Usage (USAR).
    pub usage: Vec<Usage>,
    /// Tunnels that a peer of the UPF does not know (ERIR).
    pub error_indications: Vec<FTeid>,
}
