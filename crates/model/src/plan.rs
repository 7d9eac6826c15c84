//! The writes that turn one rule set into another.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use causeway_types::{BarId, FTeid, FarId, PdrId, QerId, SNssai, Seid, Span, UrrId};

use crate::{
    Bar, ExtendedBuffering, Far, PagingPolicy, Pdr, PduSessionType, ProfileTransition, ProfiledSession, Qer,
    UeMac, Urr, UrrPart, plan_establishment,
};

/// An ordered list of writes for one session, applied all or nothing.
///
/// Each rule is written before the rules that refer to it, except for links among URRs; removals come last, in the
/// reverse order. A packet sees the rules before the plan or after it, never a mix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The UPF's SEID of the session.
    pub session: Seid,
    /// The writes, in order.
    pub ops: Ops,
}

/// The writes of a plan as a list. For a profiled establishment or modification the list is made at its first use.
#[derive(Clone)]
pub struct Ops(OpsForm);

#[derive(Clone)]
enum OpsForm {
    Listed(Vec<Op>),
    Profiled(ProfiledSession, OnceLock<Vec<Op>>),
    Transition(ProfileTransition, OnceLock<Vec<Op>>),
    /// The end of the session.
    Removal,
}

/// The writes that end a session.
const REMOVAL: [Op; 1] = [Op::RemoveSession];

impl Ops {
    /// The session ends, and nothing else is written.
    pub const fn removal() -> Self {
        Self(OpsForm::Removal)
    }

    /// The only write is the end of the session.
    pub fn is_removal(&self) -> bool {
        match &self.0 {
            OpsForm::Removal => true,
            OpsForm::Listed(ops) => *ops == REMOVAL,
            OpsForm::Profiled(..) | OpsForm::Transition(..) => false,
        }
    }

    /// The established session, if it has a profile: [`Deref`] gives the same as a list.
    pub const fn profiled(&self) -> Option<&ProfiledSession> {
        match &self.0 {
            OpsForm::Profiled(profiled, _) => Some(profiled),
            OpsForm::Listed(_) | OpsForm::Transition(..) | OpsForm::Removal => None,
        }
    }

    /// The transition, if the session had and has a profile: [`Deref`] gives the same as a list.
    pub const fn transition(&self) -> Option<&ProfileTransition> {
        match &self.0 {
            OpsForm::Transition(transition, _) => Some(transition),
            OpsForm::Listed(_) | OpsForm::Profiled(..) | OpsForm::Removal => None,
        }
    }

    /// The list.
    pub fn into_vec(self) -> Vec<Op> {
        match self.0 {
            OpsForm::Listed(ops) => ops,
            OpsForm::Profiled(profiled, listed) => {
                listed.into_inner().unwrap_or_else(|| establishment(&profiled))
            }
            OpsForm::Transition(transition, listed) => {
                listed.into_inner().unwrap_or_else(|| transition.ops())
            }
            OpsForm::Removal => REMOVAL.to_vec(),
        }
    }
}

impl Deref for Ops {
    type Target = [Op];

    fn deref(&self) -> &[Op] {
        match &self.0 {
            OpsForm::Listed(ops) => ops,
            OpsForm::Profiled(profiled, listed) => listed.get_or_init(|| establishment(profiled)),
            OpsForm::Transition(transition, listed) => listed.get_or_init(|| transition.ops()),
            OpsForm::Removal => &REMOVAL,
        }
    }
}

/// The writes of an establishment. O(rules).
fn establishment(profiled: &ProfiledSession) -> Vec<Op> {
    plan_establishment(Seid(0), &profiled.rules()).ops.into_vec()
}

impl Default for Ops {
    fn default() -> Self {
        Self(OpsForm::Listed(Vec::new()))
    }
}

impl From<Vec<Op>> for Ops {
    fn from(ops: Vec<Op>) -> Self {
        Self(OpsForm::Listed(ops))
    }
}

impl From<ProfiledSession> for Ops {
    fn from(profiled: ProfiledSession) -> Self {
        Self(OpsForm::Profiled(profiled, OnceLock::new()))
    }
}

impl From<ProfileTransition> for Ops {
    fn from(transition: ProfileTransition) -> Self {
        Self(OpsForm::Transition(transition, OnceLock::new()))
    }
}

impl<'a> IntoIterator for &'a Ops {
    type Item = &'a Op;
    type IntoIter = std::slice::Iter<'a, Op>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Ops {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Ops {}

impl<const N: usize> PartialEq<[Op; N]> for Ops {
    fn eq(&self, other: &[Op; N]) -> bool {
        **self == *other
    }
}

impl PartialEq<Vec<Op>> for Ops {
    fn eq(&self, other: &Vec<Op>) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Ops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// One write of a [`Plan`]. It shares its rules with the control plane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// A new session without rules. First in its plan.
    CreateSession,
    /// The PDU session type of the new session; follows [`Op::CreateSession`]. Without it user packets are IP
    /// packets.
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
    /// Removes the session with all its rules, reports the final usage of every URR, and the remaining packets of
    /// every QER for which that was requested. Last in its plan.
    RemoveSession,
}
