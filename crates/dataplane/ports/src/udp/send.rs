//! Transmission: GSO messages where the kernel can segment them, single datagrams where it cannot.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use arrayvec::ArrayVec;
use causeway_packet::{Frame, Meta};
use rustix::io::Errno;

use super::address::SocketName;
use super::ancillary::Ancillary;
use super::gso::{self, GsoMessage};
use crate::sys::mmsg::{self, Message, MessageParts, SEND};
use crate::{Counter, Counters};

/// Calls of [`Sender::send`] without GSO after the kernel has rejected a GSO message for lack of a device that
/// segments.
const GSO_BACKOFF_CALLS: u32 = 1024;

/// The transmit state of one socket.
pub(super) struct Sender {
    local: SocketAddr,
    /// Frames up to this many octets are sent in GSO messages; zero where the kernel cannot segment them.
    longest: usize,
    /// Remaining calls without GSO.
    backoff_calls: u32,
}

impl Sender {
    /// For a socket that is bound to this address. `longest`: octets of the largest datagram that is sent
    /// unfragmented; `gso`: the kernel segments GSO messages.
    pub(super) const fn new(local: SocketAddr, longest: usize, gso: bool) -> Self {
        Self { local, longest: if gso { longest } else { 0 }, backoff_calls: 0 }
    }

    /// Sends up to [`SEND`] frames; each counts in one counter. Returns how many were sent.
    ///
    /// # Errors
    /// Only errors that make the socket unusable.
    pub(super) fn send(
        &mut self,
        fd: impl AsFd,
        frames: &[Frame<'_>],
        counters: &Counters,
    ) -> Result<usize, Errno> {
        let frames = self.acceptable(frames, counters);
        let parts: ArrayVec<_, SEND> = frames.iter().map(|frame| IoSlice::new(frame.data)).collect();
        let longest = if self.backoff_calls > 0 { 0 } else { self.longest };
        self.backoff_calls = self.backoff_calls.saturating_sub(1);
        let gso_messages = gso::group(&frames, longest);
        let addressed: ArrayVec<_, SEND> = gso_messages
            .iter()
            .map(|gso_message| self.address(gso_message.meta, gso_message.segment()))
            .collect();
        let messages: ArrayVec<_, SEND> = gso_messages
            .iter()
            .zip(&addressed)
            .map(|(gso_message, (name, control))| Message {
                name: name.octets(),
                control,
                parts: parts.get(gso_message.frames.clone()).unwrap_or_default(),
            })
            .collect();
        self.send_gso(fd, &gso_messages, &messages, counters)
    }

    /// The frames that this socket can send. The others are counted.
    fn acceptable<'a>(&self, frames: &[Frame<'a>], counters: &Counters) -> ArrayVec<Frame<'a>, SEND> {
        let refused = |frame: &Frame<'_>| self.check(frame).map_err(|reason| counters.add(reason, 1)).is_ok();
        frames.iter().take(SEND).copied().filter(refused).collect()
    }

    fn check(&self, frame: &Frame<'_>) -> Result<(), Counter> {
        let Meta::Gtpu { local, peer, .. } = frame.meta else { return Err(Counter::TxWrongKind) };
        let v4 = self.local.is_ipv4();
        if peer.is_ipv4() != v4 || !(local.is_unspecified() || local.is_ipv4() == v4) {
            return Err(Counter::TxBadSource);
        }
        Ok(())
    }

    /// The destination of a message, and its control messages.
    fn address(&self, meta: Meta, segment: Option<u16>) -> (SocketName, ArrayVec<u8, { mmsg::CONTROL }>) {
        let (peer, ancillary) = match meta {
            Meta::Gtpu { local, peer, tos, hops } => {
                let local = Some(local).filter(|local| !local.is_unspecified());
                (
                    peer,
                    Ancillary {
                        local,
                        tos: Some(tos).filter(|tos| *tos != 0),
                        hops,
                        segment,
                        overruns: None,
                    },
                )
            }
            // `check` excludes these.
            Meta::Ip | Meta::Ethernet => (self.local, Ancillary::default()),
        };
        (SocketName::new(peer), ancillary.emit(self.local.is_ipv4()))
    }

    fn send_gso(
        &mut self,
        fd: impl AsFd,
        gso_messages: &[GsoMessage],
        messages: &[Message<'_>],
        counters: &Counters,
    ) -> Result<usize, Errno> {
        let (mut done, mut sent) = (0, 0);
        while let (Some(gso_message), Some(rest)) = (gso_messages.get(done), messages.get(done..)) {
            match mmsg::send_messages(&fd, rest) {
                Ok(n) => {
                    let left = gso_messages.get(done..done + n).unwrap_or_default();
                    let frames = left.iter().map(GsoMessage::len).sum();
                    counters.sent(frames, left.iter().map(|gso_message| gso_message.octets).sum());
                    counters.add(Counter::TxCalls, 1);
                    (done, sent) = (done + n, sent + frames);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let waiting: usize = gso_messages.iter().skip(done).map(GsoMessage::len).sum();
                    counters.add(Counter::TxWouldBlock, waiting as u64);
                    return Ok(sent);
                }
                Err(errno) if gso_message.len() > 1 => {
                    self.record_gso_refusal(errno);
                    let parts = rest.first().map(|message| message.parts).unwrap_or_default();
                    sent += self.send_each(&fd, gso_message.meta, parts, counters)?;
                    done += 1;
                }
                Err(errno) => {
                    counters.add(send_failure(errno).ok_or(errno)?, 1);
                    done += 1;
                }
            }
        }
        Ok(sent)
    }

    /// Sends the frames of a rejected GSO message singly.
    fn send_each(
        &self,
        fd: impl AsFd,
        meta: Meta,
        parts: &[IoSlice<'_>],
        counters: &Counters,
    ) -> Result<usize, Errno> {
        let (name, control) = self.address(meta, None);
        let mut sent = 0;
        for payload in parts {
            let alone = MessageParts { name: name.octets(), control: &control, header: &[], payload };
            sent += send_all(&fd, &[alone], counters)?;
        }
        Ok(sent)
    }

    /// The kernel has rejected a GSO message. Where it lacks a device that segments, it will reject the next one too.
    fn record_gso_refusal(&mut self, errno: Errno) {
        if errno == Errno::IO {
            self.backoff_calls = GSO_BACKOFF_CALLS;
        }
    }
}

/// Sends messages until all are sent or failed, and counts each. The counted octets are those of the payloads.
///
/// # Errors
/// Only errors that make the socket unusable.
pub(crate) fn send_all(
    fd: impl AsFd,
    messages: &[MessageParts<'_>],
    counters: &Counters,
) -> Result<usize, Errno> {
    let (mut rest, mut sent) = (messages, 0);
    while let Some((_, others)) = rest.split_first() {
        match mmsg::send(&fd, rest) {
            Ok(n) => {
                let (left, remaining) = rest.split_at_checked(n).unwrap_or((rest, &[]));
                counters.sent(left.len(), left.iter().map(|message| message.payload.len()).sum());
                counters.add(Counter::TxCalls, 1);
                (rest, sent) = (remaining, sent + left.len());
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                counters.add(Counter::TxWouldBlock, rest.len() as u64);
                return Ok(sent);
            }
            Err(errno) => {
                counters.add(send_failure(errno).ok_or(errno)?, 1);
                rest = others;
            }
        }
    }
    Ok(sent)
}

/// The counter of a failed transmission. `None` when the descriptor can no longer be used.
pub(crate) fn send_failure(errno: Errno) -> Option<Counter> {
    Some(match errno {
        Errno::BADF | Errno::NOTSOCK | Errno::BADFD | Errno::NODEV => return None,
        Errno::AGAIN => Counter::TxWouldBlock,
        Errno::NOBUFS | Errno::NOMEM => Counter::TxNoBuffer,
        Errno::NETUNREACH | Errno::HOSTUNREACH => Counter::TxNoRoute,
        Errno::MSGSIZE => Counter::TxTooBig,
        Errno::CONNREFUSED => Counter::TxRefused,
        Errno::PERM | Errno::ACCESS => Counter::TxForbidden,
        Errno::NETDOWN | Errno::NXIO | Errno::IO => Counter::TxLinkDown,
        Errno::INVAL | Errno::ADDRNOTAVAIL => Counter::TxBadSource,
        _ => Counter::TxError,
    })
}
