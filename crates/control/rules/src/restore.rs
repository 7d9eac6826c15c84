//! The rules of a session as another had them: a member of a chain of UPFs, or a data plane that established it.

use causeway_collections::{SortedMap, SortedSet};
use causeway_model::{LocalEndpoints, Plan, RuleSet};
use causeway_types::{NodeId, Seid, Transfer, put_list, transfer_fields, transfer_variants};

use crate::addresses::{ClaimedPrefix, PrefixKind};
use crate::change::claim;
use crate::edits::{Endpoint, EndpointId, EndpointUe, UeChoice};
use crate::session::ReportState;
use crate::validate::{Context, validate};
use crate::{Change, PlannedChange, Rejection, Resources, SessionRules, StoredRules};

/// A session of another, planned.
#[derive(Debug)]
pub struct Restored {
    /// The change.
    pub planned: PlannedChange,
    /// The rules that the session has until the change is in force: the state of its reports.
    pub held: StoredRules,
}

/// Plans the session with the UPF's SEID `session` that another had with these rules: its tunnels and addresses are those
/// of the rules, whoever chose them. Sessions that differ in their parameters alone share a profile from the third one on.
///
/// # Errors
/// This UPF cannot have these rules, for example since another session has a tunnel of them; `resources` is unchanged.
pub fn restore(
    rules: SessionRules,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<Restored, Rejection> {
    if let Some(profiled) = resources.restore_profiled(session, &rules, context) {
        let planned = PlannedChange::install(session, profiled.clone());
        return Ok(Restored { planned, held: StoredRules::restored(profiled, rules.reports) });
    }
    let change = restore_whole(rules, session, context, resources)?;
    resources.remember_restored(&change.session, context);
    Ok(Restored { planned: change.into(), held: StoredRules::default() })
}

fn restore_whole(
    mut rules: SessionRules,
    session: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<Change, Rejection> {
    validate(rules.rules(), context)?;
    let Resources { claims, recent } = resources;
    let mut claims = claims.lock();
    let (tunnels, addresses) = claims.reserve(session);
    let before = SessionRules::of_type(rules.rules.pdu_type);
    let claimed = claim(session, &before, &rules, tunnels, addresses)?;
    recent.intern(&mut rules.rules, &before.rules);
    let plan = Plan::install(session, rules.rules().clone());
    Ok(Change::without_choices(rules, plan, claimed))
}

impl SessionRules {
    /// The rules of a session that a data plane has established itself for this SMF, without URRs and traffic endpoints. `choose_id`: the
    /// CHOOSE ID of its local tunnel.
    pub fn adopted(rules: RuleSet, choose_id: Option<u8>, smf: NodeId, endpoints: &LocalEndpoints) -> Self {
        let tunnel = rules.pdrs.values().find_map(|pdr| pdr.pdi.tunnel);
        let choose_ids = choose_id.zip(tunnel).into_iter().collect();
        let mut session = Self { rules, choose_ids, established_by: Some(smf), ..Self::default() };
        session.sync_addresses(endpoints.networks.first());
        session
    }
}

transfer_fields! {
    ReportState { packets, reduced_detection, next }
    Endpoint { tunnel, network_instance, ue, framed, qfis, whole_ethernet_session }
    EndpointUe { first, further, choice }
    UeChoice { v4, v6, side, pools }
    ClaimedPrefix { network, net, chosen, all_networks, kind }
}

transfer_variants! {
    PrefixKind { 0 => Ue, 1 => Route }
}

impl Transfer for EndpointId {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Transfer::take(input).map(Self)
    }
}

impl Transfer for SessionRules {
    fn put(&self, out: &mut Vec<u8>) {
        self.rules.put(out);
        put_map(&self.choose_ids, out);
        put_map(&self.reports, out);
        put_map(&self.endpoints, out);
        put_map(&self.endpoint_of, out);
        put_list(self.chosen_ues.iter(), out);
        put_list(self.addresses.iter(), out);
        self.established_by.put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Some(Self {
            rules: Transfer::take(input)?,
            choose_ids: take_map(input)?,
            reports: take_map(input)?,
            endpoints: take_map(input)?,
            endpoint_of: take_map(input)?,
            chosen_ues: take_set(input)?,
            addresses: take_set(input)?,
            established_by: Transfer::take(input)?,
        })
    }
}

fn put_map<K: Transfer, V: Transfer>(map: &SortedMap<K, V>, out: &mut Vec<u8>) {
    (map.len() as u32).put(out);
    for (key, value) in map.iter() {
        key.put(out);
        value.put(out);
    }
}

fn take_map<K: Transfer + Ord, V: Transfer>(input: &mut &[u8]) -> Option<SortedMap<K, V>> {
    Vec::<(K, V)>::take(input).map(|items| items.into_iter().collect())
}

fn take_set<T: Transfer + Ord>(input: &mut &[u8]) -> Option<SortedSet<T>> {
    Vec::<T>::take(input).map(|items| items.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use causeway_types::Seid;
    use proptest::prelude::*;

    use super::*;
    use crate::Catalogue;
    use crate::Tunnels;
    use crate::change::establish_with;
    use crate::testing::{SESSION, addresses, capabilities, changes, endpoints};

    fn resources() -> Resources {
        Resources::new(Tunnels::new(1000, 3), addresses())
    }

    proptest! {
        // Input:  a session that any legal establishment makes; its octets, in a UPF without sessions, with another seed.
        // Output: the same rules, tunnels and addresses; a session that comes next gets neither.
        #[test]
        fn a_session_is_restored_as_it_was(requested in changes()) {
            let (capabilities, endpoints, catalogue) = (capabilities(), endpoints(), Catalogue::default());
            let context = Context { capabilities: &capabilities, endpoints: &endpoints, catalogue: &catalogue };
            let mut first = resources();
            let Ok(change) = establish_with(requested, SESSION, &context, &mut first) else { return Ok(()) };
            let octets = change.session.to_octets();
            let rules = SessionRules::from_octets(&octets).ok_or_else(|| TestCaseError::fail("octets"))?;
            prop_assert_eq!(&rules, &change.session);
            let mut second = resources();
            let restored = restore_whole(rules.clone(), SESSION, &context, &mut second);
            let restored = restored.map_err(|why| TestCaseError::fail(why.to_string()))?;
            prop_assert_eq!(&restored.session, &change.session);
            prop_assert_eq!(&restored.plan, &change.plan);
            prop_assert_eq!(second.tunnels().in_use(), first.tunnels().in_use());
            prop_assert_eq!(second.addresses().in_use(), first.addresses().in_use());
            second.commit(restored.resources);
            // Another session cannot be there with the same.
            let again = restore_whole(rules.clone(), Seid(2), &context, &mut second);
            let has_own = !change.session.tunnels().is_empty() || !change.session.addresses.is_empty();
            prop_assert_eq!(again.is_err(), has_own);
        }

        // Input:  a session that any legal establishment makes, three times: with other addresses, tunnels and SEIDs, and reports sent in between.
        // Output: each is there as it was, with what it holds; the last one is stored as a profile and parameters, if its rules allow that. They
        //         release all that they hold.
        #[test]
        fn sessions_of_a_kind_share_a_profile(requested in changes()) {
            let (capabilities, endpoints, catalogue) = (capabilities(), endpoints(), Catalogue::default());
            let context = Context { capabilities: &capabilities, endpoints: &endpoints, catalogue: &catalogue };
            let (mut first, mut second) = (resources(), resources());
            let mut all = Vec::new();
            for number in 0..4_u32 {
                let mut requested = requested.clone();
                for draft in &mut requested.pdrs.create {
                    if let Some(ip) = draft.pdi.ue.as_mut().and_then(|ue| ue.v4.as_mut()) {
                        *ip = (u32::from(*ip) + number).into();
                    }
                }
                let session = Seid(10 + u64::from(number));
                let Ok(mut change) = establish_with(requested, session, &context, &mut first) else { return Ok(()) };
                change.session.reports.values_mut().for_each(|state| state.next = number);
                let restored = restore(change.session.clone(), session, &context, &mut second);
                let Restored { planned, mut held } = restored.map_err(|why| TestCaseError::fail(why.to_string()))?;
                prop_assert_eq!(&planned.pending.rules().into_owned(), change.session.rules());
                planned.pending.commit(session, &mut held, &mut second);
                prop_assert_eq!(&held.to_rules().into_owned(), &change.session);
                first.commit(change.resources);
                prop_assert_eq!(second.tunnels().in_use(), first.tunnels().in_use());
                prop_assert_eq!(second.addresses().in_use(), first.addresses().in_use());
                all.push((session, held));
            }
            for (session, held) in all {
                PlannedChange::removal(session, &held).pending.end(session, &held, &mut second);
            }
            prop_assert_eq!((second.tunnels().in_use(), second.addresses().in_use()), (0, 0));
        }

        // Input:  any octets, or those of a session with one changed.
        // Output: rules or none, and no panic; what is read is written as the same rules.
        #[test]
        fn any_octets_are_rules_or_none(octets: Vec<u8>) {
            if let Some(rules) = SessionRules::from_octets(&octets) {
                prop_assert_eq!(SessionRules::from_octets(&rules.to_octets()), Some(rules));
            }
        }
    }
}
