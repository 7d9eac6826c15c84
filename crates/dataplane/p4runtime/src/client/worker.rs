//! The thread that stays connected to the switch.

use std::sync::Arc;
use std::time::Duration;

use causeway_switch::driver::{DriverError, Link, Request, Ticket};
use tokio::sync::mpsc::UnboundedReceiver;
use tonic::transport::Endpoint;
use tracing::{info, warn};

use super::error::SessionError;
use super::inbox::Inbox;
use super::session::Session;
use super::{ConnectError, Options};
use crate::info::{Info, InfoError};

/// The first pause before a connection attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The interval of keepalives on an idle connection.
const ALIVE: Duration = Duration::from_secs(10);

/// Octets of the status of a large batch with one status for each update.
const MOST_STATUS: u32 = 16 << 20;

/// State that all sessions share.
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) info: Info,
    /// The compiler's output; empty without one.
    pub(super) device_config: Vec<u8>,
    /// Identifies this program on the switch.
    pub(super) cookie: u64,
    pub(super) inbox: Arc<Inbox>,
}

pub(super) struct Worker {
    shared: Arc<Shared>,
    endpoint: Endpoint,
    requests: UnboundedReceiver<(Ticket, Request)>,
}

/// Octets of a device configuration, at most.
const MAX_DEVICE_CONFIG: u64 = 1 << 28;

/// How a session ends.
pub(super) enum End {
    /// The owner is gone.
    Gone,
    /// The switch is unreachable, or violates the protocol.
    Broken(SessionError),
}

impl Worker {
    pub(super) fn new(
        options: Options,
        info: Info,
        inbox: Arc<Inbox>,
        requests: UnboundedReceiver<(Ticket, Request)>,
    ) -> Result<Self, ConnectError> {
        let device_config = match &options.device_config {
            None => Vec::new(),
            Some(file) => causeway_file::read(file, MAX_DEVICE_CONFIG)
                .map_err(|source| InfoError::File { file: file.clone(), source })?,
        };
        let endpoint = Endpoint::from_shared(format!("http://{}", options.address));
        let endpoint = endpoint
            .map_err(|error| ConnectError::Address { address: options.address.clone(), source: error })?;
        let endpoint = endpoint
            .connect_timeout(options.deadline)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(ALIVE)
            .keep_alive_timeout(options.deadline)
            .keep_alive_while_idle(true)
            .http2_max_header_list_size(MOST_STATUS);
        let cookie = cookie(&[&info.encoded, &device_config]);
        let shared = Shared { options, info, device_config, cookie, inbox };
        Ok(Self { shared: Arc::new(shared), endpoint, requests })
    }

    /// Runs until the owner is dropped.
    pub(super) async fn run(mut self) {
        let address = self.shared.options.address.clone();
        let mut pause = FIRST_PAUSE;
        let mut last_reason = String::new();
        loop {
            let opening = Session::open(Arc::clone(&self.shared), self.endpoint.clone());
            let Some(opened) = refusing(&mut self.requests, &self.shared.inbox, opening).await else {
                return;
            };
            let error = match opened {
                Err(error) => error,
                Ok(session) => {
                    info!(switch = address, "connected");
                    let (end, was_up) = session.serve(&mut self.requests).await;
                    if was_up {
                        pause = FIRST_PAUSE;
                        self.shared.inbox.link(Link::Down);
                    }
                    match end {
                        End::Gone => return,
                        End::Broken(error) => error,
                    }
                }
            };
            // A repeated reason is logged once.
            let reason = error.to_string();
            if reason != last_reason {
                warn!(switch = address, "the switch is unreachable: {reason}");
                last_reason = reason;
            }
            let pausing = tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0));
            if refusing(&mut self.requests, &self.shared.inbox, pausing).await.is_none() {
                return;
            }
            pause = (pause * 2).min(self.shared.options.longest_pause);
        }
    }
}

/// Runs a future while requests are refused; `None` if the owner is dropped.
async fn refusing<T>(
    requests: &mut UnboundedReceiver<(Ticket, Request)>,
    inbox: &Inbox,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Some(done),
            request = requests.recv() => inbox.outcome(request?.0, Err(DriverError::Unavailable)),
        }
    }
}

/// A hash of the program that other programs are unlikely to have: FNV-1a.
fn cookie(parts: &[&[u8]]) -> u64 {
    let octets =
        parts.iter().flat_map(|part| part.len().to_be_bytes().into_iter().chain(part.iter().copied()));
    octets.fold(0xcbf2_9ce4_8422_2325, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3))
}
