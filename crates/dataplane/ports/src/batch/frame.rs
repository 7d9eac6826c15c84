//! The location of a frame in a batch, and its changes in place.

use crate::Meta;

/// The location of a frame in the buffers.
#[derive(Clone, Copy)]
pub(super) struct FrameLocation {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Where its buffer begins.
    pub(super) base: u32,
    pub(super) meta: Meta,
}

impl FrameLocation {
    pub(super) const fn start(&self) -> usize {
        self.start as usize
    }

    pub(super) const fn end(&self) -> usize {
        self.end as usize
    }
}

/// A mutable frame in a [`Batch`](super::Batch).
pub struct FrameMut<'a> {
    pub(super) buffers: &'a mut [u8],
    pub(super) location: &'a mut FrameLocation,
    pub(super) stride: usize,
}

impl FrameMut<'_> {
    /// Where its buffer begins.
    #[inline(always)]
    fn base(&self) -> usize {
        self.location.base as usize
    }

    /// The metadata of the frame.
    #[inline]
    pub fn meta(&self) -> Meta {
        self.location.meta
    }

    /// The metadata of the frame, mutable.
    #[inline(always)]
    pub fn meta_mut(&mut self) -> &mut Meta {
        &mut self.location.meta
    }

    /// Replaces the metadata of the frame.
    #[inline]
    pub fn set_meta(&mut self, meta: Meta) {
        self.location.meta = meta;
    }

    /// The octets of the frame.
    #[inline]
    pub fn data(&mut self) -> &mut [u8] {
        self.buffers.get_mut(self.location.start()..self.location.end()).unwrap_or_default()
    }

    /// Keeps `len` octets from `start` on, and prepends `FRONT` octets. Returns these and what follows, `SEEN` octets
    /// of the buffer. `None`, without effect, if the frame is shorter or the headroom too small.
    #[inline(always)]
    pub fn replace_front<const FRONT: usize, const SEEN: usize>(
        &mut self,
        start: usize,
        len: usize,
    ) -> Option<&mut [u8; SEEN]> {
        let kept = self.location.start() + start;
        let end = kept + len;
        if end > self.location.end() || FRONT > 0 && kept < self.base() + FRONT {
            return None;
        }
        let start = (kept - FRONT) as u32;
        let seen = self.buffers.get_mut(start as usize..start as usize + SEEN)?.first_chunk_mut()?;
        (self.location.start, self.location.end) = (start, end as u32);
        Some(seen)
    }

    /// Prepends `len` octets to the frame and returns them. `None` if the headroom is too small.
    #[inline]
    pub fn prepend(&mut self, len: usize) -> Option<&mut [u8]> {
        let start = self.location.start().checked_sub(len).filter(|start| *start >= self.base())?;
        let old = std::mem::replace(&mut self.location.start, start as u32);
        self.buffers.get_mut(start..old as usize)
    }

    /// Removes `len` octets from the front. `false`, without effect, if the frame is shorter.
    #[must_use]
    #[inline]
    pub fn trim_front(&mut self, len: usize) -> bool {
        let fits = self.location.end() - self.location.start() >= len;
        if fits {
            self.location.start += len as u32;
        }
        fits
    }

    /// Sets the length of the frame. `false`, without effect, if the buffer is shorter.
    #[must_use]
    #[inline]
    pub fn resize(&mut self, len: usize) -> bool {
        let end = self.location.start() + len;
        let fits = end <= self.base() + self.stride;
        if fits {
            self.location.end = end as u32;
        }
        fits
    }
}
