//! Associations with SMFs (TS 29.244 clause 6.2.6).

mod table;
mod targets;

pub use table::AssociationId;
pub(crate) use table::{Association, Associations};
pub(crate) use targets::{Target, Targets};
