//! Rings that carry packets from the worker that received them to the worker that owns their session.
//!
//! A ring has one sender and one receiver and carries whole batches. A second ring returns the emptied batches. The
//! number of batches is fixed: when all are in flight, packets are dropped and counted, and the sender does not wait.
//!
//! While the receiver keeps up, each batch leaves as soon as the sender has no more packets for it. When half of all batches
//! are in flight, a batch leaves when it is full. Thus a receiver that does not run for a while gets eight full batches
//! and more, also if packets came one by one.

use std::sync::Arc;

use causeway_dataplane::ReceiveSource;
use causeway_packet::{Batch, Frame};

use super::notifier::Notifier;
use super::sync::{Consumer, Producer, RingBuffer};

/// Maximum number of batches in flight between two workers.
pub(super) const RING_BATCHES: usize = 16;

/// A batch with the receive source of its packets.
type HandoffBatch = (ReceiveSource, Box<Batch>);

/// The sending end of a ring.
pub(super) struct RingSender {
    full: Producer<HandoffBatch>,
    empty: Consumer<Box<Batch>>,
    /// The batch that is being filled.
    open: Option<HandoffBatch>,
    /// Number of batches of the ring.
    batches: usize,
    notifier: Arc<Notifier>,
}

/// The receiving end of a ring.
pub(super) struct RingReceiver {
    full: Consumer<HandoffBatch>,
    empty: Producer<Box<Batch>>,
}

/// A ring to the worker with this notifier, for frames of up to `frame_size` octets.
pub(super) fn ring(notifier: Arc<Notifier>, frame_size: usize) -> (RingSender, RingReceiver) {
    ring_of(RING_BATCHES, notifier, frame_size)
}

/// A ring of so many batches.
pub(super) fn ring_of(
    batches: usize,
    notifier: Arc<Notifier>,
    frame_size: usize,
) -> (RingSender, RingReceiver) {
    let (full, received) = RingBuffer::new(batches);
    let (mut back, empty) = RingBuffer::new(batches);
    for _ in 0..batches {
        // The ring has capacity for each.
        let _ = back.push(Box::new(Batch::with_frame_size(frame_size)));
    }
    (RingSender { full, empty, open: None, batches, notifier }, RingReceiver { full: received, empty: back })
}

impl RingSender {
    /// Appends a packet. `false`: all batches are in flight, and the packet is dropped.
    pub(super) fn push(&mut self, source: ReceiveSource, frame: Frame<'_>) -> bool {
        if self.open.as_ref().is_some_and(|(of, batch)| *of != source || batch.is_full()) {
            self.send();
        }
        if self.open.is_none() {
            self.open = self.empty.pop().ok().map(|mut batch| {
                batch.clear();
                (source, batch)
            });
        }
        self.open.as_mut().is_some_and(|(_, batch)| batch.push(frame))
    }

    /// Sends the batch that is being filled, unless it has space and the receiver is behind: then it is held, and
    /// this is to be called again after a while.
    pub(super) fn flush(&mut self) {
        let has_space = self.open.as_ref().is_some_and(|(_, batch)| !batch.is_full());
        if !has_space || self.empty.slots() >= self.batches / 2 {
            self.send();
        }
    }

    /// Whether a batch is held.
    pub(super) const fn is_holding(&self) -> bool {
        self.open.is_some()
    }

    fn send(&mut self) {
        if let Some(parcel) = self.open.take() {
            // The ring has capacity for all batches.
            let _ = self.full.push(parcel);
            self.notifier.notify();
        }
    }
}

impl RingReceiver {
    /// The next batch, if one is queued.
    pub(super) fn take(&mut self) -> Option<HandoffBatch> {
        self.full.pop().ok()
    }

    /// Returns an emptied batch to the sender.
    pub(super) fn recycle(&mut self, batch: Box<Batch>) {
        // The ring has capacity for all batches.
        let _ = self.empty.push(batch);
    }

    /// Whether the ring is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.full.is_empty()
    }
}
