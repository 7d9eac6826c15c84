//! The rules of a session as rows of the switch's tables; or why they cannot be.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use causeway_reference::lease::direction_of;
use causeway_rules::{Far, Pdr, PduSessionType, RuleSet, Steering, UeSide};
use causeway_types::{Direction, Interface, PdrId, QerId, Span, Time, UrrId};

use super::config::Config;
use super::layout::Layout;
use super::place::{self, Candidate};
use super::template::{Deed, Template};
use super::treat::{self, Cannot, Refused, Treatment, unsupported};
use crate::driver::{EntryKey, Rates};

/// What packets find a session by: no two sessions have the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Door {
    /// A TEID of ours.
    Tunnel(u32),
    /// A UE's IPv4 address, for packets of the data network.
    V4(Ipv4Addr),
    /// The upper half of a UE's IPv6 addresses, likewise.
    V6(u64),
}

/// A session as the switch is to have it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Picture {
    /// By rule. A PDR that no packet can reach, behind others, is not there.
    pub(super) rules: BTreeMap<PdrId, Wanted>,
    /// Rows of the source guard.
    pub(super) guards: Vec<EntryKey>,
    pub(super) doors: BTreeSet<Door>,
    /// By QER and direction (true: uplink).
    pub(super) meters: BTreeMap<(QerId, bool), Rates>,
}

/// A rule as the switch is to have it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    /// Its rows in the tables of rules.
    pub(super) rows: Vec<EntryKey>,
    pub(super) content: Content,
}

/// What a rule's number stands for. With another content it has another number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Content {
    pub(super) template: Template,
    /// The TEID at the far end of the tunnel that packets leave by.
    pub(super) teid: u32,
    pub(super) meter: Option<QerId>,
    pub(super) urrs: Vec<UrrId>,
    /// Packets come in a tunnel.
    pub(super) is_tunnelled: bool,
    /// It has entries for accounting.
    pub(super) is_counted: bool,
    /// A URR wants what comes before QoS enforcement.
    pub(super) before_qos: bool,
}

/// The picture of a session with these rules, while these quotas are exhausted.
///
/// # Errors
/// What the program cannot say, as [`causeway_dataplane::ApplyError::Unsupported`].
pub(super) fn picture(
    rules: &RuleSet,
    exhausted: &BTreeSet<UrrId>,
    layout: &Layout,
    config: &Config,
) -> Result<Picture, Refused> {
    check_session(rules)?;
    let mut pdrs: Vec<&Pdr> = rules.pdrs.values().collect();
    pdrs.sort_unstable_by_key(|pdr| (pdr.precedence, pdr.id));
    let mut picture = Picture::default();
    let mut groups: BTreeMap<Door, Vec<Candidate<'_>>> = BTreeMap::new();
    let treatments = treatments(rules, exhausted, config)?;
    for pdr in pdrs {
        let Some((_, treatment)) = treatments.get(&pdr.id) else { continue };
        for door in doors(pdr)? {
            groups.entry(door).or_default().push(Candidate { pdr, deed: treatment.deed });
        }
    }
    for (door, group) in groups {
        picture.doors.insert(door);
        if let Door::Tunnel(teid) = door {
            picture.guards.extend(guards(teid, &group, layout, config)?);
        }
        for (pdr, row) in place::rows(door, &group, layout)? {
            let Some((rule, treatment)) = treatments.get(&pdr) else { continue };
            let wanted = || Wanted { rows: Vec::new(), content: content(rule, treatment, rules) };
            picture.rules.entry(pdr).or_insert_with(wanted).rows.push(row);
        }
    }
    for (id, wanted) in &picture.rules {
        let Some((pdr, _)) = treatments.get(id) else { continue };
        if let Some(qer) = wanted.content.meter {
            let is_uplink = direction_of(pdr) == Direction::Uplink;
            let rates = rates(rules, qer, direction_of(pdr), config.limits.averaging_window);
            picture.meters.extend(rates.map(|rates| ((qer, is_uplink), rates)));
        }
    }
    Ok(picture)
}

fn content(pdr: &Pdr, treatment: &Treatment, rules: &RuleSet) -> Content {
    let before_qos =
        pdr.urrs.iter().filter_map(|id| rules.urrs.get(id)).any(|urr| urr.before_qos && urr.method.volume);
    let is_uplink = direction_of(pdr) == Direction::Uplink;
    let is_dropped = matches!(treatment.deed, Deed::Drop(_));
    Content {
        template: Template { deed: treatment.deed, is_uplink },
        teid: treatment.teid,
        meter: treatment.meter,
        urrs: pdr.urrs.clone(),
        is_tunnelled: pdr.pdi.tunnel.is_some(),
        is_counted: treatment.deed.forwards()
            || is_dropped && (before_qos || rules.inactivity_timer.is_some()),
        before_qos,
    }
}

fn check_session(rules: &RuleSet) -> Result<(), Refused> {
    if rules.pdu_type != PduSessionType::Ip {
        return Err(unsupported("an Ethernet session"));
    }
    Ok(())
}

/// What holds for all rules of a session, and the switch cannot do.
fn whole_session(rules: &RuleSet, config: &Config) -> Option<&'static str> {
    if !rules.paging.is_empty() {
        return Some("paging policies");
    }
    // Answers to packets that were changed must be changed, too, whatever rule they match.
    let changes = |far: &Far| {
        far.forwarding
            .as_ref()
            .is_some_and(|it| it.steering != Steering::default() || !it.enrichment.is_empty())
    };
    if rules.fars.values().any(changes) {
        return Some("a FAR that redirects, steers or enriches packets");
    }
    let is_limited = config.topology.slices.iter().any(|limit| Some(limit.slice) == rules.slice);
    is_limited.then_some("a network slice whose traffic is limited as a whole")
}

/// The treatments of all PDRs: what the switch cannot do is for the software, if it may be.
fn treatments<'r>(
    rules: &'r RuleSet,
    exhausted: &BTreeSet<UrrId>,
    config: &Config,
) -> Result<BTreeMap<PdrId, (&'r Pdr, Treatment)>, Refused> {
    let whole = whole_session(rules, config).map(Cannot::Here);
    let mut treatments = BTreeMap::new();
    let mut in_software: BTreeSet<QerId> = BTreeSet::new();
    for pdr in rules.pdrs.values() {
        check_pdr(pdr, config)?;
        let treated = treat::treat(pdr, rules, exhausted, &config.topology);
        let treated = treated.and_then(|treatment| match whole {
            Some(cannot) if treatment.deed.forwards() => Err(cannot),
            _ => Ok(treatment),
        });
        let treatment = match treated {
            Err(Cannot::Here(_)) if config.falls_back => {
                in_software.extend(&pdr.qers);
                TO_SOFTWARE
            }
            other => other?,
        };
        treatments.insert(pdr.id, (pdr, treatment));
    }
    // A rate is kept in one place: rules that share it with one in software go there, too.
    let mut grows = true;
    while std::mem::take(&mut grows) {
        for (pdr, treatment) in treatments.values_mut() {
            let shares = treatment.meter.is_some_and(|qer| in_software.contains(&qer));
            if shares {
                *treatment = TO_SOFTWARE;
                in_software.extend(&pdr.qers);
                grows = true;
            }
        }
    }
    Ok(treatments)
}

const TO_SOFTWARE: Treatment = Treatment { deed: Deed::Buffer, teid: 0, meter: None };

fn check_pdr(pdr: &Pdr, config: &Config) -> Result<(), Refused> {
    let pdi = &pdr.pdi;
    if !pdr.predefined.is_empty() || pdi.application.is_some() {
        return Err(unsupported("predefined rules and applications"));
    }
    if pdr.active_until.is_some() || pdr.active_from.is_some_and(|from| from != Time::default()) {
        return Err(unsupported("a PDR with an Activation or Deactivation Time"));
    }
    if !pdi.routes.is_empty() {
        return Err(unsupported("framed routes, and UEs with several addresses"));
    }
    if pdi.whole_ethernet_session || !pdi.ethernet.is_empty() || pdr.vlan_removal.is_some() {
        return Err(unsupported("Ethernet frames"));
    }
    if pdi.source == Interface::VnInternal {
        return Err(unsupported("packets of a virtual network"));
    }
    if pdi.ue.and_then(|ue| ue.v6).is_some_and(|net| net.prefix_len() != 64) {
        return Err(unsupported("a UE whose IPv6 prefix has other than 64 bits"));
    }
    treat::check_removal(pdr)?;
    match pdi.tunnel {
        Some(_) => check_tunnel(pdr, config),
        None => Ok(treat::serves(pdi.network_instance.as_ref(), &config.topology)?),
    }
}

fn check_tunnel(pdr: &Pdr, config: &Config) -> Result<(), Refused> {
    let Some(tunnel) = pdr.pdi.tunnel else { return Ok(()) };
    let own = tunnel.addr.v4.filter(|ip| treat::is_own(*ip, &config.topology));
    let own = own.ok_or(unsupported("a tunnel that ends at no IPv4 address of ours"))?;
    if tunnel.addr.v6.is_some() {
        return Err(unsupported("a tunnel that ends at an IPv6 address"));
    }
    if tunnel.teid.value() >> 24 != 0 {
        return Err(unsupported("a TEID of more than 24 bits"));
    }
    let end = config.topology.gtpu.iter().find(|end| end.addr.v4 == Some(own));
    let instance = end.and_then(|end| end.network_instance.as_ref());
    match (instance, &pdr.pdi.network_instance) {
        (Some(instance), Some(asked)) if instance != asked => {
            Err(unsupported("a tunnel that ends in another network than the PDI says"))
        }
        _ => Ok(()),
    }
}

/// Where packets of a PDR come in.
fn doors(pdr: &Pdr) -> Result<Vec<Door>, Refused> {
    if let Some(tunnel) = pdr.pdi.tunnel {
        return Ok(vec![Door::Tunnel(tunnel.teid.value())]);
    }
    let ue = pdr.pdi.ue.filter(|ue| ue.side == UeSide::Destination);
    let ue = ue.ok_or(unsupported("a PDR for packets of a data network that names no UE as destination"))?;
    let v4 = ue.v4.map(Door::V4);
    let v6 = ue.v6.map(|net| Door::V6((u128::from(net.addr()) >> 64) as u64));
    Ok(v4.into_iter().chain(v6).collect())
}

/// The rows of the source guard for a tunnel. All its rules name the same UE.
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
    let row = |table: &str, source: Option<u128>| place::guard_row(layout, table, teid, source);
    let pool = config.guards.iter().find(|guard| guard.has_teid(teid));
    let Some(ue) = ue else {
        return match pool {
            Some(_) => Err(unsupported("a tunnel without a UE address whose TEID is of a pool of UEs")),
            None => Ok([row("source_guard", None), row("source_guard_ipv6", None)]
                .into_iter()
                .flatten()
                .collect()),
        };
    };
    let mut rows = Vec::new();
    match (ue.v4, pool) {
        (Some(ip), Some(guard)) if guard.fits(teid, ip) => {}
        (_, Some(_)) => return Err(unsupported("a TEID of a pool of UEs, for another UE than it says")),
        (Some(ip), None) => rows.extend(row("source_guard", Some(u32::from(ip).into()))),
        (None, None) => {}
    }
    let prefix = ue.v6.map(|net| u128::from(net.addr()) >> 64);
    rows.extend(prefix.and_then(|prefix| row("source_guard_ipv6", Some(prefix))));
    Ok(rows)
}

/// The rates of a QER's meter: the maximum as peak, the guaranteed one as committed rate.
fn rates(rules: &RuleSet, qer: QerId, direction: Direction, window: Span) -> Option<Rates> {
    /// No frame is larger: what a bucket must hold so that each can pass.
    const LARGEST_FRAME: u64 = 1600;
    let qer = rules.qers.get(&qer)?;
    let window = qer.averaging_window.unwrap_or(window);
    let burst = |octets: u64| match octets {
        0 => 0,
        _ => ((octets as f64 * window.as_secs_f64()) as u64).max(LARGEST_FRAME),
    };
    let octets = |kbps: u64| kbps.saturating_mul(125);
    let peak = octets(qer.mbr?.rate(direction).kbps());
    let committed = qer.gbr.map_or(0, |gbr| octets(gbr.rate(direction).kbps())).min(peak);
    Some(Rates { committed, committed_burst: burst(committed), peak, peak_burst: burst(peak) })
}
