//! A port that replays a capture file.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;

use causeway_packet::{Batch, Frame, Meta};

use crate::capture::{CaptureReader, Passage, Tap};
use crate::{Counter, Counters, Port, PortError, outer};

/// The packets that a replaying port delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carries {
    /// GTP-U datagrams to port 2152; the addresses in the packets become the [`Meta`].
    Gtpu,
    /// IP packets.
    Ip,
}

/// Receives the packets of a pcap or pcapng file as fast as they are read, whatever their timestamps.
///
/// UDP checksums are not verified: captures of sent packets often lack them. Sent packets go to a [`Tap`], or,
/// without one, are counted and dropped.
pub struct PcapPort {
    name: String,
    carries: Carries,
    reader: Option<CaptureReader>,
    sink: Option<Tap>,
    counters: Arc<Counters>,
}

impl PcapPort {
    /// Opens the file.
    ///
    /// # Errors
    /// [`PortError::Capture`].
    pub fn open(name: &str, path: &Path, carries: Carries, sink: Option<Tap>) -> Result<Self, PortError> {
        let reader = Some(CaptureReader::open(path)?);
        Ok(Self { name: name.to_owned(), carries, reader, sink, counters: Arc::default() })
    }

    /// All packets of the file were received.
    pub const fn is_finished(&self) -> bool {
        self.reader.is_none()
    }

    fn accept(&self, packet: &[u8], batch: &mut Batch) -> Result<usize, Counter> {
        let ip = outer::ip(packet)?;
        let (meta, data) = match self.carries {
            Carries::Gtpu => outer::unwrap(&ip, false)?,
            Carries::Ip => (Meta::Ip, packet.get(..ip.total_len()).unwrap_or(packet)),
        };
        batch.push(Frame { meta, data }).then_some(data.len()).ok_or(Counter::RxTruncated)
    }
}

impl Port for PcapPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn mtu(&self) -> u32 {
        u32::from(u16::MAX)
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        batch.clear();
        while !batch.is_full() {
            let Some(packet) = self.reader.as_mut().and_then(CaptureReader::read) else {
                self.reader = None;
                break;
            };
            match packet.and_then(|packet| self.accept(&packet, batch)) {
                Ok(octets) => self.counters.received(1, octets),
                Err(reason) => self.counters.add(reason, 1),
            }
        }
        Ok(batch.len())
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        for frame in frames {
            self.counters.sent(1, frame.data.len());
            if let Some(sink) = &self.sink {
                sink.record(Passage::Out, *frame);
            }
        }
        Ok(frames.len())
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn has_pending(&self) -> bool {
        !self.is_finished()
    }
}
