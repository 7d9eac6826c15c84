//! PFCP rules as legal values, and the pure functions that change them: decode, validate, diff, plan.
//!
//! Nothing here does I/O, reads a clock or keeps state of its own. A [`RuleSet`] that passed validation
//! can be given to any data plane whose [`Capabilities`] cover it.

#![forbid(unsafe_code)]

mod capabilities;
mod change;
mod decode;
mod diff;
mod edits;
mod ie;
mod model;
mod plan;
mod reject;
mod respond;
mod sdf;
mod session;
mod tunnels;
mod usage;
mod validate;

#[cfg(test)]
mod testing;

pub use capabilities::Capabilities;
pub use change::{Change, delete, establish, modify};
pub use diff::{Extras, plan_deletion, plan_establishment, plan_modification};
pub use model::{
    ApplyAction, Bar, DirectionalLimit, Far, FlowAddress, FlowEnd, Forwarding, Gate, GtpuRemoval,
    MeasurementMethod, Pdi, Pdr, Qer, RateLimit, RuleSet, SdfFilter, UeAddress, UeSide, Urr, UrrTriggers,
};
pub use plan::{Op, Plan};
pub use reject::{Reason, Rejection, RuleId};
pub use sdf::FlowError;
pub use session::{Reporting, SessionRules};
pub use tunnels::{LocalEndpoint, LocalEndpoints, TunnelChange, Tunnels};
pub use usage::{Usage, UsageReason};
pub use validate::{Context, validate};
