//! The model of a PFCP session, shared by the control plane and every data plane.
//!
//! - The rules: [`Pdr`], [`Far`], [`Qer`], [`Urr`] and [`Bar`], together a [`RuleSet`].
//! - [`SessionProfile`]: what all sessions of one policy share; [`SessionParams`]: the values of one session.
//! - [`Plan`]: the writes that change the rules of a session in a data plane.
//! - [`Adopted`]: a session that the control plane takes over from a data plane.
//! - [`Usage`]: what a data plane has measured. [`Capabilities`]: what it can do.
//!
//! Values are legal by construction where one value decides it; `causeway-rules` validates the rules of a session as a
//! whole. No type here knows PFCP, does I/O or reads a clock.
//!
//! ```
//! use causeway_model::{Far, Forwarding, Pdi, Pdr, Plan, RuleSet};
//! use causeway_types::{FarId, Interface, PdrId, Seid};
//!
//! let mut rules = RuleSet::default();
//! rules.fars.insert(FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core)));
//! let pdr = Pdr::new(PdrId(1), Pdi::new(Interface::Access), FarId(1));
//! rules.pdrs.insert(PdrId(1), pdr);
//! let plan = Plan::install(Seid(7), rules);
//! assert_eq!(plan.ops().len(), 2, "the FAR, then the PDR");
//! ```

#![forbid(unsafe_code)]

mod adopted;
mod application;
mod bar;
mod capabilities;
mod diff;
mod enrichment;
mod ethernet;
mod far;
mod local_endpoints;
mod marking;
mod outer;
mod packet_rate;
mod pdr;
mod plan;
mod predefined;
mod profile;
mod qer;
mod redirect;
mod rule_id;
mod rule_map;
mod rule_set;
mod sdf;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod transfer;
mod ue_mac;
mod urr;
mod usage;

pub use adopted::{Adopted, Answered};
pub use application::{
    ApplicationId, Applications, Domain, DomainProtocol, Pattern, PatternError, Pfd, Seen, TrafficClasses,
};
pub use bar::{Bar, BufferingDuration, DeliveryStatus, ExtendedBuffering};
pub use capabilities::Capabilities;
pub use diff::{PlanOptions, plan_modification};
pub use enrichment::HttpField;
pub use ethernet::{EthernetFilter, MacMatch, MacRange, Proxying, TagMatch, VlanRemoval, VlanTags};
pub use far::{ApplyAction, CopyTo, Duplicate, Far, Forwarding};
pub use local_endpoints::{KnownPolicy, LocalEndpoint, LocalEndpoints, N6Address};
pub use marking::{FlowMarking, PagingPolicy, TosMarking};
pub use outer::{HeaderRemoval, OuterHeader, RemovedHeader};
pub use packet_rate::{Allowance, PacketRate, PacketRateReport, PacketRateStatus, PacketRates, Remaining};
pub use pdr::{Pdi, Pdr, UeAddress, UeSide};
pub use plan::{Op, Plan, SessionChange};
pub use predefined::{Activated, PredefinedRule, PredefinedRules, RuleName};
#[cfg(any(test, feature = "testing"))]
pub use profile::Templates;
pub use profile::{
    FurtherParams, FurtherSlots, MAX_FURTHER_TUNNELS, MAX_TUNNELS, Policy, PolicySlots, ProfileTransition,
    ProfiledSession, RateKind, RemoteFars, SessionParams, SessionProfile, TransitionEffect, UE_PREFIX_BITS,
    upper_half,
};
pub use qer::{Correlation, Gate, Qer, RateLimit};
pub use redirect::{NewEnd, PolicyName, Redirect, Replacement, Steering, Url};
pub use rule_id::RuleId;
pub use rule_map::RuleMap;
pub use rule_set::{PduSessionType, RuleSet};
pub use sdf::{FlowAddress, FlowDescription, FlowEnd, FlowError, SdfFilter, TrafficClass};
pub use ue_mac::{MacChanges, UeMac};
pub use urr::{
    BaseInterval, DirectionalLimit, DroppedLimit, MeasurementMethod, Monitoring, Urr, UrrPart, UsageLimits,
};
pub use usage::{Detected, Usage};
