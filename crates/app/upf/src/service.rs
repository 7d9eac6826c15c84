//! The daemon as a service of the operating system: signals.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use crate::daemon::{Daemon, Totals};
use crate::error::RunError;

/// Runs until the daemon ends. SIGTERM and SIGINT stop it gracefully, a second one at once; SIGHUP calls
/// `hang_up`.
///
/// # Errors
/// What ended the daemon, when no signal did.
pub fn run(daemon: Daemon, hang_up: impl FnMut()) -> Result<Totals, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(RunError::Signals)?.block_on(until_end(daemon, hang_up))
}

async fn until_end(mut daemon: Daemon, mut hang_up: impl FnMut()) -> Result<Totals, RunError> {
    let listen = |kind| -> Result<_, io::Error> { signal(kind) };
    let mut terminate = listen(SignalKind::terminate()).map_err(RunError::Signals)?;
    let mut interrupt = listen(SignalKind::interrupt()).map_err(RunError::Signals)?;
    let mut hangup = listen(SignalKind::hangup()).map_err(RunError::Signals)?;
    let mut stopping = false;
    loop {
        tokio::select! {
            end = daemon.ended() => return end,
            _ = hangup.recv() => { hang_up(); continue }
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        if stopping {
            warn!("second signal: stops at once");
            daemon.stop_now();
        } else {
            info!("stops; a second signal stops at once");
            daemon.stop();
        }
        stopping = true;
    }
}
