//! Drops common packets early, so that floods cost no more than forwarded packets.
//!
//! Dispositions and reasons equal those of [`crate::batch`], whose checks follow the order of the slow path. Packets
//! with other conditions are left to it.

use std::net::Ipv4Addr;

use causeway_dataplane::{DropReason, Exit};
use causeway_packet::{BATCH, Batch, Meta};
use causeway_types::Time;

use crate::batch::state::UPLINK;
use crate::batch::state::{BatchState, NextStage, PacketState, miss_drop_reason, packet_flag};
use crate::enforce::hops_left;
use crate::enforce::icmp_limit::BatchSuppression;
use crate::engine::FastPath;

/// Packets with this bit must not be fragmented.
const DO_NOT_FRAGMENT: u16 = 0x4000;

/// Up to this size, in octets, the maximum of a compiled action is the MTU of its path.
const LARGEST: u32 = 65_000;

/// The values that all packets of a batch share.
#[derive(Clone, Copy)]
pub(crate) struct EarlyDrop {
    now: Time,
    /// Flow entries are at direct positions, or do not exist.
    are_direct: bool,
}

impl EarlyDrop {
    pub(crate) fn of<const IS_UPLINK: bool>(engine: &FastPath, now: Time) -> Self {
        let table = &engine.table;
        let are_direct =
            if IS_UPLINK == UPLINK { !table.has_indirect_tunnels() } else { !table.has_indirect_addresses() };
        Self { now, are_direct }
    }

    /// The next stage of a packet that was not forwarded. `action`: its compiled action.
    #[inline(always)]
    pub(crate) fn next_stage<const IS_UPLINK: bool>(
        self,
        engine: &mut FastPath,
        (batch, state): (&Batch, &BatchState),
        (index, action): (usize, Option<u32>),
        suppression: &mut BatchSuppression,
    ) -> NextStage {
        let at = index % BATCH;
        if let Some(action) = action {
            let dropped =
                self.action_drop_reason::<IS_UPLINK>(engine, (batch, state), (index, action), suppression);
            return dropped.map_or(NextStage::Action(action), NextStage::Drop);
        }
        let next = state.next_stages[at];
        if next != NextStage::Lookup || !self.are_direct {
            return next;
        }
        let id = u64::from(state.scopes[at]) << 32 | u64::from(state.keys[at]);
        let is_muted = match batch.meta(index) {
            Some(Meta::Gtpu { peer, .. }) if IS_UPLINK == UPLINK => {
                suppression.contains_peer(peer.ip())
                    || engine.suppressed_peers.is_suppressed(peer.ip(), self.now)
            }
            _ => false,
        };
        if engine.table.entry(state.entries[at]).is_some_and(|entry| entry.entry_id() == id) {
            return match engine.classify_simple::<IS_UPLINK>(&state.at(at)) {
                Some(NextStage::UnsupportedExtension) if is_muted => {
                    NextStage::Drop(DropReason::UnsupportedExtension)
                }
                chosen => chosen.unwrap_or(next),
            };
        }
        if IS_UPLINK != UPLINK {
            let is_unknown = engine.has_unknown_destination::<IS_UPLINK>((batch, state), index);
            return if is_unknown { NextStage::Drop(DropReason::UnknownUe) } else { NextStage::SlowPath };
        }
        let is_dropped = state.keys[at] == 0
            || is_muted
                && engine.table.is_complete()
                && engine.has_unknown_destination::<IS_UPLINK>((batch, state), index);
        if is_dropped {
            NextStage::Drop(miss_drop_reason(state.flags[at] as u8))
        } else {
            NextStage::TableMiss
        }
    }

    /// Why the compiled action drops a packet: wrong checksum, expired TTL, or too large. `None`: it does not, or the
    /// full check must decide.
    #[inline(always)]
    fn action_drop_reason<const IS_UPLINK: bool>(
        self,
        engine: &mut FastPath,
        (batch, state): (&Batch, &BatchState),
        (index, number): (usize, u32),
        suppression: &mut BatchSuppression,
    ) -> Option<DropReason> {
        let at = index % BATCH;
        let action = engine.programs.compiled_action(number).filter(|action| !action.reports_drops)?;
        if IS_UPLINK == UPLINK
            && action.is_tunnel
            && batch.meta(index).is_some_and(|meta| hops_left(meta).is_none())
        {
            return None;
        }
        let rejected = state.flags[at] as u8 & action.rejected_flags;
        if rejected & (packet_flag::LINK_SCOPED | packet_flag::HAS_OTHER_EXTENSIONS) != 0 {
            return None;
        }
        if rejected & packet_flag::LOCAL_ADDRESS != 0
            && let Exit::Network(network) = action.exit
            && let Some(reason) = engine.egress_drop_reason(network, &state.at(at))
        {
            let action = engine.programs.compiled_action(number)?;
            let account = &mut engine.table.entry_mut(state.entries[at])?.account;
            return account.advance_for_drop(action, state.lens[at], self.now.as_nanos()).map(|()| reason);
        }
        let is_too_large = state.lens[at] > action.max_payload && action.max_payload <= LARGEST;
        let reason = if rejected & packet_flag::BAD_CHECKSUM != 0 {
            DropReason::MalformedIp
        } else if rejected & packet_flag::TTL_EXPIRES != 0
            || is_too_large && rejected & packet_flag::ECN_UPDATE == 0
        {
            let is_last = rejected & packet_flag::TTL_EXPIRES != 0;
            let fragment = fragment_of((batch, state), index);
            if !is_last && fragment & DO_NOT_FRAGMENT == 0 {
                return None;
            }
            if rejected & packet_flag::LOCAL_ADDRESS != 0
                && engine.topology_index.is_with_gateway(&state.at(at))
            {
                return None;
            }
            if may_receive_icmp_error::<IS_UPLINK>(state, (index, fragment))
                && engine.may_send_icmp_error(self.now, state.source::<IS_UPLINK>(at), suppression)
            {
                return None;
            }
            if is_last { DropReason::TtlExpired } else { DropReason::MtuExceeded }
        } else {
            return None;
        };
        let action = engine.programs.compiled_action(number)?;
        let account = &mut engine.table.entry_mut(state.entries[at])?.account;
        account.advance_for_drop(action, state.lens[at], self.now.as_nanos()).map(|()| reason)
    }
}

impl FastPath {
    /// Why a packet may not be sent to a data network.
    #[inline(never)]
    fn egress_drop_reason(&self, network: u16, packet: &PacketState) -> Option<DropReason> {
        let far = Ipv4Addr::from_bits(packet.key.remote()).into();
        self.topology_index.egress_drop_reason(network, far, packet.key.protocol())
    }
}

/// The fragment word of a packet's header.
#[inline(always)]
fn fragment_of((batch, state): (&Batch, &BatchState), index: usize) -> u16 {
    let offset = state.starts[index % BATCH] as usize + 6;
    let field = batch.data(index).and_then(|frame| frame.get(offset..)?.first_chunk());
    field.map_or(0, |field| u16::from_be_bytes(*field))
}

/// Whether the sender of an IPv4 packet may be sent an ICMP error, as far as its addresses and fragment offset decide:
/// no ICMP errors concern multicast packets, or go to an address that is no host (RFC 1122 clause 3.2.2).
#[inline(always)]
fn may_receive_icmp_error<const IS_UPLINK: bool>(
    state: &BatchState,
    (index, fragment): (usize, u16),
) -> bool {
    let at = index % BATCH;
    let (source, target) = match IS_UPLINK {
        UPLINK => (state.locals[at], state.remotes[at]),
        _ => (state.remotes[at], state.locals[at]),
    };
    let is_host = |address: u32| !matches!(address >> 24, 127 | 224..);
    let is_group = target >> 28 == 0xe || target == u32::MAX;
    let is_later = fragment & 0x1fff != 0;
    source != 0 && is_host(source) && !is_group && !is_later
}
