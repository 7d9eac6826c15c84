//! The last stages of common packets, in one pass: enforce, rewrite, and the exit to transmit by. The result is that of
//! [`crate::enforce::matched`], specialized for compiled actions.

use std::net::Ipv4Addr;

use causeway_dataplane::Exit;
use causeway_packet::{BATCH, Batch, Meta};

use crate::batch::state::{BatchState, PacketState, UPLINK, packet_flag};
use crate::enforce::hops_left;
use crate::program::Programs;
use crate::program::compiled_action::CompiledAction;
use crate::rewrite::common::{unwrap, wrap};
use crate::table::flow_entry::FlowEntry;
use crate::topology_index::TopologyIndex;
use crate::transmit::Sent;

/// Whether a packet has conditions that the compiled action excludes. Rarely called.
#[inline(never)]
fn is_flawed<const ACCEPTED_FLAGS: u8>(
    packet: &PacketState,
    action: &CompiledAction,
    topology_index: &TopologyIndex,
) -> bool {
    let rejected = packet.flags & action.rejected_flags & !ACCEPTED_FLAGS;
    rejected != packet_flag::LOCAL_ADDRESS
        || topology_index.involves_upf(Ipv4Addr::from_bits(packet.key.remote()).into(), action.exit)
}

/// The state that forwarding the packets of a batch needs.
pub(crate) struct Forwarding<'a> {
    /// In nanoseconds.
    pub(crate) now: u64,
    pub(crate) state: &'a BatchState,
    pub(crate) programs: &'a Programs,
    pub(crate) topology_index: &'a TopologyIndex,
}

impl Forwarding<'_> {
    /// Forwards a packet by a compiled action and sets its exit, whether it has the conditions `ACCEPTED_FLAGS` or not.
    /// `None`: the compiled action does not apply, and nothing has changed. `IS_IPV6`: the packet is IPv6. `IS_UPLINK`:
    /// it was received by GTP-U.
    #[inline(always)]
    pub(crate) fn forward<const ACCEPTED_FLAGS: u8, const IS_IPV6: bool, const IS_UPLINK: bool>(
        &self,
        (batch, index): (&mut Batch, usize),
        (entry, action): (&mut FlowEntry, u32),
        (sent, exit): (&mut Sent, &mut Exit),
    ) -> Option<()> {
        let (state, at) = (self.state, index % BATCH);
        let action = self.programs.compiled_action(action)?;
        let (len, flaws) = (state.lens[at], state.flags[at] as u8 & !ACCEPTED_FLAGS);
        if len > action.max_payload
            || flaws & action.rejected_flags != 0
                && is_flawed::<ACCEPTED_FLAGS>(&state.at(index), action, self.topology_index)
        {
            return None;
        }
        if IS_UPLINK == UPLINK && action.is_tunnel {
            let octets = relay::<IS_IPV6>((batch, index), (entry, action), state, self.now)?;
            sent.count(true, octets);
            *exit = action.exit;
            return Some(());
        }
        entry.account.charge(action, len, self.now)?;
        // The frame exists, its header fields were parsed, and the headroom of a batch's frames has capacity for any
        // header.
        let mut frame = batch.frame_mut(index)?;
        let start = state.starts[at] as usize;
        let mut octets = u64::from(len);
        if action.is_tunnel {
            wrap::<IS_IPV6>(&mut frame, (start, len), (state, at), action, entry.ue_or_teid)?;
            octets += u64::from(action.header_len);
        } else {
            unwrap::<IS_IPV6>(&mut frame, (start, len), (state, at), action)?;
        }
        sent.count(action.is_tunnel, octets);
        *exit = action.exit;
        Some(())
    }
}

/// Relays a packet from one tunnel into another, with the outer hop limit decremented. Returns its octets there.
/// `None`: as for [`Forwarding::forward`]. A separate function, so that packets to a data network skip the hop limit
/// check.
#[inline(never)]
fn relay<const IS_IPV6: bool>(
    (batch, index): (&mut Batch, usize),
    (entry, action): (&mut FlowEntry, &CompiledAction),
    state: &BatchState,
    now: u64,
) -> Option<u64> {
    let at = index % BATCH;
    let (start, len) = (state.starts[at] as usize, state.lens[at]);
    let mut frame = batch.frame_mut(index)?;
    let left = hops_left(frame.meta_mut())?;
    entry.account.charge(action, len, now)?;
    wrap::<IS_IPV6>(&mut frame, (start, len), (state, at), action, entry.ue_or_teid)?;
    if let Meta::Gtpu { hops, .. } = frame.meta_mut() {
        *hops = left;
    }
    Some(u64::from(len) + u64::from(action.header_len))
}
