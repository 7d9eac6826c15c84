//! The rules of a session as legal values.

mod bar;
mod buffering;
mod enrichment;
mod ethernet;
mod far;
mod marking;
mod outer;
mod packet_rate;
mod pdr;
mod pdu_type;
mod qer;
mod redirect;
mod rule_map;
mod sdf;
mod set;
mod urr;

pub use bar::Bar;
pub use buffering::{BufferingDuration, DeliveryStatus, ExtendedBuffering};
pub use enrichment::HttpField;
pub use ethernet::{EthernetFilter, MacMatch, MacRange, Proxying, TagMatch, VlanRemoval, VlanTags};
pub use far::{ApplyAction, CopyTo, Duplicate, Far, Forwarding};
pub use marking::{FlowMarking, PagingPolicy, TosMarking};
pub use outer::{HeaderRemoval, OuterHeader, RemovedHeader};
pub use packet_rate::{Allowance, PacketRate, PacketRateReport, PacketRateStatus, PacketRates, Remaining};
pub use pdr::{Pdi, Pdr, UeAddress, UeSide};
pub use pdu_type::PduSessionType;
pub use qer::{Correlation, Gate, Qer, RateLimit};
pub use redirect::{NewEnd, PolicyName, Redirect, Replacement, Steering, Url};
pub use rule_map::RuleMap;
pub use sdf::{FlowAddress, FlowDescription, FlowEnd, SdfFilter, TrafficClass};
pub use set::RuleSet;
pub use urr::{
    BaseInterval, DirectionalLimit, DroppedLimit, MeasurementMethod, Monitoring, Urr, UrrPart, UsageLimits,
};
