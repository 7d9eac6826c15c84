//! Notifications to systemd by sd_notify(3): ready, watchdog, stopping.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The socket of the service manager, if there is one.
#[derive(Debug)]
pub(crate) struct SdNotifier {
    socket: Option<UnixDatagram>,
    watchdog: Option<Duration>,
}

impl SdNotifier {
    /// The socket in the environment that systemd sets.
    pub(crate) fn from_env() -> Self {
        let of_this_process =
            env::var("WATCHDOG_PID").map_or(true, |pid| pid == std::process::id().to_string());
        let watchdog = env::var("WATCHDOG_USEC").ok().filter(|_| of_this_process);
        let watchdog = watchdog.and_then(|usec| usec.parse().ok()).filter(|usec| *usec > 0);
        Self { socket: connect(), watchdog: watchdog.map(Duration::from_micros) }
    }

    /// The maximum interval of watchdog notifications; `None`: systemd expects none.
    pub(crate) fn watchdog(&self) -> Option<Duration> {
        self.watchdog.filter(|_| self.socket.is_some())
    }

    /// Says that the process works, unless a thread of it has not responded for so long that half of the interval is over.
    pub(crate) fn alive(&self, unresponsive: Duration) {
        if self.watchdog().is_some_and(|patience| unresponsive < patience / 2) {
            self.notify("WATCHDOG=1");
        }
    }

    /// Sends a notification without blocking; it is lost if the manager does not read.
    pub(crate) fn notify(&self, what: &str) {
        if let Some(socket) = &self.socket {
            // A failure cannot be reported.
            let _ = socket.send(what.as_bytes());
        }
    }
}

fn connect() -> Option<UnixDatagram> {
    let path = env::var_os("NOTIFY_SOCKET")?;
    let address = match path.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok()?,
        _ => SocketAddr::from_pathname(&path).ok()?,
    };
    let socket = UnixDatagram::unbound().ok()?;
    socket.connect_addr(&address).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}
