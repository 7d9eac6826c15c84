//! The third stage: classify. It finds the rule that a packet matches: its compiled action.
//!
//! Most packets of a batch have the filter set that [`prediction`] expects, so that their rule is known since they were
//! parsed. [`filters`] decides the others.

pub mod filters;
mod general;
pub(crate) mod ipv6;
pub(crate) mod prediction;

use std::net::Ipv4Addr;

use causeway_dataplane::{DropReason, is_unroutable};
use causeway_packet::BATCH;

use crate::batch::state::{BatchState, DOWNLINK, NextStage, PacketState, UPLINK, packet_flag};
use crate::engine::FastPath;
use crate::program::Programs;
use crate::program::compiled_action::ProgramHead;
use crate::table::FlowTable;
use crate::table::flow_entry::FlowEntry;
use filters::{Block, FilterSets, PacketKey, SetId};
use prediction::{NO_RULE, SetObservations};

impl FastPath {
    /// Classifies packets of programs with rule entries before any packet is acted on, and prefetches the rule entries.
    #[inline(never)]
    pub(crate) fn classify_ahead<const IS_UPLINK: bool>(&self, state: &mut BatchState) {
        for index in state.undecided() {
            let packet = state.at(index);
            if packet.flags & packet_flag::ALWAYS_DROPPED != 0 {
                continue;
            }
            let head = self
                .entry_of(&packet)
                .and_then(|entry| Some((entry, self.programs.head(entry.program_unless_alias())?)));
            if let Some((entry, head)) = head.filter(|(_, head)| head.has_rule_lines)
                && let Some(next) = classify_by::<IS_UPLINK>(self, &packet, entry, head)
            {
                state.set_stage(index, next);
                self.prefetch_rule_of(entry, next);
            }
        }
    }

    fn prefetch_rule_of(&self, entry: &FlowEntry, next: NextStage) {
        let NextStage::Action(action) = next else { return };
        let account = self.programs.compiled_action(action).map_or(0, |action| action.account);
        if account > 0 {
            self.table.prefetch_rule(entry.rule_entry(account));
        }
    }

    /// The next stage of other common packets. `None`: the entry does not have what this function checks.
    pub(crate) fn classify_simple<const IS_UPLINK: bool>(&self, packet: &PacketState) -> Option<NextStage> {
        let entry = self.entry_of(packet)?;
        if packet.flags & packet_flag::ALWAYS_DROPPED != 0 {
            let Some(head) = self.programs.head(entry.program()) else { return Some(NextStage::SlowPath) };
            // An Ethernet frame is no IP packet, and has no ECN field.
            return Some(match packet.flags & packet_flag::ALWAYS_DROPPED {
                // Where packets are relayed into other tunnels, fewer extension headers require comprehension.
                packet_flag::UNSUPPORTED_EXTENSION if head.sends_to_network => {
                    NextStage::UnsupportedExtension
                }
                packet_flag::MALFORMED if !head.needs_slow_path => NextStage::Drop(DropReason::MalformedIp),
                packet_flag::ECN_DROP if !head.needs_slow_path => NextStage::Drop(DropReason::Congested),
                _ => NextStage::SlowPath,
            });
        }
        let head = self.programs.head(entry.program_unless_alias())?;
        classify_by::<IS_UPLINK>(self, packet, entry, head)
    }
}

/// Classifies most packets.
#[derive(Clone, Copy)]
pub(crate) struct Classifier<'a, F> {
    pub(crate) programs: &'a Programs,
    pub(crate) sets: &'a FilterSets,
    /// As in [`crate::classify::filters::WithComparator`].
    pub(crate) fits: &'a F,
    /// The predicted filter set.
    pub(crate) predicted_set: SetId,
}

impl<F: Fn(&Block, PacketKey) -> u16> Classifier<'_, F> {
    /// The common case: the flow entry and the compiled action. If no rule matches, the action
    /// number is [`crate::classify::prediction::NO_RULE`] or above.
    #[inline(always)]
    pub(crate) fn choose<'t, const IS_UPLINK: bool>(
        &self,
        table: &'t mut FlowTable,
        state: &BatchState,
        index: usize,
        observations: &mut SetObservations,
    ) -> Option<(&'t mut FlowEntry, u32)> {
        let index = index % BATCH;
        let entry = table.entry_mut(state.entries[index])?;
        // The remote address differs, and neither address is zero.
        if entry.entry_id() != state.ids[index]
            || IS_UPLINK == UPLINK && entry.ue_or_teid != state.locals[index]
        {
            return None;
        }
        let head = self.programs.head(entry.program_unless_alias())?;
        if head.common_set == self.predicted_set {
            return Some((entry, head.first.wrapping_add(state.steps[index])));
        }
        observations.note(head.common_set);
        let (packet_key, local) = (|| state.packet_key(index), || state.locals[index]);
        let step =
            self.sets.first_match_in_block((head.common_set, head.block), packet_key, local, self.fits)?;
        Some((entry, head.first + u32::from(step)))
    }
}

/// The UE address of a flow entry, zero for none.
#[inline(always)]
const fn ue_of<const IS_UPLINK: bool>(entry: &FlowEntry) -> u32 {
    match IS_UPLINK {
        UPLINK => entry.ue_or_teid,
        DOWNLINK => entry.key,
    }
}

fn classify_by<const IS_UPLINK: bool>(
    engine: &FastPath,
    packet: &PacketState,
    entry: &FlowEntry,
    head: &ProgramHead,
) -> Option<NextStage> {
    if !head.is_common {
        return None;
    }
    let ue = ue_of::<IS_UPLINK>(entry);
    let is_ue = |address| !head.names_ue || ue != 0 && address == ue;
    let is_local = is_ue(packet.local);
    // Where the rule names no UE, the sender may be no host.
    if IS_UPLINK == UPLINK && !head.names_ue && is_unroutable(Ipv4Addr::from_bits(packet.local).into()) {
        return None;
    }
    let packet_key = packet.key.with_ue(is_ue(packet.key.remote()), is_local);
    let step = if head.set == engine.predicted_set() {
        Some(engine.prediction.step(packet_key)).filter(|step| *step < NO_RULE)
    } else if packet_key.may_have_spi() {
        return None;
    } else {
        engine.sets.first_match_v4(head.set, packet_key, packet.local).map(u32::from)
    };
    match step {
        Some(step) if is_local => Some(NextStage::Action(head.first + step)),
        _ if !head.is_final || !is_local && head.has_more => None,
        Some(_) if IS_UPLINK == UPLINK => Some(NextStage::Drop(DropReason::SpoofedSource)),
        Some(_) => None,
        None => Some(NextStage::Drop(DropReason::NoMatchingPdr)),
    }
}
