//! Ports that are reopened after a loss.

use std::sync::{Arc, Mutex};

use causeway_ports::{Port, PortError, PortEvent, ReconnectingPort};
use tracing::{info, warn};

/// Logs the state change of a port. Other ports continue.
fn log_event(port: &str, news: &PortEvent) {
    match news {
        PortEvent::Lost(error) => warn!("port {port} is down, other ports continue: {error}"),
        PortEvent::ReopenFailed(error) => {
            warn!("port {port} cannot be reopened yet, retrying: {error}");
        }
        PortEvent::Reopened => info!("port {port} is reopened"),
    }
}

/// A port that is reopened in the same manner after a loss.
pub(super) fn reconnecting(
    port: impl Port + 'static,
    open: impl FnMut() -> Result<Box<dyn Port>, PortError> + Send + 'static,
) -> Box<dyn Port> {
    Box::new(ReconnectingPort::of(Box::new(port), open, log_event))
}

/// Ports of several packet threads that are opened together: the first lost port reopens all.
pub(super) fn reconnecting_all<P: Port + 'static>(
    ports: Vec<P>,
    open_all: impl FnMut() -> Result<Vec<P>, PortError> + Send + 'static,
) -> Vec<Box<dyn Port>> {
    let ready: Vec<Option<P>> = ports.iter().map(|_| None).collect();
    let shared = Arc::new(Mutex::new((ready, open_all)));
    let with = |(number, port): (usize, P)| {
        let shared = Arc::clone(&shared);
        reconnecting(port, move || {
            let mut shared = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (ready, open_all) = &mut *shared;
            if let Some(port) = ready.get_mut(number).and_then(Option::take) {
                return Ok(Box::new(port));
            }
            // Ports that other threads have not taken belong to a lost interface, too.
            ready.iter_mut().for_each(|port| *port = None);
            let opened = open_all()?;
            ready.iter_mut().zip(opened).for_each(|(place, port)| *place = Some(port));
            let missing = || PortError::InterfaceMissing { name: "of this packet thread".into() };
            ready
                .get_mut(number)
                .and_then(Option::take)
                .map_or_else(|| Err(missing()), |it| Ok(Box::new(it) as _))
        })
    };
    ports.into_iter().enumerate().map(with).collect()
}
