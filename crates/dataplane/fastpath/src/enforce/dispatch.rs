//! The actions on packets that no complete compiled action forwards.

use std::net::Ipv4Addr;

use causeway_dataplane::DropReason;
use causeway_packet::rewrite::Ecn;
use causeway_packet::{Batch, Meta};
use causeway_types::Time;

use crate::batch::general::{GeneralPacket, GeneralStage};
use crate::batch::state::{PacketState, packet_flag};
use crate::enforce::icmp_limit::{BatchSuppression, IcmpErrorLimit};
use crate::enforce::matched::{MatchedPacket, Verdict};
use crate::engine::FastPath;
use crate::parse::user_header::UserHeader;
use crate::table::key::FlowKey;

impl FastPath {
    /// Acts on a packet of the general path, depending on its stage.
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
            GeneralStage::UnknownTunnel if work.has_unsupported_extension => {
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

    /// Acts on a common packet without a flow entry.
    pub(crate) fn act_on_miss(
        &mut self,
        now: Time,
        batch: &Batch,
        (index, packet): (usize, &PacketState),
        suppression: &mut BatchSuppression,
    ) -> Verdict {
        match packet.key() {
            FlowKey::Ipv4(_, address) if self.has_destination(Ipv4Addr::from_bits(address).into()) => {
                Verdict::SlowPath
            }
            FlowKey::Ipv4(..) => Verdict::Dropped(DropReason::UnknownUe),
            _ => self.unknown_tunnel(now, batch, (index, packet.miss_drop_reason()), suppression),
        }
    }

    /// Acts on a common packet whose compiled action is incomplete, or does not apply to it.
    pub(crate) fn act_by_step(
        &mut self,
        now: Time,
        batch: &mut Batch,
        index: usize,
        packet: &PacketState,
        action: u32,
    ) -> Verdict {
        let Some(action) = self.programs.compiled_action(action) else { return Verdict::SlowPath };
        let step = (action.program, action.index, packet.entry);
        let user = batch
            .data(index)
            .and_then(|frame| frame.get(packet.start as usize..))
            .and_then(UserHeader::parse);
        let Some(mut user) = user else { return Verdict::SlowPath };
        let (is_common, mut ecn) = (packet.flags & packet_flag::HAS_OTHER_EXTENSIONS == 0, None);
        if let Some(Meta::Gtpu { tos, .. }) =
            batch.meta(index).filter(|_| packet.flags & packet_flag::ECN_UPDATE != 0)
        {
            user.tos = user.tos & !0x03 | tos & 0x03;
            ecn = Some(Ecn::of_tos(*tos));
        }
        let work = GeneralPacket {
            user,
            start: packet.start as u16,
            is_common,
            ecn,
            ..GeneralPacket::nothing(index)
        };
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
        let GeneralPacket { user, start, is_common, ecn, .. } = work;
        let matched =
            MatchedPacket { program, step, user, entry, start: *start, is_common: *is_common, ecn: *ecn };
        let limit =
            IcmpErrorLimit { slow_path: &mut self.slow_path, topology_index: &self.topology_index, now };
        matched.execute(now.as_nanos(), &mut self.table, &self.topology_index, limit, &mut frame)
    }
}
