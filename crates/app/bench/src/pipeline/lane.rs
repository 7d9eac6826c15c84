//! Packets on their way into a data plane, as a port would hand them over.

use std::hint::black_box;

use causeway_dataplane::{Egress, Fate, Ingress, Transmit};
use causeway_fastpath::{Departure, Entrance, Leaving};
use causeway_ports::{Batch, Frame, Meta};
use causeway_types::Time;

use super::population::Engine;

/// The batches of both sides of a data plane.
pub(super) struct Lanes {
    n3: Lane,
    n6: Lane,
    leaving: Leaving,
    sink: Sink,
    forwarded: u64,
}

struct Lane {
    entrance: Entrance,
    batch: Batch,
}

impl Lanes {
    pub(super) fn new() -> Self {
        let lane = |entrance| Lane { entrance, batch: Batch::new() };
        Self {
            n3: lane(Entrance::Gtpu),
            n6: lane(Entrance::Network(0)),
            leaving: Leaving::default(),
            sink: Sink::default(),
            forwarded: 0,
        }
    }

    /// Takes packets through a data plane. Returns how many it forwarded.
    pub(super) fn drive<'a>(
        &mut self,
        engine: &mut Engine,
        now: Time,
        packets: impl Iterator<Item = (u32, &'a Ingress, &'a [u8])>,
    ) -> u64 {
        self.forwarded = 0;
        match engine {
            Engine::Reference(engine) => {
                use causeway_dataplane::PacketEngine;
                for (_, ingress, packet) in packets {
                    let fate = engine.process(now, ingress, packet, &mut self.sink);
                    self.forwarded += u64::from(fate == Fate::Forwarded);
                }
            }
            Engine::Fastpath(engine) => self.gather(packets, |lane, leaving| {
                engine.process_batch(now, lane.entrance, &mut lane.batch, leaving);
            }),
        }
        black_box(&self.sink);
        self.forwarded
    }

    /// The same without a data plane: what handing over costs.
    pub(super) fn look<'a>(
        &mut self,
        engine: &Engine,
        packets: impl Iterator<Item = (u32, &'a Ingress, &'a [u8])>,
    ) {
        match engine {
            Engine::Reference(_) => {
                for (_, ingress, packet) in packets {
                    black_box(ingress);
                    self.sink.see(packet);
                }
            }
            Engine::Fastpath(_) => self.gather(packets, |lane, leaving| {
                leaving.clear();
                black_box(&lane.batch);
            }),
        }
        black_box(&self.sink);
    }

    fn gather<'a>(
        &mut self,
        packets: impl Iterator<Item = (u32, &'a Ingress, &'a [u8])>,
        mut handle: impl FnMut(&mut Lane, &mut Leaving),
    ) {
        for (_, ingress, data) in packets {
            let (meta, lane) = match ingress {
                Ingress::Gtpu { local, peer, tos } => {
                    (Meta::Gtpu { local: *local, peer: *peer, tos: *tos }, &mut self.n3)
                }
                Ingress::Ip { .. } | Ingress::Ethernet { .. } => (Meta::Ip, &mut self.n6),
            };
            if !lane.batch.push(Frame { meta, data }) || lane.batch.is_full() {
                handle(lane, &mut self.leaving);
                self.forwarded += self.sink.take(&lane.batch, &self.leaving);
                lane.batch.clear();
            }
        }
        for lane in [&mut self.n3, &mut self.n6] {
            if !lane.batch.is_empty() {
                handle(lane, &mut self.leaving);
                self.forwarded += self.sink.take(&lane.batch, &self.leaving);
                lane.batch.clear();
            }
        }
    }
}

/// Looks at what is sent, and throws it away.
#[derive(Default)]
struct Sink {
    octets: usize,
    seen: u8,
}

impl Sink {
    fn see(&mut self, packet: &[u8]) {
        self.octets += packet.len();
        self.seen ^= packet.first().copied().unwrap_or_default();
    }

    fn take(&mut self, batch: &Batch, leaving: &Leaving) -> u64 {
        for departure in leaving.departures() {
            match departure {
                Departure::Frame(index, _) => {
                    if let Some(frame) = batch.frame(*index) {
                        self.see(frame.data);
                    }
                }
                Departure::Stored(index) => {
                    if let Some((_, packet)) = leaving.stored(*index) {
                        self.see(packet);
                    }
                }
            }
        }
        leaving.departures().len() as u64
    }
}

impl Transmit for Sink {
    fn transmit(&mut self, egress: &Egress, packet: &[u8]) {
        black_box(egress);
        self.see(packet);
    }
}
