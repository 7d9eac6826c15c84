//! A data plane as one thread drives it.

use std::hint::black_box;
use std::sync::Arc;

use causeway_dataplane::{
    Applied, ApplyError, Capabilities, Counters, Firewall, HeavyHitterSettings, PacketEngine, Plan,
    ReceiveSource, Settings, TransmitQueue,
};
use causeway_fastpath::FastPath;
use causeway_model::Applications;
use causeway_packet::{Batch, Meta};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::Time;

use super::choice::Backend;
#[cfg(feature = "upf")]
use super::external_memory::xplane;
use super::segments::Segments;
use super::shape;
use crate::BenchError;

/// A data plane with the queue of its packets.
pub(crate) struct Worker {
    data_plane: Box<dyn PacketEngine + Send>,
    queue: TransmitQueue,
    /// The VXLAN segments that its packets are in; `None`: they are in none.
    pub(crate) segments: Option<Segments>,
}

impl Worker {
    /// Without sessions, each of which will have so many PDRs of a direction.
    ///
    /// # Errors
    /// [`BenchError`] when there is too little memory for the tables.
    pub(crate) fn new(backend: Backend, limits: Limits, pdrs: u16) -> Result<Self, BenchError> {
        let topology = shape::topology();
        let data_plane: Box<dyn PacketEngine + Send> = match backend {
            Backend::Fastpath => Box::new(FastPath::new(topology, limits)?),
            Backend::Slowpath => Box::new(SlowPath::new(topology, limits)),
            #[cfg(feature = "upf")]
            Backend::Xplane => Box::new(xplane(topology, limits, pdrs)?),
        };
        Ok(Self { data_plane, queue: TransmitQueue::default(), segments: None })
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

    /// The same for the batch with this number of those that [`Segments::wrap`] packed: receives and sends it, too.
    pub(crate) fn run_in_segments(
        &mut self,
        now: Time,
        (number, batch): (usize, &mut Batch),
    ) -> Result<(), BenchError> {
        let Some(mut segments) = self.segments.take() else { return Ok(()) };
        segments.receive(number, batch)?;
        self.handle(now, batch);
        segments.send(batch, &self.queue)?;
        self.segments = Some(segments);
        Ok(())
    }

    #[inline(always)]
    fn handle(&mut self, now: Time, batch: &mut Batch) {
        let Some(first) = batch.frame(0) else { return };
        let source = if first.meta == Meta::Ip { ReceiveSource::Network(0) } else { ReceiveSource::Gtpu };
        self.data_plane.process_batch(now, source, batch, &mut self.queue);
        black_box(self.queue.packets());
    }

    pub(crate) fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        self.data_plane.apply(now, plan)
    }

    /// Looks for heavy hitters in this way from now on, or not at all.
    pub(crate) fn look_for_heavy_hitters(&mut self, now: Time, settings: Option<&HeavyHitterSettings>) {
        self.data_plane.set_heavy_hitters(now, settings);
    }

    /// What PDRs may name from now on.
    pub(crate) fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.data_plane.set_applications(applications);
    }

    /// Packets are subject to this firewall from now on, or to none.
    pub(crate) fn set_firewall(&mut self, now: Time, firewall: Option<Arc<Firewall>>) {
        if firewall.is_some() {
            let settings = Settings { firewall, ..self.data_plane.topology().settings() };
            self.data_plane.reconfigure(now, &Arc::new(settings));
        }
    }

    /// Discards the events that were not polled.
    pub(crate) fn forget_events(&mut self) {
        while self.data_plane.poll_event().is_some() {}
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        self.data_plane.capabilities()
    }

    pub(crate) fn counters(&self) -> Counters {
        self.data_plane.counters()
    }

    /// Packets that the flow entries decided.
    pub(crate) fn fast_path_packets(&self) -> u64 {
        let stages = self.data_plane.stage_packets();
        stages.iter().find(|stage| stage.name == "flow_table").map_or(0, |stage| stage.value)
    }
}
