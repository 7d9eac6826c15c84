//! A switch in front of a software data plane: it forwards the packets of its rules, and sends every other packet as it
//! came to the software's port.
//!
//! The software so sees what it would see without the switch: packets without a rule, of armed rules, with a wrong source,
//! with a last hop, too large, malformed, to closed addresses, and signalling. The switch drops only packets above their
//! rate. A packet is counted for its rule only when the switch forwards it or drops it for its rate.

use causeway_p4::names::table;
use causeway_types::Time;

use super::packet::{Family, Forward, Packet};
use super::{State, Upf, carry_congestion, rewrite};
use crate::armed::{self, Observation};

/// The port of the software, and what the switch does not forward.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SoftwarePort {
    /// The port.
    pub port: u16,
    /// The largest IP packet with a tunnel, in octets; larger ones are for the software, which fragments.
    pub tunnel_mtu: u32,
    /// The largest IP packet without a tunnel.
    pub network_mtu: u32,
}

/// Octets of IPv4, UDP, GTP-U and a PDU Session Container.
const TUNNEL: u32 = 44;

/// The state of a switch with a software port.
#[derive(Clone, Debug)]
pub(super) struct Leaving {
    pub(super) to: SoftwarePort,
    observation: Observation,
}

impl Leaving {
    pub(super) const fn new(to: SoftwarePort, observation: Observation) -> Self {
        Self { to, observation }
    }
}

/// The packet is for the software.
pub(super) struct ForSoftware;

impl Upf {
    /// Processes a packet that is forwarded, or dropped for its rate; otherwise it is for the software, and nothing of
    /// it was counted.
    pub(super) fn forward_or_leave(
        &self,
        state: &mut State,
        now: Time,
        packet: &mut Packet,
    ) -> Result<(), ForSoftware> {
        let is_tunnelled = packet.is_tunnelled;
        if is_tunnelled && (self.is_spoofed(state, packet) || carry_congestion(packet)) {
            return Err(ForSoftware);
        }
        self.match_pdr(state, packet);
        self.forward(state, packet);
        if packet.drop.is_some() || packet.rule == 0 || packet.buffer || packet.notify {
            return Err(ForSoftware);
        }
        if !self.is_plain(packet) || self.is_closed(state, packet) || self.is_armed(state, now, packet) {
            return Err(ForSoftware);
        }
        let routes = super::routes(packet);
        self.first(state, packet, routes).map_err(|super::Miss| ForSoftware)?;
        self.account(state, packet.rule, packet.octets, 0);
        self.meter(state, now, packet, self.names.meters);
        if packet.drop.is_none() {
            rewrite::rewrite(packet);
        }
        Ok(())
    }

    /// The switch can forward the packet by itself.
    fn is_plain(&self, packet: &Packet) -> bool {
        let Some(Leaving { to, .. }) = &self.leaving else { return false };
        let (hops, octets) = match packet.family {
            Some(Family::V4) => (packet.inner_field(8..9), u32::from(packet.length)),
            Some(Family::V6) => (packet.inner_field(7..8), u32::from(packet.length) + 40),
            None => return false,
        };
        match packet.forward {
            Some(Forward::Encapsulate) => {
                (packet.is_tunnelled || hops > 1) && !packet.bad_checksum && octets + TUNNEL <= to.tunnel_mtu
            }
            Some(Forward::Decapsulate) => hops > 1 && !packet.bad_checksum && octets <= to.network_mtu,
            None => false,
        }
    }

    /// The packet leaves for an address that UEs must not reach, or for one that the software answers.
    fn is_closed(&self, state: &mut State, packet: &Packet) -> bool {
        let name = if packet.family == Some(Family::V4) { table::CLOSED } else { table::CLOSED_IPV6 };
        let leaves = packet.forward == Some(Forward::Decapsulate);
        let Some(table) = self.names.table(name).filter(|_| leaves) else { return false };
        state.apply_table(table.id, &table.keys(packet), packet.octets).is_some()
    }

    fn is_armed(&self, state: &mut State, now: Time, packet: &Packet) -> bool {
        let (Some(table), Some(leaving)) = (self.names.table(armed::TABLE), &self.leaving) else {
            return false;
        };
        let Some(entry) = state.apply_table(table.id, &table.keys(packet), packet.octets) else {
            return false;
        };
        let [generation, gap] = [0, 1].map(|place| entry.parameters.get(place).map_or(0, |it| *it as u32));
        !leaving.observation.passes(state, now, generation, gap)
    }
}
