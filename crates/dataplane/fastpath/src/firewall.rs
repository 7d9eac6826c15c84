//! The firewall. Before any packet of a batch is acted on, those that it denies are marked; they are dropped in their
//! turn, if a session has their key. Where there is no firewall, this costs one comparison for each batch.

use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::{Chain, DropReason, Firewall, FirewallKey, RemoteVerdict};
use causeway_packet::{BATCH, Batch, UserPacket};
use causeway_types::Direction;

use crate::batch::general::{GeneralPacket, GeneralPackets, GeneralStage};
use crate::batch::state::{BatchState, NextStage, PacketState, UPLINK, packet_flag};
use crate::engine::FastPath;

const PERMITTED: u8 = RemoteVerdict::Permitted as u8;
const DENIED: u8 = RemoteVerdict::Denied as u8;

const fn direction<const IS_UPLINK: bool>() -> Direction {
    if IS_UPLINK == UPLINK { Direction::Uplink } else { Direction::Downlink }
}

impl FastPath {
    /// Whether there is a firewall.
    #[inline]
    pub(crate) const fn has_firewall(&self) -> bool {
        self.topology.firewall.is_some()
    }

    /// Marks the packets that the firewall denies. The packets outside the common case have been classified.
    #[inline(never)]
    pub(crate) fn mark_denied<const IS_UPLINK: bool>(
        &self,
        batch: &Batch,
        state: &mut BatchState,
        general: &mut GeneralPackets,
    ) {
        let Some(firewall) = self.topology.firewall.as_deref() else { return };
        let chain = firewall.chain(direction::<IS_UPLINK>());
        let mut verdicts = chain.remote_verdicts(&state.remotes);
        for ((verdict, is_common), flags) in verdicts.iter_mut().zip(&state.is_common).zip(&state.flags) {
            // Those are dropped for other reasons. The remote addresses of packets outside the common case are not in the
            // state.
            let is_dropped = *flags as u8 & packet_flag::ALWAYS_DROPPED != 0;
            let decided = if is_dropped { PERMITTED } else { *verdict };
            *verdict = if *is_common == 0 { RemoteVerdict::Open as u8 } else { decided };
        }
        for index in 0..state.len() {
            let at = index % BATCH;
            let is_denied = match verdicts[at] {
                PERMITTED => false,
                DENIED => true,
                _ => !permits::<IS_UPLINK>(chain, batch, (state, general), index),
            };
            if is_denied {
                mark(state, general, index, Firewall::reason(direction::<IS_UPLINK>()));
            }
        }
    }

    /// The next stage of a packet that the firewall denies, if a flow entry decides it; `None`: it must be looked up in the
    /// general form.
    pub(crate) fn drop_denied<const IS_UPLINK: bool>(
        &self,
        is_common: bool,
        packet: &PacketState,
    ) -> Option<NextStage> {
        let entry = self.entry_of(packet).filter(|_| is_common)?;
        let head = self.programs.head(entry.program())?;
        // The session may be one of Ethernet frames, which are not subject to the firewall.
        Some(match head.needs_slow_path {
            true => NextStage::SlowPath,
            false => NextStage::Drop(Firewall::reason(direction::<IS_UPLINK>())),
        })
    }
}

/// The stage of a packet of a known session that the firewall denies: it is dropped before its PDRs are matched.
pub(crate) fn deny(packet: &mut GeneralPacket, reason: DropReason) {
    let is_matching = matches!(
        packet.stage,
        GeneralStage::Matched { .. }
            | GeneralStage::Drop(DropReason::SpoofedSource | DropReason::NoMatchingPdr)
    );
    if is_matching {
        packet.stage = GeneralStage::Drop(reason);
    }
}

/// The same for the reason of a common packet's session.
pub(crate) const fn is_by_pdrs(reason: DropReason) -> bool {
    matches!(reason, DropReason::SpoofedSource | DropReason::NoMatchingPdr)
}

fn mark(state: &mut BatchState, general: &mut GeneralPackets, index: usize, reason: DropReason) {
    match state.next_stages[index % BATCH] {
        NextStage::Lookup | NextStage::Action(_) | NextStage::Ipv6 => {
            state.set_stage(index, NextStage::Denied);
        }
        NextStage::Drop(other) if is_by_pdrs(other) => state.set_stage(index, NextStage::Denied),
        NextStage::General(place) => {
            if let Some(packet) = general.get_mut(usize::from(place)) {
                deny(packet, reason);
            }
        }
        _ => {}
    }
}

/// Whether a packet passes that its remote address alone does not decide.
#[inline(never)]
fn permits<const IS_UPLINK: bool>(
    chain: &Chain,
    batch: &Batch,
    (state, general): (&BatchState, &GeneralPackets),
    index: usize,
) -> bool {
    let at = index % BATCH;
    if state.is_common[at] != 0 {
        let (word, ports, remote) = state.packet_key(index).parts();
        return chain.permits(&FirewallKey {
            remote: IpAddr::V4(Ipv4Addr::from_bits(remote)),
            local: IpAddr::V4(Ipv4Addr::from_bits(state.locals[at])),
            protocol: word as u8,
            ports: state.packet_key(index).has_ports().then_some((ports as u16, (ports >> 16) as u16)),
        });
    }
    let start = match state.next_stages[at] {
        NextStage::Ipv6 => state.starts[at] as usize,
        NextStage::General(place) => general.get(usize::from(place)).map_or(0, |packet| packet.start.into()),
        _ => return true,
    };
    // Malformed packets are dropped for that.
    let user = batch.data(index).and_then(|frame| UserPacket::parse(frame.get(start..)?).ok());
    user.is_none_or(|user| chain.permits(&FirewallKey::of(direction::<IS_UPLINK>(), &user.flow)))
}
