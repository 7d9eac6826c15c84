//! The second stage for packets that are met again when their turn comes.

use super::BatchPass;
use crate::batch_state::{NextStage, PacketState};
use crate::transmit_queue::ReceiveSource;

impl<const IS_UPLINK: bool> BatchPass<'_, IS_UPLINK> {
    /// The second stage for a packet that is not as simple as it looked.
    pub(super) fn classify_again(&mut self, index: usize, plain: &PacketState) -> NextStage {
        if let Some(next) = self.engine.classify_simple::<IS_UPLINK>(plain) {
            return next;
        }
        if self.engine.is_table_miss::<IS_UPLINK>(plain) {
            return NextStage::TableMiss;
        }
        self.classify_general(index)
    }

    /// Both stages for a packet of any kind.
    pub(super) fn classify_general(&mut self, index: usize) -> NextStage {
        // Those before have been chosen for.
        let first = self.general.len();
        let next = match self.source {
            ReceiveSource::Network(network) => {
                self.engine.look_up_general_address(network, self.batch, index, self.general)
            }
            _ => self.engine.look_up_general_tunnel(self.batch, (index, None), self.general),
        };
        self.engine.classify_general_packets(self.batch, self.general.get_mut(first..).unwrap_or_default());
        next
    }
}
