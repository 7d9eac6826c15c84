//! The keys and paths of a session, as the control side stores them: the lookup keys of its packets, and its GTP-U
//! paths.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::{Op, Plan, Topology};
use causeway_model::{Far, Pdi, Pdr, ProfiledSession, SessionChange, UeSide};
use causeway_slowpath::path_of;
use causeway_types::{FTeid, FTeidV4, FarId, IpNet, PdrId, Teid};

use super::directory::is_one_ue;

/// The local address and that of a peer.
pub(super) type Path = (IpAddr, IpAddr);

/// The paths of a session that have changed.
#[derive(Debug)]
pub(super) struct NewPaths {
    /// The previous paths.
    pub(super) old: Vec<Path>,
    /// The new paths.
    pub(super) new: Vec<Path>,
}

/// A lookup key of a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum SessionKey {
    /// A tunnel that ends at a local address.
    Tunnel(IpAddr, Teid),
    /// An address or prefix of the UE.
    Ue(IpNet),
    /// A tunnel to a peer.
    Remote(IpAddr, Teid),
}

/// The keys and paths of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionKeys {
    pub(super) worker: usize,
    rules: KeySource,
}

/// The source of the keys: a session profile, or a list of keys for each rule.
#[derive(Clone, Debug)]
enum KeySource {
    /// A shared session profile with the session parameters.
    Profiled(ProfiledSession),
    Listed(Box<ListedKeys>),
}

impl Default for KeySource {
    fn default() -> Self {
        Self::Listed(Box::default())
    }
}

/// The same, rule by rule.
#[derive(Clone, Debug, Default)]
struct ListedKeys {
    pdrs: BTreeMap<PdrId, Vec<SessionKey>>,
    fars: BTreeMap<FarId, (Vec<SessionKey>, Option<Path>)>,
}

impl SessionKeys {
    /// Updates the keys with a plan.
    pub(super) fn follow(&mut self, plan: &Plan, topology: &Topology) {
        match (&plan.change, &mut self.rules) {
            (SessionChange::Install(session), rules) if session.is_shared() => {
                *rules = KeySource::Profiled(session.clone());
            }
            (SessionChange::Rebind(transition), KeySource::Profiled(session)) => {
                *session = transition.after();
            }
            (SessionChange::Remove, rules) => *rules = KeySource::default(),
            (_, rules) => {
                let mut listed = std::mem::take(rules).into_listed(topology);
                plan.ops().iter().for_each(|op| listed.write(op, topology));
                *rules = KeySource::Listed(listed);
            }
        }
    }

    /// The keys, each once, in order.
    pub(super) fn keys(&self) -> Vec<SessionKey> {
        match &self.rules {
            KeySource::Profiled(profiled) => keys_of_profiled(profiled),
            KeySource::Listed(listed) => {
                let of_fars = listed.fars.values().map(|(holdings, _)| holdings);
                in_order(listed.pdrs.values().chain(of_fars).flatten().copied())
            }
        }
    }

    /// The paths, each once, in order.
    pub(super) fn paths(&self, topology: &Topology) -> Vec<Path> {
        match &self.rules {
            KeySource::Profiled(profiled) => {
                let both = profiled.profile().senders().zip(profiled.params().remotes);
                in_order(
                    both.filter_map(|(far, remote)| Some((path_of(far?, topology)?.0, remote?.addr.into()))),
                )
            }
            KeySource::Listed(listed) => in_order(listed.fars.values().filter_map(|(_, path)| *path)),
        }
    }
}

impl KeySource {
    fn into_listed(self, topology: &Topology) -> Box<ListedKeys> {
        match self {
            Self::Listed(listed) => listed,
            Self::Profiled(profiled) => {
                let (rules, mut listed) = (profiled.rules(), Box::<ListedKeys>::default());
                rules.pdrs.values().for_each(|pdr| listed.put_pdr(pdr));
                rules.fars.values().for_each(|far| listed.put_far(far, topology));
                listed
            }
        }
    }
}

impl ListedKeys {
    /// Updates the keys with a write.
    fn write(&mut self, op: &Op, topology: &Topology) {
        match op {
            Op::PutPdr(pdr) => self.put_pdr(pdr),
            Op::RemovePdr(pdr) => drop(self.pdrs.remove(pdr)),
            Op::PutFar(far) => self.put_far(far, topology),
            Op::RemoveFar(far) => drop(self.fars.remove(far)),
            _ => {}
        }
    }

    fn put_pdr(&mut self, pdr: &Pdr) {
        self.pdrs.insert(pdr.id, of_pdr(pdr));
    }

    fn put_far(&mut self, far: &Far, topology: &Topology) {
        self.fars.insert(far.id, (of_far(far), path_of(far, topology)));
    }
}

/// These values, each once, in order: a session has few, so that a list takes less than a set.
fn in_order<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// The keys of a profiled session, without building its rules.
fn keys_of_profiled(profiled: &ProfiledSession) -> Vec<SessionKey> {
    let own = profiled.params();
    let pdrs = profiled.profile().rules().pdrs.values().filter(|pdr| pdr.pdi.tunnel.is_none());
    let of_ues = pdrs.flat_map(|pdr| of_ue(&pdr.pdi, own.ue));
    let remote = |remote: FTeidV4| SessionKey::Remote(remote.addr.into(), remote.teid);
    let of_remotes = own.remotes.into_iter().flatten().map(remote);
    in_order(profiled.tunnels().flat_map(of_tunnel).chain(of_ues).chain(of_remotes))
}

/// The lookup keys of the packets that these PDRs match, each once, in order.
pub(super) fn keys_of_pdrs<'a>(pdrs: impl Iterator<Item = &'a Pdr>) -> Vec<SessionKey> {
    in_order(pdrs.flat_map(of_pdr))
}

fn of_pdr(pdr: &Pdr) -> Vec<SessionKey> {
    match pdr.pdi.tunnel {
        Some(tunnel) => of_tunnel(tunnel).collect(),
        None => of_ue(&pdr.pdi, pdr.pdi.ue.and_then(|ue| ue.v4)).collect(),
    }
}

fn of_tunnel(tunnel: FTeid) -> impl Iterator<Item = SessionKey> {
    let FTeid { teid, addr } = tunnel;
    let both = addr.v4.map(IpAddr::V4).into_iter().chain(addr.v6.map(IpAddr::V6));
    both.map(move |ip| SessionKey::Tunnel(ip, teid))
}

/// The lookup keys of packets from a data network. The argument is the IPv4 address of the session, if it has one.
fn of_ue(pdi: &Pdi, v4: Option<Ipv4Addr>) -> impl Iterator<Item = SessionKey> {
    let is_for_network = pdi.ue_side() == UeSide::Destination;
    let v4 = pdi.ue.and_then(|ue| ue.v4.and(v4)).map(|ip| IpNet::from(IpAddr::V4(ip)));
    let v6 = pdi.ue.and_then(|ue| ue.v6).map(IpNet::V6);
    let nets = v4.into_iter().chain(v6).chain(pdi.routes.iter().copied()).filter(move |_| is_for_network);
    nets.map(|net| SessionKey::Ue(net.trunc()))
}

/// The tunnels that a FAR leads to.
pub(super) fn of_far(far: &Far) -> Vec<SessionKey> {
    let tunnel = far.forwarding.as_ref().and_then(|forwarding| forwarding.tunnel());
    tunnel.map_or_else(Vec::new, |tunnel| {
        tunnel.addr.iter().map(|ip| SessionKey::Remote(ip, tunnel.teid)).collect()
    })
}

/// The IP version and length of a prefix of more than one UE.
pub(super) fn wide_length(holding: SessionKey) -> Option<(bool, u8)> {
    match holding {
        SessionKey::Ue(net) if !is_one_ue(net) => Some((net.addr().is_ipv4(), net.prefix_len())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use causeway_dataplane::GtpuEndpoint;
    use causeway_model::{
        Forwarding, OuterHeader, PlanOptions, RuleSet, Templates, UeAddress, plan_modification,
    };
    use causeway_types::{DualIp, Interface, Seid};

    use super::*;

    fn tunnel(teid: u32, last: u8) -> FTeid {
        let addr = DualIp::from(Ipv4Addr::new(192, 0, 2, last));
        FTeid { teid: Teid::new(teid).unwrap(), addr }
    }

    /// A session with a route behind its UE, whose downlink goes to a gNB.
    fn rules(number: u8) -> RuleSet {
        let ue = |side| Some(UeAddress { v4: Some(Ipv4Addr::new(10, 45, 0, number)), v6: None, side });
        let uplink = Pdi {
            tunnel: Some(tunnel(number.into(), 1)),
            ue: ue(UeSide::Source),
            ..Pdi::new(Interface::Access)
        };
        let routes = vec!["172.16.0.0/16".parse().unwrap(), "10.45.0.1/32".parse().unwrap()];
        let downlink = Pdi { ue: ue(UeSide::Destination), routes, ..Pdi::new(Interface::Core) };
        let to_gnb = Forwarding::into_tunnel(Interface::Access, tunnel(100 + u32::from(number), 7));
        let mut rules = RuleSet::default();
        rules.pdrs.extend([
            (PdrId(1), Pdr::new(PdrId(1), uplink, FarId(1))),
            (PdrId(2), Pdr::new(PdrId(2), downlink, FarId(2))),
        ]);
        rules.fars.extend([
            (FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core))),
            (FarId(2), Far::forward(FarId(2), to_gnb)),
        ]);
        rules
    }

    // Input:  two sessions of one profile, established, handed over and modified otherwise; the same as lists of
    //         writes.
    // Output: the same tunnels, addresses and paths at each step.
    #[test]
    fn profiled_sessions_have_the_same_keys() {
        let topology = Topology {
            gtpu: vec![GtpuEndpoint::new(Ipv4Addr::new(192, 0, 2, 1).into())],
            ..Topology::default()
        };
        let mut templates = Templates::default();
        for number in [1, 2] {
            let (seid, rules) = (Seid(number.into()), rules(number));
            let (mut one, mut other) = (SessionKeys::default(), SessionKeys::default());
            let same = |one: &SessionKeys, other: &SessionKeys| {
                assert!(!one.keys().is_empty() && !one.paths(&topology).is_empty());
                assert_eq!(one.keys(), other.keys());
                assert_eq!(one.paths(&topology), other.paths(&topology));
            };
            let profiled = templates.profiled(&rules).unwrap();
            one.follow(&Plan { session: seid, change: profiled.clone().into() }, &topology);
            other.follow(&Plan::install(seid, rules.clone()), &topology);
            same(&one, &other);
            let mut moved = rules.clone();
            let outer = Some(OuterHeader::Gtpu(tunnel(200 + u32::from(number), 8)));
            moved.fars.get_mut(&FarId(2)).unwrap().forwarding.as_mut().unwrap().outer = outer;
            let plan = plan_modification(seid, &rules, &moved, &PlanOptions::default());
            let change = templates.transition(&profiled, &moved, &plan).unwrap().into();
            one.follow(&Plan { session: seid, change }, &topology);
            other.follow(&plan, &topology);
            same(&one, &other);
            assert!(matches!((&one.rules, &other.rules), (KeySource::Profiled(_), KeySource::Listed(_))));
            let mut without = moved.clone();
            without.pdrs.get_mut(&PdrId(2)).unwrap().pdi.routes.clear();
            let plan = plan_modification(seid, &moved, &without, &PlanOptions::default());
            one.follow(&plan, &topology);
            other.follow(&plan, &topology);
            same(&one, &other);
        }
    }
}
