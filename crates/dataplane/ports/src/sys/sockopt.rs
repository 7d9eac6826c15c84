//! Socket options whose value is one number or one C structure.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

use super::check;

/// A C value without padding or pointers, which the kernel may read as octets.
///
/// # Safety
/// Every bit of the type is initialized and it holds no pointer that the kernel would follow.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: integers have neither padding nor pointers.
unsafe impl Plain for libc::c_int {}
// SAFETY: seven integers of one size.
unsafe impl Plain for libc::tpacket_req3 {}

/// Sets an option.
pub(crate) fn set<T: Plain>(fd: impl AsFd, level: i32, option: i32, value: T) -> Result<(), Errno> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the descriptor is open while borrowed, and the kernel reads `len` octets of `value`, which lives
    // until the call returns and is free of padding (`Plain`).
    check(unsafe { libc::setsockopt(fd.as_fd().as_raw_fd(), level, option, (&raw const value).cast(), len) })
}

/// Makes the socket refuse whatever arrives, before it takes room in its buffer.
pub(crate) fn refuse_all(fd: impl AsFd) -> Result<(), Errno> {
    // "Return 0": keep no octet of the packet.
    let mut program = [libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 }];
    let filter = libc::sock_fprog { len: 1, filter: program.as_mut_ptr() };
    // SAFETY: the kernel copies one instruction from `program`, which lives until the call returns.
    check(unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const filter).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    })
}
