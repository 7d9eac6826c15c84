//! Chain replication of session state (AccelUPF section 3.6): K+1 members hold the same sessions, so that K of them may
//! fail without the loss of a session that an SMF was told of.
//!
//! Requests enter at the first member, the **head**. It executes each once and passes the new state of the session along
//! the chain. The last member, the **tail**, is the primary: it forwards user packets and sends the responses. A response
//! therefore implies that all members have the state. Requests that get no response, since a member failed or a message
//! was lost, are repeated by the SMF with the same sequence number (TS 29.244 clause 6.4), and get the first response
//! however often they are repeated.
//!
//! - [`Replica`]: one member. Its inputs are requests, messages of other members, and configurations.
//! - [`Coordinator`]: decides who is in the chain, one [`Configuration`] after the other, each with its epoch.
//! - [`Machine`]: what a request does to a session.
//! - [`Frame`]: messages, configurations and what else members and a coordinator say, as octets of a stream.
//!
//! Nothing here does I/O or reads a clock. Messages between members may be lost, repeated and reordered; call
//! [`Replica::audit`] periodically to send again what was not acknowledged. A member that returns after a failure has no
//! state, and another [incarnation](Member::incarnation): it joins behind the tail, receives all sessions, and becomes the
//! tail when it has them.
//!
//! ```
//! use causeway_chain::{Coordinator, Executed, Machine, Member, Output, Replica};
//!
//! /// A session is a counter; the response is its value.
//! struct Counters;
//!
//! impl Machine for Counters {
//!     type Key = u64;
//!     type Operation = u32;
//!     type State = u32;
//!     type Answer = u32;
//!
//!     fn execute(&mut self, _: &u64, state: Option<&u32>, add: &u32) -> Executed<u32, u32> {
//!         let value = state.unwrap_or(&0) + add;
//!         Executed { state: Some(value), answer: value }
//!     }
//! }
//!
//! let (a, b) = (Member::new(1, 1), Member::new(2, 1));
//! let coordinator = Coordinator::new(vec![a, b]);
//! let (mut head, mut tail) = (Replica::new(a, Counters), Replica::new(b, Counters));
//! for replica in [&mut head, &mut tail] {
//!     assert!(replica.configure(coordinator.configuration()).is_empty());
//! }
//! // Session 7 is increased by 5; the request has sequence number 1. The head passes the state on.
//! let Some(Output::Send { to, message }) = head.request(&7, 1, &5)?.pop() else { panic!() };
//! assert_eq!(to, b);
//! // The tail responds, and acknowledges.
//! let answered = tail.receive(a, &message);
//! assert!(answered.contains(&Output::Answer { key: 7, sequence: 1, answer: 5 }));
//! # Ok::<(), causeway_chain::NotHead>(())
//! ```

#![forbid(unsafe_code)]

mod configuration;
mod coordinator;
mod frame;
mod machine;
mod message;
mod replica;

pub use configuration::{Configuration, Epoch, Member, Version};
pub use coordinator::Coordinator;
pub use frame::{Frame, FrameError, MAX_FRAME, Octets, VERSION};
pub use machine::{Executed, Machine};
pub use message::{Message, Output, Update};
pub use replica::{NotHead, OPEN_REQUESTS, RecordOf, Replica};
