//! A client of a memory server: sets up the connection, and notices restarts.

use std::collections::VecDeque;
use std::net::SocketAddr;

use causeway_packet::roce::management::{ConnectReply, ConnectRequest, Management, Message, Mtu};
use causeway_packet::roce::{
    Deth, GENERAL_SERVICE, GENERAL_SERVICE_QKEY, Outer, Packet, Psn, Qpn, Transport,
};
use causeway_types::{Span, Time};

use crate::description::{Description, SERVICE};
use crate::server::write_management;
use crate::{
    Completion, ExternalMemory, Failure, Incarnation, Operation, OperationId, QueuePair, Requester,
    RequesterConfig, RequesterCounters, SubmitError,
};

/// Attributes of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientConfig {
    /// Its address and port, as the server sees them: the CRC of each packet covers both.
    pub local: SocketAddr,
    /// The server's.
    pub server: SocketAddr,
    /// Payload of a packet.
    pub mtu: Mtu,
    /// As [`RequesterConfig::window`].
    pub window: u32,
    /// As [`RequesterConfig::initiator_depth`]; the server may have fewer resources.
    pub initiator_depth: u8,
    /// As [`RequesterConfig::queue`].
    pub queue: usize,
    /// As [`RequesterConfig::timeout`].
    pub timeout: Span,
    /// As [`RequesterConfig::retries`].
    pub retries: u8,
    /// A request for a connection is sent again after so long.
    pub connect_timeout: Span,
    /// So often.
    pub connect_retries: u8,
    /// Numbers are chosen at random from this seed.
    pub seed: u64,
}

impl ClientConfig {
    /// A client with common values: 1024 octets a packet, 64 packets and 16 reads outstanding, 1024 operations in the queue, seven
    /// retries after 20 ms each.
    pub const fn new(local: SocketAddr, server: SocketAddr, seed: u64) -> Self {
        Self {
            local,
            server,
            mtu: Mtu::M1024,
            window: 64,
            initiator_depth: 16,
            queue: 1024,
            timeout: Span::from_millis(20),
            retries: 7,
            connect_timeout: Span::from_millis(100),
            connect_retries: 7,
            seed,
        }
    }
}

/// Why there is no connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum ConnectError {
    /// The server does not answer.
    #[error("the memory server does not answer")]
    Unreachable,
    /// The server refuses, with a reason of IBA clause 12.6.7.
    #[error("the memory server rejects the connection, reason {0}")]
    Rejected(u16),
    /// What answers is no memory server.
    #[error("what answers is no memory server")]
    NoMemoryServer,
}

/// The state of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// [`Client::connect`] was not called.
    Idle,
    /// The request for a connection was sent.
    Connecting,
    /// Operations are executed.
    Connected,
    /// The server does not respond to operations. It is asked whether it has restarted.
    Asking,
    /// There could be no connection.
    NotConnected(ConnectError),
    /// The connection failed: [`Client::connect`] sets up another one.
    Failed(Failure),
}

/// A request for a connection that was not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Attempt {
    communication: u32,
    first_psn: Psn,
    deadline: Time,
    repeated: u8,
}

/// A client with one queue pair, as a state machine: operations, datagrams and times go in, completions and datagrams come out.
///
/// After each input, and at [`ExternalMemory::next_timer`], the owner sends what [`Client::poll_transmit`] returns until it is `None`, and
/// takes what [`ExternalMemory::poll`] returns.
///
/// After a failure of the connection all operations are completed with its reason, and nothing more is accepted until
/// [`Client::connect`] is called: the user decides what a restarted server means.
#[derive(Clone, Debug)]
pub struct Client {
    config: ClientConfig,
    status: Status,
    queue_pair: Qpn,
    random: fastrand::Rng,
    /// The number of the last communication.
    communication: u32,
    attempt: Option<Attempt>,
    /// The server as it was when the connection was set up.
    description: Option<Description>,
    remote: Option<(u32, Qpn)>,
    requester: Option<Requester>,
    /// Completions of earlier connections.
    completions: VecDeque<Completion>,
    messages: VecDeque<Management>,
    /// Packets of earlier connections.
    counters: RequesterCounters,
    next_id: OperationId,
    malformed: u64,
}

impl Client {
    /// A client without a connection.
    pub fn new(config: ClientConfig) -> Self {
        let mut random = fastrand::Rng::with_seed(config.seed);
        Self {
            config,
            status: Status::Idle,
            queue_pair: Qpn::wrapping(random.u32(2..1 << 24)),
            communication: random.u32(..),
            random,
            attempt: None,
            description: None,
            remote: None,
            requester: None,
            completions: VecDeque::new(),
            messages: VecDeque::new(),
            counters: RequesterCounters::default(),
            next_id: OperationId(0),
            malformed: 0,
        }
    }

    /// The state of the connection.
    pub const fn status(&self) -> Status {
        self.status
    }

    /// The number of its queue pair: the destination of packets for it, all its connections through.
    pub const fn queue_pair_number(&self) -> Qpn {
        self.queue_pair
    }

    /// The server of the connection, as it said of itself.
    pub const fn description(&self) -> Option<&Description> {
        self.description.as_ref()
    }

    /// What the requester of the connection did.
    pub fn counters(&self) -> RequesterCounters {
        self.requester.as_ref().map_or(self.counters, |requester| *requester.counters())
    }

    /// Datagrams that were dropped: no packets of RoCEv2, with a wrong CRC, or for another queue pair.
    pub const fn dropped(&self) -> u64 {
        self.malformed
    }

    /// Sets up a connection; no effect while there is one or it is being set up. Operations of an earlier one have failed.
    pub fn connect(&mut self, now: Time) {
        if matches!(self.status, Status::Connecting | Status::Connected | Status::Asking) {
            return;
        }
        self.retire();
        self.description = None;
        self.status = Status::Connecting;
        self.begin_attempt(now);
    }

    /// Ends the connection. Operations that are not complete fail with [`Failure::Flushed`].
    pub fn disconnect(&mut self) {
        if let Some(requester) = &mut self.requester {
            requester.flush(Failure::Flushed);
        }
        if let Some((remote_communication, queue_pair)) = self.remote.take() {
            let local_communication = self.communication;
            self.send(Message::DisconnectRequest { local_communication, remote_communication, queue_pair });
        }
        self.attempt = None;
        self.status = Status::Idle;
    }

    /// A datagram that came.
    pub fn receive(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        let packet = Packet::parse(datagram).ok();
        let outer = Outer::of_socket(from, self.config.local);
        let is_from_server = from == self.config.server;
        let Some(packet) = packet.filter(|packet| is_from_server && packet.icrc_is_valid(&outer)) else {
            self.malformed += 1;
            return;
        };
        if packet.bth.destination == GENERAL_SERVICE {
            self.manage(&packet);
        } else if packet.bth.destination == self.queue_pair
            && let (Status::Connected, Some(requester)) = (self.status, &mut self.requester)
        {
            requester.receive(now, &packet);
            self.follow_requester(now);
        } else {
            self.malformed += 1;
        }
    }

    /// Appends the next datagram to send, and returns its receiver.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<SocketAddr> {
        self.tick(now);
        let (local, server) = (self.config.local, self.config.server);
        if let Some(management) = self.messages.pop_front() {
            return write_management(local, server, &management, out);
        }
        if self.status != Status::Connected {
            return None;
        }
        let packet = self.requester.as_mut()?.poll_transmit(now)?;
        packet.write(&Outer::of_socket(local, server), out).ok().map(|()| server)
    }

    fn tick(&mut self, now: Time) {
        if self.status == Status::Connected
            && let Some(requester) = &mut self.requester
        {
            requester.tick(now);
            self.follow_requester(now);
        }
        let Some(attempt) = self.attempt.filter(|attempt| attempt.deadline <= now) else { return };
        if attempt.repeated >= self.config.connect_retries {
            self.attempt = None;
            return self.not_answered(ConnectError::Unreachable);
        }
        let deadline = now + self.config.connect_timeout;
        self.attempt = Some(Attempt { deadline, repeated: attempt.repeated + 1, ..attempt });
        self.send_request();
    }

    /// The requester has failed: a NAK says why; after time-outs the server is asked.
    fn follow_requester(&mut self, now: Time) {
        match self.requester.as_ref().and_then(Requester::failure) {
            Some(Failure::RetryExceeded) => {
                self.status = Status::Asking;
                self.begin_attempt(now);
            }
            Some(failure) => self.status = Status::Failed(failure),
            None => {}
        }
    }

    fn not_answered(&mut self, error: ConnectError) {
        if self.status == Status::Asking {
            self.fail(Failure::RetryExceeded);
        } else {
            self.status = Status::NotConnected(error);
        }
    }

    fn fail(&mut self, failure: Failure) {
        if let Some(requester) = &mut self.requester {
            requester.flush(failure);
        }
        self.remote = None;
        self.status = Status::Failed(failure);
    }

    /// Keeps what the old requester has to say.
    fn retire(&mut self) {
        if let Some(mut requester) = self.requester.take() {
            requester.flush(Failure::Flushed);
            self.next_id = requester.next_id();
            self.counters = *requester.counters();
            self.completions.extend(std::iter::from_fn(|| requester.poll()));
        }
    }

    fn begin_attempt(&mut self, now: Time) {
        self.communication = self.communication.wrapping_add(1);
        self.attempt = Some(Attempt {
            communication: self.communication,
            first_psn: Psn::wrapping(self.random.u32(..)),
            deadline: now + self.config.connect_timeout,
            repeated: 0,
        });
        self.send_request();
    }

    fn send_request(&mut self) {
        let Some(attempt) = self.attempt else { return };
        self.send(Message::ConnectRequest(ConnectRequest {
            local_communication: attempt.communication,
            service: SERVICE,
            queue_pair: self.queue_pair,
            responder_resources: 0,
            initiator_depth: self.config.initiator_depth,
            first_psn: attempt.first_psn,
            retries: self.config.retries.min(7),
            mtu: self.config.mtu,
        }));
    }

    fn send(&mut self, message: Message) {
        let transaction = self.communication.into();
        self.messages.push_back(Management { transaction, message });
    }

    fn manage(&mut self, packet: &Packet<'_>) {
        let Transport::Datagram(Deth { qkey: GENERAL_SERVICE_QKEY, .. }, payload) = packet.transport else {
            self.malformed += 1;
            return;
        };
        let (Ok(Management { message, .. }), Some(attempt)) = (Management::parse(payload), self.attempt)
        else {
            return;
        };
        match message {
            Message::ConnectReply(reply) if reply.remote_communication == attempt.communication => {
                self.attempt = None;
                match Description::parse(&reply.private) {
                    Some(description) => self.answered(&attempt, &reply, description),
                    None => self.not_answered(ConnectError::NoMemoryServer),
                }
            }
            Message::ConnectReject { remote_communication, reason, .. }
                if remote_communication == attempt.communication =>
            {
                self.attempt = None;
                self.not_answered(ConnectError::Rejected(reason));
            }
            _ => {}
        }
    }

    fn answered(&mut self, attempt: &Attempt, reply: &ConnectReply, description: Description) {
        let (local_communication, remote_communication) = (attempt.communication, reply.local_communication);
        if self.status == Status::Asking {
            let before = self.description.map(|description| description.incarnation);
            let has_restarted = before.is_some_and(|before: Incarnation| before != description.incarnation);
            self.fail(if has_restarted { Failure::Restarted } else { Failure::RetryExceeded });
            let queue_pair = reply.queue_pair;
            self.send(Message::DisconnectRequest { local_communication, remote_communication, queue_pair });
            return;
        }
        self.send(Message::ReadyToUse { local_communication, remote_communication });
        let config = RequesterConfig {
            peer: reply.queue_pair,
            first_psn: attempt.first_psn,
            mtu: self.config.mtu,
            window: self.config.window,
            initiator_depth: self.config.initiator_depth.min(reply.responder_resources).max(1),
            queue: self.config.queue,
            max_length: description.max_length,
            timeout: self.config.timeout,
            retries: self.config.retries,
        };
        self.requester = Some(Requester::new(config, QueuePair(0), self.next_id));
        self.remote = Some((remote_communication, reply.queue_pair));
        self.description = Some(description);
        self.status = Status::Connected;
    }
}

impl ExternalMemory for Client {
    fn queue_pairs(&self) -> u16 {
        1
    }

    fn submit(
        &mut self,
        _: Time,
        queue_pair: QueuePair,
        operation: Operation,
    ) -> Result<OperationId, SubmitError> {
        if queue_pair != QueuePair(0) {
            return Err(SubmitError::UnknownQueuePair(queue_pair.0));
        }
        if self.completions.len() >= self.config.queue {
            return Err(SubmitError::QueueFull);
        }
        match (self.status, &mut self.requester) {
            (Status::Connected, Some(requester)) => requester.submit(operation),
            (Status::Failed(failure), _) => Err(SubmitError::Failed(failure)),
            (Status::Asking, _) => Err(SubmitError::Failed(Failure::RetryExceeded)),
            _ => Err(SubmitError::NotConnected),
        }
    }

    fn has_place(&self, _: QueuePair, operation: &Operation) -> bool {
        // Without a connection it says what is wrong.
        let requester = self.requester.as_ref().filter(|_| self.status == Status::Connected);
        self.completions.len() < self.config.queue
            && requester.is_none_or(|requester| requester.has_place(operation))
    }

    fn poll(&mut self, now: Time) -> Option<Completion> {
        self.tick(now);
        self.completions.pop_front().or_else(|| self.requester.as_mut()?.poll())
    }

    fn next_timer(&self) -> Option<Time> {
        let connected = self.requester.as_ref().filter(|_| self.status == Status::Connected);
        let operations = connected.and_then(Requester::next_timer);
        let attempt = self.attempt.map(|attempt| attempt.deadline);
        operations.into_iter().chain(attempt).min()
    }
}
