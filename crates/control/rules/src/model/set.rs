//! All rules of one session.

use causeway_types::{BarId, FarId, PdrId, QerId, SNssai, Span, UrrId};

use super::{Bar, Far, PagingPolicy, Pdr, PduSessionType, Qer, RuleMap, Urr};

/// The rules of one session, by id, and what holds for the session as a whole. Validation ensures that every
/// reference leads somewhere.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RuleSet {
    /// What the session's user packets are.
    pub pdu_type: PduSessionType,
    /// Packet Detection Rules.
    pub pdrs: RuleMap<PdrId, Pdr>,
    /// Forwarding Action Rules.
    pub fars: RuleMap<FarId, Far>,
    /// QoS Enforcement Rules.
    pub qers: RuleMap<QerId, Qer>,
    /// Usage Reporting Rules.
    pub urrs: RuleMap<UrrId, Urr>,
    /// Buffering Action Rules.
    pub bars: RuleMap<BarId, Bar>,
    /// The network slice of the session, if the SMF named it.
    pub slice: Option<SNssai>,
    /// Paging policies by DSCP, for packets whose QERs name none.
    pub paging: Vec<PagingPolicy>,
    /// User Plane Inactivity Timer: how long no packet may come before the SMF is told (TS 29.244 clause 5.11.2).
    /// `None`: it is not told.
    pub inactivity_timer: Option<Span>,
}
