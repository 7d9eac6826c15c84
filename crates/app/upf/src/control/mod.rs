//! The control thread: N4 between its sockets, its timers and the packet thread.

mod settings;
mod sockets;
mod views;

use std::net::SocketAddr;
use std::sync::Arc;

use causeway_dataplane::{Op, Plan, Topology};
use causeway_n4::{ApplyId, Level, N4, Notice, Output};
use causeway_types::NodeId;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tracing::{debug, error, info, trace, warn};

use crate::clock::Clock;
use crate::config::Upf;
use crate::daemon::Totals;
use crate::error::RunError;
use crate::management::{self, Ask, Management, MessageCounts, N4Status, PortCounters};
use crate::worker::{Command, Report, Snapshot, WorkerHandle};
use sockets::Sockets;

/// Questions of the management server that wait, at most.
const ASKS: usize = 64;

/// How to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// Release associations first.
    Graceful,
    /// At once.
    Now,
}

/// What the control thread is given.
pub(crate) struct Surroundings {
    pub(crate) config: Upf,
    pub(crate) node: NodeId,
    pub(crate) topology: Topology,
    pub(crate) clock: Clock,
    pub(crate) n4: Vec<std::net::UdpSocket>,
    pub(crate) management: Vec<std::net::TcpListener>,
    pub(crate) counters: Vec<PortCounters>,
    pub(crate) stops: mpsc::UnboundedReceiver<Stop>,
}

/// The control plane at work.
pub(crate) struct Control {
    n4: N4,
    clock: Clock,
    worker: WorkerHandle<ApplyId>,
    sockets: Sockets,
    messages: MessageCounts,
    asks: mpsc::Receiver<Ask>,
    stops: mpsc::UnboundedReceiver<Stop>,
}

/// What happened next.
enum Next {
    Datagram,
    Unreadable(std::io::Error),
    Report(Option<Report<ApplyId>>),
    Timer,
    Ask(Ask),
    Stop(Stop),
}

impl Control {
    /// Runs until it is asked to end, or cannot go on.
    pub(crate) async fn run(given: Surroundings, worker: WorkerHandle<ApplyId>) -> Result<Totals, RunError> {
        let (asking, asks) = mpsc::channel(ASKS);
        let served = serve(&given, asking, &worker)?;
        let clock = given.clock;
        let mut control = Self {
            n4: settings::n4(&given, clock.now()),
            clock,
            worker,
            sockets: Sockets::new(given.n4).await.map_err(RunError::Sockets)?,
            messages: MessageCounts::default(),
            asks,
            stops: given.stops,
        };
        let end = control.until_end().await;
        served.abort_all();
        end
    }

    async fn until_end(&mut self) -> Result<Totals, RunError> {
        loop {
            if self.carry_out() {
                self.worker.send(Command::Stop);
            }
            match self.next().await {
                Next::Datagram(from, datagram) => {}
                Next::Unreadable(error) => warn!("N4: {error}"),
                Next::Report(Some(Report::Applied(id, result))) => self.n4.applied(self.clock.now(), id, result),
                Next::Report(Some(Report::Event(event))) => self.n4.event(self.clock.now(), event),
                Next::Report(Some(Report::Stopped(end))) => return end.map(totals).map_err(RunError::Port),
                Next::Report(None) => return Err(RunError::Panicked("packets")),
                Next::Timer => self.n4.timer(self.clock.now()),
                Next::Ask(ask) => self.answer(ask),
                Next::Stop(Stop::Graceful) => self.n4.shutdown(self.clock.now()),
                Next::Stop(Stop::Now) => drop(self.worker.send(Command::Stop)),
            }
        }
    }
}
