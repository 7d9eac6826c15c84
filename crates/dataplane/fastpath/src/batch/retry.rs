//! The second stage for packets that are classified again when they are acted on.

use causeway_dataplane::{Firewall, ReceiveSource};
use causeway_packet::BATCH;
use causeway_types::Direction;

use super::BatchPass;
use crate::batch::state::{NextStage, PacketState};
use crate::firewall;

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

    /// The second stage for a packet that the firewall denies.
    pub(super) fn classify_denied(&mut self, index: usize, packet: &PacketState) -> NextStage {
        let is_common = self.state.is_common[index % BATCH] != 0;
        if let Some(next) = self.engine.drop_denied::<IS_UPLINK>(is_common, packet) {
            return next;
        }
        let direction = if IS_UPLINK { Direction::Uplink } else { Direction::Downlink };
        let next = self.classify_general(index);
        match next {
            NextStage::General(place) => {
                let packet = self.general.get_mut(usize::from(place));
                packet.into_iter().for_each(|packet| firewall::deny(packet, Firewall::reason(direction)));
                next
            }
            NextStage::Drop(reason) if firewall::is_by_pdrs(reason) => {
                NextStage::Drop(Firewall::reason(direction))
            }
            next => next,
        }
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
