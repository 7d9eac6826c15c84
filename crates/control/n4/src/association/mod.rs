//! Associations with SMFs (TS 29.244 clause 6.2.6 to 6.2.8).

mod authorization;
mod contact;
mod graceful_release;
mod pools;
mod recovery;
mod release;
mod setup;
mod smf_set;
mod table;
mod targets;
mod upf_initiated;

pub(crate) use graceful_release::ReleaseState;
pub(crate) use recovery::{RecoveryClaim, RecoveryClock};
pub(crate) use table::{Association, AssociationId, Associations, canonical};
pub(crate) use targets::{Target, Targets};
