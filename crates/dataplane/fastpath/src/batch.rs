//! A batch of packets through the lines: find and fetch, choose and fetch, act.

use causeway_dataplane::{DropReason, Fate, Ingress};
use causeway_ports::{BATCH, Batch, Meta};
use causeway_types::Time;

use crate::deed::{Ready, Verdict};
use crate::engine::FastPath;
use crate::leaving::{Entrance, Leaving};
use crate::surroundings::Exit;
use crate::work::{Stage, Work};

impl FastPath {
    /// Handles the frames of a batch that came in together. What leaves is in `leaving`, which is cleared first; frames of
    /// the batch that leave have been changed in place.
    #[inline(never)]
    pub fn process_batch(&mut self, now: Time, entrance: Entrance, batch: &mut Batch, leaving: &mut Leaving) {
        leaving.clear();
        self.expire(now);
        let mut works = [Work::NOTHING; BATCH];
        let count = batch.len().min(BATCH);
        let Some(works) = works.get_mut(..count) else { return };
        match entrance {
            Entrance::Gtpu => self.find_tunnels(batch, works),
            Entrance::Network(network) => self.find_addresses(network, batch, works),
            Entrance::Ethernet(_) => {}
        }
        self.choose_all(batch, works);
        for (index, work) in works.iter().enumerate() {
            self.finish(now, entrance, batch, index, work, leaving);
        }
    }

    /// The third stage: act, in order.
    #[inline]
    fn finish(
        &mut self,
        now: Time,
        entrance: Entrance,
        batch: &mut Batch,
        index: usize,
        work: &Work,
        leaving: &mut Leaving,
    ) {
        let verdict = match work.stage {
            Stage::Ask => Verdict::Ask,
            Stage::Drop(reason) => Verdict::Dropped(reason),
            Stage::UnknownTunnel => self.unknown_tunnel(now, batch, index),
            Stage::UnknownUe if self.slow.knows(work.user.dst_addr()) => Verdict::Ask,
            Stage::UnknownUe => Verdict::Dropped(DropReason::UnknownUe),
            Stage::Matched { program, step, line } => {
                self.act(now, batch, index, work, (program, step, line))
            }
            Stage::Sought { .. } => Verdict::Ask,
        };
        if verdict == Verdict::Ask {
            self.ask(now, entrance, batch, index, leaving);
            return;
        }
        let octets = batch.data(index).map_or(0, <[u8]>::len);
        self.count(entrance, work, verdict, octets);
        if let Verdict::Sent(exit) = verdict {
            leaving.depart(index, exit);
        }
    }

    /// The slow room tells the peer, unless it has been told enough.
    #[cold]
    fn unknown_tunnel(&mut self, now: Time, batch: &Batch, index: usize) -> Verdict {
        match batch.meta(index).copied() {
            Some(Meta::Gtpu { peer, .. })
                if self.table.is_complete() && !self.slow.may_signal(peer.ip(), now) =>
            {
                Verdict::Dropped(DropReason::UnknownTeid)
            }
            _ => Verdict::Ask,
        }
    }

    #[inline]
    fn act(
        &mut self,
        now: Time,
        batch: &mut Batch,
        index: usize,
        work: &Work,
        (program, step, line): (u32, u8, u32),
    ) -> Verdict {
        let Some(program) = self.programs.at(program) else { return Verdict::Ask };
        let Some(step) = program.steps.get(usize::from(step)) else { return Verdict::Ask };
        let Some(mut frame) = batch.frame_mut(index) else { return Verdict::Ask };
        let ready =
            Ready { program, step, user: &work.user, line, start: work.start, is_plain: work.is_plain };
        ready.act(now.as_nanos(), &mut self.table, &self.surroundings, &mut frame)
    }

    /// Hands a packet to the slow room.
    #[cold]
    fn ask(&mut self, now: Time, entrance: Entrance, batch: &mut Batch, index: usize, leaving: &mut Leaving) {
        let Some(frame) = batch.frame(index) else { return };
        let Some(ingress) = self.ingress(entrance, &frame.meta) else { return };
        let mut out = Vec::new();
        self.fate = self.ask_slow(now, &ingress, frame.data, &mut out);
        out.into_iter().for_each(|(egress, packet)| leaving.store(egress, packet));
    }

    fn ingress(&self, entrance: Entrance, meta: &Meta) -> Option<Ingress> {
        Some(match (entrance, meta) {
            (Entrance::Gtpu, Meta::Gtpu { local, peer, tos }) => {
                Ingress::Gtpu { local: *local, peer: *peer, tos: *tos }
            }
            (Entrance::Network(index), _) => Ingress::Ip { network: self.network(index)?.clone() },
            (Entrance::Ethernet(index), _) => Ingress::Ethernet { network: self.ethernet(index)?.clone() },
            (Entrance::Gtpu, _) => return None,
        })
    }

    /// Counts what a line decided.
    #[inline]
    fn count(&mut self, entrance: Entrance, work: &Work, verdict: Verdict, octets: usize) {
        let counters = &mut self.hot;
        match entrance {
            Entrance::Gtpu => counters.gtpu_received.count(work.octets as usize),
            Entrance::Network(_) => counters.ip_received.count(work.octets as usize),
            Entrance::Ethernet(_) => counters.ethernet_received.count(work.octets as usize),
        }
        match verdict {
            Verdict::Sent(exit) => {
                counters.forwarded += 1;
                match exit {
                    Exit::Network(_) => counters.ip_sent.count(octets),
                    Exit::Tunnel { .. } => counters.gtpu_sent.count(octets),
                }
                self.fate = Fate::Forwarded;
            }
            Verdict::Dropped(reason) => {
                counters.drop_one(reason);
                self.fate = Fate::Dropped(reason);
            }
            Verdict::Ask => {}
        }
    }
}
