//! The parse of unusual headers in a batch: packets that turn out to be common take the common case, others get their
//! next stage.

use causeway_dataplane::DropReason;
use causeway_packet::{BATCH, Batch};

use crate::batch::general::GeneralPackets;
use crate::batch::state::{BatchScratch, DOWNLINK, UPLINK};
use crate::batch::state::{BatchState, HALF_BATCH, NextStage, packet_flag};
use crate::classify::ipv6::Ipv6Classification;
use crate::engine::FastPath;
use crate::parse::BatchHeaders;
use crate::parse::g_pdu::{GPdu, NotGPdu};
use crate::parse::ipv6::{ParseOutcome, read};
use crate::table::key::FlowKey;

mod headers;

use headers::{LocateUserPackets, ParseUnusual};
pub(crate) use headers::{SkipFirstParse, UserPacketOffset, UserPacketOffsets};

impl FastPath {
    /// Parses them. `network`: the data network of packets without a tunnel.
    #[inline(never)]
    pub(crate) fn parse_unusual_headers<const IS_UPLINK: bool>(
        &self,
        network: u16,
        batch: &Batch,
        scratch: &mut BatchScratch,
        general: &mut GeneralPackets,
    ) {
        self.parse_unusual_half::<IS_UPLINK, 0, HALF_BATCH>(batch, scratch);
        if batch.len() > HALF_BATCH {
            self.parse_unusual_half::<IS_UPLINK, HALF_BATCH, BATCH>(batch, scratch);
        }
        let BatchScratch { state, headers } = scratch;
        state.update_expectation::<IS_UPLINK>(count_unusual(state, headers));
        let (reads_ipv6, mut has_ipv6) = (!self.programs.has_rule_lines(), [false; 2]);
        for index in 0..state.len() {
            if state.is_common[index % BATCH] != 0 || state.next_stages[index % BATCH] != NextStage::Lookup {
                continue;
            }
            if reads_ipv6 && let (Some(offset), Some(frame)) = (headers.ipv6_offset(index), batch.data(index))
            {
                match read::<IS_UPLINK>(state, index, (frame, offset), self.topology_index.blocked_v6) {
                    ParseOutcome::Ipv6 => {
                        has_ipv6[usize::from(index >= HALF_BATCH)] = true;
                        if IS_UPLINK == DOWNLINK {
                            self.table.prefetch_index(FlowKey::Ipv6(network, state.prefixes[index % BATCH]));
                        }
                        continue;
                    }
                    ParseOutcome::Malformed if IS_UPLINK == UPLINK => {
                        state.flags[index % BATCH] = packet_flag::MALFORMED.into();
                        continue;
                    }
                    ParseOutcome::Malformed => {
                        state.set_stage(index, NextStage::Drop(DropReason::MalformedIp));
                        continue;
                    }
                    ParseOutcome::GeneralPath => {}
                }
            }
            let next = if IS_UPLINK == UPLINK {
                self.look_up_general_tunnel(batch, (index, Some(state.entries[index % BATCH])), general)
            } else {
                self.look_up_general_address(network, batch, index, general)
            };
            state.set_stage(index, next);
        }
        state.has_ipv6 = has_ipv6 != [false; 2];
        let compare = self.sets.compare();
        if has_ipv6[0] {
            compare.run(Ipv6Classification::<0> { state, prediction: &self.prediction });
        }
        if has_ipv6[1] {
            compare.run(Ipv6Classification::<HALF_BATCH> { state, prediction: &self.prediction });
        }
    }

    #[inline(always)]
    fn parse_unusual_half<const IS_UPLINK: bool, const FROM: usize, const TO: usize>(
        &self,
        batch: &Batch,
        BatchScratch { headers, state }: &mut BatchScratch,
    ) {
        if state.are_plain_in::<FROM, TO>() {
            return;
        }
        let compare = self.sets.compare();
        compare.run(LocateUserPackets::<IS_UPLINK, FROM> { headers });
        for index in FROM..state.len().min(TO) {
            if headers.is_unusual(index)
                && let Some(next) = self.locate::<IS_UPLINK>(batch, index, headers)
            {
                state.set_stage(index, next);
            }
        }
        if headers.are_v6::<FROM, TO>(state) {
            // Any decision for them shows that they are not common.
            return;
        }
        let blocked = self.topology_index.blocked_v4;
        compare.run(ParseUnusual::<IS_UPLINK, FROM> {
            headers,
            state,
            prediction: &self.prediction,
            blocked,
        });
        if IS_UPLINK == DOWNLINK {
            drop_broken::<FROM>(state);
        }
    }

    /// Finds an unusual packet in its frame. Returns the next stage if it is not common.
    #[inline(always)]
    fn locate<const IS_UPLINK: bool>(
        &self,
        batch: &Batch,
        index: usize,
        headers: &mut BatchHeaders,
    ) -> Option<NextStage> {
        let Some(frame) = batch.data(index) else { return Some(NextStage::SlowPath) };
        if IS_UPLINK == UPLINK && !headers.has_user_packet(index) {
            match GPdu::parse_unusual(frame) {
                Err(NotGPdu::SlowPath) => return Some(NextStage::SlowPath),
                Err(NotGPdu::Drop(reason)) => return Some(NextStage::Drop(reason)),
                Ok(_) if batch.meta(index).and_then(|meta| self.key_scope(meta)).is_none() => {
                    return Some(NextStage::SlowPath);
                }
                Ok(tunnelled) => headers.set_user_packet(index, frame, &tunnelled),
            }
        }
        headers.reread_from(index, frame);
        headers.parse_options(index, frame);
        None
    }
}

/// The number of packets for which the first parse did not suffice, or would not have.
fn count_unusual(state: &BatchState, headers: &BatchHeaders) -> u32 {
    const UNUSUAL: u32 =
        (packet_flag::HAS_OTHER_EXTENSIONS | packet_flag::ECN_UPDATE | packet_flag::ALWAYS_DROPPED) as u32;
    let (len, mut unusual) = (state.len() as u32, 0);
    for at in 0..BATCH {
        let is_other = (state.is_common[at] == 0) | (state.flags[at] & UNUSUAL != 0);
        unusual += u32::from(is_other | headers.is_unusual(at)) & u32::from((at as u32) < len);
    }
    unusual
}

/// A packet from a data network that is not IP is dropped.
#[inline(always)]
fn drop_broken<const FROM: usize>(state: &mut BatchState) {
    for index in FROM..state.len().min(FROM + HALF_BATCH) {
        if state.flags[index % BATCH] as u8 & packet_flag::MALFORMED != 0 {
            state.set_stage(index, NextStage::Drop(DropReason::MalformedIp));
        }
    }
}

#[cfg(test)]
mod tests;
