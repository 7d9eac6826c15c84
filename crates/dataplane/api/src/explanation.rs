//! What becomes of a packet, and why.

use std::fmt;
use std::net::IpAddr;

use causeway_model::{ApplyAction, Gate};
use causeway_types::{
    Direction, FarId, MacAddr, NetworkInstance, PdrId, QerId, Qfi, Seid, Teid, UrrId, Volume,
};

use crate::{Disposition, Egress, FirewallAction, FirewallRule};

/// What would become of a packet now, and by which rules: the result of [`crate::PacketEngine::explain`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The key by which its session is looked up. `None`: the packet has none, because it is malformed or a GTP-U
    /// message without user data.
    pub key: Option<SessionKey>,
    /// What the firewall decides; `None`: there is none, or no session has the key. If it denies the packet, no PDR is
    /// compared with it.
    pub firewall: Option<Box<FirewallExplanation>>,
    /// The sessions with that key in the order in which they are tried, up to the first with a matching PDR.
    pub sessions: Vec<SessionTrial>,
    /// The rules of the matching PDR; `None`: no PDR matches.
    pub rules: Option<MatchedRules>,
    /// What becomes of the packet.
    pub disposition: Disposition,
    /// The packets that are transmitted because of it, in order: where to, and the octets from the GTP-U, IP or Ethernet
    /// header on. An ICMP error or an Error Indication is among them.
    pub sent: Vec<(Egress, usize)>,
}

/// What the firewall decides on a packet, and by which rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FirewallExplanation {
    /// The direction whose rules were tried.
    pub direction: Direction,
    /// Whether the packet passes.
    pub action: FirewallAction,
    /// The rule that matches, with its position among all rules, from 1; `None`: the default decides.
    pub rule: Option<(usize, FirewallRule)>,
}

/// The key by which the session of a packet is looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionKey {
    /// A local GTP-U tunnel.
    Tunnel {
        /// The TEID.
        teid: Teid,
        /// The local address.
        local: IpAddr,
        /// The QFI of the PDU Session Container, if there is one.
        qfi: Option<Qfi>,
    },
    /// The destination address of a packet from a data network.
    UeAddress {
        /// The data network.
        network: NetworkInstance,
        /// The address.
        address: IpAddr,
    },
    /// The destination address of a frame from an Ethernet data network.
    Mac {
        /// The data network.
        network: NetworkInstance,
        /// The address.
        address: MacAddr,
    },
}

/// The PDRs of a session that were compared with a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionTrial {
    /// The session.
    pub session: Seid,
    /// Its PDRs by precedence, up to the first that matches. `None`: it matches; otherwise the first part of it that does
    /// not.
    pub pdrs: Vec<(PdrId, Option<PdrMismatch>)>,
}

/// The part of a PDR that a packet does not match (TS 29.244 clause 5.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PdrMismatch {
    /// The activation time is not reached, or the deactivation time is.
    NotActive,
    /// It is for another tunnel, or for packets without one.
    Tunnel,
    /// The Network Instance is another.
    NetworkInstance,
    /// The QFI is not among those of the PDR.
    Qfi,
    /// The PDR is for frames to the session as a whole (ETHI), and this one is to a station that is not known.
    EthernetSession,
    /// No Ethernet packet filter matches.
    EthernetFilters,
    /// No SDF filter matches.
    SdfFilters,
    /// The application is another, or is not detected yet.
    Application,
    /// None of the activated predefined rules matches.
    PredefinedRules,
    /// The UE address is another: of an uplink packet, the source is not the UE's.
    UeAddress,
}

impl fmt::Display for PdrMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotActive => "not active at this time",
            Self::Tunnel => "another tunnel",
            Self::NetworkInstance => "another network instance",
            Self::Qfi => "another QFI, or none",
            Self::EthernetSession => "the station is not known to belong to the session",
            Self::EthernetFilters => "no Ethernet packet filter matches",
            Self::SdfFilters => "no SDF filter matches",
            Self::Application => "another application",
            Self::PredefinedRules => "no predefined rule matches",
            Self::UeAddress => "another UE address",
        })
    }
}

/// The rules that a matching PDR leads to, in their state before the packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchedRules {
    /// The session.
    pub session: Seid,
    /// The PDR.
    pub pdr: PdrId,
    /// The direction of its traffic.
    pub direction: Direction,
    /// The FAR that applies: that of the PDR, or of an exhausted quota.
    pub far: FarId,
    /// The action of that FAR.
    pub action: ApplyAction,
    /// The QERs in the order of the PDR.
    pub qers: Vec<QerVerdict>,
    /// The URRs in the order of the PDR.
    pub urrs: Vec<UrrVerdict>,
}

/// What a QER has to say about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QerVerdict {
    /// The QER.
    pub id: QerId,
    /// The gate in the direction of the packet.
    pub gate: Gate,
    /// Its bit rate, if it has one.
    pub rate: Option<RateVerdict>,
}

/// The colour of a packet under the bit rates of a QER (RFC 2698).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RateVerdict {
    /// Within the guaranteed bit rate.
    Guaranteed,
    /// Within the maximum bit rate.
    Allowed,
    /// Above the maximum bit rate: the packet is dropped.
    Exceeded,
}

/// The state of a URR before a packet, and what the packet adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UrrVerdict {
    /// The URR.
    pub id: UrrId,
    /// Its quota is exhausted: traffic does not pass, or passes by the FAR of the quota.
    pub is_exhausted: bool,
    /// The volume that it has measured since it was created, before the packet; zero unless it measures volume.
    pub before: Volume,
    /// The same after the packet.
    pub after: Volume,
}
