//! Settings of interfaces: whether the kernel joins received packets, and the number of queues.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::{check, interface_name};

/// Commands of `linux/ethtool.h`.
const GET_GRO: u32 = 0x2b;
const SET_GRO: u32 = 0x2c;
const GET_CHANNELS: u32 = 0x3c;
/// The ioctl of `linux/sockios.h`.
const SIOCETHTOOL: u32 = 0x8946;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receive: u32,
    send: u32,
    other: u32,
    combined: u32,
}

/// A structure of `linux/ethtool.h` that begins with its command.
///
/// # Safety
/// It is `repr(C)`, consists of words only, and has the length of its command.
unsafe trait Command {}

// SAFETY: two words, which is what its commands read and write.
unsafe impl Command for Value {}
// SAFETY: nine words, which is what its command reads and writes.
unsafe impl Command for Channels {}

/// `struct ifreq` with a pointer.
#[repr(C)]
struct Request<'a, T> {
    name: [u8; libc::IFNAMSIZ],
    value: &'a mut T,
    rest: [u8; 16],
}

/// Whether packets received on the interface are joined.
fn gro(fd: impl AsFd, interface: &str) -> Result<bool, Errno> {
    let mut value = Value { command: GET_GRO, data: 0 };
    call(fd, interface, &mut value)?;
    Ok(value.data != 0)
}

/// Sets whether packets received on the interface are joined.
fn set_gro(fd: impl AsFd, interface: &str, on: bool) -> Result<(), Errno> {
    call(fd, interface, &mut Value { command: SET_GRO, data: u32::from(on) })
}

/// Keeps received packets of an interface from being joined, until it is dropped.
pub(crate) struct GroDisabled {
    socket: OwnedFd,
    interface: String,
}

impl GroDisabled {
    /// Switches the offload off. `None` where it was off already, or the driver cannot switch it off.
    pub(crate) fn on(interface: &str) -> Option<Self> {
        let socket = control().ok()?;
        let joined = gro(&socket, interface).unwrap_or(false);
        let off = joined && set_gro(&socket, interface, false).is_ok();
        off.then(|| Self { socket, interface: interface.to_owned() })
    }
}

impl Drop for GroDisabled {
    fn drop(&mut self) {
        // The interface may be gone, with its settings.
        let _ = set_gro(&self.socket, &self.interface, true);
    }
}

/// The number of receive queues in use.
pub(crate) fn receive_queues(interface: &str) -> Result<u32, Errno> {
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    call(control()?, interface, &mut channels)?;
    Ok(channels.receive + channels.combined)
}

/// A socket for ioctls on interfaces; not every kind of socket supports them.
fn control() -> Result<OwnedFd, Errno> {
    socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
}

fn call<T: Command>(fd: impl AsFd, interface: &str, value: &mut T) -> Result<(), Errno> {
    let mut request = Request { name: interface_name(interface), value, rest: [0; 16] };
    // SAFETY: the kernel reads and writes one `struct ifreq` of at most 40 octets, which `request` is, and through
    // its pointer the structure of the command (`Command`), which is mutably borrowed until the call returns.
    check(unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), SIOCETHTOOL as _, &raw mut request) })
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    // Input:  the loopback, and an interface that does not exist.
    // Output: a value, an error.
    #[test]
    fn the_setting_can_be_read() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(gro(&socket, "lo").is_ok());
        assert_eq!(gro(&socket, "no.such.if"), Err(Errno::NODEV));
    }
}
