//! Transmission: runs of packets that the kernel segments, and single ones.

use std::fs::File;
use std::io::IoSlice;

use arrayvec::ArrayVec;
use causeway_packet::{Frame, Ip, Meta};
use rustix::io::Errno;

use super::TunOffload;
use super::coalesce::{CoalescedPacket, CoalescedRuns, GsoKinds, MAX_COALESCE, Packet};
use super::virtio::HEADER;
use crate::udp::send_failure;
use crate::{Counter, Counters};

/// Packets that are sent singly after the kernel has rejected a run: it gives no reason, and may do so again.
const GSO_BACKOFF_CALLS: u32 = 1024;

/// The transmit state of one device.
pub(super) struct TunSender {
    mtu: usize,
    /// A header comes before each packet.
    has_header: bool,
    kinds: GsoKinds,
    /// Remaining calls without runs.
    backoff_calls: u32,
}

/// The result of one call of [`TunSender::send`].
#[derive(Default)]
struct IoTotals {
    frames: usize,
    octets: usize,
    calls: u64,
}

impl TunSender {
    /// `offload`: `None` where packets have no header before them.
    pub(super) fn new(mtu: usize, offload: Option<TunOffload>) -> Self {
        let kinds = offload.map_or(GsoKinds::default(), TunOffload::kinds);
        Self { mtu, has_header: offload.is_some(), kinds, backoff_calls: 0 }
    }

    /// Sends the frames; each counts in one counter. Returns how many were sent.
    ///
    /// # Errors
    /// Only errors that make the device unusable.
    pub(super) fn send(
        &mut self,
        file: &File,
        frames: &[Frame<'_>],
        counters: &Counters,
    ) -> Result<usize, Errno> {
        let mut totals = IoTotals::default();
        let end = frames
            .chunks(MAX_COALESCE)
            .try_for_each(|chunk| self.send_chunk(file, chunk, counters, &mut totals));
        counters.sent(totals.frames, totals.octets);
        counters.add(Counter::TxCalls, totals.calls);
        end.map(|()| totals.frames)
    }

    fn send_chunk(
        &mut self,
        file: &File,
        frames: &[Frame<'_>],
        counters: &Counters,
        totals: &mut IoTotals,
    ) -> Result<(), Errno> {
        let mut packets = ArrayVec::<Packet<'_>, MAX_COALESCE>::new();
        for frame in frames {
            match self.accept(frame) {
                Ok(packet) => packets.push(packet),
                Err(reason) => counters.add(reason, 1),
            }
        }
        let kinds = if self.backoff_calls > 0 { GsoKinds::default() } else { self.kinds };
        self.backoff_calls = self.backoff_calls.saturating_sub(1);
        let runs = CoalescedRuns::of(&packets, kinds);
        for run in runs.iter() {
            if run.len() > 1 && self.write_run(file, &runs, run, counters, totals)? {
                continue;
            }
            for packet in runs.packets(run) {
                self.write_one(file, packet.data, counters, totals)?;
            }
        }
        Ok(())
    }

    fn accept<'a>(&self, frame: &Frame<'a>) -> Result<Packet<'a>, Counter> {
        let ip = Ip::parse(frame.data).map_err(|_| Counter::TxWrongKind)?;
        match frame.meta {
            Meta::Ip if frame.data.len() <= self.mtu => Ok(Packet::new(frame.data, &ip)),
            Meta::Ip => Err(Counter::TxTooBig),
            Meta::Gtpu { .. } | Meta::Ethernet => Err(Counter::TxWrongKind),
        }
    }

    /// Writes several packets as one. `false`: the kernel rejects it, and each must be sent singly.
    fn write_run(
        &mut self,
        file: &File,
        runs: &CoalescedRuns<'_>,
        run: &CoalescedPacket,
        counters: &Counters,
        totals: &mut IoTotals,
    ) -> Result<bool, Errno> {
        let Some((virtio, headers)) = runs.headers(run) else { return Ok(false) };
        let virtio = virtio.octets();
        let mut parts = ArrayVec::<IoSlice<'_>, { MAX_COALESCE + 2 }>::new();
        parts.extend([IoSlice::new(&virtio), IoSlice::new(&headers)]);
        parts.extend(runs.payloads(run).map(IoSlice::new));
        match write(file, &parts) {
            Ok(()) => {
                totals.calls += 1;
                totals.frames += run.len();
                totals.octets += runs.packets(run).map(|packet| packet.data.len()).sum::<usize>();
                Ok(true)
            }
            Err(Errno::AGAIN) => {
                counters.add(Counter::TxWouldBlock, run.len() as u64);
                Ok(true)
            }
            Err(Errno::INVAL) => {
                self.backoff_calls = GSO_BACKOFF_CALLS;
                Ok(false)
            }
            Err(_) => Ok(false),
        }
    }

    fn write_one(
        &self,
        file: &File,
        data: &[u8],
        counters: &Counters,
        totals: &mut IoTotals,
    ) -> Result<(), Errno> {
        let header: &[u8] = if self.has_header { &[0; HEADER] } else { &[] };
        match write(file, &[IoSlice::new(header), IoSlice::new(data)]) {
            Ok(()) => {
                totals.calls += 1;
                totals.frames += 1;
                totals.octets += data.len();
            }
            // The driver rejects what it does not recognize as an IP packet.
            Err(Errno::INVAL) => counters.add(Counter::TxWrongKind, 1),
            Err(errno) => counters.add(send_failure(errno).ok_or(errno)?, 1),
        }
        Ok(())
    }
}

/// Writes one packet from its parts.
fn write(file: &File, parts: &[IoSlice<'_>]) -> Result<(), Errno> {
    loop {
        match rustix::io::writev(file, parts) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}
