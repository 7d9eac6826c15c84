//! The fast path with a session that asks for the class of its traffic, driven in model time as a packet thread drives it.

use std::net::Ipv4Addr;
use std::sync::Arc;

use causeway_dataplane::{
    Dataplane, Disposition, Egress, Event, GtpuEndpoint, Ingress, Network, PacketEngine, Topology,
};
use causeway_fastpath::FastPath;
use causeway_model::{
    Applications, Far, Forwarding, HeaderRemoval, Pdi, Pdr, Plan, RuleSet, TrafficClasses, UeAddress, UeSide,
};
use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, IpRepr, UdpRepr};
use causeway_slowpath::Limits;
use causeway_traffic::classes::Model;
use causeway_types::{
    Direction, FTeid, FarId, Interface, IpNet, Ipv4Net, NetworkInstance, PdrId, Precedence, Seid, Teid, Time,
};

use super::generator::Packet;
use crate::ExperimentError;
use crate::training::TrainingError;

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);
const SESSION: Seid = Seid(1);
const TEID: Teid = match Teid::new(1) {
    Some(teid) => teid,
    None => panic!("not zero"),
};
/// Octets of an IPv4 and a UDP header.
const HEADERS: u32 = 28;

/// The fast path with one session.
pub(super) struct Plane {
    engine: FastPath,
    sent: Vec<(Egress, Vec<u8>)>,
    frame: Vec<u8>,
    payload: Vec<u8>,
    forwarded: u64,
}

impl Plane {
    /// With the session, whose downlink has a PDR for the first application of the model.
    ///
    /// # Errors
    /// [`ExperimentError`] when there is no memory for the tables, or the model is none of a UPF.
    pub(super) fn new(model: &Model, now: Time) -> Result<Self, ExperimentError> {
        let classes = TrafficClasses::new(model).map_err(TrainingError::from)?;
        let application = classes.applications().next().map(|(id, _)| id.clone());
        let pool = Ipv4Net::new(UE, 32).map(IpNet::V4);
        let topology = Topology {
            gtpu: vec![GtpuEndpoint::new(UPF.into())],
            networks: vec![Network::new(network(), pool.into_iter().collect())],
            ..Topology::default()
        };
        let mut engine = FastPath::new(topology, Limits { max_sessions: 1, ..Limits::default() })?;
        engine.set_applications(&Arc::new(Applications::default().with_classes(Some(Arc::new(classes)))));

        let ue = |side| Some(UeAddress { v4: Some(UE), v6: None, side });
        let tunnel = Some(FTeid { teid: TEID, addr: UPF.into() });
        let uplink = Pdi { tunnel, ue: ue(UeSide::Source), ..Pdi::new(Interface::Access) };
        let downlink = Pdi { ue: ue(UeSide::Destination), ..Pdi::new(Interface::Core) };
        let of_class = Pdi { application, ..downlink.clone() };
        let removal = Some(HeaderRemoval::GTPU_IPV4);
        let pdrs = [
            Pdr { removal, ..Pdr::new(PdrId(1), uplink, FarId(1)) },
            Pdr { precedence: Precedence(255), ..Pdr::new(PdrId(2), downlink, FarId(2)) },
            Pdr { precedence: Precedence(100), ..Pdr::new(PdrId(3), of_class, FarId(2)) },
        ];
        let gnb = FTeid { teid: TEID, addr: GNB.into() };
        let fars = [
            Far::forward(FarId(1), Forwarding::to(Interface::Core)),
            Far::forward(FarId(2), Forwarding::into_tunnel(Interface::Access, gnb)),
        ];
        let rules = RuleSet {
            pdrs: pdrs.into_iter().map(|pdr| (pdr.id, pdr)).collect(),
            fars: fars.into_iter().map(|far| (far.id, far)).collect(),
            ..RuleSet::default()
        };
        engine.apply(now, &Plan::install(SESSION, rules))?;
        let (sent, frame, payload) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { engine, sent, frame, payload, forwarded: 0 })
    }

    /// When it has something to do without a packet: here, when a window ends.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.engine.next_deadline()
    }

    /// The thread wakes without a packet.
    pub(super) fn advance(&mut self, now: Time) {
        self.engine.advance(now);
    }

    /// The thread receives a packet.
    ///
    /// # Errors
    /// [`ExperimentError::Packet`] when it cannot be built.
    pub(super) fn receive(&mut self, packet: &Packet) -> Result<(), ExperimentError> {
        let ((src, dst), ports) = match packet.direction {
            Direction::Uplink => ((UE, SERVER), UdpRepr { src_port: 5000, dst_port: 5001 }),
            Direction::Downlink => ((SERVER, UE), UdpRepr { src_port: 5001, dst_port: 5000 }),
        };
        self.payload.resize(packet.octets.saturating_sub(HEADERS) as usize, 0);
        self.frame.clear();
        let ingress = match packet.direction {
            Direction::Uplink => {
                let octets = self.payload.len() + HEADERS as usize;
                self.frame.extend_from_slice(&prefix::without_extensions(TEID, octets)?);
                Ingress::Gtpu { local: UPF.into(), peer: (GNB, 2152).into(), tos: 0, hops: None }
            }
            Direction::Downlink => Ingress::Ip { network: network() },
        };
        let ip = IpRepr::new(src.into(), dst.into(), IpProtocol::UDP)?;
        ip.write_udp(ports, false, &[&self.payload], &mut self.frame)?;
        self.sent.clear();
        let disposition = self.engine.process(packet.time, &ingress, &self.frame, &mut self.sent);
        self.forwarded += u64::from(disposition == Disposition::Forwarded);
        Ok(())
    }

    /// Packets that were forwarded.
    pub(super) const fn forwarded(&self) -> u64 {
        self.forwarded
    }

    /// The name of the class from now on, if it has changed.
    pub(super) fn change(&mut self) -> Option<String> {
        std::iter::from_fn(|| self.engine.poll_event()).find_map(|event| match event {
            Event::ClassChange { change, .. } => Some(change.to.to_string()),
            _ => None,
        })
    }
}

fn network() -> NetworkInstance {
    NetworkInstance::new("internet")
}
