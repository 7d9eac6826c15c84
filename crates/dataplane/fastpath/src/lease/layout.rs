//! Which rules of one direction have an account of their own, and which rate they share.

use causeway_reference::lease::{OffloadMeter, OffloadRule, OffloadSpec, RuleAction};
use causeway_types::{Direction, QerId};

use crate::program::Rate;

/// Rules of one direction on their way into lines. Rules are named by their index in the shape.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// The rules with an account, in order. Those whose packets differ only in how they are recognised have one.
    pub(super) accounts: Vec<Vec<usize>>,
    /// The QER whose rate is in the first door's line.
    pub(super) shared: Option<OffloadMeter>,
    /// The only account is in the first door's line.
    pub(super) is_inline: bool,
}

impl Layout {
    /// Of the rules of a direction. `has_spare_teid`: the first door's line has room for the TEID of a tunnel.
    pub(super) fn of(shape: &OffloadSpec, direction: Direction, has_spare_teid: bool) -> Self {
        let is_offloaded =
            |rule: &OffloadRule| rule.key.direction == direction && rule.action != RuleAction::SlowPath;
        let groups = groups(shape, is_offloaded);
        let first_of = |group: &Vec<usize>| shape.rules.get(*group.first()?);
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

    /// Which account of the direction a rule has: 0 is that of the first door's line.
    pub(super) fn account(&self, rule: usize) -> Option<u8> {
        let place = self.accounts.iter().position(|rules| rules.contains(&rule))?;
        if self.is_inline { Some(0) } else { u8::try_from(place + 1).ok() }
    }
}

fn groups(shape: &OffloadSpec, is_offloaded: impl Fn(&OffloadRule) -> bool) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, rule) in shape.rules.iter().enumerate().filter(|(_, rule)| is_offloaded(rule)) {
        let is_like = |group: &&mut Vec<usize>| {
            group
                .first()
                .and_then(|first| shape.rules.get(*first))
                .is_some_and(|first| first.has_same_action(rule))
        };
        match groups.iter_mut().find(is_like) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// Drops are counted: usage before QoS enforcement has whatever is dropped later, and what is sent may be damaged, too large, or have no hop
/// left.
pub(super) fn counts_drops(rule: &OffloadRule) -> bool {
    rule.counts_before_qos && rule.action != RuleAction::SlowPath
}

/// The TEID that the header of a rule has.
pub(super) fn teid_of(act: &RuleAction) -> Option<u32> {
    let RuleAction::Send(send) = act else { return None };
    send.header.get(4..8)?.first_chunk().map(|teid| u32::from_be_bytes(*teid))
}

/// The rate of a rule that is not the shared one.
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

/// A rate as it fills a bucket.
pub(super) fn rate_of(meter: &OffloadMeter) -> Rate {
    let nanos = u64::try_from(meter.burst.as_nanos()).unwrap_or(u64::MAX);
    let kbps = meter.rate.kbps();
    Rate { kbps, burst: i64::try_from(kbps.saturating_mul(nanos)).unwrap_or(i64::MAX) }
}
