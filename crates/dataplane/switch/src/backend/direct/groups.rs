//! Which rules packets are tried for in profile `direct`, by where they come in and by their QoS flow.

use std::collections::BTreeMap;

use causeway_rules::Pdr;

use super::classes::Filters;
use super::filter::{Asks, asks};
use crate::backend::layout::Layout;
use crate::backend::picture::Door;
use crate::backend::treat::Refused;

/// Packets that the same rules are tried for.
#[derive(Clone, Debug)]
pub(in crate::backend) struct Group<'r> {
    pub(in crate::backend) door: Door,
    /// QFIs, each a bit; bit 0 for packets without one, and for those of a data network.
    pub(in crate::backend) flows: u64,
    /// In the order of their precedence. What lies behind a rule that takes all is not among them.
    pub(in crate::backend) takers: Vec<Taker<'r>>,
}

/// A rule that packets of a group are tried for.
#[derive(Clone, Debug)]
pub(in crate::backend) struct Taker<'r> {
    pub(in crate::backend) pdr: &'r Pdr,
    pub(in crate::backend) asks: Asks,
}

impl Taker<'_> {
    pub(in crate::backend) fn has_filters(&self) -> bool {
        self.asks != Asks::All
    }
}

impl Group<'_> {
    /// A rule has filters.
    pub(in crate::backend) fn is_filtered(&self) -> bool {
        self.takers.iter().any(Taker::has_filters)
    }

    /// All filters of its rules.
    ///
    /// # Errors
    /// One asks for what no row says.
    pub(in crate::backend) fn filters(&self) -> Result<Filters, Refused> {
        let mut all = Filters::new();
        for taker in &self.takers {
            match &taker.asks {
                Asks::All => {}
                Asks::For(filters) => all.extend(filters.iter().cloned()),
                Asks::Unsaid(refused) => return Err(refused.clone()),
            }
        }
        Ok(all)
    }
}

/// From the PDRs of each door, in the order of their precedence.
pub(in crate::backend) fn groups<'r>(
    doors: &BTreeMap<Door, Vec<&'r Pdr>>,
    layout: &Layout,
) -> Vec<Group<'r>> {
    let mut groups = Vec::new();
    for (door, pdrs) in doors {
        let taker = |pdr: &&'r Pdr| Taker { pdr, asks: asks(pdr, *door, layout) };
        let takers: Vec<Taker<'r>> = pdrs.iter().map(taker).filter(asks_for_some).collect();
        let mut of_flows: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
        match door {
            Door::Tunnel(_) => {
                for qfi in 0..64 {
                    let flow = |pdr: &Pdr| {
                        let qfis = pdr.pdi.qfis;
                        qfis.is_empty() || qfis.iter().any(|other| other.value() == qfi)
                    };
                    *of_flows.entry(until_all(&takers, flow)).or_default() |= 1 << qfi;
                }
            }
            Door::V4(_) | Door::V6(_) => drop(of_flows.insert(until_all(&takers, |_| true), 1)),
        }
        of_flows.remove(&Vec::new());
        for (places, flows) in of_flows {
            let takers = places.into_iter().filter_map(|place| takers.get(place)).cloned().collect();
            groups.push(Group { door: *door, flows, takers });
        }
    }
    groups
}

fn asks_for_some(taker: &Taker<'_>) -> bool {
    taker.asks != Asks::For(Vec::new())
}

/// The places of rules that fit, up to the first one that takes all.
fn until_all(takers: &[Taker<'_>], fits: impl Fn(&Pdr) -> bool) -> Vec<usize> {
    let mut places = Vec::new();
    for (place, taker) in takers.iter().enumerate().filter(|(_, taker)| fits(taker.pdr)) {
        places.push(place);
        if !taker.has_filters() {
            break;
        }
    }
    places
}
