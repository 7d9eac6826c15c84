//! What becomes of packets that are not sent on by an ordinary course.

use std::net::Ipv4Addr;

use causeway_dataplane::DropReason;
use causeway_packet::rewrite::Ecn;
use causeway_ports::{Batch, Meta};
use causeway_types::Time;

use crate::deed::{Ready, Verdict};
use crate::engine::FastPath;
use crate::key::Key;
use crate::packet::User;
use crate::plain::{Plain, flaw};
use crate::refusal::{Mute, Teller};
use crate::work::{Stage, Work};

impl FastPath {
    /// A packet that is not plain, as far as it has come.
    pub(crate) fn act_odd(
        &mut self,
        now: Time,
        batch: &mut Batch,
        (index, work): (usize, &Work),
        mute: &mut Mute,
    ) -> Verdict {
        match work.stage {
            Stage::Ask | Stage::Sought { .. } => Verdict::Ask,
            Stage::Drop(reason) => Verdict::Dropped(reason),
            Stage::UnknownTunnel if work.is_strange => {
                self.unknown_tunnel(now, batch, (index, DropReason::UnsupportedExtension), mute)
            }
            Stage::UnknownTunnel => self.unknown_tunnel(now, batch, (index, DropReason::UnknownTeid), mute),
            Stage::Strange => self.untold(now, batch, (index, DropReason::UnsupportedExtension), mute),
            Stage::UnknownUe if self.knows(work.user.dst_addr()) => Verdict::Ask,
            Stage::UnknownUe => Verdict::Dropped(DropReason::UnknownUe),
            Stage::Matched { program, step, line } => {
                self.act(now, batch, index, work, (program, step, line))
            }
        }
    }

    /// A plain packet that no line is for.
    pub(crate) fn act_unknown(
        &mut self,
        now: Time,
        batch: &Batch,
        (index, plain): (usize, &Plain),
        mute: &mut Mute,
    ) -> Verdict {
        match plain.key() {
            Key::Ipv4(_, address) if self.knows(Ipv4Addr::from_bits(address).into()) => Verdict::Ask,
            Key::Ipv4(..) => Verdict::Dropped(DropReason::UnknownUe),
            _ => self.unknown_tunnel(now, batch, (index, plain.unknown()), mute),
        }
    }

    /// A plain packet by a course that is not ordinary, or not for this packet.
    pub(crate) fn act_plain(
        &mut self,
        now: Time,
        batch: &mut Batch,
        index: usize,
        plain: &Plain,
        course: u32,
    ) -> Verdict {
        let Some(course) = self.programs.course(course) else { return Verdict::Ask };
        let step = (course.program, course.index, plain.line);
        let user =
            batch.data(index).and_then(|frame| frame.get(plain.start as usize..)).and_then(User::parse);
        let Some(mut user) = user else { return Verdict::Ask };
        let (is_plain, mut ecn) = (plain.flaws & flaw::CARRIES == 0, None);
        if let Some(Meta::Gtpu { tos, .. }) = batch.meta(index).filter(|_| plain.flaws & flaw::CONGESTED != 0)
        {
            user.tos = user.tos & !0x03 | tos & 0x03;
            ecn = Some(Ecn::of_tos(*tos));
        }
        let work = Work { user, start: plain.start as u16, is_plain, ecn, ..Work::nothing(index) };
        self.act(now, batch, index, &work, step)
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
        let Work { user, start, is_plain, ecn, .. } = work;
        let ready = Ready { program, step, user, line, start: *start, is_plain: *is_plain, ecn: *ecn };
        let teller = Teller { slow: &mut self.slow, surroundings: &self.surroundings, now };
        ready.act(now.as_nanos(), &mut self.table, &self.surroundings, teller, &mut frame)
    }
}
