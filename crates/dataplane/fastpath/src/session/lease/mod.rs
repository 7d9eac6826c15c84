//! Leases: the grants of a session's flow entries, and their return to the slow path.

mod compile;
mod compiled_profile;
mod layout;
mod merge_rules;
mod profile_cache;

use std::sync::Arc;

use causeway_slowpath::lease::{ForwardedUsage, Grant, GrantKey, MeterState, RuleUsage};
use causeway_types::{Direction, PdrId, QerId, Teid, Time};
use thin_vec::ThinVec;

use crate::table::FlowTable;
use crate::table::flow_entry::{Account, PER_OCTET};
use crate::table::key::FlowKey;
use layout::teid_of;

pub(crate) use compile::Compiler;
pub(crate) use compiled_profile::CompiledProfile;
pub(crate) use profile_cache::ProfileCache;

/// The maximum of octets per grant, so that the count of packets of at least 20 octets fits into 32 bits.
const MAX_GRANT: u64 = 1 << 36;

/// The location of an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccountLocation {
    /// In a flow entry.
    Entry(u32),
    /// In a rule entry.
    RuleEntry(u32),
}

/// Rules that share one account, with their grant.
#[derive(Clone, Debug)]
pub(crate) struct LeasedRule {
    /// The index of the first rule in the profile.
    rule: u8,
    place: AccountLocation,
    /// The QER of the rule's own rate.
    rate_qer: Option<QerId>,
    granted: u64,
    /// The value of `updated` at the grant.
    granted_at: u64,
}

/// A rate that rules of one direction share, and the flow entry with its bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedRate {
    qer: QerId,
    direction: Direction,
    entry: u32,
    /// Whether the tokens in the flow entry's bucket are a grant. Otherwise the slow path has the current ones.
    is_granted: bool,
}

impl LeasedRule {
    /// What packets have used of the grant, with packets and octets that were dropped; `None`: nothing.
    fn usage(&self, pdr: PdrId, account: &Account, (packets, octets): (u64, u64)) -> Option<RuleUsage> {
        let is_used = account.packets > 0 || packets > 0 || account.updated != self.granted_at;
        (self.granted > 0 && is_used).then(|| RuleUsage {
            pdr,
            last_arrival: Time::from_nanos(account.updated),
            passed: (account.packets > 0).then(|| ForwardedUsage {
                packets: account.packets.into(),
                octets: self.granted - account.budget - octets,
                last: Time::from_nanos(account.last_pass),
            }),
            dropped_packets: packets,
            dropped_octets: octets,
        })
    }
}

impl SharedRate {
    /// A rate with its bucket in a flow entry, not granted yet.
    pub(crate) const fn new(qer: QerId, direction: Direction, entry: u32) -> Self {
        Self { qer, direction, entry, is_granted: false }
    }
}

/// A session in the flow table.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    /// Its compiled profile; `None`: no rule is offloaded.
    profile: Option<Arc<CompiledProfile>>,
    keys: ThinVec<(FlowKey, u32)>,
    entries: ThinVec<u32>,
    /// The programs of lookup keys outside the profile.
    programs: ThinVec<u32>,
    /// Runs of rule entries: the first, and how many.
    runs: ThinVec<(u32, u32)>,
    rules: ThinVec<LeasedRule>,
    shared: ThinVec<SharedRate>,
    is_granted: bool,
    /// No other session has its UE addresses.
    has_no_overlap: bool,
}

impl Lease {
    /// A lease without rules, with capacity for those of a profile.
    fn for_profile(profile: &CompiledProfile) -> Self {
        let (lookups, accounts) = (profile.programs().count(), profile.accounts());
        Self {
            keys: ThinVec::with_capacity(lookups),
            entries: ThinVec::with_capacity(lookups),
            rules: ThinVec::with_capacity(accounts),
            ..Self::default()
        }
    }

    /// The keys of the rules, to request grants for.
    pub(crate) fn rule_keys(&self) -> impl Iterator<Item = &GrantKey> + Clone {
        let profile = self.profile.as_deref();
        self.rules.iter().filter_map(move |rule| profile?.key(rule.rule))
    }

    /// Its compiled profile.
    #[cfg(test)]
    pub(crate) const fn profile(&self) -> Option<&Arc<CompiledProfile>> {
        self.profile.as_ref()
    }

    /// Sets whether no other session has UE addresses of this one.
    pub(crate) const fn set_no_overlap(&mut self, has_no_overlap: bool) {
        self.has_no_overlap = has_no_overlap;
    }

    /// Whether no other session has its UE addresses.
    pub(crate) const fn has_no_overlap(&self) -> bool {
        self.has_no_overlap
    }

    /// When the last packet arrived that its flow entries handled, or that came before they were granted. `None`: it has
    /// no accounts.
    pub(crate) fn last_arrival(&self, table: &FlowTable) -> Option<Time> {
        let accounts = self.rules.iter().filter_map(|rule| match rule.place {
            AccountLocation::Entry(number) => Some(table.entry(number)?.account),
            AccountLocation::RuleEntry(number) => Some(table.rule(number)?.account),
        });
        accounts.map(|account| Time::from_nanos(account.updated.max(account.last_pass))).max()
    }

    /// Whether it has a grant.
    pub(crate) const fn is_granted(&self) -> bool {
        self.is_granted
    }

    /// Whether some rule is offloaded.
    pub(crate) fn has_offloaded_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Writes the grants into the flow entries.
    pub(crate) fn grant(&mut self, grants: &[Option<Grant>], table: &mut FlowTable) {
        for (rule, grant) in self.rules.iter_mut().zip(grants) {
            let Some(account) = account(table, rule.place) else { continue };
            let Some(grant) = grant else {
                (account.budget, rule.granted) = (0, 0);
                continue;
            };
            let rate_meter = rule.rate_qer.and_then(|qer| grant.meters.iter().find(|meter| meter.qer == qer));
            *account = Account {
                budget: grant.budget.min(MAX_GRANT),
                tokens: rate_meter.map_or(0, |meter| meter.tokens),
                updated: rate_meter.map_or(0, |meter| meter.updated.as_nanos()),
                last_pass: grant.last_packet.as_nanos(),
                last_size: rate_meter.map_or(0, |meter| octets(meter.last)),
                packets: 0,
            };
            (rule.granted, rule.granted_at) = (account.budget, account.updated);
        }
        for shared in &mut self.shared {
            let profile = self.profile.as_deref();
            let keys = self.rules.iter().filter_map(|rule| profile?.key(rule.rule));
            let sharers = keys.zip(grants).filter(|(key, _)| key.direction == shared.direction);
            let mut meters = sharers.filter_map(|(_, grant)| grant.as_ref()).flat_map(|grant| &grant.meters);
            if let (Some(meter), Some(entry)) =
                (meters.find(|meter| meter.qer == shared.qer), table.entry_mut(shared.entry))
            {
                entry.account.tokens = meter.tokens;
                entry.account.updated = meter.updated.as_nanos();
                entry.account.last_size = octets(meter.last);
                shared.is_granted = true;
            }
        }
        self.is_granted = true;
    }

    /// What packets have used of the grants so far.
    pub(crate) fn spent(&self, table: &FlowTable) -> Vec<RuleUsage> {
        let Some(profile) = self.profile.as_deref().filter(|_| self.is_granted) else { return Vec::new() };
        let of = |rule: &LeasedRule| {
            let pdr = profile.key(rule.rule)?.pdr;
            let (account, packets, octets) = match rule.place {
                AccountLocation::Entry(number) => (&table.entry(number)?.account, 0, 0),
                AccountLocation::RuleEntry(number) => {
                    let entry = table.rule(number)?;
                    (&entry.account, entry.dropped_packets.into(), entry.dropped_octets)
                }
            };
            rule.usage(pdr, account, (packets, octets))
        };
        self.rules.iter().filter_map(of).collect()
    }

    /// Revokes the grants, and returns their use.
    pub(crate) fn revoke(&mut self, table: &mut FlowTable) -> (Vec<RuleUsage>, Vec<MeterState>) {
        let (mut spent, mut meters) = (Vec::new(), Vec::new());
        let profile = self.profile.as_deref();
        for rule in &mut self.rules {
            let Some(key) = profile.and_then(|profile| profile.key(rule.rule)) else { continue };
            let dropped = dropped(table, rule.place);
            let Some(account) = account(table, rule.place).filter(|_| rule.granted > 0) else { continue };
            let usage = rule.usage(key.pdr, account, dropped);
            (rule.granted, account.budget) = (0, 0);
            let Some(usage) = usage else { continue };
            spent.push(usage);
            meters.extend(rule.rate_qer.map(|qer| bucket(qer, key.direction, account)));
        }
        self.is_granted = false;
        for shared in &mut self.shared {
            let granted = std::mem::take(&mut shared.is_granted);
            if let Some(entry) = table.entry(shared.entry).filter(|_| granted) {
                meters.push(bucket(shared.qer, shared.direction, &entry.account));
            }
        }
        (spent, meters)
    }
}

fn account(table: &mut FlowTable, place: AccountLocation) -> Option<&mut Account> {
    match place {
        AccountLocation::Entry(number) => table.entry_mut(number).map(|entry| &mut entry.account),
        AccountLocation::RuleEntry(number) => table.rule_mut(number).map(|entry| &mut entry.account),
    }
}

/// Takes the counts of dropped packets out of a rule entry.
fn dropped(table: &mut FlowTable, place: AccountLocation) -> (u64, u64) {
    let AccountLocation::RuleEntry(number) = place else { return (0, 0) };
    let Some(entry) = table.rule_mut(number) else { return (0, 0) };
    let octets = std::mem::take(&mut entry.dropped_octets);
    (std::mem::take(&mut entry.dropped_packets).into(), octets)
}

fn bucket(qer: QerId, direction: Direction, account: &Account) -> MeterState {
    let last = i64::from(account.last_size) * PER_OCTET;
    let updated = Time::from_nanos(account.updated);
    MeterState { qer, direction, tokens: account.tokens, last, updated }
}

/// A size in micro-bits as octets. Packets have whole octets.
fn octets(micro_bits: i64) -> u32 {
    u32::try_from(micro_bits / PER_OCTET).unwrap_or(u32::MAX)
}

impl Lease {
    /// Switches the session to `profile`, with `remote` as the TEID of the tunnel that its packets are sent into; its
    /// grants stay. Returns the previous profile. `None`: the layouts differ; nothing has happened.
    pub(crate) fn set_remote(
        &mut self,
        profile: Arc<CompiledProfile>,
        remote: Option<Teid>,
        table: &mut FlowTable,
    ) -> Option<Arc<CompiledProfile>> {
        let held = self.profile.as_ref()?;
        if !Arc::ptr_eq(held, &profile) {
            let can = held.has_same_layout(&profile)
                && self.rules.iter().all(|rule| held.key(rule.rule) == profile.key(rule.rule));
            let programs: Vec<_> = can.then(|| held.programs().zip(profile.programs()).collect())?;
            let is_clear = |(old, new): &(u32, u32)| programs.iter().all(|(of, to)| of != old || to == new);
            if !programs.iter().all(is_clear) {
                return None;
            }
            for entry in &self.entries {
                let Some(entry) = table.entry_mut(*entry) else { continue };
                if let Some((_, new)) = programs.iter().find(|(old, _)| *old == entry.program()) {
                    entry.set_program(*new);
                }
            }
        }
        for rule in &self.rules {
            let act = profile.rule(rule.rule.into()).map(|(_, rule)| &rule.action);
            let Some(teid) = act.and_then(teid_of) else { continue };
            let teid = remote.map_or(teid, Teid::value);
            match rule.place {
                AccountLocation::Entry(entry) => {
                    table.entry_mut(entry).into_iter().for_each(|entry| entry.ue_or_teid = teid);
                }
                AccountLocation::RuleEntry(rule) => {
                    table.rule_mut(rule).into_iter().for_each(|rule| rule.teid = teid);
                }
            }
        }
        self.profile.replace(profile)
    }
}
