//! N4 associations, transactions, sessions and reports as state machines without sockets or clocks.
//!
//! [`N4`] is the state machine; [`Output`] is an action that it requests. `causeway-rules` decodes, validates and plans
//! rules; the data plane applies the plans and is never called from here.

#![forbid(unsafe_code)]

mod answer;
mod association;
mod buffers;
mod config;
mod counters;
mod features;
mod hash;
mod heartbeat;
mod labels;
mod left_out;
mod load;
mod load_status;
mod memory;
mod n4;
mod notice;
mod output;
mod overload;
mod pfd;
mod prefetch;
mod receive;
mod report;
mod seid;
mod send_request;
mod session;
mod shutdown;
mod slab;
mod transaction;
mod view;

pub use config::{
    Config, Heartbeat, KnownSmf, Limits, OverloadControl, PFCP_PORT, PathFailure, RequestPort, Retransmission,
};
pub use counters::{Counters, Direction, MessageKey, MessageResult, Occupancy};
pub use n4::N4;
pub use notice::{DownReason, Level, Notice, ReleaseReason, SetupFailure};
pub use output::{ApplyId, Output};
pub use view::{AssociationView, SessionView};
