use std::sync::Arc;

use causeway_dataplane::ReceiveSource;
use causeway_packet::{BATCH, Frame, Meta};
use causeway_ports::{Waker, wait};

use super::super::handoff_ring::{RING_BATCHES, ring};
use super::super::notifier::Notifier;

fn notifier() -> Arc<Notifier> {
    Arc::new(Notifier::new(Waker::new().unwrap()))
}

fn number(frame: &Frame<'_>) -> u32 {
    frame.data.try_into().map(u32::from_be_bytes).unwrap()
}

// Input:  a hundred thousand numbered packets from one thread to another that sleeps whenever the ring is empty.
// Output: each accepted packet arrives once, in order; the others were refused.
#[test]
fn nothing_is_lost_or_comes_twice() {
    let notifier = notifier();
    let (mut sender, mut receiver) = ring(Arc::clone(&notifier), 64);
    let sender = std::thread::spawn(move || {
        let mut sent = Vec::new();
        for n in 0..100_000_u32 {
            let frame = Frame { meta: Meta::Ip, data: &n.to_be_bytes() };
            if sender.push(ReceiveSource::Network(0), frame) {
                sent.push(n);
            }
            if n % 5 == 0 {
                sender.flush();
            }
        }
        // The last batch may have to wait for a returned one.
        while !sender.push(ReceiveSource::Network(0), Frame { meta: Meta::Ip, data: &u32::MAX.to_be_bytes() })
        {
        }
        while sender.is_holding() {
            sender.flush();
        }
        sent
    });
    let mut received = Vec::new();
    while received.last() != Some(&u32::MAX) {
        if notifier.prepare_sleep() && receiver.is_empty() {
            wait([], Some(notifier.waker()), None).unwrap();
        }
        notifier.mark_awake();
        while let Some((_, batch)) = receiver.take() {
            received.extend(batch.frames().map(|frame| number(&frame)));
            receiver.recycle(batch);
        }
    }
    received.pop();
    assert_eq!(received, sender.join().unwrap());
}

// Input:  packets for a worker that takes none.
// Output: the ring accepts as many packets as its batches hold; the next one is accepted after a batch was
//         returned.
#[test]
fn a_full_ring_refuses() {
    let (mut sender, mut receiver) = ring(notifier(), 64);
    let mut put = || sender.push(ReceiveSource::Gtpu, Frame { meta: Meta::Ip, data: &[1] });
    assert_eq!((0..5000).filter(|_| put()).count(), RING_BATCHES * BATCH);
    let (_, batch) = receiver.take().unwrap();
    receiver.recycle(batch);
    assert!(put());
}

// Input:  packets one by one for a worker that takes none; then it takes a batch after the other.
// Output: half of the ring's batches have one packet, the other half are full; a batch that is held leaves when the worker has
//         returned half of the batches. Each packet arrives, in order.
#[test]
fn single_packets_share_batches_when_the_receiver_is_behind() {
    let (mut sender, mut receiver) = ring(notifier(), 64);
    let accepted = (0..5000_u32).take_while(|n| {
        let is_accepted = sender.push(ReceiveSource::Gtpu, Frame { meta: Meta::Ip, data: &n.to_be_bytes() });
        sender.flush();
        is_accepted
    });
    let accepted = accepted.count();
    assert_eq!(accepted, RING_BATCHES / 2 + RING_BATCHES / 2 * BATCH);
    let mut received = Vec::new();
    let mut take = |count| {
        for _ in 0..count {
            let (_, batch) = receiver.take().unwrap();
            received.extend(batch.frames().map(|frame| number(&frame)));
            receiver.recycle(batch);
        }
    };
    take(1);
    assert!(
        sender.push(ReceiveSource::Gtpu, Frame { meta: Meta::Ip, data: &(accepted as u32).to_be_bytes() })
    );
    sender.flush();
    assert!(sender.is_holding());
    take(RING_BATCHES / 2);
    sender.flush();
    assert!(!sender.is_holding());
    take(RING_BATCHES / 2);
    assert!(received.into_iter().eq(0..=accepted as u32));
}

// Input:  packets of two receive sources by turns.
// Output: their order is kept, and each batch has one receive source.
#[test]
fn entrances_are_not_mixed() {
    let (mut sender, mut receiver) = ring(notifier(), 64);
    for n in 0..4_u32 {
        let frame = Frame { meta: Meta::Ip, data: &n.to_be_bytes() };
        assert!(sender.push(ReceiveSource::Network((n / 2) as u16), frame));
    }
    sender.flush();
    let parcels: Vec<_> = std::iter::from_fn(|| receiver.take()).collect();
    let seen =
        parcels.iter().map(|(at, batch)| (*at, batch.frames().map(|f| number(&f)).collect::<Vec<_>>()));
    let expected = [(ReceiveSource::Network(0), vec![0, 1]), (ReceiveSource::Network(1), vec![2, 3])];
    assert!(seen.eq(expected));
}
