//! The lookup of packets outside the common case.

use causeway_dataplane::DropReason;
use causeway_packet::rewrite::Ecn;
use causeway_packet::{Batch, Meta};

use crate::batch::general::{GeneralPacket, GeneralPackets, GeneralStage};
use crate::batch::state::NextStage;
use crate::engine::FastPath;
use crate::parse::ecn;
use crate::parse::g_pdu::GPdu;
use crate::parse::user_header::UserHeader;
use crate::table::key::FlowKey;

/// Stores a packet and returns its next stage.
fn keep(general: &mut GeneralPackets, work: GeneralPacket) -> NextStage {
    let place = general.len() as u8;
    match general.try_push(work) {
        Ok(()) => NextStage::General(place),
        // A batch has no more packets than this.
        Err(_) => NextStage::SlowPath,
    }
}

impl FastPath {
    /// The first stage for a GTP-U packet outside the common case: finds and prefetches the flow entry. `slot`: the
    /// slot of its TEID, if known.
    #[inline(never)]
    pub(crate) fn look_up_general_tunnel(
        &self,
        batch: &Batch,
        (index, slot): (usize, Option<u32>),
        general: &mut GeneralPackets,
    ) -> NextStage {
        let (Some(bytes), Some(meta)) = (batch.data(index), batch.meta(index)) else {
            return NextStage::SlowPath;
        };
        let work = GPdu::parse(bytes).ok().and_then(|of| {
            let slot = slot.unwrap_or_else(|| self.table.at_teids(&[of.teid])[0]);
            self.parse_general_tunnel(bytes, meta, (&of, slot), index)
        });
        work.map_or(NextStage::SlowPath, |work| keep(general, work))
    }

    fn parse_general_tunnel(
        &self,
        bytes: &[u8],
        meta: &Meta,
        (tunnelled, slot): (&GPdu, u32),
        index: usize,
    ) -> Option<GeneralPacket> {
        let Meta::Gtpu { local, tos, .. } = meta else { return None };
        let key = FlowKey::Tunnel(tunnelled.teid, self.topology_index.local(local)?);
        let mut user = bytes.get(tunnelled.start.into()..tunnelled.end.into()).and_then(UserHeader::parse);
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
        Some(GeneralPacket {
            stage: self.look_up(key, Some(slot)),
            user: user.unwrap_or(UserHeader::NOTHING),
            start: tunnelled.start,
            qfi: tunnelled.qfi,
            is_common: tunnelled.is_common,
            is_congested,
            has_unsupported_extension: tunnelled.has_unsupported_extension,
            ecn: marked,
            ..GeneralPacket::nothing(index)
        })
    }

    /// The same for a packet of a data network.
    #[inline(never)]
    pub(crate) fn look_up_general_address(
        &self,
        network: u16,
        batch: &Batch,
        index: usize,
        general: &mut GeneralPackets,
    ) -> NextStage {
        let Some(bytes) = batch.data(index) else { return NextStage::SlowPath };
        let Some(user) = UserHeader::parse(bytes) else { return NextStage::Drop(DropReason::MalformedIp) };
        let stage = if user.is_v6 {
            self.look_up(FlowKey::Ipv6(network, UserHeader::prefix(user.dst)), None)
        } else {
            self.look_up(FlowKey::Ipv4(network, user.dst as u32), self.table.at_address(user.dst as u32))
        };
        keep(general, GeneralPacket { stage, user, ..GeneralPacket::nothing(index) })
    }

    fn look_up(&self, key: FlowKey, direct: Option<u32>) -> GeneralStage {
        direct.iter().for_each(|direct| self.table.prefetch(*direct));
        self.table.prefetch_index(key);
        GeneralStage::Lookup { key, near: direct }
    }
}
