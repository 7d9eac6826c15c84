//! A reusable set of packet buffers.

use arrayvec::ArrayVec;

use self::frame::FrameLocation;
pub use self::frame::FrameMut;
use crate::{Frame, Meta};

mod frame;

/// The maximum number of frames in a batch.
pub const BATCH: usize = 64;

/// Octets kept free before each received frame: they hold Ethernet with VLAN tags, IPv6, UDP and GTP-U with a PDU
/// Session Container.
pub const HEADROOM: usize = 128;

/// Octets from one buffer to the next, headroom included: a frame of 2048 octets fits.
///
/// An odd number of cache lines, so that the starts of the frames are spread over all sets of a cache.
pub const STRIDE: usize = HEADROOM + 2048 + 64;

/// Up to [`BATCH`] frames in preallocated buffers.
pub struct Batch {
    buffers: Box<[u8]>,
    stride: usize,
    /// Slots from here on are free.
    used: usize,
    frames: ArrayVec<FrameLocation, BATCH>,
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

impl Batch {
    /// Buffers of [`STRIDE`] octets.
    pub fn new() -> Self {
        Self::with_frame_size(2048)
    }

    /// Buffers in which frames of `size` octets fit, for example 9216 for jumbo frames; of 1 MiB at most.
    pub fn with_frame_size(size: usize) -> Self {
        let size = size.min(1 << 20);
        let lines = (size + HEADROOM).div_ceil(64);
        let stride = (lines | 1) * 64;
        Self { buffers: vec![0; stride * BATCH].into(), stride, used: 0, frames: ArrayVec::new() }
    }

    /// The largest frame that fits, in octets.
    pub fn frame_size(&self) -> usize {
        self.stride - HEADROOM
    }

    /// Frames held.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// No frame is held.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// No buffer is free.
    pub fn is_full(&self) -> bool {
        self.used == BATCH
    }

    /// Buffers that are free.
    pub fn free_buffers(&self) -> usize {
        BATCH - self.used
    }

    /// Removes all frames and frees their buffers.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.used = 0;
    }

    /// Copies a frame in. `false` when no buffer is free or the frame is too long for one.
    #[must_use]
    pub fn push(&mut self, frame: Frame<'_>) -> bool {
        let Some(buffer) = self.free().next().and_then(|free| free.get_mut(..frame.data.len())) else {
            return false;
        };
        buffer.copy_from_slice(frame.data);
        self.commit(frame.data.len(), frame.meta);
        true
    }

    /// The free buffers in the order in which [`Batch::commit`] and [`Batch::skip`] use them.
    pub fn free(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let stride = self.stride;
        self.buffers
            .chunks_exact_mut(stride)
            .skip(self.used)
            .filter_map(|slot| slot.split_at_mut_checked(HEADROOM).map(|(_, buffer)| buffer))
    }

    /// Makes the first `len` octets of the next free buffer a frame. Nothing happens without a free buffer.
    pub fn commit(&mut self, len: usize, meta: Meta) {
        let start = self.used * self.stride + HEADROOM;
        let end = start + len.min(self.frame_size());
        if !self.is_full() {
            let base = self.used * self.stride;
            let (start, end, base) = (start as u32, end as u32, base as u32);
            self.frames.push(FrameLocation { start, end, base, meta });
            self.used += 1;
        }
    }

    /// Uses the next free buffer without making it a frame.
    pub fn skip(&mut self) {
        self.used = BATCH.min(self.used + 1);
    }

    /// The frame at `index`.
    #[inline]
    pub fn frame(&self, index: usize) -> Option<Frame<'_>> {
        self.frames.get(index).and_then(|place| self.at(place))
    }

    /// The frames, in order.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.frames.iter().filter_map(|place| self.at(place))
    }

    /// The metadata and the octets of each frame, in order.
    #[inline]
    pub fn metas_and_data(&self) -> impl Iterator<Item = (&Meta, Option<&[u8]>)> {
        self.frames.iter().map(|place| (&place.meta, self.buffers.get(place.start()..place.end())))
    }

    /// The octets of all frames.
    pub fn octets(&self) -> usize {
        self.frames.iter().map(|place| (place.end - place.start) as usize).sum()
    }

    /// For each frame from `first` on, in order: its metadata, its length in octets, and the first `N` octets from
    /// its start, which may extend beyond the frame within its buffer.
    #[inline]
    pub fn frame_heads<const N: usize>(
        &self,
        first: usize,
    ) -> impl Iterator<Item = (&Meta, usize, Option<&[u8; N]>)> {
        self.frames.get(first..).unwrap_or_default().iter().map(|place| {
            let head = self.buffers.get(place.start()..place.start() + N).and_then(<[u8]>::first_chunk);
            (&place.meta, (place.end - place.start) as usize, head)
        })
    }

    /// The frames, in order, in the form that [`crate::Port::send`] takes.
    pub fn as_frames(&self) -> ArrayVec<Frame<'_>, BATCH> {
        self.frames().collect()
    }

    /// The octets of the frame at `index`.
    #[inline]
    pub fn data(&self, index: usize) -> Option<&[u8]> {
        self.frames.get(index).and_then(|place| self.buffers.get(place.start()..place.end()))
    }

    /// The metadata of the frame at `index`.
    #[inline]
    pub fn meta(&self, index: usize) -> Option<&Meta> {
        self.frames.get(index).map(|place| &place.meta)
    }

    /// The frame at `index`, mutable.
    #[inline]
    pub fn frame_mut(&mut self, index: usize) -> Option<FrameMut<'_>> {
        let place = self.frames.get_mut(index)?;
        Some(FrameMut { stride: self.stride, buffers: &mut self.buffers, location: place })
    }

    /// Keeps the frames for which `keep` returns `true`, in order.
    pub fn retain(&mut self, mut keep: impl FnMut(Frame<'_>) -> bool) {
        let Self { buffers, frames, .. } = self;
        frames.retain(|place| {
            buffers.get(place.start()..place.end()).is_some_and(|data| keep(Frame { meta: place.meta, data }))
        });
    }

    /// Swaps two frames. No effect if one of them does not exist.
    pub fn swap(&mut self, a: usize, b: usize) {
        if a.max(b) < self.frames.len() {
            self.frames.swap(a, b);
        }
    }

    fn at(&self, place: &FrameLocation) -> Option<Frame<'_>> {
        self.buffers.get(place.start()..place.end()).map(|data| Frame { meta: place.meta, data })
    }
}

#[cfg(test)]
mod tests;
