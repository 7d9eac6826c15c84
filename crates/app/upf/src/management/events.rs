//! The stream of events: a bounded queue for each client, and what a slow client misses.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::response::sse;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Sleep, sleep};
use tokio_stream::Stream;

use super::views::{EventView, TimedEvent};

/// Maximum number of streams at a time.
pub(super) const STREAMS: usize = 16;

/// Maximum number of events that wait for one client. Further ones are lost to it, and counted.
const QUEUE: usize = 1024;

/// A stream ends after so long, before its connection is closed: the client learns that it is the end.
pub(super) const DURATION: Duration = Duration::from_secs(3600);

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
    end: Pin<Box<Sleep>>,
    _permit: OwnedSemaphorePermit,
}

impl EventStream {
    /// A queue, and its stream, which lasts so long, and counts as one of [`STREAMS`] meanwhile.
    pub(super) fn new(permit: OwnedSemaphorePermit, duration: Duration) -> (EventSender, Self) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        (
            EventSender { queue: sender, lost: Arc::clone(&lost) },
            Self { queue, lost, last: 0.0, end: Box::pin(sleep(duration)), _permit: permit },
        )
    }
}

impl Stream for EventStream {
    type Item = Result<sse::Event, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.end.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
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
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use axum::Router;
    use axum::response::Sse;
    use axum::routing::get;
    use tokio::sync::{Semaphore, watch};
    use tokio_stream::StreamExt;

    use super::*;
    use crate::management::connections::Server;
    use crate::management::{Access, CallerChecks, Listener, ListenerKind, Socket};

    // Input:  ten events more than a queue holds, for a client that does not read; then one more, after it has read all.
    // Output: the queued ones, then how many are lost, then the last one.
    #[tokio::test]
    async fn a_slow_client_is_told_what_it_missed() {
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let (sender, mut stream) = EventStream::new(permit, DURATION);
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

    // Input:  a stream of 50 ms over the server, with an event.
    // Output: the event, then the last chunk of the body: the client sees an end, and no failure.
    #[test]
    fn a_stream_ends_with_its_last_chunk() {
        let stream = async || {
            let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
            let (sender, stream) = EventStream::new(permit, Duration::from_millis(50));
            let event = EventView::SessionDeleted { seid: "0x2a".into() };
            assert!(sender.send(TimedEvent { time: 1.0, event }));
            // The sender lasts as long as the stream.
            Sse::new(stream.map(move |event| (event, &sender).0))
        };
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        socket.set_nonblocking(true).unwrap();
        let (_access, access) =
            watch::channel(Access::new(ListenerKind::Management, &CallerChecks::default()));
        let listener = Listener { socket: Socket::Tcp(socket), access };
        let _server = Server::start(vec![listener], &Router::new().route("/events", get(stream))).unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        write!(client, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("event: session_deleted\n") && answer.ends_with("\r\n0\r\n\r\n"), "{answer}");
    }
}
