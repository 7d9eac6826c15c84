//! Which rule packets are for: that of their class of filters, or else the one that takes all of their QoS flow or UE; or only the
//! software knows.

use std::collections::{BTreeMap, BTreeSet};

use causeway_types::PdrId;

use super::classes::Classes;
use super::filter::Asks;
use super::groups::Group;
use crate::backend::picture::Door;

/// Where packets of a rule come in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::backend) enum Spot {
    /// In a tunnel of ours.
    Tunnel {
        teid: u32,
        /// QFIs, each a bit; bit 0 for packets without one.
        flows: u64,
        /// No other rule has packets of the tunnel.
        is_alone: bool,
        /// The software must know the QFI of a packet to tell whose it is.
        needs_flow: bool,
    },
    /// From the data network, to addresses of a UE.
    Ue {
        doors: BTreeSet<Door>,
        /// No other rule has packets to them.
        is_alone: bool,
    },
}

/// Classes of packets that are a rule's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::backend) struct Share {
    pub(in crate::backend) door: Door,
    pub(in crate::backend) flows: u64,
    pub(in crate::backend) classes: Vec<u16>,
}

/// What the PDRs of a session come to.
#[derive(Clone, Debug, Default)]
pub(in crate::backend) struct Owners {
    /// By rule that has packets of no class, or all: where they come in.
    pub(in crate::backend) spots: BTreeMap<PdrId, Spot>,
    /// By rule that has packets of classes.
    pub(in crate::backend) shares: BTreeMap<PdrId, Vec<Share>>,
    /// By address of the UE: the rule of packets that are of no class.
    pub(in crate::backend) ues: BTreeMap<Door, Option<PdrId>>,
}

impl Owners {
    /// From groups, and whether rules with filters are the software's there.
    pub(in crate::backend) fn new<'g>(
        groups: impl Iterator<Item = (&'g Group<'g>, bool)>,
        classes: Option<&Classes>,
    ) -> Self {
        let mut owners = Self::default();
        let mut flows: BTreeMap<u32, BTreeMap<PdrId, u64>> = BTreeMap::new();
        let mut needs_flow: BTreeSet<u32> = BTreeSet::new();
        for (group, is_in_software) in groups {
            let first = group.takers.first().filter(|_| is_in_software);
            let owner = first.or(group.takers.last().filter(|last| !last.has_filters()));
            let owner = owner.map(|taker| taker.pdr.id);
            if let Some(classes) = classes.filter(|_| !is_in_software) {
                owners.share(group, classes);
            }
            let Door::Tunnel(teid) = group.door else {
                owners.ues.insert(group.door, owner);
                continue;
            };
            let flows = flows.entry(teid).or_default();
            if let Some(owner) = owner {
                *flows.entry(owner).or_default() |= group.flows;
            }
            if group.takers.iter().any(|taker| !taker.pdr.pdi.qfis.is_empty()) {
                needs_flow.insert(teid);
            }
        }
        let shared: BTreeSet<Door> = owners.shares.values().flatten().map(|share| share.door).collect();
        for (teid, flows) in flows {
            let is_alone = flows.len() == 1 && !shared.contains(&Door::Tunnel(teid));
            let needs_flow = needs_flow.contains(&teid);
            let spot = |flows| Spot::Tunnel { teid, flows, is_alone, needs_flow };
            owners.spots.extend(flows.into_iter().map(|(owner, flows)| (owner, spot(flows))));
        }
        for (door, owner) in &owners.ues {
            let Some(owner) = owner else { continue };
            let nowhere = Spot::Ue { doors: BTreeSet::new(), is_alone: true };
            if let Spot::Ue { doors, is_alone } = owners.spots.entry(*owner).or_insert(nowhere) {
                doors.insert(*door);
                *is_alone &= !shared.contains(door);
            }
        }
        owners
    }

    /// Each class that a rule of the group asks for is the first one's that does.
    fn share(&mut self, group: &Group<'_>, classes: &Classes) {
        let mut won: BTreeMap<PdrId, Vec<u16>> = BTreeMap::new();
        for (class, number) in classes.all() {
            let takes = |asks: &Asks| match asks {
                Asks::For(filters) => filters.iter().any(|filter| filter.holds(class)),
                Asks::All | Asks::Unsaid(_) => false,
            };
            if let Some(winner) = group.takers.iter().find(|taker| takes(&taker.asks)) {
                won.entry(winner.pdr.id).or_default().push(number);
            }
        }
        for (pdr, classes) in won {
            let share = Share { door: group.door, flows: group.flows, classes };
            self.shares.entry(pdr).or_default().push(share);
        }
    }
}
