//! What is under way of a session, and what waits for it.

use causeway_pfcp::Header;
use causeway_rules::{Change, Instructions, ProfiledSession};

use super::Takeover;
use crate::ApplyId;
use crate::transaction::RequestKey;

/// A plan under way and its name, in memory of its own: few sessions have one.
pub(crate) type InFlightPlan = Box<(ApplyId, InFlight)>;

/// A plan handed to the data plane.
#[derive(Debug)]
pub(crate) enum InFlight {
    /// The session is established as others were, for this request.
    EstablishProfiled(RequestKey, ProfiledSession),
    /// The session becomes this by a change that others had before it, for this request, and changes hands if that says so.
    ModifyProfiled(RequestKey, ProfiledSession, Option<Box<Takeover>>),
    /// The session, of which is kept what it has in common with others, ends for this request.
    DeleteProfiled(RequestKey),
    /// Anything else.
    Change {
        work: PlanPurpose,
        /// What it changes; its plan has been handed out.
        change: Box<Change>,
    },
    /// Nothing any more.
    Done,
}

impl InFlight {
    /// The request that is to be answered.
    pub(crate) fn request(&self) -> Option<RequestKey> {
        match self {
            Self::EstablishProfiled(key, _) | Self::ModifyProfiled(key, ..) | Self::DeleteProfiled(key) => {
                Some(*key)
            }
            Self::Change { work, .. } => work.request(),
            Self::Done => None,
        }
    }

    /// It removes a session that its SMF has not asked to remove.
    pub(super) const fn is_removal(&self) -> bool {
        matches!(self, Self::Change { work: PlanPurpose::Purge | PlanPurpose::Release, .. })
    }

    /// The session is not there yet.
    pub(super) fn establishes(&self) -> bool {
        matches!(self, Self::EstablishProfiled(..) | Self::Change { work: PlanPurpose::Establish(_), .. })
    }
}

/// What the plan is for, and whom to answer.
#[derive(Debug)]
pub(crate) enum PlanPurpose {
    /// A Session Establishment Request.
    Establish(RequestKey),
    /// A Session Modification Request, and what it changes about who controls the session.
    Modify(RequestKey, Box<Takeover>),
    /// A Session Deletion Request.
    Delete(RequestKey),
    /// What the SMF asked for in its answer to a report.
    Instruct,
    /// Nobody's request: the session is to go.
    Purge,
    /// The session is to go, and the SMF to hear of it.
    Release,
}

impl PlanPurpose {
    /// The request that is to be answered.
    pub(crate) fn request(&self) -> Option<RequestKey> {
        match self {
            Self::Establish(key) | Self::Modify(key, _) | Self::Delete(key) => Some(*key),
            Self::Instruct | Self::Purge | Self::Release => None,
        }
    }
}

/// What waits for its turn.
#[derive(Debug)]
pub(crate) enum QueuedWork {
    /// A request.
    Request(QueuedRequest),
    /// What an answer to a report asks for.
    Answer(Box<Instructions>),
}

impl QueuedWork {
    pub(super) fn octets(&self) -> usize {
        match self {
            Self::Request(request) => request.body.len(),
            Self::Answer(_) => 0,
        }
    }
}

/// A request that waits for its turn.
#[derive(Debug)]
pub(crate) struct QueuedRequest {
    pub(crate) key: RequestKey,
    pub(crate) header: Header,
    pub(crate) body: Vec<u8>,
}
