//! The second and third stages of IPv6 packets.

use std::net::Ipv6Addr;

use causeway_dataplane::Exit;
use causeway_packet::{BATCH, Batch};

use super::BatchPass;
use crate::batch::forward::Forwarding;
use crate::batch::state::UPLINK;
use crate::batch::state::{NextStage, packet_flag};
use crate::engine::FastPath;
use crate::parse::ipv6::{DESTINATION, SOURCE};
use crate::topology_index::TopologyIndex;
use crate::transmit::Sent;

impl<const IS_UPLINK: bool> BatchPass<'_, IS_UPLINK> {
    /// Processes a packet that [`crate::parse::ipv6`] has parsed.
    #[inline(never)]
    pub(super) fn finish_ipv6(&mut self, index: usize) {
        let next = match self.engine.classify_ipv6::<IS_UPLINK>(self.batch, self.state, index) {
            NextStage::Action(action) if self.forward_ipv6(index, action).is_some() => return,
            next => next,
        };
        match next {
            NextStage::Drop(reason) => self.count_drop(index, reason),
            next => {
                self.run_next_stage(index, next);
                // The slow path may have changed the filter sets.
                self.predicted_set = self.engine.predicted_set();
            }
        }
    }

    /// Forwards a packet. `None`: as for [`Forwarding::forward`].
    #[inline(always)]
    fn forward_ipv6(&mut self, index: usize, number: u32) -> Option<()> {
        let (now, state, at) = (self.now.as_nanos(), self.state, index % BATCH);
        let FastPath { table, programs, topology_index, .. } = &mut *self.engine;
        let action = programs.compiled_action(number)?;
        let rejected = state.flags[at] as u8 & action.rejected_flags;
        if rejected != 0
            && (rejected != packet_flag::LOCAL_ADDRESS
                || is_ours::<IS_UPLINK>(self.batch, (index, state.starts[at]), (topology_index, action.exit)))
        {
            return None;
        }
        let entry = table.entry_mut(state.entries[at])?;
        let (mut sent, mut exit) = (Sent::default(), Exit::Network(0));
        let forwarding = Forwarding { now, state, programs, topology_index };
        let frame = (&mut *self.batch, index);
        forwarding.forward::<{ u8::MAX }, true, IS_UPLINK>(frame, (entry, number), (&mut sent, &mut exit))?;
        self.slow_or_late += 1;
        self.engine.count_sent(exit, self.batch, index);
        self.queue.push_frame(index, exit);
        Some(())
    }
}

/// Whether the remote address of the packet that starts there is local, or one that UEs cannot reach.
#[inline(never)]
fn is_ours<const IS_UPLINK: bool>(
    batch: &Batch,
    (index, start): (usize, u32),
    (topology_index, exit): (&TopologyIndex, Exit),
) -> bool {
    let offset = start as usize + if IS_UPLINK == UPLINK { DESTINATION } else { SOURCE };
    let far = batch.data(index).and_then(|frame| frame.get(offset..)?.first_chunk::<16>());
    far.is_none_or(|far| topology_index.involves_upf(Ipv6Addr::from(*far).into(), exit))
}
