//! Heavy hitters among the packets that the flow entries forward.
//!
//! The frames that a batch has queued are looked at together: at its end, and before a packet of it goes to the slow path,
//! which looks at that packet itself. So packets are looked at in the order in which they were received, and a packet costs
//! nothing where nobody looks for heavy hitters.

use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::{Exit, FiveTuple, QueuedPacket, TransmitQueue};
use causeway_packet::gtpu::{Message, Packet};
use causeway_packet::{BATCH, Batch, UserPacket};
use causeway_slowpath::five_tuple;
use causeway_types::{Direction, Time};

use crate::batch::general::{GeneralPacket, GeneralStage};
use crate::batch::state::{BatchState, NO_ENTRY_ID, NextStage, UPLINK};
use crate::engine::FastPath;
use crate::program::Programs;
use crate::table::index::prefetch_at;

impl FastPath {
    /// Looks at the frames that were queued since the last call. `is_last`: the batch has ended.
    #[inline(never)]
    pub(crate) fn observe_queued<const IS_UPLINK: bool>(
        &mut self,
        now: Time,
        batch: &Batch,
        (state, general): (&BatchState, &[GeneralPacket]),
        queue: &TransmitQueue,
        is_last: bool,
    ) {
        let packets = queue.packets().get(self.observed_entries..).unwrap_or_default();
        self.observed_entries = if is_last { 0 } else { queue.packets().len() };
        let Self { slow_path, programs, dormant, .. } = self;
        // A session whose packet was forwarded may be dormant again.
        let dormant_session = |ue| dormant.of_address(ue);
        for packets in packets.chunks(BATCH) {
            let seen = Seen::<IS_UPLINK>::of(packets, batch, (state, general));
            let octets = seen.octets.get(..seen.number).unwrap_or_default();
            let flow = |position| seen.flow(position, programs);
            slow_path.observe_packets(now, octets, flow, dormant_session, prefetch_at);
        }
    }
}

/// The direction of packets, but for those that another UPF sends towards the UE.
const fn usual_direction<const IS_UPLINK: bool>() -> Direction {
    if IS_UPLINK == UPLINK { Direction::Uplink } else { Direction::Downlink }
}

/// The IP packets among up to [`BATCH`] packets of the transmit queue.
struct Seen<'a, const IS_UPLINK: bool> {
    number: usize,
    octets: [u32; BATCH],
    frames: [(u8, Exit); BATCH],
    batch: &'a Batch,
    state: &'a BatchState,
    general: &'a [GeneralPacket],
}

impl<'a, const IS_UPLINK: bool> Seen<'a, IS_UPLINK> {
    #[inline(always)]
    fn of(
        packets: &[QueuedPacket],
        batch: &'a Batch,
        (state, general): (&'a BatchState, &'a [GeneralPacket]),
    ) -> Self {
        let (mut number, mut octets, mut frames) = (0, [0; BATCH], [(0, Exit::Network(0)); BATCH]);
        for packet in packets {
            let QueuedPacket::Frame(index, exit) = *packet else { continue };
            octets[number % BATCH] = match has_fields(state, index) {
                true => state.lens[index % BATCH],
                false => match of_frame(batch, index, exit) {
                    Some((_, octets)) => octets,
                    None => continue,
                },
            };
            frames[number % BATCH] = (index as u8, exit);
            number += 1;
        }
        Self { number, octets, frames, batch, state, general }
    }

    /// Direction, addresses and ports of a packet.
    #[inline(always)]
    fn flow(&self, position: usize, programs: &Programs) -> (Direction, FiveTuple) {
        let (index, exit) = self.frames[position % BATCH];
        let index = usize::from(index);
        // The usual direction, but for packets that another UPF sends towards the UE.
        let other = match self.general.iter().find(|packet| usize::from(packet.index) == index) {
            Some(GeneralPacket { stage: GeneralStage::Matched { program, .. }, .. }) => programs.at(*program),
            _ => None,
        };
        let usual = usual_direction::<IS_UPLINK>();
        let direction = other.map_or(usual, |program| program.direction);
        if has_fields(self.state, index) {
            return (direction, fields::<IS_UPLINK>(self.state, index));
        }
        let parsed = of_frame(self.batch, index, exit);
        (direction, parsed.map_or_else(|| fields::<IS_UPLINK>(self.state, index), |it| it.0))
    }
}

/// Whether the packet was parsed into the fields of the batch.
#[inline(always)]
const fn has_fields(state: &BatchState, index: usize) -> bool {
    let at = index % BATCH;
    state.ids[at] != NO_ENTRY_ID || matches!(state.next_stages[at], NextStage::Action(_))
}

/// The flow of a packet with fields.
#[inline(always)]
fn fields<const IS_UPLINK: bool>(state: &BatchState, index: usize) -> FiveTuple {
    let (at, key) = (index % BATCH, state.packet_key(index));
    let local = IpAddr::V4(Ipv4Addr::from_bits(state.locals[at]));
    let remote = IpAddr::V4(Ipv4Addr::from_bits(key.remote()));
    // Without ports they are zero.
    let (local_port, remote_port) = ((state.ports[at] >> 16) as u16, state.ports[at] as u16);
    let (addresses, ports) = match IS_UPLINK {
        UPLINK => ((local, remote), (local_port, remote_port)),
        _ => ((remote, local), (remote_port, local_port)),
    };
    FiveTuple { addresses, ports, protocol: key.protocol() }
}

/// The same of a frame that is transmitted.
#[inline(never)]
fn of_frame(batch: &Batch, index: usize, exit: Exit) -> Option<(FiveTuple, u32)> {
    let frame = batch.data(index)?;
    let packet = match exit {
        Exit::Network(_) => frame,
        Exit::Tunnel { .. } => match Packet::parse(frame).ok()?.message {
            Message::GPdu(packet) => packet,
            _ => return None,
        },
    };
    let user = UserPacket::parse(packet).ok()?;
    Some((five_tuple(&user.flow), u32::try_from(user.len()).unwrap_or(u32::MAX)))
}
