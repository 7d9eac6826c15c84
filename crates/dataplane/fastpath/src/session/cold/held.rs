//! Packets of sessions whose state is being read from a disk.

use std::collections::{BTreeMap, VecDeque};

use causeway_dataplane::{Disposition, Ingress, PacketEngine, Transmit};
use causeway_types::{Seid, Time};

use super::{NotLoaded, Unreadable};
use crate::FastPath;

/// Packets that are held of a session, and of all: more are dropped.
const OF_A_SESSION: usize = 64;
const OF_ALL: usize = 4096;

/// Packets in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct HeldPackets {
    packets: BTreeMap<Seid, VecDeque<(Ingress, Vec<u8>)>>,
    count: usize,
}

impl HeldPackets {
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// `false`: there are too many.
    fn push(&mut self, seid: Seid, ingress: &Ingress, packet: &[u8]) -> bool {
        let of_session = self.packets.entry(seid).or_default();
        let has_room = of_session.len() < OF_A_SESSION && self.count < OF_ALL;
        if has_room {
            of_session.push_back((ingress.clone(), packet.to_vec()));
            self.count += 1;
        }
        has_room
    }

    fn take(&mut self, seid: Seid) -> VecDeque<(Ingress, Vec<u8>)> {
        let packets = self.packets.remove(&seid).unwrap_or_default();
        self.count -= packets.len();
        packets
    }
}

impl FastPath {
    /// Activates a session for a packet, which does not wait for a disk.
    pub(crate) fn activate_for_packet(&mut self, seid: Seid, now: Time) -> Result<(), NotLoaded> {
        let loaded = self.begin_load(now, seid)?;
        self.activate_with(seid, now, loaded);
        Ok(())
    }

    /// Holds a packet until the state of its session is read. It is counted then. `None`: too many are held.
    #[cold]
    pub(crate) fn hold(&mut self, seid: Seid, ingress: &Ingress, packet: &[u8]) -> Option<Disposition> {
        let cold = self.cold.as_deref_mut()?;
        cold.held.push(seid, ingress, packet).then_some(Disposition::Buffered)
    }

    /// Activates the sessions whose state has been read, and processes the packets that were held.
    pub(crate) fn end_reads(&mut self, now: Time) {
        while let Some(cold) = self.cold.as_deref_mut().filter(|cold| !cold.reading.is_empty()) {
            let Some((slot, read)) = cold.store.poll_read() else { break };
            let Some(seid) = cold.reading.remove(&slot) else { continue };
            cold.waiting.wake(seid);
            match self.end_load(now, (slot, seid), read) {
                Ok(Some(state)) => {
                    self.activate_with(seid, now, Some(state));
                    self.limit_active(now);
                }
                // It has another place: its packets ask again.
                Ok(None) => self.release_held(seid, now),
                Err(Unreadable) => {
                    for (ingress, packet) in self.take_held(seid) {
                        self.drop_unreadable(now, &ingress, &packet);
                    }
                }
            }
        }
    }

    /// Processes the packets that were held of a session that is active now. What they send is for the next flush.
    pub(crate) fn release_held(&mut self, seid: Seid, now: Time) {
        for (ingress, packet) in self.take_held(seid) {
            let mut sent = Vec::new();
            self.process(now, &ingress, &packet, &mut sent);
            self.late.append(&mut sent);
        }
    }

    /// Sends what packets that were held have left.
    #[inline]
    pub(crate) fn send_late(&mut self, out: &mut dyn Transmit) {
        for (egress, packet) in std::mem::take(&mut self.late) {
            out.transmit(&egress, &packet);
        }
    }

    fn take_held(&mut self, seid: Seid) -> VecDeque<(Ingress, Vec<u8>)> {
        self.cold.as_deref_mut().map(|cold| cold.held.take(seid)).unwrap_or_default()
    }
}
