//! A reusable set of packet buffers.

use std::array;
use std::mem::replace;

use arrayvec::ArrayVec;

pub use self::frame::FrameMut;
use self::frame::Slot;
use crate::buffer::HEADROOM;
use crate::{Buffer, Frame, Meta};

mod frame;

/// The maximum number of frames in a batch.
pub const BATCH: usize = 64;

/// Up to [`BATCH`] frames, each in a [`Buffer`].
pub struct Batch {
    /// The frames first, then skipped buffers, then free ones, then those without octets.
    slots: [Slot; BATCH],
    /// The number of frames.
    frames: usize,
    /// Slots from here on are free.
    used: usize,
    /// The number of buffers with octets.
    capacity: usize,
    frame_size: usize,
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

impl Batch {
    /// A batch with buffers of [`STRIDE`](crate::STRIDE) octets.
    pub fn new() -> Self {
        Self::with_frame_size(2048)
    }

    /// A batch with buffers in which frames of `size` octets fit, for example 9216 for jumbo frames; of 1 MiB at most.
    ///
    /// Dropped batches of the same size leave their memory to it.
    pub fn with_frame_size(size: usize) -> Self {
        let size = size.min(1 << 20);
        let lines = (size + HEADROOM).div_ceil(64);
        Self::of_buffers(Buffer::of_stride((lines | 1) * 64))
    }

    /// A batch with buffers of an I/O library, of which it uses the first [`BATCH`]. Those without space for a frame must
    /// come last.
    pub fn of_buffers(buffers: impl IntoIterator<Item = Buffer>) -> Self {
        let mut buffers = buffers.into_iter();
        let slots = array::from_fn(|_| Slot::new(buffers.next().unwrap_or_else(Buffer::empty)));
        let sizes = || slots.iter().map(|slot| slot.buffer.frame_size()).take_while(|size| *size > 0);
        let (capacity, frame_size) = (sizes().count(), sizes().min().unwrap_or(0));
        Self { slots, frames: 0, used: 0, capacity, frame_size }
    }

    /// The longest frame that fits into each of the buffers it was made of, in octets.
    pub fn frame_size(&self) -> usize {
        self.frame_size
    }

    /// Frames held.
    #[inline]
    pub fn len(&self) -> usize {
        self.frames
    }

    /// No frame is held.
    pub fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// No buffer is free.
    pub fn is_full(&self) -> bool {
        self.used == self.capacity
    }

    /// Buffers that are free.
    pub fn free_buffers(&self) -> usize {
        self.capacity - self.used
    }

    /// Removes all frames and frees their buffers.
    pub fn clear(&mut self) {
        (self.frames, self.used) = (0, 0);
    }

    /// Exchanges the buffer of the frame at `index`, whose octets, `start..start + len` of it, become the frame; nothing is copied. Returns
    /// the buffer that was there.
    ///
    /// # Errors
    /// The given buffer, without effect, if there is no such frame or the octets are not within the buffer.
    pub fn exchange(
        &mut self,
        index: usize,
        buffer: Buffer,
        start: usize,
        len: usize,
    ) -> Result<Buffer, Buffer> {
        let end = start.saturating_add(len);
        match self.slots.get_mut(..self.frames).and_then(|slots| slots.get_mut(index)) {
            Some(slot) if end <= buffer.octets().len() => {
                (slot.start, slot.end) = (start as u32, end as u32);
                Ok(replace(&mut slot.buffer, buffer))
            }
            _ => Err(buffer),
        }
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

    /// The free buffers, each without its headroom, in the order in which [`Batch::commit`] and [`Batch::skip`] use them.
    pub fn free(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.slots.get_mut(self.used..self.capacity).unwrap_or_default().iter_mut().filter_map(|slot| {
            let headroom = slot.buffer.headroom();
            slot.buffer.octets_mut().get_mut(headroom..)
        })
    }

    /// Makes the first `len` octets of the next free buffer a frame. Nothing happens without a free buffer.
    pub fn commit(&mut self, len: usize, meta: Meta) {
        if self.is_full() {
            return;
        }
        if self.frames < self.used {
            self.slots.swap(self.frames, self.used);
        }
        if let Some(slot) = self.slots.get_mut(self.frames) {
            let start = slot.buffer.headroom();
            let end = start + len.min(slot.buffer.frame_size());
            (slot.start, slot.end, slot.meta) = (start as u32, end as u32, meta);
            self.frames += 1;
            self.used += 1;
        }
    }

    /// Uses the next free buffer without making it a frame.
    pub fn skip(&mut self) {
        self.used = self.capacity.min(self.used + 1);
    }

    /// The frame at `index`.
    #[inline]
    pub fn frame(&self, index: usize) -> Option<Frame<'_>> {
        self.slot(index).and_then(at)
    }

    /// The frames, in order.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.held(0).iter().filter_map(at)
    }

    /// The metadata and the octets of each frame, in order.
    #[inline]
    pub fn metas_and_data(&self) -> impl Iterator<Item = (&Meta, Option<&[u8]>)> {
        self.held(0).iter().map(|slot| (&slot.meta, slot.data()))
    }

    /// The octets of all frames.
    pub fn octets(&self) -> usize {
        self.held(0).iter().map(Slot::len).sum()
    }

    /// For each frame from `first` on, in order: its metadata, its length in octets, and the first `N` octets from
    /// its start, which may extend beyond the frame within its buffer.
    #[inline]
    pub fn frame_heads<const N: usize>(
        &self,
        first: usize,
    ) -> impl Iterator<Item = (&Meta, usize, Option<&[u8; N]>)> {
        self.held(first).iter().map(|slot| {
            let start = slot.start();
            let head = slot.buffer.octets().get(start..start + N).and_then(<[u8]>::first_chunk);
            (&slot.meta, slot.len(), head)
        })
    }

    /// The frames, in order, in the form that a port sends.
    pub fn as_frames(&self) -> ArrayVec<Frame<'_>, BATCH> {
        self.frames().collect()
    }

    /// The octets of the frame at `index`.
    #[inline]
    pub fn data(&self, index: usize) -> Option<&[u8]> {
        self.slot(index).and_then(Slot::data)
    }

    /// The metadata of the frame at `index`.
    #[inline]
    pub fn meta(&self, index: usize) -> Option<&Meta> {
        self.slot(index).map(|slot| &slot.meta)
    }

    /// The frame at `index`, mutable.
    #[inline]
    pub fn frame_mut(&mut self, index: usize) -> Option<FrameMut<'_>> {
        let slot = if index < self.frames { self.slots.get_mut(index)? } else { return None };
        Some(FrameMut { slot })
    }

    /// The frames, in order, mutable.
    #[inline]
    pub fn frames_mut(&mut self) -> impl Iterator<Item = FrameMut<'_>> {
        self.slots.get_mut(..self.frames).unwrap_or_default().iter_mut().map(|slot| FrameMut { slot })
    }

    /// Keeps the frames for which `keep` returns `true`, in order.
    pub fn retain(&mut self, mut keep: impl FnMut(Frame<'_>) -> bool) {
        let mut kept = 0;
        for index in 0..self.frames {
            if self.frame(index).is_some_and(&mut keep) {
                self.swap(kept, index);
                kept += 1;
            }
        }
        self.frames = kept;
    }

    /// Swaps two frames. No effect if one of them does not exist.
    pub fn swap(&mut self, a: usize, b: usize) {
        if a != b && a.max(b) < self.frames {
            self.slots.swap(a, b);
        }
    }

    /// The frames from `first` on.
    #[inline(always)]
    fn held(&self, first: usize) -> &[Slot] {
        self.slots.get(first..self.frames).unwrap_or_default()
    }

    #[inline(always)]
    fn slot(&self, index: usize) -> Option<&Slot> {
        if index < self.frames { self.slots.get(index) } else { None }
    }
}

#[inline(always)]
fn at(slot: &Slot) -> Option<Frame<'_>> {
    slot.data().map(|data| Frame { meta: slot.meta, data })
}

#[cfg(test)]
mod tests;
