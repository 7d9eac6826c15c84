//! What becomes of the packets of all PDRs of a session: on the switch, or in the software behind it.

use std::collections::{BTreeMap, BTreeSet};

use causeway_rules::{Far, Pdr, RuleSet, Steering};
use causeway_types::{PdrId, QerId, UrrId};

use super::check::check_pdr;
use super::config::Config;
use super::template::Deed;
use super::treat::{self, Cannot, Refused, Treatment};

/// A URR wants what comes before QoS enforcement.
pub(super) fn before_qos(pdr: &Pdr, rules: &RuleSet) -> bool {
    pdr.urrs.iter().filter_map(|id| rules.urrs.get(id)).any(|urr| urr.before_qos && urr.method.volume)
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
pub(super) fn treatments<'r>(
    rules: &'r RuleSet,
    exhausted: &BTreeSet<UrrId>,
    config: &Config,
    by_index: Option<&BTreeSet<PdrId>>,
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
        let treated = match by_index {
            Some(filtered) => treated.and_then(|treatment| by_number(pdr, treatment, rules, filtered)),
            None => treated,
        };
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

/// What profile `direct` cannot do: tell packets by filters, and count what is dropped.
fn by_number(
    pdr: &Pdr,
    treatment: Treatment,
    rules: &RuleSet,
    filtered: &BTreeSet<PdrId>,
) -> Result<Treatment, Cannot> {
    let is_dropped = matches!(treatment.deed, Deed::Drop(_));
    match () {
        () if filtered.contains(&pdr.id) => Err(Cannot::Here(
            "filters, in profile direct: rules that share packets with rules that have some",
        )),
        () if is_dropped && (before_qos(pdr, rules) || rules.inactivity_timer.is_some()) => {
            Err(Cannot::Here("usage of packets that are dropped, in profile direct"))
        }
        () => Ok(treatment),
    }
}

const TO_SOFTWARE: Treatment = Treatment { deed: Deed::Buffer, teid: 0, meter: None };
