//! The loop of the packet thread.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use causeway_dataplane::{Ingress, PacketEngine};
use causeway_ports::{Batch, Frame, MAX_PORTS, Meta, PortError, Ready, Waker, wait};
use tokio::sync::mpsc::Sender;

use super::handle::{Command, Report, Snapshot};
use super::outgoing::{Outgoing, PortRole, PortSet};
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

/// A data plane with its ports, in the hands of one thread.
pub(super) struct Packets {
    engine: Box<dyn PacketEngine + Send>,
    out: Outgoing,
    received: Batch,
    clock: Clock,
    waker: Waker,
}

impl Packets {
    pub(super) fn new(
        engine: Box<dyn PacketEngine + Send>,
        ports: PortSet,
        clock: Clock,
        waker: Waker,
    ) -> Self {
        let mtu = ports.ports().map(|port| port.mtu() as usize).max().unwrap_or(0);
        let frame = MIN_FRAME.max(mtu + OUTER);
        Self {
            engine,
            out: Outgoing::new(ports, frame),
            received: Batch::with_frame_size(frame),
            clock,
            waker,
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
        let ready = self.wait()?;
        for index in (0..self.out.set.slots().len().min(MAX_PORTS)).filter(|index| ready.port(*index)) {
            self.receive(index)?;
        }
        if ready.woken {
            self.obey(commands, reports)?;
        }
        self.advance()?;
        self.report(reports)
    }

    fn wait(&self) -> Result<Ready, End> {
        let timeout: Option<Duration> = self.engine.next_deadline().map(|at| self.clock.until(at));
        wait(self.out.set.ports(), Some(&self.waker), timeout)
            .map_err(|source| End::Lost(PortError::System { doing: "waiting for packets".into(), source }))
    }

    /// Handles one batch of one port.
    fn receive(&mut self, index: usize) -> Result<(), End> {
        let Some(slot) = self.out.set.slot_mut(index) else { return Ok(()) };
        slot.port.receive(&mut self.received)?;
        let role = slot.role().clone();
        let now = self.clock.now();
        for frame in self.received.frames() {
            match (&role, frame) {
                (PortRole::Network(ingress), Frame { data, .. }) => {
                    self.engine.process(now, ingress, data, &mut self.out);
                }
                (PortRole::Gtpu(_), Frame { meta: Meta::Gtpu { local, peer, tos }, data }) => {
                    let ingress = Ingress::Gtpu { local, peer, tos };
                    self.engine.process(now, &ingress, data, &mut self.out);
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
                    self.engine.advance(now);
                    self.report(reports)?;
                    let applied = self.engine.apply(now, &plan);
                    self.flush()?;
                    reports.blocking_send(Report::Applied(key, applied)).map_err(|_| End::Asked)?;
                }
                Ok(Command::Provision(applications)) => self.engine.provision(&applications),
                // Whoever asked may have gone away.
                Ok(Command::Snapshot(reply)) => drop(reply.send(self.snapshot())),
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return Err(End::Asked),
                Err(TryRecvError::Empty) => return Ok(()),
            }
        }
    }

    fn advance(&mut self) -> Result<(), End> {
        let due = self.engine.next_deadline().is_some_and(|at| self.clock.until(at).is_zero());
        if due {
            self.engine.advance(self.clock.now());
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), End> {
        self.engine.flush(&mut self.out);
        Ok(self.out.send_all()?)
    }

    fn report<K>(&mut self, reports: &Sender<Report<K>>) -> Result<(), End> {
        while let Some(event) = self.engine.poll_event() {
            reports.blocking_send(Report::Event(event)).map_err(|_| End::Asked)?;
        }
        Ok(())
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { counters: self.engine.counters(), unroutable: self.out.unroutable }
    }
}
