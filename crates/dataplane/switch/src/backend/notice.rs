//! What the operator of a switch should hear of.

use std::fmt::{Display, Formatter};

use causeway_types::Span;

/// News of the switch; each is one line of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// The switch is out of reach. Changes wait for it, and are refused if that takes too long.
    Down,
    /// Another controller has the switch.
    Superseded,
    /// The switch came back, or was in doubt: what it holds was compared with what it should, and is that now.
    Refilled(ReconcileResult),
    /// The switch refuses what it must hold; sessions that need it are refused, and it is tried again.
    Refused {
        /// What the switch says.
        reason: String,
    },
    /// There is no room for all addresses that UEs do not reach now: those of before stay.
    Closed {
        /// Rows of one IP version that they take.
        needed: usize,
        /// Rows that there are.
        room: usize,
    },
}

/// What had to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReconcileResult {
    /// Why it was looked at.
    pub cause: Cause,
    /// Sessions of which something was missing.
    pub sessions: usize,
    /// Entries that were missing or different, and are there now.
    pub written: usize,
    /// Entries that nobody wants, and that are gone now.
    pub removed: usize,
    /// Counters that started from zero. What they had counted since they were read last is lost, and nothing else.
    pub counters: usize,
    /// Sessions whose entries the switch refuses.
    pub refused: usize,
    /// How long it took.
    pub took: Span,
}

/// Why all that a switch holds is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// It is there, and was given its program: its tables were empty.
    Emptied,
    /// It is there, and may hold anything.
    Up,
    /// Something that it should hold was missing.
    Missing,
    /// It refused what it must hold.
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
            Self::Down => f.write_str("the switch is out of reach: changes of sessions wait for it"),
            Self::Superseded => f.write_str("another controller has the switch: changes of sessions wait"),
            Self::Refused { reason } => {
                write!(f, "the switch refuses what sessions need, who are refused: {reason}")
            }
            Self::Closed { needed, room } => {
                write!(
                    f,
                    "the addresses that UEs do not reach are {needed} prefixes of one IP version: the program has room for \
                     {room}, so those of before stay"
                )
            }
            Self::Refilled(ReconcileResult {
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
                    write!(f, "; what {counters} counters had counted since they were read last is lost")?;
                }
                if *refused > 0 {
                    write!(f, "; the switch refuses entries of {refused} sessions")?;
                }
                Ok(())
            }
        }
    }
}
