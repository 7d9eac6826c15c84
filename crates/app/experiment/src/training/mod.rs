//! Training of application classes: from tables and captures to a model file and its report.
//!
//! [`Reader`] turns flow tables, tables of vectors and captures into [`Data`]: vectors with a class and groups, such as session,
//! game and network. [`validate`] leaves one group after the other out. [`run`] is the command `causeway train`.

mod captures;
mod cli;
mod csv;
mod data;
mod error;
mod flows;
mod group;
mod report;
mod rule;
mod score;
mod vectors;

pub(crate) use captures::is_capture;
pub use captures::{Packet, Windows, packets};
pub use cli::{TrainArguments, run};
pub(crate) use csv::{Csv, Record};
pub use data::{Data, Inputs, Reader, Row};
pub use error::TrainingError;
pub use flows::{Averages, Pair};
pub use group::{Group, GroupSource};
pub use rule::{Ends, Orientation, Rule};
pub use score::{Confusion, validate};
