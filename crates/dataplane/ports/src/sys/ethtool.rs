//! Generic receive offload: whether the kernel joins received packets into larger ones.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

use super::{check, interface_name};

/// Commands of `linux/ethtool.h`.
const GET_GRO: u32 = 0x2b;
const SET_GRO: u32 = 0x2c;
/// The ioctl of `linux/sockios.h`.
const SIOCETHTOOL: u32 = 0x8946;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ifreq` with a pointer.
#[repr(C)]
struct Request<'a> {
    name: [u8; libc::IFNAMSIZ],
    value: &'a mut Value,
    rest: [u8; 16],
}

/// Packets received on the interface are joined. `fd` is any socket.
pub(crate) fn gro(fd: impl AsFd, interface: &str) -> Result<bool, Errno> {
    let mut value = Value { command: GET_GRO, data: 0 };
    call(fd, interface, &mut value)?;
    Ok(value.data != 0)
}

/// Says whether packets received on the interface shall be joined.
pub(crate) fn set_gro(fd: impl AsFd, interface: &str, on: bool) -> Result<(), Errno> {
    call(fd, interface, &mut Value { command: SET_GRO, data: u32::from(on) })
}

fn call(fd: impl AsFd, interface: &str, value: &mut Value) -> Result<(), Errno> {
    let mut request = Request { name: interface_name(interface), value, rest: [0; 16] };
    // SAFETY: the kernel reads and writes one `struct ifreq` of at most 40 octets, which `request` is, and through
    // its pointer one `struct ethtool_value`, which is mutably borrowed until the call returns.
    check(unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), SIOCETHTOOL as _, &raw mut request) })
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    // Input:  the loopback, and an interface that does not exist.
    // Output: an answer, an error.
    #[test]
    fn the_setting_can_be_read() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(gro(&socket, "lo").is_ok());
        assert_eq!(gro(&socket, "no.such.if"), Err(Errno::NODEV));
    }
}
