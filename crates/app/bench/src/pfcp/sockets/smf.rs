//! The generator: one socket, and requests that are ready before the clock runs.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use causeway_pfcp::{Header, HeartbeatResponse, Message, MessageType, RecoveryTimeStamp};
use causeway_types::NtpSeconds;
use causeway_upf::config::PFCP_PORT;

use super::super::{Operation, is_accepted, requests};
use crate::BenchError;
use crate::kit::Samples;

/// How long an answer may take before its request is sent again.
const T1: Duration = Duration::from_secs(1);

/// How often a request is sent again.
const N1: u32 = 5;

/// Octets of the longest answer.
const DATAGRAM: usize = 4096;

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
    /// From the first request to the last answer.
    pub(crate) wall: Duration,
    /// Of each request, in microseconds.
    pub(crate) latency: Samples,
    /// In the order of the requests.
    pub(crate) answers: Vec<Vec<u8>>,
    /// Requests that were sent again.
    pub(crate) repeated: u64,
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
        };
        let mut sent: Vec<Instant> = Vec::with_capacity(ready.len());
        let (mut answered, mut silences) = (0, 0);
        let mut buffer = [0; DATAGRAM];
        let start = Instant::now();
        while answered < ready.len() {
            for request in ready.get(sent.len()..ready.len().min(answered + window)).unwrap_or_default() {
                sent.push(Instant::now());
                self.send(request)?;
            }
            let Some((sequence, len)) = self.receive(&mut buffer)? else {
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
            };
            let at = (sequence.wrapping_sub(first) & SEQUENCE) as usize;
            if let (Some(answer), Some(sent)) = (exchange.answers.get_mut(at), sent.get(at))
                && answer.is_empty()
            {
                exchange.latency.add(sent.elapsed().as_secs_f64() * 1e6);
                *answer = buffer.get(..len).unwrap_or_default().to_vec();
                answered += 1;
            }
        }
        exchange.wall = start.elapsed();
        let accepted = exchange.answers.iter().filter(|answer| is_accepted(answer)).count();
        if accepted < ready.len() {
            return Err(BenchError::NotAccepted { what: operation.to_string(), accepted, of: ready.len() });
        }
        Ok(exchange)
    }

    /// What the kernel has no room for is lost like on a wire.
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
            let Ok((header, ..)) = Header::decode(buffer.get(..len).unwrap_or_default()) else { continue };
            if header.message_type != MessageType::HeartbeatRequest.code() {
                return Ok(Some((header.sequence, len)));
            }
            let stamp = RecoveryTimeStamp(self.since);
            let mut answer = Vec::new();
            // It is no longer than a datagram.
            let _ = Message::from(HeartbeatResponse::new(stamp)).encode(None, header.sequence, &mut answer);
            self.send(&answer)?;
        }
    }
}
