//! Which session a packet may belong to.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use causeway_rules::{PduSessionType, RuleSet, SortedSet, UeSide};
use causeway_types::{DualIp, FTeid, IpNet, NetworkInstance, Seid, Teid};

/// Finds sessions by tunnel and by UE address. Follows the rules of the sessions exactly.
#[derive(Debug, Default)]
pub(crate) struct Index {
    tunnels: BTreeMap<(Teid, IpAddr), Seid>,
    ues: BTreeMap<IpNet, SortedSet<Seid>>,
    remotes: BTreeMap<(Teid, IpAddr), SortedSet<Seid>>,
    links: BTreeMap<Option<NetworkInstance>, BTreeSet<Seid>>,
}

impl Index {
    /// Enters the rules of a session.
    pub(crate) fn add(&mut self, seid: Seid, rules: &RuleSet) {
        self.tunnels.extend(local_tunnels(rules).map(|tunnel| (tunnel, seid)));
        for net in ue_nets(rules) {
            self.ues.entry(net).or_default().insert(seid);
        }
        for remote in remote_tunnels(rules) {
            self.remotes.entry(remote).or_default().insert(seid);
        }
        for link in links(rules) {
            self.links.entry(link).or_default().insert(seid);
        }
    }

    /// Takes out the rules of a session.
    pub(crate) fn remove(&mut self, seid: Seid, rules: &RuleSet) {
        for tunnel in local_tunnels(rules) {
            self.tunnels.remove(&tunnel);
        }
        for net in ue_nets(rules) {
            remove_from(&mut self.ues, net, seid);
        }
        for remote in remote_tunnels(rules) {
            remove_from(&mut self.remotes, remote, seid);
        }
        for link in links(rules) {
            if let Some(seids) = self.links.get_mut(&link) {
                seids.remove(&seid);
                if seids.is_empty() {
                    self.links.remove(&link);
                }
            }
        }
    }

    /// The session that a tunnel of ours ends in.
    pub(crate) fn by_tunnel(&self, teid: Teid, local: IpAddr) -> Option<Seid> {
        self.tunnels.get(&(teid, local)).copied()
    }

    /// The sessions of an address, by UE address or framed route, the longest prefix first.
    pub(crate) fn by_ue(&self, ip: IpAddr) -> Vec<Seid> {
        let longest = match ip {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        };
        (0..=longest)
            .rev()
            .filter_map(|len| IpNet::new(ip, len).ok())
            .filter_map(|net| self.ues.get(&net.trunc()))
            .flatten()
            .copied()
            .collect()
    }

    /// The Ethernet sessions that take frames from a network, in the order of their SEIDs.
    pub(crate) fn by_ethernet_network(&self, network: &NetworkInstance) -> BTreeSet<Seid> {
        let of = |link: Option<NetworkInstance>| self.links.get(&link).into_iter().flatten().copied();
        of(Some(network.clone())).chain(of(None)).collect()
    }

    /// The sessions that send to a tunnel of a peer.
    pub(crate) fn by_remote(&self, teid: Teid, peer: IpAddr) -> Vec<Seid> {
        self.remotes.get(&(teid, peer)).into_iter().flatten().copied().collect()
    }

    /// A tunnel of these rules that another session has.
    pub(crate) fn conflict(&self, seid: Seid, rules: &RuleSet) -> Option<FTeid> {
        local_tunnels(rules)
            .find(|tunnel| self.tunnels.get(tunnel).is_some_and(|owner| *owner != seid))
            .map(|(teid, ip)| FTeid { teid, addr: DualIp::from(ip) })
    }
}

fn remove_from<K: Ord>(map: &mut BTreeMap<K, SortedSet<Seid>>, key: K, seid: Seid) {
    if let Some(seids) = map.get_mut(&key) {
        seids.remove(&seid);
        if seids.is_empty() {
            map.remove(&key);
        }
    }
}

fn local_tunnels(rules: &RuleSet) -> impl Iterator<Item = (Teid, IpAddr)> {
    rules
        .pdrs
        .values()
        .filter_map(|pdr| pdr.pdi.tunnel)
        .flat_map(|tunnel| tunnel.addr.iter().map(move |ip| (tunnel.teid, ip)))
}

fn remote_tunnels(rules: &RuleSet) -> impl Iterator<Item = (Teid, IpAddr)> {
    rules
        .fars
        .values()
        .filter_map(|far| far.forwarding.as_ref()?.tunnel())
        .flat_map(|tunnel| tunnel.addr.iter().map(move |ip| (tunnel.teid, ip)))
}

/// The networks whose frames an Ethernet session takes; `None` is any.
fn links(rules: &RuleSet) -> impl Iterator<Item = Option<NetworkInstance>> {
    let is_ethernet = rules.pdu_type == PduSessionType::Ethernet;
    let pdrs = rules.pdrs.values().filter(move |pdr| is_ethernet && pdr.pdi.tunnel.is_none());
    pdrs.map(|pdr| pdr.pdi.network_instance.clone())
}

/// The addresses and routes by which packets without a tunnel are found.
fn ue_nets(rules: &RuleSet) -> impl Iterator<Item = IpNet> {
    rules
        .pdrs
        .values()
        .map(|pdr| &pdr.pdi)
        .filter(|pdi| pdi.tunnel.is_none() && pdi.ue_side() == UeSide::Destination)
        .flat_map(|pdi| pdi.ue_nets())
}
