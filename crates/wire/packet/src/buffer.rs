//! The memory of one frame.

use std::collections::BTreeMap;
use std::fmt;
use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::BATCH;

/// Octets kept free before each received frame: they hold Ethernet with VLAN tags, IPv6, UDP and GTP-U with a PDU
/// Session Container.
pub const HEADROOM: usize = 128;

/// Octets from one buffer to the next, headroom included: a frame of 2048 octets fits.
///
/// An odd number of cache lines, so that the starts of the frames are spread over all sets of a cache.
pub const STRIDE: usize = HEADROOM + 2048 + 64;

/// Buffers of this crate that no batch holds, by their length. Their memory stays with the process, as the memory pool
/// of an I/O library does.
static FREE: Mutex<BTreeMap<usize, Vec<&'static mut [u8]>>> = Mutex::new(BTreeMap::new());

/// The memory of one frame: headroom, then space for the frame.
///
/// The octets are borrowed for the rest of the process, so that a buffer of any I/O library is used in place: an mbuf of
/// a mempool, or a frame of a UMEM. A data plane reads and writes them through a plain slice, without a call of the
/// library. Such a library implements its port as follows.
///
/// 1. It makes a `&'static mut [u8]` of each buffer that it receives into, headroom included, and keeps its memory
///    mapped while such slices exist. The slice is the only reference to the octets until the library has it back.
/// 2. It exchanges the buffers of a batch for its own with [`Batch::exchange`], and the frames are where it received
///    them. Of the buffers that it gets back, its own are free again; [`Buffer::into_octets`] returns the slice, whose
///    address is that of the mbuf or UMEM frame.
/// 3. In the same way it takes frames to transmit out of a batch.
///
/// A buffer of a library that is dropped is lost to it.
///
/// [`Batch::exchange`]: crate::Batch::exchange
pub struct Buffer {
    octets: &'static mut [u8],
    headroom: u32,
    /// Whether the octets are memory of this crate.
    is_own: bool,
}

impl Buffer {
    /// A buffer of an I/O library. Frames are received `headroom` octets after its start, or at its end if it is
    /// shorter. Octets beyond 4 GiB are not used.
    pub fn new(octets: &'static mut [u8], headroom: usize) -> Self {
        let len = octets.len().min(u32::MAX as usize);
        let octets = octets.get_mut(..len).unwrap_or_default();
        let headroom = headroom.min(octets.len()) as u32;
        Self { octets, headroom, is_own: false }
    }

    /// A buffer without octets.
    pub(crate) fn empty() -> Self {
        Self::new(&mut [], 0)
    }

    /// Buffers of this crate for a batch, of `stride` octets each.
    pub(crate) fn of_stride(stride: usize) -> impl Iterator<Item = Self> {
        let own = |octets| Self { octets, headroom: HEADROOM as u32, is_own: true };
        take_free(stride).into_iter().map(own)
    }

    /// All octets, headroom included.
    #[inline(always)]
    pub fn octets(&self) -> &[u8] {
        self.octets
    }

    /// All octets, headroom included.
    #[inline(always)]
    pub fn octets_mut(&mut self) -> &mut [u8] {
        self.octets
    }

    /// All octets, headroom included, for the I/O library that the buffer is of.
    pub fn into_octets(mut self) -> &'static mut [u8] {
        self.is_own = false;
        take(&mut self.octets)
    }

    /// Octets before a received frame.
    #[inline(always)]
    pub fn headroom(&self) -> usize {
        self.headroom as usize
    }

    /// The longest frame that can be received into it, in octets.
    pub fn frame_size(&self) -> usize {
        self.octets.len() - self.headroom()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.is_own {
            let octets = take(&mut self.octets);
            free().entry(octets.len()).or_default().push(octets);
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("octets", &self.octets.len())
            .field("headroom", &self.headroom)
            .finish_non_exhaustive()
    }
}

/// Memory for the buffers of a batch: from dropped batches, or else newly allocated in one piece.
fn take_free(stride: usize) -> Vec<&'static mut [u8]> {
    let mut free = free();
    let unused = free.entry(stride).or_default();
    match unused.len().checked_sub(BATCH) {
        Some(rest) => unused.split_off(rest),
        None => Box::leak(vec![0; stride * BATCH].into_boxed_slice()).chunks_exact_mut(stride).collect(),
    }
}

fn free() -> MutexGuard<'static, BTreeMap<usize, Vec<&'static mut [u8]>>> {
    // A list of buffers is valid whatever interrupted its user.
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}
