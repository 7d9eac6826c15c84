//! A UPF in memory. Each of its steps is timed.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_dataplane::{Egress, Ingress, PacketEngine, Plan, Transmit};
use causeway_fastpath::FastPath;
use causeway_fastpath::index::{ToKernel, request_prefault};
use causeway_n4::{ApplyId, Config, N4, Output};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{DualIp, NodeId, NtpSeconds, Span, Time};

use crate::BenchError;
use crate::kit::{CpuTimer, Samples};
use crate::pfcp::{capabilities, topology};
use crate::world::{Backend, xplane};

/// Plans that a packet thread of the daemon carries out between two looks at its ports.
const PLANS_PER_TURN: usize = 32;

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// Where N3 tunnels end.
pub(super) const UPF_N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 100);

/// Microseconds that steps took in which nothing else could be served.
#[derive(Default)]
pub(super) struct Pauses {
    /// One call of N4, with what it wants done.
    pub(super) n4: Samples,
    /// One turn of the packet thread.
    pub(super) packets: Samples,
}

/// A UPF with two SMFs.
pub(super) struct Environment {
    n4: N4,
    plane: Box<dyn PacketEngine>,
    now: Time,
    plans: Vec<(ApplyId, Plan)>,
    /// What was sent since it was taken.
    pub(super) answers: Vec<Vec<u8>>,
    pub(super) pauses: Pauses,
}

impl Environment {
    /// # Errors
    /// [`BenchError`] when there is too little memory for the tables of the data plane.
    pub(super) fn new(sessions: u32, backend: Backend) -> Result<Self, BenchError> {
        let topology = topology();
        let endpoints = topology.endpoints();
        let limits = Limits { max_sessions: sessions, ..Limits::default() };
        let plane: Box<dyn PacketEngine> = match backend {
            Backend::Slowpath => Box::new(SlowPath::new(topology, limits)),
            Backend::Fastpath => Box::new(FastPath::new(topology, limits)?),
            Backend::Xplane => Box::new(xplane(topology, limits, 1)?),
        };
        let mut config = Config::new(NodeId::Ip(IpAddr::V4(UPF)), DualIp::from(UPF));
        config.heartbeat.interval = Span::ZERO;
        config.limits.sessions = sessions as usize;
        let mut n4 = N4::new(config, capabilities(sessions), endpoints, NtpSeconds(3_900_000_000));
        n4.prepare_memory_with(request_prefault);
        n4.release_memory_with::<ToKernel>();
        Ok(Self {
            n4,
            plane,
            now: Time::from_secs(1_700_000_000),
            plans: Vec::new(),
            answers: Vec::new(),
            pauses: Pauses::default(),
        })
    }

    /// How many sessions N4 has, those included whose removal is not over.
    pub(super) fn sessions(&self) -> usize {
        self.n4.occupancy().sessions
    }

    /// Hands over a request, and times that alone. Twenty microseconds pass.
    pub(super) fn request(&mut self, from: Ipv4Addr, request: &[u8]) {
        self.now = self.now + Span::from_micros(20);
        let timer = CpuTimer::start();
        self.n4.datagram(self.now, SocketAddr::from((from, 8805)), request);
        self.drain();
        self.pauses.n4.add(micros(timer));
    }

    /// One turn of the packet thread, and what N4 makes of its reports, each timed. `false`: there was nothing to do.
    pub(super) fn run_turn(&mut self) -> bool {
        if self.n4.next_timer().is_some_and(|due| due <= self.now) {
            let timer = CpuTimer::start();
            self.n4.timer(self.now);
            self.drain();
            self.pauses.n4.add(micros(timer));
        }
        if self.plans.is_empty() {
            return false;
        }
        let now: Vec<_> = self.plans.drain(..self.plans.len().min(PLANS_PER_TURN)).collect();
        let timer = CpuTimer::start();
        let results: Vec<_> = now
            .into_iter()
            .map(|(id, plan)| {
                self.plane.advance(self.now);
                (id, self.plane.apply(self.now, &plan))
            })
            .collect();
        self.pauses.packets.add(micros(timer));
        for (id, result) in results {
            let timer = CpuTimer::start();
            self.n4.applied(self.now, id, result);
            self.drain();
            self.pauses.n4.add(micros(timer));
        }
        true
    }

    /// Times a packet from a gNB.
    pub(super) fn packet(&mut self, packet: &[u8]) {
        let ingress =
            Ingress::Gtpu { local: UPF_N3.into(), peer: SocketAddr::from((GNB, 2152)), tos: 0, hops: None };
        let timer = CpuTimer::start();
        self.plane.process(self.now, &ingress, packet, &mut DiscardTransmit);
        self.pauses.packets.add(micros(timer));
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

/// Where packets come from.
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);

fn micros(timer: CpuTimer) -> f64 {
    timer.elapsed().as_secs_f64() * 1e6
}

/// Packets are not looked at.
struct DiscardTransmit;

impl Transmit for DiscardTransmit {
    fn transmit(&mut self, _: &Egress, _: &[u8]) {}
}
