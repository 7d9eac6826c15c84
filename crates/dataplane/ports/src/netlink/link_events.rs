//! Change events of links.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use netlink_packet_core::NetlinkPayload;
use netlink_packet_route::RouteNetlinkMessage as Message;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, recv};

use super::Link;
use super::request::{DATAGRAM, Messages, connect};
use crate::PortError;

/// Receives events of links that are added, removed, set up or down, or changed otherwise.
pub struct LinkEvents {
    events: OwnedFd,
    datagram: Box<[u8]>,
}

/// The changed links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinksChanged {
    /// The links with these names.
    Named(BTreeSet<String>),
    /// Events were lost: any link may have changed.
    Any,
}

impl LinkEvents {
    /// Subscribes.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn open() -> Result<Self, PortError> {
        let events = connect(libc::RTMGRP_LINK as u32, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
        Ok(Self { events, datagram: vec![0; DATAGRAM].into() })
    }

    /// The changes since the last call. Does not block.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn changed(&mut self) -> Result<LinksChanged, PortError> {
        let mut changed = LinksChanged::Named(BTreeSet::new());
        loop {
            match recv(&self.events, &mut *self.datagram, RecvFlags::empty()) {
                Ok((len, _)) => {
                    let messages = Messages(self.datagram.get(..len).unwrap_or_default()).flatten();
                    for message in messages {
                        if let (NetlinkPayload::InnerMessage(inner), LinksChanged::Named(names)) =
                            (&message.payload, &mut changed)
                        {
                            names.extend(name(inner));
                        }
                    }
                }
                Err(Errno::AGAIN) => return Ok(changed),
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => changed = LinksChanged::Any,
                Err(errno) => return Err(PortError::system("following links", errno, "CAP_NET_ADMIN")),
            }
        }
    }
}

impl LinksChanged {
    /// The link of this name may have changed.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::Named(names) => names.contains(name),
            Self::Any => true,
        }
    }
}

fn name(message: &Message) -> Option<String> {
    match message {
        Message::NewLink(link) | Message::DelLink(link) => Some(Link::from_message(link).name),
        _ => None,
    }
}
