//! Packets of idle UEs: the slow path decides about each and keeps its place in the order; its octets are in external memory.
//!
//! A session with buffered packets has a paging ring, as long as there is a free one. Octets that do not fit into it stay with the slow
//! path: of a packet above 2,048 octets, of those behind a full ring, and of all while the memory is away. Before a plan that may
//! forward buffered packets, the ring is released: all octets return, in order, and the slow path does what the plan says.

use std::collections::HashMap;

use causeway_dataplane::Plan;
use causeway_types::{Seid, Time};

use super::{Awaited, XPlane};
use crate::layout::MAX_PACKET;
use crate::pipeline::Pipeline;

/// Which ring is whose.
#[derive(Clone, Debug)]
pub(super) struct IdleSessions {
    free: Vec<usize>,
    rings: HashMap<Seid, usize>,
    /// The ring of each packet in external memory, and its session.
    packets: HashMap<u64, (usize, Seid)>,
}

impl IdleSessions {
    pub(super) fn new(rings: u32) -> Self {
        Self { free: (0..rings as usize).rev().collect(), rings: HashMap::new(), packets: HashMap::new() }
    }
}

impl<M: Awaited> XPlane<M> {
    /// Buffered packets whose octets are in external memory.
    pub fn paged_packets(&self) -> usize {
        self.idle.packets.len()
    }

    /// Moves the octets of a session's buffered packets into its ring.
    pub(super) fn page_out(&mut self, now: Time, seid: Seid) {
        self.forget_discarded();
        // What comes while a ring is emptied stays with the slow path, behind what leaves the ring.
        let is_leaving = self.waiting.iter().any(|(_, plan)| plan.session == seid);
        if is_leaving || self.down_until.is_some() || !self.slow_path.has_buffered_octets(seid, MAX_PACKET) {
            return;
        }
        let ring = match self.idle.rings.get(&seid) {
            Some(ring) => *ring,
            None => match self.idle.free.pop() {
                Some(ring) => *self.idle.rings.entry(seid).or_insert(ring),
                None => return,
            },
        };
        self.tick(now);
        let free = self.pipeline.free_paging_places(ring);
        for (number, octets) in self.slow_path.take_buffered_octets(seid, MAX_PACKET, free) {
            match self.pipeline.page(self.clock, ring, number, octets.clone()) {
                Ok(()) => drop(self.idle.packets.insert(number, (ring, seid))),
                Err(_) => self.slow_path.return_buffered_octets(number, octets),
            }
        }
        self.free_ring_if_empty(ring, seid);
    }

    /// Returns the octets of a session's buffered packets to the slow path: all packets of its ring leave.
    pub(super) fn page_in(&mut self, now: Time, seid: Seid) {
        // Memory that came back is asked once more.
        for _ in 0..2 {
            let Some(ring) = self.idle.rings.get(&seid).copied() else { return };
            self.tick(now);
            self.pipeline.release_paged(self.clock, ring);
            self.drain_until(now, Pipeline::is_empty);
            self.take_paged(now);
            if self.pipeline.failure().is_none() {
                return;
            }
            self.recover(now);
        }
    }

    /// Lets the packets leave that a plan may release, while others pass. Returns whether the plan must wait for that.
    pub(super) fn begin_release(&mut self, now: Time, plan: &Plan) -> bool {
        if self.waiting.iter().any(|(_, before)| before.session == plan.session) {
            return true;
        }
        if self.is_prompt || self.down_until.is_some() || !self.slow_path.plan_needs_octets(now, plan) {
            return false;
        }
        let Some(ring) = self.idle.rings.get(&plan.session).copied() else { return false };
        self.tick(now);
        self.pipeline.release_paged(self.clock, ring);
        true
    }

    /// The packets of a session have left its ring, or will not without more.
    pub(super) fn is_released(&self, seid: Seid) -> bool {
        let is_idle = self.pipeline.is_empty() || self.pipeline.failure().is_some();
        is_idle || self.down_until.is_some() || !self.idle.rings.contains_key(&seid)
    }

    /// Packets that have left their rings: their octets return to the slow path, or the packets are dropped.
    pub(super) fn take_paged(&mut self, now: Time) {
        while let Some(paged) = self.pipeline.poll_paged() {
            let Some((ring, seid)) = self.idle.packets.remove(&paged.number) else { continue };
            match paged.packet {
                Some(octets) => self.slow_path.return_buffered_octets(paged.number, octets),
                None => self.slow_path.lose_buffered(now, paged.number),
            }
            self.free_ring_if_empty(ring, seid);
        }
        // Those that were dropped just now are in no ring.
        self.forget_discarded();
    }

    /// Packets that the slow path has dropped leave their rings.
    pub(super) fn forget_discarded(&mut self) {
        for number in self.slow_path.take_discarded() {
            if let Some((ring, seid)) = self.idle.packets.remove(&number) {
                self.pipeline.forget_paged(self.clock, ring, number);
                self.free_ring_if_empty(ring, seid);
            }
        }
    }

    fn free_ring_if_empty(&mut self, ring: usize, seid: Seid) {
        if self.pipeline.paged_packets(ring) == 0 && self.idle.rings.get(&seid) == Some(&ring) {
            self.pipeline.clear_paged(ring);
            self.idle.rings.remove(&seid);
            self.idle.free.push(ring);
        }
    }
}
