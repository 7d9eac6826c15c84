//! GTP-U messages from peers (TS 29.281).

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;

use causeway_dataplane::{Disposition, DropReason, Egress, Event};
use causeway_model::PduSessionType;
use causeway_packet::ParseError;
use causeway_packet::gtpu::{ErrorIndication, Message, Packet, PduSession, Repr};
use causeway_types::{FTeid, NetworkInstance, Teid, Time};

use crate::carried_extensions::{CarriedExtensions, has_unknown};
use crate::ecn;
use crate::egress::GTPU_PORT;
use crate::engine::SlowPath;
use crate::marks::tos_of;
use crate::received::{PacketOrigin, TunnelSource};

/// The outer header of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outer {
    /// The local address it was sent to.
    pub(crate) local: IpAddr,
    /// The sender.
    pub(crate) peer: SocketAddr,
    /// Its type of service or traffic class.
    pub(crate) tos: u8,
    /// Its TTL or Hop Limit, where known.
    pub(crate) hops: Option<NonZeroU8>,
}

impl SlowPath {
    /// Handles one GTP-U message.
    pub(crate) fn receive_gtpu(&mut self, now: Time, outer: Outer, bytes: &[u8]) -> Disposition {
        let Outer { local, peer, hops, .. } = outer;
        let packet = match Packet::parse(bytes) {
            Ok(packet) => packet,
            Err(error) => return Disposition::Dropped(drop_reason_of(&error)),
        };
        match packet.message {
            Message::GPdu(user) => self.receive_g_pdu(now, outer, &packet, user),
            Message::EchoRequest => {
                self.answer(local, peer, &Repr::echo_response(packet.header.sequence.unwrap_or(0)))
            }
            Message::ErrorIndication(indication) => self.receive_error_indication(&indication, peer.ip()),
            Message::EndMarker => self.receive_end_marker(now, local, hops, &packet),
            Message::EchoResponse => {
                self.receive_echo_response(local, peer.ip(), packet.header.sequence);
                Disposition::Consumed
            }
            Message::SupportedExtensionHeaders(_) => Disposition::Consumed,
            Message::Other { .. } => Disposition::Dropped(DropReason::UnsupportedGtpMessage),
        }
    }

    fn receive_g_pdu(&mut self, now: Time, outer: Outer, packet: &Packet<'_>, user: &[u8]) -> Disposition {
        let Outer { local, peer, tos, hops } = outer;
        let Some(teid) = packet.header.teid else { return Disposition::Dropped(DropReason::UnknownTeid) };
        let session = self.session_of(Some(teid), local).and_then(|seid| self.sessions.get(&seid));
        if has_unknown(&packet.extensions, session.map(Box::as_ref), teid, local) {
            self.send_supported_extension_headers(now, local, peer.ip());
            return Disposition::Dropped(DropReason::UnsupportedExtension);
        }
        let Some(seid) = self.session_of(Some(teid), local) else {
            self.send_error_indication(now, teid, local, peer);
            return Disposition::Dropped(DropReason::UnknownTeid);
        };
        let qfi = packet.extensions.pdu_session().as_ref().map(PduSession::qfi);
        let tunnel = TunnelSource { teid, local, qfi };
        let network = self.instance_of(local);
        if self.sessions.get(&seid).map(|session| session.rules.pdu_type) == Some(PduSessionType::Ethernet) {
            let extensions = CarriedExtensions { hops, ..CarriedExtensions::default() };
            let origin =
                PacketOrigin { tunnel: Some(tunnel), network, extensions, ..PacketOrigin::default() };
            return self.receive_frame_of(now, seid, origin, user);
        }
        let extensions = CarriedExtensions::of(&packet.extensions, hops);
        let origin = PacketOrigin { tunnel: Some(tunnel), network, extensions, ..PacketOrigin::default() };
        match ecn::decapsulate(tos, tos_of(user).unwrap_or(tos), user) {
            Ok(user) => self.receive_user(now, &[seid], origin, &user),
            Err(reason) => Disposition::Dropped(reason),
        }
    }

    fn session_of(&self, teid: Option<Teid>, local: IpAddr) -> Option<causeway_types::Seid> {
        self.index.session_of_tunnel(teid?, local)
    }

    /// The network instance that a local address serves; `None` serves all.
    pub(crate) fn instance_of(&self, local: IpAddr) -> Option<NetworkInstance> {
        let endpoint = self.topology.gtpu.iter().find(|endpoint| endpoint.addr.contains(local))?;
        endpoint.network_instance.clone()
    }

    /// Sends an Error Indication for an unknown tunnel, to the GTP-U port as clause 4.4.2.4 demands. It lacks the
    /// optional UDP Port extension header, which not every receiver knows.
    fn send_error_indication(&mut self, now: Time, teid: Teid, local: IpAddr, peer: SocketAddr) {
        if self.may_respond(peer.ip(), now) && self.indications.may_send(local, teid, peer.ip(), now) {
            let to = SocketAddr::new(peer.ip(), GTPU_PORT);
            self.answer(local, to, &Repr::error_indication(Some(teid), local, &[]));
        }
    }

    /// Sends Supported Extension Headers Notification, to the GTP-U port as clause 4.4.2.5 demands.
    fn send_supported_extension_headers(&mut self, now: Time, local: IpAddr, peer: IpAddr) {
        if self.may_respond(peer, now) {
            let to = SocketAddr::new(peer, GTPU_PORT);
            self.answer(local, to, &Repr::supported_extension_headers(0));
        }
    }

    /// The peer is one remote host, within the rate limit of responses.
    fn may_respond(&mut self, peer: IpAddr, now: Time) -> bool {
        self.is_another_host(peer) && self.signalling_limit.may_send(peer, now)
    }

    /// The peer is one remote host.
    pub(crate) fn is_another_host(&self, peer: IpAddr) -> bool {
        let is_broadcast = matches!(peer, IpAddr::V4(ip) if ip.is_broadcast());
        let is_own = self.topology.gtpu.iter().any(|endpoint| endpoint.addr.contains(peer));
        !(peer.is_multicast() || peer.is_unspecified() || is_broadcast || is_own)
    }

    /// Handles an Error Indication. A peer is authorized for its own tunnels only: an attacker could cut a UE off by
    /// naming another's.
    fn receive_error_indication(&mut self, indication: &ErrorIndication, sender: IpAddr) -> Disposition {
        if indication.peer != sender {
            return Disposition::Dropped(DropReason::ErrorIndicationMismatch);
        }
        if let Some(teid) = indication.teid {
            let tunnel = FTeid { teid, addr: indication.peer.into() };
            for seid in self.index.sessions_of_remote(teid, indication.peer) {
                let session = self.sessions.get_mut(&seid);
                if session.is_some_and(|session| session.refused_tunnels.insert(tunnel)) {
                    self.events.push_back(Event::ErrorIndication { session: seid, tunnel });
                }
            }
        }
        Disposition::Consumed
    }

    pub(crate) fn answer(&mut self, local: IpAddr, peer: SocketAddr, message: &Repr<'_>) -> Disposition {
        if let Ok(packet) = message.to_vec() {
            self.send(Egress::Gtpu { local, peer, tos: 0, hops: None }, packet);
        }
        Disposition::Consumed
    }
}

/// The drop reason of a message that cannot be parsed.
pub const fn drop_reason_of(error: &ParseError) -> DropReason {
    match error {
        ParseError::Version { .. } | ParseError::GtpPrime => DropReason::UnsupportedGtpVersion,
        _ => DropReason::MalformedGtpu,
    }
}
