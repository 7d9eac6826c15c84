//! Packets that no line is for: whether they are for somebody all the same, who rests or is for the slow room alone.
//!
//! What says so may lie far away in the memory. So several packets are asked about at once: none waits for what another one is told.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use arrayvec::ArrayVec;
use causeway_ports::{BATCH, Batch, Meta};
use causeway_types::Teid;

use crate::choose::UPLINK;
use crate::engine::FastPath;
use crate::plain::{Fork, Plains};
use crate::six::TARGET;

/// How many packets are asked about at once.
const TOGETHER: usize = 16;

/// Packets of a batch and what they are for.
type Asked<T> = ArrayVec<(usize, T), TOGETHER>;

/// What was found out about the packets of a batch, a bit each. It holds until the slow room has acted.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct UnknownDestinations {
    asked: u64,
    known: u64,
}

impl UnknownDestinations {
    fn note(&mut self, index: usize, is_known: bool) {
        self.asked |= bit(index);
        self.known |= u64::from(is_known) << (index % BATCH);
    }
}

const fn bit(index: usize) -> u64 {
    1 << (index % BATCH)
}

const _: () = assert!(BATCH == u64::BITS as usize);

impl FastPath {
    /// Nobody has the tunnel or the address of a packet, for which there is no line.
    #[inline]
    pub(crate) fn is_for_nobody<const WAY: bool>(
        &mut self,
        (batch, plains): (&Batch, &Plains),
        index: usize,
    ) -> bool {
        if self.unknown_destinations.asked & bit(index) == 0 {
            match WAY {
                UPLINK => self.ask_for_tunnels((batch, plains), index),
                _ => self.ask_for_addresses((batch, plains), index),
            }
        }
        self.unknown_destinations.asked & !self.unknown_destinations.known & bit(index) != 0
    }

    #[inline(never)]
    fn ask_for_tunnels(&mut self, (batch, plains): (&Batch, &Plains), from: usize) {
        if self.resting.len() == 0 && !self.has_woken {
            // Whoever has a tunnel has a line.
            self.unknown_destinations = UnknownDestinations { asked: u64::MAX, known: 0 };
            return;
        }
        let mut tunnels = Asked::new();
        for index in from..plains.len().min(from + TOGETHER) {
            if let (Some(Meta::Gtpu { local, .. }), Some(teid)) =
                (batch.meta(index), Teid::new(plains.keys[index % BATCH]))
                && self.is_without_line(plains, index)
            {
                tunnels.push((index, (teid, *local)));
            }
        }
        tunnels.iter().for_each(|(_, tunnel)| self.resting.approach_tunnel(tunnel.0));
        for (index, (teid, local)) in tunnels {
            self.unknown_destinations.note(index, self.has_tunnel(teid, local));
        }
    }

    #[inline(never)]
    fn ask_for_addresses(&mut self, (batch, plains): (&Batch, &Plains), from: usize) {
        let mut addresses = Asked::new();
        for index in from..plains.len().min(from + TOGETHER) {
            let at = index % BATCH;
            match plains.forks[at] {
                Fork::Six if plains.lines[at] == 0 => {
                    let octets =
                        batch.data(index).and_then(|packet| packet.get(TARGET..)?.first_chunk::<16>());
                    addresses.extend(octets.map(|octets| (index, IpAddr::V6(Ipv6Addr::from(*octets)))));
                }
                Fork::Sought if self.is_without_line(plains, index) => {
                    addresses.push((index, Ipv4Addr::from_bits(plains.keys[at]).into()));
                }
                _ => {}
            }
        }
        let rests = self.resting.len() > 0;
        if rests {
            addresses.iter().for_each(|(_, address)| self.resting.approach_ue(*address));
        }
        for (index, address) in &addresses {
            self.unknown_destinations.note(*index, self.slow.knows(*address));
        }
        if rests {
            for (index, address) in addresses {
                self.unknown_destinations.note(index, self.rests(address));
            }
        }
    }

    fn is_without_line(&self, plains: &Plains, index: usize) -> bool {
        let at = index % BATCH;
        let id = u64::from(plains.places[at]) << 32 | u64::from(plains.keys[at]);
        self.table.line(plains.lines[at]).is_none_or(|line| line.id() != id)
    }
}
