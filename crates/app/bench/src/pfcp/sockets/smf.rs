//! The generator: one socket, and requests that are ready before the clock runs.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use causeway_pfcp::{Header, HeartbeatResponse, Message, MessageType, RecoveryTimeStamp};
use causeway_ports::udp::{DatagramReceiver, DatagramSender, queued_octets};
use causeway_types::NtpSeconds;
use causeway_upf::config::PFCP_PORT;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use super::super::{Operation, is_accepted, requests};
use crate::BenchError;
use crate::kit::{self, HeldCores, Samples};

/// How long an answer may take before its request is sent again.
const T1: Duration = Duration::from_secs(1);

/// How often a request is sent again.
const N1: u32 = 5;

/// Octets of the longest answer.
const DATAGRAM: usize = 4096;

/// How long an answer may take when requests are sent at a rate and none is repeated.
const LATE: Duration = Duration::from_secs(1);

/// How often the generator looks for responses that wait.
const LOOK: Duration = Duration::from_micros(250);

/// Without a further response for so long all that come have come.
const SILENCE: Duration = Duration::from_millis(20);

/// Octets that the kernel counts for a waiting response, at most.
const TRUE_SIZE: usize = 4096;

/// Sequence numbers have 24 bits.
const SEQUENCE: u32 = 0x00ff_ffff;

/// An SMF.
pub(crate) struct Smf {
    pub(crate) socket: UdpSocket,
    node: Ipv4Addr,
    /// Since when it has been running.
    since: NtpSeconds,
    sequence: u32,
}

/// Requests and their answers.
pub(crate) struct Exchange {
    /// From the first request to the last answer; at a rate, to the last request.
    pub(crate) wall: Duration,
    /// Of each request, in microseconds.
    pub(crate) latency: Samples,
    /// In the order of the requests.
    pub(crate) answers: Vec<Vec<u8>>,
    /// Requests that were sent again.
    pub(crate) repeated: u64,
    /// Requests without an answer.
    pub(crate) lost: u64,
}

/// Packets of UEs that are sent beside requests, in turn.
pub(super) struct PacketsBeside<'a> {
    /// The socket of the gNB.
    pub(super) socket: &'a UdpSocket,
    /// The packets; none: nothing is sent.
    pub(super) packets: &'a [Vec<u8>],
    /// In a second.
    pub(super) rate: u64,
}

impl Smf {
    /// Opens the socket in the network namespace of the calling thread, for the SMF of that name.
    pub(crate) fn open(node: Ipv4Addr, address: Ipv4Addr, upf: SocketAddr) -> Result<Self, BenchError> {
        let open = || {
            let socket = UdpSocket::bind((address, PFCP_PORT))?;
            socket.connect(upf)?;
            socket.set_read_timeout(Some(T1))?;
            Ok(socket)
        };
        let socket = open().map_err(BenchError::io("open the socket of the SMF"))?;
        Ok(Self { socket, node, since: requests::SINCE, sequence: 0 })
    }

    /// Sets the association up.
    pub(crate) fn associate(&mut self) -> Result<(), BenchError> {
        let sequence = self.next_sequence();
        self.tell(&requests::association_of(self.node, self.since, sequence), "set up the association")
    }

    /// Sets the association up as after a restart.
    pub(crate) fn restart(&mut self) -> Result<(), BenchError> {
        self.since = NtpSeconds(self.since.0.wrapping_add(1));
        self.associate()
    }

    /// Ends the association.
    pub(crate) fn release(&mut self) -> Result<(), BenchError> {
        let sequence = self.next_sequence();
        self.tell(&requests::release_of(self.node, sequence), "release the association")
    }

    /// Answers what the UPF asks for so long, or until something else has come.
    pub(crate) fn answer_for(&mut self, time: Duration) -> Result<(), BenchError> {
        let patience =
            |time| self.socket.set_read_timeout(Some(time)).map_err(BenchError::io("set a socket up"));
        patience(time)?;
        self.receive(&mut [0; DATAGRAM])?;
        patience(T1)
    }

    /// Asks until there is an answer.
    fn tell(&mut self, request: &[u8], what: &str) -> Result<(), BenchError> {
        let mut buffer = [0; DATAGRAM];
        for _ in 0..N1 {
            self.send(request)?;
            if self.receive(&mut buffer)?.is_some() {
                return Ok(());
            }
        }
        Err(BenchError::NotAccepted { what: what.to_owned(), accepted: 0, of: 1 })
    }

    fn next_sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1) & SEQUENCE;
        self.sequence
    }

    /// Sends requests, so many at a time, until all are answered.
    pub(crate) fn ask<R: FnOnce(u32) -> Vec<u8>>(
        &mut self,
        operation: Operation,
        requests: impl Iterator<Item = R>,
        window: usize,
    ) -> Result<Exchange, BenchError> {
        let first = self.sequence.wrapping_add(1) & SEQUENCE;
        let mut ready = Vec::new();
        for request in requests {
            ready.push(request(self.next_sequence()));
        }
        let mut exchange = Exchange {
            wall: Duration::ZERO,
            latency: Samples::default(),
            answers: vec![Vec::new(); ready.len()],
            repeated: 0,
            lost: 0,
        };
        let mut sent: Vec<Instant> = Vec::with_capacity(ready.len());
        let (mut answered, mut silences) = (0, 0);
        let to = self.socket.peer_addr().map_err(BenchError::io("look at the socket of the SMF"))?;
        // One system call sends and receives many, so that the generator is no slower than the UPF.
        let (mut outbox, mut inbox) = (DatagramSender::new(false), DatagramReceiver::default());
        let start = Instant::now();
        while answered < ready.len() {
            let due = ready.get(sent.len()..ready.len().min(answered + window)).unwrap_or_default();
            if !due.is_empty() {
                due.iter().for_each(|request| outbox.put(to, request.clone()));
                sent.resize(sent.len() + due.len(), Instant::now());
                // What does not fit into the kernel's buffer is lost, as on a cable.
                outbox.send(&self.socket, |_, _| {});
            }
            if !self.wait(T1)? {
                silences += 1;
                if silences > N1 {
                    break;
                }
                let open = exchange.answers.iter().zip(&ready).take(sent.len());
                for (_, request) in open.filter(|(answer, _)| answer.is_empty()) {
                    self.send(request)?;
                    exchange.repeated += 1;
                }
                continue;
            }
            match inbox.fill(&self.socket) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => {
                    return Err(BenchError::io("receive a response")(error));
                }
                _ => {}
            }
            while let Some((_, octets)) = inbox.take() {
                let Some(sequence) = self.answered(octets)? else { continue };
                let at = (sequence.wrapping_sub(first) & SEQUENCE) as usize;
                if let (Some(answer), Some(sent)) = (exchange.answers.get_mut(at), sent.get(at))
                    && answer.is_empty()
                {
                    exchange.latency.add(sent.elapsed().as_secs_f64() * 1e6);
                    *answer = octets.to_vec();
                    answered += 1;
                }
            }
        }
        exchange.wall = start.elapsed();
        let accepted = exchange.answers.iter().filter(|answer| is_accepted(answer)).count();
        if accepted < ready.len() {
            return Err(BenchError::NotAccepted { what: operation.to_string(), accepted, of: ready.len() });
        }
        Ok(exchange)
    }

    /// Sends so many requests in a second, whether answers come or not, and packets of UEs between them; none is repeated. The latency
    /// of a request counts from the time at which it is due. Returns the packets sent, too.
    pub(super) fn ask_at<R: FnOnce(u32) -> Vec<u8>>(
        &mut self,
        operation: Operation,
        requests: impl Iterator<Item = R>,
        (rate, span): (u64, Duration),
        beside: &PacketsBeside<'_>,
    ) -> Result<(Exchange, u64), BenchError> {
        let first = self.sequence.wrapping_add(1) & SEQUENCE;
        let mut ready = Vec::new();
        for request in requests {
            ready.push(request(self.next_sequence()));
        }
        let (mut latency, mut answers) = (Samples::default(), vec![Vec::new(); ready.len()]);
        self.socket.set_nonblocking(true).map_err(BenchError::io("set a socket up"))?;
        let due = |number: usize, rate: u64| Duration::from_secs_f64(number as f64 / rate.max(1) as f64);
        let mut packets = beside.packets.iter().cycle();
        let has_packets = beside.rate > 0 && !beside.packets.is_empty();
        let (mut sent, mut sent_packets, mut answered) = (0, 0, 0);
        let mut buffer = [0; DATAGRAM];
        let start = Instant::now();
        let mut last = start.elapsed();
        let mut wall = span;
        loop {
            let now = start.elapsed();
            if sent < ready.len() && now >= due(sent, rate) {
                self.send(&ready[sent])?;
                sent += 1;
                last = now;
                // Longer where the generator is slower than the rate.
                wall = span.max(now);
            }
            if has_packets && now < span && now >= due(sent_packets, beside.rate) {
                if let Some(packet) = packets.next() {
                    kit::send(beside.socket, packet)?;
                }
                sent_packets += 1;
                last = now;
            }
            while let Some((sequence, len)) = self.receive(&mut buffer)? {
                let at = (sequence.wrapping_sub(first) & SEQUENCE) as usize;
                if let Some(answer) = answers.get_mut(at).filter(|answer| answer.is_empty()) {
                    latency.add(start.elapsed().saturating_sub(due(at, rate)).as_secs_f64() * 1e6);
                    *answer = buffer.get(..len).unwrap_or_default().to_vec();
                    answered += 1;
                }
            }
            let is_over = sent == ready.len() && now >= span;
            if is_over && (answered == ready.len() || now > last + LATE) {
                break;
            }
        }
        self.socket.set_nonblocking(false).map_err(BenchError::io("set a socket up"))?;
        let accepted = answers.iter().filter(|answer| is_accepted(answer)).count();
        if accepted < answered {
            return Err(BenchError::NotAccepted { what: operation.to_string(), accepted, of: answered });
        }
        let lost = (ready.len() - answered) as u64;
        Ok((Exchange { wall, latency, answers, repeated: 0, lost }, sent_packets as u64))
    }

    /// Sends requests, so many at a time while no packet thread can run on these cores or on that of this thread, which comes first there.
    /// Then the packet threads have their cores until all is answered: this thread looks only now and then how far they are.
    pub(super) fn ask_queued<R: FnOnce(u32) -> Vec<u8>>(
        &mut self,
        operation: Operation,
        requests: impl Iterator<Item = R>,
        round: usize,
        cores: &HeldCores,
    ) -> Result<Exchange, BenchError> {
        let first = self.sequence.wrapping_add(1) & SEQUENCE;
        let mut ready = Vec::new();
        for request in requests {
            ready.push(request(self.next_sequence()));
        }
        let setup = || BenchError::io("set the socket of the SMF up");
        set_socket_recv_buffer_size_force(&self.socket, round * TRUE_SIZE)
            .map_err(|errno| setup()(errno.into()))?;
        self.socket.set_nonblocking(true).map_err(setup())?;
        let to = self.socket.peer_addr().map_err(setup())?;
        let (mut outbox, mut inbox) = (DatagramSender::new(false), DatagramReceiver::default());
        let (mut answers, mut wall, mut answered) = (vec![Vec::new(); ready.len()], Duration::ZERO, 0);
        for requests in ready.chunks(round) {
            cores.hold();
            requests.iter().for_each(|request| outbox.put(to, request.clone()));
            outbox.send(&self.socket, |_, _| {});
            cores.release();
            wall += self.until_silent().map_err(BenchError::io("look at the socket of the SMF"))?;
            loop {
                match inbox.fill(&self.socket) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(BenchError::io("receive a response")(error)),
                }
                while let Some((_, octets)) = inbox.take() {
                    let Some(sequence) = self.answered(octets)? else { continue };
                    let at = (sequence.wrapping_sub(first) & SEQUENCE) as usize;
                    if let Some(answer) = answers.get_mut(at).filter(|answer| answer.is_empty()) {
                        *answer = octets.to_vec();
                        answered += 1;
                    }
                }
            }
        }
        self.socket.set_nonblocking(false).map_err(setup())?;
        let accepted = answers.iter().filter(|answer| is_accepted(answer)).count();
        if accepted < answered {
            return Err(BenchError::NotAccepted { what: operation.to_string(), accepted, of: answered });
        }
        let lost = (ready.len() - answered) as u64;
        Ok(Exchange { wall, latency: Samples::default(), answers, repeated: 0, lost })
    }

    /// Until when responses arrive, from now on.
    fn until_silent(&self) -> std::io::Result<Duration> {
        let (start, mut last, mut before) = (Instant::now(), Duration::ZERO, 0);
        loop {
            std::thread::sleep(LOOK);
            let (now, there) = (start.elapsed(), queued_octets(&self.socket)?);
            if there != before {
                (last, before) = (now, there);
            } else if now > last + SILENCE {
                return Ok(last);
            }
        }
    }

    /// What does not fit into the kernel's buffer is lost, as on a cable.
    fn send(&self, request: &[u8]) -> Result<(), BenchError> {
        match self.socket.send(request) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => {
                Err(BenchError::io("send a request")(error))
            }
            _ => Ok(()),
        }
    }

    /// The sequence number of the next answer, and its octets; `None` when none has come for long.
    fn receive(&self, buffer: &mut [u8]) -> Result<Option<(u32, usize)>, BenchError> {
        loop {
            let len = match self.socket.recv(buffer) {
                Ok(len) => len,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Ok(None);
                }
                Err(error) => return Err(BenchError::io("receive a response")(error)),
            };
            if let Some(sequence) = self.answered(buffer.get(..len).unwrap_or_default())? {
                return Ok(Some((sequence, len)));
            }
        }
    }

    /// The sequence number of an answer. A request of the UPF is answered.
    fn answered(&self, octets: &[u8]) -> Result<Option<u32>, BenchError> {
        let Ok((header, ..)) = Header::decode(octets) else { return Ok(None) };
        if header.message_type != MessageType::HeartbeatRequest.code() {
            return Ok(Some(header.sequence));
        }
        let stamp = RecoveryTimeStamp(self.since);
        let mut answer = Vec::new();
        // It is no longer than a datagram.
        let _ = Message::from(HeartbeatResponse::new(stamp)).encode(None, header.sequence, &mut answer);
        self.send(&answer)?;
        Ok(None)
    }

    /// Waits for a datagram. `false`: none has come.
    fn wait(&self, time: Duration) -> Result<bool, BenchError> {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut fds, Timespec::try_from(time).ok().as_ref()) {
            Err(Errno::INTR) => Ok(true),
            ready => ready
                .map(|count| count > 0)
                .map_err(|errno| BenchError::io("wait for a response")(errno.into())),
        }
    }
}
