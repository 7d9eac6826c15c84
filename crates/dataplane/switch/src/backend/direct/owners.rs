//! Which rule the packets of a door are for, where that depends on their QoS flow alone; all others are for the software.

use std::collections::{BTreeMap, BTreeSet};

use causeway_rules::{Pdr, UeSide};
use causeway_types::PdrId;

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
    Ue(BTreeSet<Door>),
}

/// What the PDRs of a session come to.
#[derive(Clone, Debug, Default)]
pub(in crate::backend) struct Owners {
    /// By rule that has packets: where they come in.
    pub(in crate::backend) spots: BTreeMap<PdrId, Spot>,
    /// Rules that share packets with rules that have filters: only the software tells them apart.
    pub(in crate::backend) in_software: BTreeSet<PdrId>,
}

impl Owners {
    /// From the PDRs of each door, in the order of their precedence.
    pub(in crate::backend) fn new(groups: &BTreeMap<Door, Vec<&Pdr>>) -> Self {
        let mut owners = Self::default();
        for (door, group) in groups {
            match door {
                Door::Tunnel(teid) => owners.add_tunnel(*teid, group),
                Door::V4(_) | Door::V6(_) => {
                    let Some(owner) = owners.owner(group.iter().copied(), false) else { continue };
                    let spot = owners.spots.entry(owner).or_insert(Spot::Ue(BTreeSet::new()));
                    if let Spot::Ue(doors) = spot {
                        doors.insert(*door);
                    }
                }
            }
        }
        owners
    }

    fn add_tunnel(&mut self, teid: u32, group: &[&Pdr]) {
        let mut flows: BTreeMap<PdrId, u64> = BTreeMap::new();
        for qfi in 0..64 {
            let takes = |pdr: &&Pdr| {
                let qfis = pdr.pdi.qfis;
                qfis.is_empty() || qfis.iter().any(|other| other.value() == qfi)
            };
            let takers = group.iter().copied().filter(takes);
            if let Some(owner) = self.owner(takers, true) {
                *flows.entry(owner).or_default() |= 1 << qfi;
            }
        }
        let is_alone = flows.len() == 1;
        let needs_flow = group.iter().any(|pdr| !pdr.pdi.qfis.is_empty());
        let spot = |flows| Spot::Tunnel { teid, flows, is_alone, needs_flow };
        let spots = flows.into_iter().map(|(owner, flows)| (owner, spot(flows)));
        self.spots.extend(spots);
    }

    /// The rule of packets that these rules are tried for: the first one. If it has filters, all are for the software.
    fn owner<'a>(&mut self, takers: impl Iterator<Item = &'a Pdr> + Clone, is_tunnel: bool) -> Option<PdrId> {
        let first = takers.clone().next()?;
        if !is_plain(first, is_tunnel) {
            self.in_software.extend(takers.map(|pdr| pdr.id));
        }
        Some(first.id)
    }
}

/// All packets of its tunnel and flows, or of its UE, are the PDR's.
fn is_plain(pdr: &Pdr, is_tunnel: bool) -> bool {
    let names_receiver = is_tunnel && pdr.pdi.ue.is_some_and(|ue| ue.side == UeSide::Destination);
    pdr.pdi.filters.is_empty() && !names_receiver
}
