//! The ioctls of the TUN driver.
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

/// The kind of a device of the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// IP packets.
    Tun,
    /// IP packets, in several queues: each descriptor of the device receives some flows.
    TunQueue,
    /// Ethernet frames.
    Tap,
}

/// The header before each packet or frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Header {
    /// Nothing.
    None,
    /// `struct virtio_net_hdr`, ten octets in host byte order.
    Virtio,
}

/// Attaches the descriptor to the device with that name, which the kernel creates if it does not exist.
pub(crate) fn attach(fd: impl AsFd, name: &str, kind: Kind, header: Header) -> Result<(), Errno> {
    let kind = match kind {
        Kind::Tun => libc::IFF_TUN,
        Kind::TunQueue => libc::IFF_TUN | libc::IFF_MULTI_QUEUE,
        Kind::Tap => libc::IFF_TAP,
    };
    let header_flag = if header == Header::Virtio { libc::IFF_VNET_HDR } else { 0 };
    let flags = (kind | libc::IFF_NO_PI | header_flag) as libc::c_short;
    let mut request = InterfaceRequest { name: interface_name(name), flags, rest: [0; 22] };
    // SAFETY: the kernel reads and writes one `struct ifreq` of 40 octets, which `request` is, and the name in it
    // ends with a zero.
    check(unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })?;
    if header == Header::Virtio { set_header_size(fd, 10) } else { Ok(()) }
}

/// A device that outlived another process may have a longer header.
fn set_header_size(fd: impl AsFd, octets: libc::c_int) -> Result<(), Errno> {
    // SAFETY: the kernel reads one integer, which lives until the call returns.
    check(unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TUNSETVNETHDRSZ as _, &raw const octets) })
}

/// Sets which packets the kernel may leave unsegmented or without checksum: `TUN_F_*`. It rejects unknown flags.
pub(crate) fn set_offload(fd: impl AsFd, flags: libc::c_uint) -> Result<(), Errno> {
    // SAFETY: TUNSETOFFLOAD takes its argument by value.
    check(unsafe {
        libc::ioctl(fd.as_fd().as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(flags))
    })
}

/// Sets whether the device stays when the descriptor is closed.
pub(crate) fn set_persistent(fd: impl AsFd, persistent: bool) -> Result<(), Errno> {
    // SAFETY: TUNSETPERSIST takes its argument by value.
    check(unsafe {
        libc::ioctl(fd.as_fd().as_raw_fd(), libc::TUNSETPERSIST as _, libc::c_ulong::from(persistent))
    })
}
