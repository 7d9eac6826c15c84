//! What the control side remembers of a session: by what packets find it, and the paths it sends by.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use causeway_dataplane::{Op, Topology};
use causeway_reference::path_of;
use causeway_rules::{Far, Pdr, UeSide};
use causeway_types::{FarId, IpNet, PdrId, Teid};

/// Our address and a peer's.
pub(super) type Path = (IpAddr, IpAddr);

/// The paths of a session that have changed.
#[derive(Debug)]
pub(super) struct NewPaths {
    /// Those before.
    pub(super) old: Vec<Path>,
    /// Those from now on.
    pub(super) new: Vec<Path>,
}

/// What packets find a session by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Holding {
    /// A tunnel that ends at an address of ours.
    Tunnel(IpAddr, Teid),
    /// An address or prefix of the UE.
    Ue(IpNet),
    /// A tunnel to a peer.
    Remote(IpAddr, Teid),
}

/// What the control side remembers of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub(super) worker: usize,
    pdrs: BTreeMap<PdrId, Vec<Holding>>,
    fars: BTreeMap<FarId, (Vec<Holding>, Option<Path>)>,
}

impl Record {
    /// Follows a write.
    pub(super) fn write(&mut self, op: &Op, topology: &Topology) {
        match op {
            Op::PutPdr(pdr) => drop(self.pdrs.insert(pdr.id, of_pdr(pdr))),
            Op::RemovePdr(pdr) => drop(self.pdrs.remove(pdr)),
            Op::PutFar(far) => drop(self.fars.insert(far.id, (of_far(far), path_of(far, topology)))),
            Op::RemoveFar(far) => drop(self.fars.remove(far)),
            Op::RemoveSession => *self = Self { worker: self.worker, ..Self::default() },
            _ => {}
        }
    }

    pub(super) fn holdings(&self) -> BTreeSet<Holding> {
        self.pdrs
            .values()
            .chain(self.fars.values().map(|(holdings, _)| holdings))
            .flatten()
            .copied()
            .collect()
    }

    pub(super) fn paths(&self) -> BTreeSet<Path> {
        self.fars.values().filter_map(|(_, path)| *path).collect()
    }
}

fn of_pdr(pdr: &Pdr) -> Vec<Holding> {
    match pdr.pdi.tunnel {
        Some(tunnel) => tunnel.addr.iter().map(|ip| Holding::Tunnel(ip, tunnel.teid)).collect(),
        None if pdr.pdi.ue_side() == UeSide::Destination => pdr.pdi.ue_nets().map(Holding::Ue).collect(),
        None => Vec::new(),
    }
}

fn of_far(far: &Far) -> Vec<Holding> {
    let tunnel = far.forwarding.as_ref().and_then(|forwarding| forwarding.tunnel());
    tunnel.map_or_else(Vec::new, |tunnel| {
        tunnel.addr.iter().map(|ip| Holding::Remote(ip, tunnel.teid)).collect()
    })
}

/// The IP version and length of a prefix that is more than one UE's.
pub(super) fn wide_length(holding: Holding) -> Option<(bool, u8)> {
    match holding {
        Holding::Ue(net) if !is_one_ue(net) => Some((net.addr().is_ipv4(), net.prefix_len())),
        _ => None,
    }
}

/// The prefix is what a UE alone has: an IPv4 address or 64 bits of IPv6.
pub(super) fn is_one_ue(net: IpNet) -> bool {
    net.prefix_len() == if net.addr().is_ipv4() { 32 } else { 64 }
}
