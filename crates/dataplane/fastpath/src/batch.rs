//! A batch of packets through the lines: find and fetch, then choose and act.

use causeway_dataplane::{Disposition, DropReason, Ingress, TrafficCounter};
use causeway_packet::rewrite::{Ecn, set_ecn};
use causeway_ports::{BATCH, Batch, Meta};
use causeway_types::Time;

use crate::choose::{Chooser, DOWNLINK, Desk, UPLINK};
use crate::deed::Verdict;
use crate::engine::FastPath;
use crate::filters::{Block, Comparing, Gist, SetId};
use crate::forward::{Forwarding, Sent};
use crate::glance::Glance;
use crate::guess::{Met, NO_STEP};
use crate::leaving::{Entrance, Leaving};
use crate::plain::{Fork, Plains, flaw};
use crate::refusal::Mute;
use crate::surroundings::Exit;
use crate::unknown_destinations::UnknownDestinations;
use crate::work::Odd;

mod late;
mod six;

impl FastPath {
    /// Handles the frames of a batch that came in together. What leaves is in `leaving`, which is cleared first; frames of
    /// the batch that leave have been changed in place.
    #[inline(never)]
    pub fn process_batch(&mut self, now: Time, entrance: Entrance, batch: &mut Batch, leaving: &mut Leaving) {
        leaving.clear();
        self.expire(now);
        let mut desk = self.desk.take().unwrap_or_else(|| Box::new(Desk::new()));
        desk.begin(batch.len(), self.table.is_large());
        (self.has_woken, self.unknown_destinations) = (false, UnknownDestinations::default());
        self.guess.begin(batch.len());
        let (mut odd, octets) = (Odd::new(), batch.octets() as u64);
        let (compare, odd) = (self.sets.compare(), &mut odd);
        match entrance {
            Entrance::Gtpu => {
                self.find_tunnels(batch, &mut desk, odd);
                self.choose_some::<UPLINK>(0, batch, &mut desk.plains, odd);
                let (engine, plains) = (&mut *self, &desk.plains);
                let (mute, glance) = (Mute::default(), Glance::of::<UPLINK>(engine, now));
                compare.run(Pass::<UPLINK> {
                    engine,
                    now,
                    entrance,
                    batch,
                    plains,
                    odd,
                    leaving,
                    octets,
                    others: 0,
                    mute,
                    glance,
                    guessed: SetId::NOTHING,
                });
            }
            Entrance::Network(network) => {
                self.find_addresses(network, batch, &mut desk, odd);
                self.choose_some::<DOWNLINK>(network, batch, &mut desk.plains, odd);
                let (engine, plains) = (&mut *self, &desk.plains);
                let (mute, glance) = (Mute::default(), Glance::of::<DOWNLINK>(engine, now));
                compare.run(Pass::<DOWNLINK> {
                    engine,
                    now,
                    entrance,
                    batch,
                    plains,
                    odd,
                    leaving,
                    octets,
                    others: 0,
                    mute,
                    glance,
                    guessed: SetId::NOTHING,
                });
            }
            Entrance::Ethernet(_) => {
                (0..batch.len()).for_each(|index| self.ask(now, entrance, batch, index, leaving));
            }
        }
        self.desk = Some(desk);
    }

    /// The second stage for packets and rules that are not as simple as most.
    #[inline(always)]
    fn choose_some<const WAY: bool>(&self, network: u16, batch: &Batch, plains: &mut Plains, odd: &mut Odd) {
        if WAY == DOWNLINK && plains.has_sixes {
            self.seek_sixes(network, plains);
        }
        self.look_twice::<WAY>(plains);
        if !odd.is_empty() {
            self.choose_odd(batch, odd);
        }
    }
}

/// The second and the third stage of a batch: which rule, and act, in order.
struct Pass<'a, const WAY: bool> {
    engine: &'a mut FastPath,
    now: Time,
    entrance: Entrance,
    batch: &'a mut Batch,
    plains: &'a Plains,
    odd: &'a mut Odd,
    leaving: &'a mut Leaving,
    /// Of all frames but those that the slow room has counted.
    octets: u64,
    /// How many of these frames were not sent on at once.
    others: u64,
    mute: Mute,
    glance: Glance,
    /// The set that is guessed.
    guessed: SetId,
}

impl<const WAY: bool> Comparing for Pass<'_, WAY> {
    #[inline(always)]
    fn run(mut self, fits: impl Fn(&Block, Gist) -> u16) {
        let (mut sent, mut exits) = (Sent::default(), [Exit::Network(0); BATCH]);
        // The frames from here on have left but for those that are finished otherwise.
        let mut first = 0;
        let (now, ahead) = (self.now.as_nanos(), self.plains.ahead);
        self.engine.fate = Disposition::Forwarded;
        self.guessed = self.engine.guessed();
        self.engine.met = Met::new();
        for index in 0..self.plains.len() {
            let FastPath { table, programs, sets, surroundings, met, .. } = &mut *self.engine;
            table.prefetch(self.plains.lines[(index + ahead) % (2 * BATCH)]);
            let chooser = Chooser { programs, sets, fits: &fits, guessed: self.guessed };
            let Some((line, course)) = chooser.choose::<WAY>(table, self.plains, index, met) else {
                self.leaving.depart_all(first..index, &exits);
                self.finish(index, None);
                first = index + 1;
                continue;
            };
            let forwarding = Forwarding { now, plains: self.plains, programs, surroundings };
            let exit = &mut exits[index % BATCH];
            if forwarding
                .forward::<0, false, WAY>((self.batch, index), (line, course), (&mut sent, exit))
                .is_none()
            {
                self.leaving.depart_all(first..index, &exits);
                self.finish(index, Some(course).filter(|course| *course < NO_STEP));
                first = index + 1;
            }
        }
        self.leaving.depart_all(first..self.plains.len(), &exits);
        self.engine.learn_from(sent.all());
        let counters = &mut self.engine.hot;
        counters.forwarded += sent.all();
        counters.ip_sent = counters.ip_sent.with(sent.by_ip());
        counters.gtpu_sent = counters.gtpu_sent.with(sent.by_gtpu());
        let received = self.engine.received(self.entrance);
        *received = received.with(TrafficCounter { packets: sent.all() + self.others, octets: self.octets });
    }
}

impl<const WAY: bool> Pass<'_, WAY> {
    /// What is not as simple. `course`: the packet was for it.
    #[cold]
    #[inline(never)]
    fn finish(&mut self, index: usize, course: Option<u32>) {
        if self.plains.forks[index % BATCH] == Fork::Six {
            return self.finish_six(index);
        }
        let is_marked = self.plains.flaws[index % BATCH] as u8 & flaw::CONGESTED != 0;
        if is_marked && course.is_some_and(|course| self.forward_marked(index, course).is_some()) {
            return;
        }
        let Self { engine, batch, plains, glance, mute, .. } = self;
        match glance.fork::<WAY>(engine, (batch, plains), (index, course), mute) {
            Fork::Drop(reason) => self.count_drop(reason),
            fork => self.decide(index, fork),
        }
        // The slow room may have changed the sets.
        self.guessed = self.engine.guessed();
    }

    /// Sends a packet on that has taken over a mark of congestion from its outer header. `None`: as for [`Forwarding::forward`].
    #[inline(never)]
    fn forward_marked(&mut self, index: usize, course: u32) -> Option<()> {
        let (now, plains) = (self.now.as_nanos(), self.plains);
        let FastPath { table, programs, surroundings, .. } = &mut *self.engine;
        let line = table.line_mut(plains.lines[index % BATCH])?;
        let (mut sent, mut exit) = (Sent::default(), Exit::Network(0));
        let header_len = programs.course(course)?.header_len;
        let forwarding = Forwarding { now, plains, programs, surroundings };
        let frame = (&mut *self.batch, index);
        forwarding.forward::<{ flaw::CONGESTED }, false, WAY>(
            frame,
            (line, course),
            (&mut sent, &mut exit),
        )?;
        if let Some(packet) = self.batch.frame_mut(index)?.data().get_mut(header_len.into()..) {
            // It is an IP packet.
            let _ = set_ecn(packet, Ecn::of_tos(plains.gist(index).tos()));
        }
        self.others += 1;
        self.engine.count_sent(exit, self.batch, index);
        self.leaving.depart(index, exit);
        Some(())
    }

    #[inline(always)]
    fn count_drop(&mut self, reason: DropReason) {
        self.others += 1;
        self.engine.hot.count_drop(reason);
        self.engine.fate = Disposition::Dropped(reason);
    }

    #[inline(never)]
    fn decide(&mut self, index: usize, fork: Fork) {
        let plain = &self.plains.at(index);
        let fork = match fork {
            Fork::Sought => self.choose_late(index, plain),
            Fork::Six => self.choose_anew(index),
            fork => fork,
        };
        let (engine, now, entrance) = (&mut *self.engine, self.now, self.entrance);
        let verdict = match fork {
            Fork::Ask | Fork::Sought | Fork::Six => Verdict::Ask,
            Fork::Drop(reason) => Verdict::Dropped(reason),
            Fork::Course(course) => engine.act_plain(now, self.batch, index, plain, course),
            Fork::Strange => {
                engine.untold(now, self.batch, (index, DropReason::UnsupportedExtension), &mut self.mute)
            }
            Fork::Unknown => engine.act_unknown(now, self.batch, (index, plain), &mut self.mute),
            Fork::Odd(place) => match self.odd.get(usize::from(place)) {
                Some(work) => engine.act_odd(now, self.batch, (index, work), &mut self.mute),
                None => Verdict::Ask,
            },
        };
        match verdict {
            Verdict::Ask => {
                self.octets -= self.batch.data(index).map_or(0, <[u8]>::len) as u64;
                engine.ask(now, entrance, self.batch, index, self.leaving);
            }
            Verdict::Sent(exit) => {
                self.others += 1;
                engine.count_sent(exit, self.batch, index);
                self.leaving.depart(index, exit);
            }
            Verdict::Dropped(reason) => self.count_drop(reason),
        }
    }
}

impl FastPath {
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
            (Entrance::Gtpu, Meta::Gtpu { local, peer, tos, hops }) => {
                Ingress::Gtpu { local: *local, peer: *peer, tos: *tos, hops: *hops }
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
    fn count_sent(&mut self, exit: Exit, batch: &Batch, index: usize) {
        let octets = batch.data(index).map_or(0, <[u8]>::len);
        match exit {
            Exit::Network(_) => self.hot.ip_sent.count(octets),
            Exit::Tunnel { .. } => self.hot.gtpu_sent.count(octets),
        }
        self.hot.forwarded += 1;
        self.fate = Disposition::Forwarded;
    }
}
