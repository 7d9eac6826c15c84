//! The stages of common packets before anything changes: find the flow entry, and classify.

use std::ops::Range;

use causeway_dataplane::DropReason;
use causeway_packet::{BATCH, Batch, Meta};

use crate::batch::general::GeneralPackets;
use crate::batch::state::{BatchState, HALF_BATCH, NextStage, PacketState, packet_flag};
use crate::classify::filters::{Block, FilterSets, PacketKey, SetId};
use crate::classify::prediction::{NO_RULE, SetObservations};
use crate::engine::FastPath;
use crate::parse::{BatchHeaders, HeaderReading, MESSAGE_HEAD_LEN, SkipFirstParse, USER_HEAD_LEN};
use crate::program::Programs;
use crate::program::compiled_action::ProgramHead;
use crate::table::FlowTable;
use crate::table::flow_entry::FlowEntry;
use crate::table::key::FlowKey;

pub(crate) mod unknown_destinations;

/// Uplink packets, received by GTP-U.
pub(crate) const UPLINK: bool = true;
/// Downlink packets, received from a data network.
pub(crate) const DOWNLINK: bool = false;

/// Working memory for the packets of a batch. It is reused, since initializing it would cost more than reading it.
#[derive(Debug)]
pub(crate) struct BatchScratch {
    pub(crate) headers: BatchHeaders,
    pub(crate) state: BatchState,
}

impl BatchScratch {
    /// Memory with no packets.
    pub(crate) const fn new() -> Self {
        Self { headers: BatchHeaders::new(), state: BatchState::new() }
    }

    /// Starts a new batch: [`BatchState::reset`].
    pub(crate) const fn reset(&mut self, len: usize, is_large: bool) {
        self.headers.clear();
        self.state.reset(len, is_large);
    }
}

impl FastPath {
    /// The first stage for GTP-U: finds the flow entries, and prefetches those of the first packets.
    #[inline(never)]
    pub(crate) fn look_up_tunnels(
        &self,
        batch: &Batch,
        scratch: &mut BatchScratch,
        general: &mut GeneralPackets,
    ) {
        self.read_messages::<0>(batch, scratch);
        self.fetch(&scratch.state, 0..HALF_BATCH);
        if batch.len() > HALF_BATCH {
            self.read_messages::<HALF_BATCH>(batch, scratch);
            self.fetch(&scratch.state, HALF_BATCH..scratch.state.prefetched);
        } else {
            scratch.state.skip_second_half();
        }
        if !scratch.state.are_common() {
            self.parse_unusual_headers::<UPLINK>(None, batch, scratch, general);
        }
    }

    #[inline(always)]
    fn read_messages<const FROM: usize>(
        &self,
        batch: &Batch,
        BatchScratch { headers, state }: &mut BatchScratch,
    ) {
        for (index, (meta, len, head)) in
            (FROM..FROM + HALF_BATCH).zip(batch.frame_heads::<MESSAGE_HEAD_LEN>(FROM))
        {
            if let (Some(head), Some((scope, ecn))) = (head, self.key_scope(meta)) {
                headers.push_message(index, head, len, (scope, ecn));
            }
        }
        self.parse_half::<UPLINK, FROM>(headers, state);
        // The entries are compared with the keys later.
        let Some(keys) = state.keys[FROM..].first_chunk::<HALF_BATCH>() else { return };
        state.entries[FROM..FROM + HALF_BATCH].copy_from_slice(&self.table.at_teids(keys));
    }

    /// Parses half a batch for the first time.
    #[inline(always)]
    fn parse_half<const IS_UPLINK: bool, const FROM: usize>(
        &self,
        headers: &mut BatchHeaders,
        state: &mut BatchState,
    ) {
        let compare = self.sets.compare();
        if state.expects_unusual::<IS_UPLINK>() {
            compare.run(SkipFirstParse::<IS_UPLINK, FROM> { headers, state });
        } else {
            compare.run(HeaderReading::<IS_UPLINK, FROM> {
                headers,
                state,
                prediction: &self.prediction,
                blocked: self.topology_index.blocked_v4,
            });
        }
    }

    /// The scope of the keys of messages with this metadata, and the ECN of their outer header.
    #[inline(always)]
    pub(crate) fn key_scope(&self, meta: &Meta) -> Option<(u32, u32)> {
        let Meta::Gtpu { local, tos, .. } = meta else { return None };
        let local = self.topology_index.local(local)?;
        Some((FlowKey::Tunnel(0, local).scope(), u32::from(tos & 0x03)))
    }

    /// The first stage for packets of a data network: finds the flow entries, and prefetches those of the first
    /// packets.
    #[inline(never)]
    pub(crate) fn look_up_addresses(
        &self,
        network: u16,
        batch: &Batch,
        scratch: &mut BatchScratch,
        general: &mut GeneralPackets,
    ) {
        self.read_packets::<0>(network, batch, scratch);
        self.fetch(&scratch.state, 0..HALF_BATCH);
        if batch.len() > HALF_BATCH {
            self.read_packets::<HALF_BATCH>(network, batch, scratch);
            self.fetch(&scratch.state, HALF_BATCH..scratch.state.prefetched);
        } else {
            scratch.state.skip_second_half();
        }
        if !scratch.state.are_common() {
            self.parse_unusual_headers::<DOWNLINK>(Some(network), batch, scratch, general);
        }
    }

    #[inline(always)]
    fn read_packets<const FROM: usize>(
        &self,
        network: u16,
        batch: &Batch,
        BatchScratch { headers, state }: &mut BatchScratch,
    ) {
        let scope = FlowKey::Ipv4(network, 0).scope();
        for (index, (_, len, head)) in (FROM..FROM + HALF_BATCH).zip(batch.frame_heads::<USER_HEAD_LEN>(FROM))
        {
            if let Some(head) = head {
                headers.push_packet(index, head, len, scope);
            }
        }
        self.parse_half::<DOWNLINK, FROM>(headers, state);
        // The entries are compared with the keys later.
        let BatchState { entries, keys, .. } = state;
        if let Some(keys) = keys[FROM..].first_chunk::<HALF_BATCH>() {
            self.table.at_addresses(keys, &mut entries[FROM..FROM + HALF_BATCH]);
        }
    }

    /// Prefetches the flow entries of some packets.
    #[inline(always)]
    fn fetch(&self, state: &BatchState, packets: Range<usize>) {
        state.entries.get(packets).unwrap_or_default().iter().for_each(|entry| self.table.prefetch(*entry));
    }

    /// Prefetches, before any packet is acted on, flow entries outside the direct regions, and rule entries.
    #[inline(always)]
    pub(crate) fn prefetch_second<const IS_UPLINK: bool>(&self, state: &mut BatchState) {
        let has_far = match IS_UPLINK {
            UPLINK => self.table.has_indirect_tunnels(),
            DOWNLINK => self.table.has_indirect_addresses(),
        };
        if !has_far && !self.programs.has_rule_lines() {
            return;
        }
        self.fetch(state, state.prefetched..state.len());
        if has_far {
            self.look_up_indirect(state);
        }
        if self.programs.has_rule_lines() {
            self.classify_ahead::<IS_UPLINK>(state);
        }
    }

    /// Where the index leads to flow entries: first prefetches the index buckets of all packets, then the flow entries.
    #[inline(never)]
    fn look_up_indirect(&self, state: &mut BatchState) {
        state.undecided().for_each(|index| self.table.prefetch_index(state.at(index).key()));
        for index in state.undecided() {
            let packet = state.at(index);
            if self.entry_of(&packet).is_none()
                && let Some(far) = self.table.prefetch_indirect(packet.key())
            {
                state.entries[index] = far;
            }
        }
    }

    /// An extra stage for programs with rule entries: classifies, and prefetches the rule entry.
    #[inline(never)]
    fn classify_ahead<const IS_UPLINK: bool>(&self, state: &mut BatchState) {
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

    /// Whether no flow entry has the packet's key: neither at its direct position nor through the index.
    pub(crate) fn is_table_miss<const IS_UPLINK: bool>(&self, packet: &PacketState) -> bool {
        let has_far = match IS_UPLINK {
            UPLINK => self.table.has_indirect_tunnels(),
            DOWNLINK => self.table.has_indirect_addresses(),
        };
        self.entry_of(packet).is_none() && !(has_far && self.table.prefetch_indirect(packet.key()).is_some())
    }

    #[inline(always)]
    fn entry_of(&self, packet: &PacketState) -> Option<&FlowEntry> {
        self.table.entry(packet.entry).filter(|entry| entry.entry_id() == packet.id)
    }

    /// The second stage for other common packets. `None`: the entry does not have what this function checks.
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

/// The second stage for most packets.
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
    /// The second stage in the common case: the flow entry and the compiled action. If no rule matches, the action
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
