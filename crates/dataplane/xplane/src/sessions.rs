//! The sessions in external memory: their records, and what the slow path has granted to them.

use std::collections::{BTreeSet, HashMap};

use causeway_dataplane::Topology;
use causeway_slowpath::SlowPath;
use causeway_slowpath::lease::{
    ForwardedUsage, Grant, GrantKey, LookupEntry, MeterState, OffloadMeter, OffloadRule, OffloadSpec,
    RuleAction, RuleUsage,
};
use causeway_types::{Direction, QerId, Seid, Span, Time};

use crate::action::Action;
use crate::key::UeKey;
use crate::layout::{StatePlace, UE_WAYS};
use crate::state::{Account, MAX_ACCOUNTS, MAX_METERS, Meter, Rate, UeState};
use crate::ue_table::{MAX_ACTIONS, Pdr, RuleRef, Target, UeHeader, compile};

/// Where a record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecordPlace {
    pub(crate) ue: UeKey,
    pub(crate) bucket: u64,
    pub(crate) way: usize,
}

impl RecordPlace {
    pub(crate) fn state(&self) -> StatePlace {
        StatePlace::new(self.bucket, self.way)
    }
}

/// A state of a session: that of one record, or of several in one direction that share a rate.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The record that it is in.
    pub(crate) home: RecordPlace,
    /// The key of the grant of each account, and its limit of silence.
    accounts: Vec<(GrantKey, Span)>,
    meters: Vec<(QerId, Rate)>,
    direction: Direction,
}

/// A session with records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lease {
    pub(crate) records: Vec<RecordPlace>,
    pub(crate) states: Vec<State>,
    pub(crate) is_granted: bool,
    /// No other session has its UE addresses.
    pub(crate) has_no_overlap: bool,
}

/// What a record holds when it is written.
pub(crate) struct Compiled {
    pub(crate) lookup: LookupEntry,
    pub(crate) pdrs: Vec<Pdr>,
    pub(crate) actions: Vec<Action>,
}

/// Records with one state.
pub(crate) struct CompiledState {
    pub(crate) records: Vec<Compiled>,
    accounts: Vec<(GrantKey, Span)>,
    meters: Vec<(QerId, Rate)>,
    direction: Direction,
}

impl Compiled {
    pub(crate) fn header(&self, ue: UeKey, generation: u64, shared_state: Option<StatePlace>) -> UeHeader {
        let LookupEntry { direction, ue: addresses, .. } = &self.lookup;
        let header = UeHeader::new(ue, generation, self.pdrs.len() as u8, *direction, addresses);
        header.with_shared_state(shared_state)
    }
}

impl CompiledState {
    pub(crate) fn at(self, home: RecordPlace) -> State {
        let Self { accounts, meters, direction, .. } = self;
        State { home, accounts, meters, direction }
    }
}

/// A place that is taken.
#[derive(Clone, Copy, Debug)]
struct Taken {
    ue: UeKey,
    /// As it is in memory, once it is written.
    header: Option<UeHeader>,
}

/// Which places of the UE table are taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    buckets: HashMap<u64, [Option<Taken>; UE_WAYS]>,
}

impl Places {
    /// A free place in a bucket. `None`: there is none, or the key has one already.
    pub(crate) fn take(&mut self, ue: UeKey, bucket: u64) -> Option<RecordPlace> {
        let ways = self.buckets.entry(bucket).or_default();
        if ways.iter().flatten().any(|taken| taken.ue == ue) {
            return None;
        }
        let way = ways.iter().position(Option::is_none)?;
        *ways.get_mut(way)? = Some(Taken { ue, header: None });
        Some(RecordPlace { ue, bucket, way })
    }

    /// A header was written.
    pub(crate) fn set_header(&mut self, place: &RecordPlace, header: UeHeader) {
        let ways = self.buckets.get_mut(&place.bucket).into_iter().flatten();
        ways.flatten().filter(|taken| taken.ue == place.ue).for_each(|taken| taken.header = Some(header));
    }

    /// The places and headers of the other records of the bucket.
    pub(crate) fn others(&self, place: &RecordPlace) -> Vec<(RecordPlace, UeHeader)> {
        let ways = self.buckets.get(&place.bucket).into_iter().flatten().enumerate();
        let other = |(way, taken): (usize, &Option<Taken>)| {
            let Taken { ue, header } = (*taken)?;
            let header = header.filter(|_| ue != place.ue)?;
            Some((RecordPlace { ue, way, ..*place }, header))
        };
        ways.filter_map(other).collect()
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

/// The records of a session by their states. What they cannot express is for the slow path.
pub(crate) fn compile_session(spec: &OffloadSpec, topology: &Topology) -> Vec<CompiledState> {
    let mut states = Vec::new();
    for direction in [Direction::Uplink, Direction::Downlink] {
        let lookups: Vec<_> = spec.lookups.iter().filter(|lookup| lookup.direction == direction).collect();
        // Tokens are at one place: records that share a rate have one state.
        if has_common_rate(spec, &lookups) {
            states.push(compile_state(spec, &lookups, direction, topology));
        } else {
            states.extend(lookups.iter().map(|one| compile_state(spec, &[one], direction, topology)));
        }
    }
    states
}

/// A rate limits packets of several of these lookup keys.
fn has_common_rate(spec: &OffloadSpec, lookups: &[&LookupEntry]) -> bool {
    let mut seen = BTreeSet::new();
    lookups.iter().any(|lookup| {
        let rules = lookup.rules.iter().filter_map(|rule| spec.rules.get(usize::from(*rule)));
        let qers: BTreeSet<QerId> = rules.flat_map(|rule| rule.key.meters.iter().copied()).collect();
        qers.into_iter().any(|qer| !seen.insert(qer))
    })
}

fn compile_state(
    spec: &OffloadSpec,
    lookups: &[&LookupEntry],
    direction: Direction,
    topology: &Topology,
) -> CompiledState {
    let mut parts = Parts::default();
    let compile_lookup = |lookup: &&LookupEntry| {
        let rules: Vec<_> =
            lookup.rules.iter().filter_map(|rule| spec.rules.get(usize::from(*rule))).collect();
        let mut actions = Vec::new();
        let target = |rule: &&OffloadRule| {
            parts.add(rule, &mut actions, topology).map_or(Target::SlowPath, Target::Rule)
        };
        let targets: Vec<Target> = rules.iter().map(target).collect();
        let pdrs =
            rules.iter().zip(targets).map(|(rule, target)| (rule.qfis, rule.filters.as_slice(), target));
        let pdrs = compile(pdrs, &lookup.ue);
        Compiled { lookup: (*lookup).clone(), pdrs, actions }
    };
    let records = lookups.iter().map(compile_lookup).collect();
    let Parts { accounts, meters } = parts;
    let accounts = accounts.into_iter().map(|rule| (rule.key, rule.idle_limit)).collect();
    let meters = meters.into_iter().map(|meter| (meter.qer, rate_of(&meter))).collect();
    CompiledState { records, accounts, meters, direction }
}

/// The parts of a state, which its rules share.
#[derive(Default)]
struct Parts {
    /// The first rule of each account.
    accounts: Vec<OffloadRule>,
    meters: Vec<OffloadMeter>,
}

impl Parts {
    /// `None`: the state, or the actions of the record, have no free place for one of its parts.
    fn add(&mut self, rule: &OffloadRule, actions: &mut Vec<Action>, topology: &Topology) -> Option<RuleRef> {
        if rule.action == RuleAction::SlowPath {
            return None;
        }
        let action = Action::new(&rule.action, topology);
        let action = place_of(actions, MAX_ACTIONS, action, |known, new| known == new)?;
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
    /// Its states with new grants.
    pub(crate) fn grant(
        &mut self,
        slow_path: &SlowPath,
        seid: Seid,
        now: Time,
    ) -> Vec<(RecordPlace, UeState)> {
        let keys = self.states.iter().flat_map(|state| state.accounts.iter().map(|(key, _)| key));
        let mut grants = slow_path.grants(seid, keys, now).into_iter();
        self.is_granted = true;
        let granted = |state: &State| {
            let granted: Vec<Option<Grant>> = grants.by_ref().take(state.accounts.len()).collect();
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
            let accounts = granted.iter().zip(&state.accounts).map(account).collect();
            let level = |qer: &QerId| {
                let mut meters = granted.iter().flatten().flat_map(|grant| &grant.meters);
                let meter = meters.find(|meter| meter.qer == *qer);
                meter.map(|meter| Meter { tokens: meter.tokens, last: meter.last, updated: meter.updated })
            };
            // A meter without a grant belongs to accounts without one.
            let meters =
                state.meters.iter().map(|(qer, rate)| (*rate, level(qer).unwrap_or_default())).collect();
            (state.home, UeState { accounts, meters })
        };
        self.states.iter().map(granted).collect()
    }

    /// Returns the use of its grants to the slow path; they end. `state_of` is the state of a place, if it is known.
    pub(crate) fn settle(
        &mut self,
        slow_path: &mut SlowPath,
        seid: Seid,
        mut state_of: impl FnMut(StatePlace) -> Option<UeState>,
    ) {
        if !std::mem::take(&mut self.is_granted) {
            return;
        }
        let (mut spent, mut levels) = (Vec::new(), Vec::new());
        for known in &self.states {
            let Some(state) = state_of(known.home.state()) else { continue };
            let mut is_used = false;
            for (account, (key, _)) in state.accounts.iter().zip(&known.accounts) {
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
            let direction = known.direction;
            let level = |((qer, _), (_, meter)): (&(QerId, Rate), &(Rate, Meter))| {
                let Meter { tokens, last, updated } = *meter;
                MeterState { qer: *qer, direction, tokens, last, updated }
            };
            // A meter that was not granted was never filled.
            let granted = state.meters.iter().filter(|_| is_used);
            levels.extend(
                known
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
