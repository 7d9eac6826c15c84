//! A switch in front of a software data plane: it forwards the packets of its rules, and sends every other packet as it
//! came to the port of the software that is linked to its own ([`crate::software_ports`]).
//!
//! The software so sees what it would see without the switch: packets without a rule, of armed rules, with a wrong source,
//! with a last hop, too large, malformed, to closed addresses, and signalling. The switch drops only packets above their
//! rate, and those that it would forward and the firewall denies. A packet is counted for its rule only when the switch forwards it or
//! drops it for its rate.

use causeway_p4::names::{action, table};
use causeway_types::Time;

use super::packet::{Family, Forward, Packet};
use super::{State, UnknownProgram, Upf, carry_congestion, carry_underlay_congestion, rewrite};
use crate::armed::Observation;
use crate::driver::Program;
use crate::software_ports;

/// What is linked to the port of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Linked {
    /// A port of the software, which gets what the switch does not forward.
    Software(u16),
    /// A port with N3 or N6: the frame is the software's.
    Network(u16),
}

/// A switch with ports of the software.
#[derive(Clone, Debug)]
pub(super) struct Leaving {
    /// The table of links, and its action for ports with N3 or N6.
    links: u32,
    leave: u32,
    /// The port of the software for ports without an entry.
    default: Option<u16>,
    /// The table of the longest packets that the switch forwards.
    limits: u32,
    observation: Observation,
}

impl Leaving {
    /// That of a program; `None`: it has no ports of the software.
    ///
    /// # Errors
    /// It has no table of armed rules, without which packets would overtake each other, or none of the longest packets.
    pub(super) fn of(program: &Program) -> Result<Option<Self>, UnknownProgram> {
        let Some(links) = program.table_named(table::SOFTWARE_PORTS) else { return Ok(None) };
        let leave = program
            .actions
            .iter()
            .find(|known| known.name == action::LEAVE && links.actions.contains(&known.id));
        let leave = leave.ok_or(UnknownProgram::Missing("action leave"))?.id;
        let limits = program.table_named(table::PACKET_LIMITS);
        let limits = limits.ok_or(UnknownProgram::Missing("table packet_limits"))?.id;
        let observation = Observation::of(program)?.ok_or(UnknownProgram::Missing("table armed_rules"))?;
        Ok(Some(Self { links: links.id, leave, default: None, limits, observation }))
    }

    /// The same with this port for ports without an entry.
    pub(super) fn with_default(self, port: u16) -> Self {
        Self { default: Some(port), ..self }
    }

    /// What is linked to a port.
    pub(super) fn linked(&self, state: &mut State, port: u16, octets: usize) -> Option<Linked> {
        let Some(entry) = state.apply_table(self.links, &[port.into()], octets as u64) else {
            return self.default.map(Linked::Software);
        };
        let session = entry.parameters.first().map_or(0, |session| *session as u16);
        let port = session.saturating_sub(software_ports::FIRST_SESSION);
        Some(if entry.action == self.leave { Linked::Software(port) } else { Linked::Network(port) })
    }

    /// Whether a user packet of this length is not too long for the way that it is forwarded.
    fn is_short(&self, state: &mut State, forward: Forward, length: u32, octets: u64) -> bool {
        let way = match forward {
            Forward::Decapsulate => software_ports::WITHOUT_TUNNEL,
            Forward::Encapsulate => software_ports::IN_NEW_TUNNEL,
        };
        let entry = state.apply_table(self.limits, &[way], octets);
        let limit = entry.and_then(|entry| entry.parameters.first().copied());
        limit.is_some_and(|limit| u128::from(length) < limit)
    }
}

/// The packet is for the software.
pub(super) struct ForSoftware;

impl Upf {
    /// Processes a packet that is forwarded, or dropped for its rate or by the firewall; otherwise it is for the software, and
    /// nothing of it was counted.
    pub(super) fn forward_or_leave(
        &self,
        state: &mut State,
        now: Time,
        packet: &mut Packet,
    ) -> Result<(), ForSoftware> {
        let is_tunnelled = packet.is_tunnelled;
        if is_tunnelled && self.is_spoofed(state, packet) || carry_underlay_congestion(packet) {
            return Err(ForSoftware);
        }
        if is_tunnelled && carry_congestion(packet) {
            return Err(ForSoftware);
        }
        self.ask_firewall(state, packet);
        self.match_pdr(state, packet);
        self.forward(state, packet);
        if packet.is_undecided {
            return Err(ForSoftware);
        }
        if packet.drop.is_some() || packet.rule == 0 || packet.buffer || packet.notify {
            return Err(ForSoftware);
        }
        if !self.is_plain(state, packet) || self.is_closed(state, packet) || self.is_armed(state, now, packet)
        {
            return Err(ForSoftware);
        }
        let routes = super::routes(packet);
        self.first(state, packet, routes).map_err(|super::Miss| ForSoftware)?;
        if packet.segment != 0 {
            self.apply(state, packet, table::VXLAN_DEPARTURES).map_err(|super::Miss| ForSoftware)?;
        }
        if packet.is_denied {
            packet.drop = Some(super::denial(packet));
            return Ok(());
        }
        self.account(state, packet.rule, packet.octets, 0);
        self.meter(state, now, packet, self.names.meters);
        if packet.drop.is_none() {
            rewrite::rewrite(packet);
        }
        Ok(())
    }

    /// The switch can forward the packet by itself.
    fn is_plain(&self, state: &mut State, packet: &Packet) -> bool {
        let (Some(leaving), Some(forward)) = (&self.leaving, packet.forward) else { return false };
        let (hops, length) = match packet.family {
            Some(Family::V4) => (packet.inner_field(8..9), u32::from(packet.length)),
            Some(Family::V6) => (packet.inner_field(7..8), u32::from(packet.length) + 40),
            None => return false,
        };
        let stays_in_tunnels = packet.is_tunnelled && forward == Forward::Encapsulate;
        (hops > 1 || stays_in_tunnels)
            && !packet.bad_checksum
            && leaving.is_short(state, forward, length, packet.octets)
    }

    /// The packet leaves for an address that UEs must not reach, or for one that the software answers.
    fn is_closed(&self, state: &mut State, packet: &Packet) -> bool {
        let name = if packet.family == Some(Family::V4) { table::CLOSED } else { table::CLOSED_IPV6 };
        let leaves = packet.forward == Some(Forward::Decapsulate);
        let Some(table) = self.names.table(name).filter(|_| leaves) else { return false };
        state.apply_table(table.id, &table.keys(packet), packet.octets).is_some()
    }

    fn is_armed(&self, state: &mut State, now: Time, packet: &Packet) -> bool {
        let (Some(table), Some(leaving)) = (self.names.table(table::ARMED_RULES), &self.leaving) else {
            return false;
        };
        let Some(entry) = state.apply_table(table.id, &table.keys(packet), packet.octets) else {
            return false;
        };
        let [generation, gap] = [0, 1].map(|place| entry.parameters.get(place).map_or(0, |it| *it as u32));
        !leaving.observation.passes(state, now, generation, gap)
    }
}
