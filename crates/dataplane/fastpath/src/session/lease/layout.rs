//! Decides which rules of one direction have an account, and which rate they share.

use causeway_slowpath::lease::{OffloadMeter, OffloadRule, OffloadSpec, RuleAction};
use causeway_types::{Direction, QerId};

use crate::program::Rate;

/// The account layout of the rules of one direction. Rules are identified by their index in the specification.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// The rules of each account, in order. Rules that differ only in their filters share an account.
    pub(super) accounts: Vec<Vec<usize>>,
    /// The QER whose rate is in the first flow entry.
    pub(super) shared: Option<OffloadMeter>,
    /// Whether the only account is in the first flow entry.
    pub(super) is_inline: bool,
}

impl Layout {
    /// The layout of the rules of a direction. `has_spare_teid`: the first flow entry has a field for the TEID of a
    /// tunnel.
    pub(super) fn of(spec: &OffloadSpec, direction: Direction, has_spare_teid: bool) -> Self {
        let is_offloaded =
            |rule: &OffloadRule| rule.key.direction == direction && rule.action != RuleAction::SlowPath;
        let groups = groups(spec, is_offloaded);
        let first_of = |group: &Vec<usize>| spec.rules.get(*group.first()?);
        let shared = shared_rate(&groups.iter().filter_map(first_of).collect::<Vec<_>>());
        let fits = |group: &Vec<usize>| {
            first_of(group).is_some_and(|rule| own_meters(rule, shared.as_ref()).count() <= 1)
        };
        let accounts: Vec<_> = groups.into_iter().filter(fits).collect();
        let is_inline = match (accounts.as_slice(), shared) {
            ([only], None) => first_of(only).is_some_and(|rule| {
                !counts_drops(rule) && (has_spare_teid || teid_of(&rule.action).is_none())
            }),
            _ => false,
        };
        Self { accounts, shared, is_inline }
    }

    /// The account number of a rule: 0 is the account of the first flow entry.
    pub(super) fn account(&self, rule: usize) -> Option<u8> {
        let place = self.accounts.iter().position(|rules| rules.contains(&rule))?;
        if self.is_inline { Some(0) } else { u8::try_from(place + 1).ok() }
    }
}

fn groups(spec: &OffloadSpec, is_offloaded: impl Fn(&OffloadRule) -> bool) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, rule) in spec.rules.iter().enumerate().filter(|(_, rule)| is_offloaded(rule)) {
        let is_like = |group: &&mut Vec<usize>| {
            group
                .first()
                .and_then(|first| spec.rules.get(*first))
                .is_some_and(|first| first.has_same_action(rule))
        };
        match groups.iter_mut().find(is_like) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// Whether dropped packets are counted: volumes measured before QoS enforcement include packets that are dropped later,
/// and forwarding may drop packets that are damaged, too large, or without a hop left.
pub(super) fn counts_drops(rule: &OffloadRule) -> bool {
    rule.counts_before_qos && rule.action != RuleAction::SlowPath
}

/// The TEID of the tunnel header of a rule.
pub(super) fn teid_of(act: &RuleAction) -> Option<u32> {
    let RuleAction::Send(send) = act else { return None };
    send.header.get(4..8)?.first_chunk().map(|teid| u32::from_be_bytes(*teid))
}

/// The rates of a rule except the shared one.
pub(super) fn own_meters<'s>(
    rule: &'s OffloadRule,
    shared: Option<&OffloadMeter>,
) -> impl Iterator<Item = &'s OffloadMeter> {
    let shared = shared.map(|meter| meter.qer);
    rule.meters.iter().filter(move |meter| Some(meter.qer) != shared)
}

/// The rate that most accounts have; with one account, its first if it has several.
fn shared_rate(rules: &[&OffloadRule]) -> Option<OffloadMeter> {
    let users = |qer: QerId| rules.iter().filter(|rule| rule.key.meters.contains(&qer)).count();
    let meters = || rules.iter().flat_map(|rule| &rule.meters);
    let most = meters().rev().max_by_key(|meter| users(meter.qer))?;
    let is_needed = users(most.qer) > 1 || rules.iter().any(|rule| rule.meters.len() > 1);
    is_needed.then_some(*most)
}

/// A meter as a token bucket rate.
pub(super) fn rate_of(meter: &OffloadMeter) -> Rate {
    let nanos = u64::try_from(meter.burst.as_nanos()).unwrap_or(u64::MAX);
    let kbps = meter.rate.kbps();
    Rate { kbps, burst: i64::try_from(kbps.saturating_mul(nanos)).unwrap_or(i64::MAX) }
}
