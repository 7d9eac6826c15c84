//! Loading the program and attaching it to an interface.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::program::{Wanted, assemble};
use crate::PortError;
use crate::netlink::Link;
use crate::sys::bpf::{self, Mode};

/// The capabilities to load and attach a program.
const CAPABILITY: &str = "CAP_BPF and CAP_NET_ADMIN";

/// The program on the interface, until this is dropped or the process ends.
pub(super) struct Attachment {
    /// Closing it detaches the program.
    _link: OwnedFd,
    /// Sockets by receive queue.
    sockets: OwnedFd,
    pub(super) mode: Mode,
    /// Why the driver does not run it, where that was tried.
    pub(super) refused: Option<Errno>,
}

impl Attachment {
    /// Loads the program and attaches it: to the driver if it supports that and `native` allows it, else to the
    /// stack. It delivers no frame until a socket is added.
    pub(super) fn new(link: &Link, wanted: &Wanted, queues: u32, native: bool) -> Result<Self, PortError> {
        let sockets = bpf::socket_map(queues).map_err(|errno| failed("creating a map of sockets", errno))?;
        let unassembled = |error| PortError::XdpProgram { reason: format!("{error}") };
        let program = assemble(wanted, &sockets).map_err(unassembled)?;
        let program = bpf::load("causeway", &program).map_err(|(errno, log)| match log.as_str() {
            "" => failed("loading an XDP program", errno),
            log => PortError::XdpProgram { reason: log.to_owned() },
        })?;
        let attach = |mode| bpf::attach(&program, link.index, mode);
        let (attached, refused) = match native.then(|| attach(Mode::Native)) {
            Some(Ok(attached)) => (Ok((attached, Mode::Native)), None),
            Some(Err(errno @ (Errno::BUSY | Errno::EXIST))) => (Err(errno), None),
            tried => {
                let generic = attach(Mode::Generic).map(|attached| (attached, Mode::Generic));
                (generic, tried.and_then(Result::err))
            }
        };
        let (attached, mode) = attached.map_err(|errno| match errno {
            Errno::BUSY | Errno::EXIST => PortError::XdpBusy { name: link.name.clone() },
            _ => failed(&format!("attaching an XDP program to {}", link.name), errno),
        })?;
        Ok(Self { _link: attached, sockets, mode, refused })
    }

    /// Delivers the frames of that receive queue to the socket from now on.
    pub(super) fn add(&self, queue: u32, socket: impl std::os::fd::AsFd) -> Result<(), PortError> {
        bpf::set_socket(&self.sockets, queue, socket)
            .map_err(|errno| failed("adding an AF_XDP socket", errno))
    }
}

fn failed(operation: &str, errno: Errno) -> PortError {
    match errno {
        Errno::NOSYS => PortError::XdpMissing,
        errno => PortError::system(operation, errno, CAPABILITY),
    }
}
