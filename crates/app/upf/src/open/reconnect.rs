//! Ports that come back.

use std::sync::{Arc, Mutex};

use causeway_ports::{Port, PortError, PortEvent, ReconnectingPort};
use tracing::{info, warn};

/// Says what became of a port. The others go on.
fn tell(port: &str, news: &PortEvent) {
    match news {
        PortEvent::Lost(error) => warn!("port {port} is down, others go on: {error}"),
        PortEvent::ReopenFailed(error) => {
            warn!("port {port} cannot be opened again, and is tried further: {error}");
        }
        PortEvent::Reopened => info!("port {port} is back"),
    }
}

/// The port, which is opened again so when it is lost.
pub(super) fn reconnecting(
    port: impl Port + 'static,
    open: impl FnMut() -> Result<Box<dyn Port>, PortError> + Send + 'static,
) -> Box<dyn Port> {
    Box::new(ReconnectingPort::of(Box::new(port), open, tell))
}

/// Ports of several packet threads that are opened together: the first that is lost opens those of all.
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
            // What others have not taken is of an interface that is gone, too.
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
