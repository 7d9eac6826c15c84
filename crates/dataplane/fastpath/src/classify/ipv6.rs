//! The classification of IPv6 packets that [`crate::parse::ipv6`] has parsed, in the common case.

use causeway_dataplane::DropReason;
use causeway_packet::{BATCH, Batch};

use crate::batch::state::{BatchState, DOWNLINK, NextStage, UPLINK};
use crate::classify::filters::{Block, PacketKey, WithComparator};
use crate::classify::prediction::{ClassifierPrediction, NO_RULE};
use crate::engine::FastPath;
use crate::parse::ipv6::may_be_link_scoped;

/// Classifies half a batch once more: [`ClassifierPrediction::choose`].
pub(crate) struct Ipv6Classification<'a, const FROM: usize> {
    pub(crate) state: &'a mut BatchState,
    pub(crate) prediction: &'a ClassifierPrediction,
}

impl<const FROM: usize> WithComparator for Ipv6Classification<'_, FROM> {
    #[inline(always)]
    fn run(self, _: impl Fn(&Block, PacketKey) -> u16) {
        self.prediction.choose::<FROM>(self.state);
    }
}

impl FastPath {
    /// The rule of a packet. [`NextStage::Ipv6`]: the common case does not cover it.
    #[inline(always)]
    pub(crate) fn classify_ipv6<const IS_UPLINK: bool>(
        &mut self,
        batch: &Batch,
        state: &BatchState,
        index: usize,
    ) -> NextStage {
        let at = index % BATCH;
        let Some(entry) = self.table.entry(state.entries[at]) else { return NextStage::Ipv6 };
        if IS_UPLINK == UPLINK {
            let id = u64::from(state.scopes[at]) << 32 | u64::from(state.keys[at]);
            if entry.entry_id() != id {
                return if self.table.has_indirect_tunnels() {
                    NextStage::Ipv6
                } else {
                    NextStage::TableMiss
                };
            }
        } else if state.entries[at] == 0 {
            let is_unknown = self.has_unknown_destination::<IS_UPLINK>((batch, state), index);
            return if is_unknown { NextStage::Drop(DropReason::UnknownUe) } else { NextStage::SlowPath };
        } else if entry.prefix != state.prefixes[at] || entry.scope != state.scopes[at] {
            return NextStage::Ipv6;
        }
        let Some(head) = self.programs.head(entry.program_unless_alias()) else { return NextStage::Ipv6 };
        let guessed = self.prediction.set(&self.sets);
        if head.common_set != guessed {
            self.observations.note(head.common_set);
        }
        if head.common_set != guessed || !self.prediction.is_for_v6() {
            return NextStage::Ipv6;
        }
        let is_ue = |prefix| entry.prefix != 0 && prefix == entry.prefix;
        let (is_local, is_remote) = (is_ue(state.prefixes[at]), is_ue(state.remote_prefixes[at]));
        let stays =
            || may_be_link_scoped(state.prefixes[at]) && may_be_link_scoped(state.remote_prefixes[at]);
        // A UE that does not know its prefix yet sends from a link-local address to another.
        if !is_local && (head.has_more || stays()) {
            return NextStage::SlowPath;
        }
        let step = if is_local && !is_remote {
            state.steps[at]
        } else {
            self.prediction.step(state.packet_key(at).without_ue().with_ue(is_remote, is_local))
        };
        match (step < NO_RULE, is_local) {
            (true, true) => NextStage::Action(head.first + step),
            _ if !head.is_final => NextStage::SlowPath,
            (true, false) if IS_UPLINK == DOWNLINK => NextStage::SlowPath,
            (true, false) => NextStage::Drop(DropReason::SpoofedSource),
            (false, _) => NextStage::Drop(DropReason::NoMatchingPdr),
        }
    }
}
