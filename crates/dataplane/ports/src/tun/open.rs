//! Opening and configuring the device.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use causeway_types::IpNet;
use rustix::io::Errno;

use super::losses::Losses;
use super::receive::TunReceiver;
use super::send::TunSender;
use super::{TunOffload, TunPort};
use crate::netlink::{Link, Netlink, TunQueues, check_name};
use crate::sys::tun::{Header, Kind};
use crate::{PortError, PortSharing, sys};

/// The device and its configuration, in the network namespace of the calling thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunOptions {
    /// Name of the device: 1 to 15 characters.
    pub device: String,
    /// Local addresses on it, with the prefix behind it.
    pub addresses: Vec<IpNet>,
    /// The MTU to set, in octets. `None` leaves it unchanged: 1500 for a new device.
    pub mtu: Option<u32>,
    /// Further prefixes to route there, for example UE pools that no address covers.
    pub routes: Vec<IpNet>,
    /// The device stays when the port is closed. Otherwise it is removed, unless it existed before as persistent. The
    /// addresses and routes of a device that stays do so too.
    pub persistent: bool,
    /// Packets of one flow cross together and without checksums, where the kernel supports it.
    pub offload: bool,
    /// Whether the port is one of several on the device, each with a queue. The kernel spreads flows over them, and
    /// delivers a flow to the port that last sent packets of it in the other direction.
    pub share: PortSharing,
}

impl Default for TunOptions {
    /// Without a device name.
    fn default() -> Self {
        Self {
            device: String::new(),
            addresses: Vec::new(),
            mtu: None,
            routes: Vec::new(),
            persistent: false,
            offload: true,
            share: PortSharing::Exclusive,
        }
    }
}

/// Packets from the kernel that each queue of the device holds. The default of Linux is 500, which arrive in 2 ms at
/// 250,000 a second: less than the time after which the scheduler may return the core to the thread. A larger value
/// of an administrator stays.
const QUEUE_LENGTH: u32 = 4096;

impl TunPort {
    /// Restores the addresses and routes of a device that is up; the kernel discards some of them when it goes down.
    /// No effect where the device does not exist or is down.
    ///
    /// # Errors
    /// [`PortError::Permission`], or [`PortError::System`].
    pub fn restore(options: &TunOptions) -> Result<(), PortError> {
        let mut netlink = Netlink::open()?;
        match netlink.link(&options.device)?.filter(|link| link.up) {
            Some(link) => give_addresses(&mut netlink, &link, options),
            None => Ok(()),
        }
    }

    /// Changes the addresses and routes of a device that is up from those of `before` to those of `after`; others stay.
    /// What is added comes first. No effect where the device does not exist or is down.
    ///
    /// # Errors
    /// [`PortError::Permission`], or [`PortError::System`]: a part of the changes may have been made.
    pub fn change(before: &TunOptions, after: &TunOptions) -> Result<(), PortError> {
        let mut netlink = Netlink::open()?;
        let Some(link) = netlink.link(&after.device)?.filter(|link| link.up) else { return Ok(()) };
        give_addresses(&mut netlink, &link, after)?;
        for net in before.addresses.iter().filter(|net| !after.addresses.contains(net)) {
            netlink.remove_address(&link, *net)?;
        }
        for net in before.routes.iter().filter(|net| !after.routes.contains(net)) {
            netlink.remove_route(*net, &link)?;
        }
        Ok(())
    }

    /// Opens the device, which is created if it does not exist, configures it and sets it up.
    ///
    /// Existing addresses and routes are unchanged.
    ///
    /// # Errors
    /// [`PortError::BadName`], [`PortError::TunMissing`], [`PortError::TunBusy`], [`PortError::TunOneQueue`],
    /// [`PortError::NotTun`], [`PortError::Permission`], or [`PortError::System`]. A device created by this call is
    /// removed again.
    pub fn open(name: &str, options: &TunOptions) -> Result<Self, PortError> {
        let device = &options.device;
        check_name(device)?;
        let mut netlink = Netlink::open()?;
        let before = netlink.link(device)?;
        let existed = before.is_some();
        let file = open_device()?;
        let queues = before.and_then(|link| link.tun);
        let offload = attach(&file, options, queues).map_err(|errno| attach_error(options, queues, errno))?;
        let link =
            netlink.link(device)?.ok_or_else(|| PortError::InterfaceMissing { name: device.clone() })?;
        if options.share != PortSharing::Further && link.tun.is_some_and(|tun| tun.queues_in_use > 1) {
            return Err(PortError::TunBusy { name: device.clone() });
        }
        set_up(&mut netlink, &link, options)?;
        if options.persistent && !existed {
            sys::tun::set_persistent(&file, true)
                .map_err(|errno| PortError::system(format!("keeping {device}"), errno, "CAP_NET_ADMIN"))?;
        }
        let mtu = options.mtu.unwrap_or(link.mtu);
        let losses = (options.share != PortSharing::Further).then(|| Losses::since(netlink, &link));
        Ok(Self {
            name: name.to_owned(),
            file,
            link: Link { mtu, ..link },
            offload,
            counters: Arc::default(),
            intake: TunReceiver::new(offload.is_some()),
            outlet: TunSender::new(mtu as usize, offload),
            losses,
        })
    }
}

/// Attaches to the device, which existed before if `queues` is given. Returns the offloads; `None` where packets have
/// no header before them.
fn attach(file: &File, options: &TunOptions, queues: Option<TunQueues>) -> Result<Option<TunOffload>, Errno> {
    let is_queue =
        options.share != PortSharing::Exclusive || queues.is_some_and(|queues| queues.is_multi_queue);
    let kind = if is_queue { Kind::TunQueue } else { Kind::Tun };
    if options.offload && sys::tun::attach(file, &options.device, kind, Header::Virtio).is_ok() {
        return Ok(Some(TunOffload::ask(file)));
    }
    sys::tun::attach(file, &options.device, kind, Header::None)?;
    // A device that outlived another process may still have the settings of that process.
    let _ = sys::tun::set_offload(file, 0);
    Ok(None)
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

fn attach_error(options: &TunOptions, queues: Option<TunQueues>, errno: Errno) -> PortError {
    let name = options.device.clone();
    let has_one_queue = queues.is_some_and(|queues| !queues.is_multi_queue);
    match errno {
        Errno::BUSY => PortError::TunBusy { name },
        Errno::INVAL if has_one_queue && options.share != PortSharing::Exclusive => {
            PortError::TunOneQueue { name }
        }
        Errno::INVAL => PortError::NotTun { name },
        _ => PortError::system(format!("creating TUN device {name}"), errno, "CAP_NET_ADMIN"),
    }
}

fn set_up(netlink: &mut Netlink, link: &Link, options: &TunOptions) -> Result<(), PortError> {
    // Otherwise the kernel sends its own router solicitations into the data plane.
    netlink.disable_link_local(link)?;
    if let Some(mtu) = options.mtu {
        netlink.set_mtu(link, mtu)?;
    }
    if link.queue_length < QUEUE_LENGTH {
        netlink.set_queue_length(link, QUEUE_LENGTH)?;
    }
    // First up: before that the kernel does not accept an IPv6 address, and the wait would time out.
    netlink.set_up(link)?;
    // ICMP errors for hosts behind the device have local source addresses. Where this is not permitted only they are
    // lost.
    let _ = netlink.accept_own_addresses(link);
    give_addresses(netlink, link, options)
}

fn give_addresses(netlink: &mut Netlink, link: &Link, options: &TunOptions) -> Result<(), PortError> {
    options.addresses.iter().try_for_each(|address| netlink.add_address(link, *address))?;
    options.routes.iter().try_for_each(|route| netlink.add_route(*route, link, None))
}
