//! Conformance cases as data, run against every data plane.
//!
//! A case is a YAML file under `cases/`: a sentence each on input and output, the clause, and steps: PFCP
//! messages, packets and time. A text file of the same name records the packets of the UPF, which are compared on
//! every run. The case itself states the most important results (`expect`), which recording never changes.
//! `CAUSEWAY_RECORD=1 cargo test -p causeway-conformance` records again.
//!
//! [`Case`] is a case, [`run`] runs it on a [`Backend`] and returns a [`Transcript`]; [`compare`] compares that with the
//! recording. [`Lockstep`] passes the same script to several data planes. [`register`] is the state of each clause.
//!
//! ```
//! use causeway_conformance::{Outcome, SlowPathBackend, compare, load_all, load_fragments, run};
//! use std::path::Path;
//!
//! let cases = load_all(Path::new("cases/deletion"))?;
//! let fragments = load_fragments(Path::new("fragments.yaml"))?;
//! let case = cases.first().ok_or("no case")?;
//! let transcript = run(case, &fragments, &SlowPathBackend)?;
//! assert_eq!(compare(case, &transcript.text, str::to_owned)?, Outcome::Same);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod accel;
mod backends;
mod batched;
mod capture;
mod case;
mod catalogue;
mod edit;
mod error;
mod format;
mod format_icmp;
mod format_tcp;
mod frame;
mod literal;
mod lockstep;
mod matrix;
mod message;
pub mod oracle;
mod packet;
mod payload;
mod random_placement;
mod record;
pub mod register;
mod runner;
mod script;
mod setup;
mod upf;
mod user_packet;
mod variables;

pub use accel::{BEGIN as ACCEL_TABLE_BEGIN, END as ACCEL_TABLE_END, accel_shares};
pub use backends::{
    BACKENDS, Backend, FastPathBackend, HybridBackend, OracleBackend, SlowPathBackend, SwitchBackend,
    XPlaneBackend, limits,
};
pub use capture::{Datagram, write_capture};
pub use case::{Case, Fragments, Step, load_all, load_fragments};
pub use error::CaseError;
pub use lockstep::{Arrival, Lockstep, LockstepResult};
pub use matrix::{column as dialect_column, matrix};
pub use record::{Outcome, compare, compare_or_record};
pub use runner::{Transcript, run, topology};
pub use script::{Input, replay};
pub use setup::Setup;
