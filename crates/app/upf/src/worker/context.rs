//! A data plane with its ports: packets in, packets out.

use causeway_dataplane::{Applied, ApplyError, Ingress, PacketEngine, Plan};
use causeway_fastpath::{ReceiveSource, TransmitQueue};
use causeway_ports::{Batch, Frame, Meta, PortError};
use causeway_switch::backend::Operation;
use causeway_types::Time;

use super::egress_ports::EgressPorts;
use super::engine::Engine;
use super::messages::Snapshot;
use super::ports::PortSet;
use super::remote::ApplyState;
use super::session_keys::NewPaths;
use super::transmit::PortTransmitter;

/// A data plane with its ports.
pub(super) struct WorkerContext {
    engine: Engine,
    out: PortTransmitter,
    queue: TransmitQueue,
}

impl WorkerContext {
    /// A data plane with these ports, for frames of that size.
    pub(super) fn new(engine: Engine, ports: PortSet, frame_size: usize) -> Self {
        let egress_ports = EgressPorts::of(&ports, engine.local_addresses());
        Self {
            engine,
            out: PortTransmitter::new(ports, egress_ports, frame_size),
            queue: TransmitQueue::default(),
        }
    }

    /// The ports.
    pub(super) fn ports(&self) -> &PortSet {
        &self.out.set
    }

    /// Brings the counters of the ports up to date.
    pub(super) fn count_losses(&mut self) {
        self.out.set.count_losses();
    }

    /// What all data planes have in common.
    pub(super) fn engine(&mut self) -> &mut dyn PacketEngine {
        self.engine.data_plane_mut()
    }

    /// When [`WorkerContext::advance`] has something to do.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.engine.data_plane().next_deadline()
    }

    /// Receives a batch from a port. Returns where it came in and how many packets it has; `None`: nothing is there.
    ///
    /// # Errors
    /// [`PortError::Lost`] when the port is of no use any more.
    pub(super) fn receive(
        &mut self,
        index: usize,
        batch: &mut Batch,
    ) -> Result<Option<(ReceiveSource, usize)>, PortError> {
        let Some(slot) = self.out.set.slot_mut(index) else { return Ok(None) };
        let count = slot.port.receive(batch)?;
        Ok((count > 0).then(|| (slot.receive_source(), count)))
    }

    /// Handles a batch, and sends what leaves because of it.
    ///
    /// # Errors
    /// [`PortError::Lost`] when a port is of no use any more.
    pub(super) fn process(
        &mut self,
        now: Time,
        source: ReceiveSource,
        batch: &mut Batch,
    ) -> Result<(), PortError> {
        // What timers set free leaves before the packets that came after them.
        self.advance(now)?;
        match &mut self.engine {
            Engine::FastPath(engine) => {
                engine.process_batch(now, source, batch, &mut self.queue);
                self.out.send_queue(batch, &self.queue)
            }
            Engine::Reference(_) | Engine::Switch(_) | Engine::Remote(_) => {
                self.process_each(now, source, batch)
            }
        }
    }

    /// Handles the batch by a data plane that knows no batches.
    fn process_each(&mut self, now: Time, source: ReceiveSource, batch: &Batch) -> Result<(), PortError> {
        let network = self.out.exits().ingress(source);
        let engine = self.engine.data_plane_mut();
        for frame in batch.frames() {
            match (&network, frame) {
                (Some(ingress), Frame { data, .. }) => {
                    engine.process(now, ingress, data, &mut self.out);
                }
                (None, Frame { meta: Meta::Gtpu { local, peer, tos, hops }, data }) => {
                    engine.process(now, &Ingress::Gtpu { local, peer, tos, hops }, data, &mut self.out);
                }
                // A port hands over only its own kind of frames.
                (None, Frame { meta: Meta::Ip | Meta::Ethernet, .. }) => {}
            }
        }
        self.out.send_all()
    }

    /// Carries out a plan, or begins to.
    pub(super) fn begin(&mut self, now: Time, plan: &Plan) -> ApplyState {
        match &mut self.engine {
            Engine::Remote(engine) => engine.begin(now, plan),
            Engine::FastPath(_) | Engine::Reference(_) | Engine::Switch(_) => {
                ApplyState::Done(self.engine().apply(now, plan))
            }
        }
    }

    /// A plan that was begun and is over.
    pub(super) fn poll_finished(&mut self, now: Time) -> Option<(Operation, Result<Applied, ApplyError>)> {
        match &mut self.engine {
            Engine::Remote(engine) => engine.poll_finished(now),
            Engine::FastPath(_) | Engine::Reference(_) | Engine::Switch(_) => None,
        }
    }

    /// Lets timers that are due expire, and sends what that sets free.
    ///
    /// # Errors
    /// As for [`WorkerContext::process`].
    pub(super) fn advance(&mut self, now: Time) -> Result<(), PortError> {
        if self.next_deadline().is_some_and(|at| at <= now) {
            self.engine().advance(now);
            self.flush()?;
        }
        Ok(())
    }

    /// Sends what a plan or a timer set free.
    ///
    /// # Errors
    /// As for [`WorkerContext::process`].
    pub(super) fn flush(&mut self) -> Result<(), PortError> {
        self.engine.data_plane_mut().flush(&mut self.out);
        self.out.send_all()
    }

    /// Supervises other paths than before for a session of another worker.
    pub(super) fn follow_paths(&mut self, now: Time, NewPaths { old, new }: &NewPaths) {
        match &mut self.engine {
            Engine::FastPath(engine) => engine.follow_paths(now, old, new),
            Engine::Reference(engine) => engine.follow_paths(now, old, new),
            Engine::Switch(engine) => engine.follow_paths(now, old, new),
            // It is the only one: no session is elsewhere.
            Engine::Remote(_) => {}
        }
    }

    /// The counters as they are.
    pub(super) fn snapshot(&self) -> Snapshot {
        let (hot, slow) = self.engine.path_packets();
        let counters = self.engine.data_plane().counters();
        Snapshot { counters, unroutable: self.out.unroutable, hot, slow, ..Snapshot::default() }
    }
}
