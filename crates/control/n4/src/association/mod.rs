//! Associations with SMFs (TS 29.244 clauses 6.2.2 and 6.2.6 to 6.2.8): setup, heartbeats, restarts, trust, release.

mod authorization;
mod contact;
mod counts;
mod heartbeat;
mod record;
mod recovery;
mod release;
mod setup;
mod smf_set;
mod table;
mod targets;

pub(crate) use contact::Contact;
pub(crate) use record::AssociationRecord;
pub(crate) use recovery::{Confirmed, PendingSetup, SentTimeStamp};
use recovery::{RecoveryClaim, RecoveryClock};
use release::ReleaseState;
pub(crate) use setup::retained;
pub(crate) use table::{Association, AssociationId, Associations, canonical};
