//! Reception of messages that the kernel has joined: one message is many datagrams of one flow, which are separated
//! here.

use causeway_packet::{BATCH, Batch, Frame};
use rustix::io::Errno;
use std::os::fd::AsFd;

use super::message::{MessageInfo, MessageParser};
use crate::sys::mmsg::{self, MessageMeta};
use crate::{Counter, Counters};

/// Octets from one buffer to the next: the longest message fits. An odd number of cache lines, so that short messages
/// do not compete for the same sets of a cache.
const GRO_BUFFER: usize = (1 << 16) + 33 * 64;

/// A message with datagrams that were not delivered yet.
#[derive(Clone, Copy)]
struct SegmentCursor {
    head: MessageInfo,
    /// The buffer it lies in.
    buffer: usize,
    /// The offset of the next datagram.
    at: usize,
    /// The end of the last one.
    end: usize,
    /// Octets of each datagram but the last.
    segment: usize,
}

/// Messages as the kernel delivered them.
pub(super) struct GroReceiver {
    buffers: Box<[u8]>,
    metas: Box<[MessageMeta; BATCH]>,
    /// Messages in the buffers.
    received: usize,
    /// The first of them that was not read.
    next: usize,
    cursor: Option<SegmentCursor>,
    /// Datagrams per message, in the last call.
    per_message: usize,
}

impl GroReceiver {
    /// The memory is allocated when messages arrive, as far as they fill it.
    pub(super) fn new() -> Self {
        Self {
            buffers: vec![0; GRO_BUFFER * BATCH].into(),
            metas: mmsg::message_metas(),
            received: 0,
            next: 0,
            cursor: None,
            per_message: 1,
        }
    }

    /// Datagrams wait here, which the descriptor does not show.
    pub(super) fn is_waiting(&self) -> bool {
        self.cursor.is_some() || self.next < self.received
    }

    /// Fills the batch with the waiting datagrams, then with those of the socket.
    pub(super) fn receive(
        &mut self,
        socket: impl AsFd,
        batch: &mut Batch,
        reader: &mut MessageParser,
        counters: &Counters,
    ) -> Result<(), Errno> {
        self.hand_over(batch, reader, counters);
        let free = batch.free_buffers();
        if free == 0 || self.is_waiting() {
            return Ok(());
        }
        // More messages than the batch has capacity for would only leave the cache before they are read.
        let requested = free.div_ceil(self.per_message);
        let buffers = self.buffers.chunks_exact_mut(GRO_BUFFER).take(requested);
        (self.received, self.next) = (0, 0);
        self.received = mmsg::receive(socket, &mut self.metas, buffers)?;
        counters.add(Counter::RxCalls, 1);
        self.per_message = self.datagrams_per_message();
        self.hand_over(batch, reader, counters);
        Ok(())
    }

    /// The average of the last received messages, at least one.
    fn datagrams_per_message(&self) -> usize {
        let count = |message_meta: &MessageMeta| {
            MessageParser::segment(message_meta)
                .map_or(1, |segment| message_meta.len.div_ceil(segment).max(1))
        };
        let datagrams: usize = self.metas.iter().take(self.received).map(count).sum();
        datagrams.checked_div(self.received).unwrap_or(1).max(1)
    }

    fn hand_over(&mut self, batch: &mut Batch, reader: &mut MessageParser, counters: &Counters) {
        let (before, mut octets) = (batch.len(), 0);
        while !batch.is_full() {
            let Some(cursor) = self.cursor.take().or_else(|| self.open_next(reader, counters)) else { break };
            octets += self.segment(cursor, batch, counters);
        }
        counters.received(batch.len() - before, octets);
    }

    /// Opens the next valid message.
    fn open_next(&mut self, reader: &mut MessageParser, counters: &Counters) -> Option<SegmentCursor> {
        while self.next < self.received {
            let buffer = self.next;
            self.next += 1;
            let message_meta = self.metas.get(buffer)?;
            match reader.read(message_meta, counters) {
                Ok(head) => {
                    let segment = head.segment.unwrap_or(message_meta.len).max(1);
                    return Some(SegmentCursor { head, buffer, at: 0, end: message_meta.len, segment });
                }
                Err(reason) => counters.add(reason, 1),
            }
        }
        None
    }

    /// Copies datagrams into the batch until it is full or the message is at its end. Returns their octets.
    fn segment(&mut self, mut cursor: SegmentCursor, batch: &mut Batch, counters: &Counters) -> usize {
        let start = cursor.buffer * GRO_BUFFER;
        let (mut octets, mut truncated) = (0, 0);
        loop {
            let end = cursor.end.min(cursor.at + cursor.segment);
            let data = self.buffers.get(start + cursor.at..start + end).unwrap_or_default();
            if data.len() > batch.frame_size() {
                truncated += 1;
            } else if batch.push(Frame { meta: cursor.head.meta, data }) {
                octets += data.len();
            } else {
                self.cursor = Some(cursor);
                break;
            }
            cursor.at = end;
            if end >= cursor.end {
                break;
            }
        }
        if truncated > 0 {
            counters.add(Counter::RxTruncated, truncated);
        }
        octets
    }
}
