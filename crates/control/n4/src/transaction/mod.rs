//! Requests and their answers, both ways.

mod inbound;
mod outbound;

pub(crate) use inbound::{Inbound, RequestKey, Seen};
pub(crate) use outbound::{Expired, Outbound, Request};
