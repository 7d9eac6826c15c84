//! Where rules are, in a data plane of a switch in front of software.

use causeway_types::{Direction, Seid, Time};

use crate::WaitCounts;

/// Where a rule is: one direction of a session with all its PDRs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum RulePlace {
    /// In the software.
    #[default]
    Software,
    /// Its entries are being written to the switch; the software has its packets.
    Promoting,
    /// On the switch, which sends its packets to the software until there is a gap between them.
    Armed,
    /// The switch forwards its packets.
    Switch,
    /// Its entries are being removed from the switch.
    Demoting,
}

impl RulePlace {
    /// Every place.
    pub const ALL: [Self; 5] = [Self::Software, Self::Promoting, Self::Armed, Self::Switch, Self::Demoting];

    /// In lower case, for operators.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::Promoting => "promoting",
            Self::Armed => "armed",
            Self::Switch => "switch",
            Self::Demoting => "demoting",
        }
    }
}

/// Moves of rules since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MoveCounts {
    /// Rules that were written to the switch.
    pub promoted: u64,
    /// Rules that were returned by a decision.
    pub demoted: u64,
    /// Rules that the switch returned by itself: their session changed or ended, or a quota is exhausted.
    pub returned: u64,
    /// Rules that were armed for too long, and were returned.
    pub gave_up: u64,
    /// Promotions that the switch refused.
    pub refused: u64,
    /// Rules whose packets the switch forwards since their gap.
    pub flipped: u64,
    /// Rules that flipped after a shorter gap than the longest stay: packets may have overtaken others.
    pub flipped_early: u64,
    /// Promotions of rules that a decision had returned less than five seconds before.
    pub again: u64,
    /// Moves that were wanted and found no budget.
    pub over_budget: u64,
    /// Rule changes that were commanded.
    pub changes: u64,
}

/// The packets of one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SideLoad {
    /// Packets that came to it since the start.
    pub packets: u64,
    /// Their octets as received: with the tunnel in the uplink, without it in the downlink.
    pub octets: u64,
    /// Packets of the last second.
    pub packets_per_second: u64,
    /// Octets of the last second.
    pub octets_per_second: u64,
}

/// How many rules and packets are on each side, and what has moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RulePlacement {
    /// The number of rules at each place, in the order of [`RulePlace::ALL`].
    pub rules: [u64; 5],
    /// Rules that the switch holds at most.
    pub capacity: u64,
    /// The moves.
    pub moves: MoveCounts,
    /// Rule changes in the last second, of both directions.
    pub changes_per_second: u64,
    /// The packets that the switch has forwarded, or dropped for their rate.
    pub switch: SideLoad,
    /// The packets that came to the software.
    pub software: SideLoad,
    /// Times from the decision to move a rule to the switch until the counters showed that the switch forwards its packets.
    pub waits: WaitCounts,
}

impl MoveCounts {
    /// The sums of both.
    #[must_use]
    pub const fn with(self, other: &Self) -> Self {
        Self {
            promoted: self.promoted + other.promoted,
            demoted: self.demoted + other.demoted,
            returned: self.returned + other.returned,
            gave_up: self.gave_up + other.gave_up,
            refused: self.refused + other.refused,
            flipped: self.flipped + other.flipped,
            flipped_early: self.flipped_early + other.flipped_early,
            again: self.again + other.again,
            over_budget: self.over_budget + other.over_budget,
            changes: self.changes + other.changes,
        }
    }
}

impl SideLoad {
    /// The sums of both.
    #[must_use]
    pub const fn with(self, other: &Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            octets: self.octets + other.octets,
            packets_per_second: self.packets_per_second + other.packets_per_second,
            octets_per_second: self.octets_per_second + other.octets_per_second,
        }
    }
}

impl RulePlacement {
    /// The sums of two parts of one switch, which has one capacity.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        let mut rules = self.rules;
        rules.iter_mut().zip(other.rules).for_each(|(sum, more)| *sum += more);
        Self {
            rules,
            capacity: self.capacity.max(other.capacity),
            moves: self.moves.with(&other.moves),
            changes_per_second: self.changes_per_second + other.changes_per_second,
            switch: self.switch.with(&other.switch),
            software: self.software.with(&other.software),
            waits: self.waits.with(&other.waits),
        }
    }

    /// The number of rules at a place.
    pub const fn rules_at(&self, place: RulePlace) -> u64 {
        self.rules[place as usize]
    }
}

/// A rule and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacedRule {
    /// The session.
    pub session: Seid,
    /// The direction.
    pub direction: Direction,
    /// The place.
    pub place: RulePlace,
    /// Since when it is there; `None`: it is at rest in the software.
    pub since: Option<Time>,
    /// Its octets in the last second, with the headers of its tunnel in the uplink; `None`: they are not measured.
    pub octets_per_second: Option<u64>,
    /// Why the switch did not take it when that was last tried; `None`: it was not tried, or is there.
    pub refusal: Option<String>,
}
