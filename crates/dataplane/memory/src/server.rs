//! A memory server: its region, and the queue pairs of its clients.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use causeway_packet::roce::management::{
    ConnectReply, ConnectRequest, INVALID_SERVICE, Management, Message, NO_QUEUE_PAIR,
};
use causeway_packet::roce::{
    Bth, Deth, GENERAL_SERVICE, GENERAL_SERVICE_QKEY, Outer, Packet, Psn, Qpn, Repr, Transport,
};
use causeway_types::{Span, Time};

use crate::description::{Description, SERVICE};
use crate::{Regions, Responder, ResponderConfig, ResponderCounters, Sweeper};

/// Management messages that wait to be sent; more are dropped, and their senders repeat the request.
const MAX_REPLIES: usize = 64;

/// A memory server before it serves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerConfig {
    /// Its address and port, as clients see them: the CRC of each packet covers both.
    pub local: SocketAddr,
    /// The region that clients are told of.
    pub description: Description,
    /// Responder resources of each queue pair.
    pub resources: u8,
    /// Queue pairs at a time.
    pub queue_pairs: usize,
    /// When all queue pairs are in use, one that was silent for so long is given to another client.
    pub idle: Span,
    /// Queue pair numbers are chosen at random from this seed.
    pub seed: u64,
    /// Requests from these addresses to queue pairs have no pad octets and no CRC, as those of a switch that adds nothing behind a packet. Their
    /// octets are taken as they come; management messages have a CRC from everywhere. Usually none.
    pub bare: Vec<IpAddr>,
}

impl ServerConfig {
    /// 64 queue pairs with 16 READs each, one silent for a minute is given away, all requests with a CRC.
    pub const fn new(local: SocketAddr, description: Description) -> Self {
        let idle = Span::from_secs(60);
        Self { local, description, resources: 16, queue_pairs: 64, idle, seed: 1, bare: Vec::new() }
    }
}

/// What a server did, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ServerCounters {
    /// Datagrams that came.
    pub received: u64,
    /// Datagrams that are no packets of RoCEv2.
    pub malformed: u64,
    /// Packets with another CRC than their octets and outer headers imply.
    pub icrc_errors: u64,
    /// Packets for a queue pair that does not exist, or from another address than that of its client. They are dropped (IBA clause 9.6).
    pub unknown_queue_pair: u64,
    /// Connections that were set up.
    pub connections: u64,
    /// Requests for a connection that were rejected.
    pub rejected: u64,
    /// Datagrams that were sent.
    pub sent: u64,
    /// Rows of tables that were swept, since they were not used for long ([`Sweeper`]).
    pub swept: u64,
    /// The work of all queue pairs, also of those that are gone.
    pub work: ResponderCounters,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Connection {
    /// Responses go to the port that the request for the connection came from.
    peer: SocketAddr,
    request: ConnectRequest,
    local_communication: u32,
    responder: Responder,
    /// It is in the list of those that have responses.
    is_listed: bool,
    used: Time,
}

/// A memory server as a state machine: datagrams and times go in, datagrams come out.
///
/// After each datagram the owner sends what [`Server::poll_transmit`] returns until it is `None`. For clients a server has no timers: they repeat
/// what is lost. Where its region describes tables whose rows age, it sweeps them ([`Server::sweep`]).
///
/// It does not know who may access it: as everywhere in RoCE, whoever reaches its port and learns a key has the memory. It belongs on a
/// network of its own.
#[derive(Clone, Debug)]
pub struct Server {
    config: ServerConfig,
    regions: Regions,
    connections: BTreeMap<Qpn, Connection>,
    /// Queue pairs with responses, in the order in which they got them.
    ready: VecDeque<Qpn>,
    replies: VecDeque<(SocketAddr, Management)>,
    random: fastrand::Rng,
    counters: ServerCounters,
    sweeper: Sweeper,
}

impl Server {
    /// A server with these regions and no client.
    pub fn new(config: ServerConfig, regions: Regions) -> Self {
        Self {
            random: fastrand::Rng::with_seed(config.seed),
            config,
            regions,
            connections: BTreeMap::new(),
            ready: VecDeque::new(),
            replies: VecDeque::new(),
            counters: ServerCounters::default(),
            sweeper: Sweeper::default(),
        }
    }

    /// What it did.
    pub fn counters(&self) -> ServerCounters {
        let mut counters = ServerCounters { swept: self.sweeper.swept(), ..self.counters };
        self.connections.values().for_each(|connection| counters.work.add(connection.responder.counters()));
        counters
    }

    /// Its memory.
    pub const fn regions(&self) -> &Regions {
        &self.regions
    }

    /// Queue pairs in use.
    pub fn queue_pairs(&self) -> usize {
        self.connections.len()
    }

    /// A datagram that came.
    pub fn receive(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        self.counters.received += 1;
        if self.config.bare.contains(&from.ip())
            && let Ok(packet) = Repr::parse_bare(datagram)
            && packet.bth.destination != GENERAL_SERVICE
        {
            return self.execute(now, from, &packet);
        }
        let Ok(packet) = Packet::parse(datagram) else {
            self.counters.malformed += 1;
            return;
        };
        if !packet.icrc_is_valid(&Outer::of_socket(from, self.config.local)) {
            self.counters.icrc_errors += 1;
            return;
        }
        if packet.bth.destination == GENERAL_SERVICE {
            return self.manage(now, from, &packet);
        }
        self.execute(now, from, &packet.repr());
    }

    /// A packet for a queue pair.
    fn execute(&mut self, now: Time, from: SocketAddr, packet: &Repr<'_>) {
        let qpn = packet.bth.destination;
        let connection =
            self.connections.get_mut(&qpn).filter(|connection| connection.peer.ip() == from.ip());
        let Some(connection) = connection else {
            self.counters.unknown_queue_pair += 1;
            return;
        };
        connection.used = now;
        connection.responder.receive(&mut self.regions, packet);
        if connection.responder.has_responses() && !std::mem::replace(&mut connection.is_listed, true) {
            self.ready.push_back(qpn);
        }
    }

    /// Appends the next datagram to send, and returns its receiver.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) -> Option<SocketAddr> {
        if let Some((to, management)) = self.replies.pop_front() {
            self.counters.sent += 1;
            return write_management(self.config.local, to, &management, out);
        }
        loop {
            let qpn = *self.ready.front()?;
            if let Some(connection) = self.connections.get_mut(&qpn) {
                let outer = Outer::of_socket(self.config.local, connection.peer);
                let packet = connection.responder.poll_transmit(&self.regions);
                if packet.is_some_and(|packet| packet.write(&outer, out).is_ok()) {
                    self.counters.sent += 1;
                    return Some(connection.peer);
                }
                connection.is_listed = false;
            }
            self.ready.pop_front();
        }
    }

    /// Sweeps a part of the tables that its region describes, if that is due: called after each datagram, and some ten times a second without any, or a hundred
    /// times if [`Server::has_aged_tables`]. Returns at once if nothing is due.
    pub fn sweep(&mut self, now: Time) {
        if let Some(octets) = self.regions.octets_mut(self.config.description.rkey) {
            self.sweeper.advance(now, octets);
        }
    }

    /// There is something to sweep.
    pub fn has_aged_tables(&self) -> bool {
        self.sweeper.tables() > 0
    }

    fn manage(&mut self, now: Time, from: SocketAddr, packet: &Packet<'_>) {
        let Transport::Datagram(Deth { qkey: GENERAL_SERVICE_QKEY, .. }, payload) = packet.transport else {
            self.counters.unknown_queue_pair += 1;
            return;
        };
        let Ok(Management { transaction, message }) = Management::parse(payload) else {
            self.counters.malformed += 1;
            return;
        };
        let reply = match message {
            Message::ConnectRequest(request) => self.connect(now, from, request),
            Message::DisconnectRequest { local_communication, remote_communication, queue_pair } => {
                let is_that =
                    |connection: &&Connection| connection.request.local_communication == local_communication;
                if self.connections.get(&queue_pair).filter(is_that).is_some() {
                    self.close(queue_pair);
                }
                Some(Message::DisconnectReply {
                    local_communication: remote_communication,
                    remote_communication: local_communication,
                })
            }
            _ => None,
        };
        if let Some(message) = reply.filter(|_| self.replies.len() < MAX_REPLIES) {
            self.replies.push_back((from, Management { transaction, message }));
        }
    }

    /// A request for a connection. One that came before gets the same reply; one that is older than the connection of the same queue
    /// pair gets none.
    fn connect(&mut self, now: Time, from: SocketAddr, request: ConnectRequest) -> Option<Message> {
        let mut is_replaced = None;
        for (qpn, connection) in &self.connections {
            let known = &connection.request;
            if connection.peer != from || known.queue_pair != request.queue_pair {
                continue;
            }
            if known.local_communication == request.local_communication {
                return Some(self.reply(*qpn, connection));
            }
            if known.local_communication.wrapping_sub(request.local_communication) < u32::MAX / 2 {
                return None;
            }
            is_replaced = Some(*qpn);
        }
        if let Some(qpn) = is_replaced {
            self.close(qpn);
        }
        let reject = |reason| Message::ConnectReject {
            local_communication: 0,
            remote_communication: request.local_communication,
            reason,
        };
        if request.service != SERVICE {
            self.counters.rejected += 1;
            return Some(reject(INVALID_SERVICE));
        }
        if self.connections.len() >= self.config.queue_pairs && !self.close_idle(now) {
            self.counters.rejected += 1;
            return Some(reject(NO_QUEUE_PAIR));
        }
        let qpn = self.free_number();
        let responder = Responder::new(ResponderConfig {
            peer: request.queue_pair,
            first_psn: request.first_psn,
            mtu: request.mtu,
            resources: self.config.resources,
            max_read: self.config.description.max_length,
        });
        let local_communication = self.random.u32(..);
        let connection =
            Connection { peer: from, request, local_communication, responder, is_listed: false, used: now };
        let reply = self.reply(qpn, &connection);
        self.connections.insert(qpn, connection);
        self.counters.connections += 1;
        Some(reply)
    }

    fn reply(&self, queue_pair: Qpn, connection: &Connection) -> Message {
        Message::ConnectReply(ConnectReply {
            local_communication: connection.local_communication,
            remote_communication: connection.request.local_communication,
            queue_pair,
            first_psn: Psn::wrapping(0),
            responder_resources: self.config.resources,
            initiator_depth: 0,
            private: self.config.description.private(),
        })
    }

    fn free_number(&mut self) -> Qpn {
        loop {
            let number = Qpn::wrapping(self.random.u32(..));
            if number.value() > GENERAL_SERVICE.value() && !self.connections.contains_key(&number) {
                return number;
            }
        }
    }

    fn close_idle(&mut self, now: Time) -> bool {
        let oldest = self.connections.iter().min_by_key(|(_, connection)| connection.used);
        let idle = oldest.filter(|(_, connection)| now.since(connection.used) >= self.config.idle);
        let idle = idle.map(|(qpn, _)| *qpn);
        idle.is_some_and(|qpn| self.close(qpn))
    }

    fn close(&mut self, qpn: Qpn) -> bool {
        let Some(connection) = self.connections.remove(&qpn) else { return false };
        self.counters.work.add(connection.responder.counters());
        self.ready.retain(|ready| *ready != qpn);
        true
    }
}

/// Appends a management datagram; returns its receiver.
pub(crate) fn write_management(
    from: SocketAddr,
    to: SocketAddr,
    management: &Management,
    out: &mut Vec<u8>,
) -> Option<SocketAddr> {
    let octets = management.octets();
    let deth = Deth { qkey: GENERAL_SERVICE_QKEY, source: GENERAL_SERVICE };
    let bth = Bth::new(GENERAL_SERVICE, Psn::wrapping(0));
    let packet = Repr { bth, transport: Transport::Datagram(deth, &octets) };
    packet.write(&Outer::of_socket(from, to), out).ok().map(|()| to)
}
