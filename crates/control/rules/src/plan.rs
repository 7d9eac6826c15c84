//! The writes that turn one rule set into another.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use causeway_types::{BarId, FTeid, FarId, PdrId, QerId, SNssai, Seid, Span, UrrId};

use crate::{
    Bar, ExtendedBuffering, Far, PagingPolicy, Pdr, PduSessionType, ProfileTransition, ProfiledSession, Qer,
    UeMac, Urr, UrrPart,
};

/// An ordered list of writes for one session, applied all or nothing.
///
/// Each reference is written before its user, but for links among URRs; removals come last, users before what they
/// refer to. A
/// packet sees the rules before the plan or after it, never a mix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The UPF's SEID of the session.
    pub session: Seid,
    /// The writes, in order.
    pub ops: Ops,
}

/// The writes of a plan: a list, which is made when it is first looked at where a session is established or changed as others were.
#[derive(Clone)]
pub struct Ops(OpsForm);

#[derive(Clone)]
enum OpsForm {
    Listed(Vec<Op>),
    Profiled(ProfiledSession, OnceLock<Vec<Op>>),
    Transition(ProfileTransition, OnceLock<Vec<Op>>),
    /// The session ends.
    Removal,
}

/// The writes that end a session.
const REMOVAL: [Op; 1] = [Op::RemoveSession];

impl Ops {
    /// The session ends, and nothing else is written.
    pub const fn removal() -> Self {
        Self(OpsForm::Removal)
    }

    /// Nothing is written but the end of the session.
    pub fn is_removal(&self) -> bool {
        match &self.0 {
            OpsForm::Removal => true,
            OpsForm::Listed(ops) => *ops == REMOVAL,
            OpsForm::Profiled(..) | OpsForm::Transition(..) => false,
        }
    }

    /// What is established, where that is a session as others were: [`Deref`] gives the same as a list.
    pub const fn profiled(&self) -> Option<&ProfiledSession> {
        match &self.0 {
            OpsForm::Profiled(profiled, _) => Some(profiled),
            OpsForm::Listed(_) | OpsForm::Transition(..) | OpsForm::Removal => None,
        }
    }

    /// What is changed, where that is a session as others were, and as they were: [`Deref`] gives the same as a list.
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
                listed.into_inner().unwrap_or_else(|| profiled.establishment())
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
            OpsForm::Profiled(profiled, listed) => listed.get_or_init(|| profiled.establishment()),
            OpsForm::Transition(transition, listed) => listed.get_or_init(|| transition.ops()),
            OpsForm::Removal => &REMOVAL,
        }
    }
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

/// One write of a [`Plan`]. The rules in it are those of the control plane, shared with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// A new session without rules. First in its plan.
    CreateSession,
    /// What the user packets of the new session are; follows [`Op::CreateSession`]. Without it they are IP packets.
    SetPduType(PduSessionType),
    /// The session belongs to this network slice, or to none that is known.
    SetSlice(Option<SNssai>),
    /// Replaces the paging policies of the session.
    SetPaging(Vec<PagingPolicy>),
    /// Drops all packets that wait for the session, before anything else is done (DROBU).
    DropBuffered,
    /// Creates the BAR or replaces the one of that id.
    PutBar(Arc<Bar>),
    /// Creates the URR, or replaces the one of that id and goes on counting. A limit or timer that changes starts
    /// over as for [`Op::RenewUrr`].
    PutUrr(Arc<Urr>),
    /// Starts parts of a URR over that were given anew, even with the values they had: a threshold or quota counts
    /// what was measured since the last report and nothing before that, a time runs from now (TS 29.244 clause
    /// 5.2.2.3.1).
    RenewUrr {
        /// The rule.
        urr: UrrId,
        /// Its parts.
        parts: BTreeSet<UrrPart>,
    },
    /// Starts the User Plane Inactivity Timer anew, with this time; `None` stops it.
    SetInactivityTimer(Option<Span>),
    /// Creates the QER, or replaces the one of that id and keeps its meters' state.
    PutQer(Arc<Qer>),
    /// Creates the FAR or replaces the one of that id. Buffered packets follow the new action: they drain
    /// in order before any new packet when it forwards, and are dropped when it drops.
    PutFar(Arc<Far>),
    /// Begins a new buffering period of a FAR that goes on buffering: the SMF hears of its next packet again.
    NotifyAgain(FarId),
    /// Buffers for longer than usual for the FARs of a BAR, until that ends.
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
    /// Reports the usage counted so far (Query URR). The next report has what comes after; towards the
    /// thresholds what is reported here still counts (TS 29.244 clause 5.2.2.3.1).
    QueryUrr(UrrId),
    /// Reports what is left of the packets that a QER allows (Query Packet Rate Status). Comes before any change.
    QueryPacketRate(QerId),
    /// Removes a PDR; a packet that waits for it is dropped.
    RemovePdr(PdrId),
    /// Removes a FAR.
    RemoveFar(FarId),
    /// Removes a QER.
    RemoveQer(QerId),
    /// Removes a URR and reports its final usage.
    RemoveUrr(UrrId),
    /// Removes a BAR.
    RemoveBar(BarId),
    /// Takes MAC addresses for the session's own, from whatever session has them (TS 29.244 clause 5.13.6). They are
    /// not reported as new.
    TakeMacs(Vec<UeMac>),
    /// Removes the session with all its rules and reports the final usage of every URR, and what is left of the packets
    /// of every QER that was asked to. Last in its plan.
    RemoveSession,
}
