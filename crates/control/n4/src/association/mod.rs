//! Associations with SMFs (TS 29.244 clause 6.2.6 to 6.2.8).

mod ask;
mod claim;
mod contact;
mod farewell;
mod pools;
mod release;
mod set;
mod setup;
mod table;
mod targets;
mod trust;

pub(crate) use claim::{Claim, PeerClock};
pub(crate) use farewell::Farewell;
pub(crate) use table::{Association, AssociationId, Associations, canonical};
pub(crate) use targets::{Target, Targets};
