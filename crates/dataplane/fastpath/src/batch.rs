//! A batch of packets through the lines: find and fetch, match and fetch, act.

use causeway_dataplane::{DropReason, Fate, Ingress};
use causeway_ports::{BATCH, Batch, Meta};
use causeway_types::{Direction, Time};

use crate::deed::{Ready, Verdict};
use crate::engine::FastPath;
use crate::leaving::{Entrance, Leaving};
use crate::line::Line;
use crate::packet::{Tunnelled, User};
use crate::program::Program;
use crate::surroundings::Exit;
use crate::table::Key;

/// A packet on its way through the stages.
#[derive(Clone, Copy, Debug)]
struct Work {
    stage: Stage,
    user: User,
    start: u16,
    qfi: Option<causeway_types::Qfi>,
    is_plain: bool,
    /// What of the frame is the message.
    octets: u32,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// For the slow room.
    Ask,
    /// It ends here.
    Drop(DropReason),
    /// There is no such tunnel.
    UnknownTunnel,
    /// It has a line.
    Found(u32),
    /// It has a rule: the program and the step, and the first door's line.
    Matched { program: u32, step: u8, line: u32 },
}

impl Work {
    const NOTHING: Self = Self {
        stage: Stage::Ask,
        user: User {
            len: 0,
            src: 0,
            dst: 0,
            is_v6: false,
            tos: 0,
            hops: 0,
            is_plain: false,
            is_damaged: false,
        },
        start: 0,
        qfi: None,
        is_plain: true,
        octets: 0,
    };
}

impl FastPath {
    /// Handles the frames of a batch that came in together. What leaves is in `leaving`, which is cleared first; frames of
    /// the batch that leave have been changed in place.
    pub fn process_batch(&mut self, now: Time, entrance: Entrance, batch: &mut Batch, leaving: &mut Leaving) {
        leaving.clear();
        self.expire(now);
        let mut works = [Work::NOTHING; BATCH];
        let count = batch.len().min(BATCH);
        for (index, work) in works.iter_mut().enumerate().take(count) {
            if let Some(frame) = batch.frame(index) {
                *work = self.find(entrance, &frame.meta, frame.data);
            }
        }
        for (index, work) in works.iter_mut().enumerate().take(count) {
            if let (Stage::Found(line), Some(frame)) = (work.stage, batch.frame(index)) {
                work.stage = self.match_rule(line, work, frame.data);
            }
        }
        for (index, work) in works.iter().enumerate().take(count) {
            self.finish(now, entrance, batch, index, work, leaving);
        }
    }

    /// The first stage: which line, and fetch it.
    #[inline]
    fn find(&self, entrance: Entrance, meta: &Meta, bytes: &[u8]) -> Work {
        let (key, start, end, mut work) = match (entrance, meta) {
            (Entrance::Gtpu, Meta::Gtpu { local, tos, .. }) => {
                let Some(tunnelled) = Tunnelled::parse(bytes) else { return Work::NOTHING };
                let Some(index) = self.surroundings.local(*local) else { return Work::NOTHING };
                let key = Key::Tunnel(tunnelled.teid, index);
                let (start, end) = (tunnelled.start, tunnelled.end);
                // Congestion goes on in the user packet, which the slow room sees to.
                if tos & 0x01 != 0 {
                    return Work::NOTHING;
                }
                if self.table.find(key).is_none() {
                    let octets = bytes.len() as u32;
                    return Work { stage: Stage::UnknownTunnel, octets, ..Work::NOTHING };
                }
                let work = Work { start, qfi: tunnelled.qfi, is_plain: tunnelled.is_plain, ..Work::NOTHING };
                (Some(key), start, end, work)
            }
            (Entrance::Network(_), _) => (None, 0, u16::MAX, Work::NOTHING),
            _ => return Work::NOTHING,
        };
        work.octets = bytes.len() as u32;
        let user = bytes.get(start.into()..bytes.len().min(end.into())).and_then(User::parse);
        let Some(user) = user else {
            // What is no IP packet may be an Ethernet frame: its session knows.
            let line = key.and_then(|key| self.table.find(key));
            let is_ip = |line| self.program_of(line).is_some_and(|program| !program.is_for_slow_room());
            work.stage = match line {
                Some(line) if !is_ip(line) => Stage::Ask,
                _ => Stage::Drop(DropReason::MalformedIp),
            };
            return work;
        };
        work.user = user;
        let key = match (key, entrance) {
            (Some(key), _) => key,
            (None, Entrance::Network(network)) if user.is_v6 => Key::Ipv6(network, User::prefix(user.dst)),
            (None, Entrance::Network(network)) => Key::Ipv4(network, user.dst as u32),
            _ => return Work::NOTHING,
        };
        work.stage = self.table.find(key).map_or(Stage::Ask, Stage::Found);
        work
    }

    fn program_of(&self, line: u32) -> Option<&Program> {
        self.programs.at(self.table.line(line)?.program())
    }

    /// The second stage: which rule.
    #[inline]
    fn match_rule(&self, number: u32, work: &Work, bytes: &[u8]) -> Stage {
        let Some(line) = self.table.line(number) else { return Stage::Ask };
        let Some(program) = self.programs.at(line.program()) else { return Stage::Ask };
        let end = usize::from(work.start) + work.user.len as usize;
        let Some(packet) = bytes.get(work.start.into()..end) else { return Stage::Ask };
        let (local, remote) = match program.direction {
            Direction::Uplink => (work.user.src, work.user.dst),
            Direction::Downlink => (work.user.dst, work.user.src),
        };
        let is_ue = |address| !program.names_ue || is_of_ue(line, program, work.user.is_v6, address);
        let is_local = is_ue(local);
        if !is_local && (program.has_more || work.user.is_v6 && work.user.is_of_link()) {
            return Stage::Ask;
        }
        let step = if program.is_trivial() {
            Some(0)
        } else {
            let key = work.user.key(packet, program.direction, work.qfi, (is_ue(remote), is_local));
            let Some(key) = key else { return Stage::Ask };
            self.sets.first_match(program.set, &key)
        };
        match (step, is_local) {
            (Some(step), true) => {
                let line = line.stands_for().unwrap_or(number);
                let program = self.table.line(number).map_or(0, Line::program);
                Stage::Matched { program, step, line }
            }
            _ if !program.is_final => Stage::Ask,
            (Some(_), false) if program.direction == Direction::Uplink => {
                Stage::Drop(DropReason::SpoofedSource)
            }
            (Some(_), false) => Stage::Ask,
            (None, _) => Stage::Drop(DropReason::NoMatchingPdr),
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
            Stage::UnknownTunnel => match batch.frame(index).map(|frame| frame.meta) {
                Some(Meta::Gtpu { peer, .. }) if !self.slow.may_signal(peer.ip(), now) => {
                    Verdict::Dropped(DropReason::UnknownTeid)
                }
                _ => Verdict::Ask,
            },
            Stage::Matched { program, step, line } => {
                self.act(now, batch, index, work, (program, step, line))
            }
            Stage::Found(_) => Verdict::Ask,
        };
        if verdict == Verdict::Ask {
            self.ask(now, entrance, batch, index, leaving);
            return;
        }
        let octets = batch.frame(index).map_or(0, |frame| frame.data.len());
        self.count(entrance, work, verdict, octets);
        if let Verdict::Sent(exit) = verdict {
            leaving.depart(index, exit);
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

/// The address is one that the line names.
#[inline]
fn is_of_ue(line: &Line, program: &Program, is_v6: bool, address: u128) -> bool {
    if is_v6 {
        return line.prefix != 0 && User::prefix(address) == line.prefix;
    }
    let ue = if program.local.is_some() { line.aux } else { line.key };
    ue != 0 && address as u32 == ue
}
