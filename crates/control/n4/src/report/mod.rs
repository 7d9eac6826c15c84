//! Session reports: what the SMF must hear, in order, until it has heard (TS 29.244 clause 6.3.5).

mod build;
mod bundle;
mod elsewhere;
mod paths;
mod queue;
mod reports;
mod send;

pub(crate) use bundle::USAGES;
pub(crate) use elsewhere::{from_another_smf, set_seid};
pub(crate) use queue::{Report, RequestNumber};
pub(crate) use reports::ReportQueue;
