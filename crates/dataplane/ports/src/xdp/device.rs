//! The AF_XDP sockets of an interface, one for each receive queue.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::io::Errno;

use super::attach::Attachment;
use crate::ethernet::{ChecksumState, Device, Header, Received};
use crate::sys::xsk::{Losses, Socket};
use crate::{Counter, Counters};

/// Receive calls after which losses are read without a pause.
const RUNS: u32 = 256;

/// Receive queues of one interface.
pub struct Queues {
    /// Shared with the ports of the other queues, where each queue has its own.
    pub(super) attachment: Arc<Attachment>,
    sockets: Vec<Socket>,
    /// The drivers write into the socket's memory (zero copy).
    pub(super) zero_copy: bool,
    /// The current queue.
    current: usize,
    /// Frames were received since the last [`Device::finish_receive`].
    received: bool,
    /// Receive calls since losses were read.
    runs: u32,
    /// The losses that were counted already.
    losses: Losses,
    /// The send ring holds frames that the interface did not accept.
    waiting: bool,
}

impl Queues {
    pub(super) fn new(attachment: Arc<Attachment>, sockets: Vec<Socket>, zero_copy: bool) -> Self {
        let losses = Losses::default();
        Self { attachment, sockets, zero_copy, current: 0, received: false, runs: 0, losses, waiting: false }
    }

    /// Splits the queues into `parts` parts, in turn.
    pub(super) fn split(self, parts: usize) -> impl Iterator<Item = Self> {
        let Self { attachment, sockets, zero_copy, .. } = self;
        let mut dealt: Vec<Vec<Socket>> = (0..parts).map(|_| Vec::new()).collect();
        for (number, socket) in sockets.into_iter().enumerate() {
            if let Some(part) = dealt.get_mut(number % parts.max(1)) {
                part.push(socket);
            }
        }
        // The first socket of each part is among the first `parts`: those that can send.
        dealt.into_iter().map(move |sockets| Self::new(Arc::clone(&attachment), sockets, zero_copy))
    }

    pub(super) fn count(&self) -> usize {
        self.sockets.len()
    }

    /// Makes the kernel send the frames in the ring of the first queue, which transmits all frames.
    fn flush(&mut self) {
        let Some(socket) = self.sockets.first_mut() else { return };
        // While the link is down frames stay queued, and repeated calls have no effect.
        self.waiting = socket.flush().is_ok_and(|waiting| waiting > 0);
    }
}

impl Device for Queues {
    fn next(&mut self) -> Option<Received<'_>> {
        for _ in 0..self.sockets.len() {
            if self.sockets.get_mut(self.current)?.is_ready() {
                break;
            }
            self.current = (self.current + 1) % self.sockets.len();
        }
        let data = self.sockets.get_mut(self.current)?.next()?;
        self.received = true;
        Some(Received { data, len: data.len(), sum: ChecksumState::Unknown, vlan: None })
    }

    fn finish_receive(&mut self, counters: &Counters) {
        self.sockets.iter_mut().for_each(Socket::finish_receive);
        if self.waiting {
            self.flush();
        }
        let seen = std::mem::take(&mut self.received);
        if self.runs > 0 && (!seen || self.runs == RUNS) {
            self.count_losses(counters);
        }
        if seen {
            self.runs += 1;
            // The next call begins with the next queue, so that none is neglected.
            self.current = (self.current + 1) % self.sockets.len().max(1);
        }
    }

    fn transmit(&mut self, frames: &[(Header, &[u8])], counters: &Counters) -> Result<usize, Errno> {
        let Some(socket) = self.sockets.first_mut() else { return Ok(0) };
        let mut taken = 0;
        for (header, payload) in frames {
            if header.len() + payload.len() > socket.frame_size() {
                counters.add(Counter::TxTooBig, 1);
            } else if socket.put(header, payload) || (socket.flush().is_ok() && socket.put(header, payload)) {
                counters.sent(1, payload.len());
                taken += 1;
            } else {
                counters.add(Counter::TxWouldBlock, 1);
            }
        }
        self.flush();
        Ok(taken)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.sockets.iter().map(AsFd::as_fd).collect()
    }

    /// Includes frames that are too long for a chunk, which arrive if the MTU was raised since the port was opened.
    fn count_losses(&mut self, counters: &Counters) {
        self.runs = 0;
        let now = self.sockets.iter().map(Socket::losses).fold(Losses::default(), |sum, one| Losses {
            received: sum.received + one.received,
            sent: sum.sent + one.sent,
        });
        counters.add(Counter::RxOverrun, now.received.saturating_sub(self.losses.received));
        counters.add(Counter::TxError, now.sent.saturating_sub(self.losses.sent));
        self.losses = now;
    }

    /// The maximum of all queues.
    fn fill_percent(&self) -> Option<u8> {
        self.sockets.iter().map(Socket::fill_percent).max()
    }

    fn has_pending(&self) -> bool {
        self.waiting
    }
}
