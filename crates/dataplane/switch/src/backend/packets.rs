//! The software behind the switch: frames that it receives, and packets that it sends.

use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::{Egress, Ingress, PacketEngine};
use causeway_packet::gtpu::prefix;
use causeway_types::{PdrId, Qfi, Seid, Time};

use super::cpu_port::{self, CpuPortFrame, GTPU_PORT};
use super::direct::{self, LookupPoint};
use super::layout::Profile;
use super::outcomes::InFlight;
use super::switch::Switch;
use crate::SwitchPdr;
use crate::driver::{Request, SwitchDriver};
use crate::model::upf::Punt;

/// The most frames that wait for an operation or for the switch.
const MAX_WAITING: usize = 1024;

impl<D: SwitchDriver> Switch<D> {
    /// A frame of the switch for its controller.
    pub(super) fn handle_frame(&mut self, now: Time, frame: Vec<u8>) {
        let Some(punted) = CpuPortFrame::parse(&frame) else {
            self.statistics.ignored_frames += 1;
            return;
        };
        let rule = self.rules.get(&self.decode_rule_number(punted.rule).0);
        let session = rule.map(|rule| rule.session);
        if let Some(operation) = rule.and_then(|rule| rule.fresh.or(rule.altering))
            && let Some(pending) = self.operations.get_mut(&operation)
            && pending.led.is_none()
        {
            if pending.frames.len() < MAX_WAITING {
                pending.frames.push(frame);
            } else {
                self.statistics.ignored_frames += 1;
            }
            return;
        }
        match self.ingress_of(&punted) {
            Some((ingress, packet)) => {
                self.handle(now, &ingress, &packet);
                // It may have exhausted a quota.
                session.into_iter().for_each(|seid| self.update_for_quota(seid));
            }
            None => self.statistics.ignored_frames += 1,
        }
    }

    /// The software handles a packet; its output is sent.
    pub(super) fn handle(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) {
        self.last_fate = Some(self.software.process_without_timers(now, ingress, packet));
        self.send_from_software(now);
    }

    /// Sends the software's packets, in order.
    pub(super) fn send_from_software(&mut self, now: Time) {
        let mut out: Vec<(Egress, Vec<u8>)> = Vec::new();
        self.software.flush(&mut out);
        for (egress, packet) in out {
            match self.frame_of(&egress, &packet) {
                // A switch without routes would drop it.
                Some(frame) if self.reconcile.is_some() && self.held_frames.len() < MAX_WAITING => {
                    self.held_frames.push_back(frame);
                }
                Some(frame) => self.send_request(now, Request::PacketOut(frame), InFlight::Frame),
                None => self.statistics.ignored_frames += 1,
            }
        }
    }

    /// Sends the frames that waited until the switch had its routes again.
    pub(super) fn send_held(&mut self, now: Time) {
        for frame in std::mem::take(&mut self.held_frames) {
            self.send_request(now, Request::PacketOut(frame), InFlight::Frame);
        }
    }

    fn frame_of(&self, egress: &Egress, packet: &[u8]) -> Option<Vec<u8>> {
        match egress {
            Egress::Gtpu { local: IpAddr::V4(local), peer: SocketAddr::V4(peer), tos, hops } => {
                let datagram =
                    cpu_port::in_udp((*local, GTPU_PORT), (*peer.ip(), peer.port()), (*tos, *hops), packet)?;
                Some(cpu_port::route(&datagram))
            }
            Egress::Ip { .. } => {
                let to = match packet.first()? >> 4 {
                    4 => IpAddr::from(*packet.get(16..)?.first_chunk::<4>()?),
                    _ => IpAddr::from(*packet.get(24..)?.first_chunk::<16>()?),
                };
                Some(cpu_port::send(&self.config.network_hop(to)?, packet))
            }
            Egress::Gtpu { .. } | Egress::Ethernet { .. } => None,
        }
    }

    /// The ingress and the packet that the software would have received without the switch.
    fn ingress_of(&self, punted: &CpuPortFrame<'_>) -> Option<(Ingress, Vec<u8>)> {
        let network = || self.config.topology.networks.first().map(|network| network.instance.clone());
        if punted.is(Punt::Signalling) {
            let (ingress, message) = cpu_port::out_of_udp(punted.packet)?;
            return Some((ingress, message.to_vec()));
        }
        if punted.is(Punt::Buffer) || punted.is(Punt::TtlExpired) {
            let (number, flow) = self.decode_rule_number(punted.rule);
            let rule = self.rules.get(&number).filter(|rule| rule.content.is_tunnelled);
            if let Some(rule) = rule {
                return self.in_its_tunnel(rule.session, rule.pdr, flow, punted.packet);
            }
            return Some((Ingress::Ip { network: network()? }, punted.packet.to_vec()));
        }
        if punted.is(Punt::Local) {
            return Some((Ingress::Ip { network: network()? }, punted.packet.to_vec()));
        }
        None
    }

    /// The number of a rule in a frame of the switch, and the QFI of the packet if it is encoded with it.
    fn decode_rule_number(&self, rule: u32) -> (SwitchPdr, Option<u8>) {
        match self.layout.profile {
            Profile::Direct => {
                let (number, flow) = direct::decode_rule_number(rule);
                (SwitchPdr(number), flow)
            }
            _ => (SwitchPdr(rule), None),
        }
    }

    /// Restores the tunnel that the switch has removed, as far as it is known: with the received QFI, or the one of the
    /// rule.
    fn in_its_tunnel(
        &self,
        seid: Seid,
        pdr: PdrId,
        flow: Option<u8>,
        packet: &[u8],
    ) -> Option<(Ingress, Vec<u8>)> {
        let pdi = &self.software.rules_of(seid)?.pdrs.get(&pdr)?.pdi;
        let tunnel = pdi.tunnel?;
        let local = tunnel.addr.v4?;
        let placed = self.sessions.get(&seid).and_then(|state| state.placed.get(&pdr));
        let flow = flow.or_else(|| match placed?.wanted.spot.as_ref()? {
            LookupPoint::Tunnel { flows, .. } => direct::flow_of(*flows),
            LookupPoint::Ue { .. } => None,
        });
        let qfi = match flow {
            Some(flow) => Qfi::new(flow).filter(|qfi| qfi.value() != 0),
            None => pdi.qfis.iter().next(),
        };
        let mut message = match qfi {
            Some(qfi) => prefix::uplink(tunnel.teid, qfi, packet.len()).ok()?.to_vec(),
            None => prefix::without_extensions(tunnel.teid, packet.len()).ok()?.to_vec(),
        };
        message.extend_from_slice(packet);
        let peer = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), GTPU_PORT);
        Some((Ingress::Gtpu { local: IpAddr::V4(local), peer, tos: 0, hops: None }, message))
    }
}
