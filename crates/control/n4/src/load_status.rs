//! Load and overload control information in responses to session requests (TS 29.244 clauses 6.2.3 and 6.2.4).

use causeway_pfcp::{CpFeatures, LoadControlInformation, OverloadControlInformation};
use causeway_types::Time;

use crate::N4;
use crate::association::{Association, AssociationId};
use crate::transaction::RequestKey;

/// Information that an SMF supports and has not been sent yet.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct LoadStatus {
    pub(crate) load: Option<LoadControlInformation<'static>>,
    pub(crate) overload: Option<OverloadControlInformation<'static>>,
}

impl LoadStatus {
    /// There is nothing to send.
    pub(crate) const fn is_empty(&self) -> bool {
        self.load.is_none() && self.overload.is_none()
    }
}

impl N4 {
    /// The information to send to the SMF of an association in a response now; `leaving` sessions end with it.
    #[inline]
    pub(crate) fn status(
        &mut self,
        now: Time,
        association: Option<AssociationId>,
        leaving: usize,
    ) -> LoadStatus {
        let listens = |it: &Association| it.cp_features.intersects(CpFeatures::LOAD | CpFeatures::OVRL);
        match association {
            Some(id) if self.associations.get(id).is_some_and(listens) => self.status_for(now, id, leaving),
            _ => LoadStatus::default(),
        }
    }

    #[inline(never)]
    fn status_for(&mut self, now: Time, id: AssociationId, leaving: usize) -> LoadStatus {
        let sessions = self.sessions.len().saturating_sub(leaving);
        LoadStatus {
            load: self.load_information(id, sessions),
            overload: self.overload_information(now, id, sessions),
        }
    }

    /// The information to send with the rejection of a request.
    pub(crate) fn status_for_refused(&mut self, now: Time, key: RequestKey) -> LoadStatus {
        let is_about_session = key.message.is_session_related();
        let association = is_about_session.then(|| self.associations.identify(key.from)).flatten();
        self.status(now, association, 0)
    }
}
