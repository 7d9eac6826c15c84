//! The engine of one worker: the contract, and what is behind it.

use std::sync::Arc;

use causeway_dataplane::{
    Applied, ApplyError, Capabilities, Counters, Dataplane, Event, Fate, Ingress, PacketEngine, Plan,
    Topology, Transmit,
};
use causeway_reference::{Limits, Reference};
use causeway_rules::Applications;
use causeway_types::Time;

/// The fast path of one worker. It owns its sessions; nothing in it is shared with another thread.
#[derive(Debug)]
pub struct FastPath {
    slow: Reference,
}

impl FastPath {
    /// An empty data plane in these surroundings.
    pub fn new(topology: Topology, limits: Limits) -> Self {
        Self { slow: Reference::new(topology, limits) }
    }
}

impl Dataplane for FastPath {
    fn capabilities(&self) -> Capabilities {
        self.slow.capabilities()
    }

    fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        self.slow.apply(now, plan)
    }

    fn provision(&mut self, applications: &Arc<Applications>) {
        self.slow.provision(applications);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.slow.poll_event()
    }

    fn next_deadline(&self) -> Option<Time> {
        self.slow.next_deadline()
    }

    fn advance(&mut self, now: Time) {
        self.slow.advance(now);
    }

    fn counters(&self) -> Counters {
        self.slow.counters()
    }
}

impl PacketEngine for FastPath {
    fn process(&mut self, now: Time, ingress: &Ingress, packet: &[u8], out: &mut dyn Transmit) -> Fate {
        self.slow.process(now, ingress, packet, out)
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        self.slow.flush(out);
    }
}
