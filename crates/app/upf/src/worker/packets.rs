//! The loop of the packet thread.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use causeway_dataplane::{Ingress, PacketEngine};
use causeway_fastpath::Leaving;
use causeway_ports::{BATCH, Batch, Frame, MAX_PORTS, Meta, PortError, Ready, Waker, wait};
use causeway_types::Time;
use tokio::sync::mpsc::Sender;

use super::engine::Engine;
use super::exits::Exits;
use super::handle::{Command, Report, Snapshot};
use super::outgoing::Outgoing;
use super::ports::{PortRole, PortSet};
use crate::clock::Clock;

/// Octets of the smallest batch frames.
const MIN_FRAME: usize = 2048;

/// Octets that outer headers add to a user packet, at most: GTP-U with a PDU Session Container and room
/// for extension headers that others put there.
const OUTER: usize = 128;

/// Why the loop ends.
enum End {
    Asked,
    Lost(PortError),
}

impl From<PortError> for End {
    fn from(error: PortError) -> Self {
        Self::Lost(error)
    }
}

/// Batches of one port in one turn, at most: then the others have theirs.
const BURST: usize = 4;

/// A data plane with its ports, in the hands of one thread.
pub(super) struct Packets {
    engine: Engine,
    out: Outgoing,
    received: Batch,
    leaving: Leaving,
    clock: Clock,
    waker: Waker,
    busy_poll: bool,
}

impl Packets {
    pub(super) fn new(engine: Engine, ports: PortSet, clock: Clock, waker: Waker, busy_poll: bool) -> Self {
        let mtu = ports.ports().map(|port| port.mtu() as usize).max().unwrap_or(0);
        let frame = MIN_FRAME.max(mtu + OUTER);
        let exits = Exits::of(&ports, engine.local_addresses());
        Self {
            engine,
            out: Outgoing::new(ports, exits, frame),
            received: Batch::with_frame_size(frame),
            leaving: Leaving::default(),
            clock,
            waker,
            busy_poll,
        }
    }

    /// Runs until a command or a lost port ends it, then reports the last counters.
    pub(super) fn run<K>(mut self, commands: &Receiver<Command<K>>, reports: &Sender<Report<K>>) {
        let end = loop {
            if let Err(end) = self.turn(commands, reports) {
                break end;
            }
        };
        let last = match end {
            End::Asked => Ok(Box::new(self.snapshot())),
            End::Lost(error) => Err(error),
        };
        // Nobody is left to hear it when the control plane is gone.
        let _ = reports.blocking_send(Report::Stopped(last));
    }

    /// One turn: wait, receive, obey, let timers expire, report.
    fn turn<K>(&mut self, commands: &Receiver<Command<K>>, reports: &Sender<Report<K>>) -> Result<(), End> {
        let ready = if self.busy_poll { None } else { Some(self.wait()?) };
        for index in 0..self.out.set.slots().len().min(MAX_PORTS) {
            if ready.is_none_or(|ready| ready.port(index)) {
                self.receive(index)?;
            }
        }
        if ready.is_none_or(|ready| ready.woken) {
            self.obey(commands, reports)?;
        }
        if self.contract().next_deadline().is_some() {
            self.advance(self.clock.now())?;
        }
        self.report(reports)
    }

    fn contract(&self) -> &dyn PacketEngine {
        self.engine.contract()
    }

    fn wait(&self) -> Result<Ready, End> {
        let timeout: Option<Duration> = self.contract().next_deadline().map(|at| self.clock.until(at));
        wait(self.out.set.ports(), Some(&self.waker), timeout)
            .map_err(|source| End::Lost(PortError::System { doing: "waiting for packets".into(), source }))
    }

    /// Handles the batches that wait at one port.
    fn receive(&mut self, index: usize) -> Result<(), End> {
        for _ in 0..BURST {
            let Some(slot) = self.out.set.slot_mut(index) else { break };
            let count = slot.port.receive(&mut self.received)?;
            let entrance = slot.entrance();
            if count == 0 {
                break;
            }
            let now = self.clock.now();
            // What timers set free leaves before the packets that came after them.
            self.advance(now)?;
            match &mut self.engine {
                Engine::FastPath(engine) => {
                    engine.process_batch(now, entrance, &mut self.received, &mut self.leaving);
                    self.out.send_leaving(&self.received, &self.leaving)?;
                }
                Engine::Reference(_) => self.one_by_one(now, index)?,
            }
            if count < BATCH {
                break;
            }
        }
        Ok(())
    }

    /// Handles the batch by a data plane that knows no batches.
    fn one_by_one(&mut self, now: Time, index: usize) -> Result<(), End> {
        let Some(role) = self.out.set.slot_mut(index).map(|slot| slot.role().clone()) else { return Ok(()) };
        let engine = self.engine.contract_mut();
        for frame in self.received.frames() {
            match (&role, frame) {
                (PortRole::Network(ingress), Frame { data, .. }) => {
                    engine.process(now, ingress, data, &mut self.out);
                }
                (PortRole::Gtpu(_), Frame { meta: Meta::Gtpu { local, peer, tos }, data }) => {
                    engine.process(now, &Ingress::Gtpu { local, peer, tos }, data, &mut self.out);
                }
                // A port hands over only its own kind of frames.
                (PortRole::Gtpu(_), Frame { meta: Meta::Ip | Meta::Ethernet, .. }) => {}
            }
        }
        Ok(self.out.send_all()?)
    }

    /// Carries out the commands that wait.
    fn obey<K>(&mut self, commands: &Receiver<Command<K>>, reports: &Sender<Report<K>>) -> Result<(), End> {
        loop {
            match commands.try_recv() {
                Ok(Command::Apply(key, plan)) => {
                    // What was due or seen before the plan is told before its result, what it leads to after it.
                    let now = self.clock.now();
                    self.engine.contract_mut().advance(now);
                    self.report(reports)?;
                    let applied = self.engine.contract_mut().apply(now, &plan);
                    self.flush()?;
                    reports.blocking_send(Report::Applied(key, applied)).map_err(|_| End::Asked)?;
                }
                Ok(Command::Provision(applications)) => self.engine.contract_mut().provision(&applications),
                // Whoever asked may have gone away.
                Ok(Command::Snapshot(reply)) => drop(reply.send(self.snapshot())),
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return Err(End::Asked),
                Err(TryRecvError::Empty) => return Ok(()),
            }
        }
    }

    /// Lets timers that are due expire, and sends what that sets free.
    fn advance(&mut self, now: Time) -> Result<(), End> {
        if self.contract().next_deadline().is_some_and(|at| at <= now) {
            self.engine.contract_mut().advance(now);
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), End> {
        self.engine.contract_mut().flush(&mut self.out);
        Ok(self.out.send_all()?)
    }

    fn report<K>(&mut self, reports: &Sender<Report<K>>) -> Result<(), End> {
        while let Some(event) = self.engine.contract_mut().poll_event() {
            reports.blocking_send(Report::Event(event)).map_err(|_| End::Asked)?;
        }
        Ok(())
    }

    fn snapshot(&self) -> Snapshot {
        let (hot, slow) = self.engine.rooms();
        Snapshot { counters: self.contract().counters(), unroutable: self.out.unroutable, hot, slow }
    }
}
