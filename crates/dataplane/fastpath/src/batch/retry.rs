//! The second stage for packets that are classified again when they are acted on.

use causeway_dataplane::ReceiveSource;

use super::BatchPass;
use crate::batch::state::{NextStage, PacketState};

impl<const IS_UPLINK: bool> BatchPass<'_, IS_UPLINK> {
    /// The second stage for a packet outside the common case.
    pub(super) fn classify_again(&mut self, index: usize, packet: &PacketState) -> NextStage {
        if let Some(next) = self.engine.classify_simple::<IS_UPLINK>(packet) {
            return next;
        }
        if self.engine.is_table_miss::<IS_UPLINK>(packet) {
            return NextStage::TableMiss;
        }
        self.classify_general(index)
    }

    /// The first and second stages for a packet of any kind.
    pub(super) fn classify_general(&mut self, index: usize) -> NextStage {
        // The packets before it are classified already.
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
