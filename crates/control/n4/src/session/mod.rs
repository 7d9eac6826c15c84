//! Sessions: requests, plans and their results (TS 29.244 clause 6.3).

mod association_sessions;
mod conflict;
mod delete;
mod in_flight;
mod instruct;
mod plan_result;
mod purge;
mod purge_queue;
mod release;
mod request;
mod response_template;
mod session_sets;
mod state;
mod table;
mod takeover;

pub(crate) use purge::{PendingRequests, PurgeCount};
pub(crate) use purge_queue::PurgeFilter;
pub(crate) use response_template::ResponseTemplates;
pub(crate) use session_sets::{SessionSets, named};
pub(crate) use state::Session;
pub(crate) use table::Sessions;
pub(crate) use takeover::Takeover;
