//! The stream of events: a bounded queue for each client, and what a slow client misses.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::response::sse;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_stream::Stream;

use super::views::{EventView, TimedEvent};

/// Maximum number of streams at a time.
pub(super) const STREAMS: usize = 16;

/// Maximum number of events that wait for one client. Further ones are lost to it, and counted.
const QUEUE: usize = 1024;

/// The sending end of a client's queue.
#[derive(Debug)]
pub(crate) struct EventSender {
    queue: mpsc::Sender<TimedEvent>,
    lost: Arc<AtomicU64>,
}

impl EventSender {
    /// Queues an event; if the queue is full, the event is lost to this client. `false`: the client has left.
    pub(crate) fn send(&self, event: TimedEvent) -> bool {
        match self.queue.try_send(event) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(TrySendError::Closed(_)) => false,
        }
    }

    /// The client has left.
    pub(crate) fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }
}

/// The events of one client, as they are sent.
pub(super) struct EventStream {
    queue: mpsc::Receiver<TimedEvent>,
    lost: Arc<AtomicU64>,
    /// The time of the last event, for the count of lost ones.
    last: f64,
    _permit: OwnedSemaphorePermit,
}

impl EventStream {
    /// A queue, and its stream, which counts as one of [`STREAMS`] while it lasts.
    pub(super) fn new(permit: OwnedSemaphorePermit) -> (EventSender, Self) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        (
            EventSender { queue: sender, lost: Arc::clone(&lost) },
            Self { queue, lost, last: 0.0, _permit: permit },
        )
    }
}

impl Stream for EventStream {
    type Item = Result<sse::Event, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let event = match self.queue.poll_recv(context) {
            Poll::Ready(Some(event)) => event,
            Poll::Ready(None) => return Poll::Ready(None),
            // The task has used up its share of the thread, and is woken again.
            Poll::Pending if !self.queue.is_empty() => return Poll::Pending,
            // Events are lost only while the queue is full: their place is behind what was queued.
            Poll::Pending => match self.lost.swap(0, Ordering::Relaxed) {
                0 => return Poll::Pending,
                events => TimedEvent { time: self.last, event: EventView::Lost { events } },
            },
        };
        self.last = event.time;
        Poll::Ready(Some(sse::Event::default().event(event.event.name()).json_data(event)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;
    use tokio_stream::StreamExt;

    use super::*;

    // Input:  ten events more than a queue holds, for a client that does not read; then one more, after it has read all.
    // Output: the queued ones, then how many are lost, then the last one.
    #[tokio::test]
    async fn a_slow_client_is_told_what_it_missed() {
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let (sender, mut stream) = EventStream::new(permit);
        let event = |n: usize| TimedEvent {
            time: n as f64,
            event: EventView::SessionDeleted { seid: format!("{n:#x}") },
        };
        for n in 0..QUEUE + 10 {
            assert!(sender.send(event(n)));
        }
        for _ in 0..QUEUE {
            assert!(stream.next().await.unwrap().is_ok());
        }
        let lost = format!("{:?}", stream.next().await.unwrap().unwrap());
        assert!(lost.contains("lost") && lost.contains("10"), "{lost}");
        assert!(sender.send(event(0)));
        assert!(format!("{:?}", stream.next().await.unwrap().unwrap()).contains("session_deleted"));
        drop(stream);
        assert!(sender.is_closed() && !sender.send(event(0)));
    }
}
