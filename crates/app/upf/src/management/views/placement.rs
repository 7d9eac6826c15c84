//! Where rules are, with a switch in front of software.

use causeway_dataplane::{MoveCounts, PlacedRule, RulePlace, RulePlacement, SideLoad, WaitCounts};
use causeway_types::WallClock;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::heavy_hitter::direction_text;
use crate::config::HybridKeys;

/// Which rules are on the switch of `upf.dataplane: hybrid`, what each side handles, and what has moved. A rule is one
/// direction of a session.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PlacementView {
    /// The data plane moves rules; otherwise all figures are 0.
    pub enabled: bool,
    /// The number of rules at each place.
    pub rules: PlacedRuleCounts,
    /// What the switch forwards, or drops above a maximum rate.
    pub switch: SideView,
    /// What comes to the software.
    pub software: SideView,
    /// The part of the switch in the packets of the last second, from 0 to 1; 0 without packets.
    pub switch_share: f64,
    /// What has moved since the start.
    pub moves: MovesView,
    /// How long moves to the switch took, since the start.
    pub waits: WaitsView,
    /// Rule changes that the switch was commanded in the last second.
    pub changes_per_second: u64,
    /// The number of rules that are not at rest in the software, of all sessions.
    pub total: u64,
    /// The rules: both of the session that was asked for; or those that are not at rest in the software and those that the
    /// switch did not take. The highest rates first.
    pub listed: Vec<PlacedRuleView>,
}

/// Numbers of rules.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PlacedRuleCounts {
    /// At rest in the software.
    pub software: u64,
    /// Being written to the switch.
    pub promoting: u64,
    /// On the switch, which sends their packets to the software until there is a gap between them.
    pub armed: u64,
    /// The switch forwards their packets.
    pub switch: u64,
    /// Being removed from the switch.
    pub demoting: u64,
    /// Rules that the switch holds at most.
    pub capacity: u64,
}

/// The packets of one side.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SideView {
    /// Packets since the start.
    pub packets: u64,
    /// Their octets as received: with the tunnel in the uplink, without it in the downlink.
    pub octets: u64,
    /// Packets in the last second.
    pub packets_per_second: u64,
    /// Bits in the last second.
    pub bits_per_second: u64,
}

/// Moves of rules.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MovesView {
    /// To the switch, by their rate.
    pub promoted: u64,
    /// To the software, by their rate.
    pub demoted: u64,
    /// To the software, since their session changed or ended, or a quota is near its end.
    pub returned: u64,
    /// To the software, since they were armed for too long.
    pub gave_up: u64,
    /// Promotions that the switch refused.
    pub refused: u64,
    /// Rules whose packets the switch forwards since their gap.
    pub flipped: u64,
    /// Those of them with a shorter gap than the longest stay in the software: packets may have overtaken others.
    pub flipped_early: u64,
    /// Promotions less than five seconds after a demotion.
    pub again: u64,
    /// Moves that were wanted and found no budget.
    pub over_budget: u64,
    /// Rule changes that the switch was commanded.
    pub changes: u64,
}

/// Times from the decision to move a rule to the switch until the counters showed that the switch forwards its packets.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct WaitsView {
    /// How many there are.
    pub count: u64,
    /// The time that half of them do not exceed, in milliseconds, within a fifth; 0 if there are none.
    pub p50_ms: f64,
    /// The time that 99 % of them do not exceed, likewise.
    pub p99_ms: f64,
}

/// A rule.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PlacedRuleView {
    /// The UPF's SEID of the session.
    pub seid: String,
    /// `uplink` or `downlink`.
    pub direction: String,
    /// `software`, `promoting`, `armed`, `switch` or `demoting`.
    pub place: String,
    /// Why it is there.
    pub why: String,
    /// Since when it is there, in seconds since the Unix epoch; absent at rest in the software.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Bits in the last second, with the headers of the tunnel in the uplink; absent if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits_per_second: Option<u64>,
    /// The addresses of the UE; empty if the session has just ended.
    pub ue: Vec<String>,
    /// The Node ID of the session's SMF; absent if the session has just ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smf: Option<String>,
}

impl PlacementView {
    /// The figures, without the list.
    pub(crate) fn of(placement: &RulePlacement) -> Self {
        let at = |place| placement.rules_at(place);
        let rules = PlacedRuleCounts {
            software: at(RulePlace::Software),
            promoting: at(RulePlace::Promoting),
            armed: at(RulePlace::Armed),
            switch: at(RulePlace::Switch),
            demoting: at(RulePlace::Demoting),
            capacity: placement.capacity,
        };
        let (switch, software) = (placement.switch.packets_per_second, placement.software.packets_per_second);
        Self {
            enabled: true,
            total: rules.promoting + rules.armed + rules.switch + rules.demoting,
            rules,
            switch: SideView::of(placement.switch),
            software: SideView::of(placement.software),
            switch_share: switch as f64 / (switch + software).max(1) as f64,
            moves: MovesView::of(placement.moves),
            waits: WaitsView::of(&placement.waits),
            changes_per_second: placement.changes_per_second,
            listed: Vec::new(),
        }
    }
}

impl SideView {
    const fn of(load: SideLoad) -> Self {
        let SideLoad { packets, octets, packets_per_second, octets_per_second } = load;
        Self { packets, octets, packets_per_second, bits_per_second: octets_per_second.saturating_mul(8) }
    }
}

impl WaitsView {
    fn of(waits: &WaitCounts) -> Self {
        // Tenths of a millisecond are more exact than the counts.
        let millis = |percent| {
            let wait = waits.percentile(percent).unwrap_or_default();
            (wait.as_secs_f64() * 10_000.0).round() / 10.0
        };
        Self { count: waits.count(), p50_ms: millis(50.0), p99_ms: millis(99.0) }
    }
}

impl MovesView {
    const fn of(moves: MoveCounts) -> Self {
        let MoveCounts {
            promoted,
            demoted,
            returned,
            gave_up,
            refused,
            flipped,
            flipped_early,
            again,
            over_budget,
            changes,
        } = moves;
        Self {
            promoted,
            demoted,
            returned,
            gave_up,
            refused,
            flipped,
            flipped_early,
            again,
            over_budget,
            changes,
        }
    }
}

impl PlacedRuleView {
    /// A rule, without the UE and the SMF of its session. `is_full`: no entry of the switch is free.
    pub(crate) fn of(rule: &PlacedRule, clock: WallClock, keys: &HybridKeys, is_full: bool) -> Self {
        Self {
            seid: rule.session.to_string(),
            direction: direction_text(rule.direction).into(),
            place: rule.place.name().into(),
            why: why(rule, keys, is_full),
            since: rule.since.map(|since| clock.at(since).as_nanos() / 1_000_000_000),
            bits_per_second: rule.octets_per_second.map(|octets| octets.saturating_mul(8)),
            ue: Vec::new(),
            smf: None,
        }
    }
}

/// Why a rule is where it is, for an operator who knows the keys of the configuration.
fn why(rule: &PlacedRule, keys: &HybridKeys, is_full: bool) -> String {
    let kbps = rule.octets_per_second.unwrap_or_default().saturating_mul(8) / 1000;
    match rule.place {
        RulePlace::Software => match &rule.refusal {
            Some(reason) => format!("not taken: {reason}"),
            None if kbps < keys.promote_at.kbps() => "below promote_at".into(),
            None if is_full => "the switch is full: no rule there is clearly slower".into(),
            None => "waits for changes_per_second".into(),
        },
        RulePlace::Promoting => "its entries are being written".into(),
        RulePlace::Armed => "waits for a gap between its packets".into(),
        RulePlace::Switch if kbps < keys.lower_rate().kbps() => "below demote_below: returns soon".into(),
        RulePlace::Switch => "its rate reached promote_at".into(),
        RulePlace::Demoting => "its entries are being removed".into(),
    }
}

#[cfg(test)]
mod tests {
    use causeway_types::{Bitrate, Direction, Seid};

    use super::*;

    // Input:  rules at each place, at rates around 1 Mbit/s and 500 kbit/s.
    // Output: each has its reason.
    #[test]
    fn each_place_has_its_reason() {
        let keys = HybridKeys { promote_at: Bitrate::from_kbps(1000).unwrap(), ..HybridKeys::default() };
        let (slow, medium, fast) = (50_000, 100_000, 125_000);
        let refused = Some("no gap between its packets");
        for (place, octets, refusal, is_full, expected) in [
            (RulePlace::Software, medium, None, false, "below promote_at"),
            (RulePlace::Software, fast, None, false, "waits for changes_per_second"),
            (RulePlace::Software, fast, None, true, "the switch is full: no rule there is clearly slower"),
            (RulePlace::Software, fast, refused, true, "not taken: no gap between its packets"),
            (RulePlace::Promoting, fast, None, false, "its entries are being written"),
            (RulePlace::Armed, fast, None, false, "waits for a gap between its packets"),
            (RulePlace::Switch, medium, None, true, "its rate reached promote_at"),
            (RulePlace::Switch, slow, None, false, "below demote_below: returns soon"),
            (RulePlace::Demoting, slow, None, false, "its entries are being removed"),
        ] {
            let rule = PlacedRule {
                session: Seid(7),
                direction: Direction::Uplink,
                place,
                since: None,
                octets_per_second: Some(octets),
                refusal: refusal.map(str::to_owned),
            };
            assert_eq!(why(&rule, &keys, is_full), expected);
        }
    }
}
