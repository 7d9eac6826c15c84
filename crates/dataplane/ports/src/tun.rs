//! IP packets through a TUN device: the data network is whatever the kernel routes there.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use causeway_packet::{Ip, ParseError};
use causeway_types::IpNet;
use rustix::io::Errno;

use crate::netlink::{Link, Netlink, check_name};
use crate::sys::tun::Kind;
use crate::udp::send_failure;
use crate::{Batch, Counter, Counters, Frame, Meta, Port, PortError, sys};

/// Which device, and how it is set up. All of it holds in the network namespace of the calling thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TunOptions {
    /// Name of the device: 1 to 15 characters.
    pub device: String,
    /// Addresses of ours on it, with the prefix that lies behind it.
    pub addresses: Vec<IpNet>,
    /// The MTU to set, in octets. `None` leaves it as it is: 1500 for a new device.
    pub mtu: Option<u32>,
    /// Further prefixes to route there, for example UE pools that no address covers.
    pub routes: Vec<IpNet>,
    /// The device stays when the port is closed. Otherwise it goes, unless it was there before as persistent.
    /// On a device that stays, so do its addresses and routes.
    pub persistent: bool,
}

/// An N6 port on a TUN device.
pub struct TunPort {
    name: String,
    file: File,
    link: Link,
    counters: Arc<Counters>,
}

impl TunPort {
    /// Opens the device, which is created if it does not exist, sets it up and takes it into use.
    ///
    /// Addresses and routes that are there already stay as they are.
    ///
    /// # Errors
    /// [`PortError::BadName`], [`PortError::TunMissing`], [`PortError::TunBusy`], [`PortError::NotTun`],
    /// [`PortError::Permission`], or [`PortError::System`]. A device created by this call is gone again.
    pub fn open(name: &str, options: &TunOptions) -> Result<Self, PortError> {
        let device = &options.device;
        check_name(device)?;
        let mut netlink = Netlink::open()?;
        let existed = netlink.link(device)?.is_some();
        let file = open_device()?;
        sys::tun::attach(&file, device, Kind::Tun).map_err(|errno| attach_error(device, errno))?;
        let link =
            netlink.link(device)?.ok_or_else(|| PortError::InterfaceMissing { name: device.clone() })?;
        set_up(&mut netlink, &link, options)?;
        if options.persistent && !existed {
            sys::tun::set_persistent(&file, true)
                .map_err(|errno| PortError::system(format!("keeping {device}"), errno, "CAP_NET_ADMIN"))?;
        }
        let mtu = options.mtu.unwrap_or(link.mtu);
        Ok(Self { name: name.to_owned(), file, link: Link { mtu, ..link }, counters: Arc::default() })
    }

    /// The device as it was set up.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Reads one packet into the next free buffer. `None` when nothing is there.
    fn read_one(&self, batch: &mut Batch) -> Result<Option<()>, PortError> {
        let Some(buffer) = batch.free().next() else { return Ok(None) };
        let len = match rustix::io::read(&self.file, &mut *buffer) {
            Ok(len) => len,
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => return Ok(Some(())),
            Err(errno) => return Err(PortError::lost(&self.name, errno)),
        };
        match Ip::parse(buffer.get(..len).unwrap_or_default()) {
            // The driver does not tell when it cuts a packet; the packet itself does.
            Err(ParseError::Truncated { .. }) => self.drop_received(batch, Counter::RxTruncated),
            Err(_) => self.drop_received(batch, Counter::RxMalformed),
            Ok(_) => {
                batch.commit(len, Meta::Ip);
                self.counters.received(1, len);
            }
        }
        Ok(Some(()))
    }

    fn drop_received(&self, batch: &mut Batch, reason: Counter) {
        self.counters.add(reason, 1);
        batch.skip();
    }

    fn write_one(&self, frame: &Frame<'_>) -> Result<Result<(), Counter>, Errno> {
        if frame.meta != Meta::Ip || Ip::parse(frame.data).is_err() {
            return Ok(Err(Counter::TxWrongKind));
        }
        if frame.data.len() > self.link.mtu as usize {
            return Ok(Err(Counter::TxTooBig));
        }
        loop {
            match rustix::io::write(&self.file, frame.data) {
                Ok(_) => return Ok(Ok(())),
                Err(Errno::INTR) => {}
                // The driver refuses what it takes for no IP packet.
                Err(Errno::INVAL) => return Ok(Err(Counter::TxWrongKind)),
                Err(errno) => return send_failure(errno).map(Err).ok_or(errno),
            }
        }
    }
}

pub(crate) fn open_device() -> Result<File, PortError> {
    let opened =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun");
    opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => PortError::TunMissing,
        _ => match Errno::from_io_error(&error) {
            Some(Errno::NODEV | Errno::NXIO) => PortError::TunMissing,
            errno => PortError::system("opening /dev/net/tun", errno.unwrap_or(Errno::IO), "CAP_NET_ADMIN"),
        },
    })
}

fn attach_error(device: &str, errno: Errno) -> PortError {
    let name = device.to_owned();
    match errno {
        Errno::BUSY => PortError::TunBusy { name },
        Errno::INVAL => PortError::NotTun { name },
        _ => PortError::system(format!("creating TUN device {name}"), errno, "CAP_NET_ADMIN"),
    }
}

fn set_up(netlink: &mut Netlink, link: &Link, options: &TunOptions) -> Result<(), PortError> {
    // Without this the kernel sends router solicitations of its own into the data plane.
    netlink.disable_link_local(link)?;
    if let Some(mtu) = options.mtu {
        netlink.set_mtu(link, mtu)?;
    }
    // First up: before that the kernel does not serve an IPv6 address, and would be waited for in vain.
    netlink.set_up(link)?;
    accept_own_addresses(&link.name);
    options.addresses.iter().try_for_each(|address| netlink.add_address(link, *address))?;
    options.routes.iter().try_for_each(|route| netlink.add_route(*route, link, None))
}

/// Lets the kernel take packets from our own IPv4 addresses out of the device, which ICMP errors for hosts behind it come
/// from. Where that is not permitted such errors are lost, and nothing else.
fn accept_own_addresses(device: &str) {
    let _ = std::fs::write(format!("/proc/sys/net/ipv4/conf/{device}/accept_local"), "1");
}

impl Port for TunPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn mtu(&self) -> u32 {
        self.link.mtu
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        batch.clear();
        while !batch.is_full() && self.read_one(batch)?.is_some() {}
        Ok(batch.len())
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        let mut sent = 0;
        for frame in frames {
            match self.write_one(frame).map_err(|errno| PortError::lost(&self.name, errno))? {
                Ok(()) => {
                    self.counters.sent(1, frame.data.len());
                    sent += 1;
                }
                Err(reason) => self.counters.add(reason, 1),
            }
        }
        Ok(sent)
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}
