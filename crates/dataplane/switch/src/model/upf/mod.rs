//! The packet path of the UPF's P4 program: for the profiles whose rules are entries of tables (`baseline`, `red`,
//! `red-spt` and `hip4`), for `direct`, whose rules are found by index, and for `thesis`, whose rules are tenants'; with VXLAN and
//! the operator's firewall where the program has them.
//!
//! The program determines the tables, with their keys and actions; they are found by their names. The order of lookups,
//! and the effect of a miss, are implemented here as in the program for BMv2: a copy for the controller is the received
//! frame. Only IPv4 tunnels are supported.

mod by_index;
mod codes;
mod keys;
mod leave;
mod names;
mod packet;
mod parser;
mod rewrite;

#[cfg(test)]
mod tests;

use causeway_p4::names::table;
use std::net::{IpAddr, Ipv4Addr};

use causeway_types::Time;

pub use codes::{Command, DropReason, Punt};
pub use names::UnknownProgram;

use super::{Bounds, Colour, Output, Pipeline, QueuedPacket, State};
use crate::classes::Classes;
use crate::driver::Program;
use crate::heavy_hitters::{self, Detector, Finding};
use crate::meters::{METERED, Meters};
use leave::{ForSoftware, Leaving, Linked};
use names::Names;
use packet::{Arrival, Family, Forward, Packet};
use parser::Known;

/// The packet path of the UPF.
#[derive(Clone, Debug)]
pub struct Upf {
    names: Names,
    known: Known,
    /// Where packets go that the switch does not forward, if the program has ports of a software data plane.
    leaving: Option<Leaving>,
    /// What forwarded packets count for their rules, if the program finds heavy hitters.
    heavy: Option<Detector>,
    /// What they count for the application classes of their sessions, if the program finds such.
    classes: Option<Classes>,
    /// The random numbers of heavy hitters.
    random: fastrand::Rng,
    /// The copy of the last packet.
    copy: Option<QueuedPacket<ProcessedFrame>>,
}

/// A frame on its way to its queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProcessedFrame {
    /// It is transmitted, and counted for its rule.
    Forwarded {
        /// The rule; zero for none.
        rule: u32,
        /// The window in which it came, and the octets of its IP packet, for application classes.
        seen: (u16, u16),
        /// The frame.
        frame: Vec<u8>,
    },
    /// It is for the controller or the software UPF, with the header that has the reason.
    Punted(Vec<u8>),
    /// The copy of a forwarded packet whose rule takes a place among heavy hitters. It ends at egress.
    SecondPass {
        /// The rule.
        rule: u32,
        /// The way whose place it takes.
        way: usize,
        /// The frame.
        frame: Vec<u8>,
    },
}

/// The accounting tables by side, where entries count.
const ACCOUNTING: [[&str; 2]; 2] =
    [[table::PRE_QOS_A, table::PRE_QOS_B], [table::POST_QOS_A, table::POST_QOS_B]];

/// The tenant of segments of gNBs, beside zero.
const ACCESS: u8 = 255;

/// The matched entry is missing.
struct Miss;

impl Upf {
    /// The packet path of a program. `local` are the addresses at which GTP-U arrives.
    ///
    /// # Errors
    /// The program is not one of the UPF's, or of a profile that is not modelled.
    pub fn new(program: &Program, cpu_port: u16, local: Vec<Ipv4Addr>) -> Result<Self, UnknownProgram> {
        let leaving = Leaving::of(program)?;
        let heavy = Detector::of(program)?;
        let classes = Classes::of(program)?;
        let names = Names::new(program)?;
        if leaving.is_some() && names.by_index.is_some() {
            return Err(UnknownProgram::DirectWithSoftware);
        }
        let known = Known {
            cpu_port,
            local,
            underlay: Vec::new(),
            underlay_version: names.underlay_version,
            has_ipv6: names.has_ipv6,
        };
        let random = fastrand::Rng::with_seed(0);
        Ok(Self { names, known, leaving, heavy, classes, random, copy: None })
    }

    /// What packets ask for besides leaving: a copy that says a class, and for heavy hitters one of that.
    pub fn bounds(&self) -> Bounds {
        let egress_copies = if self.heavy.is_some() { 2 } else { u8::from(self.classes.is_some()) };
        Bounds { egress_copies, ..Bounds::default() }
    }

    /// Sets the addresses at which VXLAN arrives, of which those with the IP version of the program's underlay count. A program without
    /// VXLAN has none.
    pub fn set_underlay(&mut self, underlay: Vec<IpAddr>) {
        if self.names.table(table::VXLAN_ARRIVALS).is_some() {
            self.known.underlay = underlay;
        }
    }

    /// The same with this port of the software for all ports without an entry of their own: a default action with which the
    /// program was compiled, so that it also applies after a restart.
    ///
    /// # Errors
    /// The program has no ports of software.
    pub fn with_software(mut self, port: u16) -> Result<Self, UnknownProgram> {
        let leaving = self.leaving.take().ok_or(UnknownProgram::Missing("table software_ports"))?;
        self.leaving = Some(leaving.with_default(port));
        Ok(self)
    }

    /// Replaces the addresses at which GTP-U arrives.
    pub fn set_local(&mut self, local: Vec<Ipv4Addr>) {
        self.known.local = local;
    }

    /// Executes the action of the entry that the packet matches. A lookup in a table that the profile lacks is a miss.
    fn apply(&self, state: &mut State, packet: &mut Packet, table: &str) -> Result<(), Miss> {
        let table = self.names.table(table).ok_or(Miss)?;
        let entry = state.apply_table(table.id, &table.keys(packet), packet.octets).ok_or(Miss)?;
        self.names.act(packet, entry.action, &entry.parameters);
        Ok(())
    }

    /// The first of these tables that has an entry for the packet.
    fn first(&self, state: &mut State, packet: &mut Packet, tables: &[&str]) -> Result<(), Miss> {
        tables.iter().find_map(|table| self.apply(state, packet, table).ok()).ok_or(Miss)
    }

    /// Processes a user packet.
    fn treat(&self, state: &mut State, now: Time, packet: &mut Packet) {
        let spoofed = packet.is_tunnelled && self.is_spoofed(state, packet);
        let congested = carry_underlay_congestion(packet);
        let congested = packet.is_tunnelled && carry_congestion(packet) || congested;
        self.ask_firewall(state, packet);
        let unsound = spoofed.then_some(DropReason::SpoofedSource);
        let unsound = unsound.or(congested.then_some(DropReason::Congested));
        if self.names.by_index.is_some() {
            self.treat_by_index(state, now, packet, unsound.is_none() && !packet.is_denied);
        } else {
            self.match_pdr(state, packet);
            if unsound.is_none() && !packet.is_denied {
                self.forward(state, packet);
                self.account(state, packet.rule, packet.octets, 0);
                self.meter(state, now, packet, self.names.meters);
            }
        }
        packet.drop = unsound.or(packet.drop);
        let is_unknown = matches!(packet.drop, Some(DropReason::UnknownTeid | DropReason::UnknownUe));
        if packet.is_denied {
            packet.notify = false;
        }
        if packet.is_denied && unsound.is_none() && !is_unknown {
            packet.drop = Some(denial(packet));
        }
        if let Some(reason) = self.closes(state, packet) {
            packet.drop = Some(reason);
        }
        if packet.drop.is_none() {
            rewrite::rewrite(packet);
        }
    }

    /// Why a packet to a data network must not reach its destination. This takes precedence over its rate.
    fn closes(&self, state: &mut State, packet: &mut Packet) -> Option<DropReason> {
        let is_bad = packet.family == Some(Family::V4) && packet.bad_checksum;
        let leaves = packet.forward == Some(Forward::Decapsulate) && !is_bad;
        if !leaves || packet.drop.is_some_and(|reason| reason != DropReason::MbrExceeded) {
            return None;
        }
        let name = if packet.family == Some(Family::V4) { table::CLOSED } else { table::CLOSED_IPV6 };
        let table = self.names.table(name)?;
        let entry = state.apply_table(table.id, &table.keys(packet), packet.octets)?;
        // Without a reason the packet passes.
        entry.parameters.first().and_then(|reason| DropReason::of_closed(*reason as u8))
    }

    fn is_spoofed(&self, state: &mut State, packet: &mut Packet) -> bool {
        let guard =
            if packet.family == Some(Family::V4) { table::SOURCE_GUARD } else { table::SOURCE_GUARD_IPV6 };
        self.apply(state, packet, guard).is_err()
    }

    fn ask_firewall(&self, state: &mut State, packet: &mut Packet) {
        let table = match (packet.family, packet.is_tunnelled) {
            (Some(Family::V4), true) => table::FIREWALL_UPLINK,
            (Some(Family::V4), false) => table::FIREWALL_DOWNLINK,
            (Some(Family::V6), true) => table::FIREWALL_UPLINK_IPV6,
            (Some(Family::V6), false) => table::FIREWALL_DOWNLINK_IPV6,
            (None, _) => return,
        };
        let _default = self.apply(state, packet, table);
    }

    /// Profile `thesis`: the rule is the tenant's, which the source guard has said for packets of UEs.
    fn match_tenant(&self, state: &mut State, packet: &mut Packet) {
        let _own_flow = self.apply(state, packet, table::FLOWS);
        if packet.is_tunnelled {
            return;
        }
        if self.apply(state, packet, table::UE_TUNNELS).is_err() {
            packet.drop = Some(DropReason::UnknownUe);
        }
        let _no_address = self.apply(state, packet, table::GNB_ADDRESSES);
    }

    fn match_pdr(&self, state: &mut State, packet: &mut Packet) {
        if self.names.by_tenant {
            return self.match_tenant(state, packet);
        }
        if self.first(state, packet, &[table::COMPLEX, table::COMPLEX_IPV6]).is_ok() {
            return;
        }
        let (tables, reason): (&[&str], DropReason) = match (packet.is_tunnelled, packet.family) {
            (true, _) => (
                &[
                    table::UL_TO_N6_COMPLEX,
                    table::UL_TO_N9_N3_COMPLEX,
                    table::UL_TO_N6_COMPLEX_IPV6,
                    table::UL_TO_N9_N3_COMPLEX_IPV6,
                    table::UL_TO_N6_SIMPLE,
                    table::UL_TO_N9_N3_SIMPLE,
                    table::DL_FROM_N9_SIMPLE,
                    table::UL_SIMPLE,
                ],
                DropReason::UnknownTeid,
            ),
            (false, Some(Family::V6)) => (
                &[table::DL_FROM_N6_COMPLEX_IPV6, table::DL_FROM_N6_SIMPLE_IPV6, table::DL_SIMPLE_IPV6],
                DropReason::UnknownUe,
            ),
            (false, _) => (
                &[table::DL_FROM_N6_COMPLEX, table::DL_FROM_N6_SIMPLE, table::DL_SIMPLE],
                DropReason::UnknownUe,
            ),
        };
        if self.first(state, packet, tables).is_err() {
            packet.drop = Some(reason);
        }
    }

    /// Applies the FAR and the QER, where the rule's entry does not contain them.
    fn forward(&self, state: &mut State, packet: &mut Packet) {
        if self.names.by_tenant && packet.forward == Some(Forward::Encapsulate) && packet.tunnel == 0 {
            packet.drop = Some(DropReason::NoForwarding);
        }
        let tables = [table::FAR, table::UL_TO_N6_TEMPLATE, table::UL_TO_N9_N3_TEMPLATE, table::DL_TEMPLATE];
        let has_tables = tables.iter().any(|table| self.names.table(table).is_some());
        if packet.rule == 0 || !has_tables {
            return;
        }
        if self.first(state, packet, &tables).is_err() {
            packet.drop = Some(DropReason::NoForwarding);
        }
        let _without_meter =
            self.first(state, packet, &[table::METER_LOOKUP, METERED[0], METERED[1], METERED[2]]);
    }

    /// Counts a packet before (0) or after (1) QoS enforcement.
    fn account(&self, state: &mut State, rule: u32, octets: u64, side: usize) {
        if let Some((_, cells)) = &self.names.by_index {
            if let Some((counter, index)) = cells.cell(side, rule) {
                state.count(counter, index, octets);
            }
            return;
        }
        for table in ACCOUNTING[side].iter().filter_map(|table| self.names.table(table)) {
            let _uncounted = state.apply_table(table.id, &[rule.into()], octets);
        }
    }

    fn meter(&self, state: &mut State, now: Time, packet: &mut Packet, meters: Meters) {
        if packet.meter != 0 {
            let Some((meter, index)) = meters.cell(packet.meter) else { return };
            let colour = state.mark(now, meter, index, packet.octets);
            packet.colour = colour as u8;
            if colour == Colour::Red {
                packet.drop = Some(DropReason::MbrExceeded);
            }
        }
    }

    /// Sets the port and queue of a packet that is not dropped.
    fn direct(&self, state: &mut State, packet: &mut Packet) {
        if packet.punt.is_some() {
            packet.egress_port = self.known.cpu_port;
            let _default = self.apply(state, packet, table::PUNT_PORTS);
        } else if packet.command != Some(Command::Send) {
            let _queue_zero = self.apply(state, packet, table::QUEUE_ASSIGNMENT);
            let tables = routes(packet);
            if self.first(state, packet, tables).is_err() {
                packet.drop = Some(DropReason::NoEgress);
            } else if packet.segment != 0 {
                self.enter_segment(state, packet);
            }
            if packet.drop.is_none() {
                state.count(self.names.queue_packets, packet.queue.into(), packet.octets);
            }
        }
    }
}

impl Upf {
    /// Whether the frame is of a segment of ours. GTP-U comes by those of gNBs alone.
    fn is_of_segment(&self, state: &mut State, packet: &mut Packet) -> bool {
        self.apply(state, packet, table::VXLAN_ARRIVALS).is_ok()
            && (!packet.is_for_gtpu || matches!(packet.tenant, 0 | ACCESS))
    }

    /// The frame leaves to the segment of its route.
    fn enter_segment(&self, state: &mut State, packet: &mut Packet) {
        if self.apply(state, packet, table::VXLAN_DEPARTURES).is_err() {
            packet.drop = Some(DropReason::NoEgress);
        } else if packet.underlay.is_some_and(|to| rewrite::octets_in_segment(packet) >= to.too_big) {
            packet.drop = Some(DropReason::TooBig);
        }
    }
}

impl Pipeline for Upf {
    type Packet = ProcessedFrame;

    fn ingress(
        &mut self,
        state: &mut State,
        now: Time,
        port: u16,
        frame: &[u8],
        out: &mut Output<Self::Packet>,
    ) {
        let mut packet = parser::parse(frame, port, &self.known);
        match packet.command {
            Some(Command::Route) => packet.forward = Some(Forward::Encapsulate),
            Some(Command::Send) => (packet.egress_port, packet.queue) = packet.send_to,
            None if packet.bad_command => packet.drop = Some(DropReason::BadCommand),
            Some(Command::Process) | None => {}
        }
        let is_user_packet = matches!(packet.command, None | Some(Command::Process));
        // Also what is for the UPF itself.
        let is_of_segment = packet.drop.is_none() && packet.arrival.is_some();
        if is_of_segment && !self.is_of_segment(state, &mut packet) {
            packet.drop = Some(DropReason::UnknownSegment);
        }
        let links = self.leaving.as_ref().filter(|_| port != self.known.cpu_port);
        let linked = links.and_then(|links| links.linked(state, port, frame.len()));
        let unchanged = match linked {
            Some(Linked::Network(to)) => Some(to),
            Some(Linked::Software(to)) => {
                let stays = packet.drop.is_none()
                    && packet.punt.is_none()
                    && !matches!(self.forward_or_leave(state, now, &mut packet), Err(ForSoftware));
                (!stays).then_some(to)
            }
            None => {
                if packet.drop.is_none() && packet.punt.is_none() && is_user_packet {
                    self.treat(state, now, &mut packet);
                }
                None
            }
        };
        if let Some(to) = unchanged {
            let (octets, packet) = (frame.len() as u64, ProcessedFrame::Punted(frame.to_vec()));
            out.push(QueuedPacket { port: to, queue: 0, octets, packet });
            return;
        }
        if packet.drop.is_none() {
            self.direct(state, &mut packet);
        }
        if packet.notify {
            let as_it_came = rewrite::without_cpu_header(frame, &packet);
            let copy = rewrite::push(&as_it_came, Punt::Notify, true, port, (packet.tenant, packet.rule));
            let octets = copy.len() as u64;
            out.push(QueuedPacket {
                port: self.known.cpu_port,
                queue: 0,
                octets,
                packet: ProcessedFrame::Punted(copy),
            });
        }
        if let Some(reason) = packet.drop {
            state.count(self.names.drops, reason as u32, packet.octets);
            return;
        }
        let frame = rewrite::frame(&packet);
        let ready = match packet.punt {
            Some(punt) => {
                let of = (packet.tenant, packet.rule);
                ProcessedFrame::Punted(rewrite::push(&frame, punt, false, port, of))
            }
            None => {
                let window = self.classes.as_ref().map_or(0, |classes| classes.window(state, now));
                ProcessedFrame::Forwarded { rule: packet.rule, seen: (window, packet.length), frame }
            }
        };
        let octets = ready.frame().len() as u64;
        out.push(QueuedPacket { port: packet.egress_port, queue: packet.queue, octets, packet: ready });
    }

    fn egress(&mut self, state: &mut State, now: Time, _: u16, packet: Self::Packet) -> Option<Vec<u8>> {
        match packet {
            ProcessedFrame::Forwarded { rule, seen, frame } => {
                self.account(state, rule, frame.len() as u64, 1);
                if rule != 0 {
                    let copy = self.find_heavy(state, now, rule, None, &frame);
                    self.copy = copy.or_else(|| self.find_class(state, rule, seen, &frame));
                }
                Some(frame)
            }
            ProcessedFrame::Punted(frame) => Some(frame),
            ProcessedFrame::SecondPass { rule, way, frame } => {
                self.copy = self.find_heavy(state, now, rule, Some(way), &frame);
                None
            }
        }
    }

    fn take_copy(&mut self) -> Option<QueuedPacket<Self::Packet>> {
        self.copy.take()
    }
}

impl Upf {
    /// Counts a packet for its rule, or takes a place for it: the copy that this makes.
    fn find_heavy(
        &mut self,
        state: &mut State,
        now: Time,
        rule: u32,
        takes: Option<usize>,
        frame: &[u8],
    ) -> Option<QueuedPacket<ProcessedFrame>> {
        let packet = heavy_hitters::Packet { takes, ..heavy_hitters::Packet::of_rule(rule) };
        let random = || self.random.u16(..);
        // An access that no switch can make drops the packet: the state knows.
        let packet = match self.heavy.as_ref()?.observe(state, now, &packet, random).ok()? {
            Finding::Nothing => return None,
            Finding::Takes { way } => ProcessedFrame::SecondPass { rule, way, frame: frame.to_vec() },
            Finding::Report { units } => ProcessedFrame::Punted(rewrite::heavy_hitter(frame, units, rule)),
        };
        Some(self.copy_of(packet))
    }

    /// Counts a packet for the class of its rule's session: the copy that says that it has changed.
    fn find_class(
        &self,
        state: &mut State,
        rule: u32,
        (window, octets): (u16, u16),
        frame: &[u8],
    ) -> Option<QueuedPacket<ProcessedFrame>> {
        let class = self.classes.as_ref()?.observe(state, window, rule, octets).ok()??;
        Some(self.copy_of(ProcessedFrame::Punted(rewrite::application_class(frame, class, rule))))
    }

    fn copy_of(&self, packet: ProcessedFrame) -> QueuedPacket<ProcessedFrame> {
        let octets = packet.frame().len() as u64;
        QueuedPacket { port: self.known.cpu_port, queue: 0, octets, packet }
    }
}

impl ProcessedFrame {
    const fn frame(&self) -> &Vec<u8> {
        match self {
            Self::Forwarded { frame, .. } | Self::Punted(frame) | Self::SecondPass { frame, .. } => frame,
        }
    }
}

/// Why a packet is dropped that the firewall denies.
const fn denial(packet: &Packet) -> DropReason {
    if packet.is_tunnelled { DropReason::FirewallUplink } else { DropReason::FirewallDownlink }
}

/// The tables with the next hop of a packet.
fn routes(packet: &Packet) -> &'static [&'static str] {
    match (packet.forward, packet.family) {
        (Some(Forward::Encapsulate), _) => &[table::TUNNEL_EXACT, table::TUNNEL_LPM],
        (_, Some(Family::V6)) => &[table::NETWORK_LPM_IPV6],
        (_, _) => &[table::NETWORK_EXACT, table::NETWORK_LPM],
    }
}

/// Copies a congestion mark of the underlay into the packet in the segment, the tunnel's or the user's (RFC 6040 clause 4.2);
/// true if that cannot carry it.
fn carry_underlay_congestion(packet: &mut Packet) -> bool {
    let Some(Arrival { tos: mark, .. }) = packet.arrival else { return false };
    let user = packet.tos();
    match &mut packet.outer {
        packet::Outer::AsItCame(outer) => {
            let Some(tos) = outer.get_mut(1) else { return false };
            carry(mark & 3, *tos).map(|carried| *tos = carried).is_none()
        }
        _ => carry(mark & 3, user).map(|carried| packet.set_tos(carried)).is_none(),
    }
}

/// Copies a congestion mark of the outer header into the user packet (RFC 6040 clause 4.2); true if the packet cannot
/// carry it.
fn carry_congestion(packet: &mut Packet) -> bool {
    let packet::Outer::AsItCame(outer) = &packet.outer else { return false };
    let mark = outer.get(1).map_or(0, |tos| tos & 3);
    carry(mark, packet.tos()).map(|tos| packet.set_tos(tos)).is_none()
}

/// The type of service of a packet behind a header with this mark; `None` if it cannot carry it.
const fn carry(mark: u8, tos: u8) -> Option<u8> {
    match (mark, tos & 3) {
        (3, 0) => None,
        (3, 1 | 2) => Some(tos | 3),
        (1, 2) => Some(tos & !3 | 1),
        _ => Some(tos),
    }
}
