//! Transactions in both directions (TS 29.244 clause 6.4).

mod hosts;
mod inbound;
mod outbound;
mod response_cache;

pub(crate) use inbound::{Bounds, Inbound, RequestKey, RequestState};
pub(crate) use outbound::{Aim, Expired, Outbound, Request, UnansweredRequest};
