//! The classification of packets outside the common case.

use arrayvec::ArrayVec;
use causeway_dataplane::{DropReason, is_unroutable};
use causeway_packet::{BATCH, Batch};
use causeway_types::Direction;

use crate::batch::general::{GeneralPacket, GeneralStage};
use crate::engine::FastPath;
use crate::parse::user_header::UserHeader;
use crate::program::Program;
use crate::table::flow_entry::FlowEntry;
use crate::table::key::FlowKey;

impl FastPath {
    /// The second stage: finds the flow entry and the rule, and prefetches the rule entry.
    #[inline(never)]
    pub(crate) fn classify_general_packets(&self, batch: &Batch, general: &mut [GeneralPacket]) {
        let mut indirect = ArrayVec::<Option<u32>, BATCH>::new();
        indirect.extend(general.iter().map(|work| match work.stage {
            GeneralStage::Lookup { key, .. } => self.table.prefetch_indirect(key),
            _ => None,
        }));
        for (work, indirect) in general.iter_mut().zip(indirect) {
            if let (GeneralStage::Lookup { key, near: direct }, Some(bytes)) =
                (work.stage, batch.data(work.index.into()))
            {
                work.stage = self.select_entry(key, self.table.find(key, direct, indirect), work, bytes);
            }
        }
    }

    #[inline]
    fn select_entry(
        &self,
        key: FlowKey,
        found: Option<u32>,
        work: &GeneralPacket,
        bytes: &[u8],
    ) -> GeneralStage {
        match found.and_then(|number| self.table.entry(number).zip(Some(number))) {
            Some((entry, number)) => self.classify(entry, number, work, bytes),
            None if matches!(key, FlowKey::Tunnel(..)) => GeneralStage::UnknownTunnel,
            None => GeneralStage::UnknownUe,
        }
    }

    #[inline]
    fn classify(&self, entry: &FlowEntry, number: u32, work: &GeneralPacket, bytes: &[u8]) -> GeneralStage {
        let Some(program) = self.programs.at(entry.program()) else { return GeneralStage::SlowPath };
        if work.has_unsupported_extension {
            // Where packets are relayed into other tunnels, fewer extension headers require comprehension.
            return if program.sends_to_network() {
                GeneralStage::UnsupportedExtension
            } else {
                GeneralStage::SlowPath
            };
        }
        if work.user.len == 0 {
            // A packet that is no IP packet may be an Ethernet frame.
            return if program.needs_slow_path() {
                GeneralStage::SlowPath
            } else {
                GeneralStage::Drop(DropReason::MalformedIp)
            };
        }
        if work.is_congested {
            // An Ethernet frame has no ECN field.
            return if program.needs_slow_path() {
                GeneralStage::SlowPath
            } else {
                GeneralStage::Drop(DropReason::Congested)
            };
        }
        let (local, remote) = match program.direction {
            Direction::Uplink => (work.user.src, work.user.dst),
            Direction::Downlink => (work.user.dst, work.user.src),
        };
        let is_ue = |address| !program.names_ue || is_of_ue(entry, program, work.user.is_v6, address);
        let is_local = is_ue(local);
        // Where the rule names no UE, the sender may be no host.
        if !program.names_ue && program.direction == Direction::Uplink && is_unroutable(work.user.src_addr())
        {
            return GeneralStage::SlowPath;
        }
        if !is_local && (program.has_more || work.user.is_v6 && work.user.is_link_scoped_both()) {
            return GeneralStage::SlowPath;
        }
        let step = if program.is_trivial() {
            Some(0)
        } else {
            let packet = bytes.get(work.start.into()..usize::from(work.start) + work.user.len as usize);
            let is_ue = (is_ue(remote), is_local);
            let key = packet.and_then(|packet| work.user.key(packet, program.direction, work.qfi, is_ue));
            let Some(key) = key else { return GeneralStage::SlowPath };
            self.sets.first_match(program.set, &key)
        };
        match (step, is_local) {
            (Some(step), true) => self.matched(entry, number, program, step),
            _ if !program.is_final => GeneralStage::SlowPath,
            (Some(_), false) if program.direction == Direction::Uplink => {
                GeneralStage::Drop(DropReason::SpoofedSource)
            }
            (Some(_), false) => GeneralStage::SlowPath,
            (None, _) => GeneralStage::Drop(DropReason::NoMatchingPdr),
        }
    }

    #[inline]
    fn matched(&self, entry: &FlowEntry, number: u32, program: &Program, step: u8) -> GeneralStage {
        let first = entry.alias_of().unwrap_or(number);
        if first != number {
            self.table.prefetch(first);
        } else if let Some(account) = program.steps.get(usize::from(step)).map(|step| step.account)
            && account > 0
        {
            self.table.prefetch_rule(entry.rule_entry(account));
        }
        GeneralStage::Matched { program: entry.program(), step, entry: first }
    }
}

/// Whether the address is one of the flow entry.
#[inline]
fn is_of_ue(entry: &FlowEntry, program: &Program, is_v6: bool, address: u128) -> bool {
    if is_v6 {
        return entry.prefix != 0 && UserHeader::prefix(address) == entry.prefix;
    }
    let ue = if program.local.is_some() { entry.ue_or_teid } else { entry.key };
    ue != 0 && address as u32 == ue
}
