//! Plans: what a data plane does with a session.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use causeway_types::{BarId, FTeid, FarId, PdrId, QerId, SNssai, Seid, Span, UrrId};

use crate::diff::installation;
use crate::{
    Bar, ExtendedBuffering, Far, PagingPolicy, Pdr, PduSessionType, ProfileTransition, ProfiledSession, Qer,
    RuleSet, UeMac, Urr, UrrPart,
};

/// A change of one session in a data plane, applied all or nothing: a packet sees the rules before the plan or after it,
/// never a mix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The UPF's SEID of the session.
    pub session: Seid,
    /// The change.
    pub change: SessionChange,
}

/// What a plan does with its session.
#[derive(Clone)]
pub enum SessionChange {
    /// Installs a new session: a profile, which it may share with others, with its parameters.
    Install(ProfiledSession),
    /// Rebinds the session to other tunnels or FARs, in a way that is the same for all sessions of its profile.
    Rebind(ProfileTransition),
    /// Writes rules one by one, in this order. Each rule is written before the rules that refer to it, except for links
    /// among URRs; removals come last, in the reverse order.
    Update(Vec<Op>),
    /// Removes the session with all its rules, reports the final usage of every URR, and the remaining packets of every
    /// QER for which that was requested.
    Remove,
}

impl Plan {
    /// Installs a session with these rules, which it shares with no other.
    pub fn install(session: Seid, rules: RuleSet) -> Self {
        Self { session, change: SessionChange::Install(ProfiledSession::unshared(rules)) }
    }

    /// Writes rules of a session one by one.
    pub const fn update(session: Seid, ops: Vec<Op>) -> Self {
        Self { session, change: SessionChange::Update(ops) }
    }

    /// Removes a session.
    pub const fn removal(session: Seid) -> Self {
        Self { session, change: SessionChange::Remove }
    }

    /// The writes: see [`SessionChange::ops`].
    pub fn ops(&self) -> Cow<'_, [Op]> {
        self.change.ops()
    }
}

impl SessionChange {
    /// The writes one by one. Those of a new session begin without rules; a removal has none. O(rules written).
    pub fn ops(&self) -> Cow<'_, [Op]> {
        match self {
            Self::Install(session) => Cow::Owned(installation(&session.rules())),
            Self::Rebind(transition) => Cow::Owned(transition.ops()),
            Self::Update(ops) => Cow::Borrowed(ops),
            Self::Remove => Cow::Borrowed(&[]),
        }
    }

    /// The installed session.
    pub const fn installed(&self) -> Option<&ProfiledSession> {
        match self {
            Self::Install(session) => Some(session),
            Self::Rebind(_) | Self::Update(_) | Self::Remove => None,
        }
    }

    /// A new session is installed.
    pub const fn is_installation(&self) -> bool {
        matches!(self, Self::Install(_))
    }

    /// The session is removed.
    pub const fn is_removal(&self) -> bool {
        matches!(self, Self::Remove)
    }

    /// Nothing is written.
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::Update(ops) if ops.is_empty())
    }
}

/// A change without writes.
impl Default for SessionChange {
    fn default() -> Self {
        Self::Update(Vec::new())
    }
}

impl From<Vec<Op>> for SessionChange {
    fn from(ops: Vec<Op>) -> Self {
        Self::Update(ops)
    }
}

impl From<ProfiledSession> for SessionChange {
    fn from(session: ProfiledSession) -> Self {
        Self::Install(session)
    }
}

impl From<ProfileTransition> for SessionChange {
    fn from(transition: ProfileTransition) -> Self {
        Self::Rebind(transition)
    }
}

/// Two changes are equal if their effect is.
impl PartialEq for SessionChange {
    fn eq(&self, other: &Self) -> bool {
        (self.is_installation(), self.is_removal()) == (other.is_installation(), other.is_removal())
            && self.ops() == other.ops()
    }
}

impl Eq for SessionChange {}

impl fmt::Debug for SessionChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Install(_) => "Install",
            Self::Rebind(_) => "Rebind",
            Self::Update(_) => "Update",
            Self::Remove => return f.write_str("Remove"),
        };
        f.debug_tuple(name).field(&self.ops()).finish()
    }
}

/// One write of a [`Plan`]. It shares its rules with the control plane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// The PDU session type of a new session. Without it user packets are IP packets.
    SetPduType(PduSessionType),
    /// The session belongs to this network slice, or to none that is known.
    SetSlice(Option<SNssai>),
    /// Replaces the paging policies of the session.
    SetPaging(Vec<PagingPolicy>),
    /// Drops all buffered packets of the session, before any other write (DROBU).
    DropBuffered,
    /// Creates the BAR or replaces the one of that id.
    PutBar(Arc<Bar>),
    /// Creates the URR, or replaces the one of that id and keeps counting. A limit or timer that changes starts
    /// over as for [`Op::RenewUrr`].
    PutUrr(Arc<Urr>),
    /// Restarts parts of a URR that were provisioned again, even with equal values: a threshold or quota counts
    /// from the last report on, a time runs from now (TS 29.244 clause 5.2.2.3.1).
    RenewUrr {
        /// The rule.
        urr: UrrId,
        /// Its parts.
        parts: BTreeSet<UrrPart>,
    },
    /// Restarts the User Plane Inactivity Timer with this time; `None` stops it.
    SetInactivityTimer(Option<Span>),
    /// Creates the QER, or replaces the one of that id and keeps its meters' state.
    PutQer(Arc<Qer>),
    /// Creates the FAR or replaces the one of that id. Buffered packets follow the new action: they drain
    /// in order before any new packet when it forwards, and are dropped when it drops.
    PutFar(Arc<Far>),
    /// Starts a new buffering period of a FAR that keeps buffering: its next packet is reported to the SMF again.
    NotifyAgain(FarId),
    /// Extends the buffering of the FARs of a BAR, until it ends.
    ExtendBuffering(ExtendedBuffering),
    /// Creates the PDR or replaces the one of that id.
    PutPdr(Arc<Pdr>),
    /// Sends one End Marker to the far end of a tunnel that is no longer used (TS 23.501 clause 5.8.2.9).
    SendEndMarker {
        /// The FAR whose tunnel changed in this plan.
        far: FarId,
        /// The old tunnel.
        tunnel: FTeid,
    },
    /// Reports the usage counted so far (Query URR). The next report contains later usage; the thresholds still
    /// count what is reported here (TS 29.244 clause 5.2.2.3.1).
    QueryUrr(UrrId),
    /// Reports the packets that a QER still allows (Query Packet Rate Status). Comes before any change.
    QueryPacketRate(QerId),
    /// Removes a PDR; its buffered packets are dropped.
    RemovePdr(PdrId),
    /// Removes a FAR.
    RemoveFar(FarId),
    /// Removes a QER.
    RemoveQer(QerId),
    /// Removes a URR and reports its final usage.
    RemoveUrr(UrrId),
    /// Removes a BAR.
    RemoveBar(BarId),
    /// Assigns MAC addresses to the session, whichever session had them (TS 29.244 clause 5.13.6). They are not
    /// reported as new.
    TakeMacs(Vec<UeMac>),
}
