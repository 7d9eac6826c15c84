//! The sessions in external memory: their records, and what the slow path has granted to them.

use std::collections::{BTreeMap, HashMap};

use causeway_dataplane::Topology;
use causeway_slowpath::SlowPath;
use causeway_slowpath::lease::{
    ForwardedUsage, Grant, GrantKey, LookupEntry, MeterState, OffloadMeter, OffloadRule, OffloadSpec,
    RuleAction, RuleUsage,
};
use causeway_types::{Direction, QerId, Seid, Span, Time};

use crate::action::Action;
use crate::key::UeKey;
use crate::layout::UE_WAYS;
use crate::state::{Account, MAX_ACCOUNTS, MAX_METERS, Meter, Rate, UeState};
use crate::ue_table::{MAX_ACTIONS, Pdr, RuleRef, Target, UeHeader, compile};

/// Where a record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecordPlace {
    pub(crate) ue: UeKey,
    pub(crate) bucket: u64,
    pub(crate) way: usize,
}

/// A record of a session.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) place: RecordPlace,
    /// The key of the grant of each account, and its limit of silence.
    accounts: Vec<(GrantKey, Span)>,
    meters: Vec<(QerId, Rate)>,
    direction: Direction,
}

/// A session with records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lease {
    pub(crate) records: Vec<Record>,
    pub(crate) is_granted: bool,
    /// No other session has its UE addresses.
    pub(crate) has_no_overlap: bool,
}

/// What a record holds when it is written.
pub(crate) struct Compiled {
    pub(crate) lookup: LookupEntry,
    pub(crate) pdrs: Vec<Pdr>,
    pub(crate) actions: Vec<Action>,
    accounts: Vec<(GrantKey, Span)>,
    meters: Vec<(QerId, Rate)>,
}

impl Compiled {
    pub(crate) fn header(&self, ue: UeKey, generation: u32) -> UeHeader {
        UeHeader::new(ue, generation, self.pdrs.len() as u8, self.lookup.direction, &self.lookup.ue)
    }

    pub(crate) fn at(self, place: RecordPlace) -> Record {
        let Self { lookup, accounts, meters, .. } = self;
        Record { place, accounts, meters, direction: lookup.direction }
    }
}

/// Which places of the UE table are taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    buckets: HashMap<u64, [Option<UeKey>; UE_WAYS]>,
}

impl Places {
    /// A free place in a bucket. `None`: there is none, or the key has one already.
    pub(crate) fn take(&mut self, ue: UeKey, bucket: u64) -> Option<RecordPlace> {
        let ways = self.buckets.entry(bucket).or_default();
        if ways.contains(&Some(ue)) {
            return None;
        }
        let way = ways.iter().position(Option::is_none)?;
        *ways.get_mut(way)? = Some(ue);
        Some(RecordPlace { ue, bucket, way })
    }

    pub(crate) fn release(&mut self, place: &RecordPlace) {
        if let Some(ways) = self.buckets.get_mut(&place.bucket) {
            ways.get_mut(place.way).into_iter().for_each(|way| *way = None);
            if ways.iter().all(Option::is_none) {
                self.buckets.remove(&place.bucket);
            }
        }
    }
}

/// The records of a session. What they cannot express is for the slow path.
pub(crate) fn compile_session(spec: &OffloadSpec, topology: &Topology) -> Vec<Compiled> {
    // Tokens are at one place: a rate that several records would have is for the slow path.
    let mut users: BTreeMap<(QerId, Direction), usize> = BTreeMap::new();
    for lookup in &spec.lookups {
        let rules = lookup.rules.iter().filter_map(|rule| spec.rules.get(usize::from(*rule)));
        let mut meters: Vec<QerId> = rules.flat_map(|rule| rule.key.meters.iter().copied()).collect();
        meters.sort_unstable();
        meters.dedup();
        for qer in meters {
            *users.entry((qer, lookup.direction)).or_default() += 1;
        }
    }
    let is_shared = |rule: &OffloadRule, direction: Direction| {
        let is_of_several = |qer: &QerId| users.get(&(*qer, direction)).is_some_and(|users| *users > 1);
        rule.key.meters.iter().any(is_of_several)
    };
    let compiled = |lookup: &LookupEntry| {
        compile_lookup(spec, lookup, topology, |rule| is_shared(rule, lookup.direction))
    };
    spec.lookups.iter().map(compiled).collect()
}

fn compile_lookup(
    spec: &OffloadSpec,
    lookup: &LookupEntry,
    topology: &Topology,
    is_for_slow_path: impl Fn(&OffloadRule) -> bool,
) -> Compiled {
    let mut parts = Parts::default();
    let rules: Vec<_> = lookup.rules.iter().filter_map(|rule| spec.rules.get(usize::from(*rule))).collect();
    let targets: Vec<Target> = rules
        .iter()
        .map(|rule| {
            let rule = Some(*rule).filter(|rule| !is_for_slow_path(rule));
            rule.and_then(|rule| parts.add(rule, topology)).map_or(Target::SlowPath, Target::Rule)
        })
        .collect();
    let pdrs = rules.iter().zip(targets).map(|(rule, target)| (rule.qfis, rule.filters.as_slice(), target));
    let pdrs = compile(pdrs, &lookup.ue);
    let Parts { actions, accounts, meters } = parts;
    let accounts = accounts.into_iter().map(|rule| (rule.key, rule.idle_limit)).collect();
    let meters = meters.into_iter().map(|meter| (meter.qer, rate_of(&meter))).collect();
    Compiled { lookup: lookup.clone(), pdrs, actions, accounts, meters }
}

/// The parts that the rules of a record share.
#[derive(Default)]
struct Parts {
    actions: Vec<Action>,
    /// The first rule of each account.
    accounts: Vec<OffloadRule>,
    meters: Vec<OffloadMeter>,
}

impl Parts {
    /// `None`: the record has no free place for one of its parts.
    fn add(&mut self, rule: &OffloadRule, topology: &Topology) -> Option<RuleRef> {
        if rule.action == RuleAction::SlowPath {
            return None;
        }
        let action = Action::new(&rule.action, topology);
        let action = place_of(&mut self.actions, MAX_ACTIONS, action, |known, new| known == new)?;
        let same_meter = |known: &OffloadMeter, new: &OffloadMeter| known == new;
        let mut meters = 0;
        for meter in &rule.meters {
            meters |= 1 << place_of(&mut self.meters, MAX_METERS, *meter, same_meter)?;
        }
        let account = place_of(&mut self.accounts, MAX_ACCOUNTS, rule.clone(), OffloadRule::has_same_action)?;
        let (reports_drops, counts_drops) = (rule.reports_drops, rule.counts_before_qos);
        Some(RuleRef { account: account as u8, meters, action: action as u8, reports_drops, counts_drops })
    }
}

/// The place of an equal one, or of this one behind the last. `None`: the list is full.
fn place_of<T>(list: &mut Vec<T>, most: usize, new: T, is_same: impl Fn(&T, &T) -> bool) -> Option<usize> {
    if let Some(place) = list.iter().position(|known| is_same(known, &new)) {
        return Some(place);
    }
    if list.len() >= most {
        return None;
    }
    list.push(new);
    Some(list.len() - 1)
}

fn rate_of(meter: &OffloadMeter) -> Rate {
    let nanos = u64::try_from(meter.burst.as_nanos()).unwrap_or(u64::MAX);
    let kbps = meter.rate.kbps();
    Rate { kbps, burst: i64::try_from(kbps.saturating_mul(nanos)).unwrap_or(i64::MAX) }
}

impl Lease {
    /// The states of its records with new grants.
    pub(crate) fn grant(
        &mut self,
        slow_path: &SlowPath,
        seid: Seid,
        now: Time,
    ) -> Vec<(RecordPlace, UeState)> {
        let keys = self.records.iter().flat_map(|record| record.accounts.iter().map(|(key, _)| key));
        let mut grants = slow_path.grants(seid, keys, now).into_iter();
        self.is_granted = true;
        let state = |record: &Record| {
            let granted: Vec<Option<Grant>> = grants.by_ref().take(record.accounts.len()).collect();
            let account = |(grant, (_, idle_limit)): (&Option<Grant>, &(GrantKey, _))| match grant {
                // The slow path decides on the next packet.
                None => Account::default(),
                Some(grant) => Account {
                    budget: grant.budget,
                    idle_limit: *idle_limit,
                    last_pass: grant.last_packet,
                    ..Account::default()
                },
            };
            let accounts = granted.iter().zip(&record.accounts).map(account).collect();
            let level = |qer: &QerId| {
                let mut meters = granted.iter().flatten().flat_map(|grant| &grant.meters);
                let meter = meters.find(|meter| meter.qer == *qer);
                meter.map(|meter| Meter { tokens: meter.tokens, last: meter.last, updated: meter.updated })
            };
            // A meter without a grant belongs to accounts without one.
            let meters =
                record.meters.iter().map(|(qer, rate)| (*rate, level(qer).unwrap_or_default())).collect();
            (record.place, UeState { accounts, meters })
        };
        self.records.iter().map(state).collect()
    }

    /// Returns the use of its grants to the slow path; they end. `state_of` is the state of a record, if it is known.
    pub(crate) fn settle(
        &mut self,
        slow_path: &mut SlowPath,
        seid: Seid,
        mut state_of: impl FnMut(&RecordPlace) -> Option<UeState>,
    ) {
        if !std::mem::take(&mut self.is_granted) {
            return;
        }
        let (mut spent, mut levels) = (Vec::new(), Vec::new());
        for record in &self.records {
            let Some(state) = state_of(&record.place) else { continue };
            let mut is_used = false;
            for (account, (key, _)) in state.accounts.iter().zip(&record.accounts) {
                let Some(last_arrival) = account.last_arrival else { continue };
                is_used = true;
                let passed = ForwardedUsage {
                    packets: account.packets,
                    octets: account.octets,
                    last: account.last_pass,
                };
                spent.push(RuleUsage {
                    pdr: key.pdr,
                    last_arrival,
                    passed: (account.packets > 0).then_some(passed),
                    dropped_packets: account.dropped_packets,
                    dropped_octets: account.dropped_octets,
                });
            }
            let direction = record.direction;
            let level = |((qer, _), (_, meter)): (&(QerId, Rate), &(Rate, Meter))| {
                let Meter { tokens, last, updated } = *meter;
                MeterState { qer: *qer, direction, tokens, last, updated }
            };
            // A meter that was not granted was never filled.
            let granted = state.meters.iter().filter(|_| is_used);
            levels.extend(
                record
                    .meters
                    .iter()
                    .zip(granted)
                    .filter(|(_, (_, meter))| meter.updated > Time::default())
                    .map(level),
            );
        }
        slow_path.settle(seid, &spent, &levels);
    }
}
