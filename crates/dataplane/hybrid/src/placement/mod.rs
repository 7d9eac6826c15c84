//! Which rules belong on the switch.

mod by_rate;
mod detector;

use std::fmt;

use causeway_types::{Seid, Time};

use crate::moves::Moves;
use crate::rule::Rule;

pub use by_rate::{ByRate, Thresholds};
pub use detector::{AsDetected, Detector};

/// Decides which rules move. It sees all traffic, and no packet.
pub trait Placement: fmt::Debug + Send {
    /// Packets of a rule, with their octets, were handled on either side.
    fn observe(&mut self, now: Time, rule: Rule, octets: u64);

    /// A session was established or changed, or exists no longer.
    fn session(&mut self, session: Seid, exists: bool);

    /// Moves that are wanted now, most urgent first. A wish is dropped if there is no budget or no free entry for it,
    /// or if the rule cannot move now: it is wished again if it still holds.
    fn decide(&mut self, now: Time, moves: &Moves) -> Vec<Wish>;

    /// The switch is reachable again. Meanwhile none of its packets were observed, and no move was decided.
    fn resumed(&mut self, _now: Time) {}

    /// When [`Placement::decide`] is to be called; `None`: not before the next packet.
    fn next_decision(&self) -> Option<Time>;

    /// The octets of a rule in the second that ends now; `None`: they are not measured.
    fn octets_per_second(&self, now: Time, rule: Rule) -> Option<u64> {
        let _ = (now, rule);
        None
    }
}

/// A move that is wanted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Wish {
    /// To the switch.
    Promote(Rule),
    /// To the software.
    Demote(Rule),
}
