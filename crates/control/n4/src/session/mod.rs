//! Sessions: requests, plans and their outcome (TS 29.244 clause 6.3).

mod alike;
mod applied;
mod condemned;
mod conflict;
mod end_form;
mod ended;
mod form;
mod instruct;
mod members;
mod membership;
mod moved;
mod purge;
mod release;
mod request;
mod state;
mod table;
mod takeover;
mod work;

pub(crate) use condemned::Unwanted;
pub(crate) use form::Forms;
pub(crate) use membership::{Membership, named};
pub(crate) use purge::{OpenRequests, Purged};
pub(crate) use request::cp_f_seid;
pub(crate) use state::Session;
pub(crate) use table::Sessions;
pub(crate) use takeover::Takeover;
