//! The data plane as a whole: the contract, and the state behind it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use causeway_dataplane::{
    Applied, ApplyError, Capabilities, Counters, Dataplane, DropReason, Egress, Event, Fate, Ingress, Op,
    PacketEngine, Plan, Topology, Transmit, Usage,
};
use causeway_rules::{Applications, ApplyAction, RuleSet, UeMac};
use causeway_types::{Seid, Time, UrrId};
use foldhash::fast::RandomState;

use crate::Limits;
use crate::act::{Decision, Matched, act};
use crate::apply::{Effects, carry_out};
use crate::buffer::Waiting;
use crate::ethernet::{Neighbours, Stations};
use crate::index::Index;
use crate::indication::Indications;
use crate::paths::Paths;
use crate::qos::Shared;
use crate::ration::Ration;
use crate::route::Refusal;
use crate::session::Session;
use crate::timers::Timers;

/// ICMP messages to one host in a second. A traceroute sends three probes of a kind; a host that learns a path MTU for
/// several connections needs a few.
const ICMP_PER_HOST: u32 = 10;

/// Answers to GTP-U messages that cannot be handled, in a second.
const SIGNALLING: u32 = 1000;

/// As many for one peer: a gNB whose tunnels are all unknown hears of each within seconds.
const SIGNALLING_PER_PEER: u32 = 200;

/// The reference data plane.
#[derive(Debug)]
pub struct Reference {
    pub(crate) topology: Topology,
    pub(crate) limits: Limits,
    pub(crate) sessions: HashMap<Seid, Box<Session>, RandomState>,
    pub(crate) index: Index,
    pub(crate) indications: Indications,
    pub(crate) icmp: Ration,
    pub(crate) signalling: Ration,
    pub(crate) paths: Paths,
    pub(crate) shared: Shared,
    pub(crate) stations: Stations,
    /// The MAC addresses that each URR has reported.
    pub(crate) told_macs: BTreeMap<(Seid, UrrId), BTreeSet<UeMac>>,
    pub(crate) neighbours: Neighbours,
    pub(crate) counters: Counters,
    pub(crate) buffered_octets: usize,
    /// The packets that wait, by the order of their arrival, and their sessions.
    pub(crate) arrivals: BTreeMap<u64, Seid>,
    /// How many packets have begun to wait since the start.
    pub(crate) waited: u64,
    pub(crate) timers: Timers,
    pub(crate) events: VecDeque<Event>,
    pub(crate) applications: Arc<Applications>,
    outbox: VecDeque<(Egress, Vec<u8>)>,
}

impl Reference {
    /// An empty data plane in these surroundings.
    pub fn new(topology: Topology, limits: Limits) -> Self {
        Self {
            icmp: Ration::new(topology.routing.icmp_errors_per_second, ICMP_PER_HOST),
            signalling: Ration::new(SIGNALLING, SIGNALLING_PER_PEER),
            paths: Paths::new(topology.routing.echo),
            shared: Shared::new(&topology.slices, limits.averaging_window),
            topology,
            limits,
            sessions: HashMap::default(),
            index: Index::default(),
            indications: Indications::default(),
            stations: Stations::default(),
            told_macs: BTreeMap::new(),
            neighbours: Neighbours::default(),
            counters: Counters::default(),
            buffered_octets: 0,
            arrivals: BTreeMap::new(),
            waited: 0,
            timers: Timers::default(),
            events: VecDeque::new(),
            applications: Arc::default(),
            outbox: VecDeque::new(),
        }
    }

    /// Sends a packet, after what waits to be sent.
    pub(crate) fn send(&mut self, egress: Egress, packet: Vec<u8>) {
        let counter = match egress {
            Egress::Gtpu { .. } => &mut self.counters.gtpu_sent,
            Egress::Ip { .. } => &mut self.counters.ip_sent,
            Egress::Ethernet { .. } => &mut self.counters.ethernet_sent,
        };
        counter.count(packet.len());
        self.outbox.push_back((egress, packet));
    }

    /// Sends the pieces of a packet, in order.
    pub(crate) fn send_all(&mut self, egress: &Egress, pieces: Vec<Vec<u8>>) {
        pieces.into_iter().for_each(|piece| self.send(egress.clone(), piece));
    }

    /// Counts what became of a packet, or of a copy of one.
    pub(crate) fn count_fate(&mut self, fate: Fate) {
        match fate {
            Fate::Forwarded => self.counters.forwarded += 1,
            Fate::Buffered => self.counters.buffered += 1,
            Fate::Consumed => self.counters.consumed += 1,
            Fate::Dropped(reason) => self.counters.drop_one(reason),
        }
    }

    /// Queues the usage reports that became due.
    pub(crate) fn report(&mut self, session: Seid, usage: Vec<Usage>) {
        if !usage.is_empty() {
            self.events.push_back(Event::Usage { session, usage });
        }
    }

    /// Carries out a plan without letting timers expire first.
    pub(crate) fn carry(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        let (session, effects) = self.try_out(now, plan)?;
        self.commit(now, plan, session, &effects);
        Ok(Applied { usage: effects.usage, packet_rates: effects.packet_rates })
    }

    /// The session as the plan would leave it, and what else it would do.
    pub(crate) fn try_out(&self, now: Time, plan: &Plan) -> Result<(Box<Session>, Effects), ApplyError> {
        let mut session = self.starting_point(plan)?;
        let effects = carry_out(&mut session, &self.shared, plan, now)?;
        self.check_room(plan, &session)?;
        self.check_macs(plan.session, &session, &effects.macs)?;
        Ok((session, effects))
    }

    /// Handles a packet without letting timers expire first; what leaves waits for [`PacketEngine::flush`].
    pub(crate) fn receive(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Fate {
        let fate = match ingress {
            Ingress::Gtpu { local, peer, tos } => {
                self.counters.gtpu_received.count(packet.len());
                self.receive_gtpu(now, *local, *peer, *tos, packet)
            }
            Ingress::Ip { network } => {
                self.counters.ip_received.count(packet.len());
                self.receive_ip(now, network, packet)
            }
            Ingress::Ethernet { network } => {
                self.counters.ethernet_received.count(packet.len());
                self.receive_frame(now, network, packet)
            }
        };
        self.count_fate(fate);
        fate
    }

    fn check_room(&self, plan: &Plan, session: &Session) -> Result<(), ApplyError> {
        let (pdrs, capacity) = (session.rules.pdrs.len(), self.limits.max_pdrs_per_session);
        if pdrs > usize::from(capacity) {
            return Err(ApplyError::Full { table: "PDRs of the session", capacity: capacity.into() });
        }
        match self.index.conflict(plan.session, &session.rules) {
            Some(tunnel) => Err(ApplyError::TunnelInUse(tunnel)),
            None => Ok(()),
        }
    }

    /// The session that a plan starts from.
    fn starting_point(&self, plan: &Plan) -> Result<Box<Session>, ApplyError> {
        let is_new = plan.ops.first() == Some(&Op::CreateSession);
        match (self.sessions.get(&plan.session), is_new) {
            (None, true) if self.sessions.len() >= self.limits.max_sessions as usize => {
                Err(ApplyError::Full { table: "sessions", capacity: self.limits.max_sessions.into() })
            }
            (None, true) => Ok(Box::default()),
            (Some(session), false) => Ok(session.clone()),
            (Some(_), true) => Err(ApplyError::SessionExists(plan.session)),
            (None, false) => Err(ApplyError::UnknownSession(plan.session)),
        }
    }

    /// Makes the changed session the one that packets see.
    fn commit(&mut self, now: Time, plan: &Plan, session: Box<Session>, effects: &Effects) {
        let seid = plan.session;
        let old = match self.sessions.entry(seid) {
            Entry::Occupied(mut held) => Some(held.insert(session)),
            Entry::Vacant(place) => {
                place.insert(session);
                None
            }
        };
        let none = RuleSet::default();
        let old = old.as_ref().map_or(&none, |old| &old.rules);
        if let Some(session) = self.sessions.get(&seid) {
            self.index.follow(seid, old, &session.rules);
            self.shared.follow(seid, old, &session.rules, now);
            self.paths.follow(now, old, &session.rules, &self.topology);
        }
        effects.end_markers.iter().for_each(|tunnel| self.end(*tunnel));
        if effects.drop_buffered {
            self.drop_buffered(now, seid);
        }
        self.check_usage(now, seid);
        self.release(now, seid);
        self.arm_expiry(seid);
        self.arm_inactivity(seid);
        self.take_macs(now, seid, &effects.macs);
        self.report_macs(now, seid);
        if effects.removed {
            self.stations.forget(seid);
            self.neighbours.forget(seid);
            self.sessions.remove(&seid);
        }
        self.counters.sessions = self.sessions.len() as u64;
    }

    /// Lets go the packets that need not wait any longer, in order of arrival.
    fn release(&mut self, now: Time, seid: Seid) {
        let released = self.take_waiting(seid, |session, waiting| {
            session.far_of(waiting.pdr).is_none_or(|far| !matches!(far.action, ApplyAction::Buffer { .. }))
        });
        for waiting in released {
            self.release_one(now, seid, &waiting);
        }
    }

    fn release_one(&mut self, now: Time, seid: Seid, waiting: &Waiting) {
        let mut reports = Vec::new();
        let decision = self.sessions.get_mut(&seid).and_then(|session| {
            let pdr = Arc::clone(session.rules.pdrs.get_shared(&waiting.pdr)?);
            let (carried, packet) = (&waiting.carried, &waiting.packet);
            let matched = Matched { pdr: &pdr, qfi: waiting.qfi, carried, packet, has_waited: true };
            match session.far_of(pdr.id)?.action {
                ApplyAction::Drop => None,
                ApplyAction::Buffer { .. } => Some(Ok(Decision::Wait)),
                ApplyAction::Forward => {
                    Some(act(session, &mut self.shared, &matched, &self.topology, now, &mut reports))
                }
            }
        });
        self.report(seid, reports);
        let refused = match decision {
            // The quota that let it go is exhausted again.
            Some(Ok(Decision::Wait)) => return self.wait_again(seid, waiting),
            Some(Ok(Decision::Send(egress, pieces))) => {
                self.send_all(&egress, pieces);
                self.counters.forwarded += 1;
                None
            }
            Some(Ok(Decision::Answer(answer))) => {
                match self.send_answer(now, seid, waiting.pdr, waiting.qfi, answer) {
                    Ok(_) => {
                        self.counters.consumed += 1;
                        None
                    }
                    Err(reason) => Some(reason.into()),
                }
            }
            Some(Err(refusal)) => Some(refusal),
            None => Some(DropReason::BufferDiscarded.into()),
        };
        self.leaves_buffer(waiting);
        if let Some(refusal) = refused {
            self.refuse_waiting(now, seid, waiting, refusal);
            self.count_dropped(now, seid, waiting.pdr, waiting.packet.len());
        }
    }

    fn refuse_waiting(&mut self, now: Time, seid: Seid, waiting: &Waiting, refusal: Refusal) {
        let session = self.sessions.get(&seid);
        let pdr = session.and_then(|session| session.rules.pdrs.get_shared(&waiting.pdr)).cloned();
        let fate = pdr.map(|pdr| self.refuse(now, seid, &pdr, None, &waiting.packet, refusal));
        match fate {
            Some(Fate::Consumed) => self.counters.consumed += 1,
            _ => self.counters.drop_one(refusal.reason),
        }
    }

    fn wait_again(&mut self, seid: Seid, waiting: &Waiting) {
        if let Some(session) = self.sessions.get_mut(&seid) {
            session.buffer.push(waiting.clone());
        }
    }
}

impl Dataplane for Reference {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            outer_ipv4: self.topology.gtpu.iter().any(|endpoint| endpoint.addr.v4.is_some()),
            outer_ipv6: self.topology.gtpu.iter().any(|endpoint| endpoint.addr.v6.is_some()),
            traffic_steering: !(self.topology.policies.is_empty() && self.topology.n6_tunnels.is_empty()),
            ..Capabilities::all(self.limits.max_sessions, self.limits.max_pdrs_per_session)
        }
    }

    fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        self.expire(now);
        self.carry(now, plan)
    }

    fn provision(&mut self, applications: &Arc<Applications>) {
        self.applications = Arc::clone(applications);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn next_deadline(&self) -> Option<Time> {
        [self.timers.next(), self.paths.next()].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Time) {
        self.expire(now);
        self.expire_paths(now);
    }

    fn counters(&self) -> Counters {
        self.counters.clone()
    }
}

impl PacketEngine for Reference {
    fn process(&mut self, now: Time, ingress: &Ingress, packet: &[u8], out: &mut dyn Transmit) -> Fate {
        self.expire(now);
        let fate = self.receive(now, ingress, packet);
        self.flush(out);
        fate
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        for (egress, packet) in self.outbox.drain(..) {
            out.transmit(&egress, &packet);
        }
    }
}
