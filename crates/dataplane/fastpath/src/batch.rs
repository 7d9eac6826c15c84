//! A batch of packets through the lines: find and fetch, choose and fetch, act.

use causeway_dataplane::{DropReason, Fate, Ingress, TrafficCounter};
use causeway_ports::{BATCH, Batch, Meta};
use causeway_types::Time;

use crate::deed::{Ready, Verdict};
use crate::engine::FastPath;
use crate::leaving::{Entrance, Leaving};
use crate::packet::User;
use crate::plain::{Fork, Plain};
use crate::surroundings::Exit;
use crate::work::{Odd, Stage, Work};

impl FastPath {
    /// Handles the frames of a batch that came in together. What leaves is in `leaving`, which is cleared first; frames of
    /// the batch that leave have been changed in place.
    #[inline(never)]
    pub fn process_batch(&mut self, now: Time, entrance: Entrance, batch: &mut Batch, leaving: &mut Leaving) {
        leaving.clear();
        self.expire(now);
        let mut plains = [Plain::ASK; BATCH];
        let mut odd = Odd::new();
        let count = batch.len().min(BATCH);
        let Some(plains) = plains.get_mut(..count) else { return };
        match entrance {
            Entrance::Gtpu => {
                self.find_tunnels(batch, plains, &mut odd);
                self.choose_uplink(batch, plains, &mut odd);
            }
            Entrance::Network(network) => {
                self.find_addresses(network, batch, plains, &mut odd);
                self.choose_downlink(network, batch, plains, &mut odd);
            }
            Entrance::Ethernet(_) => {}
        }
        if !odd.is_empty() {
            self.choose_odd(batch, &mut odd);
        }
        self.act_all(now, entrance, batch, (plains, &odd), leaving);
    }

    /// The third stage: act, in order.
    #[inline(never)]
    fn act_all(
        &mut self,
        now: Time,
        entrance: Entrance,
        batch: &mut Batch,
        (plains, odd): (&[Plain], &Odd),
        leaving: &mut Leaving,
    ) {
        let mut received = TrafficCounter::default();
        for (index, plain) in plains.iter().enumerate() {
            let octets = batch.data(index).map_or(0, <[u8]>::len);
            if let Fork::Course(course) = plain.fork
                && let Some(exit) = self.forward(now, batch, index, plain, course)
            {
                received.count(octets);
                self.count_sent(exit, batch, index);
                leaving.depart(index, exit);
            } else {
                self.finish(now, entrance, batch, (index, plain, odd), leaving);
            }
        }
        let all = self.received(entrance);
        *all = all.with(received);
    }

    /// What is not as simple.
    #[inline(never)]
    fn finish(
        &mut self,
        now: Time,
        entrance: Entrance,
        batch: &mut Batch,
        (index, plain, odd): (usize, &Plain, &Odd),
        leaving: &mut Leaving,
    ) {
        let octets = batch.data(index).map_or(0, <[u8]>::len);
        let verdict = match plain.fork {
            Fork::Ask | Fork::Sought => Verdict::Ask,
            Fork::Drop(reason) => Verdict::Dropped(reason),
            Fork::Course(course) => self.act_plain(now, batch, index, plain, course),
            Fork::Odd(place) => match odd.get(usize::from(place)) {
                Some(work) => self.act_odd(now, batch, index, work),
                None => Verdict::Ask,
            },
        };
        match verdict {
            Verdict::Ask => return self.ask(now, entrance, batch, index, leaving),
            Verdict::Sent(exit) => {
                self.count_sent(exit, batch, index);
                leaving.depart(index, exit);
            }
            Verdict::Dropped(reason) => {
                self.hot.drop_one(reason);
                self.fate = Fate::Dropped(reason);
            }
        }
        self.received(entrance).count(octets);
    }

    fn act_odd(&mut self, now: Time, batch: &mut Batch, index: usize, work: &Work) -> Verdict {
        match work.stage {
            Stage::Ask | Stage::Sought { .. } => Verdict::Ask,
            Stage::Drop(reason) => Verdict::Dropped(reason),
            Stage::UnknownTunnel => self.unknown_tunnel(now, batch, index),
            Stage::UnknownUe if self.slow.knows(work.user.dst_addr()) => Verdict::Ask,
            Stage::UnknownUe => Verdict::Dropped(DropReason::UnknownUe),
            Stage::Matched { program, step, line } => {
                self.act(now, batch, index, work, (program, step, line))
            }
        }
    }

    /// A plain packet by a course that is not ordinary, or not for this packet.
    fn act_plain(
        &mut self,
        now: Time,
        batch: &mut Batch,
        index: usize,
        plain: &Plain,
        course: u32,
    ) -> Verdict {
        let Some(course) = self.programs.course(course) else { return Verdict::Ask };
        let step = (course.program, course.index, plain.line);
        let user = batch.data(index).and_then(|frame| frame.get(plain.start.into()..)).and_then(User::parse);
        let Some(user) = user else { return Verdict::Ask };
        let work = Work { user, start: plain.start, ..Work::nothing(index) };
        self.act(now, batch, index, &work, step)
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

    /// What was received of this kind.
    #[inline]
    fn received(&mut self, entrance: Entrance) -> &mut TrafficCounter {
        match entrance {
            Entrance::Gtpu => &mut self.hot.gtpu_received,
            Entrance::Network(_) => &mut self.hot.ip_received,
            Entrance::Ethernet(_) => &mut self.hot.ethernet_received,
        }
    }

    /// Counts a frame, as it is now, that a line let out.
    #[inline(always)]
    fn count_sent(&mut self, exit: Exit, batch: &Batch, index: usize) {
        let octets = batch.data(index).map_or(0, <[u8]>::len);
        match exit {
            Exit::Network(_) => self.hot.ip_sent.count(octets),
            Exit::Tunnel { .. } => self.hot.gtpu_sent.count(octets),
        }
        self.hot.forwarded += 1;
        self.fate = Fate::Forwarded;
    }
}
