//! Requests and their answers, both ways (TS 29.244 clause 6.4).

mod answers;
mod hosts;
mod inbound;
mod outbound;

pub(crate) use inbound::{Bounds, Inbound, RequestKey, Seen};
pub(crate) use outbound::{Aim, Expired, Lost, Outbound, Request};
