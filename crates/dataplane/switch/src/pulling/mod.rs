//! Selective usage pulling (HiP4-UPF section 5.2): the order in which counters are read, and the reports that follow.
//!
//! A pass reads few of the entries of a partition. [`Pulling`] picks those that are needed first: when a volume
//! threshold or quota is likely to be reached, when a time or a period ends, and in any case [`Config::longest`] after
//! the last reading. A reading is added to every URR of the rule, and thresholds, quotas and periods produce
//! [`Report`]s.
//!
//! Differences from the paper:
//!
//! - An urgency counts from the last reading of each counter, not from that of the estimate: it grows for a rule that
//!   was not read. It is stored as a time, which changes only with a reading. So the cost of a pass is proportional to
//!   its readings, where the paper examines and sorts all rules.
//! - An estimate decays with the observed time, not with the number of readings: counters are read at very different
//!   intervals.
//! - The volume of a URR is predicted from all its rules, each read at its own time.
//! - No rule remains unread for longer than [`Config::longest`], even if a longer period is requested.
//! - With a policy, counters that URRs need come before counters that are only old. If more are due than a pass reads,
//!   the pass takes an even share of each bank of counters, as banks are read concurrently.
//! - A report for a time or a period waits until all counters of the URR have been read after its end.

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
