//! Ethernet frames through a TAP device: the data network is the bridge of the device, or the host itself.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use causeway_packet::{Batch, Ethernet, Frame, Meta, ParseError};
use rustix::io::Errno;

use crate::netlink::{Link, Netlink, check_name};
use crate::sys::tun::{Header, Kind};
use crate::tun::open_device;
use crate::udp::send_failure;
use crate::{Counter, Counters, Port, PortError, sys};

/// Octets of a frame that the MTU does not count: two addresses, the type and two VLAN tags.
const HEADERS: usize = 14 + 2 * 4;

/// The device and its configuration, in the network namespace of the calling thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TapOptions {
    /// Name of the device: 1 to 15 characters.
    pub device: String,
    /// The bridge to attach it to, which exists. `None` leaves it unchanged.
    pub bridge: Option<String>,
    /// The MTU to set, in octets of a frame's payload. `None` leaves it unchanged: 1500 for a new device.
    pub mtu: Option<u32>,
}

/// An N6 port on a TAP device.
pub struct TapPort {
    name: String,
    file: File,
    link: Link,
    counters: Arc<Counters>,
}

impl TapPort {
    /// Opens the device, which is created if it does not exist, configures it and sets it up. A device that this call
    /// creates is removed when the port is closed.
    ///
    /// # Errors
    /// [`PortError::BadName`], [`PortError::TunMissing`], [`PortError::TapBusy`], [`PortError::NotTap`],
    /// [`PortError::BridgeMissing`], [`PortError::Permission`], or [`PortError::System`]. A device created by this
    /// call is removed again.
    pub fn open(name: &str, options: &TapOptions) -> Result<Self, PortError> {
        let device = &options.device;
        check_name(device)?;
        let mut netlink = Netlink::open()?;
        let file = open_device()?;
        sys::tun::attach(&file, device, Kind::Tap, Header::None)
            .map_err(|errno| attach_error(device, errno))?;
        let link =
            netlink.link(device)?.ok_or_else(|| PortError::InterfaceMissing { name: device.clone() })?;
        set_up(&mut netlink, &link, options)?;
        let mtu = options.mtu.unwrap_or(link.mtu);
        Ok(Self { name: name.to_owned(), file, link: Link { mtu, ..link }, counters: Arc::default() })
    }

    /// The device after its configuration.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Reads one frame into the next free buffer. `None` when there is none.
    fn read_one(&self, batch: &mut Batch) -> Result<Option<()>, PortError> {
        let Some(buffer) = batch.free().next() else { return Ok(None) };
        let len = match rustix::io::read(&self.file, &mut *buffer) {
            Ok(len) => len,
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => return Ok(Some(())),
            Err(errno) => return Err(PortError::lost(&self.name, errno)),
        };
        // The driver does not report truncation; a completely full buffer does.
        if len == buffer.len() {
            self.drop_received(batch, Counter::RxTruncated);
            return Ok(Some(()));
        }
        match Ethernet::parse(buffer.get(..len).unwrap_or_default()) {
            // The data plane decides whether it supports the tags.
            Ok(_) | Err(ParseError::TooMany { .. }) => {
                batch.commit(len, Meta::Ethernet);
                self.counters.received(1, len);
            }
            Err(_) => self.drop_received(batch, Counter::RxMalformed),
        }
        Ok(Some(()))
    }

    fn drop_received(&self, batch: &mut Batch, reason: Counter) {
        self.counters.add(reason, 1);
        batch.skip();
    }

    fn write_one(&self, frame: &Frame<'_>) -> Result<Result<(), Counter>, Errno> {
        if frame.meta != Meta::Ethernet || Ethernet::parse(frame.data).is_err() {
            return Ok(Err(Counter::TxWrongKind));
        }
        if frame.data.len() > self.link.mtu as usize + HEADERS {
            return Ok(Err(Counter::TxTooBig));
        }
        loop {
            match rustix::io::write(&self.file, frame.data) {
                Ok(_) => return Ok(Ok(())),
                Err(Errno::INTR) => {}
                Err(Errno::INVAL) => return Ok(Err(Counter::TxWrongKind)),
                Err(errno) => return send_failure(errno).map(Err).ok_or(errno),
            }
        }
    }
}

fn attach_error(device: &str, errno: Errno) -> PortError {
    let name = device.to_owned();
    match errno {
        Errno::BUSY => PortError::TapBusy { name },
        Errno::INVAL => PortError::NotTap { name },
        _ => PortError::system(format!("creating TAP device {name}"), errno, "CAP_NET_ADMIN"),
    }
}

fn set_up(netlink: &mut Netlink, link: &Link, options: &TapOptions) -> Result<(), PortError> {
    // Otherwise the kernel sends its own router solicitations into the data plane.
    netlink.disable_link_local(link)?;
    if let Some(mtu) = options.mtu {
        netlink.set_mtu(link, mtu)?;
    }
    if let Some(name) = &options.bridge {
        let bridge = netlink.link(name)?.ok_or_else(|| PortError::BridgeMissing { name: name.clone() })?;
        netlink.set_bridge(link, &bridge)?;
    }
    netlink.set_up(link)
}

impl Port for TapPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn mtu(&self) -> u32 {
        self.link.mtu
    }

    fn use_counters(&mut self, counters: &Arc<Counters>) {
        self.counters = Arc::clone(counters);
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
