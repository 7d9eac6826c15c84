//! The oracle: a data plane written from TS 29.244, TS 29.281 and TS 23.501 alone, to compare others with.
//!
//! It shares no code with the slow path and the fast path but the contract, the model and plain wire formats. It takes
//! one packet at a time, searches lists from their beginning, and keeps nothing that it can compute.
//!
//! - `detection`: the session and the PDR of a packet.
//! - `firewall`: which packets of a session go to its PDRs.
//! - `forwarding`: outer headers, markings, hops.
//! - `enforcement`: gates and rates.
//! - `usage`: what a URR measures and reports.
//! - `buffering`: packets that wait, and the reports of them.
//! - `session`: the order of these for a packet, and the writes of a plan.
//! - `node`: what sessions share, and GTP-U signalling.
//!
//! It does not have: Ethernet, tunnels over N6, forwarding policies, redirection, replacement of addresses, header
//! enrichment, applications that are known by the content of their flows, packet rates, ICMP errors, Router
//! Advertisements, Echo Requests of its own. `conformance/oracle.yaml` lists the cases that need one of these.

mod buffering;
mod detection;
mod enforcement;
mod firewall;
mod forwarding;
mod limits;
mod node;
mod packet;
mod session;
mod usage;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;

use causeway_dataplane::{
    Applied, ApplyError, Capabilities, Counters, Dataplane, Disposition, DropReason, Event, HostReachability,
    Ingress, PacketEngine, Plan, PlanId, PollApplied, Topology, Transmit,
};
use causeway_model::{
    Applications, Far, OuterHeader, PduSessionType, RuleId, RuleSet, SessionChange, Steering,
};
use causeway_packet::ParseError;
use causeway_packet::gtpu::{self, Message, Repr};
use causeway_types::{FTeid, NetworkInstance, Seid, Time, WallClock};

pub use limits::Limits;

use node::Node;
use packet::{Outer, Packet, Source};
use session::{Session, write_rules};

/// The number of PDRs of a session.
const MOST_PDRS: u16 = 1024;

/// The oracle.
pub struct Oracle {
    sessions: BTreeMap<Seid, Session>,
    /// The sessions in the order of their installation.
    order: Vec<Seid>,
    node: Node,
    /// The time of the last call: what could not be done before it is done now.
    seen: Time,
}

impl Oracle {
    /// An oracle without sessions.
    pub fn new(topology: Topology, limits: Limits) -> Self {
        Self {
            sessions: BTreeMap::new(),
            order: Vec::new(),
            node: Node::new(topology, limits),
            seen: Time::default(),
        }
    }

    /// Calls `act` with a session and what it shares.
    fn with<T>(&mut self, id: Seid, act: impl FnOnce(&mut Session, &mut Node) -> T) -> Option<T> {
        self.sessions.get_mut(&id).map(|session| act(session, &mut self.node))
    }

    fn gtpu(
        &mut self,
        now: Time,
        ingress: &Ingress,
        local: IpAddr,
        peer: SocketAddr,
        octets: &[u8],
    ) -> Disposition {
        let message = match gtpu::Packet::parse(octets) {
            Ok(message) => message,
            Err(ParseError::Version { layer: causeway_packet::Layer::Gtpu, .. } | ParseError::GtpPrime) => {
                return self.node.drop(DropReason::UnsupportedGtpVersion);
            }
            Err(_) => return self.node.drop(DropReason::MalformedGtpu),
        };
        match message.message {
            Message::GPdu(user) => self.user_data(now, ingress, local, peer, &message, user),
            Message::EndMarker => self.end_marker(now, ingress, &message),
            Message::EchoRequest => {
                let response = Repr::echo_response(message.header.sequence.unwrap_or(0));
                self.node.signal(local, peer, &response);
                self.consumed()
            }
            Message::EchoResponse | Message::SupportedExtensionHeaders(_) => self.consumed(),
            Message::ErrorIndication(error) => {
                if error.peer != peer.ip() {
                    return self.node.drop(DropReason::ErrorIndicationMismatch);
                }
                if let Some(teid) = error.teid {
                    let tunnel = FTeid { teid, addr: error.peer.into() };
                    for id in self.order.clone() {
                        self.with(id, |session, node| session.refuse(node, tunnel));
                    }
                }
                self.consumed()
            }
            Message::Other { .. } => self.node.drop(DropReason::UnsupportedGtpMessage),
        }
    }

    fn consumed(&mut self) -> Disposition {
        self.node.counters.consumed += 1;
        Disposition::Consumed
    }

    fn user_data(
        &mut self,
        now: Time,
        ingress: &Ingress,
        local: IpAddr,
        peer: SocketAddr,
        message: &gtpu::Packet<'_>,
        user: &[u8],
    ) -> Disposition {
        let outer = Outer::of(ingress, message);
        let id = outer.as_ref().and_then(|outer| self.of_tunnel(outer));
        // Of an unknown tunnel the UPF is the endpoint.
        let comprehends = match id.and_then(|id| self.sessions.get(&id)).zip(outer.as_ref()) {
            Some((session, outer)) => session.comprehends(outer),
            None => message.extensions.first_not_comprehended().is_none(),
        };
        if !comprehends {
            self.node.notify_extensions(local, peer, now);
            return self.node.drop(DropReason::UnsupportedExtension);
        }
        let Some((outer, id)) = outer.zip(id) else {
            self.node.indicate(local, peer, message.header.teid, now);
            return self.node.drop(DropReason::UnknownTeid);
        };
        let shown = |packet: Packet| match packet.source.outer() {
            Some(outer) => forwarding::decapsulated(outer, &packet.octets).map(|_| packet),
            None => Ok(packet),
        };
        self.handle(now, id, Packet::new(Source::Tunnel(outer), user).and_then(shown))
    }

    fn end_marker(&mut self, now: Time, ingress: &Ingress, message: &gtpu::Packet<'_>) -> Disposition {
        let outer = Outer::of(ingress, message);
        let found = outer.and_then(|outer| self.of_tunnel(&outer).map(|id| (outer, id)));
        let Some((outer, id)) = found else { return self.node.drop(DropReason::UnknownTeid) };
        self.with(id, |session, node| session.end_marker(node, now, &outer)).unwrap_or(Disposition::Consumed)
    }

    /// The session of a local tunnel.
    fn of_tunnel(&self, outer: &Outer) -> Option<Seid> {
        let is_of = |tunnel: FTeid| tunnel.teid == outer.teid && tunnel.addr.contains(outer.local);
        let has =
            |session: &Session| session.rules.pdrs.values().any(|pdr| pdr.pdi.tunnel.is_some_and(is_of));
        self.sessions.values().find(|session| has(session)).map(|session| session.id)
    }

    fn network_packet(&mut self, now: Time, network: &NetworkInstance, octets: &[u8]) -> Disposition {
        let packet = match Packet::new(Source::Network(network.clone()), octets) {
            Ok(packet) => packet,
            Err(reason) => return self.node.drop(reason),
        };
        let Some(ue) = packet.user().map(|user| user.flow.dst) else {
            return self.node.drop(DropReason::MalformedIp);
        };
        // Of several sessions the one with the longest prefix is tried first, and of those the one with the lowest SEID.
        let prefix = |session: &Session| detection::longest_prefix(&session.rules, ue);
        let mut found: Vec<_> =
            self.sessions.values().filter_map(|session| Some((prefix(session)?, session.id))).collect();
        found.sort_by_key(|(prefix, id)| (Reverse(*prefix), *id));
        let matching = found.iter().find(|(_, id)| {
            self.sessions.get(id).is_some_and(|session| session.detect(&self.node, now, &packet).is_ok())
        });
        match matching.or(found.first()) {
            Some((_, id)) => self.handle(now, *id, Ok(packet)),
            None => self.node.drop(DropReason::UnknownUe),
        }
    }

    fn handle(&mut self, now: Time, id: Seid, packet: Result<Packet, DropReason>) -> Disposition {
        let packet = match packet {
            Ok(packet) => packet,
            Err(reason) => return self.node.drop(reason),
        };
        if let Some(reason) = firewall::drop_reason(self.node.topology.firewall.as_deref(), &packet) {
            return self.node.drop(reason);
        }
        let disposition = self.with(id, |session, node| session.handle(node, now, &packet));
        self.make_room(now);
        disposition.unwrap_or(Disposition::Dropped(DropReason::UnknownTeid))
    }

    /// Drops the oldest packets of all sessions until the buffers hold no more than they may.
    fn make_room(&mut self, now: Time) {
        while self.node.is_overfull() {
            let firsts = self.sessions.values().filter_map(|session| {
                session.buffer.packets.first().map(|waiting| (waiting.number, session.id))
            });
            let Some((_, id)) = firsts.min() else { return };
            self.with(id, |session, node| {
                let gone = session.buffer.packets.remove(0);
                session.discard(node, now, &gone, DropReason::BufferMemoryFull, true);
            });
        }
    }

    /// Checks that a plan can be carried out.
    fn check(&self, plan: &Plan) -> Result<(), ApplyError> {
        let held = self.sessions.get(&plan.session);
        if plan.change.is_installation() {
            if held.is_some() {
                return Err(ApplyError::SessionExists(plan.session));
            }
            if self.sessions.len() >= self.node.limits.max_sessions as usize {
                let capacity = u64::from(self.node.limits.max_sessions);
                return Err(ApplyError::Full { table: "sessions", capacity });
            }
        } else if held.is_none() {
            return Err(ApplyError::UnknownSession(plan.session));
        }
        let mut rules = held.map(|session| session.rules.clone()).unwrap_or_default();
        write_rules(&mut rules, &plan.ops());
        if rules.pdu_type == PduSessionType::Ethernet {
            return Err(ApplyError::Unsupported("Ethernet sessions"));
        }
        if rules.fars.values().any(needs_steering) {
            return Err(ApplyError::Unsupported("forwarding policies and tunnels over N6"));
        }
        if let Some(rule) = dangling(&rules).filter(|_| !plan.change.is_removal()) {
            return Err(ApplyError::DanglingReference { session: plan.session, rule });
        }
        let tunnels = |rules: &RuleSet| -> Vec<FTeid> {
            rules.pdrs.values().filter_map(|pdr| pdr.pdi.tunnel).collect()
        };
        let others = self.sessions.values().filter(|session| session.id != plan.session);
        let taken: Vec<FTeid> = others.flat_map(|session| tunnels(&session.rules)).collect();
        let collides = |tunnel: &FTeid| {
            let is_same = |other: &FTeid| {
                other.teid == tunnel.teid && tunnel.addr.iter().any(|ip| other.addr.contains(ip))
            };
            taken.iter().any(is_same)
        };
        match tunnels(&rules).into_iter().find(collides) {
            Some(tunnel) => Err(ApplyError::TunnelInUse(tunnel)),
            None => Ok(()),
        }
    }

    fn carry_out(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        self.check(plan)?;
        let id = plan.session;
        if let SessionChange::Remove = plan.change {
            let applied = self.with(id, |session, node| session.end(node, now)).unwrap_or_default();
            self.sessions.remove(&id);
            self.order.retain(|held| *held != id);
            return Ok(applied);
        }
        if plan.change.is_installation() {
            self.sessions.insert(id, Session::new(id));
            self.order.push(id);
        }
        let ops = plan.ops();
        Ok(self.with(id, |session, node| session.apply(node, now, &ops)).unwrap_or_default())
    }
}

/// The FAR names a forwarding policy or a tunnel over N6.
fn needs_steering(far: &Far) -> bool {
    let n6 = |outer: Option<OuterHeader>| outer.is_some_and(|outer| outer.n6_peer().is_some());
    far.forwarding.as_ref().is_some_and(|way| way.steering != Steering::default() || n6(way.outer))
        || far.duplicates.iter().any(|copy| copy.policy.is_some() || n6(copy.outer))
}

/// A rule that a PDR refers to and that does not exist.
fn dangling(rules: &RuleSet) -> Option<RuleId> {
    rules.pdrs.values().find_map(|pdr| {
        let far = (!rules.fars.contains_key(&pdr.far)).then_some(RuleId::Far(pdr.far));
        let qer = pdr.qers.iter().find(|id| !rules.qers.contains_key(id)).map(|id| RuleId::Qer(*id));
        let urr = pdr.urrs.iter().find(|id| !rules.urrs.contains_key(id)).map(|id| RuleId::Urr(*id));
        far.or(qer).or(urr)
    })
}

impl Dataplane for Oracle {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            packet_rate: false,
            ethernet: false,
            redirection: false,
            address_replacement: false,
            header_enrichment: false,
            traffic_steering: false,
            ..Capabilities::all(self.node.limits.max_sessions, MOST_PDRS)
        }
    }

    fn submit(&mut self, now: Time, _: PlanId, plan: &Plan) -> PollApplied {
        self.seen = self.seen.max(now);
        Poll::Ready(self.carry_out(now, plan))
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.node.applications = Arc::clone(applications);
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.node.topology.host = HostReachability::clone(host);
        self.node.blocked = self.node.topology.blocked_addresses();
    }

    fn set_wall_clock(&mut self, _: Time, clock: WallClock) {
        self.node.clock = clock;
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.node.events.pop_front()
    }

    fn next_deadline(&self) -> Option<Time> {
        self.sessions.values().filter_map(|session| session.next_deadline(&self.node)).min()
    }

    fn advance(&mut self, now: Time) {
        // Timers expire in order, each at its own time.
        loop {
            let deadlines = self
                .sessions
                .values()
                .filter_map(|session| session.next_deadline(&self.node).map(|at| (at, session.id)));
            let Some((at, id)) = deadlines.min().filter(|(at, _)| *at <= now) else { break };
            let at = at.max(self.seen);
            self.with(id, |session, node| session.advance(node, at));
        }
        self.seen = self.seen.max(now);
    }

    fn counters(&self) -> Counters {
        let mut counters = self.node.counters.clone();
        counters.sessions = self.sessions.len() as u64;
        counters
    }
}

impl PacketEngine for Oracle {
    fn topology(&self) -> &Topology {
        &self.node.topology
    }

    fn process(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        self.seen = self.seen.max(now);
        let disposition = match ingress {
            Ingress::Gtpu { local, peer, .. } => {
                self.node.counters.gtpu_received.count(packet.len());
                self.gtpu(now, ingress, *local, *peer, packet)
            }
            Ingress::Ip { network } => {
                self.node.counters.ip_received.count(packet.len());
                self.network_packet(now, network, packet)
            }
            Ingress::Ethernet { .. } => {
                self.node.counters.ethernet_received.count(packet.len());
                self.node.drop(DropReason::UnknownMac)
            }
        };
        self.flush(out);
        disposition
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        for (egress, packet) in std::mem::take(&mut self.node.sent) {
            out.transmit(&egress, &packet);
        }
    }
}
