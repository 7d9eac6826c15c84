//! The fast path given packets in batches, as ports give them.

use causeway_dataplane::{Ingress, PacketEngine, Transmit};
use causeway_fastpath::{Departure, FastPath, Leaving};
use causeway_ports::{Batch, Frame, Meta};
use causeway_types::Time;

use crate::twins::{Arrival, Subject};

impl Subject for FastPath {
    fn burst(&mut self, now: Time, arrivals: &[Arrival], out: &mut dyn Transmit) {
        let (mut batch, mut leaving) = (Batch::new(), Leaving::default());
        let mut rest = arrivals;
        while let Some(((ingress, packet), others)) = rest.split_first() {
            batch.clear();
            let entrance = self.entrance(ingress);
            let count =
                rest.iter().take_while(|it| self.entrance(&it.0) == entrance && push(&mut batch, it)).count();
            let Some(entrance) = entrance.filter(|_| count > 0) else {
                // From a network that no port has, or larger than the frames of the ports.
                self.process(now, ingress, packet, out);
                rest = others;
                continue;
            };
            self.process_batch(now, entrance, &mut batch, &mut leaving);
            leaving
                .departures()
                .iter()
                .for_each(|departure| transmit(self, *departure, &batch, &leaving, out));
            rest = rest.get(count..).unwrap_or_default();
        }
    }

    fn hot_packets(&self) -> u64 {
        Self::hot_packets(self)
    }
}

fn push(batch: &mut Batch, (ingress, packet): &Arrival) -> bool {
    let meta = match ingress {
        Ingress::Gtpu { local, peer, tos } => Meta::Gtpu { local: *local, peer: *peer, tos: *tos },
        Ingress::Ip { .. } => Meta::Ip,
        Ingress::Ethernet { .. } => Meta::Ethernet,
    };
    batch.push(Frame { meta, data: packet })
}

fn transmit(
    engine: &FastPath,
    departure: Departure,
    batch: &Batch,
    leaving: &Leaving,
    out: &mut dyn Transmit,
) {
    match departure {
        Departure::Frame(index, exit) => {
            let frame = batch.frame(index);
            let egress = frame.as_ref().and_then(|frame| engine.egress(exit, &frame.meta));
            if let (Some(frame), Some(egress)) = (frame, egress) {
                out.transmit(&egress, frame.data);
            }
        }
        Departure::Stored(index) => {
            if let Some((egress, packet)) = leaving.stored(index) {
                out.transmit(egress, packet);
            }
        }
    }
}
