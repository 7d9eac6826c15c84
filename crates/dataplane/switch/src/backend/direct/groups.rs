//! The candidate rules of packets in profile `direct`, by receive source and QoS flow.

use std::collections::BTreeMap;

use causeway_model::Pdr;

use super::classes::Filters;
use super::filter::{RequestedPackets, asks};
use crate::backend::compile_session::LookupKey;
use crate::backend::layout::Layout;
use crate::backend::pdr_treatment::Refused;

/// Packets with the same candidate rules.
#[derive(Clone, Debug)]
pub(in crate::backend) struct Group<'r> {
    pub(in crate::backend) key: LookupKey,
    /// QFIs, each a bit; bit 0 for packets without one, and for those of a data network.
    pub(in crate::backend) flows: u64,
    /// In the order of their precedence, without those behind a rule that takes all.
    pub(in crate::backend) takers: Vec<GroupRule<'r>>,
    /// A rule of the receive source names QFIs: one of the group, or one behind a rule that takes all. The software may find that a packet is not of the
    /// application of a rule that takes all here.
    pub(in crate::backend) names_flows: bool,
}

/// A candidate rule of a group.
#[derive(Clone, Debug)]
pub(in crate::backend) struct GroupRule<'r> {
    pub(in crate::backend) pdr: &'r Pdr,
    pub(in crate::backend) asks: RequestedPackets,
}

impl GroupRule<'_> {
    pub(in crate::backend) fn has_filters(&self) -> bool {
        self.asks != RequestedPackets::All
    }
}

impl Group<'_> {
    /// Whether a rule has filters.
    pub(in crate::backend) fn is_filtered(&self) -> bool {
        self.takers.iter().any(GroupRule::has_filters)
    }

    /// All filters of its rules.
    ///
    /// # Errors
    /// No entry can express one of them.
    pub(in crate::backend) fn filters(&self) -> Result<Filters, Refused> {
        let mut all = Filters::new();
        for rule in &self.takers {
            match &rule.asks {
                RequestedPackets::All => {}
                RequestedPackets::For(filters) => all.extend(filters.iter().cloned()),
                RequestedPackets::Inexpressible(refused) => return Err(refused.clone()),
            }
        }
        Ok(all)
    }
}

/// From the PDRs of each lookup key, in the order of their precedence.
pub(in crate::backend) fn groups<'r>(
    keys: &BTreeMap<LookupKey, Vec<&'r Pdr>>,
    layout: &Layout,
) -> Vec<Group<'r>> {
    let mut groups = Vec::new();
    for (key, pdrs) in keys {
        let rule = |pdr: &&'r Pdr| GroupRule { pdr, asks: asks(pdr, *key, layout) };
        let takers: Vec<GroupRule<'r>> = pdrs.iter().map(rule).filter(asks_for_some).collect();
        let mut of_flows: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
        match key {
            LookupKey::Tunnel(_) => {
                for qfi in 0..64 {
                    let flow = |pdr: &Pdr| {
                        let qfis = pdr.pdi.qfis;
                        qfis.is_empty() || qfis.iter().any(|other| other.value() == qfi)
                    };
                    *of_flows.entry(until_all(&takers, flow)).or_default() |= 1 << qfi;
                }
            }
            LookupKey::V4(..) | LookupKey::V6(..) => drop(of_flows.insert(until_all(&takers, |_| true), 1)),
        }
        of_flows.remove(&Vec::new());
        let names_flows = pdrs.iter().any(|pdr| !pdr.pdi.qfis.is_empty());
        for (places, flows) in of_flows {
            let takers = places.into_iter().filter_map(|place| takers.get(place)).cloned().collect();
            groups.push(Group { key: *key, flows, takers, names_flows });
        }
    }
    groups
}

fn asks_for_some(rule: &GroupRule<'_>) -> bool {
    rule.asks != RequestedPackets::For(Vec::new())
}

/// The indices of matching rules, up to the first one that takes all.
fn until_all(takers: &[GroupRule<'_>], fits: impl Fn(&Pdr) -> bool) -> Vec<usize> {
    let mut places = Vec::new();
    for (place, rule) in takers.iter().enumerate().filter(|(_, rule)| fits(rule.pdr)) {
        places.push(place);
        if !rule.has_filters() {
            break;
        }
    }
    places
}
