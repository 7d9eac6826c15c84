//! Sending that waits while the kernel has no room.

use std::time::Duration;

use causeway_packet::Frame;
use causeway_ports::{Counter, Port, PortError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How often a full queue is waited for before packets are given up.
const TRIES: u32 = 50;

/// The longest single wait.
const WAIT: Duration = Duration::from_millis(20);

/// The result of [`send_all`].
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Frames that were accepted. The port has counted the reasons of the others.
    pub(super) frames: usize,
    /// The port can no longer be used.
    pub(super) port_lost: Option<PortError>,
}

/// Sends frames, one batch at most. While the transmit queue is full it waits and tries the rest again, for
/// [`TRIES`] times [`WAIT`] at most.
pub(super) fn send_all(port: &mut dyn Port, frames: &[Frame<'_>]) -> Sent {
    let mut rest = frames;
    let mut sent = Sent::default();
    for _ in 0..TRIES {
        let full_before = port.counters().value(Counter::TxWouldBlock);
        match port.send(rest) {
            Ok(accepted) => sent.frames += accepted,
            Err(error) => {
                sent.port_lost = Some(error);
                return sent;
            }
        }
        // Only a full queue ends a call early, so that these are the last ones of the list.
        let refused = port.counters().value(Counter::TxWouldBlock).saturating_sub(full_before);
        let refused = usize::try_from(refused).unwrap_or(usize::MAX).min(rest.len());
        rest = rest.get(rest.len() - refused..).unwrap_or_default();
        if rest.is_empty() {
            return sent;
        }
        wait_for_room(port);
    }
    sent
}

fn wait_for_room(port: &dyn Port) {
    let Some(fd) = port.poll_fd() else { return };
    let wait = Timespec::try_from(WAIT).ok();
    // An error is seen by the next call that sends.
    let _ = poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::OUT)], wait.as_ref());
}

#[cfg(test)]
mod tests {
    use std::os::fd::BorrowedFd;
    use std::sync::Arc;

    use causeway_packet::{Batch, Meta};
    use causeway_ports::Counters;

    use super::*;

    /// A port whose queue has room for so many frames each time it is called.
    struct Narrow {
        room: usize,
        carried: Vec<u8>,
        counters: Arc<Counters>,
    }

    impl Port for Narrow {
        fn name(&self) -> &str {
            "narrow"
        }

        fn mtu(&self) -> u32 {
            1500
        }

        fn counters(&self) -> &Arc<Counters> {
            &self.counters
        }

        fn receive(&mut self, _: &mut Batch) -> Result<usize, PortError> {
            Ok(0)
        }

        fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
            let accepted = frames.len().min(self.room);
            self.carried.extend(frames.iter().take(accepted).map(|frame| frame.data.len() as u8));
            self.counters.add(Counter::TxWouldBlock, (frames.len() - accepted) as u64);
            Ok(accepted)
        }

        fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
            None
        }
    }

    fn send_five(room: usize) -> (Sent, Vec<u8>) {
        let mut port = Narrow { room, carried: Vec::new(), counters: Arc::default() };
        let octets = [0; 5];
        let frames: Vec<_> =
            (1..=5).map(|length| Frame { meta: Meta::Ip, data: &octets[..length] }).collect();
        let sent = send_all(&mut port, &frames);
        (sent, port.carried)
    }

    // Input:  five frames for a queue with room for two at a time, and for one that stays full.
    // Output: all five, once and in order; none, after a bounded number of tries.
    #[test]
    fn a_full_queue_is_waited_for() {
        let (sent, carried) = send_five(2);
        assert_eq!((sent.frames, carried), (5, vec![1, 2, 3, 4, 5]));
        let (sent, carried) = send_five(0);
        assert_eq!((sent.frames, carried), (0, vec![]));
    }
}
