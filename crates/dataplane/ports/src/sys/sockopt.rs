//! Socket options whose value is one number or one C structure.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

/// A C value without padding or pointers, which the kernel may read as octets.
///
/// # Safety
/// Every bit of the type is initialized and it holds no pointer that the kernel would follow.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: integers have neither padding nor pointers.
unsafe impl Plain for libc::c_int {}

/// Sets an option.
pub(crate) fn set<T: Plain>(fd: impl AsFd, level: i32, option: i32, value: T) -> Result<(), Errno> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the descriptor is open while borrowed, and the kernel reads `len` octets of `value`, which lives
    // until the call returns and is free of padding (`Plain`).
    let status =
        unsafe { libc::setsockopt(fd.as_fd().as_raw_fd(), level, option, (&raw const value).cast(), len) };
    if status == 0 { Ok(()) } else { Err(last_errno()) }
}

/// The error of the system call that failed last in this thread.
pub(super) fn last_errno() -> Errno {
    Errno::from_raw_os_error(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}
