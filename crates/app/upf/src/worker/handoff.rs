//! Packets on their way from the worker that received them to the one that owns their session.
//!
//! They travel as whole batches through a ring with one sender and one receiver; the emptied batch goes back through
//! another. There are so many batches and no more: when all are under way, packets are dropped and counted, and nobody waits.

use std::sync::Arc;

use causeway_fastpath::ReceiveSource;
use causeway_ports::{Batch, Frame};
use rtrb::{Consumer, Producer, RingBuffer};

use super::bell::Bell;

/// Batches under way between two workers, at most.
const UNDER_WAY: usize = 16;

/// A batch with the place where its packets came in.
type Parcel = (ReceiveSource, Box<Batch>);

/// The end where packets are put in.
pub(super) struct Outbox {
    full: Producer<Parcel>,
    empty: Consumer<Box<Batch>>,
    /// What is being filled.
    open: Option<Parcel>,
    bell: Arc<Bell>,
}

/// The end where packets come out.
pub(super) struct Inbox {
    full: Consumer<Parcel>,
    empty: Producer<Box<Batch>>,
}

/// A way to the worker that hears this bell, for frames of up to `frame_size` octets.
pub(super) fn way(bell: Arc<Bell>, frame_size: usize) -> (Outbox, Inbox) {
    let (full, received) = RingBuffer::new(UNDER_WAY);
    let (mut back, empty) = RingBuffer::new(UNDER_WAY);
    for _ in 0..UNDER_WAY {
        // There is room for each.
        let _ = back.push(Box::new(Batch::with_frame_size(frame_size)));
    }
    (Outbox { full, empty, open: None, bell }, Inbox { full: received, empty: back })
}

impl Outbox {
    /// Puts a packet in. `false`: there was no room, and it is lost.
    pub(super) fn put(&mut self, entrance: ReceiveSource, frame: Frame<'_>) -> bool {
        if self.open.as_ref().is_some_and(|(of, batch)| *of != entrance || batch.is_full()) {
            self.post();
        }
        if self.open.is_none() {
            self.open = self.empty.pop().ok().map(|mut batch| {
                batch.clear();
                (entrance, batch)
            });
        }
        self.open.as_mut().is_some_and(|(_, batch)| batch.push(frame))
    }

    /// Sends what was put in on its way.
    pub(super) fn post(&mut self) {
        if let Some(parcel) = self.open.take() {
            // There is room for all batches there are.
            let _ = self.full.push(parcel);
            self.bell.ring();
        }
    }
}

impl Inbox {
    /// The next batch, if one is there.
    pub(super) fn take(&mut self) -> Option<Parcel> {
        self.full.pop().ok()
    }

    /// Sends a batch back to be filled again.
    pub(super) fn recycle(&mut self, batch: Box<Batch>) {
        // There is room for all batches there are.
        let _ = self.empty.push(batch);
    }

    /// Nothing is there.
    pub(super) fn is_empty(&self) -> bool {
        self.full.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use causeway_ports::{BATCH, Meta, Waker, wait};

    use super::*;

    fn bell() -> Arc<Bell> {
        Arc::new(Bell::new(Waker::new().unwrap()))
    }

    fn number(frame: &Frame<'_>) -> u32 {
        frame.data.try_into().map(u32::from_be_bytes).unwrap()
    }

    // Input:  a hundred thousand numbered packets from one thread to another that sleeps whenever nothing is there.
    // Output: those that found room arrive once, in order; the others were refused.
    #[test]
    fn nothing_is_lost_or_comes_twice() {
        let bell = bell();
        let (mut outbox, mut inbox) = way(Arc::clone(&bell), 64);
        let sender = std::thread::spawn(move || {
            let mut sent = Vec::new();
            for n in 0..100_000_u32 {
                let frame = Frame { meta: Meta::Ip, data: &n.to_be_bytes() };
                if outbox.put(ReceiveSource::Network(0), frame) {
                    sent.push(n);
                }
                if n % 5 == 0 {
                    outbox.post();
                }
            }
            // The last batch may have to wait for one to come back.
            while !outbox
                .put(ReceiveSource::Network(0), Frame { meta: Meta::Ip, data: &u32::MAX.to_be_bytes() })
            {
            }
            outbox.post();
            sent
        });
        let mut received = Vec::new();
        while received.last() != Some(&u32::MAX) {
            if bell.falls_asleep() && inbox.is_empty() {
                wait([], Some(bell.waker()), None).unwrap();
            }
            bell.is_awake();
            while let Some((_, batch)) = inbox.take() {
                received.extend(batch.frames().map(|frame| number(&frame)));
                inbox.recycle(batch);
            }
        }
        received.pop();
        assert_eq!(received, sender.join().unwrap());
    }

    // Input:  packets for a worker that takes none.
    // Output: as many as the batches hold find room, and no more; the next does once a batch has come back.
    #[test]
    fn a_full_way_refuses() {
        let (mut outbox, mut inbox) = way(bell(), 64);
        let mut put = || outbox.put(ReceiveSource::Gtpu, Frame { meta: Meta::Ip, data: &[1] });
        assert_eq!((0..5000).filter(|_| put()).count(), UNDER_WAY * BATCH);
        let (_, batch) = inbox.take().unwrap();
        inbox.recycle(batch);
        assert!(put());
    }

    // Input:  packets of two entrances by turns.
    // Output: their order stays, and no batch mixes entrances.
    #[test]
    fn entrances_are_not_mixed() {
        let (mut outbox, mut inbox) = way(bell(), 64);
        for n in 0..4_u32 {
            let frame = Frame { meta: Meta::Ip, data: &n.to_be_bytes() };
            assert!(outbox.put(ReceiveSource::Network((n / 2) as u16), frame));
        }
        outbox.post();
        let parcels: Vec<_> = std::iter::from_fn(|| inbox.take()).collect();
        let seen =
            parcels.iter().map(|(at, batch)| (*at, batch.frames().map(|f| number(&f)).collect::<Vec<_>>()));
        let expected = [(ReceiveSource::Network(0), vec![0, 1]), (ReceiveSource::Network(1), vec![2, 3])];
        assert!(seen.eq(expected));
    }
}
