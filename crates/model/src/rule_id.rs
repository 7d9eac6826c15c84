//! The identifier of a rule of any kind.

use std::fmt;

use causeway_types::{BarId, FarId, PdrId, QerId, UrrId};

/// A rule of a session, as in the Failed Rule ID (TS 29.244 clause 8.2.80).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum RuleId {
    /// A PDR.
    Pdr(PdrId),
    /// A FAR.
    Far(FarId),
    /// A QER.
    Qer(QerId),
    /// A URR.
    Urr(UrrId),
    /// A BAR.
    Bar(BarId),
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pdr(id) => write!(f, "PDR {id}"),
            Self::Far(id) => write!(f, "FAR {id}"),
            Self::Qer(id) => write!(f, "QER {id}"),
            Self::Urr(id) => write!(f, "URR {id}"),
            Self::Bar(id) => write!(f, "BAR {id}"),
        }
    }
}

/// The type of an identifier determines the kind of its rule.
macro_rules! rule_id_from {
    ($($id:ident => $kind:ident,)*) => {
        $(impl From<$id> for RuleId {
            fn from(id: $id) -> Self {
                Self::$kind(id)
            }
        })*
    };
}

rule_id_from! {
    PdrId => Pdr,
    FarId => Far,
    QerId => Qer,
    UrrId => Urr,
    BarId => Bar,
}
