//! The UPF under test: N4's state machine and a data plane, without sockets.

use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::{Egress, Ingress, PacketEngine, Topology, Transmit};
use causeway_n4::{Config, N4, Output};
use causeway_pfcp::{AssociationReleaseRequest, Header, Message, MessageType};
use causeway_types::{NodeId, Span, Time, WallClock};

use crate::capture::Datagram;
use crate::format;
use crate::runner::{GTPU_PORT, PFCP_PORT, UPF, UPF_IPV6};
use crate::script::Input;
use crate::setup::Setup;
use crate::variables::Variables;

/// Both halves of a UPF, and what they said.
pub(crate) struct Upf {
    n4: N4,
    engine: Box<dyn PacketEngine>,
    now: Time,
    seen: SentMessages,
    inputs: Vec<Input>,
    pub(crate) variables: Variables,
    /// How many were established.
    sessions: usize,
    /// N4 has said something since the last input that `upf.pfcp.accelerate` leaves to the control thread, with all that follows.
    left: Option<&'static str>,
    /// Of each datagram that was sent: what was left before it.
    sent_behind: Vec<Option<&'static str>>,
    /// After each datagram on N4: sessions, and those in cold storage.
    places: Vec<(u64, u64)>,
}

/// What the UPF sent since it was last asked: as text, and as datagrams.
#[derive(Default)]
struct SentMessages(Vec<String>, Vec<Datagram>);

impl Transmit for SentMessages {
    fn transmit(&mut self, egress: &Egress, packet: &[u8]) {
        self.0.push(format::packet(egress, packet));
        if let Egress::Gtpu { local, peer, .. } = egress {
            let from = SocketAddr::new(*local, GTPU_PORT);
            self.1.push(Datagram { from, to: *peer, payload: packet.to_vec() });
        }
    }
}

impl Upf {
    /// A UPF that has just started.
    pub(crate) fn new(engine: Box<dyn PacketEngine>, topology: &Topology, setup: &Setup, now: Time) -> Self {
        let mut config = Config::new(NodeId::Ip(UPF.into()), UPF.into());
        // The cases speak of time themselves; heartbeats in between would only be noise.
        config.heartbeat.interval = Span::ZERO;
        setup.apply(&mut config);
        let n4 = N4::new(
            config,
            engine.capabilities(),
            topology.endpoints(),
            WallClock::default().at(now).to_ntp(),
        );
        Self {
            n4,
            engine,
            now,
            seen: SentMessages::default(),
            inputs: Vec::new(),
            variables: Variables::default(),
            sessions: 0,
            left: None,
            sent_behind: Vec::new(),
            places: Vec::new(),
        }
    }

    /// What was sent since the last call, a line or a block of lines each.
    pub(crate) fn take_sent(&mut self) -> Vec<String> {
        std::mem::take(&mut self.seen.0)
    }

    /// The datagrams that were sent since the last call.
    pub(crate) fn take_datagrams(&mut self) -> Vec<Datagram> {
        std::mem::take(&mut self.seen.1)
    }

    /// For each PFCP datagram that was sent since the last call: what N4 said before it that is for the control thread.
    pub(crate) fn take_sent_behind(&mut self) -> Vec<Option<&'static str>> {
        std::mem::take(&mut self.sent_behind)
    }

    /// After each datagram on N4 since the last call: sessions, and those in cold storage.
    pub(crate) fn take_places(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.places)
    }

    /// What happened since the last call.
    pub(crate) fn take_inputs(&mut self) -> Vec<Input> {
        std::mem::take(&mut self.inputs)
    }

    /// Forgets what was sent and what happened.
    pub(crate) fn clear_sent(&mut self) {
        self.seen = SentMessages::default();
        self.sent_behind.clear();
        self.places.clear();
        self.inputs.clear();
    }

    /// Every SMF releases its association.
    pub(crate) fn release_all(&mut self) {
        let peers: Vec<_> = self.n4.associations().map(|view| (view.node.clone(), view.peer)).collect();
        for (sequence, (node, peer)) in (0xff_0000..).zip(peers) {
            let mut octets = Vec::new();
            let request = Message::from(AssociationReleaseRequest::new((&node).into()));
            if request.encode(None, sequence, &mut octets).is_ok() {
                self.pfcp(peer, &octets);
            }
        }
    }

    /// Every packet received is in exactly one counter.
    pub(crate) fn check_conservation(&self) -> Result<(), String> {
        let counters = self.engine.counters();
        let from_networks = counters.ip_received.packets + counters.ethernet_received.packets;
        let received = counters.gtpu_received.packets + from_networks + counters.copies;
        let ended = counters.forwarded + counters.consumed + counters.total_drops() + counters.buffered;
        if received == ended { Ok(()) } else { Err(format!("{received} packets received, {ended} counted")) }
    }

    /// Nothing is left of any session.
    pub(crate) fn check_empty(&self) -> Result<(), String> {
        let (left, counters) = (self.n4.occupancy(), self.engine.counters());
        let is_empty =
            left.sessions == 0 && left.plans == 0 && left.tunnels == 0 && left.waiting_reports == 0;
        if is_empty && counters.sessions == 0 && counters.buffered == 0 {
            return Ok(());
        }
        Err(format!(
            "after the release of all associations: {left:?}, {} sessions and {} packets in the data plane",
            counters.sessions, counters.buffered
        ))
    }

    /// A datagram arrives on N4.
    pub(crate) fn pfcp(&mut self, from: SocketAddr, bytes: &[u8]) {
        self.inputs.push(Input::Pfcp { from: from.ip(), octets: bytes.to_vec() });
        self.left = None;
        self.n4.datagram(self.now, from, bytes);
        self.exchange_until_idle();
        let cold = self.engine.cold_storage().map(|state| state.cold);
        self.places.extend(cold.map(|cold| (self.engine.counters().sessions, cold)));
    }

    /// A packet arrives on N3 or N6.
    pub(crate) fn packet(&mut self, ingress: &Ingress, bytes: &[u8]) {
        self.inputs.push(Input::Packet { ingress: ingress.clone(), octets: bytes.to_vec() });
        let fate = self.engine.process(self.now, ingress, bytes, &mut self.seen);
        self.seen.0.push(format::disposition_name(fate));
        self.exchange_until_idle();
    }

    /// Shows where the packets are that were received.
    pub(crate) fn show_counters(&mut self) {
        let counters = self.engine.counters();
        self.seen.0.push(format::counters(&counters));
    }

    /// Time passes, timer by timer.
    pub(crate) fn wait(&mut self, span: Span) {
        self.inputs.push(Input::Wait(span));
        self.pass(span);
    }

    fn pass(&mut self, span: Span) {
        let end = self.now + span;
        while let Some(next) = self.next_timer().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.n4.timer(self.now);
            self.engine.advance(self.now);
            self.exchange_until_idle();
        }
        self.now = end;
    }

    /// The wall clock is set forward by so many seconds; back, if it is less than zero.
    pub(crate) fn set_wall_clock(&mut self, seconds: i32) {
        self.inputs.push(Input::SetWallClock(seconds));
        let (says, by) = (self.n4.wall_clock().at(self.now), Span::from_secs(seconds.unsigned_abs().into()));
        let says = if seconds < 0 { says - by } else { says + by };
        let clock = WallClock::reading(says, self.now);
        self.n4.set_wall_clock(clock);
        self.engine.advance(self.now);
        self.engine.set_wall_clock(self.now, clock);
        self.exchange_until_idle();
        self.pass(Span::ZERO);
    }

    fn next_timer(&self) -> Option<Time> {
        [self.n4.next_timer(), self.engine.next_deadline()].into_iter().flatten().min()
    }

    /// Lets the two halves talk until neither has anything to say.
    fn exchange_until_idle(&mut self) {
        loop {
            self.engine.flush(&mut self.seen);
            while let Some(event) = self.engine.poll_event() {
                self.n4.event(self.now, event);
            }
            match self.n4.poll_output() {
                None => return,
                Some(Output::Notice(_)) => drop(self.left.get_or_insert("log line")),
                Some(Output::Send { to, bytes }) => {
                    self.learn(&bytes);
                    self.seen.0.push(format!("to smf {to}: {}", format::pfcp(&bytes)));
                    let from = if to.is_ipv4() { IpAddr::V4(UPF) } else { UPF_IPV6.into() };
                    let from = SocketAddr::new(from, PFCP_PORT);
                    self.seen.1.push(Datagram { from, to, payload: bytes });
                    self.sent_behind.push(self.left);
                }
                Some(Output::Applications(applications)) => {
                    self.left.get_or_insert("applications");
                    self.engine.set_applications(&applications);
                }
                Some(Output::Apply { id, plan }) => {
                    let result = self.engine.apply(self.now, &plan);
                    self.n4.applied(self.now, id, result);
                }
            }
        }
    }

    /// Keeps what later steps refer to.
    fn learn(&mut self, bytes: &[u8]) {
        let Ok((header, body, _)) = Header::decode(bytes) else { return };
        if MessageType::from_code(header.message_type).is_some_and(MessageType::is_request) {
            self.variables.set("upf-sequence".to_owned(), header.sequence.into());
        }
        let (pdrs, endpoints) = match Message::decode(&header, body) {
            Ok(Message::SessionEstablishmentResponse(response)) => {
                if let Some(f_seid) = response.up_f_seid {
                    self.variables.set("up-seid".to_owned(), f_seid.seid.0);
                    self.sessions += 1;
                    self.variables.set(format!("up-seid-{}", self.sessions), f_seid.seid.0);
                }
                (response.created_pdrs, response.created_traffic_endpoints)
            }
            Ok(Message::SessionModificationResponse(response)) => {
                (response.created_pdrs, response.created_traffic_endpoints)
            }
            _ => return,
        };
        let pdrs = pdrs.iter().map(|created| (format!("teid-{}", created.pdr_id), created.local_f_teid));
        let endpoints = endpoints
            .iter()
            .map(|created| (format!("endpoint-{}", created.traffic_endpoint_id.0), created.local_f_teid));
        for (name, tunnel) in pdrs.chain(endpoints) {
            if let Some(tunnel) = tunnel.and_then(|tunnel| tunnel.assigned()) {
                self.variables.set(name, tunnel.teid.value().into());
            }
        }
    }
}
