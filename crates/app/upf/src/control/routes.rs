//! The framed routes that the kernel needs: prefixes behind a UE, outside the subnets, are routed to the TUN device of
//! their data network (TS 29.244 table 7.5.2.2-2, note 7).
//!
//! A route is made before the plan that brings its PDR goes to the data plane, so that a session is answered when its
//! routes are in, and goes when no PDR of any session has it. That a route may be there at all, N4 has checked.

use std::collections::{BTreeMap, BTreeSet};

use causeway_dataplane::{Op, Plan};
use causeway_model::{Pdr, ProfiledSession, SessionChange, UeSide};
use causeway_types::{IpNet, NetworkInstance, PdrId, Seid};

use crate::config::{N6Mode, Session};

/// A prefix and its device.
pub(super) type Route = (IpNet, String);

/// The change of the routes of one session by a plan.
#[derive(Debug)]
struct PlannedRoutes {
    session: Seid,
    /// The session's routes after the plan.
    pdrs: BTreeMap<PdrId, Vec<Route>>,
    new: Vec<Route>,
}

/// A data network behind a TUN device.
#[derive(Debug)]
struct TunNetwork {
    network: NetworkInstance,
    device: String,
    /// Prefixes that the kernel routes to the device in any case.
    subnets: Vec<IpNet>,
    /// Other prefixes that may contain framed routes.
    ranges: Vec<IpNet>,
}

/// The framed routes of all sessions in the kernel. `K` identifies a plan.
#[derive(Debug)]
pub(super) struct FramedRoutes<K> {
    networks: Vec<TunNetwork>,
    planned: BTreeMap<K, PlannedRoutes>,
    sessions: BTreeMap<Seid, BTreeMap<PdrId, Vec<Route>>>,
    /// The number of sessions of each route, including sessions with a plan in flight.
    users: BTreeMap<Route, usize>,
}

/// The networks of these pools.
fn networks<'a>(sessions: impl Iterator<Item = &'a Session>) -> Vec<TunNetwork> {
    let mut networks: Vec<TunNetwork> = Vec::new();
    for session in sessions.filter(|session| session.mode == N6Mode::Tun) {
        let network = NetworkInstance::new(&session.dnn);
        let known = networks.iter_mut().find(|known| known.network == network);
        if let Some(known) = known {
            known.subnets.push(session.subnet);
            known.ranges.extend(&session.framed_routes);
        } else {
            networks.push(TunNetwork {
                network,
                device: session.dev.clone(),
                subnets: vec![session.subnet],
                ranges: session.framed_routes.clone(),
            });
        }
    }
    networks
}

impl<K: Ord> FramedRoutes<K> {
    /// An empty set; the networks are those of the configuration.
    pub(super) fn new(sessions: &[Session]) -> Self {
        let (planned, held, users) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { networks: networks(sessions.iter()), planned, sessions: held, users }
    }

    /// Later plans are compared with these pools. Routes stay.
    pub(super) fn set_pools<'a>(&mut self, sessions: impl Iterator<Item = &'a Session>) {
        self.networks = networks(sessions);
    }

    /// Records a plan. Returns the routes to add before the data plane applies it.
    pub(super) fn plan(&mut self, id: K, plan: &Plan) -> Vec<Route> {
        let known = self.sessions.get(&plan.session);
        let is_plain = |alike: &ProfiledSession| {
            alike.profile().rules().pdrs.values().all(|pdr| self.routes_of(pdr).is_empty())
        };
        // Routes are no session parameters, and do not depend on FARs.
        let has_no_routes = match &plan.change {
            SessionChange::Install(session) => known.is_none() && is_plain(session),
            SessionChange::Rebind(_) => true,
            SessionChange::Update(_) | SessionChange::Remove => false,
        };
        if has_no_routes {
            return Vec::new();
        }
        let mut pdrs = known.filter(|_| !plan.change.is_removal()).cloned().unwrap_or_default();
        let before = routes(&pdrs);
        for op in plan.ops().iter() {
            match op {
                Op::PutPdr(pdr) => drop(pdrs.insert(pdr.id, self.routes_of(pdr))),
                Op::RemovePdr(id) => drop(pdrs.remove(id)),
                _ => {}
            }
        }
        pdrs.retain(|_, routes| !routes.is_empty());
        if known.is_none() && pdrs.is_empty() {
            return Vec::new();
        }
        let new: Vec<Route> = routes(&pdrs).difference(&before).cloned().collect();
        for route in &new {
            *self.users.entry(route.clone()).or_default() += 1;
        }
        self.planned.insert(id, PlannedRoutes { session: plan.session, pdrs, new: new.clone() });
        new
    }

    /// Completes a plan that was applied or refused. Returns the routes to remove.
    pub(super) fn applied(&mut self, id: &K, is_applied: bool) -> Vec<Route> {
        let Some(PlannedRoutes { session, pdrs, new }) = self.planned.remove(id) else { return Vec::new() };
        if !is_applied {
            return new.into_iter().filter(|route| self.leave(route)).collect();
        }
        let before = self.sessions.remove(&session).map(|held| routes(&held)).unwrap_or_default();
        let after = routes(&pdrs);
        if !pdrs.is_empty() {
            self.sessions.insert(session, pdrs);
        }
        before.difference(&after).filter(|route| self.leave(route)).cloned().collect()
    }

    /// Removes one session of a route. Returns whether it was the last.
    fn leave(&mut self, route: &Route) -> bool {
        let Some(users) = self.users.get_mut(route) else { return false };
        *users -= 1;
        let is_last = *users == 0;
        if is_last {
            self.users.remove(route);
        }
        is_last
    }

    /// The routes of a PDR for packets from a data network.
    fn routes_of(&self, pdr: &Pdr) -> Vec<Route> {
        let pdi = &pdr.pdi;
        if pdi.tunnel.is_some() || pdi.ue_side() != UeSide::Destination {
            return Vec::new();
        }
        let named = |it: &&TunNetwork| pdi.network_instance.as_ref().is_none_or(|name| *name == it.network);
        let behind = |net: &IpNet| {
            let is_in = |ranges: &[IpNet]| ranges.iter().any(|range| range.contains(net));
            let networks = self.networks.iter().filter(named);
            let found = networks.into_iter().find(|it| is_in(&it.ranges) && !is_in(&it.subnets))?;
            Some((net.trunc(), found.device.clone()))
        };
        pdi.routes.iter().filter_map(behind).collect()
    }
}

fn routes(pdrs: &BTreeMap<PdrId, Vec<Route>>) -> BTreeSet<Route> {
    pdrs.values().flatten().cloned().collect()
}

#[cfg(test)]
mod tests {
    use causeway_model::Pdi;
    use causeway_types::{FarId, Interface};

    use super::*;

    fn pdr(id: u16, routes: &[&str]) -> Op {
        let routes = routes.iter().map(|net| net.parse().unwrap()).collect();
        Op::PutPdr(Pdr::new(PdrId(id), Pdi { routes, ..Pdi::new(Interface::Core) }, FarId(1)).into())
    }

    struct World(FramedRoutes<u64>, u64);

    impl World {
        /// The kernel routes added before and removed after the plan.
        fn apply(&mut self, session: u64, change: impl Into<SessionChange>, is_applied: bool) -> Vec<String> {
            self.1 += 1;
            let new = self.0.plan(self.1, &Plan { session: Seid(session), change: change.into() });
            let gone = self.0.applied(&self.1, is_applied);
            let new = new.iter().map(|(net, device)| format!("+ {net} {device}"));
            new.chain(gone.iter().map(|(net, device)| format!("- {net} {device}"))).collect()
        }
    }

    fn world() -> World {
        let framed_routes = vec!["172.16.0.0/12".parse().unwrap()];
        World(FramedRoutes::new(&[Session { framed_routes, ..Session::default() }]), 0)
    }

    // Input:  two sessions with one route in common; one loses it, then the other ends; a plan that fails.
    // Output: the route is added with the first and removed with the last; the route of the failed plan is removed.
    #[test]
    fn a_route_is_there_while_a_session_has_it() {
        let mut world = world();
        let failed = ["+ 172.16.0.0/16 causeway0", "- 172.16.0.0/16 causeway0"];
        assert_eq!(world.apply(1, vec![pdr(1, &["172.16.0.0/16"])], false), failed);
        assert_eq!(world.apply(1, vec![pdr(1, &["172.16.0.0/16"])], true), ["+ 172.16.0.0/16 causeway0"]);
        let both = pdr(2, &["172.16.0.0/16", "172.17.0.0/16"]);
        let new = ["+ 172.16.0.0/16 causeway0", "+ 172.17.0.0/16 causeway0"];
        assert_eq!(world.apply(2, vec![both], true), new);
        assert_eq!(world.apply(1, vec![pdr(1, &[])], true), [""; 0]);
        let gone = ["- 172.16.0.0/16 causeway0", "- 172.17.0.0/16 causeway0"];
        assert_eq!(world.apply(2, SessionChange::Remove, true), gone);
        assert!(world.0.users.is_empty() && world.0.sessions.is_empty() && world.0.planned.is_empty());
    }

    // Input:  routes inside the subnet, which the kernel routes to the device anyway, and outside of all ranges.
    // Output: neither is added to the kernel.
    #[test]
    fn the_kernel_knows_the_subnets_and_gets_nothing_else() {
        let mut world = world();
        assert_eq!(world.apply(1, vec![pdr(1, &["10.45.8.0/24", "192.0.2.0/24"])], true), [""; 0]);
        assert!(world.0.sessions.is_empty());
    }
}
