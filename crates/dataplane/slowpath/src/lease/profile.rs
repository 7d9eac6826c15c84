//! Session profiles: the rules of sessions of one profile differ only in the session parameters.

use std::hash::{BuildHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use causeway_model::{Far, Pdi, Pdr, RuleMap, RuleSet, UeAddress};
use causeway_types::{FTeid, Seid, Teid};
use foldhash::fast::RandomState;

use super::lookup::{LookupEntry, LookupKey};
use super::offload_spec::OffloadSpec;
use crate::engine::SlowPath;

/// The session parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProfileParams {
    /// The IPv4 address of its UE.
    pub ue: Option<Ipv4Addr>,
    /// The local tunnel of its packets.
    pub tunnel: Option<(Teid, IpAddr)>,
    /// The TEID of the remote tunnel.
    pub remote: Option<Teid>,
}

/// The rules that the sessions of a profile share.
#[derive(Clone, Debug)]
pub struct ProfileRules(RuleSet);

impl ProfileParams {
    /// `None`: the rules may differ in more than these parameters.
    fn of(rules: &RuleSet) -> Option<Self> {
        let mut own = Self { ue: None, tunnel: None, remote: None };
        for pdi in rules.pdrs.values().map(|pdr| &pdr.pdi) {
            if !pdi.routes.is_empty() {
                return None;
            }
            if let Some(ue) = pdi.ue {
                let ip = ue.v4.filter(|_| ue.v6.is_none())?;
                (*own.ue.get_or_insert(ip) == ip).then_some(())?;
            }
            if let Some(tunnel) = pdi.tunnel {
                let ip = tunnel.addr.v4.filter(|_| tunnel.addr.v6.is_none())?;
                let end = (tunnel.teid, ip.into());
                (*own.tunnel.get_or_insert(end) == end).then_some(())?;
            }
        }
        for far in rules.fars.values() {
            if let Some(tunnel) = tunnel_of(far)
                && own.remote.replace(tunnel.teid).is_some()
            {
                return None;
            }
        }
        Some(own)
    }
}

impl LookupKey {
    /// The same lookup key with the parameters `params`.
    pub fn with_params(self, params: &ProfileParams) -> Self {
        match (self, params.ue, params.tunnel) {
            (Self::Tunnel { local, .. }, _, Some((teid, _))) => Self::Tunnel { teid, local },
            (Self::Ipv4 { network, .. }, Some(ue), _) => Self::Ipv4 { network, ue },
            (key, ..) => key,
        }
    }
}

impl LookupEntry {
    /// The same lookup entry with the parameters `params`.
    pub fn with_params(&self, params: &ProfileParams) -> Self {
        let mut lookup = Self { key: self.key.with_params(params), rules: Vec::new(), ..*self };
        lookup.ue.v4 = lookup.ue.v4.and(params.ue);
        lookup
    }
}

impl SlowPath {
    /// The parameters of a session, and a hash of the rules that other sessions may share. `None`: it certainly
    /// shares no profile. No other session may have an overlapping address.
    pub fn profile_params(&self, seid: Seid, hasher: &RandomState) -> Option<(ProfileParams, u64)> {
        let rules = &self.sessions.get(&seid)?.rules;
        let own = ProfileParams::of(rules)?;
        let mut state = hasher.build_hasher();
        for pdr in rules.pdrs.values() {
            (pdr.id, pdr.far, pdr.precedence).hash(&mut state);
        }
        for far in rules.fars.shared() {
            match tunnel_of(far) {
                Some(tunnel) => (far.id, tunnel.addr).hash(&mut state),
                None => state.write_usize(Arc::as_ptr(far).addr()),
            }
        }
        // Sessions mostly share these.
        rules.qers.shared().for_each(|qer| state.write_usize(Arc::as_ptr(qer).addr()));
        rules.urrs.shared().for_each(|urr| state.write_usize(Arc::as_ptr(urr).addr()));
        Some((own, state.finish()))
    }

    /// The profile of the session, whose parameters are known.
    pub fn profile_rules(&self, seid: Seid) -> Option<ProfileRules> {
        self.sessions.get(&seid).map(|session| ProfileRules(session.rules.clone()))
    }

    /// The session has this profile, and its parameters are known.
    pub fn has_profile(&self, seid: Seid, profile: &ProfileRules) -> bool {
        self.sessions.get(&seid).is_some_and(|session| have_same_profile(&session.rules, &profile.0))
    }
}

impl OffloadSpec {
    /// The same offload spec with the parameters `params` of another session of the profile.
    pub fn with_params(&self, params: &ProfileParams) -> Self {
        let mut spec = self.clone();
        for lookup in &mut spec.lookups {
            lookup.key = lookup.key.with_params(params);
            lookup.ue.v4 = lookup.ue.v4.and(params.ue);
        }
        for rule in &mut spec.rules {
            rule.action.with_remote_teid(params.remote);
        }
        spec
    }
}

/// The tunnel that a FAR forwards into, if any and known.
pub(super) fn tunnel_of(far: &Far) -> Option<FTeid> {
    far.forwarding.as_ref()?.tunnel()
}

fn have_same_profile(one: &RuleSet, other: &RuleSet) -> bool {
    let RuleSet { pdu_type, pdrs, fars, qers, urrs, bars, slice, paging, inactivity_timer } = one;
    *pdu_type == other.pdu_type
        && *slice == other.slice
        && *inactivity_timer == other.inactivity_timer
        && *qers == other.qers
        && *urrs == other.urrs
        && *bars == other.bars
        && *paging == other.paging
        && all_match(fars, &other.fars, fars_match)
        && all_match(pdrs, &other.pdrs, pdrs_match)
}

fn all_match<I: Ord, R>(
    one: &RuleMap<I, R>,
    other: &RuleMap<I, R>,
    matches: impl Fn(&R, &R) -> bool,
) -> bool {
    let is_match = |(one, other)| Arc::ptr_eq(one, other) || matches(one, other);
    one.len() == other.len() && one.shared().zip(other.shared()).all(is_match)
}

/// The FARs are equal but for the remote TEID.
fn fars_match(one: &Far, other: &Far) -> bool {
    match (tunnel_of(one), tunnel_of(other)) {
        (Some(to), Some(of)) => to.addr == of.addr && differ_in_tunnel_only(one, other),
        _ => one == other,
    }
}

/// The FARs are equal but for the remote GTP-U tunnel.
pub(super) fn differ_in_tunnel_only(one: &Far, other: &Far) -> bool {
    let (Some(forwarding), Some(params)) = (&one.forwarding, &other.forwarding) else { return false };
    if tunnel_of(one).is_none() || tunnel_of(other).is_none() {
        return false;
    }
    let Far { id, action, forwarding: _, duplicate, duplicates, bar, delivery_status } = one;
    let causeway_model::Forwarding {
        destination,
        network_instance,
        outer: _,
        marking,
        vlan,
        proxying,
        steering,
        enrichment,
    } = forwarding;
    (*id, *action, *duplicate, *bar) == (other.id, other.action, other.duplicate, other.bar)
        && *delivery_status == other.delivery_status
        && *duplicates == other.duplicates
        && (*destination, *marking, *vlan) == (params.destination, params.marking, params.vlan)
        && *proxying == params.proxying
        && *network_instance == params.network_instance
        && *steering == params.steering
        && *enrichment == params.enrichment
}

/// The PDRs are equal but for UE address and TEID.
fn pdrs_match(one: &Pdr, other: &Pdr) -> bool {
    let Pdr {
        id,
        precedence,
        pdi,
        removal,
        vlan_removal,
        far,
        qers,
        urrs,
        predefined,
        active_from,
        active_until,
    } = one;
    (*id, *precedence, *far) == (other.id, other.precedence, other.far)
        && (*removal, *vlan_removal) == (other.removal, other.vlan_removal)
        && (*active_from, *active_until) == (other.active_from, other.active_until)
        && pdis_match(pdi, &other.pdi)
        && *qers == other.qers
        && *urrs == other.urrs
        && *predefined == other.predefined
}

fn pdis_match(one: &Pdi, other: &Pdi) -> bool {
    let Pdi {
        source,
        tunnel,
        network_instance,
        ue,
        routes,
        further: _,
        qfis,
        filters,
        application,
        whole_ethernet_session,
        ethernet,
    } = one;
    let addr = |tunnel: &Option<FTeid>| tunnel.map(|tunnel| tunnel.addr);
    let form = |ue: &Option<UeAddress>| ue.map(|ue| (ue.side, ue.v4.is_some(), ue.v6));
    (*source, *qfis, *whole_ethernet_session) == (other.source, other.qfis, other.whole_ethernet_session)
        && addr(tunnel) == addr(&other.tunnel)
        && form(ue) == form(&other.ue)
        && *network_instance == other.network_instance
        && *routes == other.routes
        && *filters == other.filters
        && *application == other.application
        && *ethernet == other.ethernet
}
