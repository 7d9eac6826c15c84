//! The rules of a session as legal values.

mod bar;
mod buffering;
mod far;
mod pdr;
mod qer;
mod sdf;
mod set;
mod urr;

pub use bar::Bar;
pub use buffering::{BufferingDuration, DeliveryStatus, ExtendedBuffering};
pub use far::{ApplyAction, Far, Forwarding};
pub use pdr::{GtpuRemoval, Pdi, Pdr, UeAddress, UeSide};
pub use qer::{Gate, Qer, RateLimit};
pub use sdf::{FlowAddress, FlowDescription, FlowEnd, SdfFilter, TrafficClass};
pub use set::RuleSet;
pub use urr::{
    BaseInterval, DirectionalLimit, DroppedLimit, MeasurementMethod, Monitoring, Urr, UrrPart, UsageLimits,
};
