//! What an SMF does to a session that there is.

use causeway_model::{BufferingDuration, ExtendedBuffering, PlanOptions, RuleMap, RuleSet, UrrPart};
use causeway_types::{BarId, FarId, Span, Time};

use crate::genes::Genes;
use crate::place::Place;
use crate::quality::qer;
use crate::session::flow;
use crate::usage::{urr, volume};
use crate::way::{act, bar};

/// Every part of a URR that can be given anew.
const PARTS: [UrrPart; 6] = [
    UrrPart::VolumeQuota,
    UrrPart::VolumeThreshold,
    UrrPart::TimeQuota,
    UrrPart::TimeThreshold,
    UrrPart::NumberOfReports,
    UrrPart::ValidityTime,
];

/// The rules after a modification, legal or not, and what it asks for beside them.
pub(crate) fn changed(
    old: &RuleSet,
    place: &Place,
    now: Time,
    genes: &mut Genes<'_>,
) -> (RuleSet, PlanOptions) {
    let (mut new, mut extras) = (old.clone(), PlanOptions::default());
    for _ in 0..1 + genes.below(12) / 8 {
        change(&mut new, old, &mut extras, place, now, genes);
    }
    if genes.chance(48) {
        extras.queries = old.urrs.keys().copied().collect();
    }
    (new, extras)
}

fn change(
    new: &mut RuleSet,
    old: &RuleSet,
    extras: &mut PlanOptions,
    place: &Place,
    now: Time,
    genes: &mut Genes<'_>,
) {
    match genes.below(16) {
        0 | 1 => extras.queries = old.urrs.keys().copied().collect(),
        2 | 3 => any(&mut new.fars, genes, |far, genes| {
            act(far, genes);
            if far.buffers() {
                extras.reissued.insert(far.id);
            }
        }),
        4 => hand_over(new, extras, place, genes),
        5 => any(&mut new.qers, genes, |held, genes| *held = qer(held.id.0, genes)),
        6 => any(&mut new.urrs, genes, |held, genes| *held = urr(held.id.0, now, genes)),
        7 | 8 => any(&mut new.urrs, genes, |urr, genes| {
            // A quota is given anew, as large as before or not.
            if genes.chance(128) && urr.quotas.volume.is_some() {
                urr.quotas.volume = Some(volume(genes));
            }
            extras.renewed.insert(urr.id, (0..1 + genes.below(2)).map(|_| genes.pick(&PARTS)).collect());
        }),
        9 => {
            let at = new.pdrs.len() as u32 / 2;
            flow(new, at.min(19), place, now, genes);
        }
        10 => {
            let at = genes.below(new.pdrs.len().max(1));
            let gone = new.pdrs.keys().nth(at).copied();
            gone.map(|id| new.pdrs.remove(&id));
        }
        11 => any(&mut new.pdrs, genes, |pdr, genes| {
            let lists = (pdr.qers.clone(), pdr.urrs.clone());
            match genes.below(4) {
                0 => pdr.qers.clear(),
                1 => pdr.urrs.clear(),
                2 => pdr.precedence.0 = genes.pick(&[1, 10, 255]),
                _ => (pdr.qers, pdr.urrs) = (old_qers(old), lists.1),
            }
        }),
        12 => {
            extras.inactivity_timer = true;
            new.inactivity_timer = genes.maybe(192, &[1, 5, 60]).map(Span::from_secs);
        }
        13 => extras.drop_buffered = true,
        14 => {
            let duration = genes.pick(&[
                BufferingDuration::For(Span::from_secs(3)),
                BufferingDuration::Unlimited,
                BufferingDuration::Stopped,
            ]);
            let held = new.bars.contains_key(&BarId(1));
            let (duration, packets) = (Some(duration), genes.maybe(64, &[2]));
            extras.extended.extend(held.then_some(ExtendedBuffering { bar: BarId(1), duration, packets }));
        }
        _ => {
            let counts = old.qers.values().filter(|qer| qer.packet_rate.is_some());
            extras.packet_rates = counts.map(|qer| qer.id).collect();
            any(&mut new.bars, genes, |held, genes| *held = bar(genes));
        }
    }
}

fn old_qers(old: &RuleSet) -> Vec<causeway_types::QerId> {
    old.qers.keys().rev().take(2).copied().collect()
}

/// One of the rules changes.
fn any<'a, I: Ord, R: Clone>(
    rules: &'a mut RuleMap<I, R>,
    genes: &mut Genes<'_>,
    mut change: impl FnMut(&'a mut R, &mut Genes<'_>),
) {
    let at = genes.below(rules.len().max(1));
    if let Some(rule) = rules.values_mut().nth(at) {
        change(rule, genes);
    }
}

/// The downlink goes to another gNB.
fn hand_over(new: &mut RuleSet, extras: &mut PlanOptions, place: &Place, genes: &mut Genes<'_>) {
    let to = place.peer(4 + genes.below(4) as u32);
    let told = genes.chance(128);
    if let Some(way) = new.fars.get_mut(&FarId(2)).and_then(|far| far.forwarding.as_mut()) {
        if let Some(old) = way.tunnel().filter(|_| told) {
            extras.end_markers.push((FarId(2), old));
        }
        way.outer = Some(causeway_model::OuterHeader::Gtpu(to));
    }
}
