//! PFD management: which traffic Application IDs stand for (TS 29.244 clause 6.2.5).

use std::sync::Arc;

use causeway_pfcp::{Cause, PfdManagementRequest, PfdManagementResponse};
use causeway_rules::Rejection;
use causeway_types::{Seid, Time};

use crate::answer::Refusal;
use crate::transaction::RequestKey;
use crate::{N4, Output};

impl N4 {
    /// Replaces the PFDs of the applications that the request names, for the sessions of every SMF, or changes
    /// nothing.
    pub(crate) fn pfd_management(&mut self, now: Time, key: RequestKey, request: &PfdManagementRequest<'_>) {
        if !self.capabilities.application_detection {
            let refusal = Refusal::new(Cause::ServiceNotSupported, "this data plane detects no applications");
            return self.refuse(now, key, Seid(0), refusal);
        }
        match self.catalogue.applications.manage(request) {
            Err(reason) => self.refuse(now, key, Seid(0), Rejection::from(reason).into()),
            Ok(applications) => {
                self.catalogue.applications = Arc::new(applications);
                self.provision();
                let cause = Cause::RequestAccepted;
                let response = PfdManagementResponse::new(cause);
                self.answer(now, key, Seid(0), Some(cause), &response.into());
            }
        }
    }

    /// Tells the data plane of the applications there are.
    pub(crate) fn provision(&mut self) {
        self.push(Output::Applications(Arc::clone(&self.catalogue.applications)));
    }
}
