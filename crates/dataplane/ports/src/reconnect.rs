//! A port that is reopened when it is lost.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use causeway_packet::{Batch, Frame};

use crate::{Counter, Counters, Port, PortError, Waker};

/// The delay between two attempts to reopen the port: the first, and the maximum; each attempt doubles it.
const MIN_RETRY: Duration = Duration::from_millis(100);
const MAX_RETRY: Duration = Duration::from_secs(2);

/// Events of a port.
#[derive(Debug)]
pub enum PortEvent {
    /// It is lost, and is reopened as soon as possible.
    Lost(PortError),
    /// The first attempt to reopen it failed for this reason; others follow.
    ReopenFailed(PortError),
    /// It is open again.
    Reopened,
}

/// Opens the port.
type OpenFn = Box<dyn FnMut() -> Result<Box<dyn Port>, PortError> + Send>;

/// Receives the events of a port, with its name.
type EventHandler = Arc<dyn Fn(&str, &PortEvent) + Send + Sync>;

/// A port that is reopened when it is lost, by a thread that ends when that is done. Meanwhile it receives nothing,
/// and frames to send are dropped and counted.
pub struct ReconnectingPort {
    name: String,
    mtu: u32,
    counters: Arc<Counters>,
    open: Arc<Mutex<OpenFn>>,
    tell: EventHandler,
    state: State,
}

enum State {
    Up(Box<dyn Port>),
    Down {
        coming: Receiver<Box<dyn Port>>,
        arrived: Arc<Waker>,
    },
    /// There is no thread or no descriptor to reopen it.
    Closed,
}

impl ReconnectingPort {
    /// Opens the port. `open` is called again, by another thread of the same network namespace, when the port is
    /// lost; `tell` receives its events.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn new(
        mut open: impl FnMut() -> Result<Box<dyn Port>, PortError> + Send + 'static,
        tell: impl Fn(&str, &PortEvent) + Send + Sync + 'static,
    ) -> Result<Self, PortError> {
        let port = open()?;
        Ok(Self::of(port, open, tell))
    }

    /// The same for an open port.
    pub fn of(
        port: Box<dyn Port>,
        open: impl FnMut() -> Result<Box<dyn Port>, PortError> + Send + 'static,
        tell: impl Fn(&str, &PortEvent) + Send + Sync + 'static,
    ) -> Self {
        let (name, mtu, counters) = (port.name().to_owned(), port.mtu(), Arc::clone(port.counters()));
        let open: OpenFn = Box::new(open);
        Self {
            name,
            mtu,
            counters,
            open: Arc::new(Mutex::new(open)),
            tell: Arc::new(tell),
            state: State::Up(port),
        }
    }

    /// The port is lost: it is closed, and reopened by another thread.
    #[cold]
    fn disconnect(&mut self, error: PortError) {
        self.counters.add(Counter::Lost, 1);
        // Closed first: it may hold what the next one needs.
        self.state = State::Closed;
        (self.tell)(&self.name, &PortEvent::Lost(error));
        let Ok(arrived) = Waker::new() else { return };
        let arrived = Arc::new(arrived);
        let (bring, coming) = channel();
        let (open, tell, name, here) =
            (Arc::clone(&self.open), Arc::clone(&self.tell), self.name.clone(), Arc::downgrade(&arrived));
        let work = move || {
            let Ok(mut open) = open.lock() else { return };
            let (mut wait, mut was_notified) = (MIN_RETRY, false);
            // Until it has no receiver any more.
            while here.strong_count() > 0 {
                match open() {
                    Ok(port) => {
                        let sent = bring.send(port);
                        let _ = here.upgrade().filter(|_| sent.is_ok()).map(|arrived| arrived.wake());
                        return;
                    }
                    Err(error) if !was_notified => {
                        tell(&name, &PortEvent::ReopenFailed(error));
                        was_notified = true;
                    }
                    Err(_) => {}
                }
                thread::sleep(wait);
                wait = (wait * 2).min(MAX_RETRY);
            }
        };
        if thread::Builder::new().name(format!("open {}", self.name)).spawn(work).is_ok() {
            self.state = State::Down { coming, arrived };
        }
    }

    /// Sends this number of frames by the port; without one they are counted.
    fn send_by(
        &mut self,
        frames: usize,
        send: impl FnOnce(&mut dyn Port) -> Result<usize, PortError>,
    ) -> Result<usize, PortError> {
        if let State::Up(port) = &mut self.state {
            match send(&mut **port) {
                Ok(count) => return Ok(count),
                Err(error) => self.disconnect(error),
            }
        }
        self.counters.add(Counter::TxLinkDown, frames as u64);
        Ok(0)
    }

    /// Takes the reopened port, if there is one.
    #[cold]
    fn take(&mut self) {
        let State::Down { coming, arrived } = &self.state else { return };
        arrived.reset();
        if let Ok(mut port) = coming.try_recv() {
            port.use_counters(&self.counters);
            self.counters.add(Counter::Reopened, 1);
            (self.tell)(&self.name, &PortEvent::Reopened);
            self.state = State::Up(port);
        }
    }
}

impl Port for ReconnectingPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn mtu(&self) -> u32 {
        self.mtu
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        if let State::Up(port) = &mut self.state {
            match port.receive(batch) {
                Ok(count) => return Ok(count),
                Err(error) => self.disconnect(error),
            }
        } else {
            self.take();
        }
        batch.clear();
        Ok(0)
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        self.send_by(frames.len(), |port| port.send(frames))
    }

    fn send_from(&mut self, batch: &mut Batch, frames: &[usize]) -> Result<usize, PortError> {
        self.send_by(frames.len(), |port| port.send_from(batch, frames))
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.state {
            State::Up(port) => port.poll_fd(),
            State::Down { arrived, .. } => Some((**arrived).as_fd()),
            State::Closed => None,
        }
    }

    fn has_pending(&self) -> bool {
        matches!(&self.state, State::Up(port) if port.has_pending())
    }

    fn count_losses(&mut self) {
        if let State::Up(port) = &mut self.state {
            port.count_losses();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use rustix::io::Errno;

    use super::*;
    use crate::memory::{self, MemoryPort};
    use crate::wait;

    /// A port whose interface can be removed.
    struct Fragile {
        inner: MemoryPort,
        is_lost: Arc<AtomicBool>,
    }

    impl Fragile {
        fn check(&self) -> Result<(), PortError> {
            let is_lost = self.is_lost.load(Ordering::Relaxed);
            if is_lost { Err(PortError::lost("n6", Errno::BADFD)) } else { Ok(()) }
        }
    }

    impl Port for Fragile {
        fn name(&self) -> &'static str {
            "n6"
        }

        fn mtu(&self) -> u32 {
            self.inner.mtu()
        }

        fn counters(&self) -> &Arc<Counters> {
            self.inner.counters()
        }

        fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
            self.check()?;
            self.inner.receive(batch)
        }

        fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
            self.check()?;
            self.inner.send(frames)
        }

        fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
            self.inner.poll_fd()
        }
    }

    // Input:  a port that is lost with two packets to send, and cannot be reopened at the first attempt.
    // Output: no error; the packets are counted; the wait for packets ends when it is open again, and it sends.
    #[test]
    fn a_lost_port_is_reopened() {
        let (is_lost, tries) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let (gone, tried) = (Arc::clone(&is_lost), Arc::clone(&tries));
        let open = move || -> Result<Box<dyn Port>, PortError> {
            if tried.fetch_add(1, Ordering::Relaxed) == 1 {
                return Err(PortError::InterfaceMissing { name: "n6".into() });
            }
            let (inner, _) = memory::pair("n6", "far").expect("a pair");
            gone.store(false, Ordering::Relaxed);
            Ok(Box::new(Fragile { inner, is_lost: Arc::clone(&gone) }))
        };
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        let tell = move |_: &str, event: &PortEvent| {
            let word = match event {
                PortEvent::Lost(_) => "lost",
                PortEvent::ReopenFailed(_) => "not yet",
                PortEvent::Reopened => "back",
            };
            heard.lock().expect("no panic").push(word);
        };
        let mut port = ReconnectingPort::new(open, tell).expect("it opens");
        let mut batch = Batch::with_frame_size(2048);
        let frames = [Frame { meta: causeway_packet::Meta::Ip, data: &[0x45] }; 2];
        is_lost.store(true, Ordering::Relaxed);
        assert_eq!(port.send(&frames).expect("no error"), 0);
        assert_eq!(port.counters().value(Counter::TxLinkDown), 2);
        while port.counters().value(Counter::Reopened) == 0 {
            let ready = wait([&port as &dyn Port], None, Some(Duration::from_secs(10))).expect("it waits");
            assert!(ready.port(0), "in ten seconds");
            assert_eq!(port.receive(&mut batch).expect("no error"), 0);
        }
        assert_eq!(port.send(&frames[..1]).expect("no error"), 1);
        assert_eq!(*said.lock().expect("no panic"), ["lost", "not yet", "back"]);
        assert_eq!((port.counters().value(Counter::Lost), tries.load(Ordering::Relaxed)), (1, 3));
    }
}
