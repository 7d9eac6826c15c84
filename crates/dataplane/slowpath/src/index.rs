//! The sessions that a packet may belong to.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Bound;

use causeway_collections::{PartitionedMap, SortedSet};
use causeway_model::{
    EthernetFilter, Pdr, PduSessionType, Proxying, RuleSet, UE_PREFIX_BITS, UeSide, upper_half,
};
use causeway_types::{Direction, DualIp, FTeid, IpNet, Ipv6Net, MacAddr, NetworkInstance, Seid, Teid};

use crate::session::direction_of;

/// Finds sessions by tunnel and by UE address. Its content always follows the rules of the sessions.
#[derive(Debug, Default)]
pub(crate) struct Index {
    tunnels: PartitionedMap<(Teid, IpAddr), Seid>,
    ues: BTreeMap<IpNet, SortedSet<Seid>>,
    /// Those of `ues` that are single IPv4 addresses: nearly all, and looked up for packets to any address.
    ipv4_addresses: PartitionedMap<Ipv4Addr, ()>,
    /// The IPv6 prefixes of 64 bits: their upper halves.
    ipv6_prefixes: PartitionedMap<u64, ()>,
    /// The number of `ues` of each prefix length, by IP version.
    lengths: [BTreeMap<u8, usize>; 2],
    remotes: PartitionedMap<(Teid, IpAddr), SortedSet<Seid>>,
    ethernet_networks: BTreeMap<Option<NetworkInstance>, BTreeSet<Seid>>,
    /// Those of `ethernet_networks` that may receive frames to stations that no session is known to have, by network
    /// and destination; without a destination: to any.
    unknown_stations: BTreeMap<(Option<NetworkInstance>, Option<MacAddr>), BTreeSet<Seid>>,
    /// Those of `ethernet_networks` with a FAR that requests proxying.
    proxied_networks: BTreeMap<Option<NetworkInstance>, BTreeSet<Seid>>,
}

impl Index {
    /// Replaces the rules `old` of a session with `new`.
    pub(crate) fn update(&mut self, seid: Seid, old: &RuleSet, new: &RuleSet) {
        if old.pdrs != new.pdrs || old.pdu_type != new.pdu_type {
            self.remove_lookup_keys(seid, old);
            self.add_lookup_keys(seid, new);
        }
        if [old, new].iter().any(|rules| rules.pdu_type == PduSessionType::Ethernet)
            && (old.pdrs != new.pdrs || old.fars != new.fars || old.pdu_type != new.pdu_type)
        {
            proxied_links(old).for_each(|link| remove_member(&mut self.proxied_networks, &link, seid));
            for link in proxied_links(new) {
                self.proxied_networks.entry(link).or_default().insert(seid);
            }
        }
        if old.fars != new.fars {
            for remote in remote_tunnels(old) {
                self.forget_remote(seid, remote);
            }
            for remote in remote_tunnels(new) {
                self.remotes.get_or_insert_with(remote, SortedSet::default).insert(seid);
            }
        }
    }

    /// Replaces the remote tunnel `old` of a session, which no other rule of it names, with `new`.
    pub(crate) fn hand_over(&mut self, seid: Seid, old: FTeid, new: FTeid) {
        old.addr.iter().for_each(|ip| self.forget_remote(seid, (old.teid, ip)));
        for ip in new.addr.iter() {
            self.remotes.get_or_insert_with((new.teid, ip), SortedSet::default).insert(seid);
        }
    }

    fn forget_remote(&mut self, seid: Seid, remote: (Teid, IpAddr)) {
        if let Some(users) = self.remotes.get_mut(&remote) {
            users.remove(&seid);
            if users.is_empty() {
                self.remotes.remove(&remote);
            }
        }
    }

    fn add_lookup_keys(&mut self, seid: Seid, rules: &RuleSet) {
        for tunnel in local_tunnels(rules) {
            self.tunnels.insert(tunnel, seid);
        }
        for net in ue_nets(rules) {
            if self.ues.entry(net).or_default().insert(seid) {
                *self.lengths[version(net)].entry(net.prefix_len()).or_default() += 1;
            }
            if let Some(ip) = single(net) {
                self.ipv4_addresses.insert(ip, ());
            }
            if let Some(half) = half(net) {
                self.ipv6_prefixes.insert(half, ());
            }
        }
        for link in links(rules) {
            self.ethernet_networks.entry(link).or_default().insert(seid);
        }
        for key in unknown_stations(rules) {
            self.unknown_stations.entry(key).or_default().insert(seid);
        }
    }

    fn remove_lookup_keys(&mut self, seid: Seid, rules: &RuleSet) {
        for tunnel in local_tunnels(rules) {
            self.tunnels.remove(&tunnel);
        }
        for net in ue_nets(rules) {
            if remove_from(&mut self.ues, net, seid) {
                let lengths = &mut self.lengths[version(net)];
                let count = lengths.entry(net.prefix_len()).or_default();
                *count -= 1;
                if *count == 0 {
                    lengths.remove(&net.prefix_len());
                }
            }
            if let Some(ip) = single(net).filter(|_| !self.ues.contains_key(&net)) {
                self.ipv4_addresses.remove(&ip);
            }
            if let Some(half) = half(net).filter(|_| !self.ues.contains_key(&net)) {
                self.ipv6_prefixes.remove(&half);
            }
        }
        links(rules).for_each(|link| remove_member(&mut self.ethernet_networks, &link, seid));
        unknown_stations(rules).for_each(|key| remove_member(&mut self.unknown_stations, &key, seid));
    }

    /// The session of a local tunnel.
    pub(crate) fn session_of_tunnel(&self, teid: Teid, local: IpAddr) -> Option<Seid> {
        self.tunnels.get(&(teid, local)).copied()
    }

    /// The sessions of an address, by UE address or framed route, the longest prefix first.
    pub(crate) fn sessions_of_ue(&self, ip: IpAddr) -> Vec<Seid> {
        self.covering(IpNet::from(ip)).flatten().copied().collect()
    }

    /// The session that a UE address is of; `None`: no session has it, or several have.
    pub(crate) fn only_session_of_ue(&self, ip: IpAddr) -> Option<Seid> {
        let mut sessions = self.covering(IpNet::from(ip)).next()?.iter();
        sessions.next().copied().filter(|_| sessions.next().is_none())
    }

    /// The users of a network and of each network that contains it, the longest prefix first.
    fn covering(&self, net: IpNet) -> impl Iterator<Item = &SortedSet<Seid>> {
        let lengths = self.lengths[version(net)].range(..=net.prefix_len()).rev();
        let nets = lengths.filter_map(move |(len, _)| IpNet::new(net.addr(), *len).ok());
        nets.filter_map(|net| self.ues.get(&net.trunc()))
    }

    /// The Ethernet sessions that receive frames of a network, in the order of their SEIDs.
    pub(crate) fn by_ethernet_network(&self, network: &NetworkInstance) -> BTreeSet<Seid> {
        let of =
            |link: Option<NetworkInstance>| self.ethernet_networks.get(&link).into_iter().flatten().copied();
        of(Some(network.clone())).chain(of(None)).collect()
    }

    /// Those of them with a PDR that may match a frame to this station, which no session is known to have.
    pub(crate) fn by_unknown_station(&self, network: &NetworkInstance, station: MacAddr) -> BTreeSet<Seid> {
        let links = [Some(network.clone()), None];
        let keys = links.into_iter().flat_map(|link| [(link.clone(), Some(station)), (link, None)]);
        keys.filter_map(|key| self.unknown_stations.get(&key)).flatten().copied().collect()
    }

    /// A session that receives frames of the network has a FAR that requests proxying.
    pub(crate) fn is_proxied(&self, network: &NetworkInstance) -> bool {
        [Some(network.clone()), None].iter().any(|link| self.proxied_networks.contains_key(link))
    }

    /// The sessions that send to a tunnel of a peer.
    pub(crate) fn sessions_of_remote(&self, teid: Teid, peer: IpAddr) -> Vec<Seid> {
        self.remotes.get(&(teid, peer)).into_iter().flatten().copied().collect()
    }

    /// The sessions that have exactly this address or prefix.
    pub(crate) fn users(&self, net: IpNet) -> impl Iterator<Item = Seid> {
        self.ues.get(&net).into_iter().flatten().copied()
    }

    /// At most one session may receive the packets for this address or prefix.
    pub(crate) fn has_no_overlap(&self, net: IpNet) -> bool {
        self.covering(net).flatten().nth(1).is_none()
    }

    /// A session has the address, by UE address or framed route.
    pub(crate) fn has_ue(&self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V4(ip) if self.ipv4_addresses.contains_key(&ip) => true,
            IpAddr::V4(_) if !self.has_ipv4_prefixes() => false,
            IpAddr::V6(ip) if self.ipv6_prefixes.contains_key(&upper_half(ip)) => true,
            IpAddr::V6(_) if self.has_only_64_bit_prefixes() => false,
            _ => self.covering(IpNet::from(ip)).next().is_some(),
        }
    }

    /// A session has an IPv4 prefix that is more than one address.
    fn has_ipv4_prefixes(&self) -> bool {
        self.lengths[0].first_key_value().is_some_and(|(len, _)| u32::from(*len) < Ipv4Addr::BITS)
    }

    /// No session has an IPv6 prefix of another length than 64 bits.
    fn has_only_64_bit_prefixes(&self) -> bool {
        self.lengths[1].keys().all(|len| *len == UE_PREFIX_BITS)
    }

    /// A longer address or prefix lies in this one.
    pub(crate) fn has_longer(&self, net: Ipv6Net) -> bool {
        self.within(net).any(|(found, _)| *found != IpNet::V6(net))
    }

    /// The other sessions with an address or prefix that overlaps one of these rules.
    pub(crate) fn overlapping_sessions(&self, seid: Seid, rules: &RuleSet) -> Vec<Seid> {
        let mut overlapping = BTreeSet::new();
        for net in ue_nets(rules) {
            overlapping.extend(self.covering(net).flatten().copied());
            if net.prefix_len() < net.max_prefix_len() {
                let inside = self.ues.range((Bound::Excluded(net), Bound::Unbounded));
                let inside = inside.take_while(|(found, _)| net.contains(&found.addr()));
                overlapping.extend(inside.flat_map(|(_, users)| users.iter().copied()));
            }
        }
        overlapping.remove(&seid);
        overlapping.into_iter().collect()
    }

    fn within(&self, net: Ipv6Net) -> impl Iterator<Item = (&IpNet, &SortedSet<Seid>)> {
        let from = self.ues.range(IpNet::V6(net)..);
        from.take_while(move |(found, _)| matches!(found, IpNet::V6(found) if net.contains(found)))
    }

    /// A local tunnel of these rules that another session has.
    pub(crate) fn conflict(&self, seid: Seid, rules: &RuleSet) -> Option<FTeid> {
        local_tunnels(rules)
            .find(|tunnel| self.tunnels.get(tunnel).is_some_and(|owner| *owner != seid))
            .map(|(teid, ip)| FTeid { teid, addr: DualIp::from(ip) })
    }
}

/// `false`: the entry did not exist.
fn remove_from<K: Ord>(map: &mut BTreeMap<K, SortedSet<Seid>>, key: K, seid: Seid) -> bool {
    let Some(seids) = map.get_mut(&key) else { return false };
    let was_there = seids.remove(&seid);
    if seids.is_empty() {
        map.remove(&key);
    }
    was_there
}

fn remove_member<K: Ord>(map: &mut BTreeMap<K, BTreeSet<Seid>>, key: &K, seid: Seid) {
    if let Some(seids) = map.get_mut(key) {
        seids.remove(&seid);
        if seids.is_empty() {
            map.remove(key);
        }
    }
}

/// The address, if the network is a single IPv4 address.
fn single(net: IpNet) -> Option<Ipv4Addr> {
    match net {
        IpNet::V4(net) if u32::from(net.prefix_len()) == Ipv4Addr::BITS => Some(net.addr()),
        _ => None,
    }
}

/// The upper half, if the network is an IPv6 prefix of 64 bits.
fn half(net: IpNet) -> Option<u64> {
    match net {
        IpNet::V6(net) if net.prefix_len() == UE_PREFIX_BITS => Some(upper_half(net.addr())),
        _ => None,
    }
}

const fn version(net: IpNet) -> usize {
    match net {
        IpNet::V4(_) => 0,
        IpNet::V6(_) => 1,
    }
}

/// The local tunnels.
pub(crate) fn local_tunnels(rules: &RuleSet) -> impl Iterator<Item = (Teid, IpAddr)> {
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

/// The PDRs of an Ethernet session for frames of networks.
fn frame_pdrs(rules: &RuleSet) -> impl Iterator<Item = &Pdr> {
    let frames = (rules.pdu_type == PduSessionType::Ethernet).then(|| rules.pdrs.values());
    frames.into_iter().flatten().filter(|pdr| pdr.pdi.tunnel.is_none())
}

/// The networks whose frames an Ethernet session receives; `None` is any.
fn links(rules: &RuleSet) -> impl Iterator<Item = Option<NetworkInstance>> {
    frame_pdrs(rules).map(|pdr| pdr.pdi.network_instance.clone())
}

/// The networks and destinations, `None` for any, of the frames to unknown stations that PDRs of an Ethernet session
/// may match. ETHI does not match such frames.
fn unknown_stations(rules: &RuleSet) -> impl Iterator<Item = (Option<NetworkInstance>, Option<MacAddr>)> {
    let pdrs = frame_pdrs(rules).filter(|pdr| !pdr.pdi.whole_ethernet_session);
    pdrs.flat_map(|pdr| {
        destinations(pdr).into_iter().map(|station| (pdr.pdi.network_instance.clone(), station))
    })
}

/// The destinations of the frames that a PDR matches. `None`: any, or a range.
fn destinations(pdr: &Pdr) -> BTreeSet<Option<MacAddr>> {
    let of_filter = |filter: &EthernetFilter| match filter.macs.is_empty() {
        true => vec![None],
        false => filter.macs.iter().map(|mac| mac.destination.and_then(|range| range.single())).collect(),
    };
    match direction_of(pdr) {
        Direction::Downlink if !pdr.pdi.ethernet.is_empty() => {
            pdr.pdi.ethernet.iter().flat_map(of_filter).collect()
        }
        _ => [None].into(),
    }
}

/// The same networks, if a FAR of the session requests proxying.
fn proxied_links(rules: &RuleSet) -> impl Iterator<Item = Option<NetworkInstance>> {
    let forwarding = || rules.fars.values().filter_map(|far| far.forwarding.as_ref());
    let is_proxied = rules.pdu_type == PduSessionType::Ethernet
        && forwarding().any(|forwarding| forwarding.proxying != Proxying::default());
    links(rules).filter(move |_| is_proxied)
}

/// The addresses and routes that identify packets without a tunnel.
fn ue_nets(rules: &RuleSet) -> impl Iterator<Item = IpNet> {
    rules
        .pdrs
        .values()
        .map(|pdr| &pdr.pdi)
        .filter(|pdi| pdi.tunnel.is_none() && pdi.ue_side() == UeSide::Destination)
        .flat_map(|pdi| pdi.ue_nets())
}
