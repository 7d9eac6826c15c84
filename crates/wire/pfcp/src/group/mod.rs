//! Grouped IEs (TS 29.244 clauses 7.4 and 7.5).

mod bar;
mod endpoint;
mod far;
mod l2tp;
mod mar;
mod multicast;
mod node;
mod node_report;
mod pdr;
mod qer;
mod report;
mod session;
mod srr;
mod urr;

pub use bar::*;
pub use endpoint::*;
pub use far::*;
pub use l2tp::*;
pub use mar::*;
pub use multicast::*;
pub use node::*;
pub use node_report::*;
pub use pdr::*;
pub use qer::*;
pub use report::*;
pub use session::*;
pub use srr::*;
pub use urr::*;
