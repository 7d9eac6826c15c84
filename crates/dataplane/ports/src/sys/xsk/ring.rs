//! One ring of an AF_XDP socket: a single producer and a single consumer, one of which is the kernel.

use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Where the parts of a ring lie in its mapping: `struct xdp_ring_offset`.
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

/// The mapping of a ring with our side of its state.
///
/// `T` is [`u64`] (frame addresses) or `xdp_desc`. Whether we produce or consume is up to the functions that are
/// called: a ring is used for one of both only.
pub(super) struct Ring<T> {
    base: NonNull<u8>,
    len: usize,
    offsets: Offsets,
    /// Entries, a power of two.
    size: u32,
    /// Our index, as far as the kernel shall see at the next publication.
    local_index: u32,
    /// The kernel's index as it was seen last.
    kernel_index: u32,
    entry: PhantomData<T>,
}

// SAFETY: the mapping belongs to this value alone and is valid in any thread of the process.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Entry> Ring<T> {
    /// Maps a ring of `size` entries, a power of two, that the socket has been given already.
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
        // SAFETY: the kernel chooses an unused place for the mapping.
        let base = unsafe { mmap(std::ptr::null_mut(), len, access, flags, socket, page) }?;
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { base, len, offsets, size, local_index: 0, kernel_index: 0, entry: PhantomData })
    }

    fn word(&self, at: u64) -> &AtomicU32 {
        // SAFETY: `map` has seen to it that the word lies in the mapping and is aligned. The kernel accesses it only
        // as a whole.
        unsafe { AtomicU32::from_ptr(self.base.as_ptr().add(at as usize).cast()) }
    }

    fn entry(&self, index: u32) -> *mut T {
        let at = self.offsets.desc as usize + (index & (self.size - 1)) as usize * size_of::<T>();
        // SAFETY: the index is below the size, and the mapping is as long as `map` made it.
        unsafe { self.base.as_ptr().add(at).cast() }
    }

    /// The kernel wants a system call before it goes on with this ring.
    ///
    /// The kernel says so before it looks at the ring for the last time. What was published here is visible before the question is
    /// asked: else both sides could miss each other, and the frames would wait for the next ones.
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

    /// As consumer: how much of the ring is in use, in percent.
    pub(super) fn fill_percent(&self) -> u8 {
        let theirs = self.word(self.offsets.producer).load(Ordering::Relaxed);
        let waiting = theirs.wrapping_sub(self.local_index).min(self.size);
        (u64::from(waiting) * 100 / u64::from(self.size)) as u8
    }

    /// As consumer: the next entry. It is the kernel's again after [`Ring::publish_consumed`].
    pub(super) fn consume(&mut self) -> Option<T> {
        if !self.is_ready() {
            return None;
        }
        // SAFETY: the entry lies between our index and the kernel's, so that the kernel does not write to it, and
        // the load of that index has made its octets visible. Any bits are a legal value.
        let entry = unsafe { self.entry(self.local_index).read() };
        self.local_index = self.local_index.wrapping_add(1);
        Some(entry)
    }

    /// As consumer: gives the entries back that were taken.
    pub(super) fn publish_consumed(&self) {
        self.word(self.offsets.consumer).store(self.local_index, Ordering::Release);
    }

    /// As producer: entries that are free.
    pub(super) fn free(&mut self) -> u32 {
        self.kernel_index = self.word(self.offsets.consumer).load(Ordering::Acquire);
        self.size.saturating_sub(self.local_index.wrapping_sub(self.kernel_index))
    }

    /// As producer: entries that the kernel has not taken yet.
    pub(super) fn waiting(&mut self) -> u32 {
        self.size - self.free()
    }

    /// As producer: writes the next entry, which the kernel sees after [`Ring::publish_produced`]. `false` when the
    /// ring is full.
    pub(super) fn produce(&mut self, entry: T) -> bool {
        if self.local_index.wrapping_sub(self.kernel_index) >= self.size && self.free() == 0 {
            return false;
        }
        // SAFETY: fewer entries than the ring has are between the kernel's index and ours, so that the kernel does
        // not read this one.
        unsafe { self.entry(self.local_index).write(entry) };
        self.local_index = self.local_index.wrapping_add(1);
        true
    }

    /// As producer: hands over what was written.
    pub(super) fn publish_produced(&self) {
        self.word(self.offsets.producer).store(self.local_index, Ordering::Release);
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and no reference into it outlives the ring. It
        // fails only for arguments that were never mapped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}
