//! Packets between the switch and the software behind it: frames that it receives, and packets that it sends.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use causeway_dataplane::{Egress, Ingress};
use causeway_model::RuleSet;
use causeway_packet::gtpu::prefix;
use causeway_slowpath::lease::Software;
use causeway_types::{Qfi, Time};

use super::config::Config;
use super::cpu_port::{self, CpuPortFrame, GTPU_PORT};
use super::direct::{self, LookupPoint};
use super::layout::{Layout, Profile};
use super::requests::{InFlight, Requests};
use super::segments::Segment;
use super::session_state::NumberRecord;
use super::sessions::Sessions;
use super::underlay::{self, Inside};
use crate::SwitchPdr;
use crate::driver::{Outcome, Request, SwitchDriver};
use crate::model::upf::Punt;

/// The most frames that wait for the routes of the switch.
const MAX_WAITING: usize = 1024;

/// Converts packets to frames of the CPU port and back.
#[derive(Debug)]
pub(super) struct PacketIo {
    layout: Arc<Layout>,
    config: Arc<Config>,
    /// Frames of the software that wait for the routes of the switch.
    held: VecDeque<Vec<u8>>,
    ignored: u64,
    unsent: u64,
}

impl PacketIo {
    pub(super) fn new(layout: &Arc<Layout>, config: &Arc<Config>) -> Self {
        Self {
            layout: Arc::clone(layout),
            config: Arc::clone(config),
            held: VecDeque::new(),
            ignored: 0,
            unsent: 0,
        }
    }

    /// Frames that were ignored.
    pub(super) const fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Frames that the switch did not get.
    pub(super) const fn unsent(&self) -> u64 {
        self.unsent
    }

    /// The switch has got a frame, or not.
    pub(super) fn sent(&mut self, outcome: &Outcome) {
        self.unsent += u64::from(outcome.is_err());
    }

    /// A frame is ignored.
    pub(super) const fn ignore(&mut self) {
        self.ignored += 1;
    }

    /// Sends the software's packets, in order. While the switch has no routes or is unreachable, they wait.
    pub(super) fn send<D: SwitchDriver>(
        &mut self,
        now: Time,
        out: Vec<(Egress, Vec<u8>)>,
        has_routes: bool,
        requests: &mut Requests<D>,
    ) {
        for (egress, packet) in out {
            match self.frame_of(&egress, &packet) {
                // A switch without routes would drop it, and so does the driver of one that is unreachable.
                Some(frame) if !has_routes && self.held.len() < MAX_WAITING => self.held.push_back(frame),
                Some(_) if !has_routes => self.unsent += 1,
                Some(frame) => requests.send(now, Request::PacketOut(frame), InFlight::Frame),
                None => self.ignored += 1,
            }
        }
    }

    /// Sends the frames that waited until the switch had its routes again.
    pub(super) fn send_held<D: SwitchDriver>(&mut self, now: Time, requests: &mut Requests<D>) {
        for frame in std::mem::take(&mut self.held) {
            requests.send(now, Request::PacketOut(frame), InFlight::Frame);
        }
    }

    /// Answers a frame that asks for the address of a segment. One that asks for another is ignored.
    pub(super) fn answer<D: SwitchDriver>(
        &mut self,
        now: Time,
        frame: &CpuPortFrame<'_>,
        requests: &mut Requests<D>,
    ) {
        let answer = || {
            let inside = underlay::inside(frame.packet)?;
            let segment = self.segment_of(&inside)?;
            let answer = segment.end().answer(inside.frame).ok()??;
            Some(cpu_port::send(&segment.hop, &underlay::frame_to_segment(segment, &answer)?))
        };
        match answer() {
            // It needs no routes: the frame is complete.
            Some(answer) => requests.send(now, Request::PacketOut(answer), InFlight::Frame),
            None => self.ignored += 1,
        }
    }

    fn frame_of(&self, egress: &Egress, packet: &[u8]) -> Option<Vec<u8>> {
        match egress {
            Egress::Gtpu { local: IpAddr::V4(local), peer: SocketAddr::V4(peer), tos, hops } => {
                let datagram =
                    cpu_port::in_udp((*local, GTPU_PORT), (*peer.ip(), peer.port()), (*tos, *hops), packet)?;
                Some(cpu_port::route(&datagram))
            }
            Egress::Ip { network } => {
                let tenant = self.config.tenant_of(network)?;
                if let Some(segment) = self.config.segment(tenant) {
                    return cpu_port::send_to_segment(segment, packet);
                }
                let to = match packet.first()? >> 4 {
                    4 => IpAddr::from(*packet.get(16..)?.first_chunk::<4>()?),
                    _ => IpAddr::from(*packet.get(24..)?.first_chunk::<16>()?),
                };
                Some(cpu_port::send(&self.config.network_hop(to)?, packet))
            }
            Egress::Gtpu { .. } | Egress::Ethernet { .. } => None,
        }
    }

    /// The rule of a frame's packet.
    pub(super) fn rule_of<'s>(
        &self,
        frame: &CpuPortFrame<'_>,
        sessions: &'s Sessions,
    ) -> Option<&'s NumberRecord> {
        sessions.rule(self.decode_rule_number(frame.rule).0)
    }

    /// The ingress and the packet that the software would have received without the switch.
    pub(super) fn ingress_of(
        &self,
        now: Time,
        frame: &CpuPortFrame<'_>,
        sessions: &Sessions,
        software: &mut dyn Software,
    ) -> Option<(Ingress, Vec<u8>)> {
        let network = || self.config.network_of(frame.tenant).cloned();
        if frame.is(Punt::Signalling) {
            let (ingress, message) = cpu_port::out_of_udp(self.out_of_segment(frame.packet))?;
            return Some((ingress, message.to_vec()));
        }
        if frame.is(Punt::Buffer) || frame.is(Punt::TtlExpired) {
            let (number, flow) = self.decode_rule_number(frame.rule);
            // Entries say the flow of packets that are all for the software, not of those that expire.
            let flow = flow.filter(|_| frame.is(Punt::Buffer));
            let rule = sessions.rule(number).filter(|rule| rule.content.is_tunnelled);
            if let Some(rule) = rule {
                return in_its_tunnel(
                    rule,
                    flow,
                    frame.packet,
                    sessions,
                    software.rules_of(now, rule.session)?,
                );
            }
            return Some((Ingress::Ip { network: network()? }, frame.packet.to_vec()));
        }
        if frame.is(Punt::Local) {
            let packet = self.out_of_segment(frame.packet);
            return Some((Ingress::Ip { network: network()? }, packet.to_vec()));
        }
        None
    }

    /// What is for the UPF itself comes with all headers: the packet that it has behind those of a segment, if it has any.
    fn out_of_segment<'p>(&self, packet: &'p [u8]) -> &'p [u8] {
        let inside = underlay::inside(packet).filter(|inside| self.segment_of(inside).is_some());
        inside.map_or(packet, |inside| inside.packet)
    }

    /// The segment of a packet in the underlay.
    fn segment_of(&self, inside: &Inside<'_>) -> Option<&Segment> {
        self.config.segment_between(inside.vni, inside.from).filter(|it| it.local == inside.to)
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
}

/// Restores the tunnel that the switch has removed, as far as it is known: with the received QFI, or the one of the
/// rule.
fn in_its_tunnel(
    rule: &NumberRecord,
    flow: Option<u8>,
    packet: &[u8],
    sessions: &Sessions,
    rules: &RuleSet,
) -> Option<(Ingress, Vec<u8>)> {
    let pdi = &rules.pdrs.get(&rule.pdr)?.pdi;
    let tunnel = pdi.tunnel?;
    let local = tunnel.addr.v4?;
    let placed = sessions.get(rule.session).and_then(|state| state.placed.get(&rule.pdr));
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
