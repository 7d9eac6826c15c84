//! The data plane as a whole: the contract and its state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::task::Poll;

use causeway_collections::PartitionedMap;
use causeway_dataplane::{
    Capabilities, Counters, Dataplane, Disposition, Egress, Event, Explanation, GtpuPath, HeavyHitterList,
    HeavyHitterSettings, HostReachability, Ingress, PacketEngine, PathState, Plan, PlanId, PollApplied,
    RestoredUrr, SessionClasses, SessionState, Settings, Topology, Transmit, Usage,
};
use causeway_model::{ApplicationId, Applications, UeMac};
use causeway_types::{NetworkInstance, Seid, Time, UrrId, WallClock};

use crate::Limits;
use crate::application_class::ClassPairs;
use crate::drops::Drops;
use crate::ethernet::{Neighbours, Stations};
use crate::gtpu::Outer;
use crate::heavy_hitters::HeavyFlows;
use crate::index::Index;
use crate::indication::Indications;
use crate::paths::Paths;
use crate::qos::SharedLimits;
use crate::rate_limiter::RateLimiter;
use crate::session::Session;
use crate::timers::Timers;
use crate::topology_view::TopologyView;

/// ICMP messages to one host in a second. A traceroute sends three probes of a kind; a host that learns a path MTU for
/// several connections needs a few.
const ICMP_PER_HOST: u32 = 10;

/// Responses to GTP-U messages that cannot be handled, in a second.
const SIGNALLING: u32 = 1000;

/// The same for one peer: a gNB whose tunnels are all unknown is sent an indication for each within seconds.
const SIGNALLING_PER_PEER: u32 = 200;

/// The slow path.
#[derive(Debug)]
pub struct SlowPath {
    pub(crate) topology: TopologyView,
    pub(crate) limits: Limits,
    pub(crate) sessions: PartitionedMap<Seid, Box<Session>>,
    pub(crate) index: Index,
    pub(crate) indications: Indications,
    pub(crate) icmp_limit: RateLimiter,
    pub(crate) signalling_limit: RateLimiter,
    pub(crate) paths: Paths,
    pub(crate) shared: SharedLimits,
    pub(crate) stations: Stations,
    /// The MAC addresses that each URR has reported.
    pub(crate) reported_macs: BTreeMap<(Seid, UrrId), Arc<BTreeSet<UeMac>>>,
    pub(crate) neighbours: Neighbours,
    pub(crate) counters: Counters,
    pub(crate) drops: Drops,
    pub(crate) buffered_octets: usize,
    /// The sessions of the buffered packets, in the order of arrival.
    pub(crate) buffered_order: BTreeMap<u64, Seid>,
    /// The number of packets that were buffered since the start.
    pub(crate) buffered_total: u64,
    /// Buffered packets that are no longer, whose octets are elsewhere.
    pub(crate) discarded_elsewhere: Vec<u64>,
    pub(crate) timers: Timers,
    pub(crate) events: VecDeque<Event>,
    pub(crate) applications: Arc<Applications>,
    pub(crate) class_pairs: ClassPairs,
    pub(crate) transmit_queue: VecDeque<(Egress, Vec<u8>)>,
    /// `None`: nobody looks for heavy hitters.
    pub(crate) heavy_hitters: Option<Box<HeavyFlows>>,
    /// Timers of sessions expire on request alone.
    pub(crate) leaves_timers: bool,
    /// Timers were due that the last call left to the next one.
    pub(crate) has_late_timers: bool,
}

impl SlowPath {
    /// An empty data plane in this topology.
    pub fn new(topology: Topology, limits: Limits) -> Self {
        Self {
            icmp_limit: RateLimiter::new(topology.routing.icmp_errors_per_second, ICMP_PER_HOST),
            signalling_limit: RateLimiter::new(SIGNALLING, SIGNALLING_PER_PEER),
            paths: Paths::new(topology.routing.echo),
            shared: SharedLimits::new(&topology.slices, limits.averaging_window),
            topology: topology.into(),
            limits,
            sessions: PartitionedMap::default(),
            index: Index::default(),
            indications: Indications::default(),
            stations: Stations::default(),
            reported_macs: BTreeMap::new(),
            neighbours: Neighbours::default(),
            counters: Counters::default(),
            drops: Drops::default(),
            buffered_octets: 0,
            buffered_order: BTreeMap::new(),
            buffered_total: 0,
            discarded_elsewhere: Vec::new(),
            timers: Timers::default(),
            events: VecDeque::new(),
            applications: Arc::default(),
            class_pairs: ClassPairs::default(),
            transmit_queue: VecDeque::new(),
            heavy_hitters: None,
            leaves_timers: false,
            has_late_timers: false,
        }
    }

    /// Queues a packet for transmission.
    pub(crate) fn send(&mut self, egress: Egress, packet: Vec<u8>) {
        let counter = match egress {
            Egress::Gtpu { .. } => &mut self.counters.gtpu_sent,
            Egress::Ip { .. } => &mut self.counters.ip_sent,
            Egress::Ethernet { .. } => &mut self.counters.ethernet_sent,
        };
        counter.count(packet.len());
        self.transmit_queue.push_back((egress, packet));
    }

    /// Queues the fragments of a packet, in order.
    pub(crate) fn send_all(&mut self, egress: &Egress, pieces: Vec<Vec<u8>>) {
        pieces.into_iter().for_each(|piece| self.send(egress.clone(), piece));
    }

    /// Packets are queued for transmission.
    pub fn has_queued(&self) -> bool {
        !self.transmit_queue.is_empty()
    }

    /// Counts the disposition of a packet or of a copy.
    pub(crate) fn count_disposition(&mut self, disposition: Disposition) {
        match disposition {
            Disposition::Forwarded => self.counters.forwarded += 1,
            Disposition::Buffered => self.counters.buffered += 1,
            Disposition::Consumed => self.counters.consumed += 1,
            Disposition::Dropped(reason) => self.counters.count_drop(reason),
        }
    }

    /// Queues the usage reports that became due.
    pub(crate) fn report(&mut self, session: Seid, usage: Vec<Usage>) {
        if !usage.is_empty() {
            self.events.push_back(Event::Usage { session, usage });
        }
    }

    /// Handles a packet without expiring timers first; transmitted packets are queued until [`PacketEngine::flush`].
    pub(crate) fn receive(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Disposition {
        let disposition = match ingress {
            Ingress::Gtpu { local, peer, tos, hops } => {
                self.counters.gtpu_received.count(packet.len());
                let outer = Outer { local: *local, peer: *peer, tos: *tos, hops: *hops };
                self.receive_gtpu(now, outer, packet)
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
        self.count_disposition(disposition);
        if let Disposition::Dropped(reason) = disposition {
            self.record_drop(now, &ingress.meta(), packet, reason);
        }
        disposition
    }
}

impl Dataplane for SlowPath {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            outer_ipv4: self.topology.gtpu.iter().any(|endpoint| endpoint.addr.v4.is_some()),
            outer_ipv6: self.topology.gtpu.iter().any(|endpoint| endpoint.addr.v6.is_some()),
            ..Capabilities::all(self.limits.max_sessions, self.limits.max_pdrs_per_session)
        }
    }

    fn submit(&mut self, now: Time, _id: PlanId, plan: &Plan) -> PollApplied {
        self.expire(now);
        self.expire_late(now, |_| vec![plan.session]);
        if let Some(session) = plan.change.installed() {
            self.forget_drops_of(plan.session, session);
        }
        Poll::Ready(self.apply_plan(now, plan))
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        if self.applications.classes() != applications.classes() {
            self.forget_classes();
        }
        self.applications = Arc::clone(applications);
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.topology.set_host_reachability(host);
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        self.shared.wall = clock.known_since(now);
    }

    fn reconfigure(&mut self, now: Time, settings: &Arc<Settings>) {
        self.set_settings(now, settings, std::iter::empty());
    }

    fn follow_paths(&mut self, now: Time, old: &[GtpuPath], new: &[GtpuPath]) {
        Self::follow_paths(self, now, old, new);
    }

    fn paths(&self, after: Option<GtpuPath>, most: usize) -> Vec<PathState> {
        self.supervised_paths(after, most)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front().or_else(|| self.class_event()).or_else(|| self.heavy_hitter_event())
    }

    fn next_deadline(&self) -> Option<Time> {
        let heavy = self.heavy_hitters.as_ref().and_then(|heavy| heavy.next_deadline());
        [self.timers.next(self.shared.wall), self.paths.next(), heavy].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Time) {
        self.expire(now);
        self.expire_paths(now);
        if let Some(heavy) = &mut self.heavy_hitters {
            heavy.advance(now);
        }
    }

    fn set_heavy_hitters(&mut self, now: Time, settings: Option<&HeavyHitterSettings>) {
        self.look_for_heavy_hitters(now, settings);
    }

    fn heavy_hitters(&self, now: Time) -> Option<HeavyHitterList> {
        self.heavy_hitter_list(now)
    }

    fn session_classes(&self) -> SessionClasses {
        self.sessions_by_class()
    }

    fn application_class(&self, session: Seid) -> Option<ApplicationId> {
        self.class_name_of(session)
    }

    fn counters(&self) -> Counters {
        self.counters.clone()
    }

    fn session_state(&mut self, now: Time, session: Seid) -> Option<SessionState> {
        self.state_of(now, session)
    }

    fn usage_snapshot(&self, now: Time, session: Seid, since: Time) -> Option<Vec<u8>> {
        self.usage_snapshot_with(now, session, since, &[])
    }

    fn restore_usage(&mut self, now: Time, session: Seid, snapshot: &[u8], urrs: &[RestoredUrr]) -> bool {
        self.restore_usage_of(now, session, snapshot, urrs)
    }
}

impl PacketEngine for SlowPath {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn process(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        self.expire(now);
        self.expire_late(now, |plane| plane.sessions_for_any(ingress, packet));
        let disposition = self.receive(now, ingress, packet);
        self.flush(out);
        disposition
    }

    fn explain(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Option<Explanation> {
        self.explanation(now, ingress, packet)
    }

    fn is_frame_for(&self, network: &NetworkInstance, frame: &[u8], session: Seid) -> bool {
        self.sessions_for_frame(network, frame).contains(&session)
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        for (egress, packet) in self.transmit_queue.drain(..) {
            out.transmit(&egress, &packet);
        }
    }
}
