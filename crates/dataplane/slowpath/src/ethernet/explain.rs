//! What would become of a frame, and why.

use causeway_dataplane::{Ingress, PdrMismatch, SessionKey, SessionTrial};
use causeway_types::{NetworkInstance, PdrId, Seid, Time};

use super::Frame;
use super::matching::{ReceivedFrame, mismatch};
use super::neighbours::NeighbourKey;
use super::proxy::requested_address;
use super::stations::Station;
use super::{Neighbours, Stations};
use crate::engine::SlowPath;
use crate::explain::PdrTrials;
use crate::received::PacketOrigin;

impl SlowPath {
    /// The sessions that a frame from a network may be for.
    pub(crate) fn sessions_for_frame(&self, network: &NetworkInstance, bytes: &[u8]) -> Vec<Seid> {
        let targets = Frame::parse(bytes).and_then(|frame| self.targets(network, &frame));
        targets.map(|targets| targets.sessions).unwrap_or_default()
    }

    /// The key of a frame from a network.
    pub(crate) fn mac_key(network: &NetworkInstance, bytes: &[u8]) -> Option<SessionKey> {
        let address = Frame::parse(bytes).ok()?.ethernet.dst;
        Some(SessionKey::Mac { network: network.clone(), address })
    }

    /// The part of the stations and neighbours that decides on a frame, for a copy of this state with these sessions.
    pub(crate) fn ethernet_part(
        &self,
        ingress: &Ingress,
        packet: &[u8],
        sessions: &[Seid],
    ) -> (Stations, Neighbours) {
        let bytes = match ingress {
            Ingress::Ethernet { .. } => Some(packet),
            _ => self.user_packet(ingress, packet).map(|(_, bytes)| bytes),
        };
        let Some(frame) = bytes.and_then(|bytes| Frame::parse(bytes).ok()) else {
            return (self.stations.part(sessions, &[]), Neighbours::default());
        };
        // Where the UPF changes VLAN tags, the network's are others: stations of the session are there, neighbours are not.
        let networks = self.topology.ethernet.iter().map(|network| &network.instance);
        let stations = networks.flat_map(|network| {
            [frame.ethernet.src, frame.ethernet.dst].map(|mac| Station {
                network: network.clone(),
                vlans: frame.vlans(),
                mac,
            })
        });
        let stations: Vec<Station> = stations.collect();
        let places = requested_address(&frame).into_iter().flat_map(|ip| {
            let networks = self.topology.ethernet.iter().map(|network| network.instance.clone());
            let vlans = frame.vlans();
            networks.map(move |network| NeighbourKey { network, vlans, ip })
        });
        (self.stations.part(sessions, &stations), self.neighbours.part(places))
    }

    /// Compares a frame with the PDRs of these sessions, as it is received.
    pub(crate) fn try_frame_pdrs(
        &self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        candidates: &[Seid],
    ) -> Option<PdrTrials> {
        let (origin, bytes, is_session_wide) = match ingress {
            Ingress::Ethernet { network } => {
                let origin = PacketOrigin { network: Some(network.clone()), ..PacketOrigin::default() };
                let targets = self.targets(network, &Frame::parse(packet).ok()?).ok()?;
                (origin, packet, targets.is_session_wide)
            }
            _ => {
                let (origin, bytes) = self.user_packet(ingress, packet)?;
                (origin, bytes, true)
            }
        };
        let frame = Frame::parse(bytes).ok()?;
        let PacketOrigin { tunnel, network, .. } = origin;
        let arrived = ReceivedFrame { tunnel, network, is_session_wide, frame: &frame };
        let (wall, mut trials) = (self.shared.wall.at(now), Vec::new());
        for seid in candidates {
            let Some(session) = self.sessions.get(seid) else { continue };
            let mut pdrs: Vec<(PdrId, Option<PdrMismatch>)> = Vec::new();
            for pdr in session.pdrs_in_order() {
                let why =
                    if pdr.is_active(wall) { mismatch(pdr, &arrived) } else { Some(PdrMismatch::NotActive) };
                pdrs.push((pdr.id, why));
                if why.is_none() {
                    trials.push(SessionTrial { session: *seid, pdrs });
                    return Some((trials, Some((*seid, pdr.id))));
                }
            }
            trials.push(SessionTrial { session: *seid, pdrs });
        }
        Some((trials, None))
    }
}
