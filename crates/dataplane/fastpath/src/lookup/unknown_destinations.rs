//! Packets without a flow entry: whether a dormant session, or one of the slow path alone, has their destination.
//!
//! The index of dormant sessions may be far away in memory. So several packets are looked up together, and their memory
//! accesses overlap.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use arrayvec::ArrayVec;
use causeway_packet::{BATCH, Batch, Meta};
use causeway_types::Teid;

use crate::batch::state::UPLINK;
use crate::batch::state::{BatchState, NextStage};
use crate::engine::FastPath;
use crate::parse::ipv6::DESTINATION;

/// The number of packets that are looked up together.
const PROBES_IN_FLIGHT: usize = 16;

/// Packets of a batch with their lookup keys.
type Probes<T> = ArrayVec<(usize, T), PROBES_IN_FLIGHT>;

/// The lookup results for a batch, one bit per packet. They are valid until the slow path has acted.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct UnknownDestinations {
    probed: u64,
    known: u64,
}

impl UnknownDestinations {
    fn note(&mut self, index: usize, is_known: bool) {
        self.probed |= bit(index);
        self.known |= u64::from(is_known) << (index % BATCH);
    }
}

const fn bit(index: usize) -> u64 {
    1 << (index % BATCH)
}

const _: () = assert!(BATCH == u64::BITS as usize);

impl FastPath {
    /// Whether no session has the tunnel or the address of a packet without a flow entry.
    #[inline]
    pub(crate) fn has_unknown_destination<const IS_UPLINK: bool>(
        &mut self,
        (batch, state): (&Batch, &BatchState),
        index: usize,
    ) -> bool {
        if self.unknown_destinations.probed & bit(index) == 0 {
            match IS_UPLINK {
                UPLINK => self.probe_tunnels((batch, state), index),
                _ => self.probe_addresses((batch, state), index),
            }
        }
        self.unknown_destinations.probed & !self.unknown_destinations.known & bit(index) != 0
    }

    #[inline(never)]
    fn probe_tunnels(&mut self, (batch, state): (&Batch, &BatchState), from: usize) {
        if self.dormant.len() == 0 && !self.has_activated {
            // Every session with a tunnel has a flow entry.
            self.unknown_destinations = UnknownDestinations { probed: u64::MAX, known: 0 };
            return;
        }
        let mut tunnels = Probes::new();
        for index in from..state.len().min(from + PROBES_IN_FLIGHT) {
            if let (Some(Meta::Gtpu { local, .. }), Some(teid)) =
                (batch.meta(index), Teid::new(state.keys[index % BATCH]))
                && self.needs_probe(state, index)
            {
                tunnels.push((index, (teid, *local)));
            }
        }
        tunnels.iter().for_each(|(_, tunnel)| self.dormant.prefetch_tunnel(tunnel.0));
        for (index, (teid, local)) in tunnels {
            self.unknown_destinations.note(index, self.has_tunnel(teid, local));
        }
    }

    #[inline(never)]
    fn probe_addresses(&mut self, (batch, state): (&Batch, &BatchState), from: usize) {
        let mut addresses = Probes::new();
        for index in from..state.len().min(from + PROBES_IN_FLIGHT) {
            let at = index % BATCH;
            match state.next_stages[at] {
                NextStage::Ipv6 if state.entries[at] == 0 => {
                    let octets =
                        batch.data(index).and_then(|packet| packet.get(DESTINATION..)?.first_chunk::<16>());
                    addresses.extend(octets.map(|octets| (index, IpAddr::V6(Ipv6Addr::from(*octets)))));
                }
                NextStage::Lookup if self.needs_probe(state, index) => {
                    addresses.push((index, Ipv4Addr::from_bits(state.keys[at]).into()));
                }
                _ => {}
            }
        }
        let has_dormant = self.dormant.len() > 0;
        if has_dormant {
            addresses.iter().for_each(|(_, address)| self.dormant.prefetch_ue(*address));
        }
        for (index, address) in &addresses {
            self.unknown_destinations.note(*index, self.slow_path.has_destination(*address));
        }
        if has_dormant {
            for (index, address) in addresses {
                self.unknown_destinations.note(index, self.is_dormant(address));
            }
        }
    }

    fn needs_probe(&self, state: &BatchState, index: usize) -> bool {
        let at = index % BATCH;
        let id = u64::from(state.scopes[at]) << 32 | u64::from(state.keys[at]);
        self.table.entry(state.entries[at]).is_none_or(|entry| entry.entry_id() != id)
    }
}
