//! Applications and predefined rules that the rules of all sessions may refer to.

use std::sync::Arc;

use causeway_model::{ApplicationId, Applications, PredefinedRules};

/// Applications and predefined rules that the rules of all sessions may refer to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Catalogue {
    /// The applications that packets can be detected as.
    pub applications: Arc<Applications>,
    /// The predefined rules that PDRs can activate.
    pub predefined: Arc<PredefinedRules>,
}

impl Catalogue {
    /// The application exists.
    pub fn knows_application(&self, id: &ApplicationId) -> bool {
        self.applications.knows(id)
    }
}
