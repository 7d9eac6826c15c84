//! Notices for the operator of a switch.

use std::fmt::{Display, Formatter};

use causeway_types::Span;

use super::firewall::FirewallError;

/// A notice; each is one line of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// The switch is unreachable. Changes wait for it, and are refused if that takes too long.
    Down,
    /// Another controller is primary.
    Superseded,
    /// The switch came back, or its state was uncertain: it was compared with the desired state, and matches it now.
    Reconciled(ReconcileResult),
    /// The switch refuses a required entry; sessions that need it are refused, and the write is tried again.
    Refused {
        /// The reason of the switch.
        reason: String,
    },
    /// The switch cannot decide application classes as the model does: the software does, for all sessions that ask.
    Model {
        /// Why not, and what to do.
        reason: String,
    },
    /// The switch does not permit to read classes: a change of a session's class is not found if its copy is lost.
    ClassesUnread {
        /// The reason of the switch.
        reason: String,
    },
    /// There is no space for all addresses that UEs must not reach now: the earlier entries stay.
    Closed {
        /// Entries of one IP version that they need.
        needed: usize,
        /// Entries available.
        room: usize,
    },
    /// The switch cannot have the firewall of new settings: the earlier one stays in force.
    Firewall(FirewallError),
}

/// The writes of a reconciliation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReconcileResult {
    /// The cause.
    pub cause: Cause,
    /// Sessions with missing entries.
    pub sessions: usize,
    /// Entries that were missing or different, and are written now.
    pub written: usize,
    /// Entries without an owner, which are removed now.
    pub removed: usize,
    /// Counters that started from zero. Only their counts since the last reading are lost.
    pub counters: usize,
    /// Sessions whose entries the switch refuses.
    pub refused: usize,
    /// The duration.
    pub took: Span,
}

/// The cause of a reconciliation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The switch is reachable, and got its program: its tables were empty.
    Emptied,
    /// The switch is reachable, and may have any state.
    Up,
    /// An entry was missing.
    Missing,
    /// It refused a required entry.
    Refused,
}

impl ReconcileResult {
    pub(super) const fn new(cause: Cause) -> Self {
        Self { cause, sessions: 0, written: 0, removed: 0, counters: 0, refused: 0, took: Span::ZERO }
    }
}

impl Display for Cause {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Emptied => "the switch was empty",
            Self::Up => "the switch is up",
            Self::Missing => "the switch had lost entries",
            Self::Refused => "the switch had refused entries",
        })
    }
}

impl Display for Notice {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Down => f.write_str("the switch is unreachable: changes of sessions wait for it"),
            Self::Superseded => f.write_str("another controller is primary: changes of sessions wait"),
            Self::Refused { reason } => {
                write!(f, "the switch refuses entries, sessions that need them are refused: {reason}")
            }
            Self::Model { reason } => {
                write!(f, "application classes are measured in software: {reason}")
            }
            Self::ClassesUnread { reason } => write!(
                f,
                "the switch does not let application classes be read, so that one whose copy is lost is not found: {reason}"
            ),
            Self::Closed { needed, room } => {
                write!(
                    f,
                    "the addresses that UEs do not reach are {needed} prefixes of one IP version: the program has room for \
                     {room}, so those of before stay"
                )
            }
            Self::Firewall(error) => write!(f, "{error}; the firewall of before stays in force"),
            Self::Reconciled(ReconcileResult {
                cause,
                sessions,
                written,
                removed,
                counters,
                refused,
                took,
            }) => {
                write!(
                    f,
                    "{cause}: {written} entries written, of {sessions} sessions, and {removed} removed in {:.3} s",
                    took.as_secs_f64()
                )?;
                if *counters > 0 {
                    write!(f, "; {counters} counters lost their counts since the last reading")?;
                }
                if *refused > 0 {
                    write!(f, "; the switch refuses entries of {refused} sessions")?;
                }
                Ok(())
            }
        }
    }
}
