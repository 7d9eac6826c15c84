//! One ring of an AF_XDP socket: a single producer and a single consumer, one of which is the kernel.

use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The offsets of the parts of a ring in its mapping: `struct xdp_ring_offset`.
pub(super) type Offsets = libc::xdp_ring_offset;

/// An entry of a ring: any bits are a legal value.
///
/// # Safety
/// The type has neither padding nor illegal values.
pub(super) unsafe trait Entry: Copy {}

// SAFETY: an integer.
unsafe impl Entry for u64 {}
// SAFETY: three integers, 8 + 4 + 4 octets.
unsafe impl Entry for libc::xdp_desc {}

/// The mapping of a ring with the local side of its state.
///
/// `T` is [`u64`] (frame addresses) or `xdp_desc`. The functions that are called determine whether the local side
/// produces or consumes: a ring is used for one of both only.
pub(super) struct Ring<T> {
    base: NonNull<u8>,
    len: usize,
    offsets: Offsets,
    /// Entries, a power of two.
    size: u32,
    /// The local index, as the kernel will see it after the next publication.
    local_index: u32,
    /// The kernel's index when it was last read.
    kernel_index: u32,
    entry: PhantomData<T>,
}

// SAFETY: this value alone owns the mapping, which is valid in any thread of the process.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Entry> Ring<T> {
    /// Maps a ring of `size` entries, a power of two, which the socket already has.
    pub(super) fn map(socket: impl AsFd, page: u64, offsets: Offsets, size: u32) -> Result<Self, Errno> {
        let len = offsets.desc as usize + size as usize * size_of::<T>();
        let fits = [offsets.producer, offsets.consumer, offsets.flags]
            .iter()
            .all(|at| *at as usize + size_of::<u32>() <= len && at % 4 == 0)
            && (offsets.desc as usize).is_multiple_of(align_of::<T>());
        if !fits || !size.is_power_of_two() {
            return Err(Errno::PROTO);
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the kernel chooses an unused address for the mapping.
        let base = unsafe { mmap(std::ptr::null_mut(), len, access, flags, socket, page) }?;
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { base, len, offsets, size, local_index: 0, kernel_index: 0, entry: PhantomData })
    }

    fn word(&self, at: u64) -> &AtomicU32 {
        // SAFETY: `map` has checked that the word lies in the mapping and is aligned. The kernel accesses it only as
        // a whole.
        unsafe { AtomicU32::from_ptr(self.base.as_ptr().add(at as usize).cast()) }
    }

    fn entry(&self, index: u32) -> *mut T {
        let at = self.offsets.desc as usize + (index & (self.size - 1)) as usize * size_of::<T>();
        // SAFETY: the index is below the size, and the mapping is as long as `map` made it.
        unsafe { self.base.as_ptr().add(at).cast() }
    }

    /// The kernel needs a system call to continue with this ring.
    ///
    /// The kernel sets the flag before it reads the ring for the last time. Entries that were published here are
    /// visible before the flag is read: otherwise both sides could miss each other, and the frames would wait for the
    /// next ones.
    pub(super) fn needs_wakeup(&self) -> bool {
        fence(Ordering::SeqCst);
        self.word(self.offsets.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// As consumer: there is an entry.
    pub(super) fn is_ready(&mut self) -> bool {
        if self.local_index == self.kernel_index {
            self.kernel_index = self.word(self.offsets.producer).load(Ordering::Acquire);
        }
        self.local_index != self.kernel_index
    }

    /// As consumer: the used part of the ring, in percent.
    pub(super) fn fill_percent(&self) -> u8 {
        let theirs = self.word(self.offsets.producer).load(Ordering::Relaxed);
        let waiting = theirs.wrapping_sub(self.local_index).min(self.size);
        (u64::from(waiting) * 100 / u64::from(self.size)) as u8
    }

    /// As consumer: the next entry. It belongs to the kernel again after [`Ring::publish_consumed`].
    pub(super) fn consume(&mut self) -> Option<T> {
        if !self.is_ready() {
            return None;
        }
        // SAFETY: the entry lies between the local index and the kernel's, so the kernel does not write to it, and
        // the load of that index has made its octets visible. Any bits are a legal value.
        let entry = unsafe { self.entry(self.local_index).read() };
        self.local_index = self.local_index.wrapping_add(1);
        Some(entry)
    }

    /// As consumer: returns the consumed entries to the kernel.
    pub(super) fn publish_consumed(&self) {
        self.word(self.offsets.consumer).store(self.local_index, Ordering::Release);
    }

    /// As producer: the number of free entries.
    pub(super) fn free(&mut self) -> u32 {
        self.kernel_index = self.word(self.offsets.consumer).load(Ordering::Acquire);
        self.size.saturating_sub(self.local_index.wrapping_sub(self.kernel_index))
    }

    /// As producer: the number of entries that the kernel has not consumed yet.
    pub(super) fn waiting(&mut self) -> u32 {
        self.size - self.free()
    }

    /// As producer: writes the next entry, which the kernel sees after [`Ring::publish_produced`]. `false` when the
    /// ring is full.
    pub(super) fn produce(&mut self, entry: T) -> bool {
        if self.local_index.wrapping_sub(self.kernel_index) >= self.size && self.free() == 0 {
            return false;
        }
        // SAFETY: fewer entries than the ring has are between the kernel's index and the local one, so the kernel
        // does not read this one.
        unsafe { self.entry(self.local_index).write(entry) };
        self.local_index = self.local_index.wrapping_add(1);
        true
    }

    /// As producer: publishes the written entries.
    pub(super) fn publish_produced(&self) {
        self.word(self.offsets.producer).store(self.local_index, Ordering::Release);
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was created by `map` with this length, and no reference into it outlives the ring. It
        // fails only for arguments that were never mapped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}
