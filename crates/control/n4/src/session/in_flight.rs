//! The plan in flight of a session, and its queued work.

use causeway_pfcp::Header;
use causeway_rules::{Change, Instructions, ProfiledRules};

use super::Takeover;
use crate::ApplyId;
use crate::transaction::RequestKey;

/// A plan in flight and its id, boxed: few sessions have one.
pub(crate) type InFlightPlan = Box<(ApplyId, InFlight)>;

/// A plan submitted to the data plane.
#[derive(Debug)]
pub(crate) enum InFlight {
    /// Establishes a profiled session, for this request.
    EstablishProfiled(RequestKey, ProfiledRules),
    /// Changes the session to this profiled session, for this request, with a takeover if there is one.
    ModifyProfiled(RequestKey, ProfiledRules, Option<Box<Takeover>>),
    /// Deletes a profiled session, for this request.
    DeleteProfiled(RequestKey),
    /// Any other change.
    Change {
        work: PlanPurpose,
        /// The change; its plan has been submitted.
        change: Box<Change>,
    },
    /// Finished.
    Done,
}

impl InFlight {
    /// The request that waits for the response.
    pub(crate) fn request(&self) -> Option<RequestKey> {
        match self {
            Self::EstablishProfiled(key, _) | Self::ModifyProfiled(key, ..) | Self::DeleteProfiled(key) => {
                Some(*key)
            }
            Self::Change { work, .. } => work.request(),
            Self::Done => None,
        }
    }

    /// It removes a session without a request of its SMF.
    pub(super) const fn is_removal(&self) -> bool {
        matches!(self, Self::Change { work: PlanPurpose::Purge | PlanPurpose::Release, .. })
    }

    /// It establishes the session.
    pub(super) fn establishes(&self) -> bool {
        matches!(self, Self::EstablishProfiled(..) | Self::Change { work: PlanPurpose::Establish(_), .. })
    }
}

/// The purpose of a plan, with the request to respond to.
#[derive(Debug)]
pub(crate) enum PlanPurpose {
    /// A Session Establishment Request.
    Establish(RequestKey),
    /// A Session Modification Request, and its change of the SMF that controls the session.
    Modify(RequestKey, Box<Takeover>),
    /// A Session Deletion Request.
    Delete(RequestKey),
    /// Instructions of the SMF in its response to a report.
    Instruct,
    /// No request: the session is marked for removal.
    Purge,
    /// The UPF releases the session and reports that to the SMF.
    Release,
}

impl PlanPurpose {
    /// The request that waits for the response.
    pub(crate) fn request(&self) -> Option<RequestKey> {
        match self {
            Self::Establish(key) | Self::Modify(key, _) | Self::Delete(key) => Some(*key),
            Self::Instruct | Self::Purge | Self::Release => None,
        }
    }
}

/// Queued work.
#[derive(Debug)]
pub(crate) enum QueuedWork {
    /// A request.
    Request(QueuedRequest),
    /// The instructions in a report response.
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

/// A queued request.
#[derive(Debug)]
pub(crate) struct QueuedRequest {
    pub(crate) key: RequestKey,
    pub(crate) header: Header,
    pub(crate) body: Vec<u8>,
}
