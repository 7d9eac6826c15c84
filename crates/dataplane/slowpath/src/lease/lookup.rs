//! The lookup keys of a session.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use causeway_model::{Op, Pdr, SessionChange, UE_PREFIX_BITS, UeAddress, UeSide, upper_half};
use causeway_types::{Direction, Interface, IpNet, Ipv6Net, NetworkInstance, Seid, Teid};

use crate::engine::SlowPath;
use crate::session::direction_of;

/// Whether the change can change which session a packet finds.
#[inline]
pub fn may_change_lookup(change: &SessionChange) -> bool {
    match change {
        SessionChange::Install(_) | SessionChange::Remove => true,
        SessionChange::Rebind(_) => false,
        SessionChange::Update(ops) => {
            ops.iter().any(|op| matches!(op, Op::SetPduType(_) | Op::PutPdr(_) | Op::RemovePdr(_)))
        }
    }
}

/// A lookup entry of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LookupEntry {
    /// The key of its packets.
    pub key: LookupKey,
    /// The direction of all its rules.
    pub direction: Direction,
    /// The UE address that its packets must have.
    pub ue: UeMatch,
    /// Indices of [`OffloadSpec::rules`](super::OffloadSpec::rules), in the order in which they are tried.
    pub rules: Vec<u8>,
    /// A packet that no rule of it matches is for no other session either.
    pub is_final: bool,
}

/// A lookup key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LookupKey {
    /// A packet from a GTP-U tunnel.
    Tunnel {
        /// The local TEID.
        teid: Teid,
        /// The local address.
        local: IpAddr,
    },
    /// A packet from a data network for an IPv4 address.
    Ipv4 {
        /// The index of the network in the topology.
        network: usize,
        /// The UE.
        ue: Ipv4Addr,
    },
    /// A packet from a data network for an IPv6 prefix of 64 bits.
    Ipv6 {
        /// The index of the network in the topology.
        network: usize,
        /// The upper half of the UE's addresses.
        prefix: u64,
    },
}

/// The UE address of a lookup entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UeMatch {
    /// The field of the packet that contains it.
    pub side: UeSide,
    /// `false`: any address matches.
    pub is_named: bool,
    /// The IPv4 address.
    pub v4: Option<Ipv4Addr>,
    /// The upper half of its IPv6 addresses.
    pub v6: Option<u64>,
    /// It has more addresses, which only the slow path knows.
    pub has_more: bool,
}

impl UeMatch {
    /// `None`: an IPv6 prefix of another length than 64 bits.
    fn of(side: UeSide, ue: Option<UeAddress>, has_routes: bool) -> Option<Self> {
        let v6 = match ue.and_then(|ue| ue.v6) {
            Some(net) if net.prefix_len() != UE_PREFIX_BITS => return None,
            net => net.map(|net| upper_half(net.addr())),
        };
        let v4 = ue.and_then(|ue| ue.v4);
        Some(Self { side, is_named: ue.is_some() || has_routes, v4, v6, has_more: has_routes })
    }
}

impl SlowPath {
    pub(super) fn tunnel_lookups(&self, pdrs: &[&Pdr]) -> Vec<LookupEntry> {
        let ends = |pdr: &&Pdr| pdr.pdi.tunnel;
        let keys: BTreeSet<(Teid, IpAddr)> = pdrs
            .iter()
            .filter_map(ends)
            .flat_map(|tunnel| tunnel.addr.iter().map(move |ip| (tunnel.teid, ip)))
            .collect();
        let lookup = |(teid, local)| {
            let ends_here =
                |pdr: &Pdr| pdr.pdi.tunnel.is_some_and(|end| end.teid == teid && end.addr.contains(local));
            let network = self.instance_of(local);
            lookup_entry(LookupKey::Tunnel { teid, local }, pdrs, network.as_ref(), true, ends_here)
        };
        keys.into_iter().filter_map(lookup).collect()
    }

    pub(super) fn ue_lookups(&self, seid: Seid, pdrs: &[&Pdr]) -> Vec<LookupEntry> {
        let from_network = |pdr: &Pdr| pdr.pdi.tunnel.is_none();
        let ues: BTreeSet<(Option<Ipv4Addr>, Option<Ipv6Net>)> = pdrs
            .iter()
            .filter(|pdr| from_network(pdr))
            .filter_map(|pdr| pdr.pdi.ue)
            .map(|ue| (ue.v4, ue.v6))
            .collect();
        let (Some((v4, v6)), 1) = (ues.first().copied(), ues.len()) else { return Vec::new() };
        let to_ue = |lookup: &LookupEntry| lookup.direction == Direction::Downlink;
        let mut lookups = Vec::new();
        for (network, instance) in self.topology.networks.iter().map(|network| &network.instance).enumerate()
        {
            if let Some(ue) = v4 {
                let is_final = self.index.has_no_overlap(IpNet::from(IpAddr::V4(ue)));
                if is_final || self.has_precedence(seid, IpNet::from(IpAddr::V4(ue)), instance) {
                    let key = LookupKey::Ipv4 { network, ue };
                    lookups.extend(
                        lookup_entry(key, pdrs, Some(instance), is_final, from_network).filter(to_ue),
                    );
                }
            }
            let prefix = v6.filter(|net| net.prefix_len() == UE_PREFIX_BITS);
            if let Some(net) = prefix.map(|net| net.trunc())
                && !self.index.has_longer(net)
            {
                let is_final = self.index.has_no_overlap(net.into());
                if is_final || self.has_precedence(seid, net.into(), instance) {
                    let key = LookupKey::Ipv6 { network, prefix: upper_half(net.addr()) };
                    lookups.extend(
                        lookup_entry(key, pdrs, Some(instance), is_final, from_network).filter(to_ue),
                    );
                }
            }
        }
        lookups
    }

    /// No other session with the same addresses receives packets of this network.
    fn has_precedence(&self, seid: Seid, net: IpNet, network: &NetworkInstance) -> bool {
        let takes = |pdr: &Pdr| {
            pdr.pdi.tunnel.is_none()
                && pdr.pdi.network_instance.as_ref().is_none_or(|requested| requested == network)
        };
        let mut others = self.index.users(net).filter(|user| *user != seid);
        !others.any(|user| self.sessions.get(&user).is_some_and(|other| other.rules.pdrs.values().any(takes)))
    }
}

/// The lookup entry of the rules with this key; `None` where they have too little in common.
fn lookup_entry(
    key: LookupKey,
    pdrs: &[&Pdr],
    network: Option<&NetworkInstance>,
    is_final: bool,
    is_asked: impl Fn(&Pdr) -> bool,
) -> Option<LookupEntry> {
    let serves = |pdr: &Pdr| match (&pdr.pdi.network_instance, network) {
        (Some(requested), Some(found)) => requested == found,
        _ => true,
    };
    let requested = || pdrs.iter().enumerate().filter(|(_, pdr)| is_asked(pdr) && serves(pdr));
    let (_, first) = requested().next()?;
    let (side, direction) = (first.pdi.ue_side(), direction_of(first));
    let expected = match direction {
        Direction::Uplink => UeSide::Source,
        Direction::Downlink => UeSide::Destination,
    };
    let has_same_match = |pdr: &Pdr| {
        pdr.pdi.source != Interface::CpFunction
            && direction_of(pdr) == direction
            && pdr.pdi.ue_side() == side
            && (pdr.pdi.ue, &pdr.pdi.routes) == (first.pdi.ue, &first.pdi.routes)
    };
    if side != expected || !requested().all(|(_, pdr)| has_same_match(pdr)) {
        return None;
    }
    let ue = UeMatch::of(side, first.pdi.ue, !first.pdi.routes.is_empty())?;
    let rules = requested().filter_map(|(number, _)| u8::try_from(number).ok()).collect();
    Some(LookupEntry { key, direction, ue, rules, is_final })
}
