//! The state of the gNBs, and their packet handling. No sockets, no clock.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use causeway_packet::Ip;
use causeway_packet::gtpu::{self, Extension, Message, Packet, Repr};
use causeway_types::{FTeid, Teid};

use super::tunnel::{BufferedPackets, Tunnel};
use super::{
    Bearer, GnbCounters, GnbId, HANDOVER_BUFFER_TIME, SignallingCounters, TunnelCounters, UeCounters, UeId,
    fteid,
};
use crate::timeline::Timeline;

/// The first TEID of a gNB. It differs visibly from the UPF's TEIDs.
const FIRST_TEID: u32 = 0x6000_0001;

pub(super) struct State {
    gnbs: Vec<GnbState>,
    ues: Vec<UeState>,
    /// GTP-U messages that wait to be sent.
    pub(super) outbox: Vec<(GnbId, SocketAddr, Vec<u8>)>,
    /// Ports that can no longer be used, with the reason.
    pub(super) lost_ports: Vec<String>,
    pub(super) stopping: bool,
    timeline: Timeline,
    next_echo: u16,
}

struct GnbState {
    name: String,
    address: IpAddr,
    tunnels: HashMap<Teid, Tunnel>,
    next_teid: u32,
    counters: GnbCounters,
}

#[derive(Default)]
struct UeState {
    link: Option<Link>,
    counters: UeCounters,
}

#[derive(Clone, Copy)]
struct Link {
    gnb: GnbId,
    bearer: Bearer,
    downlink: Teid,
}

/// Where an uplink packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Uplink {
    pub(super) gnb: GnbId,
    pub(super) upf: SocketAddr,
    pub(super) header: [u8; 16],
}

/// What a downlink datagram is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Downlink {
    /// A user packet for the UE, after so many octets of header.
    Deliver(UeId, usize),
    /// The old tunnel of a handover has ended: now the packets held in the new one may go.
    Released(UeId),
    /// Dealt with.
    Done,
}

impl State {
    pub(super) fn new(gnbs: impl Iterator<Item = (String, IpAddr)>, ues: usize, timeline: Timeline) -> Self {
        let gnb = |(index, (name, address))| {
            // Different gNBs never use the same TEID here, so that a mix-up shows.
            let next_teid = FIRST_TEID + 0x0100_0000 * u32::try_from(index).unwrap_or(0);
            GnbState { name, address, tunnels: HashMap::new(), next_teid, counters: GnbCounters::default() }
        };
        Self {
            gnbs: gnbs.enumerate().map(gnb).collect(),
            ues: (0..ues).map(|_| UeState::default()).collect(),
            outbox: Vec::new(),
            lost_ports: Vec::new(),
            stopping: false,
            timeline,
            next_echo: 1,
        }
    }

    pub(super) fn connect(&mut self, ue: UeId, gnb: GnbId, bearer: Bearer) -> Option<FTeid> {
        self.disconnect(ue);
        let tunnel = self.gnbs.get_mut(gnb.0)?.open_tunnel(ue)?;
        self.ues.get_mut(ue.0)?.link = Some(Link { gnb, bearer, downlink: tunnel.teid });
        Some(tunnel)
    }

    pub(super) fn disconnect(&mut self, ue: UeId) {
        let Some(link) = self.ues.get_mut(ue.0).and_then(|ue| ue.link.take()) else { return };
        if let Some(tunnel) = self.tunnel_mut(link.gnb, link.downlink) {
            tunnel.open = false;
        }
    }

    pub(super) fn hand_over(&mut self, ue: UeId, to: GnbId) -> Option<FTeid> {
        let old = self.ues.get(ue.0)?.link?;
        let target = self.gnbs.get_mut(to.0)?;
        let new = target.open_tunnel(ue)?;
        if let Some(tunnel) = target.tunnels.get_mut(&new.teid) {
            let behind = (old.gnb, old.downlink);
            tunnel.held = Some(BufferedPackets { behind, left: HANDOVER_BUFFER_TIME, packets: Vec::new() });
        }
        self.ues.get_mut(ue.0)?.link = Some(Link { gnb: to, downlink: new.teid, ..old });
        Some(new)
    }

    /// So much time of the thread that moves the packets has passed.
    pub(super) fn elapse(&mut self, time: Duration) {
        for tunnel in self.gnbs.iter_mut().flat_map(|gnb| gnb.tunnels.values_mut()) {
            if let Some(held) = &mut tunnel.held {
                held.left = held.left.saturating_sub(time);
            }
        }
    }

    /// The tunnel header for a packet from a UE; counts it.
    pub(super) fn uplink(&mut self, ue: UeId, packet: &[u8]) -> Option<Uplink> {
        let octets = packet.len();
        let ue = self.ues.get_mut(ue.0)?;
        let Some(link) = ue.link else {
            ue.counters.not_connected += 1;
            return None;
        };
        let upf = SocketAddr::new(link.bearer.uplink.addr.preferred()?, gtpu::PORT);
        let header = gtpu::prefix::uplink(link.bearer.uplink.teid, link.bearer.qfi, octets).ok()?;
        if stays_on_link(packet) {
            ue.counters.link_packets += 1;
        } else {
            ue.counters.uplink_packets += 1;
            ue.counters.uplink_octets += octets as u64;
        }
        Some(Uplink { gnb: link.gnb, upf, header })
    }

    /// Some packets that [`State::uplink`] has counted did not leave.
    pub(super) fn not_sent(&mut self, ue: UeId, packets: u64, octets: u64) {
        if let Some(ue) = self.ues.get_mut(ue.0) {
            ue.counters.uplink_packets = ue.counters.uplink_packets.saturating_sub(packets);
            ue.counters.uplink_octets = ue.counters.uplink_octets.saturating_sub(octets);
            ue.counters.unsent += packets;
        }
    }

    /// Some packets that [`State::downlink`] has counted did not reach their UE.
    pub(super) fn not_delivered(&mut self, ue: UeId, packets: u64) {
        if let Some(ue) = self.ues.get_mut(ue.0) {
            ue.counters.undelivered += packets;
        }
    }

    /// A port can no longer be used.
    pub(super) fn port_lost(&mut self, why: &causeway_ports::PortError) {
        let why = why.to_string();
        if !self.lost_ports.contains(&why) {
            self.lost_ports.push(why);
        }
    }

    /// Reads one datagram that a gNB received.
    pub(super) fn downlink(&mut self, gnb: GnbId, peer: SocketAddr, datagram: &[u8]) -> Downlink {
        let Ok(packet) = Packet::parse(datagram) else {
            self.count(gnb, |counters| counters.malformed += 1);
            return Downlink::Done;
        };
        match (packet.message, packet.header.teid) {
            (Message::GPdu(user), Some(teid)) => self.user_packet(gnb, peer, teid, &packet, user),
            (Message::EndMarker, Some(teid)) => self.end_marker(gnb, teid),
            (Message::EchoRequest, _) => {
                let answer = Repr::echo_response(packet.header.sequence.unwrap_or(0));
                self.queue(gnb, peer, &answer);
                Downlink::Done
            }
            (Message::EchoResponse, _) => {
                self.say("upf", gnb, "Echo Response", String::new());
                self.count(gnb, |counters| counters.echo_responses += 1);
                Downlink::Done
            }
            (Message::ErrorIndication(error), _) => {
                let detail = error.teid.map(|teid| format!("TEID {teid}")).unwrap_or_default();
                self.say("upf", gnb, "Error Indication", detail);
                self.count(gnb, |counters| counters.error_indications += 1);
                Downlink::Done
            }
            _ => {
                self.count(gnb, |counters| counters.malformed += 1);
                Downlink::Done
            }
        }
    }

    fn user_packet(
        &mut self,
        gnb: GnbId,
        peer: SocketAddr,
        teid: Teid,
        packet: &Packet<'_>,
        user: &[u8],
    ) -> Downlink {
        let Some(tunnel) = self.tunnel_mut(gnb, teid).filter(|tunnel| tunnel.open) else {
            self.send_error_indication(gnb, peer, teid);
            return Downlink::Done;
        };
        match packet.extensions.pdu_session() {
            Some(container) => tunnel.counters.qfis.insert(container.qfi()),
            None => tunnel.counters.without_container += 1,
        }
        if tunnel.counters.end_markers > 0 {
            tunnel.counters.after_end_marker += 1;
            return Downlink::Done;
        }
        tunnel.counters.packets += 1;
        tunnel.counters.octets += user.len() as u64;
        let ue = tunnel.ue;
        let held = tunnel.held.as_mut().map(|held| held.packets.push(user.to_vec())).is_some();
        if let Some(ue) = self.ues.get_mut(ue.0) {
            if stays_on_link(user) {
                ue.counters.link_packets += 1;
            } else {
                ue.counters.downlink_packets += 1;
                ue.counters.downlink_octets += user.len() as u64;
            }
        }
        if held { Downlink::Done } else { Downlink::Deliver(ue, packet.body_offset) }
    }

    fn end_marker(&mut self, gnb: GnbId, teid: Teid) -> Downlink {
        self.say("upf", gnb, "End Marker", format!("TEID {teid}"));
        self.count(gnb, |counters| counters.end_markers += 1);
        let Some(tunnel) = self.tunnel_mut(gnb, teid) else { return Downlink::Done };
        tunnel.counters.end_markers += 1;
        Downlink::Released(tunnel.ue)
    }

    /// Takes out the packets of a UE that waited for the end of an old tunnel: if it has ended, or the wait is
    /// over.
    pub(super) fn release_buffered(&mut self, ue: UeId) -> Vec<Vec<u8>> {
        let Some(link) = self.ues.get(ue.0).and_then(|ue| ue.link) else { return Vec::new() };
        let waits_for = |state: &Self| {
            let held = state.tunnel_ref(link.gnb, link.downlink)?.held.as_ref()?;
            Some((held.behind, held.left))
        };
        let Some(((gnb, teid), left)) = waits_for(self) else { return Vec::new() };
        if !left.is_zero() && self.tunnel(gnb, teid).end_markers == 0 {
            return Vec::new();
        }
        let held = self.tunnel_mut(link.gnb, link.downlink).and_then(|tunnel| tunnel.held.take());
        held.map(|held| held.packets).unwrap_or_default()
    }

    /// A tunnel that is not there: the sender is told (TS 29.281 clause 7.3.1).
    fn send_error_indication(&mut self, gnb: GnbId, peer: SocketAddr, teid: Teid) {
        self.count(gnb, |counters| counters.unknown_tunnel += 1);
        let Some(address) = self.gnbs.get(gnb.0).map(|gnb| gnb.address) else { return };
        let port = [Extension::UdpPort(peer.port())];
        let to = SocketAddr::new(peer.ip(), gtpu::PORT);
        self.queue(gnb, to, &Repr::error_indication(Some(teid), address, &port));
    }

    pub(super) fn queue_echo(&mut self, gnb: GnbId, upf: SocketAddr) {
        let sequence = self.next_echo;
        self.next_echo = sequence.wrapping_add(1);
        if let Some(name) = self.gnbs.get(gnb.0).map(|gnb| gnb.name.clone()) {
            self.timeline.message(&name, "upf", "Echo Request", "");
        }
        self.queue(gnb, upf, &Repr::echo_request(sequence));
    }

    fn queue(&mut self, gnb: GnbId, to: SocketAddr, message: &Repr<'_>) {
        // Signalling without user data always fits.
        if let Ok(octets) = message.to_vec() {
            self.count(gnb, |counters| counters.messages_sent += 1);
            self.outbox.push((gnb, to, octets));
        }
    }

    fn say(&self, from: &str, gnb: GnbId, label: &str, detail: String) {
        if let Some(gnb) = self.gnbs.get(gnb.0) {
            self.timeline.message(from, &gnb.name, label, detail);
        }
    }

    fn count(&mut self, gnb: GnbId, count: impl FnOnce(&mut GnbCounters)) {
        if let Some(gnb) = self.gnbs.get_mut(gnb.0) {
            count(&mut gnb.counters);
        }
    }

    fn tunnel_ref(&self, gnb: GnbId, teid: Teid) -> Option<&Tunnel> {
        self.gnbs.get(gnb.0)?.tunnels.get(&teid)
    }

    fn tunnel_mut(&mut self, gnb: GnbId, teid: Teid) -> Option<&mut Tunnel> {
        self.gnbs.get_mut(gnb.0)?.tunnels.get_mut(&teid)
    }

    pub(super) fn tunnel(&self, gnb: GnbId, teid: Teid) -> TunnelCounters {
        self.tunnel_ref(gnb, teid).map(|tunnel| tunnel.counters).unwrap_or_default()
    }

    pub(super) fn ue(&self, ue: UeId) -> UeCounters {
        self.ues.get(ue.0).map(|ue| ue.counters).unwrap_or_default()
    }

    pub(super) fn gnb_counters(&self, gnb: GnbId) -> GnbCounters {
        self.gnbs.get(gnb.0).map(|gnb| gnb.counters).unwrap_or_default()
    }

    pub(super) fn signalling(&self) -> SignallingCounters {
        let mut all = SignallingCounters::default();
        for GnbState { counters, .. } in &self.gnbs {
            all.sent += counters.messages_sent;
            all.received += counters.echo_responses + counters.end_markers + counters.error_indications;
        }
        all
    }

    pub(super) fn ues(&self) -> usize {
        self.ues.len()
    }

    pub(super) fn total(&self) -> UeCounters {
        let mut total = UeCounters::default();
        self.ues.iter().for_each(|ue| total.add(&ue.counters));
        total
    }
}

/// One end of the packet is the link itself: Router Solicitations and the like, which no router forwards.
fn stays_on_link(packet: &[u8]) -> bool {
    let Ok(ip) = Ip::parse(packet) else { return false };
    let of_link = |address: IpAddr| match address {
        IpAddr::V6(address) => {
            address.is_unspecified()
                || address.is_unicast_link_local()
                || (address.is_multicast() && address.octets()[1] & 0x0f <= 2)
        }
        IpAddr::V4(_) => false,
    };
    of_link(ip.src()) || of_link(ip.dst())
}

impl GnbState {
    fn open_tunnel(&mut self, ue: UeId) -> Option<FTeid> {
        let teid = Teid::new(self.next_teid)?;
        self.next_teid += 1;
        self.tunnels.insert(teid, Tunnel::new(ue));
        Some(fteid(teid, self.address))
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
