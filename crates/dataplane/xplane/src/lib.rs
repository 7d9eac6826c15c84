//! X-PLANE (Liu et al., MobiCom '23): a data plane whose tables, counters and meters are in external memory.

#![forbid(unsafe_code)]

mod action;
mod arrival;
pub mod flows;
mod key;
mod layout;
pub mod local_state;
mod octets;
pub mod paging;
mod pipeline;
mod plane;
mod sessions;
pub mod state;
pub mod ue_table;

pub use action::{Action, Send};
pub use key::{Fields, FlowKey, UeKey};
pub use layout::{MODEL_RKEY, Sizes};
pub use pipeline::{Arrival, Departure, Pipeline, PipelineConfig, PipelineCounters, Verdict, Why};
pub use plane::{Awaited, MemoryLosses, ModelPlane, XPlane};
