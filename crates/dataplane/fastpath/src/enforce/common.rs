//! Forwards common packets by a compiled action: the same result as [`crate::enforce::matched`], specialized for them.

use std::net::Ipv4Addr;
use std::num::NonZeroU8;

use causeway_dataplane::{Exit, TrafficCounter, hops_of_relayed};
use causeway_packet::{BATCH, Batch, FrameMut, Meta};

use crate::batch::state::{BatchState, PacketState, packet_flag};
use crate::lookup::UPLINK;
use crate::program::compiled_action::{CompiledAction, HEADER_AND_CONTAINER};
use crate::program::{Programs, Rate};
use crate::table::flow_entry::{Account, FlowEntry, PER_OCTET};
use crate::topology_index::TopologyIndex;

/// An IPv4 header without options, or the start of an IPv6 header.
type Header = [u8; 20];

/// What a batch has sent to data networks and into tunnels.
#[derive(Default)]
pub(crate) struct Sent {
    packets: [u64; 2],
    octets: [u64; 2],
}

impl Sent {
    /// All packets.
    pub(crate) const fn all(&self) -> u64 {
        self.packets[0] + self.packets[1]
    }

    /// Packets and octets sent to data networks.
    pub(crate) const fn by_ip(&self) -> TrafficCounter {
        TrafficCounter { packets: self.packets[0], octets: self.octets[0] }
    }

    /// Packets and octets sent into tunnels.
    pub(crate) const fn by_gtpu(&self) -> TrafficCounter {
        TrafficCounter { packets: self.packets[1], octets: self.octets[1] }
    }

    #[inline(always)]
    const fn count(&mut self, is_tunnel: bool, octets: u64) {
        let kind = is_tunnel as usize;
        self.packets[kind] += 1;
        self.octets[kind] += octets;
    }
}

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
            decrement_hop_limit::<IS_IPV6>(
                frame.replace_front::<0, 20>(start, len as usize)?,
                (state, at),
                action,
            );
            frame.set_meta(Meta::Ip);
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

/// The outer TTL of a packet that is relayed into another tunnel. `None`: it expires, which the slow path handles.
#[inline(always)]
pub(crate) fn hops_left(meta: &Meta) -> Option<Option<NonZeroU8>> {
    match meta {
        Meta::Gtpu { hops, .. } => hops_of_relayed(*hops).ok(),
        Meta::Ip | Meta::Ethernet => Some(None),
    }
}

/// Prepends the tunnel header to a packet. Returns where it starts, and its octets.
#[inline(always)]
fn wrap<const IS_IPV6: bool>(
    frame: &mut FrameMut<'_>,
    (start, len): (usize, u32),
    (state, at): (&BatchState, usize),
    action: &CompiledAction,
    teid: u32,
) -> Option<()> {
    // The packet length is added to that of the extension headers; the sum fits into the field.
    let first = action.header[0].wrapping_add(u64::from(len) << 32) | u64::from(teid);
    let user = if action.header_len == HEADER_AND_CONTAINER {
        let (header, user) =
            frame.replace_front::<16, 36>(start, len as usize)?.split_first_chunk_mut::<16>()?;
        *header = (u128::from(first) << 64 | u128::from(action.header[1])).to_be_bytes();
        user
    } else {
        let (header, user) =
            frame.replace_front::<8, 28>(start, len as usize)?.split_first_chunk_mut::<8>()?;
        *header = first.to_be_bytes();
        user
    };
    decrement_hop_limit::<IS_IPV6>(user.first_chunk_mut()?, (state, at), action);
    *frame.meta_mut() = action.meta;
    if let Meta::Gtpu { tos: outer, .. } = frame.meta_mut() {
        *outer |= state.packet_key(at).tos() & 0x03;
    }
    Some(())
}

/// Decrements the hop limit of a routed packet.
#[inline(always)]
const fn decrement_hop_limit<const IS_IPV6: bool>(
    header: &mut Header,
    (state, at): (&BatchState, usize),
    action: &CompiledAction,
) {
    if action.decrements_ttl {
        let [a, b, c, d] = state.hops[at % BATCH].to_le_bytes();
        if IS_IPV6 {
            [header[4], header[5], header[6], header[7]] = [a, b, c, d];
        } else {
            [header[8], header[9], header[10], header[11]] = [a, b, c, d];
        }
    }
}

impl Account {
    /// Charges a packet that passes. `None`: the slow path must see it, or the rate does not let it pass.
    #[inline(always)]
    fn charge(&mut self, action: &CompiledAction, len: u32, now: u64) -> Option<()> {
        // [`crate::enforce::matched`] also handles a time that runs backwards.
        if self.budget < u64::from(len) || now.wrapping_sub(self.last_pass) >= action.idle_limit {
            return None;
        }
        if action.is_metered {
            let passed = now.wrapping_sub(self.updated).cast_signed();
            if passed < 0 {
                return None;
            }
            let tokens = self.filled(action.rate, passed);
            if tokens <= 0 {
                return None;
            }
            self.tokens = tokens - i64::from(len) * PER_OCTET;
        }
        self.budget -= u64::from(len);
        (self.updated, self.last_pass) = (now, now);
        (self.last_size, self.packets) = (len, self.packets + 1);
        Some(())
    }

    /// Records a packet that is dropped whatever the account holds. `None`: the slow path must see it.
    #[inline(always)]
    pub(crate) fn advance_for_drop(&mut self, action: &CompiledAction, len: u32, now: u64) -> Option<()> {
        if self.budget < u64::from(len) || now.saturating_sub(self.last_pass) >= action.idle_limit {
            return None;
        }
        if action.is_metered {
            // Tokens that the rate has gained so far are kept.
            let passed = now.saturating_sub(self.updated).cast_signed();
            self.tokens = self.filled(action.rate, passed);
        }
        self.updated = now;
        Some(())
    }

    /// The tokens in the bucket after this many nanoseconds.
    #[inline(always)]
    fn filled(&self, rate: Rate, passed: i64) -> i64 {
        let capacity = rate.burst.max(i64::from(self.last_size) * PER_OCTET);
        // Bit rates have 40 bits.
        let Some(gained) = rate.kbps.cast_signed().checked_mul(passed) else {
            return self.tokens.saturating_add(i64::MAX).min(capacity);
        };
        // The gain is not negative.
        match self.tokens.overflowing_add(gained) {
            (_, true) => capacity,
            (tokens, false) => tokens.min(capacity),
        }
    }
}
