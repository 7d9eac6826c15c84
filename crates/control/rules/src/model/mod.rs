//! The rules of a session as legal values.

mod bar;
mod buffering;
mod far;
mod outer;
mod pdr;
mod qer;
mod sdf;
mod set;
mod urr;

pub use bar::Bar;
pub use buffering::{BufferingDuration, DeliveryStatus, ExtendedBuffering};
pub use far::{ApplyAction, CopyTo, Duplicate, Far, Forwarding};
pub use outer::{HeaderRemoval, OuterHeader, RemovedHeader};
pub use pdr::{Pdi, Pdr, UeAddress, UeSide};
pub use qer::{Gate, Qer, RateLimit};
pub use sdf::{FlowAddress, FlowDescription, FlowEnd, SdfFilter, TrafficClass};
pub use set::RuleSet;
pub use urr::{DirectionalLimit, MeasurementMethod, Urr, UrrTriggers};
