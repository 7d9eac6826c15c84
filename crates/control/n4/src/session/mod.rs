//! Sessions: requests, plans and their outcome (TS 29.244 clause 6.3).

mod applied;
mod conflict;
mod instruct;
mod membership;
mod purge;
mod release;
mod request;
mod table;
mod takeover;

pub(crate) use membership::{Membership, named};
pub(crate) use table::{Session, Sessions};
pub(crate) use takeover::Takeover;
