//! The keys of framed routes.

use serde::Serialize;

use super::section::Section;
use super::values;

/// The kernel routing table and the limits of framed routes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FramedRoutes {
    /// The routing table of the kernel.
    pub table: u32,
    /// Maximum number of all sessions.
    pub max: u32,
    /// Maximum number of the sessions of one SMF.
    pub max_per_smf: u32,
    /// Maximum number of one session.
    pub max_per_session: u32,
}

impl Default for FramedRoutes {
    fn default() -> Self {
        Self { table: 8805, max: 16_384, max_per_smf: 8192, max_per_session: 64 }
    }
}

impl FramedRoutes {
    pub(super) fn read(routes: &mut Section<'_>) -> Self {
        let default = Self::default();
        let limit = || values::number(0..=1_000_000);
        Self {
            // Lower numbers are reserved by the kernel or have names.
            table: routes.value("table", values::number(256..=u32::MAX)).unwrap_or(default.table),
            max: routes.value("max", limit()).unwrap_or(default.max),
            max_per_smf: routes.value("max_per_smf", limit()).unwrap_or(default.max_per_smf),
            max_per_session: routes.value("max_per_session", limit()).unwrap_or(default.max_per_session),
        }
    }
}
