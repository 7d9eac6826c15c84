//! Which counters to read first, and what follows from what they hold (HiP4-UPF section 5.2).
//!
//! A pass reads few of the entries of a partition. [`Pulling`] picks those by the moment at which each is needed: when a volume threshold
//! or quota is likely to be reached, when a time or a period is over, and in any case [`Config::longest`] after it was read
//! last. What was read is added up for every URR of the rule, and thresholds, quotas and periods make [`Report`]s of it.
//!
//! Where this is not the paper:
//!
//! - An urgency counts from the moment of each counter's last reading, not from that of the estimate: the need for a rule that was not
//!   read grows. It is kept as a point in time, which changes only with a reading. So a pass costs as much as it reads, where
//!   the paper looks at all rules and sorts them.
//! - An estimate forgets by the time that was observed, not by the number of readings: counters are read at very different intervals.
//! - Two volumes that are in reach are compared by all rules of the URR, each read at its own time.
//! - No rule is left for longer than [`Config::longest`], also if a longer period is asked for.
//! - With care, what URRs need comes before what was only not read for long, and where more is due than a pass reads, it takes its share of
//!   each bank of counters, as those are read side by side.
//! - A report for a time or a period waits until all counters of the URR have been read after it was over.

mod banks;
mod config;
mod limit;
mod report;
mod rule;
mod schedule;
mod state_machine;
mod urr;
mod wheel;

#[cfg(test)]
mod tests;

pub use config::{Config, PullingPolicy};
pub use limit::Limit;
pub use report::{Report, Triggers};
pub use state_machine::{Measured, Pulling, UnknownUrr};
pub use urr::{Start, Urr};
