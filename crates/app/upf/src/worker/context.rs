//! A data plane with its ports.

use causeway_dataplane::{Applied, ApplyError, Ingress, PacketEngine, Plan, ReceiveSource, TransmitQueue};
use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::PortError;
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
    /// A data plane with these ports, for frames of this size.
    pub(super) fn new(engine: Engine, ports: PortSet, frame_size: usize) -> Self {
        let egress_ports = EgressPorts::of(&ports);
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

    /// Updates the counters of the ports.
    pub(super) fn count_losses(&mut self) {
        self.out.set.count_losses();
    }

    /// The data plane through the common contract.
    pub(super) fn engine(&mut self) -> &mut dyn PacketEngine {
        self.engine.data_plane_mut()
    }

    /// The time of the next timer, for [`WorkerContext::advance`].
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.engine.data_plane().next_deadline()
    }

    /// Receives a batch from a port. Returns the receive source and the number of packets; `None`: no packet is
    /// available.
    ///
    /// # Errors
    /// [`PortError::Lost`] when the port has failed for good.
    pub(super) fn receive(
        &mut self,
        index: usize,
        batch: &mut Batch,
    ) -> Result<Option<(ReceiveSource, usize)>, PortError> {
        let Some(slot) = self.out.set.slot_mut(index) else { return Ok(None) };
        let count = slot.port.receive(batch)?;
        Ok((count > 0).then(|| (slot.receive_source(), count)))
    }

    /// Processes a batch, and transmits the resulting packets.
    ///
    /// # Errors
    /// [`PortError::Lost`] when a port has failed for good.
    pub(super) fn process(
        &mut self,
        now: Time,
        source: ReceiveSource,
        batch: &mut Batch,
    ) -> Result<(), PortError> {
        // Packets released by timers are transmitted before packets that arrived later.
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

    /// Processes the batch in a data plane without batch support.
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
                // A port receives only frames of its kind.
                (None, Frame { meta: Meta::Ip | Meta::Ethernet, .. }) => {}
            }
        }
        self.out.send_all()
    }

    /// Applies a plan, or begins to.
    pub(super) fn begin(&mut self, now: Time, plan: &Plan) -> ApplyState {
        match &mut self.engine {
            Engine::Remote(engine) => engine.begin(now, plan),
            Engine::FastPath(_) | Engine::Reference(_) | Engine::Switch(_) => {
                ApplyState::Done(self.engine().apply(now, plan))
            }
        }
    }

    /// The next plan in flight that has completed.
    pub(super) fn poll_finished(&mut self, now: Time) -> Option<(Operation, Result<Applied, ApplyError>)> {
        match &mut self.engine {
            Engine::Remote(engine) => engine.poll_finished(now),
            Engine::FastPath(_) | Engine::Reference(_) | Engine::Switch(_) => None,
        }
    }

    /// Expires the timers that are due, and transmits the released packets.
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

    /// Transmits the packets that a plan or a timer released.
    ///
    /// # Errors
    /// As for [`WorkerContext::process`].
    pub(super) fn flush(&mut self) -> Result<(), PortError> {
        self.engine.data_plane_mut().flush(&mut self.out);
        self.out.send_all()
    }

    /// Replaces the supervised paths of a session of another worker.
    pub(super) fn follow_paths(&mut self, now: Time, NewPaths { old, new }: &NewPaths) {
        match &mut self.engine {
            Engine::FastPath(engine) => engine.follow_paths(now, old, new),
            Engine::Reference(engine) => engine.follow_paths(now, old, new),
            Engine::Switch(engine) => engine.follow_paths(now, old, new),
            // There is one worker: it owns every session.
            Engine::Remote(_) => {}
        }
    }

    /// The present counters.
    pub(super) fn snapshot(&self) -> Snapshot {
        let (hot, slow) = self.engine.path_packets();
        let counters = self.engine.data_plane().counters();
        Snapshot { counters, unroutable: self.out.unroutable, hot, slow, ..Snapshot::default() }
    }
}
