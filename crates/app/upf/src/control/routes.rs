//! Framed routes in the kernel: what lies behind a UE is routed to the TUN device of its network (TS 29.244 table
//! 7.5.2.2-2, note 7).
//!
//! A route is there from the plan that brings its PDR until no PDR of any session has it. Routes that others made
//! are never touched: where one to the same prefix exists, it stays, and that is said. With the TUN device all go.

use std::collections::{BTreeMap, BTreeSet};

use causeway_dataplane::{Op, Plan};
use causeway_ports::PortError;
use causeway_ports::netlink::Netlink;
use causeway_rules::{Alike, Pdr, UeSide};
use causeway_types::{IpNet, NetworkInstance, PdrId, Seid};
use tracing::{debug, warn};

use crate::config::Session;

/// A prefix and the device that leads to it.
type Route = (IpNet, String);

/// What a plan does to the routes of one session.
#[derive(Debug, Default)]
struct Planned {
    session: Option<Seid>,
    pdrs: Vec<(PdrId, Vec<Route>)>,
    ends: bool,
}

/// The framed routes of all sessions. `K` names a plan.
#[derive(Debug)]
pub(super) struct FramedRoutes<K> {
    /// The device of each network; the first is that of PDRs that name none.
    devices: Vec<(NetworkInstance, String)>,
    planned: BTreeMap<K, Planned>,
    sessions: BTreeMap<Seid, BTreeMap<PdrId, Vec<Route>>>,
    /// How many sessions have each route.
    users: BTreeMap<Route, usize>,
}

/// What the kernel is to be told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Change {
    Announce(Route),
    Withdraw(Route),
}

impl<K: Ord> FramedRoutes<K> {
    /// None yet; the networks are those of the configuration.
    pub(super) fn new(sessions: &[Session]) -> Self {
        let devices = sessions.iter().map(|it| (NetworkInstance::new(&it.dnn), it.dev.clone()));
        Self {
            devices: devices.collect(),
            planned: BTreeMap::new(),
            sessions: BTreeMap::new(),
            users: BTreeMap::new(),
        }
    }

    /// Takes note of a plan that the data plane is to carry out.
    pub(super) fn plan(&mut self, id: K, plan: &Plan) {
        let known = self.sessions.contains_key(&plan.session);
        let is_plain =
            |alike: &Alike| alike.template().rules().pdrs.values().all(|pdr| self.routes_of(pdr).is_empty());
        // Routes are none of what is a session's own, nor do they depend on FARs.
        if !known && plan.ops.alike().is_some_and(is_plain) || plan.ops.moved().is_some() {
            return;
        }
        let mut planned = Planned { session: Some(plan.session), ..Planned::default() };
        for op in &plan.ops {
            match op {
                Op::PutPdr(pdr) => planned.pdrs.push((pdr.id, self.routes_of(pdr))),
                Op::RemovePdr(id) => planned.pdrs.push((*id, Vec::new())),
                Op::RemoveSession => planned.ends = true,
                _ => {}
            }
        }
        if known || planned.pdrs.iter().any(|(_, routes)| !routes.is_empty()) {
            self.planned.insert(id, planned);
        }
    }

    /// The plan was carried out, or not; what that means for the kernel.
    pub(super) fn applied(&mut self, id: K, is_carried_out: bool) -> Vec<Change> {
        let planned = self.planned.remove(&id).filter(|_| is_carried_out);
        let Some((seid, planned)) = planned.and_then(|planned| Some((planned.session?, planned))) else {
            return Vec::new();
        };
        let mut pdrs = self.sessions.remove(&seid).unwrap_or_default();
        let before = routes(&pdrs);
        pdrs.extend(planned.pdrs);
        pdrs.retain(|_, routes| !routes.is_empty() && !planned.ends);
        let after = routes(&pdrs);
        if !pdrs.is_empty() {
            self.sessions.insert(seid, pdrs);
        }
        let gone = before.difference(&after).filter(|route| self.leave(route)).cloned().collect::<Vec<_>>();
        let new = after.difference(&before).filter(|route| self.join(route)).cloned().collect::<Vec<_>>();
        gone.into_iter().map(Change::Withdraw).chain(new.into_iter().map(Change::Announce)).collect()
    }

    /// One session less has it; it was the last.
    fn leave(&mut self, route: &Route) -> bool {
        let Some(users) = self.users.get_mut(route) else { return false };
        *users -= 1;
        let is_last = *users == 0;
        if is_last {
            self.users.remove(route);
        }
        is_last
    }

    /// One session more has it; it is the first.
    fn join(&mut self, route: &Route) -> bool {
        let users = self.users.entry(route.clone()).or_default();
        *users += 1;
        *users == 1
    }

    /// The routes of a PDR for packets from a data network.
    fn routes_of(&self, pdr: &Pdr) -> Vec<Route> {
        let pdi = &pdr.pdi;
        let is_for_network = pdi.tunnel.is_none() && pdi.ue_side() == UeSide::Destination;
        let named = |(name, _): &&(NetworkInstance, String)| {
            pdi.network_instance.as_ref().is_none_or(|instance| instance == name)
        };
        match self.devices.iter().find(named).filter(|_| is_for_network) {
            Some((_, device)) => pdi.routes.iter().map(|net| (*net, device.clone())).collect(),
            None => Vec::new(),
        }
    }
}

fn routes(pdrs: &BTreeMap<PdrId, Vec<Route>>) -> BTreeSet<Route> {
    pdrs.values().flatten().cloned().collect()
}

/// Tells the kernel. What it does not take is logged: the session goes on without that route.
pub(super) fn tell(changes: &[Change]) {
    for change in changes {
        let told = match change {
            Change::Announce((net, device)) => {
                with(device, |netlink, link| netlink.announce_route(*net, link))
            }
            Change::Withdraw((net, device)) => {
                with(device, |netlink, link| netlink.withdraw_route(*net, link))
            }
        };
        match told {
            Ok(()) => debug!("framed route: {change:?}"),
            Err(error) => warn!("framed route: {error}"),
        }
    }
}

/// Nothing is done where the device does not exist: the data network is another kind of port.
fn with(
    device: &str,
    change: impl FnOnce(&mut Netlink, &causeway_ports::netlink::Link) -> Result<(), PortError>,
) -> Result<(), PortError> {
    let mut netlink = Netlink::open()?;
    match netlink.link(device)? {
        Some(link) => change(&mut netlink, &link),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use causeway_rules::Pdi;
    use causeway_types::{FarId, Interface};

    use super::*;

    fn pdr(id: u16, routes: &[&str]) -> Op {
        let routes = routes.iter().map(|net| net.parse().unwrap()).collect();
        Op::PutPdr(Pdr::new(PdrId(id), Pdi { routes, ..Pdi::new(Interface::Core) }, FarId(1)).into())
    }

    fn shown(changes: &[Change]) -> Vec<String> {
        let line = |change: &Change| match change {
            Change::Announce((net, device)) => format!("+ {net} {device}"),
            Change::Withdraw((net, device)) => format!("- {net} {device}"),
        };
        changes.iter().map(line).collect()
    }

    struct World(FramedRoutes<u64>, u64);

    impl World {
        fn apply(&mut self, session: u64, ops: Vec<Op>, is_carried_out: bool) -> Vec<String> {
            self.1 += 1;
            self.0.plan(self.1, &Plan { session: Seid(session), ops: ops.into() });
            shown(&self.0.applied(self.1, is_carried_out))
        }
    }

    // Input:  two sessions with one route in common; one loses it, then the other ends; a plan that fails.
    // Output: the route comes with the first and goes with the last; the failed plan changes nothing.
    #[test]
    fn a_route_is_there_while_a_session_has_it() {
        let mut world = World(FramedRoutes::new(&[Session::default()]), 0);
        assert_eq!(world.apply(1, vec![pdr(1, &["172.16.0.0/16"])], false), [""; 0]);
        assert_eq!(world.apply(1, vec![pdr(1, &["172.16.0.0/16"])], true), ["+ 172.16.0.0/16 causeway0"]);
        let both = pdr(2, &["172.16.0.0/16", "172.17.0.0/16"]);
        assert_eq!(world.apply(2, vec![both], true), ["+ 172.17.0.0/16 causeway0"]);
        assert_eq!(world.apply(1, vec![pdr(1, &[])], true), [""; 0]);
        let gone = ["- 172.16.0.0/16 causeway0", "- 172.17.0.0/16 causeway0"];
        assert_eq!(world.apply(2, vec![Op::RemoveSession], true), gone);
        assert!(world.0.users.is_empty() && world.0.sessions.is_empty() && world.0.planned.is_empty());
    }
}
