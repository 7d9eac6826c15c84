//! The two ioctls of the TUN driver.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

use super::{check, interface_name};

/// `struct ifreq` as TUNSETIFF reads it: a name, then flags.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    rest: [u8; 22],
}

/// What a device of the driver carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// IP packets.
    Tun,
    /// Ethernet frames.
    Tap,
}

/// Makes the descriptor the device of that name, which the kernel creates if it does not exist. Packets have no
/// header before IP, frames none before Ethernet.
pub(crate) fn attach(fd: impl AsFd, name: &str, kind: Kind) -> Result<(), Errno> {
    let kind = match kind {
        Kind::Tun => libc::IFF_TUN,
        Kind::Tap => libc::IFF_TAP,
    };
    let flags = (kind | libc::IFF_NO_PI) as libc::c_short;
    let mut request = InterfaceRequest { name: interface_name(name), flags, rest: [0; 22] };
    // SAFETY: the kernel reads and writes one `struct ifreq` of 40 octets, which `request` is, and the name in it
    // ends with a zero.
    check(unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })
}

/// Whether the device stays when the descriptor is closed.
pub(crate) fn set_persistent(fd: impl AsFd, persistent: bool) -> Result<(), Errno> {
    // SAFETY: TUNSETPERSIST takes its argument by value.
    check(unsafe {
        libc::ioctl(fd.as_fd().as_raw_fd(), libc::TUNSETPERSIST as _, libc::c_ulong::from(persistent))
    })
}
