//! PFCP rules as legal values, and the pure functions that change them: decode, validate, diff, plan.
//!
//! Nothing here does I/O, reads a clock or keeps state of its own. A [`RuleSet`] that passed validation
//! can be given to any data plane whose [`Capabilities`] cover it.

#![forbid(unsafe_code)]

mod capabilities;
mod model;
mod plan;
mod usage;

pub use capabilities::Capabilities;
pub use model::{
    ApplyAction, Bar, DirectionalLimit, Far, FlowAddress, FlowEnd, Forwarding, Gate, GtpuRemoval,
    MeasurementMethod, Pdi, Pdr, Qer, RateLimit, RuleSet, SdfFilter, UeAddress, UeSide, Urr, UrrTriggers,
};
pub use plan::{Op, Plan};
pub use usage::{Usage, UsageReason};
