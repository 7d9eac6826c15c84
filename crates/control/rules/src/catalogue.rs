//! Applications and predefined rules that the rules of all sessions may refer to (TS 29.244 clause 5.19).

use std::sync::Arc;

use causeway_model::{Activated, ApplicationId, Applications, PredefinedRules, RuleName};

use crate::Reason;

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

/// Activates rules for a PDR. An active one stays active.
///
/// # Errors
/// [`Reason::UnknownPredefinedRule`].
pub(crate) fn activate(
    rules: &PredefinedRules,
    names: &[RuleName],
    active: &mut Activated,
) -> Result<(), Reason> {
    for name in names {
        let rules = rules.get(name).ok_or_else(|| Reason::UnknownPredefinedRule(name.clone()))?;
        active.insert(name.clone(), Arc::clone(rules));
    }
    Ok(())
}

/// Deactivates rules of a PDR.
///
/// # Errors
/// [`Reason::NotActive`] for one that is not active.
pub(crate) fn deactivate(names: &[RuleName], active: &mut Activated) -> Result<(), Reason> {
    for name in names {
        active.remove(name).ok_or_else(|| Reason::NotActive(name.clone()))?;
    }
    Ok(())
}
