//! The rule of each packet: that of its class of filters, or else the one that takes all packets of its QoS flow or UE;
//! or the software decides.

use std::collections::{BTreeMap, BTreeSet};

use causeway_types::PdrId;

use super::classes::Classes;
use super::filter::RequestedPackets;
use super::groups::Group;
use crate::backend::compile_session::LookupKey;

/// The receive source of a rule's packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::backend) enum LookupPoint {
    /// A local tunnel.
    Tunnel {
        teid: u32,
        /// QFIs, each a bit; bit 0 for packets without one.
        flows: u64,
        /// No other rule has packets of the tunnel.
        is_exclusive: bool,
        /// The software must know the QFI of a packet to find its rule.
        needs_flow: bool,
    },
    /// The data network, for addresses of a UE.
    Ue {
        keys: BTreeSet<LookupKey>,
        /// No other rule has packets to them.
        is_exclusive: bool,
    },
}

/// Classes of packets that belong to a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::backend) struct ClassShare {
    pub(in crate::backend) key: LookupKey,
    pub(in crate::backend) flows: u64,
    pub(in crate::backend) classes: Vec<u16>,
}

/// The rules of a session's packets.
#[derive(Clone, Debug, Default)]
pub(in crate::backend) struct ClassOwners {
    /// By rule that has packets without a class, or all packets: their receive source.
    pub(in crate::backend) spots: BTreeMap<PdrId, LookupPoint>,
    /// By rule that has packets of classes.
    pub(in crate::backend) shares: BTreeMap<PdrId, Vec<ClassShare>>,
    /// By address of the UE: the rule of packets without a class.
    pub(in crate::backend) ues: BTreeMap<LookupKey, Option<PdrId>>,
}

impl ClassOwners {
    /// From groups, and whether the software handles rules with filters there.
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
            let owner = owner.map(|rule| rule.pdr.id);
            if let Some(classes) = classes.filter(|_| !is_in_software) {
                owners.share(group, classes);
            }
            let LookupKey::Tunnel(teid) = group.key else {
                owners.ues.insert(group.key, owner);
                continue;
            };
            let flows = flows.entry(teid).or_default();
            if let Some(owner) = owner {
                *flows.entry(owner).or_default() |= group.flows;
            }
            if group.names_flows {
                needs_flow.insert(teid);
            }
        }
        let shared: BTreeSet<LookupKey> = owners.shares.values().flatten().map(|share| share.key).collect();
        for (teid, flows) in flows {
            let is_exclusive = flows.len() == 1 && !shared.contains(&LookupKey::Tunnel(teid));
            let needs_flow = needs_flow.contains(&teid);
            let point = |flows| LookupPoint::Tunnel { teid, flows, is_exclusive, needs_flow };
            owners.spots.extend(flows.into_iter().map(|(owner, flows)| (owner, point(flows))));
        }
        for (key, owner) in &owners.ues {
            let Some(owner) = owner else { continue };
            let nowhere = LookupPoint::Ue { keys: BTreeSet::new(), is_exclusive: true };
            if let LookupPoint::Ue { keys, is_exclusive } = owners.spots.entry(*owner).or_insert(nowhere) {
                keys.insert(*key);
                *is_exclusive &= !shared.contains(key);
            }
        }
        owners
    }

    /// Each class that a rule of the group needs belongs to the first such rule.
    fn share(&mut self, group: &Group<'_>, classes: &Classes) {
        let mut won: BTreeMap<PdrId, Vec<u16>> = BTreeMap::new();
        for (class, number) in classes.all() {
            let takes = |asks: &RequestedPackets| match asks {
                RequestedPackets::For(filters) => filters.iter().any(|filter| filter.contains(class)),
                RequestedPackets::All | RequestedPackets::Inexpressible(_) => false,
            };
            if let Some(winner) = group.takers.iter().find(|rule| takes(&rule.asks)) {
                won.entry(winner.pdr.id).or_default().push(number);
            }
        }
        for (pdr, classes) in won {
            let share = ClassShare { key: group.key, flows: group.flows, classes };
            self.shares.entry(pdr).or_default().push(share);
        }
    }
}
