//! External memory: memory of other machines that is read and written over RoCEv2 (InfiniBand transport in UDP), as X-PLANE
//! (MobiCom '23) keeps the state of a UPF.
//!
//! - [`ExternalMemory`] is the contract: reads, writes and fetch-and-adds are submitted, their outcomes are polled. Each operation has
//!   exactly one outcome, and a failed one says whether it may have changed the memory ([`Effect`]).
//! - [`Requester`] and [`Responder`] are the two ends of a reliable connection: packet sequence numbers, acknowledgements, repetition
//!   by time-out and NAK, each operation executed once.
//! - [`Client`] and [`Server`] set up connections between them, by the messages of InfiniBand's communication management. A client whose
//!   server has restarted says so: [`Failure::Restarted`].
//! - [`Sweeper`] ends rows of tables that were not used for a while ([`AgedTable`]); a [`Server`] has one.
//! - [`Local`] is memory of this process behind the same contract.
//! - [`Model`] is external memory in model time: both ends over links with a rate and a round trip, and adapters that execute so many
//!   operations a second ([`ModelParameters`], each with its source).
//!
//! # Differences from InfiniBand
//!
//! - Of reliable connections there are RDMA WRITE, RDMA READ, FetchAdd and CmpSwap; no SEND, no immediate data, no end-to-end credits. An
//!   RNR NAK is taken as silence.
//! - A responder that has refused a request answers a repetition of it with the same NAK, so that a NAK that is lost is no time-out.
//! - [`Server`] and [`Client`] are made for UDP sockets, which do not show IP headers: over IPv4 they take identification 0 and Don't
//!   Fragment as given, which is what Linux writes for sockets that fragment nothing
//!   ([`Outer::of_socket`](causeway_packet::roce::Outer::of_socket)). Packets of an adapter that counts its identifications fail their CRC.
//!   Responses go to the port that the request for the connection came from.
//! - Nothing limits the rate but the window: there is no congestion control (DCQCN).
//!
//! Nothing here does I/O or reads a clock: datagrams and times are arguments. Clauses are those of the InfiniBand Architecture
//! Specification, volume 1, release 1.3 (IBA).
//!
//! ```
//! use causeway_memory::{
//!     Client, ClientConfig, Description, ExternalMemory, Incarnation, Operation, Outcome, QueuePair, Region, Regions, Rights, Server,
//!     ServerConfig,
//! };
//! use causeway_packet::roce::Rkey;
//! use causeway_types::Time;
//!
//! // A server with a region of 4096 octets.
//! let (local, server) = ("192.0.2.1:49152".parse()?, "192.0.2.2:4791".parse()?);
//! let (rkey, rights) = (Rkey(7), Rights::all());
//! let mut regions = Regions::new();
//! regions.insert(rkey, Region::new(0x1000, 4096, rights).ok_or("too long")?);
//! let description =
//!     Description { incarnation: Incarnation(1), rkey, rights, base: 0x1000, length: 4096, max_length: 4096 };
//! let mut memory = Server::new(ServerConfig::new(server, description), regions);
//!
//! // A network that loses nothing.
//! let now = Time::default();
//! let mut exchange = |client: &mut Client| {
//!     let mut datagram = Vec::new();
//!     while client.poll_transmit(now, &mut datagram).is_some() {
//!         memory.receive(now, local, &datagram);
//!         datagram.clear();
//!         while memory.poll_transmit(&mut datagram).is_some() {
//!             client.receive(now, server, &datagram);
//!             datagram.clear();
//!         }
//!     }
//! };
//!
//! let mut client = Client::new(ClientConfig::new(local, server, 2));
//! client.connect(now);
//! exchange(&mut client);
//! let counter = client.description().ok_or("not connected")?.place(64);
//! for _ in 0..2 {
//!     client.submit(now, QueuePair(0), Operation::fetch_add(counter, 5))?;
//! }
//! exchange(&mut client);
//! let outcomes: Vec<_> = std::iter::from_fn(|| Some(client.poll(now)?.result)).collect();
//! assert_eq!(outcomes, [Ok(Outcome::Added(0)), Ok(Outcome::Added(5))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod ageing;
mod client;
mod contract;
mod description;
mod local;
mod model;
mod region;
mod requester;
mod responder;
mod server;

pub use ageing::{AgedTable, DIRECTORY, SETTLE, Sweeper, TABLES};
pub use causeway_packet::roce::Rkey;
pub use client::{Client, ClientConfig, ConnectError, Status};
pub use contract::{
    Completion, Effect, ExternalMemory, Failure, Operation, OperationError, OperationId, Outcome, Place,
    QueuePair, Request, SubmitError,
};
pub use description::{Description, Incarnation, SERVICE};
pub use local::Local;
pub use model::{Model, ModelCounters, ModelParameters};
pub use region::{Region, Regions, Rights};
pub use requester::{Requester, RequesterConfig, RequesterCounters};
pub use responder::{Responder, ResponderConfig, ResponderCounters};
pub use server::{Server, ServerConfig, ServerCounters};
