//! A packet thread with its ports in memory: it receives plans as from the control thread, without N4.

use std::time::Instant;

use causeway_dataplane::Dataplane;
use causeway_fastpath::FastPath;
use causeway_model::{Far, Plan};
use causeway_packet::Meta;
use causeway_ports::memory::{MemoryPort, pair_with};
use causeway_slowpath::Limits;
use causeway_upf::clock::Clock;
use causeway_upf::worker::{PortSet, Report, Schedule, WorkerHandle};

use super::changes::TunnelChange;
use super::environment::{SIZE, told, user_packet};
use crate::BenchError;
use crate::kit::Progress;
use crate::upf::Cores;
use crate::world::{Control, Rules, Shape, hand_over, shape};

/// Plans in flight while sessions are set up.
const WINDOW: u32 = 256;
/// Packets that wait at a port at most.
const QUEUE: usize = 1 << 12;
const MTU: u32 = 1500;

/// A packet thread, and what stands for N4, the gNB and the data network.
pub(super) struct InMemory {
    thread: WorkerHandle<u32>,
    gnb: MemoryPort,
    server: MemoryPort,
    sessions: u32,
    /// The downlink FAR that all sessions have a copy of.
    downlink: Option<Far>,
    /// The number of the last plan.
    last: u32,
}

impl InMemory {
    /// Starts the thread and sets the sessions up.
    ///
    /// # Errors
    /// [`BenchError`] when there is no room for them.
    pub(super) fn open(
        sessions: u32,
        busy_poll: bool,
        cores: Cores,
        progress: &mut Progress,
    ) -> Result<Self, BenchError> {
        let topology = shape::topology();
        let limits = Limits { max_sessions: sessions, ..Limits::default() };
        let engine = Box::new(FastPath::new(topology.clone(), limits)?);
        let capabilities = engine.capabilities();
        let ((n3, gnb), (n6, server)) =
            (pair_with("n3", "gnb", QUEUE, MTU)?, pair_with("n6", "server", QUEUE, MTU)?);
        let mut ports = PortSet::new();
        ports.add_gtpu(topology.gtpu, Box::new(n3));
        let network = topology.networks.into_iter().next();
        let network = network.unwrap_or_else(|| unreachable!("the topology has a network"));
        ports.add_network(network, Box::new(n6));
        let schedule = Schedule { core: Some(cores.packets), busy_poll };
        let thread = WorkerHandle::spawn(engine, ports, Clock::new(), schedule)
            .map_err(BenchError::io("start a packet thread"))?;
        let mut world = Self { thread, gnb, server, sessions, downlink: None, last: 0 };
        let shape = Shape::new(1, Rules::Full);
        let mut control = Control::new(&capabilities, sessions, &shape);
        for number in 0..sessions {
            let established = control.establish(number, &Control::request(&shape, number))?;
            world.downlink = world.downlink.or(established.downlink);
            world.submit(established.plan);
            if number % WINDOW == WINDOW - 1 || number + 1 == sessions {
                world.wait()?;
                progress.set_progress(number.into(), sessions.into());
            }
        }
        Ok(world)
    }

    /// Hands a plan to the thread.
    fn submit(&mut self, plan: Plan) {
        self.last = self.last.wrapping_add(1);
        // One that has ended is noticed by the report that does not come.
        let _ = self.thread.apply(self.last, plan);
    }

    /// Until the last plan was carried out.
    fn wait(&mut self) -> Result<(), BenchError> {
        self.thread.wake();
        let start = Instant::now();
        while !self.is_done()? {
            if start.elapsed().as_secs() > 10 {
                return Err(BenchError::NotAccepted { what: "set up a session".into(), accepted: 0, of: 1 });
            }
            std::thread::yield_now();
        }
        Ok(())
    }
}

impl TunnelChange for InMemory {
    fn sessions(&self) -> usize {
        self.sessions as usize
    }

    fn change(&mut self, session: usize, teid: u32) -> Result<(), BenchError> {
        let Some(far) = &self.downlink else { return Ok(()) };
        let plan = hand_over(far, session as u32, teid ^ 1, teid);
        self.submit(plan);
        self.thread.wake();
        Ok(())
    }

    fn is_done(&mut self) -> Result<bool, BenchError> {
        while let Some(report) = self.thread.report_now() {
            if let Report::Applied(number, result) = report {
                result?;
                if number == self.last {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn send_downlink(&mut self, session: usize, mark: u64) -> Result<bool, BenchError> {
        let mut data = Vec::with_capacity(SIZE);
        user_packet(shape::SERVER, shape::ue(session as u32), mark, &mut data)?;
        Ok(self.server.push(Meta::Ip, &data))
    }

    fn receive_downlink(&mut self, mut arrived: impl FnMut(u32, u64)) -> Result<(), BenchError> {
        while let Some((_, datagram)) = self.gnb.pop() {
            told(&datagram).into_iter().for_each(|(teid, mark)| arrived(teid, mark));
        }
        Ok(())
    }
}
