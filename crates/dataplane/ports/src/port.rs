//! The trait that every port implements.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use arrayvec::ArrayVec;
use causeway_packet::{BATCH, Batch, Frame};

use crate::{Counters, PortError};

/// A non-blocking source and sink of packets.
///
/// Every packet that crosses a port, or fails to, ends in exactly one of its [`Counters`].
pub trait Port: Send {
    /// The name in configuration, logs, metrics and traces, for example `n3`.
    fn name(&self) -> &str;

    /// The largest IP packet that is sent unfragmented, in octets; for GTP-U the outer one.
    fn mtu(&self) -> u32;

    /// The counters of the port. Readable from any thread.
    fn counters(&self) -> &Arc<Counters>;

    /// Clears `batch`, then fills it with received frames. Returns their number; zero when there are none.
    ///
    /// # Errors
    /// Only when the port can no longer be used: [`PortError::Lost`].
    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError>;

    /// Sends the frames in order. Returns how many were accepted; each other one is dropped and counted.
    ///
    /// # Errors
    /// Only when the port can no longer be used: [`PortError::Lost`].
    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError>;

    /// Sends these frames of a batch in order, as [`Port::send`] does, from their buffers. The port may change them: it writes its
    /// headers before a frame. So no frame of them is sent again.
    ///
    /// # Errors
    /// As for [`Port::send`].
    fn send_from(&mut self, batch: &mut Batch, frames: &[usize]) -> Result<usize, PortError> {
        let mut sent = 0;
        for some in frames.chunks(BATCH) {
            let run: ArrayVec<Frame<'_>, BATCH> =
                some.iter().filter_map(|index| batch.frame(*index)).collect();
            sent += self.send(&run)?;
        }
        Ok(sent)
    }

    /// Readable when [`Port::receive`] has something to do. `None` where there is no such descriptor.
    fn poll_fd(&self) -> Option<BorrowedFd<'_>>;

    /// [`Port::receive`] has something to do that the descriptor does not show.
    fn has_pending(&self) -> bool {
        false
    }

    /// The used part of the receive buffer, in percent. `None` where it is unknown.
    fn fill_percent(&self) -> Option<u8> {
        None
    }

    /// Counts losses below the port that are not in its counters yet. [`Port::receive`] does so when frames arrive;
    /// this is for reading the counters otherwise.
    fn count_losses(&mut self) {}

    /// Uses these counters from now on: the port replaces another one.
    fn use_counters(&mut self, _counters: &Arc<Counters>) {}
}

/// Implements what a port around another one passes on: all of [`Port`] but `receive`, the sending of frames, and `has_pending`.
macro_rules! forward_to_port {
    ($self:ident, $port:expr) => {
        fn name(&$self) -> &str {
            $port.name()
        }

        fn mtu(&$self) -> u32 {
            $port.mtu()
        }

        fn counters(&$self) -> &std::sync::Arc<$crate::Counters> {
            $port.counters()
        }

        fn poll_fd(&$self) -> Option<std::os::fd::BorrowedFd<'_>> {
            $port.poll_fd()
        }

        fn fill_percent(&$self) -> Option<u8> {
            $port.fill_percent()
        }

        fn count_losses(&mut $self) {
            $port.count_losses();
        }

        fn use_counters(&mut $self, counters: &std::sync::Arc<$crate::Counters>) {
            $port.use_counters(counters);
        }
    };
}
pub(crate) use forward_to_port;

impl<P: Port + ?Sized> Port for Box<P> {
    forward_to_port!(self, (**self));

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        (**self).receive(batch)
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        (**self).send(frames)
    }

    fn send_from(&mut self, batch: &mut Batch, frames: &[usize]) -> Result<usize, PortError> {
        (**self).send_from(batch, frames)
    }

    fn has_pending(&self) -> bool {
        (**self).has_pending()
    }
}
