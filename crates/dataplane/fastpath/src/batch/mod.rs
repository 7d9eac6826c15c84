//! A batch, stage by stage: parse, lookup, classify, enforce and account, rewrite, transmit.
//!
//! The first two stages pass over all packets before anything changes ([`FastPath::process_frames`]). The others follow
//! for one packet after the other, in order, since each may change what the next one meets ([`BatchPass`]). Packets
//! outside the common case go through the same stages in their general form ([`general`]), and what no flow entry can
//! decide goes to the slow path.

use causeway_dataplane::{Disposition, DropReason, Exit, ReceiveSource, TrafficCounter, TransmitQueue};
use causeway_packet::rewrite::{Ecn, set_ecn};
use causeway_packet::{BATCH, Batch};
use causeway_types::Time;

use crate::batch::forward::Forwarding;
use crate::batch::general::GeneralPackets;
use crate::batch::state::{BatchScratch, BatchState, DOWNLINK, HALF_BATCH, NextStage, UPLINK, packet_flag};
use crate::classify::Classifier;
use crate::classify::filters::{Block, PacketKey, SetId, WithComparator};
use crate::classify::prediction::{NO_RULE, SetObservations};
use crate::enforce::early_drop::EarlyDrop;
use crate::enforce::icmp_limit::BatchSuppression;
use crate::enforce::matched::Verdict;
use crate::engine::FastPath;
use crate::lookup::unknown_destinations::UnknownDestinations;
use crate::transmit::Sent;

mod forward;
pub(crate) mod general;
mod ipv6;
mod retry;
pub(crate) mod state;

impl FastPath {
    /// Processes the frames of a batch, as in the contract.
    #[inline(never)]
    pub(crate) fn process_frames(
        &mut self,
        now: Time,
        source: ReceiveSource,
        batch: &mut Batch,
        queue: &mut TransmitQueue,
    ) {
        queue.clear();
        self.expire(now);
        if self.slow_path.has_queued() {
            self.send_queued(queue);
        }
        (self.has_activated, self.unknown_destinations) = (false, UnknownDestinations::default());
        match source {
            ReceiveSource::Gtpu => self.run_stages::<UPLINK>(now, (source, 0), batch, queue),
            ReceiveSource::Network(network) => {
                self.run_stages::<DOWNLINK>(now, (source, network), batch, queue);
            }
            ReceiveSource::Ethernet(_) => {
                (0..batch.len()).for_each(|index| self.send_to_slow_path(now, source, batch, index, queue));
            }
        }
    }

    /// All stages. `network`: the data network of packets without a tunnel.
    #[inline(always)]
    fn run_stages<const IS_UPLINK: bool>(
        &mut self,
        now: Time,
        (source, network): (ReceiveSource, u16),
        batch: &mut Batch,
        queue: &mut TransmitQueue,
    ) {
        let mut scratch = self.scratch.take().unwrap_or_else(|| Box::new(BatchScratch::new()));
        scratch.reset(batch.len(), self.table.is_large());
        self.prediction.reset(batch.len());
        let (general, octets) = (&mut GeneralPackets::new(), batch.octets() as u64);

        self.parse_and_look_up::<IS_UPLINK>(network, batch, &mut scratch, general);
        self.complete_lookup::<IS_UPLINK>(network, &mut scratch.state);
        if !general.is_empty() {
            self.classify_general_packets(batch, general);
        }
        if self.has_firewall() {
            self.mark_denied::<IS_UPLINK>(batch, &mut scratch.state, general);
        }
        let (compare, early_drop) = (self.sets.compare(), EarlyDrop::of::<IS_UPLINK>(self, now));
        compare.run(BatchPass::<IS_UPLINK> {
            engine: self,
            now,
            source,
            batch,
            state: &scratch.state,
            general,
            queue,
            octets,
            slow_or_late: 0,
            suppression: BatchSuppression::default(),
            early_drop,
            predicted_set: SetId::NOTHING,
        });
        if self.slow_path.has_heavy_hitters() {
            self.observe_queued::<IS_UPLINK>(now, batch, (&scratch.state, general), queue, true);
        }
        self.scratch = Some(scratch);
    }

    /// Parses the packets, finds their flow entries at direct positions, and prefetches those of the first packets: one
    /// half of the batch after the other, so that the flow entries of the first half arrive from memory meanwhile.
    #[inline(never)]
    pub(crate) fn parse_and_look_up<const IS_UPLINK: bool>(
        &self,
        network: u16,
        batch: &Batch,
        scratch: &mut BatchScratch,
        general: &mut GeneralPackets,
    ) {
        self.parse_half::<IS_UPLINK, 0>(network, batch, scratch);
        self.look_up_half::<IS_UPLINK, 0>(&mut scratch.state);
        self.fetch(&scratch.state, 0..HALF_BATCH);
        if batch.len() > HALF_BATCH {
            self.parse_half::<IS_UPLINK, HALF_BATCH>(network, batch, scratch);
            self.look_up_half::<IS_UPLINK, HALF_BATCH>(&mut scratch.state);
            self.fetch(&scratch.state, HALF_BATCH..scratch.state.prefetched);
        } else {
            scratch.state.skip_second_half();
        }
        if !scratch.state.are_common() {
            self.parse_unusual_headers::<IS_UPLINK>(network, batch, scratch, general);
        }
    }

    /// Finds the flow entries outside the direct positions, and prefetches rule entries, before anything changes.
    #[inline(always)]
    fn complete_lookup<const IS_UPLINK: bool>(&self, network: u16, state: &mut BatchState) {
        if IS_UPLINK == DOWNLINK && state.has_ipv6 {
            self.look_up_ipv6(network, state);
        }
        let (has_indirect, has_rule_entries) =
            (self.has_indirect::<IS_UPLINK>(), self.programs.has_rule_lines());
        if has_indirect || has_rule_entries {
            self.fetch(state, state.prefetched..state.len());
        }
        if has_indirect {
            self.look_up_indirect(state);
        }
        if has_rule_entries {
            self.classify_ahead::<IS_UPLINK>(state);
        }
    }
}

/// The stages from classification on, packet by packet.
struct BatchPass<'a, const IS_UPLINK: bool> {
    engine: &'a mut FastPath,
    now: Time,
    source: ReceiveSource,
    batch: &'a mut Batch,
    state: &'a BatchState,
    general: &'a mut GeneralPackets,
    queue: &'a mut TransmitQueue,
    /// Octets of all frames except those that the slow path has counted.
    octets: u64,
    /// The number of these frames that were not forwarded in the common case.
    slow_or_late: u64,
    suppression: BatchSuppression,
    early_drop: EarlyDrop,
    /// The predicted filter set.
    predicted_set: SetId,
}

impl<const IS_UPLINK: bool> WithComparator for BatchPass<'_, IS_UPLINK> {
    #[inline(always)]
    fn run(mut self, fits: impl Fn(&Block, PacketKey) -> u16) {
        let (mut sent, mut exits) = (Sent::default(), [Exit::Network(0); BATCH]);
        // Frames from this index on are forwarded, except those that are finished otherwise.
        let mut first = 0;
        let (now, ahead) = (self.now.as_nanos(), self.state.prefetched);
        self.engine.disposition = Disposition::Forwarded;
        self.predicted_set = self.engine.predicted_set();
        self.engine.observations = SetObservations::new();
        for index in 0..self.state.len() {
            let FastPath { table, programs, sets, topology_index, observations, .. } = &mut *self.engine;
            table.prefetch(self.state.entries[(index + ahead) % (2 * BATCH)]);
            let chooser = Classifier { programs, sets, fits: &fits, predicted_set: self.predicted_set };
            let Some((entry, action)) = chooser.choose::<IS_UPLINK>(table, self.state, index, observations)
            else {
                self.queue.push_frames(first..index, &exits);
                self.finish(index, None);
                first = index + 1;
                continue;
            };
            let forwarding = Forwarding { now, state: self.state, programs, topology_index };
            let exit = &mut exits[index % BATCH];
            if forwarding
                .forward::<0, false, IS_UPLINK>((self.batch, index), (entry, action), (&mut sent, exit))
                .is_none()
            {
                self.queue.push_frames(first..index, &exits);
                self.finish(index, Some(action).filter(|action| *action < NO_RULE));
                first = index + 1;
            }
        }
        self.queue.push_frames(first..self.state.len(), &exits);
        self.engine.update_prediction(sent.all());
        let counters = &mut self.engine.fast_counters;
        counters.forwarded += sent.all();
        counters.ip_sent = counters.ip_sent.with(sent.by_ip());
        counters.gtpu_sent = counters.gtpu_sent.with(sent.by_gtpu());
        let received = self.engine.received(self.source);
        *received =
            received.with(TrafficCounter { packets: sent.all() + self.slow_or_late, octets: self.octets });
    }
}

impl<const IS_UPLINK: bool> BatchPass<'_, IS_UPLINK> {
    /// Packets outside the common case. `action`: the compiled action of the packet.
    #[cold]
    #[inline(never)]
    fn finish(&mut self, index: usize, action: Option<u32>) {
        if self.state.next_stages[index % BATCH] == NextStage::Ipv6 {
            return self.finish_ipv6(index);
        }
        let is_marked = self.state.flags[index % BATCH] as u8 & packet_flag::ECN_UPDATE != 0;
        if is_marked && action.is_some_and(|action| self.forward_marked(index, action).is_some()) {
            return;
        }
        let Self { engine, batch, state, early_drop, suppression, .. } = self;
        match early_drop.next_stage::<IS_UPLINK>(engine, (batch, state), (index, action), suppression) {
            NextStage::Drop(reason) => self.count_drop(index, reason),
            next => self.run_next_stage(index, next),
        }
        // The slow path may have changed the filter sets.
        self.predicted_set = self.engine.predicted_set();
    }

    /// Forwards a packet that has taken over a congestion mark from its outer header. `None`: as for
    /// [`Forwarding::forward`].
    #[inline(never)]
    fn forward_marked(&mut self, index: usize, action: u32) -> Option<()> {
        let (now, state) = (self.now.as_nanos(), self.state);
        let FastPath { table, programs, topology_index, .. } = &mut *self.engine;
        let entry = table.entry_mut(state.entries[index % BATCH])?;
        let (mut sent, mut exit) = (Sent::default(), Exit::Network(0));
        let header_len = programs.compiled_action(action)?.header_len;
        let forwarding = Forwarding { now, state, programs, topology_index };
        let frame = (&mut *self.batch, index);
        forwarding.forward::<{ packet_flag::ECN_UPDATE }, false, IS_UPLINK>(
            frame,
            (entry, action),
            (&mut sent, &mut exit),
        )?;
        if let Some(packet) = self.batch.frame_mut(index)?.data().get_mut(header_len.into()..) {
            // It is an IP packet.
            let _ = set_ecn(packet, Ecn::of_tos(state.packet_key(index).tos()));
        }
        self.slow_or_late += 1;
        self.engine.count_sent(exit, self.batch, index);
        self.queue.push_frame(index, exit);
        Some(())
    }

    #[inline(always)]
    fn count_drop(&mut self, index: usize, reason: DropReason) {
        self.slow_or_late += 1;
        if let Some(frame) = self.batch.frame(index) {
            self.engine.slow_path.record_drop(self.now, &frame.meta, frame.data, reason);
        }
        self.engine.fast_counters.count_drop(reason);
        self.engine.disposition = Disposition::Dropped(reason);
    }

    #[inline(never)]
    fn run_next_stage(&mut self, index: usize, next: NextStage) {
        let packet = &self.state.at(index);
        let next = match next {
            NextStage::Lookup => self.classify_again(index, packet),
            NextStage::Ipv6 => self.classify_general(index),
            NextStage::Denied => self.classify_denied(index, packet),
            next => next,
        };
        let (engine, now, source) = (&mut *self.engine, self.now, self.source);
        let verdict = match next {
            NextStage::SlowPath | NextStage::Lookup | NextStage::Ipv6 | NextStage::Denied => {
                Verdict::SlowPath
            }
            NextStage::Drop(reason) => Verdict::Dropped(reason),
            NextStage::Action(action) => engine.act_by_step(now, self.batch, index, packet, action),
            NextStage::UnsupportedExtension => engine.drop_or_notify_peer(
                now,
                self.batch,
                (index, DropReason::UnsupportedExtension),
                &mut self.suppression,
            ),
            NextStage::TableMiss => {
                engine.act_on_miss(now, self.batch, (index, packet), &mut self.suppression)
            }
            NextStage::General(place) => match self.general.get(usize::from(place)) {
                Some(work) => engine.act_on_general(now, self.batch, (index, work), &mut self.suppression),
                None => Verdict::SlowPath,
            },
        };
        match verdict {
            Verdict::SlowPath => {
                self.octets -= self.batch.data(index).map_or(0, <[u8]>::len) as u64;
                if engine.slow_path.has_heavy_hitters() {
                    let packets = (self.state, self.general.as_slice());
                    engine.observe_queued::<IS_UPLINK>(now, self.batch, packets, self.queue, false);
                }
                engine.send_to_slow_path(now, source, self.batch, index, self.queue);
            }
            Verdict::Sent(exit) => {
                self.slow_or_late += 1;
                engine.count_sent(exit, self.batch, index);
                self.queue.push_frame(index, exit);
            }
            Verdict::Dropped(reason) => self.count_drop(index, reason),
        }
    }
}
