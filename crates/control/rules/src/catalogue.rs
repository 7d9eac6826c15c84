//! What rules may name that no session brings along.

use std::sync::Arc;

use crate::{ApplicationId, Applications, PredefinedRules};

/// What rules may name that no session brings along: applications and predefined rules.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Catalogue {
    /// Those that packets can be detected as.
    pub applications: Arc<Applications>,
    /// Those that PDRs can activate.
    pub predefined: Arc<PredefinedRules>,
}

impl Catalogue {
    /// There is such an application.
    pub fn knows_application(&self, id: &ApplicationId) -> bool {
        self.applications.knows(id)
    }
}
