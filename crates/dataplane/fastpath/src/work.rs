//! Packets of any kind between the stages of a batch: those that are not [`crate::without_extensions`].

use arrayvec::ArrayVec;
use causeway_dataplane::DropReason;
use causeway_packet::rewrite::Ecn;
use causeway_ports::{BATCH, Batch, Meta};
use causeway_types::{Direction, Qfi};

use crate::engine::FastPath;
use crate::heads::ecn;
use crate::key::Key;
use crate::line::Line;
use crate::packet::User;
use crate::plain::Fork;
use crate::program::Program;
use crate::tunnelled::Tunnelled;

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
    /// It has met congestion outside and cannot say so: its session drops it.
    pub(crate) is_congested: bool,
    /// It has an extension header that we should understand and do not.
    pub(crate) is_strange: bool,
    /// What it says of congestion from now on, if that changes.
    pub(crate) ecn: Option<Ecn>,
    /// The frame of the batch.
    pub(crate) index: u8,
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
    /// It has an extension header that its session should understand.
    Strange,
    /// No line has its destination.
    UnknownUe,
    /// Its line, if there is one, lies near or where the tables lead.
    Sought { key: Key, near: Option<u32> },
    /// It has a rule: the program and the step, and the first door's line.
    Matched { program: u32, step: u8, line: u32 },
}

/// The packets of a batch that are not plain.
pub(crate) type Odd = ArrayVec<Work, BATCH>;

impl Work {
    /// For the slow room.
    pub(crate) const fn nothing(index: usize) -> Self {
        let index = index as u8;
        Self {
            index,
            stage: Stage::Ask,
            user: User::NOTHING,
            start: 0,
            qfi: None,
            is_plain: true,
            is_congested: false,
            is_strange: false,
            ecn: None,
        }
    }
}

/// Takes a packet in, and says where it is now.
fn keep(odd: &mut Odd, work: Work) -> Fork {
    let place = odd.len() as u8;
    match odd.try_push(work) {
        Ok(()) => Fork::Odd(place),
        // There are not more packets in a batch.
        Err(_) => Fork::Ask,
    }
}

impl FastPath {
    /// The first stage for a packet by GTP-U that is not plain: where the line is, and fetch it. `slot`: that of its TEID, if it is known.
    #[inline(never)]
    pub(crate) fn find_odd_tunnel(
        &self,
        batch: &Batch,
        (index, slot): (usize, Option<u32>),
        odd: &mut Odd,
    ) -> Fork {
        let (Some(bytes), Some(meta)) = (batch.data(index), batch.meta(index)) else { return Fork::Ask };
        let work = Tunnelled::parse(bytes).ok().and_then(|of| {
            let slot = slot.unwrap_or_else(|| self.table.at_teids(&[of.teid])[0]);
            self.odd_tunnel(bytes, meta, (&of, slot), index)
        });
        work.map_or(Fork::Ask, |work| keep(odd, work))
    }

    fn odd_tunnel(
        &self,
        bytes: &[u8],
        meta: &Meta,
        (tunnelled, slot): (&Tunnelled, u32),
        index: usize,
    ) -> Option<Work> {
        let Meta::Gtpu { local, tos, .. } = meta else { return None };
        let key = Key::Tunnel(tunnelled.teid, self.surroundings.local(local)?);
        let mut user = bytes.get(tunnelled.start.into()..tunnelled.end.into()).and_then(User::parse);
        let outer = u32::from(tos & 0x03);
        let (mut is_congested, mut marked) = (false, None);
        match &mut user {
            Some(user) if ecn::drops(outer, u32::from(user.tos & 0x03)) => is_congested = true,
            Some(user) if ecn::changes(outer, u32::from(user.tos & 0x03)) => {
                user.tos = user.tos & !0x03 | tos & 0x03;
                marked = Some(Ecn::of_tos(*tos));
            }
            None if outer & 0x01 != 0 => return None,
            _ => {}
        }
        Some(Work {
            stage: self.seek(key, Some(slot)),
            user: user.unwrap_or(User::NOTHING),
            start: tunnelled.start,
            qfi: tunnelled.qfi,
            is_plain: tunnelled.is_plain,
            is_congested,
            is_strange: tunnelled.is_strange,
            ecn: marked,
            ..Work::nothing(index)
        })
    }

    /// The same for a packet of a data network.
    #[inline(never)]
    pub(crate) fn find_odd_address(&self, network: u16, batch: &Batch, index: usize, odd: &mut Odd) -> Fork {
        let Some(bytes) = batch.data(index) else { return Fork::Ask };
        let Some(user) = User::parse(bytes) else { return Fork::Drop(DropReason::MalformedIp) };
        let stage = if user.is_v6 {
            self.seek(Key::Ipv6(network, User::prefix(user.dst)), None)
        } else {
            self.seek(Key::Ipv4(network, user.dst as u32), self.table.at_address(user.dst as u32))
        };
        keep(odd, Work { stage, user, ..Work::nothing(index) })
    }

    fn seek(&self, key: Key, near: Option<u32>) -> Stage {
        near.iter().for_each(|near| self.table.prefetch(*near));
        self.table.prefetch_far(key);
        Stage::Sought { key, near }
    }

    /// The second stage: which line and which rule, and fetch the line of the rule.
    #[inline(never)]
    pub(crate) fn choose_odd(&self, batch: &Batch, odd: &mut [Work]) {
        let mut far = ArrayVec::<Option<u32>, BATCH>::new();
        far.extend(odd.iter().map(|work| match work.stage {
            Stage::Sought { key, .. } => self.table.approach(key),
            _ => None,
        }));
        for (work, far) in odd.iter_mut().zip(far) {
            if let (Stage::Sought { key, near }, Some(bytes)) = (work.stage, batch.data(work.index.into())) {
                work.stage = self.choose_line(key, self.table.find(key, near, far), work, bytes);
            }
        }
    }

    #[inline]
    fn choose_line(&self, key: Key, found: Option<u32>, work: &Work, bytes: &[u8]) -> Stage {
        match found.and_then(|number| self.table.line(number).zip(Some(number))) {
            Some((line, number)) => self.choose_rule(line, number, work, bytes),
            None if matches!(key, Key::Tunnel(..)) => Stage::UnknownTunnel,
            None => Stage::UnknownUe,
        }
    }

    #[inline]
    fn choose_rule(&self, line: &Line, number: u32, work: &Work, bytes: &[u8]) -> Stage {
        let Some(program) = self.programs.at(line.program()) else { return Stage::Ask };
        if work.is_strange {
            // Where packets go on into other tunnels, fewer headers have to be understood.
            return if program.leads_out() { Stage::Strange } else { Stage::Ask };
        }
        if work.user.len == 0 {
            // What is no IP packet may be an Ethernet frame.
            return if program.is_for_slow_room() {
                Stage::Ask
            } else {
                Stage::Drop(DropReason::MalformedIp)
            };
        }
        if work.is_congested {
            // An Ethernet frame says nothing of congestion.
            return if program.is_for_slow_room() { Stage::Ask } else { Stage::Drop(DropReason::Congested) };
        }
        let (local, remote) = match program.direction {
            Direction::Uplink => (work.user.src, work.user.dst),
            Direction::Downlink => (work.user.dst, work.user.src),
        };
        let is_ue = |address| !program.names_ue || is_of_ue(line, program, work.user.is_v6, address);
        let is_local = is_ue(local);
        if !is_local && (program.has_more || work.user.is_v6 && work.user.stays_on_link()) {
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
