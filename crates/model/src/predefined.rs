//! Predefined rules: configured detection rules that sessions activate by name (TS 29.244 clause 5.19).
//!
//! A predefined rule detects packets; the FAR, QERs and URRs of the PDR that activates it apply to them. Rules of
//! one name are a group, activated together.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use causeway_types::{QfiSet, Transfer};

use crate::{ApplicationId, SdfFilter};

/// The name of a predefined rule or of a group of them (TS 29.244 clause 8.2.72). Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RuleName(Arc<str>);

impl From<&str> for RuleName {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

/// Escapes non-printable characters, since peers choose names.
impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.escape_debug().fmt(f)
    }
}

/// What a predefined rule detects. Every part that is present must match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PredefinedRule {
    /// The IP flows: at least one must match; empty matches any packet.
    pub filters: Vec<SdfFilter>,
    /// The application that the packet must be of.
    pub application: Option<ApplicationId>,
    /// The QFIs of the PDU Session Container; empty matches any.
    pub qfis: QfiSet,
}

/// The predefined rules of a configuration, in their order for each name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PredefinedRules(BTreeMap<RuleName, Arc<[PredefinedRule]>>);

/// The predefined rules that are active for one PDR, by name.
pub type Activated = BTreeMap<RuleName, Arc<[PredefinedRule]>>;

impl PredefinedRules {
    /// Groups these rules by name.
    pub fn new(rules: impl IntoIterator<Item = (RuleName, PredefinedRule)>) -> Self {
        let mut groups: BTreeMap<RuleName, Vec<PredefinedRule>> = BTreeMap::new();
        for (name, rule) in rules {
            groups.entry(name).or_default().push(rule);
        }
        Self(groups.into_iter().map(|(name, rules)| (name, rules.into())).collect())
    }

    /// There are no rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rules of this name; `None`: there are none.
    pub fn get(&self, name: &RuleName) -> Option<&Arc<[PredefinedRule]>> {
        self.0.get(name)
    }
}

impl Transfer for RuleName {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Transfer::take(input).map(Self)
    }
}
