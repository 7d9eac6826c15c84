//! System calls without a safe library. All unsafe code of this crate is here.
//!
//! Each module wraps one family of calls in safe functions over borrowed slices and descriptors.

pub(crate) mod bpf;
pub(crate) mod ethtool;
pub(crate) mod mmsg;
pub(crate) mod packet;
pub(crate) mod ring;
pub(crate) mod sockopt;
pub(crate) mod tun;
pub(crate) mod xsk;

use rustix::io::Errno;

/// The result of a system call that returns zero or fails.
fn check(status: libc::c_int) -> Result<(), Errno> {
    if status == 0 { Ok(()) } else { Err(last_errno()) }
}

/// The error of the system call that failed last in this thread.
fn last_errno() -> Errno {
    Errno::from_raw_os_error(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

/// The name of an interface as `struct ifreq` holds it: truncated to 15 octets, with a zero at its end.
fn interface_name(interface: &str) -> [u8; libc::IFNAMSIZ] {
    let mut name = [0; libc::IFNAMSIZ];
    for (to, from) in name.iter_mut().take(libc::IFNAMSIZ - 1).zip(interface.bytes()) {
        *to = from;
    }
    name
}
