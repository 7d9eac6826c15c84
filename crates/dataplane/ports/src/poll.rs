//! Waiting for ports, and waking the thread that waits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use arrayvec::ArrayVec;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use crate::Port;

/// The maximum number of ports in one [`wait`].
pub const MAX_PORTS: usize = 63;

/// The maximum number of other descriptors in one [`wait_with`].
pub const MAX_OTHERS: usize = 16;

/// Wakes a thread in [`wait`] from another thread. One call wakes it once, also when it precedes the wait.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// A new waker, not signalled.
    ///
    /// # Errors
    /// The process or the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Another handle on the same waker.
    ///
    /// # Errors
    /// The process or the system has no descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Wakes the thread that waits, or the next one.
    pub fn wake(&self) {
        // It fails only when the count is at its maximum, and then the thread wakes anyway.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Resets the waker. `true` when it was signalled.
    pub fn reset(&self) -> bool {
        rustix::io::read(&self.0, &mut [0u8; 8]).is_ok()
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The result of [`wait`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ready {
    ports: u64,
    /// One of the other descriptors has something to receive.
    pub others: bool,
    /// The waker was signalled; it is now reset.
    pub woken: bool,
}

impl Ready {
    /// The port at that index of the list has something to receive.
    pub fn port(self, index: usize) -> bool {
        index < MAX_PORTS && self.ports & (1 << index) != 0
    }

    /// Nothing happened before the timeout.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    fn set(&mut self, index: usize) {
        self.ports |= 1 << index;
    }
}

/// Waits until a port has something to receive, the waker is signalled, or the timeout ends.
///
/// A port without a descriptor is checked once, before waiting. Ports after the first [`MAX_PORTS`] are not checked.
/// `None` as timeout waits without limit.
///
/// # Errors
/// The error of poll(2), except an interruption, which ends the wait with nothing ready.
pub fn wait<'a>(
    ports: impl IntoIterator<Item = &'a dyn Port>,
    waker: Option<&'a Waker>,
    timeout: Option<Duration>,
) -> io::Result<Ready> {
    wait_with(ports, [], waker, timeout)
}

/// The same, or until one of the other descriptors has something to receive; those after the first [`MAX_OTHERS`] are not
/// checked.
///
/// # Errors
/// As for [`wait`].
pub fn wait_with<'a>(
    ports: impl IntoIterator<Item = &'a dyn Port>,
    others: impl IntoIterator<Item = BorrowedFd<'a>>,
    waker: Option<&'a Waker>,
    timeout: Option<Duration>,
) -> io::Result<Ready> {
    let mut ready = Ready::default();
    let mut fds = ArrayVec::<PollFd<'a>, { MAX_PORTS + MAX_OTHERS + 1 }>::new();
    let mut indices = ArrayVec::<usize, MAX_PORTS>::new();
    for (index, port) in ports.into_iter().take(MAX_PORTS).enumerate() {
        if port.has_pending() {
            ready.set(index);
        }
        if let Some(fd) = port.poll_fd() {
            fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
            indices.push(index);
        }
    }
    for other in others.into_iter().take(MAX_OTHERS) {
        fds.push(PollFd::from_borrowed_fd(other, PollFlags::IN));
    }
    if let Some(waker) = waker {
        fds.push(PollFd::from_borrowed_fd(waker.as_fd(), PollFlags::IN));
    }
    let timeout = if ready.is_empty() { timeout } else { Some(Duration::ZERO) };
    match poll(&mut fds, timeout.and_then(|t| Timespec::try_from(t).ok()).as_ref()) {
        Err(Errno::INTR) => return Ok(ready),
        other => other?,
    };
    for (fd, index) in fds.iter().zip(&indices) {
        if !fd.revents().is_empty() {
            ready.set(*index);
        }
    }
    let of_others = fds.get(indices.len()..fds.len() - usize::from(waker.is_some())).unwrap_or_default();
    ready.others = of_others.iter().any(|fd| !fd.revents().is_empty());
    ready.woken = waker.is_some_and(Waker::reset);
    Ok(ready)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    // Input:  a waker signalled before the wait, twice.
    // Output: the first wait returns immediately, the second only after its timeout.
    #[test]
    fn a_wake_is_kept_for_the_next_wait_and_counts_once() {
        let waker = Waker::new().unwrap();
        waker.wake();
        waker.wake();
        assert!(wait([], Some(&waker), None).unwrap().woken);
        assert!(wait([], Some(&waker), Some(Duration::from_millis(1))).unwrap().is_empty());
    }

    // Input:  a thread that waits without limit, woken by another.
    // Output: it returns.
    #[test]
    fn another_thread_wakes_the_waiting_one() {
        let waker = Waker::new().unwrap();
        let remote = waker.try_clone().unwrap();
        let start = Instant::now();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            remote.wake();
        });
        assert!(wait([], Some(&waker), None).unwrap().woken);
        assert!(start.elapsed() >= Duration::from_millis(20));
        other.join().unwrap();
    }
}
