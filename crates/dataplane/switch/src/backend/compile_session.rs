//! Compiles the rules of a session to entries of the switch's tables, or returns why that is impossible.

use causeway_p4::names::table;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use causeway_model::{Forwarding, Pdr, RuleSet, UeSide};
use causeway_slowpath::lease::direction_of;
use causeway_types::{Direction, Interface, PdrId, QerId, Span, UrrId};

use super::application_classes::{ClassView, Measured};
use super::config::Config;
use super::direct::{self, ClassOwners, ClassShare, Classes, Filters, Group, LookupPoint};
use super::layout::{Layout, Profile};
use super::pdr_treatment::{Refused, Treatment, check_session, unsupported};
use super::segments::Tenant;
use super::session_treatments::{Grouped, before_qos, treatments};
use super::table_placement::{self, Candidate};
use super::template::{RuleAction, Template};
use crate::driver::{EntryKey, Rates};

/// The key by which packets find a session: unique among sessions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum LookupKey {
    /// A local TEID.
    Tunnel(u32),
    /// A UE's IPv4 address, for packets of a data network.
    V4(Tenant, Ipv4Addr),
    /// The upper half of a UE's IPv6 addresses, likewise.
    V6(Tenant, u64),
}

/// The compiled form of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct CompiledSession {
    /// By rule. A PDR that no packet can reach, behind others, is omitted.
    pub(super) rules: BTreeMap<PdrId, CompiledRule>,
    /// Entries of the source guard, and the tenants of their tunnels.
    pub(super) guards: Vec<(EntryKey, Tenant)>,
    pub(super) keys: BTreeSet<LookupKey>,
    /// By address of the UE, in profile `direct`: the rule of packets without a filter class.
    pub(super) ues: BTreeMap<LookupKey, Option<PdrId>>,
    /// All filters that the switch uses for its packets, in profile `direct`.
    pub(super) filters: Filters,
    /// By QER and direction (true: uplink).
    pub(super) meters: BTreeMap<(QerId, bool), Rates>,
    /// The application class for which it is compiled.
    pub(super) measured: Option<Measured>,
}

/// The compiled form of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CompiledRule {
    /// Its entries in the tables of rules.
    pub(super) rows: Vec<EntryKey>,
    /// The receive source of its packets, in profile `direct`: its entries follow from the numbers that it gets.
    pub(super) spot: Option<LookupPoint>,
    /// Classes of packets that it handles, likewise.
    pub(super) shares: Vec<ClassShare>,
    pub(super) content: NumberContent,
}

/// The meaning of a rule's number. A different content needs a different number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NumberContent {
    pub(super) template: Template,
    /// The TEID at the far end of the packets' outgoing tunnel.
    pub(super) teid: u32,
    pub(super) meter: Option<QerId>,
    pub(super) urrs: Vec<UrrId>,
    /// URRs that do not count its packets: their quotas are exhausted.
    pub(super) uncounted: Vec<UrrId>,
    /// Packets arrive in a tunnel.
    pub(super) is_tunnelled: bool,
    /// It has entries for accounting.
    pub(super) is_counted: bool,
    /// A URR counts before QoS enforcement.
    pub(super) before_qos: bool,
    /// Octets of segments around counted frames: before and after QoS enforcement.
    pub(super) underlay: [u64; 2],
}

/// Compiles a session with these rules, while these quotas are exhausted. In profile `direct` the software handles
/// rules with filters if no classes are given; otherwise all required classes must be among the given ones. PDRs that name applications
/// are handled as the view says.
///
/// # Errors
/// What the program cannot express, as [`causeway_dataplane::ApplyError::Unsupported`].
pub(super) fn compile(
    rules: &RuleSet,
    exhausted: &BTreeSet<UrrId>,
    layout: &Layout,
    config: &Config,
    classes: Option<&Classes>,
    view: ClassView<'_>,
) -> Result<CompiledSession, Refused> {
    check_session(rules)?;
    let pdrs = in_order(rules, view);
    let mut session = CompiledSession { measured: view.measured(), ..CompiledSession::default() };
    let is_by_index = layout.profile == Profile::Direct;
    let by_index = if is_by_index { groups(rules, view, layout, config)? } else { Vec::new() };
    let grouped = |group| Grouped { group, is_in_software: classes.is_none() };
    let mut by_index: Vec<Grouped<'_>> = by_index.iter().map(grouped).collect();
    let mut groups: BTreeMap<LookupKey, Vec<Candidate<'_>>> = BTreeMap::new();
    let of_index = is_by_index.then_some(by_index.as_mut_slice());
    let treatments = treatments(rules, exhausted, config, view, of_index)?;
    for pdr in pdrs {
        let Some((_, treatment)) = treatments.get(&pdr.id) else { continue };
        for key in doors(pdr, config)? {
            groups.entry(key).or_default().push(Candidate { pdr, action: treatment.action });
        }
    }
    for (key, group) in groups {
        session.keys.insert(key);
        if let LookupKey::Tunnel(teid) = key {
            let tenant = tenant_of_tunnel(teid, rules, config);
            let guards = guards(teid, &group, layout, config)?;
            session.guards.extend(guards.into_iter().map(|key| (key, tenant)));
        }
        if is_by_index {
            continue;
        }
        for (pdr, row) in table_placement::rows(key, &group, layout)? {
            let Some((rule, treatment)) = treatments.get(&pdr) else { continue };
            let wanted = || CompiledRule {
                rows: Vec::new(),
                spot: None,
                shares: Vec::new(),
                content: content(rule, treatment, rules, exhausted, config),
            };
            session.rules.entry(pdr).or_insert_with(wanted).rows.push(row);
        }
    }
    for Grouped { group, .. } in by_index.iter().filter(|grouped| !grouped.is_in_software) {
        session.filters.append(&mut group.filters()?);
    }
    let by_index = by_index.iter().map(|grouped| (grouped.group, grouped.is_in_software));
    let ClassOwners { mut spots, mut shares, ues } = ClassOwners::new(by_index, classes);
    session.ues = ues;
    for (pdr, (rule, treatment)) in treatments.iter().filter(|_| is_by_index) {
        let (spot, shares) = (spots.remove(pdr), shares.remove(pdr).unwrap_or_default());
        if spot.is_some() || !shares.is_empty() {
            let content =
                NumberContent { is_counted: true, ..content(rule, treatment, rules, exhausted, config) };
            session.rules.insert(*pdr, CompiledRule { rows: Vec::new(), spot, shares, content });
        }
    }
    for (id, wanted) in &session.rules {
        let Some((pdr, _)) = treatments.get(id) else { continue };
        if let Some(qer) = wanted.content.meter {
            let is_uplink = direction_of(pdr) == Direction::Uplink;
            let rates = rates(rules, qer, direction_of(pdr), config.limits.averaging_window);
            session.meters.extend(rates.map(|rates| ((qer, is_uplink), rates)));
        }
    }
    Ok(session)
}

fn content(
    pdr: &Pdr,
    treatment: &Treatment,
    rules: &RuleSet,
    exhausted: &BTreeSet<UrrId>,
    config: &Config,
) -> NumberContent {
    let before_qos = before_qos(pdr, rules);
    let is_uplink = direction_of(pdr) == Direction::Uplink;
    let is_dropped = matches!(treatment.action, RuleAction::Drop(_));
    let is_read = treatment.action.forwards() || before_qos;
    let beside = pdr.urrs.iter().filter(|id| is_read && exhausted.contains(id));
    NumberContent {
        template: Template { action: treatment.action, is_uplink },
        teid: treatment.teid,
        meter: treatment.meter,
        urrs: pdr.urrs.clone(),
        uncounted: beside.copied().collect(),
        is_tunnelled: pdr.pdi.tunnel.is_some(),
        is_counted: treatment.action.forwards()
            || is_dropped && (before_qos || rules.inactivity_timer.is_some()),
        before_qos,
        underlay: underlay(pdr, treatment, rules, config),
    }
}

/// The groups of candidate rules, in profile `direct`.
fn groups<'r>(
    rules: &'r RuleSet,
    view: ClassView<'_>,
    layout: &Layout,
    config: &Config,
) -> Result<Vec<Group<'r>>, Refused> {
    let mut by_key: BTreeMap<LookupKey, Vec<&Pdr>> = BTreeMap::new();
    for pdr in in_order(rules, view) {
        for key in doors(pdr, config)? {
            by_key.entry(key).or_default().push(pdr);
        }
    }
    Ok(direct::groups(&by_key, layout))
}

/// The PDRs that packets may match, by precedence.
fn in_order<'r>(rules: &'r RuleSet, view: ClassView<'_>) -> Vec<&'r Pdr> {
    let mut pdrs: Vec<&Pdr> = rules.pdrs.values().filter(|pdr| view.matches(pdr)).collect();
    pdrs.sort_unstable_by_key(|pdr| (pdr.precedence, pdr.id));
    pdrs
}

/// The lookup keys of a PDR.
fn doors(pdr: &Pdr, config: &Config) -> Result<Vec<LookupKey>, Refused> {
    if let Some(tunnel) = pdr.pdi.tunnel {
        return Ok(vec![LookupKey::Tunnel(tunnel.teid.value())]);
    }
    let ue = pdr.pdi.ue.filter(|ue| ue.side == UeSide::Destination);
    let ue = ue.ok_or(unsupported("a PDR for packets of a data network that names no UE as destination"))?;
    let keys = |tenant: Tenant| {
        let v4 = ue.v4.map(|ip| LookupKey::V4(tenant, ip));
        let v6 = ue.v6.map(|net| LookupKey::V6(tenant, (u128::from(net.addr()) >> 64) as u64));
        v4.into_iter().chain(v6)
    };
    Ok(arrives_from(pdr, config).into_iter().flat_map(keys).collect())
}

/// The tenants from which packets without a tunnel match a PDR: without a Network Instance, all.
pub(super) fn arrives_from(pdr: &Pdr, config: &Config) -> Vec<Tenant> {
    match &pdr.pdi.network_instance {
        Some(network) => config.tenant_of(network).into_iter().collect(),
        None => config.tenants().collect(),
    }
}

/// The data network that a FAR forwards to without a tunnel. `None`: it names none that the switch serves.
pub(super) fn leaves_to(pdr: &Pdr, forwarding: &Forwarding, config: &Config) -> Option<Tenant> {
    let first = || config.topology.networks.first().map(|network| &network.instance);
    let named = forwarding.network_instance.as_ref().or(pdr.pdi.network_instance.as_ref());
    config.tenant_of(named.or_else(first)?)
}

/// The tenant of all packets in a tunnel: that of the pool of its TEID, or of the data network that its first PDR leads to.
pub(super) fn tenant_of_tunnel(teid: u32, rules: &RuleSet, config: &Config) -> Tenant {
    if let Some(pool) = config.guards.iter().find(|guard| guard.has_teid(teid)) {
        return config.tenant_of_pool(pool).unwrap_or_default();
    }
    let is_in = |pdr: &&Pdr| pdr.pdi.tunnel.is_some_and(|tunnel| tunnel.teid.value() == teid);
    let exit = |pdr: &Pdr| {
        let forwarding = rules.fars.get(&pdr.far)?.forwarding.as_ref()?;
        let leaves = forwarding.outer.is_none() && forwarding.destination != Interface::Access;
        let tenant = leaves.then(|| leaves_to(pdr, forwarding, config))??;
        Some(((pdr.precedence, pdr.id), tenant))
    };
    let exits = rules.pdrs.values().filter(is_in).filter_map(exit);
    exits.min_by_key(|(order, _)| *order).map_or_else(Tenant::default, |(_, tenant)| tenant)
}

/// Octets of segments around the frames of a rule, as they come and as they leave.
fn underlay(pdr: &Pdr, treatment: &Treatment, rules: &RuleSet, config: &Config) -> [u64; 2] {
    let tenant = |tenant: Option<Tenant>| tenant.map_or(0, |tenant| config.underlay_octets(tenant));
    let (came, network) = match pdr.pdi.tunnel {
        Some(tunnel) => {
            (config.access_octets(), tenant(Some(tenant_of_tunnel(tunnel.teid.value(), rules, config))))
        }
        // Those of several data networks have the same headers.
        None => (tenant(arrives_from(pdr, config).first().copied()), config.access_octets()),
    };
    let leaves = match treatment.action {
        RuleAction::Encapsulate { .. } => config.access_octets(),
        _ => network,
    };
    [came, leaves]
}

/// The source guard entries for a tunnel. All its rules name the same UE.
fn guards(
    teid: u32,
    group: &[Candidate<'_>],
    layout: &Layout,
    config: &Config,
) -> Result<Vec<EntryKey>, Refused> {
    let named = |pdr: &Pdr| pdr.pdi.ue.filter(|ue| ue.side == UeSide::Source);
    let ue = group.first().and_then(|first| named(first.pdr));
    if group.iter().any(|candidate| named(candidate.pdr) != ue) {
        return Err(unsupported("PDRs of one tunnel that name different UE addresses as source"));
    }
    let row = |table: &str, source: Option<u128>| table_placement::guard_row(layout, table, teid, source);
    let pool = config.guards.iter().find(|guard| guard.has_teid(teid));
    let Some(ue) = ue else {
        return match pool {
            Some(_) => Err(unsupported("a tunnel without a UE address whose TEID is of a pool of UEs")),
            None => Ok([row(table::SOURCE_GUARD, None), row(table::SOURCE_GUARD_IPV6, None)]
                .into_iter()
                .flatten()
                .collect()),
        };
    };
    let mut rows = Vec::new();
    match (ue.v4, pool) {
        (Some(ip), Some(guard)) if guard.fits(teid, ip) => {}
        (_, Some(_)) => return Err(unsupported("a TEID of a pool of UEs, for another UE than it says")),
        (Some(ip), None) => rows.extend(row(table::SOURCE_GUARD, Some(u32::from(ip).into()))),
        (None, None) => {}
    }
    let prefix = ue.v6.map(|net| u128::from(net.addr()) >> 64);
    rows.extend(prefix.and_then(|prefix| row(table::SOURCE_GUARD_IPV6, Some(prefix))));
    Ok(rows)
}

/// The rates of a QER's meter: the MBR as peak rate, the GBR as committed rate.
fn rates(rules: &RuleSet, qer: QerId, direction: Direction, window: Span) -> Option<Rates> {
    /// The largest frame: the least size of a bucket with which every frame can pass.
    const LARGEST_FRAME: u64 = 1600;
    let qer = rules.qers.get(&qer)?;
    let window = qer.averaging_window.unwrap_or(window);
    let burst = |octets: u64| match octets {
        0 => 0,
        _ => ((octets as f64 * window.as_secs_f64()) as u64).max(LARGEST_FRAME),
    };
    let octets = |kbps: u64| kbps.saturating_mul(125);
    let peak = octets(qer.mbr?.rate(direction).kbps());
    let committed = qer.guaranteed(direction).map_or(0, |rate| octets(rate.kbps()));
    Some(Rates { committed, committed_burst: burst(committed), peak, peak_burst: burst(peak) })
}
