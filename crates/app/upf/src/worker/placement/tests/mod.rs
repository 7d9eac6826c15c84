use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::{GtpuEndpoint, Op};
use causeway_model::{
    ApplyAction, Far, Forwarding, OuterHeader, Pdi, Pdr, PlanOptions, ProfiledSession, SessionChange,
    Templates, UeAddress, UeSide, plan_modification, testing::rules_of,
};
use causeway_types::{DualIp, FTeid, FarId, Interface, IpNet, PdrId, Teid};

use super::super::directory::ALL_WORKERS;
use super::*;

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// A placement on two workers, with its directory.
struct Office {
    placement: Placement<u32>,
    directory: Arc<Directory>,
    plans: u32,
}

fn office(entries: usize) -> Office {
    office_of(entries, false)
}

fn office_of(entries: usize, is_by_seid: bool) -> Office {
    let topology = Topology { gtpu: vec![GtpuEndpoint::new(UPF.into())], ..Topology::default() };
    let placement = Placement::with_directory(topology, 1000, (2, is_by_seid), entries);
    Office { directory: Arc::clone(placement.directory()), placement, plans: 0 }
}

fn tunnel(teid: u32, at: Ipv4Addr) -> FTeid {
    FTeid { teid: Teid::new(teid).unwrap(), addr: DualIp::from(at) }
}

fn uplink(teid: u32) -> Op {
    let pdi = Pdi { tunnel: Some(tunnel(teid, UPF)), ..Pdi::new(Interface::Access) };
    Op::PutPdr(Pdr::new(PdrId(1), pdi, FarId(1)).into())
}

fn downlink(address: &str, routes: &[&str]) -> Op {
    let ue = UeAddress { v4: address.parse().ok(), v6: None, side: UeSide::Destination };
    let mut pdi = Pdi { ue: Some(ue), ..Pdi::new(Interface::Core) };
    pdi.routes = routes.iter().map(|net| net.parse().unwrap()).collect();
    Op::PutPdr(Pdr::new(PdrId(2), pdi, FarId(2)).into())
}

fn peer(teid: u32) -> Op {
    let outer = Some(OuterHeader::Gtpu(tunnel(teid, GNB)));
    let forwarding = Some(Forwarding { outer, ..Forwarding::to(Interface::Access) });
    Op::PutFar(Far { forwarding, ..Far::new(FarId(2), ApplyAction::Forward) }.into())
}

impl Office {
    /// Places a plan, which its worker applies or refuses.
    fn settle(
        &mut self,
        session: u64,
        change: impl Into<SessionChange>,
        is_done: bool,
    ) -> Result<usize, ApplyError> {
        self.plans += 1;
        let plan = Plan { session: Seid(session), change: change.into() };
        let worker = self.placement.assign_worker(self.plans, &plan)?;
        self.placement.complete(self.plans, is_done);
        Ok(worker)
    }

    fn change(&mut self, session: u64, change: impl Into<SessionChange>) -> Result<usize, ApplyError> {
        self.settle(session, change, true)
    }

    fn create(&mut self, session: u64, ops: Vec<Op>) -> Result<usize, ApplyError> {
        self.change(session, ProfiledSession::unshared(rules_of(ops)))
    }

    fn remove(&mut self, session: u64) {
        self.change(session, SessionChange::Remove).unwrap();
    }

    fn of_tunnel(&self, teid: u32) -> Option<usize> {
        self.directory.owner(self.directory.tunnel(0, teid))
    }

    fn of_ue(&self, address: &str) -> Option<usize> {
        self.directory.owner_of(address.parse().unwrap())
    }

    fn of_peer(&self, teid: u32) -> Option<usize> {
        self.directory.owner(self.directory.remote(IpAddr::V4(GNB), Teid::new(teid).unwrap()))
    }
}

// Input:  four sessions, two of which send to one tunnel; then all are deleted.
// Output: each worker has two; their packets reach them; an Error Indication for the shared tunnel concerns all
//         workers; no entry is left at the end.
#[test]
fn sessions_are_dealt_out_evenly() {
    let mut office = office(100);
    for n in 0..4_u32 {
        let ops = vec![uplink(10 + n), downlink(&format!("10.45.0.{n}"), &[]), peer(20 + n / 3)];
        assert_eq!(office.create(n.into(), ops), Ok(n as usize % 2));
    }
    for n in 0..4 {
        let owner = Some(n as usize % 2);
        assert_eq!((office.of_tunnel(10 + n), office.of_ue(&format!("10.45.0.{n}"))), (owner, owner));
    }
    assert_eq!((office.of_peer(20), office.of_peer(21)), (Some(ALL_WORKERS), Some(1)));
    (0..4).for_each(|n| office.remove(n));
    assert_eq!((office.of_tunnel(10), office.of_ue("10.45.0.3"), office.of_peer(20)), (None, None, None));
}

// Input:  sessions where each worker receives N4; one whose UE has an address of a session of the other worker.
// Output: each is with the worker that its SEID selects, but for the last one.
#[test]
fn sessions_are_where_their_messages_arrive() {
    let mut office = office_of(100, true);
    for seid in [1, 3, 4, 7, 1 << 32] {
        let ops = vec![uplink(10 + seid as u32), downlink(&format!("10.45.0.{}", seid as u8), &[])];
        assert_eq!(office.create(seid, ops), Ok(seid as usize % 2));
    }
    assert_eq!(office.create(8, vec![downlink("10.45.0.7", &[])]), Ok(1));
}

// Input:  a session with a route behind its UE; sessions with addresses in it, one new and one of the other worker that
//         changes.
// Output: the new session is on the first worker; the change is refused and leaves no entry, until the route is
//         removed. An IPv6 address is with the prefix of 64 bits that it lies in.
#[test]
fn prefixes_that_overlap_are_with_one_worker() {
    let mut office = office(100);
    assert_eq!(office.create(0, vec![downlink("10.45.0.1", &["10.60.0.0/16"])]), Ok(0));
    assert_eq!(office.create(1, vec![downlink("10.45.0.2", &[])]), Ok(1));
    assert_eq!(office.create(2, vec![downlink("10.60.3.4", &[])]), Ok(0));
    assert_eq!((office.of_ue("10.60.9.9"), office.of_ue("10.61.0.1")), (Some(0), None));
    let join = || vec![downlink("10.45.0.2", &["10.60.9.0/24"])];
    let taken = ApplyError::UeAddressInUse("10.60.9.0/24".parse().unwrap());
    assert_eq!(office.change(1, join()), Err(taken));
    assert_eq!(office.of_ue("10.60.9.9"), Some(0));
    office.remove(0);
    assert_eq!(office.change(1, join()), Ok(1));
    assert_eq!((office.of_ue("10.60.9.9"), office.of_ue("10.60.3.4")), (Some(1), Some(0)));
    assert_eq!(office.create(3, vec![downlink("10.45.0.3", &["2001:db8:0:7::/64"])]), Ok(0));
    assert_eq!(office.create(4, vec![downlink("10.45.0.4", &["2001:db8:0:7::7/128"])]), Ok(0));
}

// Input:  a tunnel of a session of the other worker; a change that the worker refuses; a session when the directory is
//         full.
// Output: the error of a single worker; packets have the same owner as before; an error that contains the table.
#[test]
fn what_is_refused_changes_nothing() {
    let mut office = office(32);
    office.create(0, vec![uplink(10), downlink("10.45.0.1", &[])]).unwrap();
    office.create(1, vec![uplink(11), downlink("10.45.0.2", &[])]).unwrap();
    assert_eq!(office.change(1, vec![uplink(10)]), Err(ApplyError::TunnelInUse(tunnel(10, UPF))));
    assert_eq!(office.settle(1, vec![uplink(12)], false), Ok(1));
    assert_eq!([10, 11, 12].map(|teid| office.of_tunnel(teid)), [Some(0), Some(1), None]);
    for n in 2..16 {
        office.create(n, vec![uplink(20 + n as u32), downlink(&format!("10.45.1.{n}"), &[])]).unwrap();
    }
    let full = ApplyError::Full { table: "directory of the workers", capacity: 32 };
    assert_eq!(office.create(16, vec![uplink(99)]), Err(full));
    office.remove(15);
    office.create(16, vec![uplink(99)]).unwrap();
}

/// The values of a session in the random test.
#[derive(Clone, PartialEq, Default, Debug)]
struct Values {
    teid: u32,
    ue: String,
    routes: Vec<&'static str>,
    peer: Option<u32>,
}

impl Values {
    fn random(random: &mut fastrand::Rng) -> Self {
        let routes = ["10.45.0.0/30", "10.45.0.4/31", "10.60.0.0/16", "10.60.1.0/24", "10.60.1.7/32"];
        let ue =
            if random.u8(..8) == 0 { "10.60.1.7".to_owned() } else { format!("10.45.0.{}", random.u8(..24)) };
        Self {
            teid: random.u32(1..30),
            ue,
            routes: (0..random.usize(..12).saturating_sub(9)).map(|_| routes[random.usize(..5)]).collect(),
            peer: random.bool().then(|| random.u32(1..10)),
        }
    }

    fn ops(&self) -> Vec<Op> {
        let idle = || Op::PutFar(Far::new(FarId(2), ApplyAction::Drop).into());
        let network = Far::forward(FarId(1), Forwarding::to(Interface::Core));
        let routes = downlink(&self.ue, &self.routes);
        vec![Op::PutFar(network.into()), self.peer.map_or_else(idle, peer), uplink(self.teid), routes]
    }

    fn keys(&self) -> BTreeSet<SessionKey> {
        let ue = IpNet::from(self.ue.parse::<IpAddr>().unwrap());
        let nets = self.routes.iter().map(|net| net.parse().unwrap()).chain([ue]);
        let remote = self.peer.map(|teid| SessionKey::Remote(GNB.into(), Teid::new(teid).unwrap()));
        let tunnel = SessionKey::Tunnel(UPF.into(), Teid::new(self.teid).unwrap());
        nets.map(SessionKey::Ue).chain(remote).chain([tunnel]).collect()
    }
}

/// The same as a placement, in sorted maps that hold each key as it is.
#[derive(Default)]
struct Model {
    is_by_seid: bool,
    sessions: BTreeMap<u64, (usize, BTreeSet<SessionKey>)>,
    /// The worker, the number of sessions, and whether those of another worker are among them.
    held: BTreeMap<SessionKey, (usize, usize, bool)>,
    /// The plan, its session, the keys before it, and whether it removes the session.
    pending: VecDeque<(u32, u64, Option<BTreeSet<SessionKey>>, bool)>,
}

impl Model {
    /// The workers that have a key in common with a session.
    fn holders(&self, key: SessionKey) -> BTreeSet<usize> {
        let is_common = |held: &SessionKey| match (key, *held) {
            (SessionKey::Ue(one), SessionKey::Ue(other)) => one.contains(&other) || other.contains(&one),
            (SessionKey::Tunnel(..), other) => key == other,
            _ => false,
        };
        self.held.iter().filter(|(held, _)| is_common(held)).map(|(_, (worker, ..))| *worker).collect()
    }

    fn assign(&mut self, plan: u32, session: u64, after: Option<&Values>, is_new: bool) -> Result<usize, ()> {
        let known = self.sessions.get(&session).cloned();
        match &known {
            None if !is_new => return Ok(FIRST_WORKER),
            Some((worker, _)) if is_new => return Ok(*worker),
            _ => {}
        }
        let new = after.map(Values::keys).unwrap_or_default();
        let old = known.as_ref().map(|(_, keys)| keys.clone()).unwrap_or_default();
        let bound: BTreeSet<usize> = (&new - &old).into_iter().flat_map(|key| self.holders(key)).collect();
        let load = |worker: &usize| self.sessions.values().filter(|(of, _)| of == worker).count();
        let free = if self.is_by_seid { session as usize % 2 } else { usize::from(load(&1) < load(&0)) };
        let worker = known.as_ref().map_or(bound.first().copied().unwrap_or(free), |(worker, _)| *worker);
        if bound.iter().any(|other| *other != worker) {
            return Err(());
        }
        for key in &new - &old {
            let held = self.held.entry(key).or_insert((worker, 0, false));
            *held = (held.0, held.1 + 1, held.2 || held.0 != worker);
        }
        self.sessions.insert(session, (worker, new));
        self.pending.push_back((plan, session, known.map(|(_, keys)| keys), after.is_none()));
        Ok(worker)
    }

    /// Completes the oldest plan.
    fn complete(&mut self, is_done: bool, after: &BTreeSet<SessionKey>) {
        let Some((_, session, before, is_removal)) = self.pending.pop_front() else { return };
        let old = before.clone().unwrap_or_default();
        for key in if is_done { &old - after } else { after - &old } {
            let (_, count, _) = self.held.get_mut(&key).unwrap();
            *count -= 1;
            if *count == 0 {
                self.held.remove(&key);
            }
        }
        match before {
            Some(before) if !is_done => self.sessions.get_mut(&session).unwrap().1 = before,
            _ if is_done && !is_removal => {}
            _ => drop(self.sessions.remove(&session)),
        }
    }

    fn owner(&self, key: &SessionKey) -> Option<usize> {
        self.held.get(key).map(|(worker, _, is_shared)| if *is_shared { ALL_WORKERS } else { *worker })
    }
}

/// A change of a session: with a profile that it shares with others where there can be one, or rule by rule.
fn random_change(
    random: &mut fastrand::Rng,
    templates: &mut Templates,
    before: Option<&Values>,
    after: &Values,
) -> SessionChange {
    let rules = |values: &Values| rules_of(values.ops());
    let Some(before) = before else {
        let profiled = templates.profiled(&rules(after)).filter(|_| random.bool());
        return profiled.unwrap_or_else(|| ProfiledSession::unshared(rules(after))).into();
    };
    let plan = plan_modification(Seid(0), &rules(before), &rules(after), &PlanOptions::default());
    let profiled = templates.profiled(&rules(before)).filter(|_| random.bool());
    let transition = profiled.and_then(|profiled| templates.transition(&profiled, &rules(after), &plan));
    transition.map_or(plan.change, SessionChange::from)
}

// Input:  random establishments, changes and removals of a few sessions that have tunnels, addresses, routes and peers in common, in batches, some of
//         them about one session; their results later, some of them refusals; sessions spread by load and by SEID.
// Output: each plan has the worker, or is refused, and each key has the owner that sorted maps without any of this say; nothing is left at the end.
#[test]
fn random_plans_have_the_places_of_a_simple_model() {
    for seed in 0..12 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut office = office_of(1000, seed % 2 == 1);
        let mut model = Model { is_by_seid: seed % 2 == 1, ..Model::default() };
        let (mut templates, mut seen) = (Templates::default(), BTreeSet::new());
        let mut values: BTreeMap<u64, Values> = BTreeMap::new();
        // The values before and after each plan in flight.
        let mut in_flight: VecDeque<[Option<Values>; 2]> = VecDeque::new();
        let mut refused = 0;
        for _ in 0..300 {
            let (mut plans, mut expected) = (Vec::new(), Vec::new());
            for _ in 0..random.usize(1..5) {
                let session = random.u64(..12);
                let is_ending =
                    model.pending.iter().any(|(_, other, _, is_removal)| *other == session && *is_removal);
                let before = values.get(&session).cloned();
                if is_ending {
                    continue;
                }
                office.plans += 1;
                let (change, after, is_new) = match random.u8(..4) {
                    0 => (SessionChange::Remove, None, false),
                    _ => {
                        let new = Values::random(&mut random);
                        // Of many changes only one is that of the peer.
                        let new = match &before {
                            Some(before) if random.bool() => Values { peer: new.peer, ..before.clone() },
                            _ => new,
                        };
                        seen.extend(new.keys());
                        let change = random_change(&mut random, &mut templates, before.as_ref(), &new);
                        (change, Some(new), before.is_none())
                    }
                };
                let worker = model.assign(office.plans, session, after.as_ref(), is_new);
                if model.pending.len() > in_flight.len() {
                    in_flight.push_back([before, after.clone()]);
                    match after {
                        Some(after) => drop(values.insert(session, after)),
                        None => drop(values.remove(&session)),
                    }
                }
                refused += usize::from(worker.is_err());
                expected.push(worker);
                plans.push((office.plans, Plan { session: Seid(session), change }));
            }
            let mut workers = Vec::new();
            if let [(key, plan)] = &plans[..] {
                workers.push(office.placement.assign_worker(*key, plan));
            } else {
                office.placement.assign_workers(&plans, &mut workers);
            }
            let workers: Vec<_> = workers.into_iter().map(|worker| worker.map_err(drop)).collect();
            assert_eq!(workers, expected, "seed {seed}: {plans:?}");
            office.placement.expect_results(model.pending.iter().map(|(plan, ..)| *plan));
            while model.pending.len() > random.usize(..6) {
                let (plan, session, ..) = model.pending.front().cloned().unwrap();
                let is_last = model.pending.iter().filter(|(_, other, ..)| *other == session).count() == 1;
                let is_done = !is_last || random.u8(..4) > 0;
                let [before, after] = in_flight.pop_front().unwrap();
                office.placement.complete(plan, is_done);
                model.complete(is_done, &after.as_ref().map(Values::keys).unwrap_or_default());
                if !is_done {
                    values.remove(&session);
                    before.into_iter().for_each(|before| drop(values.insert(session, before)));
                }
            }
            for key in &seen {
                let owner = office.directory.owner(office.placement.whole.name(*key));
                assert_eq!(owner, model.owner(key), "seed {seed}: {key:?}");
            }
        }
        assert!(refused > 20, "seed {seed}: {refused} refused");
    }
}

mod parts;
