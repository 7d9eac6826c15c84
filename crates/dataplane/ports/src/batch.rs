//! A reusable set of packet buffers.

use arrayvec::ArrayVec;

use crate::{Frame, Meta};

/// Frames in one batch, at most.
pub const BATCH: usize = 32;

/// Octets kept free before each received frame: Ethernet with VLAN tags, IPv6, UDP and GTP-U with a PDU Session
/// Container can be put there.
pub const HEADROOM: usize = 128;

/// Octets from one buffer to the next, headroom included: a frame of 2048 octets fits.
///
/// An odd number of cache lines, so that the beginnings of the frames are spread over all sets of a cache.
pub const STRIDE: usize = HEADROOM + 2048 + 64;

/// Where a frame lies in the buffers.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    end: usize,
    slot: usize,
    meta: Meta,
}

/// Up to [`BATCH`] frames in buffers that are allocated once.
pub struct Batch {
    buffers: Box<[u8]>,
    stride: usize,
    /// Slots from here on are free.
    used: usize,
    frames: ArrayVec<Place, BATCH>,
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

    /// Buffers in which frames of `size` octets fit, for example 9216 for jumbo frames.
    pub fn with_frame_size(size: usize) -> Self {
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
    pub fn room(&self) -> usize {
        BATCH - self.used
    }

    /// Forgets all frames and frees their buffers.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.used = 0;
    }

    /// Copies a frame in. `false` when no buffer is free or the frame is too long for one.
    #[must_use]
    pub fn push(&mut self, frame: Frame<'_>) -> bool {
        let Some(room) = self.free().next().and_then(|buffer| buffer.get_mut(..frame.data.len())) else {
            return false;
        };
        room.copy_from_slice(frame.data);
        self.commit(frame.data.len(), frame.meta);
        true
    }

    /// The free buffers in the order in which [`Batch::commit`] and [`Batch::skip`] use them up.
    pub fn free(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let stride = self.stride;
        self.buffers
            .chunks_exact_mut(stride)
            .skip(self.used)
            .filter_map(|slot| slot.split_at_mut_checked(HEADROOM).map(|(_, room)| room))
    }

    /// Makes the first `len` octets of the next free buffer a frame. Nothing happens without a free buffer.
    pub fn commit(&mut self, len: usize, meta: Meta) {
        let start = self.used * self.stride + HEADROOM;
        let end = start + len.min(self.frame_size());
        if !self.is_full() {
            self.frames.push(Place { start, end, slot: self.used, meta });
            self.used += 1;
        }
    }

    /// Uses up the next free buffer without making it a frame.
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

    /// What each frame is and its octets, in order.
    #[inline]
    pub fn each(&self) -> impl Iterator<Item = (&Meta, &[u8])> {
        let data = |place: &Place| self.buffers.get(place.start..place.end).unwrap_or_default();
        self.frames.iter().map(move |place| (&place.meta, data(place)))
    }

    /// The frames, in order, as [`crate::Port::send`] takes them.
    pub fn as_frames(&self) -> ArrayVec<Frame<'_>, BATCH> {
        self.frames().collect()
    }

    /// The octets of the frame at `index`.
    #[inline]
    pub fn data(&self, index: usize) -> Option<&[u8]> {
        self.frames.get(index).and_then(|place| self.buffers.get(place.start..place.end))
    }

    /// What the frame at `index` is.
    #[inline]
    pub fn meta(&self, index: usize) -> Option<&Meta> {
        self.frames.get(index).map(|place| &place.meta)
    }

    /// The frame at `index`, to be changed.
    #[inline]
    pub fn frame_mut(&mut self, index: usize) -> Option<FrameMut<'_>> {
        let place = self.frames.get_mut(index)?;
        let base = place.slot * self.stride;
        Some(FrameMut { base, limit: base + self.stride, buffers: &mut self.buffers, place })
    }

    /// Keeps the frames for which `keep` says so. Their order stays.
    pub fn retain(&mut self, mut keep: impl FnMut(Frame<'_>) -> bool) {
        let Self { buffers, frames, .. } = self;
        frames.retain(|place| {
            buffers.get(place.start..place.end).is_some_and(|data| keep(Frame { meta: place.meta, data }))
        });
    }

    /// Exchanges two frames. Nothing happens where one of them does not exist.
    pub fn swap(&mut self, a: usize, b: usize) {
        if a.max(b) < self.frames.len() {
            self.frames.swap(a, b);
        }
    }

    fn at(&self, place: &Place) -> Option<Frame<'_>> {
        self.buffers.get(place.start..place.end).map(|data| Frame { meta: place.meta, data })
    }
}

/// A frame in a [`Batch`], to be changed in place.
pub struct FrameMut<'a> {
    buffers: &'a mut [u8],
    place: &'a mut Place,
    base: usize,
    limit: usize,
}

impl FrameMut<'_> {
    /// What the frame is.
    #[inline]
    pub fn meta(&self) -> Meta {
        self.place.meta
    }

    /// Says what the frame is from now on.
    #[inline]
    pub fn set_meta(&mut self, meta: Meta) {
        self.place.meta = meta;
    }

    /// The octets of the frame.
    #[inline]
    pub fn data(&mut self) -> &mut [u8] {
        self.buffers.get_mut(self.place.start..self.place.end).unwrap_or_default()
    }

    /// So many octets of its buffer, counted from the frame's beginning. `None` where the buffers end before.
    #[inline]
    pub fn chunk_mut<const N: usize>(&mut self, at: usize) -> Option<&mut [u8; N]> {
        self.buffers.get_mut(self.place.start + at..)?.first_chunk_mut()
    }

    /// As [`FrameMut::prepend`], for a number of octets that is known beforehand.
    #[inline]
    pub fn prepend_chunk<const N: usize>(&mut self) -> Option<&mut [u8; N]> {
        let start = self.place.start.checked_sub(N).filter(|start| *start >= self.base)?;
        self.place.start = start;
        self.chunk_mut(0)
    }

    /// Puts `len` octets before the frame and returns them. `None` where the headroom is too small.
    #[inline]
    pub fn prepend(&mut self, len: usize) -> Option<&mut [u8]> {
        let start = self.place.start.checked_sub(len).filter(|start| *start >= self.base)?;
        let old = std::mem::replace(&mut self.place.start, start);
        self.buffers.get_mut(start..old)
    }

    /// Takes `len` octets from the front. `false`, and nothing happens, when the frame is shorter.
    #[must_use]
    #[inline]
    pub fn trim_front(&mut self, len: usize) -> bool {
        let fits = self.place.end - self.place.start >= len;
        if fits {
            self.place.start += len;
        }
        fits
    }

    /// Keeps `len` octets from `start` on. `false`, and nothing happens, when the frame is shorter.
    #[must_use]
    #[inline]
    pub fn keep(&mut self, start: usize, len: usize) -> bool {
        let start = self.place.start + start;
        let fits = start + len <= self.place.end;
        if fits {
            (self.place.start, self.place.end) = (start, start + len);
        }
        fits
    }

    /// Sets the length of the frame. `false`, and nothing happens, when the buffer ends before.
    #[must_use]
    #[inline]
    pub fn resize(&mut self, len: usize) -> bool {
        let end = self.place.start + len;
        if end <= self.limit {
            self.place.end = end;
        }
        end <= self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(data: &[u8]) -> Frame<'_> {
        Frame { meta: Meta::Ip, data }
    }

    // Input:  one frame more than a batch holds, then one frame longer than a buffer.
    // Output: both are refused; the frames before them are intact.
    #[test]
    fn a_full_batch_and_a_long_frame_refuse() {
        let mut batch = Batch::new();
        for n in 0..BATCH as u8 {
            assert!(batch.push(ip(&[n; 3])));
        }
        assert!(batch.is_full());
        assert!(!batch.push(ip(&[0])));
        assert_eq!(batch.frame(31).map(|f| f.data[2]), Some(31));
        batch.clear();
        assert!(!batch.push(ip(&[0; STRIDE])));
        assert!(batch.push(ip(&[0; STRIDE - HEADROOM])));
    }

    // Input:  a frame in the second buffer; a header is put before it and taken away again.
    // Output: the first buffer is untouched, and no more than the headroom can be put before it.
    #[test]
    fn a_header_goes_into_the_headroom() {
        let mut batch = Batch::new();
        assert!(batch.push(ip(&[1; 2048])) && batch.push(ip(&[2, 2])));
        let mut frame = batch.frame_mut(1).unwrap();
        frame.prepend(HEADROOM - 2).unwrap().fill(9);
        *frame.prepend_chunk().unwrap() = [9; 2];
        assert!(frame.prepend(1).is_none() && frame.prepend_chunk::<1>().is_none());
        assert_eq!(frame.chunk_mut::<3>(HEADROOM - 1), Some(&mut [9, 2, 2]));
        assert_eq!(frame.data().len(), HEADROOM + 2);
        assert!(frame.trim_front(HEADROOM));
        assert_eq!(frame.data(), [2, 2]);
        assert!(!frame.trim_front(3) && !frame.keep(1, 2) && frame.keep(1, 1));
        assert_eq!(frame.data(), [2]);
        assert_eq!(batch.frame(0), Some(ip(&[1; 2048])));
    }

    // Input:  a received run of three buffers of which the second is not wanted.
    // Output: two frames, in order, from the first and the third buffer.
    #[test]
    fn a_skipped_buffer_leaves_no_frame() {
        let mut batch = Batch::new();
        for (n, buffer) in batch.free().take(3).enumerate() {
            buffer[0] = n as u8;
        }
        batch.commit(1, Meta::Ip);
        batch.skip();
        batch.commit(1, Meta::Ip);
        let seen: Vec<_> = batch.frames().map(|f| f.data[0]).collect();
        assert!(batch.each().map(|(_, data)| data).eq([&[0], &[2]]));
        assert_eq!(seen, [0, 2]);
        batch.swap(0, 1);
        batch.swap(0, 2);
        batch.retain(|frame| frame.data[0] == 2);
        assert_eq!(batch.as_frames().as_slice(), [ip(&[2])]);
    }

    // Input:  a frame grown to the end of its buffer, and one octet further.
    // Output: the first is granted, the second not.
    #[test]
    fn a_frame_never_grows_into_the_next_buffer() {
        let mut batch = Batch::with_frame_size(100);
        let size = batch.frame_size();
        assert!(size >= 100);
        assert!(batch.push(ip(&[1])));
        let mut frame = batch.frame_mut(0).unwrap();
        assert!(frame.resize(size));
        assert!(!frame.resize(size + 1));
        assert_eq!(frame.data().len(), size);
    }
}
