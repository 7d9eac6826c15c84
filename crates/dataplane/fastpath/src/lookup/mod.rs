//! The second stage: lookup. It finds the flow entry of each packet, and prefetches it.
//!
//! The key of a common packet leads to a candidate at a direct position, or through the index. The entry is compared
//! with the key when the packet is classified.

use std::ops::Range;

use crate::batch::state::{BatchState, HALF_BATCH, NextStage, PacketState, UPLINK};
use crate::engine::FastPath;
use crate::table::flow_entry::FlowEntry;
use crate::table::key::FlowKey;

mod general;
pub(crate) mod unknown_destinations;

impl FastPath {
    /// Finds the candidates at direct positions for half a batch, from the packet `FROM` on.
    #[inline(always)]
    pub(crate) fn look_up_half<const IS_UPLINK: bool, const FROM: usize>(&self, state: &mut BatchState) {
        let BatchState { entries, keys, .. } = state;
        let Some(keys) = keys[FROM..].first_chunk::<HALF_BATCH>() else { return };
        let entries = &mut entries[FROM..FROM + HALF_BATCH];
        if IS_UPLINK == UPLINK {
            entries.copy_from_slice(&self.table.at_teids(keys));
        } else {
            self.table.at_addresses(keys, entries);
        }
    }

    /// Whether keys of this direction may lead to flow entries outside the direct positions.
    pub(crate) fn has_indirect<const IS_UPLINK: bool>(&self) -> bool {
        if IS_UPLINK == UPLINK {
            self.table.has_indirect_tunnels()
        } else {
            self.table.has_indirect_addresses()
        }
    }

    /// Prefetches the flow entries of some packets.
    #[inline(always)]
    pub(crate) fn fetch(&self, state: &BatchState, packets: Range<usize>) {
        state.entries.get(packets).unwrap_or_default().iter().for_each(|entry| self.table.prefetch(*entry));
    }

    /// Finds and prefetches the flow entries of IPv6 packets of a data network. Their index buckets have been
    /// prefetched.
    #[inline(never)]
    pub(crate) fn look_up_ipv6(&self, network: u16, state: &mut BatchState) {
        for at in 0..state.len() {
            if state.next_stages[at] == NextStage::Ipv6 {
                let key = FlowKey::Ipv6(network, state.prefixes[at]);
                // Entry 0 is never in use.
                state.entries[at] = self.table.prefetch_indirect(key).unwrap_or(0);
            }
        }
    }

    /// Where the index leads to flow entries: first prefetches the index buckets of all packets, then the flow entries.
    #[inline(never)]
    pub(crate) fn look_up_indirect(&self, state: &mut BatchState) {
        state.undecided().for_each(|index| self.table.prefetch_index(state.at(index).key()));
        for index in state.undecided() {
            let packet = state.at(index);
            if self.entry_of(&packet).is_none()
                && let Some(far) = self.table.prefetch_indirect(packet.key())
            {
                state.entries[index] = far;
            }
        }
    }

    /// Whether no flow entry has the packet's key: neither at its direct position nor through the index.
    pub(crate) fn is_table_miss<const IS_UPLINK: bool>(&self, packet: &PacketState) -> bool {
        let has_far = self.has_indirect::<IS_UPLINK>();
        self.entry_of(packet).is_none() && !(has_far && self.table.prefetch_indirect(packet.key()).is_some())
    }

    #[inline(always)]
    pub(crate) fn entry_of(&self, packet: &PacketState) -> Option<&FlowEntry> {
        self.table.entry(packet.entry).filter(|entry| entry.entry_id() == packet.id)
    }
}
