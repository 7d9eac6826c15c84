//! The fast path with packets in batches, as from ports.

use causeway_dataplane::{PacketEngine, Transmit, TransmitQueue};
use causeway_fastpath::FastPath;
use causeway_packet::{Batch, Frame};
use causeway_types::Time;

use crate::lockstep::{Arrival, ComparedDataplane};

impl ComparedDataplane for FastPath {
    fn burst(&mut self, now: Time, arrivals: &[Arrival], out: &mut dyn Transmit) {
        let (mut batch, mut leaving) = (Batch::new(), TransmitQueue::default());
        let mut rest = arrivals;
        while let Some(((ingress, packet), others)) = rest.split_first() {
            batch.clear();
            let entrance = self.topology().receive_source(ingress);
            let count = rest
                .iter()
                .take_while(|it| self.topology().receive_source(&it.0) == entrance && push(&mut batch, it))
                .count();
            let Some(entrance) = entrance.filter(|_| count > 0) else {
                // From a network that no port has, or larger than the frames of the ports.
                self.process(now, ingress, packet, out);
                rest = others;
                continue;
            };
            self.process_batch(now, entrance, &mut batch, &mut leaving);
            leaving.transmit_all(&batch, self.topology(), out);
            rest = rest.get(count..).unwrap_or_default();
        }
    }

    fn fast_path_packets(&self) -> u64 {
        Self::fast_path_packets(self)
    }
}

fn push(batch: &mut Batch, (ingress, packet): &Arrival) -> bool {
    batch.push(Frame { meta: ingress.meta(), data: packet })
}
