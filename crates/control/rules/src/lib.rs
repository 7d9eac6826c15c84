//! PFCP rules as legal values, and the pure functions that change them: decode, validate, plan.
//!
//! No function here does I/O, reads a clock or keeps global state. A validated [`RuleSet`](causeway_model::RuleSet) can
//! be given to any data plane whose [`Capabilities`](causeway_model::Capabilities) cover it.
//!
//! - [`establish`], [`modify`] and [`delete`] turn a request into a [`Change`], or a [`Rejection`] with its [`Reason`]. A
//!   request passes `decode` (values), `edits` (its effect on the existing rules), [`validate()`] (the rules as a whole)
//!   and [`plan_modification`](causeway_model::plan_modification) (the writes). The table in `decode/ie_support.rs` names
//!   the treatment of each IE.
//! - [`restore()`] plans a session that another UPF had: its rules are octets by [`Transfer`](causeway_types::Transfer). It does the same
//!   with one that a data plane has established itself ([`SessionRules::adopted`]).
//! - [`Resources`] allocates F-TEIDs ([`Tunnels`]) and UE addresses ([`Addresses`]).
//! - [`Resources::recognize`] is the template cache: a request with the message template of an earlier one is not decoded.
//!
//! # Example
//!
//! ```
//! use causeway_model::{Capabilities, LocalEndpoint, LocalEndpoints, SessionChange};
//! use causeway_pfcp::{
//!     ApplyAction, CreateFar, CreatePdr, DestinationInterface, FTeid, ForwardingParameters, NodeId,
//!     OuterHeaderRemoval, Pdi, RemovedHeader, SessionEstablishmentRequest, SourceInterface,
//! };
//! use causeway_rules::{Addresses, Catalogue, Context, Resources, Tunnels, establish};
//! use causeway_types::{FSeid, FarId, NetworkInstance, PdrId, Precedence, Seid};
//! use std::net::Ipv4Addr;
//!
//! // The UPF at 192.0.2.1, with at most 100 tunnels.
//! let [upf, smf] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 21)];
//! let gtpu = vec![LocalEndpoint { addr: upf.into(), network_instance: None }];
//! let networks = vec![NetworkInstance::new("internet")];
//! let endpoints = LocalEndpoints { gtpu, networks, ..LocalEndpoints::default() };
//! let (capabilities, catalogue) = (Capabilities::all(10, 16), Catalogue::default());
//! let context = Context { capabilities: &capabilities, endpoints: &endpoints, catalogue: &catalogue };
//! let mut resources = Resources::new(Tunnels::new(100, 0), Addresses::default());
//!
//! // A session whose uplink tunnel the UPF chooses.
//! let choose = FTeid::Choose { v4: true, v6: false, choose_id: None };
//! let pdi = Pdi { local_f_teid: Some(choose), ..Pdi::new(SourceInterface::Access) };
//! let pdr = CreatePdr {
//!     outer_header_removal: Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4)),
//!     far_id: Some(FarId(1)),
//!     ..CreatePdr::new(PdrId(1), Precedence(255), pdi)
//! };
//! let forwarding = Some(ForwardingParameters::new(DestinationInterface::Core));
//! let far = CreateFar { forwarding_parameters: forwarding, ..CreateFar::new(FarId(1), ApplyAction::FORW) };
//! let f_seid = FSeid { seid: Seid(77), addr: smf.into() };
//! let request = SessionEstablishmentRequest::new(NodeId::Ip(smf.into()), f_seid, [pdr], [far]);
//!
//! let change = establish(&request, Seid(7), &context, &mut resources).map_err(|why| why.to_string())?;
//! assert_eq!(change.chosen.len(), 1, "the F-TEID of the Created PDR");
//! assert!(matches!(change.plan.change, SessionChange::Install(_)));
//! // The data plane applies the plan; then the change is kept.
//! resources.commit(change.resources);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where validation is more lenient than TS 29.244
//!
//! Real SMFs depend on each of these:
//!
//! - An F-TEID assigned by the SMF is accepted beside CHOOSE, if its address is local and no other session has it
//!   (clause 5.5.1 would refuse it).
//! - A CHOOSE ID stands for its tunnel in all requests of the session, not in one alone (clause 8.2.3).
//! - Outer Header Removal that names the IP version of the user instead of the tunnel removes either.
//! - The PDI of an Update PDR with neither F-TEID nor UE address nor Traffic Endpoint ID keeps the existing ones (table
//!   7.5.4.2-1 would replace the whole PDI); CHOOSE there means the existing tunnel.
//! - An address on a framed route of the UE matches `assigned` in flow descriptions.
//! - The S/D flag at zero still means the destination for packets that do not come from the access.
//! - CHOOSE with neither V4 nor V6 chooses IPv4, if the UPF has an IPv4 GTP-U address (clause 8.2.3 wants one of the
//!   flags).
//! - A PDR for packets of a data network needs no UE address if another PDR of the session has it.
//! - A FAR may forward to the access before its tunnel is known; packets are dropped until then.
//! - Outer Header Creation with TEID 0 or an unspecified address is no tunnel, while the FAR does not forward.
//! - SGi-LAN as destination needs no forwarding policy (table 7.5.2.3-2).
//! - Removal of a QER, URR or BAR also removes the references of other rules to it.
//! - A ToS mask that covers ECN bits marks the DSCP alone.
//! - DL Buffering Duration and Suggested Packet Count are also applied in an Update BAR of a modification (table
//!   7.5.4.11-1 has them only in the response to a report).

#![forbid(unsafe_code)]

mod addresses;
mod applications;
mod catalogue;
mod change;
mod decode;
mod edits;
mod ie;
mod interned;
mod leniency;
mod rejection;
mod resources;
mod response_ies;
mod restore;
mod session;
mod stored_rules;
mod tunnels;
mod ue_mac;
mod validate;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use addresses::{AddressPool, Addresses, OverlappingSessions, PoolUsage, RouteLimits};
pub use applications::manage_pfds;
pub use catalogue::Catalogue;
pub use change::{
    Change, ControlProfile, Instructions, PendingChange, PlannedChange, ProfiledRules,
    RecognizedModification, RecognizedRequest, delete, establish, instruct, modify, repeat_establishment,
};
pub use leniency::Leniency;
pub use rejection::{Reason, Rejection};
pub use resources::{Claims, ResourceChange, Resources};
pub use response_ies::packet_rate_reports;
pub use restore::{Restored, restore};
pub use session::SessionRules;
pub use stored_rules::StoredRules;
pub use tunnels::{TeidPool, TunnelChange, Tunnels};
pub use validate::{Context, is_routable, validate};
