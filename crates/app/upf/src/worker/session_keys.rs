//! The keys and paths of a session, as the control side stores them: the lookup keys of its packets, and its GTP-U
//! paths.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use causeway_dataplane::{Op, Topology};
use causeway_model::{Far, MAX_TUNNELS, Pdi, Pdr, SessionChange, SessionParams, SessionProfile, UeSide};
use causeway_slowpath::path_of;
use causeway_types::{FTeid, FarId, IpNet, PdrId, Teid};
use smallvec::SmallVec;

/// The local address and that of a peer.
pub(super) type Path = (IpAddr, IpAddr);

/// The paths of a session that have changed.
#[derive(Debug)]
pub struct NewPaths {
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

/// The source of a session's keys and paths: its profile and parameters, or a list of keys for each rule.
#[derive(Clone, Debug)]
pub(super) enum SessionKeys {
    /// A shared session profile with the session parameters.
    Profiled(Arc<SessionProfile>, SessionParams),
    Listed(Box<ListedKeys>),
    /// It has none.
    None,
}

/// The same, rule by rule.
#[derive(Clone, Debug, Default)]
pub(super) struct ListedKeys {
    pdrs: BTreeMap<PdrId, Vec<SessionKey>>,
    fars: BTreeMap<FarId, (Vec<SessionKey>, Option<Path>)>,
}

impl SessionKeys {
    /// The same after a change.
    pub(super) fn after(&self, change: &SessionChange, topology: &Topology) -> Self {
        match (change, self) {
            (SessionChange::Install(session), _) if session.is_shared() => {
                Self::Profiled(Arc::clone(session.profile()), *session.params())
            }
            (SessionChange::Rebind(transition), Self::Profiled(..)) => {
                let [_, (profile, params)] = transition.before_and_after();
                Self::Profiled(Arc::clone(profile), *params)
            }
            (SessionChange::Remove, _) => Self::None,
            _ => {
                let mut listed = self.listed(topology);
                change.ops().iter().for_each(|op| listed.write(op, topology));
                Self::Listed(listed)
            }
        }
    }

    fn listed(&self, topology: &Topology) -> Box<ListedKeys> {
        match self {
            Self::None => Box::default(),
            Self::Listed(listed) => listed.clone(),
            Self::Profiled(profile, params) => {
                let (rules, mut listed) = (profile.rules_with(params, None), Box::<ListedKeys>::default());
                rules.pdrs.values().for_each(|pdr| listed.put_pdr(pdr));
                rules.fars.values().for_each(|far| listed.put_far(far, topology));
                listed
            }
        }
    }

    /// Calls `see` with the keys, in no order, some more than once.
    pub(super) fn visit(&self, mut see: impl FnMut(SessionKey)) {
        match self {
            Self::None => {}
            Self::Profiled(profile, params) => {
                profile.tunnels(params).flat_map(of_tunnel).for_each(&mut see);
                let pdrs = profile.rules().pdrs.values().filter(|pdr| pdr.pdi.tunnel.is_none());
                pdrs.flat_map(|pdr| of_ue(&pdr.pdi, params.ue)).for_each(&mut see);
                of_remotes(params).for_each(see);
            }
            Self::Listed(listed) => {
                let of_fars = listed.fars.values().map(|(keys, _)| keys);
                listed.pdrs.values().chain(of_fars).flatten().copied().for_each(see);
            }
        }
    }

    /// The same without those that a later state of the session has as well: at most those of its FARs, if it is another one of the same PDRs.
    pub(super) fn visit_changeable(&self, other: &Self, see: impl FnMut(SessionKey)) {
        match (self, other) {
            (Self::Profiled(_, own), Self::Profiled(_, others))
                if (own.ue, own.tunnels) == (others.ue, others.tunnels) =>
            {
                of_remotes(own).for_each(see);
            }
            _ => self.visit(see),
        }
    }

    /// The paths, each once, in order.
    pub(super) fn paths(&self, topology: &Topology) -> SmallVec<[Path; MAX_TUNNELS]> {
        let mut paths: SmallVec<_> = match self {
            Self::None => SmallVec::new(),
            Self::Profiled(profile, params) => {
                let both = profile.senders().zip(params.remotes);
                both.filter_map(|(far, remote)| Some((path_of(far?, topology)?.0, remote?.addr.into())))
                    .collect()
            }
            Self::Listed(listed) => listed.fars.values().filter_map(|(_, path)| *path).collect(),
        };
        paths.sort_unstable();
        paths.dedup();
        paths
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

/// The tunnels that the FARs of a profiled session lead to.
fn of_remotes(params: &SessionParams) -> impl Iterator<Item = SessionKey> {
    let remotes = params.remotes.into_iter().flatten();
    remotes.map(|remote| SessionKey::Remote(remote.addr.into(), remote.teid))
}

/// The lookup keys of the packets that these PDRs match, each once, in order.
pub(super) fn keys_of_pdrs<'a>(pdrs: impl Iterator<Item = &'a Pdr>) -> Vec<SessionKey> {
    let mut keys: Vec<SessionKey> = pdrs.flat_map(of_pdr).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use causeway_dataplane::{GtpuEndpoint, Plan};
    use causeway_model::{
        Forwarding, OuterHeader, PlanOptions, RuleSet, Templates, UeAddress, plan_modification,
    };
    use causeway_types::{DualIp, Interface, Seid};

    use super::*;

    fn keys(session: &SessionKeys) -> BTreeSet<SessionKey> {
        let mut keys = BTreeSet::new();
        session.visit(|key| {
            keys.insert(key);
        });
        keys
    }

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
            let follow = |keys: &SessionKeys, plan: &Plan| keys.after(&plan.change, &topology);
            let same = |one: &SessionKeys, other: &SessionKeys| {
                assert!(!keys(one).is_empty() && !one.paths(&topology).is_empty());
                assert_eq!(keys(one), keys(other));
                assert_eq!(*one.paths(&topology), *other.paths(&topology));
            };
            let profiled = templates.profiled(&rules).unwrap();
            let one = follow(&SessionKeys::None, &Plan { session: seid, change: profiled.clone().into() });
            let other = follow(&SessionKeys::None, &Plan::install(seid, rules.clone()));
            same(&one, &other);
            let first = one.clone();
            let mut moved = rules.clone();
            let outer = Some(OuterHeader::Gtpu(tunnel(200 + u32::from(number), 8)));
            moved.fars.get_mut(&FarId(2)).unwrap().forwarding.as_mut().unwrap().outer = outer;
            let plan = plan_modification(seid, &rules, &moved, &PlanOptions::default());
            let change = templates.transition(&profiled, &moved, &plan).unwrap().into();
            let (one, other) = (follow(&one, &Plan { session: seid, change }), follow(&other, &plan));
            same(&one, &other);
            assert!(matches!((&one, &other), (SessionKeys::Profiled(..), SessionKeys::Listed(_))));
            let (mut left, mut new) = (BTreeSet::new(), BTreeSet::new());
            first.visit_changeable(&one, |key| {
                left.insert(key);
            });
            one.visit_changeable(&first, |key| {
                new.insert(key);
            });
            let only = |these: &SessionKeys, others| &keys(these) - &keys(others);
            assert_eq!((&left - &new, &new - &left), (only(&first, &one), only(&one, &first)));
            let mut without = moved.clone();
            without.pdrs.get_mut(&PdrId(2)).unwrap().pdi.routes.clear();
            let plan = plan_modification(seid, &moved, &without, &PlanOptions::default());
            same(&follow(&one, &plan), &follow(&other, &plan));
        }
    }
}
