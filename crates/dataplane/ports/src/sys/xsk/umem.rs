//! The memory that an AF_XDP socket shares with the kernel.

use std::ptr::NonNull;

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Chunks of one size, page aligned, each of which belongs to this process or to the kernel at any time.
///
/// This type does not track the owner: the functions that access a chunk are unsafe for that reason.
pub(super) struct Umem {
    base: NonNull<u8>,
    /// Octets.
    len: usize,
    /// Octets of a chunk, a power of two.
    chunk: usize,
}

// SAFETY: this value alone owns the mapping, which is valid in any thread of the process.
unsafe impl Send for Umem {}

impl Umem {
    /// Zeroed memory of `chunks` chunks of `chunk` octets each.
    pub(super) fn new(chunks: usize, chunk: usize) -> Result<Self, Errno> {
        let len = chunks.checked_mul(chunk).ok_or(Errno::NOMEM)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses an unused address for the mapping.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), len, access, MapFlags::PRIVATE) }?;
        let base = NonNull::new(base.cast::<u8>()).ok_or(Errno::NOMEM)?;
        // SAFETY: the range was just mapped, and huge pages do not change its contents. Without them it is slower.
        let _ = unsafe { madvise(base.as_ptr().cast(), len, Advice::LinuxHugepage) };
        Ok(Self { base, len, chunk })
    }

    /// The registration data for the kernel.
    pub(super) fn registration(&self) -> libc::xdp_umem_reg {
        libc::xdp_umem_reg {
            addr: self.base.as_ptr() as u64,
            len: self.len as u64,
            chunk_size: self.chunk as u32,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        }
    }

    /// The address of the chunk in which an address lies.
    pub(super) const fn chunk_of(&self, address: u64) -> u64 {
        address & !(self.chunk as u64 - 1)
    }

    /// Octets of a chunk.
    pub(super) const fn chunk_size(&self) -> usize {
        self.chunk
    }

    /// The octets at an address. `None` outside the memory.
    ///
    /// # Safety
    /// They lie in a chunk that belongs to this process during the lifetime of the slice, without a writer.
    pub(super) unsafe fn octets(&self, address: u64, len: usize) -> Option<&[u8]> {
        let start = self.place(address, len)?;
        // SAFETY: the range lies in the mapping; the caller guarantees the rest.
        Some(unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(start), len) })
    }

    /// The octets at an address, mutable. `None` outside the memory.
    ///
    /// # Safety
    /// They lie in a chunk that belongs to this process during the lifetime of the slice, without another reference.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn octets_mut(&self, address: u64, len: usize) -> Option<&mut [u8]> {
        let start = self.place(address, len)?;
        // SAFETY: the range lies in the mapping; the caller guarantees the rest.
        Some(unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(start), len) })
    }

    fn place(&self, address: u64, len: usize) -> Option<usize> {
        let start = usize::try_from(address).ok()?;
        (start.checked_add(len)? <= self.len).then_some(start)
    }
}

impl Drop for Umem {
    fn drop(&mut self) {
        // SAFETY: the mapping was created by `new` with this length, and no slice of it outlives it. The kernel holds
        // its own reference to the pages as long as a socket uses them.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  ranges inside the memory, across its end, and far outside.
    // Output: only the first is returned; its content can be read after a write.
    #[test]
    fn no_range_outside_is_returned() {
        let umem = Umem::new(4, 2048).unwrap();
        // SAFETY: the memory is not registered with the kernel, and no two slices live at the same time.
        unsafe {
            umem.octets_mut(8190, 2).unwrap().copy_from_slice(b"ab");
            assert_eq!(umem.octets(8190, 2), Some(b"ab".as_slice()));
            assert_eq!(umem.octets(8191, 2), None);
            assert_eq!(umem.octets(u64::MAX, 2), None);
            assert!(umem.octets_mut(8192, 1).is_none());
        }
        assert_eq!(umem.chunk_of(4096 + 256 + 14), 4096);
    }
}
