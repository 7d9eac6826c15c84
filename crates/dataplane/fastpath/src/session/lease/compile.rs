//! Compiles an offload specification of a session into flow entries.

use std::net::IpAddr;
use std::sync::Arc;

use causeway_dataplane::Egress;
use causeway_slowpath::lease::{
    LookupEntry, LookupKey, OffloadRule, OffloadSpec, ProfileParams, RuleAction, SendAction,
};
use causeway_types::{Direction, Teid};

use super::layout::{Layout, counts_drops, own_meters, rate_of, teid_of};
use super::{AccountLocation, CompiledProfile, Lease, LeasedRule, SharedRate};
use crate::classify::filters::{FilterSets, Rule, SetId};
use crate::program::{Action, CompiledSend, MAX_HEADER, Program, Programs, Route, Step, Tunnel};
use crate::table::FlowTable;
use crate::table::flow_entry::{FlowEntry, RuleEntry};
use crate::table::key::FlowKey;
use crate::topology_index::TopologyIndex;

/// Writes sessions into the flow table and removes them.
pub(crate) struct Compiler<'a> {
    pub(crate) table: &'a mut FlowTable,
    pub(crate) programs: &'a mut Programs,
    pub(crate) sets: &'a mut FilterSets,
    pub(crate) topology_index: &'a TopologyIndex,
}

impl Compiler<'_> {
    /// Inserts a session. `params`: its session parameters, if the profile was compiled from another session.
    /// `tunnels`: the local ends of its tunnels, whether the profile contains them or not.
    pub(crate) fn insert(
        &mut self,
        profile: Option<Arc<CompiledProfile>>,
        params: Option<&ProfileParams>,
        tunnels: &[(Teid, IpAddr)],
    ) -> Lease {
        let mut lease = profile.as_deref().map(Lease::for_profile).unwrap_or_default();
        if let Some(profile) = &profile {
            for direction in [Direction::Uplink, Direction::Downlink] {
                self.insert_direction(profile, direction, params, &mut lease);
            }
        }
        lease.profile = profile;
        self.insert_slow_path_tunnels(tunnels, &mut lease);
        lease
    }

    /// Removes a session.
    pub(crate) fn remove(&mut self, lease: Lease) {
        lease.keys.into_iter().for_each(|(key, entry)| self.table.remove_key(key, entry));
        lease.entries.into_iter().for_each(|entry| self.table.release(entry));
        lease.runs.into_iter().for_each(|(first, count)| self.table.release_rules(first, count));
        lease.programs.into_iter().for_each(|program| self.release_program(program));
        lease.profile.into_iter().for_each(|profile| self.release_profile(profile));
    }

    /// Removes one user of a profile.
    pub(crate) fn release_profile(&mut self, profile: Arc<CompiledProfile>) {
        let last = Arc::into_inner(profile);
        last.into_iter()
            .for_each(|profile| profile.programs().for_each(|program| self.release_program(program)));
    }

    fn release_program(&mut self, program: u32) {
        if let Some(set) = self.programs.remove(program) {
            self.sets.remove(set);
        }
    }

    fn insert_direction(
        &mut self,
        profile: &CompiledProfile,
        direction: Direction,
        params: Option<&ProfileParams>,
        lease: &mut Lease,
    ) {
        let mut primary = None;
        for (lookup, program) in profile.lookups(direction) {
            let renewed = params.map(|params| lookup.with_params(params));
            let lookup = renewed.as_ref().unwrap_or(lookup);
            let (Some(key), Some(program)) = (self.key_of(lookup), program) else { continue };
            // Both addresses of a UE lead to one flow entry where the rules are the same.
            if let Some((entry, known)) = primary
                && known == program
                && !matches!(lookup.key, LookupKey::Tunnel { .. })
            {
                if self.table.add_key(key, entry) {
                    self.add_address(entry, lookup);
                    lease.keys.push((key, entry));
                }
                continue;
            }
            let of = primary.map(|(entry, _)| entry);
            let Some(entry) = self.table.insert(key, entry_of(lookup, key, program, of)) else { continue };
            lease.keys.push((key, entry));
            lease.entries.push(entry);
            if primary.is_none() {
                primary = Some((entry, program));
            }
        }
        if let Some((entry, _)) = primary {
            let remote = params.and_then(|params| params.remote);
            self.assign_accounts(profile, direction, remote, entry, lease);
        }
    }

    /// Assigns accounts to the rules.
    fn assign_accounts(
        &mut self,
        profile: &CompiledProfile,
        direction: Direction,
        remote: Option<Teid>,
        entry: u32,
        lease: &mut Lease,
    ) {
        let layout = profile.layout(direction);
        let first = if layout.is_inline || layout.accounts.is_empty() {
            None
        } else {
            let count = layout.accounts.len() as u32;
            // Without free rule entries the rules get no grant, and their packets go to the slow path.
            let Some(first) = self.table.take_rules(count) else { return };
            lease.runs.push((first, count));
            if let Some(entry) = self.table.entry_mut(entry) {
                entry.set_first_rule_entry(first);
            }
            Some(first)
        };
        lease.shared.extend(layout.shared.map(|meter| SharedRate::new(meter.qer, direction, entry)));
        for (offset, rules) in (0..).zip(&layout.accounts) {
            let Some((number, rule)) = rules.first().and_then(|rule| profile.rule(*rule)) else { continue };
            let place = first
                .map_or(AccountLocation::Entry(entry), |first| AccountLocation::RuleEntry(first + offset));
            let rate_qer = own_meters(rule, layout.shared.as_ref()).map(|meter| meter.qer).next();
            lease.rules.push(LeasedRule { rule: number, place, rate_qer, granted: 0, granted_at: 0 });
            let teid = teid_of(&rule.action).map(|teid| remote.map_or(teid, Teid::value));
            match (place, teid) {
                (AccountLocation::RuleEntry(rule), teid) => {
                    if let Some(slot) = self.table.rule_mut(rule) {
                        *slot = RuleEntry { teid: teid.unwrap_or(0), ..RuleEntry::default() };
                    }
                }
                (AccountLocation::Entry(entry), Some(teid)) => {
                    if let Some(entry) = self.table.entry_mut(entry) {
                        entry.ue_or_teid = teid;
                    }
                }
                (AccountLocation::Entry(_), None) => {}
            }
        }
    }

    /// Inserts entries for tunnels without a lookup key in the profile: their packets go to the slow path, and their
    /// TEIDs are not unknown.
    fn insert_slow_path_tunnels(&mut self, tunnels: &[(Teid, IpAddr)], lease: &mut Lease) {
        for (teid, local) in tunnels {
            let Some(local) = self.topology_index.local(local) else { continue };
            let key = FlowKey::Tunnel(teid.value(), local);
            if lease.keys.iter().any(|(known, _)| *known == key) {
                continue;
            }
            let (program, _) = self.programs.insert(slow_path_program(local), self.topology_index);
            lease.programs.push(program);
            if let Some(entry) = self.table.insert(key, FlowEntry::new(teid.value(), key.scope(), program)) {
                lease.keys.push((key, entry));
                lease.entries.push(entry);
            }
        }
    }

    fn add_address(&mut self, entry: u32, lookup: &LookupEntry) {
        let Some(entry) = self.table.entry_mut(entry) else { return };
        match lookup.key {
            LookupKey::Ipv4 { ue, .. } => entry.key = ue.into(),
            LookupKey::Ipv6 { prefix, .. } => entry.prefix = prefix,
            LookupKey::Tunnel { .. } => {}
        }
    }

    pub(super) fn key_of(&self, lookup: &LookupEntry) -> Option<FlowKey> {
        Some(match lookup.key {
            LookupKey::Tunnel { teid, local } => {
                FlowKey::Tunnel(teid.value(), self.topology_index.local(&local)?)
            }
            LookupKey::Ipv4 { network, ue } => FlowKey::Ipv4(u16::try_from(network).ok()?, ue.into()),
            LookupKey::Ipv6 { network, prefix } => FlowKey::Ipv6(u16::try_from(network).ok()?, prefix),
        })
    }

    /// The number of the program of a lookup key, with one more user.
    pub(super) fn program(&mut self, spec: &OffloadSpec, lookup: &LookupEntry, layout: &Layout) -> u32 {
        let lookup_rules = lookup.rules.iter().filter_map(|index| {
            let rule = spec.rules.get(usize::from(*index))?;
            let filter = Rule { qfis: rule.qfis, filters: rule.filters.clone() };
            Some((filter, self.step(rule, *index, layout)))
        });
        let (rules, steps) = super::merge_rules::merge_equal_rules(lookup_rules);
        let local = match lookup.key {
            LookupKey::Tunnel { local, .. } => self.topology_index.local(&local),
            _ => None,
        };
        let (set, steps) = match self.sets.insert(&rules) {
            Ok(set) => (set, steps),
            // Rules that exceed the limits of filter sets are for the slow path.
            Err(_) => (SetId::ANY, Box::from([Step::SLOW_PATH])),
        };
        let program = Program {
            set,
            steps,
            direction: lookup.direction,
            shared: layout.shared.as_ref().map(rate_of),
            local,
            names_ue: lookup.ue.is_named,
            has_more: lookup.ue.has_more,
            is_final: lookup.is_final,
        };
        let (id, is_new) = self.programs.insert(program, self.topology_index);
        if !is_new {
            self.sets.remove(set);
        }
        id
    }

    fn step(&self, rule: &OffloadRule, index: u8, layout: &Layout) -> Step {
        let action = self.action(&rule.action);
        let Some(account) = layout.account(usize::from(index)).filter(|_| action != Action::SlowPath) else {
            return Step::SLOW_PATH;
        };
        let shared = layout.shared.as_ref();
        Step {
            action,
            account,
            rule_rate: own_meters(rule, shared).next().map(rate_of),
            is_shared: shared.is_some_and(|shared| rule.meters.contains(shared)),
            reports_drops: rule.reports_drops,
            counts_drops: counts_drops(rule),
            idle_limit: u64::try_from(rule.idle_limit.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    fn action(&self, act: &RuleAction) -> Action {
        match act {
            RuleAction::SlowPath => Action::SlowPath,
            RuleAction::Drop(reason) => Action::Drop(*reason),
            RuleAction::Send(send) => self.sending(send).map_or(Action::SlowPath, Action::Send),
        }
    }

    fn sending(&self, send: &SendAction) -> Option<CompiledSend> {
        let route = match &send.egress {
            Egress::Ip { network } if send.header.is_empty() => {
                Route::Network(self.topology_index.network(network)?)
            }
            Egress::Gtpu { local, peer, .. } => {
                let mut header = [0; MAX_HEADER];
                header.get_mut(..send.header.len())?.copy_from_slice(&send.header);
                header[4..8].fill(0);
                Route::Tunnel(Tunnel {
                    local: self.topology_index.local(local)?,
                    peer: *peer,
                    header,
                    header_len: send.header.len() as u8,
                    tos: send.marking.map_or(0, |marking| marking.apply(0)),
                })
            }
            _ => return None,
        };
        Some(CompiledSend {
            route,
            max_payload: u32::try_from(send.max_payload).unwrap_or(u32::MAX),
            is_routed: send.is_routed,
            leaves_link: send.leaves_link,
            is_gated: send.is_gated,
        })
    }
}

/// A program that sends all packets of a tunnel to the slow path.
fn slow_path_program(local: u8) -> Program {
    Program {
        set: SetId::ANY,
        steps: Box::from([Step::SLOW_PATH]),
        direction: Direction::Uplink,
        shared: None,
        local: Some(local),
        names_ue: false,
        has_more: false,
        is_final: false,
    }
}

fn entry_of(lookup: &LookupEntry, at: FlowKey, program: u32, of: Option<u32>) -> FlowEntry {
    let v4 = lookup.ue.v4.map_or(0, u32::from);
    let (key, aux, prefix) = match lookup.key {
        LookupKey::Tunnel { teid, .. } => (teid.value(), v4, lookup.ue.v6.unwrap_or(0)),
        LookupKey::Ipv4 { ue, .. } => (ue.into(), 0, 0),
        LookupKey::Ipv6 { prefix, .. } => (0, 0, prefix),
    };
    let mut entry = match of {
        Some(of) => FlowEntry::alias(key, at.scope(), program, of),
        None => FlowEntry::new(key, at.scope(), program),
    };
    (entry.ue_or_teid, entry.prefix) = (aux, prefix);
    entry
}
