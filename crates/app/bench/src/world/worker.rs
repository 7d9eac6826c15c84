//! The two data planes behind one interface.

use std::hint::black_box;

use causeway_dataplane::{
    Applied, ApplyError, Capabilities, Counters, Dataplane, Egress, Ingress, PacketEngine, Plan,
    ReceiveSource, Transmit, TransmitQueue,
};
use causeway_fastpath::FastPath;
use causeway_fastpath::index::ArenaError;
use causeway_packet::{Batch, Meta};
use causeway_reference::{Limits, Reference};
use causeway_types::Time;

use super::choice::Backend;
use super::shape;

/// A data plane as one thread drives it.
pub(crate) enum Worker {
    Fastpath(Box<FastPath>, TransmitQueue),
    Reference(Box<Reference>),
}

impl Worker {
    /// Without sessions.
    ///
    /// # Errors
    /// [`ArenaError`] when the tables of the fast path find no room.
    pub(crate) fn new(backend: Backend, limits: Limits) -> Result<Self, ArenaError> {
        let topology = shape::topology();
        Ok(match backend {
            Backend::Fastpath => {
                Self::Fastpath(Box::new(FastPath::new(topology, limits)?), TransmitQueue::default())
            }
            Backend::Reference => Self::Reference(Box::new(Reference::new(topology, limits))),
        })
    }

    /// Handles a batch of one direction. A function of its own in the program, so that instructions can be counted in it.
    #[inline(never)]
    pub(crate) fn run(&mut self, now: Time, batch: &mut Batch) {
        self.handle(now, batch);
    }

    /// The same before anything is counted.
    #[inline(never)]
    pub(crate) fn warm_up(&mut self, now: Time, batch: &mut Batch) {
        // Lest the compiler make one function of both.
        black_box(&now);
        self.handle(now, batch);
    }

    #[inline(always)]
    fn handle(&mut self, now: Time, batch: &mut Batch) {
        match self {
            Self::Fastpath(engine, leaving) => {
                let Some(first) = batch.frame(0) else { return };
                let entrance =
                    if first.meta == Meta::Ip { ReceiveSource::Network(0) } else { ReceiveSource::Gtpu };
                engine.process_batch(now, entrance, batch, leaving);
                black_box(leaving.packets());
            }
            Self::Reference(engine) => {
                let network = Ingress::Ip { network: shape::dnn() };
                for frame in batch.frames() {
                    let ingress = match frame.meta {
                        Meta::Gtpu { local, peer, tos, hops } => &Ingress::Gtpu { local, peer, tos, hops },
                        _ => &network,
                    };
                    engine.process(now, ingress, frame.data, &mut DiscardTransmit);
                }
            }
        }
    }

    pub(crate) fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        self.plane_mut().apply(now, plan)
    }

    /// What is waiting to be told is thrown away.
    pub(crate) fn forget_events(&mut self) {
        while self.plane_mut().poll_event().is_some() {}
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        self.plane().capabilities()
    }

    pub(crate) fn counters(&self) -> Counters {
        self.plane().counters()
    }

    /// Packets that the flow entries decided.
    pub(crate) fn fast_path_packets(&self) -> u64 {
        match self {
            Self::Fastpath(engine, _) => engine.fast_path_packets(),
            Self::Reference(_) => 0,
        }
    }

    fn plane(&self) -> &dyn Dataplane {
        match self {
            Self::Fastpath(engine, _) => &**engine,
            Self::Reference(engine) => &**engine,
        }
    }

    fn plane_mut(&mut self) -> &mut dyn Dataplane {
        match self {
            Self::Fastpath(engine, _) => &mut **engine,
            Self::Reference(engine) => &mut **engine,
        }
    }
}

/// Takes what is sent, and throws it away.
struct DiscardTransmit;

impl Transmit for DiscardTransmit {
    fn transmit(&mut self, egress: &Egress, packet: &[u8]) {
        black_box((egress, packet));
    }
}
