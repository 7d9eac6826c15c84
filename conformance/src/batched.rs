//! Packets in batches, as from ports.

use causeway_dataplane::{PacketEngine, Transmit, TransmitQueue};
use causeway_packet::{Batch, Frame};
use causeway_types::Time;

use crate::lockstep::Arrival;

/// Passes packets that arrived together to a data plane, in as few batches as possible.
pub(crate) fn process_together(
    plane: &mut dyn PacketEngine,
    now: Time,
    arrivals: &[Arrival],
    out: &mut dyn Transmit,
) {
    let (mut batch, mut queue) = (Batch::new(), TransmitQueue::default());
    let mut rest = arrivals;
    while let Some(((ingress, packet), others)) = rest.split_first() {
        batch.clear();
        let source = plane.topology().receive_source(ingress);
        let is_same = |arrival: &Arrival| plane.topology().receive_source(&arrival.0) == source;
        let count = rest.iter().take_while(|it| is_same(it) && push(&mut batch, it)).count();
        let Some(source) = source.filter(|_| count > 0) else {
            // From a network that no port has, or larger than the frames of the ports.
            plane.process(now, ingress, packet, out);
            rest = others;
            continue;
        };
        plane.process_batch(now, source, &mut batch, &mut queue);
        queue.transmit_all(&batch, plane.topology(), out);
        rest = rest.get(count..).unwrap_or_default();
    }
}

fn push(batch: &mut Batch, (ingress, packet): &Arrival) -> bool {
    batch.push(Frame { meta: ingress.meta(), data: packet })
}
