//! What a session has in the lines, and its way back into the slow room.

mod compile;
mod join;
mod kinds;
mod layout;
mod lead;
mod pattern;

use std::sync::Arc;

use causeway_reference::lease::{Grant, MeterSpent, Passed, RuleKey, Spent};
use causeway_types::{Direction, QerId, Time};
use thin_vec::ThinVec;

use crate::key::Key;
use crate::line::{Account, PER_OCTET};
use crate::table::Table;

pub(crate) use compile::Compiler;
pub(crate) use kinds::Kinds;
pub(crate) use pattern::Pattern;

/// No more octets are granted at a time, so that packets of 20 octets and more can be counted in 32 bits.
const MOST: u64 = 1 << 36;

/// Where the account of a rule is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// In a door's line.
    Line(u32),
    /// In a line of its own.
    Rule(u32),
}

/// Rules whose packets have one account, and what they were granted.
#[derive(Clone, Debug)]
pub(crate) struct LeasedRule {
    /// Which rule of the pattern it is.
    rule: u8,
    place: Place,
    /// The QER whose rate is the rule's own.
    own: Option<QerId>,
    granted: u64,
    /// What `updated` was when it was granted.
    since: u64,
}

/// A rate that rules of one direction share, and the line with its bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedRate {
    qer: QerId,
    direction: Direction,
    line: u32,
    /// What is in the line's bucket was granted. Without it the slow room knows better.
    is_granted: bool,
}

impl SharedRate {
    /// A rate with its bucket in a line, not granted yet.
    pub(crate) const fn new(qer: QerId, direction: Direction, line: u32) -> Self {
        Self { qer, direction, line, is_granted: false }
    }
}

/// A session in the lines.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    /// What it has in common with others; `None`: it has no rules that decide by themselves.
    pattern: Option<Arc<Pattern>>,
    keys: ThinVec<(Key, u32)>,
    lines: ThinVec<u32>,
    /// The programs of doors that the pattern does not have.
    programs: ThinVec<u32>,
    /// Runs of rule lines: the first, and how many.
    runs: ThinVec<(u32, u32)>,
    rules: ThinVec<LeasedRule>,
    shared: ThinVec<SharedRate>,
    is_open: bool,
    /// No other session has its UE addresses.
    is_alone: bool,
}

impl Lease {
    /// Of no rules, with just the room that those of a pattern need.
    fn for_pattern(pattern: &Pattern) -> Self {
        let (doors, accounts) = (pattern.programs().count(), pattern.accounts());
        Self {
            keys: ThinVec::with_capacity(doors),
            lines: ThinVec::with_capacity(doors),
            rules: ThinVec::with_capacity(accounts),
            ..Self::default()
        }
    }

    /// The rules, to ask grants for.
    pub(crate) fn rule_keys(&self) -> impl Iterator<Item = &RuleKey> + Clone {
        let pattern = self.pattern.as_deref();
        self.rules.iter().filter_map(move |rule| pattern?.key(rule.rule))
    }

    /// What it has in common with others.
    #[cfg(test)]
    pub(crate) const fn pattern(&self) -> Option<&Arc<Pattern>> {
        self.pattern.as_ref()
    }

    /// Whether another session has UE addresses of this one.
    pub(crate) const fn set_alone(&mut self, is_alone: bool) {
        self.is_alone = is_alone;
    }

    /// No other session has its UE addresses.
    pub(crate) const fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Something is granted.
    pub(crate) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Some rule can decide by itself.
    pub(crate) fn is_hot(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Writes the grants into the lines.
    pub(crate) fn open(&mut self, grants: &[Option<Grant>], table: &mut Table) {
        for (rule, grant) in self.rules.iter_mut().zip(grants) {
            let Some(account) = account(table, rule.place) else { continue };
            let Some(grant) = grant else {
                (account.budget, rule.granted) = (0, 0);
                continue;
            };
            let own = rule.own.and_then(|qer| grant.meters.iter().find(|meter| meter.qer == qer));
            *account = Account {
                budget: grant.budget.min(MOST),
                tokens: own.map_or(0, |meter| meter.tokens),
                updated: own.map_or(0, |meter| meter.updated.as_nanos()),
                last_pass: grant.quiet_since.as_nanos(),
                last_size: own.map_or(0, |meter| octets(meter.last)),
                packets: 0,
            };
            (rule.granted, rule.since) = (account.budget, account.updated);
        }
        for shared in &mut self.shared {
            let pattern = self.pattern.as_deref();
            let keys = self.rules.iter().filter_map(|rule| pattern?.key(rule.rule));
            let sharers = keys.zip(grants).filter(|(key, _)| key.direction == shared.direction);
            let mut meters = sharers.filter_map(|(_, grant)| grant.as_ref()).flat_map(|grant| &grant.meters);
            if let (Some(meter), Some(line)) =
                (meters.find(|meter| meter.qer == shared.qer), table.line_mut(shared.line))
            {
                line.account.tokens = meter.tokens;
                line.account.updated = meter.updated.as_nanos();
                line.account.last_size = octets(meter.last);
                shared.is_granted = true;
            }
        }
        self.is_open = true;
    }

    /// Takes back what is granted, and says what of it was used.
    pub(crate) fn close(&mut self, table: &mut Table) -> (Vec<Spent>, Vec<MeterSpent>) {
        let (mut spent, mut meters) = (Vec::new(), Vec::new());
        let pattern = self.pattern.as_deref();
        for rule in &mut self.rules {
            let Some(key) = pattern.and_then(|pattern| pattern.key(rule.rule)) else { continue };
            let granted = std::mem::take(&mut rule.granted);
            let (packets, octets) = dropped(table, rule.place);
            let Some(account) = account(table, rule.place).filter(|_| granted > 0) else { continue };
            let passed = granted - std::mem::take(&mut account.budget) - octets;
            if account.packets == 0 && packets == 0 && account.updated == rule.since {
                continue;
            }
            spent.push(Spent {
                pdr: key.pdr,
                last_arrival: Time::from_nanos(account.updated),
                passed: (account.packets > 0).then_some(Passed {
                    packets: account.packets.into(),
                    octets: passed,
                    last: Time::from_nanos(account.last_pass),
                }),
                dropped_packets: packets,
                dropped_octets: octets,
            });
            meters.extend(rule.own.map(|qer| bucket(qer, key.direction, account)));
        }
        self.is_open = false;
        for shared in &mut self.shared {
            let granted = std::mem::take(&mut shared.is_granted);
            if let Some(line) = table.line(shared.line).filter(|_| granted) {
                meters.push(bucket(shared.qer, shared.direction, &line.account));
            }
        }
        (spent, meters)
    }
}

fn account(table: &mut Table, place: Place) -> Option<&mut Account> {
    match place {
        Place::Line(number) => table.line_mut(number).map(|line| &mut line.account),
        Place::Rule(number) => table.rule_mut(number).map(|line| &mut line.account),
    }
}

/// Takes out what was dropped.
fn dropped(table: &mut Table, place: Place) -> (u64, u64) {
    let Place::Rule(number) = place else { return (0, 0) };
    let Some(line) = table.rule_mut(number) else { return (0, 0) };
    let octets = std::mem::take(&mut line.dropped_octets);
    (std::mem::take(&mut line.dropped_packets).into(), octets)
}

fn bucket(qer: QerId, direction: Direction, account: &Account) -> MeterSpent {
    let last = i64::from(account.last_size) * PER_OCTET;
    let updated = Time::from_nanos(account.updated);
    MeterSpent { qer, direction, tokens: account.tokens, last, updated }
}

/// A size in micro-bits as octets. Packets have whole ones.
fn octets(micro_bits: i64) -> u32 {
    u32::try_from(micro_bits / PER_OCTET).unwrap_or(u32::MAX)
}
