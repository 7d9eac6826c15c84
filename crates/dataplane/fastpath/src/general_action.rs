//! What becomes of packets that are not sent on by an ordinary course.

use std::net::Ipv4Addr;

use causeway_dataplane::DropReason;
use causeway_packet::rewrite::Ecn;
use causeway_ports::{Batch, Meta};
use causeway_types::Time;

use crate::action::{MatchedPacket, Verdict};
use crate::batch_state::{PacketState, packet_flag};
use crate::engine::FastPath;
use crate::general_path::{GeneralPacket, GeneralStage};
use crate::icmp_limit::{BatchSuppression, IcmpErrorLimit};
use crate::key::FlowKey;
use crate::packet::UserHeader;

impl FastPath {
    /// A packet that is not plain, as far as it has come.
    pub(crate) fn act_on_general(
        &mut self,
        now: Time,
        batch: &mut Batch,
        (index, work): (usize, &GeneralPacket),
        suppression: &mut BatchSuppression,
    ) -> Verdict {
        match work.stage {
            GeneralStage::SlowPath | GeneralStage::Lookup { .. } => Verdict::SlowPath,
            GeneralStage::Drop(reason) => Verdict::Dropped(reason),
            GeneralStage::UnknownTunnel if work.is_strange => {
                self.unknown_tunnel(now, batch, (index, DropReason::UnsupportedExtension), suppression)
            }
            GeneralStage::UnknownTunnel => {
                self.unknown_tunnel(now, batch, (index, DropReason::UnknownTeid), suppression)
            }
            GeneralStage::UnsupportedExtension => {
                self.drop_or_notify_peer(now, batch, (index, DropReason::UnsupportedExtension), suppression)
            }
            GeneralStage::UnknownUe if self.has_destination(work.user.dst_addr()) => Verdict::SlowPath,
            GeneralStage::UnknownUe => Verdict::Dropped(DropReason::UnknownUe),
            GeneralStage::Matched { program, step, entry } => {
                self.execute(now, batch, index, work, (program, step, entry))
            }
        }
    }

    /// A plain packet that no line is for.
    pub(crate) fn act_on_miss(
        &mut self,
        now: Time,
        batch: &Batch,
        (index, plain): (usize, &PacketState),
        suppression: &mut BatchSuppression,
    ) -> Verdict {
        match plain.key() {
            FlowKey::Ipv4(_, address) if self.has_destination(Ipv4Addr::from_bits(address).into()) => {
                Verdict::SlowPath
            }
            FlowKey::Ipv4(..) => Verdict::Dropped(DropReason::UnknownUe),
            _ => self.unknown_tunnel(now, batch, (index, plain.miss_drop_reason()), suppression),
        }
    }

    /// A plain packet by a course that is not ordinary, or not for this packet.
    pub(crate) fn act_by_step(
        &mut self,
        now: Time,
        batch: &mut Batch,
        index: usize,
        plain: &PacketState,
        action: u32,
    ) -> Verdict {
        let Some(action) = self.programs.compiled_action(action) else { return Verdict::SlowPath };
        let step = (action.program, action.index, plain.entry);
        let user =
            batch.data(index).and_then(|frame| frame.get(plain.start as usize..)).and_then(UserHeader::parse);
        let Some(mut user) = user else { return Verdict::SlowPath };
        let (is_plain, mut ecn) = (plain.flags & packet_flag::HAS_OTHER_EXTENSIONS == 0, None);
        if let Some(Meta::Gtpu { tos, .. }) =
            batch.meta(index).filter(|_| plain.flags & packet_flag::ECN_UPDATE != 0)
        {
            user.tos = user.tos & !0x03 | tos & 0x03;
            ecn = Some(Ecn::of_tos(*tos));
        }
        let work =
            GeneralPacket { user, start: plain.start as u16, is_plain, ecn, ..GeneralPacket::nothing(index) };
        self.execute(now, batch, index, &work, step)
    }

    fn execute(
        &mut self,
        now: Time,
        batch: &mut Batch,
        index: usize,
        work: &GeneralPacket,
        (program, step, entry): (u32, u8, u32),
    ) -> Verdict {
        let Some(program) = self.programs.at(program) else { return Verdict::SlowPath };
        let Some(step) = program.steps.get(usize::from(step)) else { return Verdict::SlowPath };
        let Some(mut frame) = batch.frame_mut(index) else { return Verdict::SlowPath };
        let GeneralPacket { user, start, is_plain, ecn, .. } = work;
        let matched =
            MatchedPacket { program, step, user, entry, start: *start, is_plain: *is_plain, ecn: *ecn };
        let limit =
            IcmpErrorLimit { slow_path: &mut self.slow_path, topology_index: &self.topology_index, now };
        matched.execute(now.as_nanos(), &mut self.table, &self.topology_index, limit, &mut frame)
    }
}
