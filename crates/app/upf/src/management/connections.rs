//! The connections of the management server, with limits of their number, duration and request size.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::from_fn_with_state;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::runtime::Builder;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::ServerConfig;
use tower_service::Service;

use super::access::{AcceptedTls, Access, admit};
use super::listener::{Acceptor, Listener, Stream, encrypted};

/// Maximum number of connections to one address. A further one closes the oldest that has not sent its request with its body yet.
const CONNECTIONS: usize = 64;

/// Timeout of the handshake of TLS, and after that of the first line and the headers of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout of a connection, including the response. Each carries one request.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a stream of events may last beyond that, at most.
const STREAM_TIMEOUT: Duration = Duration::from_secs(3600);

/// Maximum size of the first line and the headers, in octets.
const SIZE: usize = 16 * 1024;

/// The delay after a failed accept, for example because too many files are open.
const PAUSE: Duration = Duration::from_millis(100);

/// The thread of the management server. Dropping the handle ends it.
#[derive(Debug)]
pub(crate) struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves the pages of `router` on these non-blocking listeners, in a new thread.
    ///
    /// # Errors
    /// The system has no free thread, or the runtime does not accept the listeners.
    pub(super) fn start(listeners: Vec<Listener>, router: &Router) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let mut servers = JoinSet::new();
        {
            let _context = runtime.enter();
            for listener in listeners {
                let Listener { socket, access } = listener;
                let acceptor = Acceptor::new(socket)?;
                let router = router.clone().layer(from_fn_with_state(access.clone(), admit));
                servers.spawn_on(serve(acceptor, access, router), runtime.handle());
            }
        }
        let (stop, stopped) = oneshot::channel();
        let run = move || {
            // A stop request or the end of the daemon. All connections end when the runtime is dropped.
            let _ = runtime.block_on(stopped);
            drop(servers);
        };
        let thread = thread::Builder::new().name("management".into()).spawn(run)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has been logged already.
            let _ = thread.join();
        }
    }
}

/// Marks the response to a request as a stream, which may last longer.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamMark(Arc<StreamState>);

#[derive(Debug, Default)]
struct StreamState {
    is_stream: AtomicBool,
    /// The connection is to be closed.
    closed: Notify,
}

impl StreamMark {
    pub(super) fn set(&self) {
        self.0.is_stream.store(true, Ordering::Relaxed);
    }

    /// Closes the connection: its client does not read.
    pub(super) fn close(&self) {
        self.0.closed.notify_one();
    }

    fn is_set(&self) -> bool {
        self.0.is_stream.load(Ordering::Relaxed)
    }

    async fn closed(&self) {
        self.0.closed.notified().await;
    }
}

/// A connection.
struct OpenConnection {
    task: AbortHandle,
    has_asked: Arc<AtomicBool>,
}

/// The body of a request. Its end sets `has_asked`.
struct RequestBody {
    body: Incoming,
    has_asked: Arc<AtomicBool>,
}

impl RequestBody {
    /// A request without a body is at its end with its headers.
    fn new(body: Incoming, has_asked: Arc<AtomicBool>) -> Self {
        let body = Self { body, has_asked };
        body.note_end();
        body
    }

    fn note_end(&self) {
        if self.body.is_end_stream() {
            self.has_asked.store(true, Ordering::Relaxed);
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match frame {
            None => self.has_asked.store(true, Ordering::Relaxed),
            Some(_) => self.note_end(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

async fn serve(acceptor: Acceptor, access: watch::Receiver<Access>, router: Router) {
    let mut tasks = JoinSet::new();
    let mut open: Vec<OpenConnection> = Vec::new();
    loop {
        let accepted = tokio::select! {
            accepted = acceptor.accept() => accepted,
            Some(_) = tasks.join_next() => continue,
        };
        let Ok(stream) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        open.retain(|connection| !connection.task.is_finished());
        if open.len() >= CONNECTIONS {
            let waits = |connection: &OpenConnection| !connection.has_asked.load(Ordering::Relaxed);
            match open.iter().position(waits) {
                Some(oldest) => open.remove(oldest).task.abort(),
                // All are in use: this one is closed.
                None => continue,
            }
        }
        let has_asked = Arc::new(AtomicBool::new(false));
        let task = tasks.spawn(connection(
            stream,
            access.borrow().tls.clone(),
            router.clone(),
            Arc::clone(&has_asked),
        ));
        open.push(OpenConnection { task, has_asked });
    }
}

/// Answers one request. An error ends only this connection.
async fn connection(
    stream: Box<dyn Stream>,
    tls: Option<Arc<ServerConfig>>,
    router: Router,
    has_asked: Arc<AtomicBool>,
) {
    let accepted = AcceptedTls(tls.clone());
    let Ok(Ok(stream)) = timeout(HEADER_TIMEOUT, encrypted(stream, tls)).await else { return };
    let mark = StreamMark::default();
    let of_request = mark.clone();
    let answer = move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(of_request.clone());
        request.extensions_mut().insert(accepted.clone());
        let has_asked = Arc::clone(&has_asked);
        let with_end = |body| axum::body::Body::new(RequestBody::new(body, Arc::clone(&has_asked)));
        let answered = router.clone().call(request.map(with_end) as Request);
        async move {
            let response = answered.await;
            // Some calls do not read the body.
            has_asked.store(true, Ordering::Relaxed);
            response
        }
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(SIZE)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service_fn(answer));
    let mut connection = pin!(connection);
    let whole = async {
        if timeout(CONNECTION_TIMEOUT, connection.as_mut()).await.is_err() && mark.is_set() {
            let _ = timeout(STREAM_TIMEOUT, connection).await;
        }
    };
    tokio::select! {
        // A client that does not read has no end of its response either.
        biased;
        () = mark.closed() => {}
        () = whole => {}
    }
}
