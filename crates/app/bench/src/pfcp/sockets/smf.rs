//! The generator: one socket, and requests that are ready before the clock runs.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use causeway_pfcp::{Header, HeartbeatResponse, Message, MessageType, RecoveryTimeStamp};
use causeway_types::NtpSeconds;
use causeway_upf::config::PFCP_PORT;

use super::super::{Operation, is_accepted, requests};
use super::SMF_SOCKET;
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
pub(super) struct Smf {
    socket: UdpSocket,
    sequence: u32,
}

/// Requests and their answers.
pub(super) struct Exchange {
    /// From the first request to the last answer.
    pub(super) wall: Duration,
    /// Of each request, in microseconds.
    pub(super) latency: Samples,
    /// In the order of the requests.
    pub(super) answers: Vec<Vec<u8>>,
    /// Requests that were sent again.
    pub(super) repeated: u64,
}

impl Smf {
    /// Opens the socket in the network namespace of the calling thread.
    pub(super) fn open(upf: SocketAddr) -> Result<Self, BenchError> {
        let open = || {
            let socket = UdpSocket::bind((SMF_SOCKET, PFCP_PORT))?;
            socket.connect(upf)?;
            socket.set_read_timeout(Some(T1))?;
            Ok(socket)
        };
        Ok(Self { socket: open().map_err(BenchError::io("open the socket of the SMF"))?, sequence: 0 })
    }

    /// Sets the association up.
    pub(super) fn associate(&mut self) -> Result<(), BenchError> {
        let mut buffer = [0; DATAGRAM];
        for _ in 0..N1 {
            self.socket.send(&requests::association()).map_err(BenchError::io("send a request"))?;
            if self.receive(&mut buffer)?.is_some() {
                return Ok(());
            }
        }
        Err(BenchError::NotAccepted { what: "set up the association".to_owned(), accepted: 0, of: 1 })
    }

    /// Sends requests, so many at a time, until all are answered.
    pub(super) fn ask<R: FnOnce(u32) -> Vec<u8>>(
        &mut self,
        operation: Operation,
        requests: impl Iterator<Item = R>,
        window: usize,
    ) -> Result<Exchange, BenchError> {
        let first = self.sequence.wrapping_add(1) & SEQUENCE;
        let mut ready = Vec::new();
        for request in requests {
            self.sequence = self.sequence.wrapping_add(1) & SEQUENCE;
            ready.push(request(self.sequence));
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
                Err(error) => return Err(BenchError::io("receive an answer")(error)),
            };
            let Ok((header, ..)) = Header::decode(buffer.get(..len).unwrap_or_default()) else { continue };
            if header.message_type != MessageType::HeartbeatRequest.code() {
                return Ok(Some((header.sequence, len)));
            }
            let stamp = RecoveryTimeStamp(NtpSeconds(3_900_000_000));
            let mut answer = Vec::new();
            // It is no longer than a datagram.
            let _ = Message::from(HeartbeatResponse::new(stamp)).encode(None, header.sequence, &mut answer);
            self.send(&answer)?;
        }
    }
}
