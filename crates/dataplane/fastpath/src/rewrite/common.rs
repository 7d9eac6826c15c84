//! The headers of common packets.

use causeway_packet::{BATCH, FrameMut, Meta};

use crate::batch::state::BatchState;
use crate::program::compiled_action::{CompiledAction, HEADER_AND_CONTAINER};

/// An IPv4 header without options, or the start of an IPv6 header.
type Header = [u8; 20];

/// Replaces the headers in front of a user packet by those of its tunnel. `None`: the frame is unchanged.
#[inline(always)]
pub(crate) fn wrap<const IS_IPV6: bool>(
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

/// Removes the headers in front of a user packet. `None`: the frame is unchanged.
#[inline(always)]
pub(crate) fn unwrap<const IS_IPV6: bool>(
    frame: &mut FrameMut<'_>,
    (start, len): (usize, u32),
    (state, at): (&BatchState, usize),
    action: &CompiledAction,
) -> Option<()> {
    let header = frame.replace_front::<0, 20>(start, len as usize)?;
    decrement_hop_limit::<IS_IPV6>(header, (state, at), action);
    frame.set_meta(Meta::Ip);
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
