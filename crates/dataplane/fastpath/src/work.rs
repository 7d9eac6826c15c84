//! One packet between the stages of a batch.

use causeway_dataplane::DropReason;
use causeway_ports::{BATCH, Batch, Meta};
use causeway_types::{Direction, Qfi};

use crate::engine::FastPath;
use crate::line::Line;
use crate::packet::{Tunnelled, User};
use crate::program::Program;
use crate::table::Key;

/// A packet on its way through the stages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) stage: Stage,
    /// The user packet; of no octets where it is malformed.
    pub(crate) user: User,
    /// Where it begins in the frame.
    pub(crate) start: u16,
    pub(crate) qfi: Option<Qfi>,
    /// What came with it that may be for the next tunnel is nothing but the QFI.
    pub(crate) is_plain: bool,
    /// Octets of the frame.
    pub(crate) octets: u32,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    /// For the slow room.
    Ask,
    /// It ends here.
    Drop(DropReason),
    /// There is no such tunnel.
    UnknownTunnel,
    /// No line has its destination.
    UnknownUe,
    /// Its line, if there is one, lies near or where the tables lead.
    Sought { key: Key, near: Option<u32> },
    /// It has a rule: the program and the step, and the first door's line.
    Matched { program: u32, step: u8, line: u32 },
}

impl Work {
    /// No packet yet, or one for the slow room.
    pub(crate) const NOTHING: Self =
        Self { stage: Stage::Ask, user: User::NOTHING, start: 0, qfi: None, is_plain: true, octets: 0 };
}

impl FastPath {
    /// The first stage for GTP-U: where the lines are, and fetch them.
    #[inline(never)]
    pub(crate) fn find_tunnels(&self, batch: &Batch, works: &mut [Work]) {
        let mut teids = [0; BATCH];
        for (index, (work, teid)) in works.iter_mut().zip(&mut teids).enumerate() {
            let (Some(bytes), Some(meta)) = (batch.data(index), batch.meta(index)) else { continue };
            let Meta::Gtpu { local, tos, .. } = meta else { continue };
            // Congestion goes on in the user packet, which the slow room sees to.
            if tos & 0x01 != 0 {
                continue;
            }
            let Some(tunnelled) = Tunnelled::parse(bytes) else { continue };
            let Some(local) = self.surroundings.local(*local) else { continue };
            let user = bytes.get(tunnelled.start.into()..tunnelled.end.into()).and_then(User::parse);
            *teid = tunnelled.teid;
            *work = Work {
                stage: Stage::Sought { key: Key::Tunnel(tunnelled.teid, local), near: None },
                user: user.unwrap_or(User::NOTHING),
                start: tunnelled.start,
                qfi: tunnelled.qfi,
                is_plain: tunnelled.is_plain,
                octets: bytes.len() as u32,
            };
        }
        for (work, slot) in works.iter_mut().zip(self.table.slots(&teids)) {
            if let Stage::Sought { key, near } = &mut work.stage {
                *near = self.table.at_slot(slot);
                near.iter().for_each(|near| self.table.prefetch(*near));
                self.table.prefetch_far(*key);
            }
        }
    }

    /// The first stage for packets of a data network.
    #[inline(never)]
    pub(crate) fn find_addresses(&self, network: u16, batch: &Batch, works: &mut [Work]) {
        for (index, work) in works.iter_mut().enumerate() {
            let Some(bytes) = batch.data(index) else { continue };
            work.octets = bytes.len() as u32;
            let Some(user) = User::parse(bytes) else {
                work.stage = Stage::Drop(DropReason::MalformedIp);
                continue;
            };
            work.user = user;
            let (key, near) = if user.is_v6 {
                (Key::Ipv6(network, User::prefix(user.dst)), None)
            } else {
                let near = self.table.at_address(user.dst as u32);
                (Key::Ipv4(network, user.dst as u32), near)
            };
            near.iter().for_each(|near| self.table.prefetch(*near));
            self.table.prefetch_far(key);
            work.stage = Stage::Sought { key, near };
        }
    }

    /// The second stage: which line and which rule, and fetch the line of the rule.
    #[inline(never)]
    pub(crate) fn choose_all(&self, batch: &Batch, works: &mut [Work]) {
        let mut far = [None; BATCH];
        for (work, far) in works.iter().zip(&mut far) {
            if let Stage::Sought { key, .. } = work.stage {
                *far = self.table.approach(key);
            }
        }
        for (index, (work, far)) in works.iter_mut().zip(far).enumerate() {
            if let (Stage::Sought { key, near }, Some(bytes)) = (work.stage, batch.data(index)) {
                work.stage = self.choose(key, self.table.find(key, near, far), work, bytes);
            }
        }
    }

    #[inline]
    fn choose(&self, key: Key, found: Option<u32>, work: &Work, bytes: &[u8]) -> Stage {
        match found.and_then(|number| self.table.line(number).zip(Some(number))) {
            Some((line, number)) => self.choose_rule(line, number, work, bytes),
            None if matches!(key, Key::Tunnel(..)) => Stage::UnknownTunnel,
            None => Stage::UnknownUe,
        }
    }

    #[inline]
    fn choose_rule(&self, line: &Line, number: u32, work: &Work, bytes: &[u8]) -> Stage {
        let Some(program) = self.programs.at(line.program()) else { return Stage::Ask };
        if work.user.len == 0 {
            // What is no IP packet may be an Ethernet frame.
            return if program.is_for_slow_room() {
                Stage::Ask
            } else {
                Stage::Drop(DropReason::MalformedIp)
            };
        }
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
            let packet = bytes.get(work.start.into()..usize::from(work.start) + work.user.len as usize);
            let is_ue = (is_ue(remote), is_local);
            let key = packet.and_then(|packet| work.user.key(packet, program.direction, work.qfi, is_ue));
            let Some(key) = key else { return Stage::Ask };
            self.sets.first_match(program.set, &key)
        };
        match (step, is_local) {
            (Some(step), true) => self.matched(line, number, program, step),
            _ if !program.is_final => Stage::Ask,
            (Some(_), false) if program.direction == Direction::Uplink => {
                Stage::Drop(DropReason::SpoofedSource)
            }
            (Some(_), false) => Stage::Ask,
            (None, _) => Stage::Drop(DropReason::NoMatchingPdr),
        }
    }

    #[inline]
    fn matched(&self, line: &Line, number: u32, program: &Program, step: u8) -> Stage {
        let first = line.stands_for().unwrap_or(number);
        if first != number {
            self.table.prefetch(first);
        } else if let Some(account) = program.steps.get(usize::from(step)).map(|step| step.account)
            && account > 0
        {
            self.table.prefetch_rule(line.account.budget as u32 + u32::from(account) - 1);
        }
        Stage::Matched { program: line.program(), step, line: first }
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
