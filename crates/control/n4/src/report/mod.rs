//! Session reports: sent in order until the SMF has responded (TS 29.244 clause 6.3.5).

mod build;
mod bundle;
mod paths;
mod queue;
mod redirect;
mod reports;
mod send;

pub(crate) use bundle::USAGES;
pub(crate) use queue::{Report, RequestNumber};
pub(crate) use redirect::{readdress_report, set_seid};
pub(crate) use reports::ReportQueue;
