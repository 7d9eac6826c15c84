//! The PFCP session messages that a data plane answers itself (AccelUPF section 3), their answers, and the state that
//! they leave.
//!
//! Most session messages of an SMF are simple: a PDR and a FAR for each direction, a QER, the tunnel of a gNB, an end. A
//! data plane can parse them, write the rules into its own arrays and send the answer in the same turn, without N4. This
//! crate defines which messages these are ([`Class`], [`fits`]), and does it ([`Accel`]). All others go to N4 with a
//! counted [`Reason`], and N4 takes a session over when it needs it ([`Accel::adopt`]): each session has one owner.
//!
//! An answer is equal, octet by octet, to that of `causeway-n4` with the same SEID and TEID; `tests/accel/equal.rs` shows
//! it. `docs/accel.md` lists the decisions, each with its test, and which messages of which SMFs are of the class.
//!
//! Nothing here does I/O or reads a clock, and a message allocates nothing: state is in arrays of fixed size, found by
//! index and generation where the UPF chose the number, and otherwise in tables of keys with two buckets each. It can
//! therefore be the oracle of a P4 program.
//!
//! ```
//! use causeway_accel::{Accel, Config, Effect, MAX_ANSWER, Verdict};
//! use causeway_model::{Capabilities, LocalEndpoint, LocalEndpoints};
//! use causeway_pfcp::{
//!     ApplyAction, Cause, CreateFar, CreatePdr, DestinationInterface, FTeid, ForwardingParameters, Header, Message,
//!     NodeId, OuterHeaderRemoval, Pdi, RemovedHeader, SessionEstablishmentRequest, SourceInterface,
//! };
//! use causeway_types::{FSeid, FarId, NetworkInstance, PdrId, Precedence, Seid, Time};
//! use std::net::{Ipv4Addr, SocketAddrV4};
//!
//! // The UPF at 192.0.2.1, and an SMF that is associated.
//! let [upf, smf] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 21)];
//! let gtpu = vec![LocalEndpoint { addr: upf.into(), network_instance: None }];
//! let networks = vec![NetworkInstance::new("internet")];
//! let endpoints = LocalEndpoints { gtpu, networks, ..LocalEndpoints::default() };
//! let capabilities = Capabilities::all(65_536, 16);
//! let node = causeway_types::NodeId::Ip(upf.into());
//! let mut accel = Accel::new(Config::new(&node, upf.into(), &endpoints, &capabilities)?)?;
//! accel.associate(smf, smf).map_err(|_| "too many SMFs")?;
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
//! let mut datagram = Vec::new();
//! Message::from(request).encode(Some(Seid(0)), 1, &mut datagram)?;
//!
//! let (now, mut answer) = (Time::from_secs(1_700_000_000), [0; MAX_ANSWER]);
//! let verdict = accel.message(now, SocketAddrV4::new(smf, 8805), &datagram, &mut answer);
//! let Verdict::Answered { len, effect: Effect::Install { session, .. } } = verdict else { panic!("{verdict:?}") };
//! let (header, body, _) = Header::decode(&answer[..len])?;
//! let Message::SessionEstablishmentResponse(response) = Message::decode(&header, body)? else { panic!() };
//! assert_eq!((response.cause, header.seid), (Cause::RequestAccepted, Some(Seid(77))));
//! assert_eq!(response.up_f_seid.map(|f_seid| f_seid.seid), accel.session(session).map(|(seid, _)| seid));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod accel;
mod answer;
mod class;
mod config;
mod keys;
mod reason;
mod rules;
mod session;
mod smfs;
pub mod switch;

pub use accel::{Accel, Effect, Occupancy, Reservation, Unavailable, Verdict, View};
pub use answer::MAX_ANSWER;
pub use class::{
    Action, Class, CoreSide, CpFSeid, Direction, Establishment, FarUpdate, Kind, Misfit, Modification,
    NewFar, NewPdi, NewPdr, Order, Parameters, PdrUpdate, Peer, QERS, Qer, QerIds, Qers, Request, Side,
    TunnelRequest, fits,
};
pub use config::{Config, NotPossible};
pub use reason::{Counters, Reason};
pub use rules::{Chosen, Downlink, Rules, Uplink};
pub use session::REPEATS;
pub use smfs::SmfsFull;
