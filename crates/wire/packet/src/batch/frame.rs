//! A frame in a batch, and its changes in place.

use crate::{Buffer, Meta};

/// A buffer of a batch, and where in it the frame is.
pub(super) struct Slot {
    pub(super) buffer: Buffer,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) meta: Meta,
}

impl Slot {
    /// A free buffer.
    pub(super) fn new(buffer: Buffer) -> Self {
        Self { buffer, start: 0, end: 0, meta: Meta::Ip }
    }

    pub(super) const fn start(&self) -> usize {
        self.start as usize
    }

    pub(super) const fn end(&self) -> usize {
        self.end as usize
    }

    /// The octets of the frame. `None`: the frame is not within the buffer.
    #[inline(always)]
    pub(super) fn data(&self) -> Option<&[u8]> {
        self.buffer.octets().get(self.start()..self.end())
    }

    /// The length of the frame, in octets.
    pub(super) const fn len(&self) -> usize {
        (self.end - self.start) as usize
    }
}

/// A mutable frame in a [`Batch`](super::Batch).
pub struct FrameMut<'a> {
    pub(super) slot: &'a mut Slot,
}

impl FrameMut<'_> {
    /// The metadata of the frame.
    #[inline]
    pub fn meta(&self) -> Meta {
        self.slot.meta
    }

    /// The metadata of the frame, mutable.
    #[inline(always)]
    pub fn meta_mut(&mut self) -> &mut Meta {
        &mut self.slot.meta
    }

    /// Replaces the metadata of the frame.
    #[inline]
    pub fn set_meta(&mut self, meta: Meta) {
        self.slot.meta = meta;
    }

    /// The length of the frame, in octets.
    #[inline]
    pub fn len(&self) -> usize {
        self.slot.len()
    }

    /// The frame has no octets.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The octets of the frame.
    #[inline]
    pub fn data(&mut self) -> &mut [u8] {
        let (start, end) = (self.slot.start(), self.slot.end());
        self.slot.buffer.octets_mut().get_mut(start..end).unwrap_or_default()
    }

    /// Keeps `len` octets from `start` on, and prepends `FRONT` octets. Returns these and what follows, `SEEN` octets
    /// of the buffer. `None`, without effect, if the frame is shorter or the headroom too small.
    #[inline(always)]
    pub fn replace_front<const FRONT: usize, const SEEN: usize>(
        &mut self,
        start: usize,
        len: usize,
    ) -> Option<&mut [u8; SEEN]> {
        let kept = self.slot.start() + start;
        let end = kept + len;
        if end > self.slot.end() || kept < FRONT {
            return None;
        }
        let start = (kept - FRONT) as u32;
        let Slot { buffer, start: old, end: old_end, .. } = &mut *self.slot;
        let seen = buffer.octets_mut().get_mut(start as usize..start as usize + SEEN)?.first_chunk_mut()?;
        (*old, *old_end) = (start, end as u32);
        Some(seen)
    }

    /// Prepends `len` octets to the frame and returns them. `None` if the headroom is too small.
    #[inline]
    pub fn prepend(&mut self, len: usize) -> Option<&mut [u8]> {
        let start = self.slot.start().checked_sub(len)?;
        let old = std::mem::replace(&mut self.slot.start, start as u32);
        self.slot.buffer.octets_mut().get_mut(start..old as usize)
    }

    /// Prepends `N` octets to the frame, and returns these and the octets that it had. `None`, without effect, if the headroom is
    /// too small.
    #[inline(always)]
    pub fn prepend_chunk<const N: usize>(&mut self) -> Option<(&mut [u8; N], &[u8])> {
        let start = self.slot.start().checked_sub(N)?;
        let end = self.slot.end();
        let (front, data) = self.slot.buffer.octets_mut().get_mut(start..end)?.split_first_chunk_mut()?;
        self.slot.start = start as u32;
        Some((front, data))
    }

    /// Removes `len` octets from the front. `false`, without effect, if the frame is shorter.
    #[must_use]
    #[inline]
    pub fn trim_front(&mut self, len: usize) -> bool {
        let fits = self.slot.len() >= len;
        if fits {
            self.slot.start += len as u32;
        }
        fits
    }

    /// Sets the length of the frame. `false`, without effect, if the buffer is shorter.
    #[must_use]
    #[inline]
    pub fn resize(&mut self, len: usize) -> bool {
        let end = self.slot.start() + len;
        let fits = end <= self.slot.buffer.octets().len();
        if fits {
            self.slot.end = end as u32;
        }
        fits
    }
}
