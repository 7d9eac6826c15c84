//! Sessions: requests, plans and their outcome (TS 29.244 clause 6.3).

mod applied;
mod instruct;
mod purge;
mod request;
mod table;

pub(crate) use table::{Session, Sessions, reports_go_to};
