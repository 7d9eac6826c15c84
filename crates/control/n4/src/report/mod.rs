//! Session reports: what the SMF must hear, in order, until it has heard (TS 29.244 clause 6.3.5).

mod build;
mod bundle;
mod paths;
mod queue;
mod send;

pub(crate) use queue::{Report, ReportQueue};
