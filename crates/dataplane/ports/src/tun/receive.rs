//! Reception: whole packets directly into the batch, others by segmentation.

use std::fs::File;
use std::io::IoSliceMut;

use causeway_packet::{Batch, Ip, Meta, ParseError};
use rustix::io::Errno;

use super::segment::{Segment, Segmenter};
use super::virtio::{HEADER, VirtioHeader};
use crate::{Counter, Counters};

/// Octets of the longest packet before segmentation.
const MAX_PACKET: usize = 1 << 16;

/// The receive state of one device.
pub(super) struct TunReceiver {
    /// A header comes before each packet.
    has_header: bool,
    /// A packet that is longer than the buffers of the batch.
    long: Box<[u8]>,
    /// Its segmentation state.
    cutter: Option<Segmenter>,
    /// Octets of it.
    len: usize,
}

/// The result of one call of [`TunReceiver::receive`].
#[derive(Default)]
struct IoTotals {
    calls: u64,
    octets: usize,
}

impl TunReceiver {
    pub(super) fn new(has_header: bool) -> Self {
        Self { has_header, long: vec![0; MAX_PACKET].into(), cutter: None, len: 0 }
    }

    /// Segments of a packet wait here, which the descriptor does not show.
    pub(super) fn is_waiting(&self) -> bool {
        self.cutter.is_some()
    }

    /// Fills the batch.
    ///
    /// # Errors
    /// Only errors that make the device unusable.
    pub(super) fn receive(
        &mut self,
        file: &File,
        batch: &mut Batch,
        counters: &Counters,
    ) -> Result<(), Errno> {
        let mut totals = IoTotals::default();
        let end = self.fill(file, batch, counters, &mut totals);
        counters.received(batch.len(), totals.octets);
        counters.add(Counter::RxCalls, totals.calls);
        end
    }

    fn fill(
        &mut self,
        file: &File,
        batch: &mut Batch,
        counters: &Counters,
        totals: &mut IoTotals,
    ) -> Result<(), Errno> {
        while !batch.is_full() {
            if self.cutter.is_some() {
                totals.octets += self.segment(batch, counters);
                continue;
            }
            let (len, header) = match self.read(file, batch) {
                Ok(read) => read,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno),
            };
            totals.calls += 1;
            match self.accept(batch, len, &header) {
                Ok(octets) => totals.octets += octets,
                Err(reason) => {
                    counters.add(reason, 1);
                    batch.skip();
                }
            }
        }
        Ok(())
    }

    /// Reads one packet: as much as fits into the next free buffer, the rest at its position in the long buffer.
    fn read(&mut self, file: &File, batch: &mut Batch) -> Result<(usize, [u8; HEADER]), Errno> {
        let mut header = [0; HEADER];
        let before = if self.has_header { HEADER } else { 0 };
        let size = batch.frame_size();
        let Some(buffer) = batch.free().next() else { return Err(Errno::AGAIN) };
        let mut parts = [
            IoSliceMut::new(header.get_mut(..before).unwrap_or_default()),
            IoSliceMut::new(buffer),
            IoSliceMut::new(self.long.get_mut(size..).unwrap_or_default()),
        ];
        let read = rustix::io::readv(file, &mut parts)?;
        Ok((read.saturating_sub(before), header))
    }

    /// Makes the read packet a frame, or starts its segmentation. Returns the octets that are in the batch now.
    fn accept(&mut self, batch: &mut Batch, len: usize, header: &[u8; HEADER]) -> Result<usize, Counter> {
        let header = VirtioHeader::parse(header).ok_or(Counter::RxMalformed)?;
        if header.gso.is_some() {
            return self.begin(batch, len, &header).map(|()| 0);
        }
        let packet = batch.free().next().and_then(|buffer| buffer.get_mut(..len));
        let packet = packet.ok_or(Counter::RxTruncated)?;
        if header.partial.is_some_and(|partial| !partial.complete(packet)) {
            return Err(Counter::RxMalformed);
        }
        Ip::parse(packet).map_err(|error| match error {
            ParseError::Truncated { .. } => Counter::RxTruncated,
            _ => Counter::RxMalformed,
        })?;
        batch.commit(len, Meta::Ip);
        Ok(len)
    }

    /// Starts the segmentation of a packet.
    fn begin(&mut self, batch: &mut Batch, len: usize, header: &VirtioHeader) -> Result<(), Counter> {
        let Some(buffer) = batch.free().next() else { return Err(Counter::RxTruncated) };
        let first = buffer.get(..len.min(buffer.len())).unwrap_or_default();
        let long = self.long.get_mut(..first.len()).ok_or(Counter::RxTruncated)?;
        long.copy_from_slice(first);
        let packet = self.long.get(..len).ok_or(Counter::RxTruncated)?;
        self.cutter = Some(Segmenter::new(packet, header).ok_or(Counter::RxMalformed)?);
        self.len = len;
        Ok(())
    }

    /// Segments until the batch is full or the packet is at its end. Returns the octets of the segments.
    fn segment(&mut self, batch: &mut Batch, counters: &Counters) -> usize {
        let (mut cutter, packet) = (self.cutter.take(), self.long.get(..self.len).unwrap_or_default());
        let mut octets = 0;
        while let Some(cut) = &mut cutter {
            let Some(buffer) = batch.free().next() else { break };
            match cut.next(packet, buffer) {
                Some(Segment::Packet(len)) => {
                    batch.commit(len, Meta::Ip);
                    octets += len;
                }
                Some(Segment::TooLong) => counters.add(Counter::RxTruncated, 1),
                None => cutter = None,
            }
        }
        self.cutter = cutter;
        octets
    }
}
