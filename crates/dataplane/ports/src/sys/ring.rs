//! The receive ring of TPACKET_V3: blocks of frames in memory shared with the kernel.
#![allow(unsafe_code)]

use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::sockopt::set;

/// The nominal frame size that the kernel uses to check the request; in this version frames are packed.
const FRAME: usize = 1 << 11;

/// How a ring is divided, and when its reader sees frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Octets of one block, a power of two of at least one page. No frame is longer.
    pub(crate) block: usize,
    /// Milliseconds after which an incomplete block is delivered.
    pub(crate) retire: u32,
}

impl Shape {
    /// For a port: blocks of some 80 full frames, delivered soon.
    pub(crate) const PORT: Self = Self { block: 1 << 17, retire: 1 };
}

/// Offsets of the fields of `struct tpacket_block_desc`.
const BLOCK_STATUS: usize = 8;
const BLOCK_FRAMES: usize = 12;
const BLOCK_FIRST: usize = 16;

/// A received frame, still in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot<'a> {
    /// Its octets, from the destination address.
    pub(crate) data: &'a [u8],
    /// Its length on the wire.
    pub(crate) len: usize,
    /// When the kernel saw it, since the epoch of Unix.
    pub(crate) time: Duration,
    /// Flags: `TP_STATUS_*`.
    pub(crate) status: u32,
    /// The VLAN tag that was removed, if `status` has its flag.
    pub(crate) vlan: u16,
}

/// The ring of one packet socket.
pub(crate) struct Ring {
    base: NonNull<u8>,
    len: usize,
    /// Octets of one block.
    block_len: usize,
    /// The current block.
    block: usize,
    /// Unread frames of it.
    left: u32,
    /// The offset of the next of them.
    offset: usize,
    /// The current block belongs to this process.
    held: bool,
}

// SAFETY: this value alone owns the mapping, which is valid in any thread of the process.
unsafe impl Send for Ring {}

impl Ring {
    /// Gives the socket, which is not bound yet, a ring of about `size` octets.
    pub(crate) fn map(socket: impl AsFd, size: usize, shape: Shape) -> Result<Self, Errno> {
        let Shape { block: block_len, retire } = shape;
        let blocks = (size / block_len).max(2);
        let len = blocks * block_len;
        let request = libc::tpacket_req3 {
            tp_block_size: block_len as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: (len / FRAME) as u32,
            tp_retire_blk_tov: retire,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, version)?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses an unused address for the mapping.
        let base = unsafe { mmap(std::ptr::null_mut(), len, access, MapFlags::SHARED, socket, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { base, len, block_len, block: 0, left: 0, offset: 0, held: false })
    }

    /// The next frame, which stays in the ring until the next call.
    pub(crate) fn next(&mut self) -> Option<Slot<'_>> {
        while self.left == 0 {
            self.release();
            self.acquire()?;
        }
        let at = self.offset;
        self.left -= 1;
        self.offset += word(self.octets(), at)? as usize;
        frame(self.octets(), at)
    }

    /// Acquires the current block once the kernel has filled it.
    fn acquire(&mut self) -> Option<()> {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        self.held = true;
        self.left = word(self.octets(), BLOCK_FRAMES)?;
        self.offset = word(self.octets(), BLOCK_FIRST)? as usize;
        Some(())
    }

    /// Returns the current block to the kernel and advances to the next.
    fn release(&mut self) {
        if self.held {
            self.held = false;
            self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.block = (self.block + 1) % (self.len / self.block_len);
        }
    }

    /// The word that transfers the ownership of the current block.
    fn status(&self) -> &AtomicU32 {
        // SAFETY: `block` is below the number of blocks, so the word lies in the mapping; blocks are aligned to
        // pages. The kernel accesses the word only as a whole.
        unsafe {
            AtomicU32::from_ptr(self.base.as_ptr().add(self.block * self.block_len + BLOCK_STATUS).cast())
        }
    }

    /// The current block. Empty while it belongs to the kernel.
    fn octets(&self) -> &[u8] {
        if !self.held {
            return &[];
        }
        // SAFETY: the block lies in the mapping. The kernel does not write to it until `release`, which borrows the
        // ring mutably and so ends the lifetime of this slice.
        unsafe {
            std::slice::from_raw_parts(self.base.as_ptr().add(self.block * self.block_len), self.block_len)
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was created by `map` with this length, and no slice of it outlives the ring. It fails
        // only for arguments that were never mapped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// The frame whose `struct tpacket3_hdr` begins at an offset of a block.
fn frame(block: &[u8], at: usize) -> Option<Slot<'_>> {
    let captured = word(block, at + 12)? as usize;
    let start = at + usize::from(half(block, at + 24)?);
    Some(Slot {
        data: block.get(start..start.checked_add(captured)?)?,
        len: word(block, at + 16)? as usize,
        time: Duration::new(word(block, at + 4)?.into(), word(block, at + 8)?),
        status: word(block, at + 20)?,
        vlan: word(block, at + 32)? as u16,
    })
}

fn word(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

fn half(octets: &[u8], at: usize) -> Option<u16> {
    octets.get(at..)?.first_chunk().copied().map(u16::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a block with one frame header at 48, whose data begin 82 octets further; then invalid lengths.
    // Output: the frame; nothing.
    #[test]
    fn frames_are_found_and_invalid_lengths_rejected() {
        let mut block = vec![0; 512];
        let mut put = |at: usize, value: u32| block[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        put(48 + 4, 1_700_000_000);
        put(48 + 8, 5);
        put(48 + 12, 3);
        put(48 + 16, 1500);
        put(48 + 20, libc::TP_STATUS_LOSING);
        put(48 + 32, 7);
        block[48 + 24..48 + 26].copy_from_slice(&82_u16.to_ne_bytes());
        block[130..133].copy_from_slice(b"abc");
        let time = Duration::new(1_700_000_000, 5);
        let expected = Slot { data: b"abc", len: 1500, time, status: libc::TP_STATUS_LOSING, vlan: 7 };
        assert_eq!(frame(&block, 48), Some(expected));
        block[60..64].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(frame(&block, 48), None);
        assert_eq!(frame(&block, 500), None);
        assert_eq!(frame(&block, usize::MAX - 40), None);
    }
}
