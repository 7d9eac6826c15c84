//! Sessions: requests, plans and their results (TS 29.244 clause 6.3).

mod association_sessions;
mod in_flight;
mod planning;
mod plans;
mod purge_queue;
mod record;
mod response_template;
mod session_sets;
mod state;
mod table;
mod takeover;
mod usage_marks;

pub(crate) use in_flight::{InFlight, PlanPurpose, QueuedRequest, QueuedWork};
pub(crate) use planning::Around;
pub(crate) use plans::tolerate;
pub(crate) use purge_queue::{PendingRequests, PurgeCount, PurgeFilter, PurgeStep, PurgeTally, RemovalMode};
pub(crate) use record::SessionRecord;
pub(crate) use response_template::ResponseTemplates;
pub(crate) use session_sets::{ChangedReceivers, SessionSets, named};
pub(crate) use state::Session;
pub(crate) use table::Sessions;
pub(crate) use takeover::Takeover;
pub(crate) use usage_marks::UsageMarks;
pub use usage_marks::UsageSnapshot;
