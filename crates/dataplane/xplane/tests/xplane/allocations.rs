//! What a packet allocates.

use std::net::Ipv4Addr;

use causeway_dataplane::{PacketEngine, ReceiveSource, TransmitQueue};
use causeway_packet::{Batch, Frame, Meta};
use causeway_slowpath::Limits;
use causeway_xplane::{LocalPlane, PipelineConfig, Sizes};

use crate::plane::{establish, now, packet, topology};

/// Allocations for a packet of a busy period of its own, and for one of fifty in a busy period.
const ALONE: u64 = 8;
const TOGETHER: u64 = 4;

// Input:  packets of a flow with an entry, over memory of this process: 200 batches of one, and 20 batches of 50.
// Output: no more allocations than are known: for the packet, what is read and written of it, and the state of its UE, which those of a batch share.
#[test]
fn a_packet_allocates_no_more_than_is_known() {
    let sizes =
        Sizes { ue_buckets: 64, flow_buckets: 64, rings: 4, ring: 64, paging_rings: 1, paging_ring: 4 };
    let plane = LocalPlane::in_process(topology(), Limits::default(), sizes, PipelineConfig::default());
    let mut plane = plane.unwrap();
    establish(&mut plane);
    let one = packet(1, 600);
    let (mut queue, mut batch) = (TransmitQueue::default(), Batch::new());
    let mut receive = |at: u64, count: usize| {
        let peer = (Ipv4Addr::new(192, 0, 2, 11), 2152).into();
        let meta = Meta::Gtpu { local: Ipv4Addr::new(192, 0, 2, 1).into(), peer, tos: 0, hops: None };
        batch.clear();
        assert!((0..count).all(|_| batch.push(Frame { meta, data: &one })));
        plane.process_batch(now(at), ReceiveSource::Gtpu, &mut batch, &mut queue);
        assert_eq!(queue.packets().len(), count);
    };
    // The flow gets its entry, and tables get their size.
    (0..4).for_each(|number| receive(number, 50));
    let alone = allocation_counter::measure(|| (4..204).for_each(|number| receive(number, 1)));
    let together = allocation_counter::measure(|| (204..224).for_each(|number| receive(number, 50)));
    let each = (alone.count_total.div_ceil(200), together.count_total.div_ceil(1_000));
    assert!(each.0 <= ALONE && each.1 <= TOGETHER, "{each:?} allocations for a packet");
}
