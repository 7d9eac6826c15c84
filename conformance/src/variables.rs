//! Values that the UPF chose, for later steps.

use std::collections::BTreeMap;

use crate::CaseError;

/// Numbers by name: `up-seid` (of the last session), `teid-1` (of the Created PDR with id 1).
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables(BTreeMap<String, u64>);

impl Variables {
    /// Sets a value, replacing an older one.
    pub(crate) fn set(&mut self, name: String, value: u64) {
        self.0.insert(name, value);
    }

    /// The value.
    ///
    /// # Errors
    /// [`CaseError::Unknown`] when no step has set it.
    pub(crate) fn value(&self, name: &str) -> Result<u64, CaseError> {
        let unknown = || CaseError::Unknown { what: "variable", name: name.to_owned() };
        self.0.get(name).copied().ok_or_else(unknown)
    }
}
