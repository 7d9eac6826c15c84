//! The plan in flight of a session, and its queued work.

use causeway_pfcp::Header;
use causeway_rules::{Instructions, PendingChange};

use super::Takeover;
use crate::ApplyId;
use crate::transaction::RequestKey;

/// A plan in flight and its id, boxed: few sessions have one. `None`: the plan has been applied, and the box waits for
/// reuse.
pub(crate) type InFlightPlan = Box<(ApplyId, Option<InFlight>)>;

/// A plan submitted to the data plane.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) purpose: PlanPurpose,
    pub(crate) change: PendingChange,
}

impl InFlight {
    /// The request that waits for the response.
    pub(crate) fn request(&self) -> Option<RequestKey> {
        self.purpose.request()
    }

    /// It removes a session without a request of its SMF.
    pub(crate) const fn is_removal(&self) -> bool {
        matches!(self.purpose, PlanPurpose::Purge | PlanPurpose::Release)
    }

    /// It establishes the session.
    pub(crate) const fn establishes(&self) -> bool {
        matches!(self.purpose, PlanPurpose::Establish(_) | PlanPurpose::Restore)
    }
}

/// The purpose of a plan, with the request to respond to.
#[derive(Debug)]
pub(crate) enum PlanPurpose {
    /// A Session Establishment Request.
    Establish(RequestKey),
    /// A Session Modification Request, and its change of the SMF that controls the session, if there is one.
    Modify(RequestKey, Option<Box<Takeover>>),
    /// A Session Deletion Request.
    Delete(RequestKey),
    /// Instructions of the SMF in its response to a report.
    Instruct,
    /// No request: the session is marked for removal.
    Purge,
    /// The UPF releases the session and reports that to the SMF.
    Release,
    /// Another member of a chain of UPFs had the session, or the data plane has established it.
    Restore,
}

impl PlanPurpose {
    /// The request that waits for the response.
    pub(crate) fn request(&self) -> Option<RequestKey> {
        match self {
            Self::Establish(key) | Self::Modify(key, _) | Self::Delete(key) => Some(*key),
            Self::Instruct | Self::Purge | Self::Release | Self::Restore => None,
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
    pub(crate) fn octets(&self) -> usize {
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
