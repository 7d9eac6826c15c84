//! The treatment of all PDRs of a session: on the switch, or in the software behind it.

use std::collections::{BTreeMap, BTreeSet};

use causeway_model::{Far, Pdr, RuleSet, Steering};
use causeway_types::{PdrId, QerId, UrrId};

use super::application_classes::ClassView;
use super::compile_session::LookupKey;
use super::config::Config;
use super::direct::Group;
use super::pdr_treatment::{self, Refused, Treatment, UnsupportedBy, check_pdr};
use super::template::RuleAction;

/// Whether a URR counts before QoS enforcement.
pub(super) fn before_qos(pdr: &Pdr, rules: &RuleSet) -> bool {
    pdr.urrs.iter().filter_map(|id| rules.urrs.get(id)).any(|urr| urr.before_qos)
}

/// A property of the whole session that the switch does not support.
fn whole_session(rules: &RuleSet, config: &Config) -> Option<&'static str> {
    if !rules.paging.is_empty() {
        return Some("paging policies");
    }
    // Responses to packets that were changed must be changed, too, whatever rule they match.
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

/// The treatments of all PDRs: if allowed, the software handles those that the switch cannot.
pub(super) fn treatments<'r>(
    rules: &'r RuleSet,
    exhausted: &BTreeSet<UrrId>,
    config: &Config,
    view: ClassView<'_>,
    groups: Option<&mut [Grouped<'_>]>,
) -> Result<BTreeMap<PdrId, (&'r Pdr, Treatment)>, Refused> {
    let whole = whole_session(rules, config).map(UnsupportedBy::Switch);
    let mut treatments = BTreeMap::new();
    let mut in_software: BTreeSet<QerId> = BTreeSet::new();
    for pdr in rules.pdrs.values() {
        check_pdr(pdr, config, view)?;
        if !view.matches(pdr) {
            continue;
        }
        if view.is_in_software() {
            let treatment = config.falls_back.then_some(TO_SOFTWARE).ok_or(BY_CLASS)?;
            treatments.insert(pdr.id, (pdr, treatment));
            continue;
        }
        let treated = pdr_treatment::treat(pdr, rules, exhausted, config);
        let treated = treated.and_then(|treatment| match whole {
            Some(cannot) if treatment.action.forwards() => Err(cannot),
            _ => Ok(treatment),
        });
        let treated = match groups {
            Some(_) => treated.and_then(|treatment| by_number(pdr, treatment, rules)),
            None => treated,
        };
        let treatment = match treated {
            Err(UnsupportedBy::Switch(_)) if config.falls_back => {
                in_software.extend(&pdr.qers);
                TO_SOFTWARE
            }
            other => other?,
        };
        treatments.insert(pdr.id, (pdr, treatment));
    }
    let groups = groups.unwrap_or_default();
    let mut grows = true;
    while std::mem::take(&mut grows) {
        // Where a rule with filters is handled by software, only the software matches filters.
        for grouped in groups.iter_mut() {
            let needs_software = grouped.is_in_software || cannot_say(grouped.group, &treatments);
            if !grouped.group.is_filtered() || !needs_software {
                continue;
            }
            if !config.falls_back {
                return Err(BY_FILTERS);
            }
            grouped.is_in_software = true;
            for taker in &grouped.group.takers {
                let Some((pdr, treatment)) = treatments.get_mut(&taker.pdr.id) else { continue };
                grows |= *treatment != TO_SOFTWARE;
                *treatment = TO_SOFTWARE;
                in_software.extend(&pdr.qers);
            }
        }
        // A rate is enforced in one place: rules that share it with one in software are handled there, too.
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

/// Whether the switch can do what all PDRs of a session ask for, while no quota is exhausted: then all its forwarded packets pass the switch, whatever
/// application class it has, but for those that were buffered.
pub(super) fn is_for_switch(rules: &RuleSet, config: &Config, is_by_index: bool) -> bool {
    let of_switch = |pdr: &Pdr| {
        let treated = pdr_treatment::treat(pdr, rules, &BTreeSet::new(), config);
        let treated = treated.and_then(|treatment| match is_by_index {
            true => by_number(pdr, treatment, rules),
            false => Ok(treatment),
        });
        // What neither can do is refused.
        let is_treated = !matches!(treated, Err(UnsupportedBy::Switch(_)));
        is_treated && (!is_by_index || pdr.pdi.filters.is_empty())
    };
    whole_session(rules, config).is_none() && rules.pdrs.values().all(of_switch)
}

const BY_CLASS: Refused = pdr_treatment::unsupported(
    "without software: an application class of a session that the switch does not measure",
);

const BY_FILTERS: Refused = pdr_treatment::unsupported(
    "filters, in profile direct without software: rules that share packets with rules that have some",
);

/// Packets of profile `direct` with the same candidate rules, and whether the software handles them.
#[derive(Debug)]
pub(super) struct Grouped<'g> {
    pub(super) group: &'g Group<'g>,
    pub(super) is_in_software: bool,
}

/// A rule with filters for packets in a tunnel is handled by software: its tables have no action for that.
fn cannot_say(group: &Group<'_>, treatments: &BTreeMap<PdrId, (&Pdr, Treatment)>) -> bool {
    let buffers = |pdr: &Pdr| {
        treatments.get(&pdr.id).is_some_and(|(_, treatment)| treatment.action == RuleAction::Buffer)
    };
    let mut filtered = group.takers.iter().filter(|taker| taker.has_filters());
    matches!(group.key, LookupKey::Tunnel(_)) && filtered.any(|taker| buffers(taker.pdr))
}

/// Profile `direct` cannot count dropped packets.
fn by_number(pdr: &Pdr, treatment: Treatment, rules: &RuleSet) -> Result<Treatment, UnsupportedBy> {
    let is_dropped = matches!(treatment.action, RuleAction::Drop(_));
    if is_dropped && (before_qos(pdr, rules) || rules.inactivity_timer.is_some()) {
        return Err(UnsupportedBy::Switch("usage of packets that are dropped, in profile direct"));
    }
    Ok(treatment)
}

const TO_SOFTWARE: Treatment = Treatment { action: RuleAction::Buffer, teid: 0, meter: None };
