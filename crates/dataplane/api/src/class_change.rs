//! Application classes of sessions.

use causeway_model::ApplicationId;
use causeway_types::IpNet;

/// A change of the application class of a session's traffic. Both classes have the names of the model that was in force before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassChange {
    /// The address of the UE: an IPv4 address, or an IPv6 prefix of 64 bits. `None`: no PDR names one.
    pub ue: Option<IpNet>,
    /// The class before.
    pub from: ApplicationId,
    /// The class from now on: other packets match the PDRs that name a class.
    pub to: ApplicationId,
}

/// The sessions whose traffic is measured, and the changes of their classes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionClasses {
    /// The classes of the model in force, in its order, and the sessions whose traffic has each now.
    pub sessions: Vec<(ApplicationId, u64)>,
    /// Changes since the start.
    pub changes: u64,
    /// Those that were not said, since there were too many in a second.
    pub unsaid: u64,
}

impl SessionClasses {
    /// The sum of those of two data planes, which have different sessions.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        for (class, sessions) in &other.sessions {
            match self.sessions.iter_mut().find(|(known, _)| known == class) {
                Some((_, sum)) => *sum += sessions,
                None => self.sessions.push((class.clone(), *sessions)),
            }
        }
        Self {
            sessions: self.sessions,
            changes: self.changes + other.changes,
            unsaid: self.unsaid + other.unsaid,
        }
    }
}
