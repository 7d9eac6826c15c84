//! N4 and a data plane without sockets: requests are processed in chunks, each stage for the whole chunk.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use causeway_dataplane::{Applied, ApplyError, Capabilities, GtpuEndpoint, Network, PacketEngine, Topology};
use causeway_fastpath::FastPath;
use causeway_fastpath::index::{ArenaError, prefetch_at, request_prefault};
use causeway_model::{LocalEndpoints, Plan};
use causeway_n4::{ApplyId, Config, N4, Output};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{DualIp, NetworkInstance, NodeId, NtpSeconds, Span, Time};

use super::options::Plane;
use super::requests::{SMF, association};
use crate::kit::CpuTimer;

/// How many plans a packet thread looks ahead.
const PREFETCHED_PLANS: usize = 6;

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// Where GTP-U ends.
pub(super) const UPF_N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 100);

/// The time that a chunk of requests took, by stage.
#[derive(Clone, Copy, Default)]
pub(crate) struct Stages {
    /// N4 takes the request: duplicate check, decoding, rules, plan.
    pub(super) request: Duration,
    /// The data plane carries the plan out.
    pub(super) apply: Duration,
    /// N4 takes the result, commits the session, writes the response and keeps it for duplicates.
    pub(super) response: Duration,
}

impl Stages {
    pub(super) fn total(&self) -> Duration {
        self.request + self.apply + self.response
    }
}

/// A UPF in memory, with one SMF.
pub(crate) struct Environment {
    n4: N4,
    pub(crate) plane: Option<Box<dyn PacketEngine>>,
    pub(crate) now: Time,
    from: SocketAddr,
    /// What was sent in answer to the last chunk.
    pub(crate) answers: Vec<Vec<u8>>,
    plans: Vec<(ApplyId, Plan)>,
}

/// What surrounds the UPF.
pub(crate) fn topology() -> Topology {
    let pool = "10.0.0.0/8".parse().into_iter().collect();
    Topology {
        gtpu: vec![GtpuEndpoint::new(DualIp::from(UPF_N3))],
        networks: vec![Network::new(NetworkInstance::new("internet"), pool)],
        ..Topology::default()
    }
}

/// What a data plane for so many sessions can do.
pub(crate) fn capabilities(sessions: u32) -> Capabilities {
    Capabilities { outer_ipv6: false, traffic_steering: false, ..Capabilities::all(sessions, 64) }
}

impl Environment {
    /// With room for `sessions`, and an association.
    ///
    /// # Errors
    /// [`ArenaError`] when the data plane finds no room.
    pub(super) fn new(sessions: u32, plane: Plane) -> Result<Self, ArenaError> {
        let topology = topology();
        let limits = Limits { max_sessions: sessions, ..Limits::default() };
        let plane: Option<Box<dyn PacketEngine>> = match plane {
            Plane::Accepting => None,
            Plane::Slowpath => Some(Box::new(SlowPath::new(topology, limits))),
            Plane::Fastpath => Some(Box::new(FastPath::new(topology, limits)?)),
        };
        Ok(Self::with_plane(sessions, plane))
    }

    /// The same with this data plane; `None`: one that accepts everything.
    pub(crate) fn with_plane(sessions: u32, plane: Option<Box<dyn PacketEngine>>) -> Self {
        let endpoints: LocalEndpoints = topology().endpoints();
        let mut config = Config::new(NodeId::Ip(IpAddr::V4(UPF)), DualIp::from(UPF));
        config.heartbeat.interval = Span::ZERO;
        config.limits.sessions = sessions as usize;
        // A microsecond passes for each request: answers are kept for the last 5000 of them.
        config.answer_lifetime = Span::from_millis(5);
        let mut world = Self {
            n4: N4::new(config, capabilities(sessions), endpoints, NtpSeconds(3_900_000_000)),
            plane,
            now: Time::from_secs(1_700_000_000),
            from: SocketAddr::from((SMF, 8805)),
            answers: Vec::new(),
            plans: Vec::new(),
        };
        world.n4.prepare_memory_with(request_prefault);
        world.prepare(&[association()]);
        world
    }

    /// Serves the requests, each stage for all of them before the next. A microsecond passes for each. A function of
    /// its own in the program, so that instructions can be counted in it.
    #[inline(never)]
    pub(super) fn serve(&mut self, requests: &[Vec<u8>]) -> Stages {
        self.stages(requests)
    }

    /// The same for what is not measured.
    #[inline(never)]
    pub(crate) fn prepare(&mut self, requests: &[Vec<u8>]) -> Stages {
        // Lest the compiler make one function of both.
        std::hint::black_box(&self.now);
        self.stages(requests)
    }

    #[inline(always)]
    fn stages(&mut self, requests: &[Vec<u8>]) -> Stages {
        // As the daemon does with what it has sent.
        self.answers.drain(..).for_each(|octets| self.n4.recycle(octets));
        self.now = self.now + Span::from_micros(requests.len() as u64);
        let timer = CpuTimer::start();
        let mut following = requests.iter().skip(1);
        for request in requests {
            // As the daemon does where more than one has come.
            if let Some(following) = following.next() {
                self.n4.prefetch(following, prefetch_at);
            }
            self.n4.datagram(self.now, self.from, request);
            self.drain();
        }
        let request = timer.elapsed();
        let timer = CpuTimer::start();
        let mut plans = std::mem::take(&mut self.plans);
        let mut following = plans.iter().skip(1);
        if let Some(plane) = &mut self.plane {
            following.by_ref().take(PREFETCHED_PLANS - 1).for_each(|(_, plan)| plane.prefetch(plan));
        }
        let results: Vec<_> = plans
            .iter()
            .map(|(id, plan)| {
                // As a packet thread does that finds several.
                if let (Some(plane), Some((_, next))) = (&mut self.plane, following.next()) {
                    plane.prefetch(next);
                }
                (*id, self.apply(plan))
            })
            .collect();
        plans.clear();
        self.plans = plans;
        let apply = timer.elapsed();
        let timer = CpuTimer::start();
        for (id, result) in results {
            self.n4.applied(self.now, id, result);
            self.drain();
        }
        if self.n4.next_timer().is_some_and(|due| due <= self.now) {
            self.n4.timer(self.now);
        }
        Stages { request, apply, response: timer.elapsed() }
    }

    fn apply(&mut self, plan: &Plan) -> Result<Applied, ApplyError> {
        match &mut self.plane {
            None => Ok(Applied::default()),
            Some(plane) => {
                plane.advance(self.now);
                plane.apply(self.now, plan)
            }
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.n4.poll_output() {
            match output {
                Output::Send { bytes, .. } => self.answers.push(bytes),
                Output::Apply { id, plan } => self.plans.push((id, plan)),
                Output::Applications(_) | Output::Notice(_) => {}
            }
        }
    }
}
