//! Message templates: messages that differ only in a few values.
//!
//! Most session requests of an SMF differ only in the F-SEID, the UE address, TEIDs and the like, and so do the responses to
//! them. A [`RequestTemplate`] compares a body octet by octet, except these values, and reads them, without decoding
//! the rest; a [`ResponseTemplate`] copies the octets of an earlier response and writes the values. What is read equals
//! what [`Message::decode`](crate::Message::decode) yields for the same body.
//!
//! ```
//! use causeway_pfcp::template::RequestTemplate;
//! use causeway_pfcp::{Header, Message, SessionEstablishmentRequest};
//! # use causeway_pfcp::{ApplyAction, CreateFar, CreatePdr, NodeId, Pdi, SourceInterface};
//! # use causeway_types::{FSeid, FarId, PdrId, Precedence, Seid};
//! # fn establishment(seid: u64) -> Vec<u8> {
//! #     let smf = std::net::Ipv4Addr::new(203, 0, 113, 1);
//! #     let pdr = CreatePdr::new(PdrId(1), Precedence(1), Pdi::new(SourceInterface::Access));
//! #     let request = SessionEstablishmentRequest::new(
//! #         NodeId::Ip(smf.into()),
//! #         FSeid { seid: Seid(seid), addr: smf.into() },
//! #         vec![pdr],
//! #         vec![CreateFar::new(FarId(1), ApplyAction::DROP)],
//! #     );
//! #     let mut datagram = Vec::new();
//! #     Message::from(request).encode(Some(Seid(0)), 1, &mut datagram).unwrap();
//! #     datagram
//! # }
//!
//! let (first, next) = (establishment(7), establishment(8));
//! let body = |datagram: &'static [u8]| Header::decode(datagram).unwrap().1;
//! let (first, next) = (body(first.leak()), body(next.leak()));
//! let (template, _) = RequestTemplate::establishment(first).unwrap();
//! let values = template.values(next).unwrap();
//! assert_eq!(values.cp.unwrap().seid.0, 8);
//! ```

mod request;
mod response;
mod slots;

pub use request::RequestTemplate;
pub use response::{ResponseTemplate, ResponseValues, UsageValues};
pub use slots::{MAX_TUNNELS, PolicyValues, RateSlot, RequestSlots, RequestValues, node_id, peek_cp_f_seid};
