//! The packet socket with its receive ring.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use arrayvec::ArrayVec;
use causeway_packet::BATCH;
use rustix::io::Errno;

use super::EthernetOptions;
use crate::ethernet::{ChecksumState, Device, Egress, Header, Received};
use crate::sys::mmsg::MessageParts;
use crate::sys::ring::{Ring, Shape, Slot};
use crate::sys::{packet, sockopt};
use crate::udp::send_all;
use crate::{Counter, Counters, PortError};

/// A packet socket on one interface.
pub struct PacketRing {
    socket: OwnedFd,
    ring: Ring,
    /// The flags of all frames since [`Device::finish_receive`], with one that every frame has.
    received: u32,
}

impl PacketRing {
    pub(super) fn open(egress: &Egress, options: &EthernetOptions) -> Result<Self, PortError> {
        let failed = |errno| {
            PortError::system(format!("opening a packet ring on {}", options.interface), errno, "CAP_NET_RAW")
        };
        let socket = packet::open().map_err(|errno| match errno {
            Errno::AFNOSUPPORT => PortError::PacketMissing,
            errno => failed(errno),
        })?;
        let bypass = i32::from(options.bypass_queue);
        sockopt::set(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, bypass).map_err(failed)?;
        let ring = Ring::map(&socket, options.ring, Shape::PORT).map_err(failed)?;
        packet::bind(&socket, egress.link().index).map_err(failed)?;
        Ok(Self { socket, ring, received: 0 })
    }
}

fn received<'a>(slot: &Slot<'a>) -> Received<'a> {
    let has = |flag| slot.status & flag != 0;
    let sum = match () {
        () if has(libc::TP_STATUS_CSUMNOTREADY) => ChecksumState::Incomplete,
        () if has(libc::TP_STATUS_CSUM_VALID) => ChecksumState::Verified,
        () => ChecksumState::Unverified,
    };
    let vlan = has(libc::TP_STATUS_VLAN_VALID).then_some(slot.vlan);
    Received { data: slot.data, len: slot.len, sum, vlan }
}

impl Device for PacketRing {
    fn next(&mut self) -> Option<Received<'_>> {
        let slot = self.ring.next()?;
        self.received |= slot.status | libc::TP_STATUS_USER;
        Some(received(&slot))
    }

    fn finish_receive(&mut self, counters: &Counters) {
        let seen = std::mem::take(&mut self.received);
        if seen & libc::TP_STATUS_LOSING != 0 {
            counters.add(Counter::RxOverrun, u64::from(packet::take_losses(&self.socket)));
        }
        // An error of the link keeps the descriptor ready until it is read.
        if seen == 0 && matches!(rustix::net::sockopt::socket_error(&self.socket), Ok(Err(_))) {
            counters.add(Counter::RxError, 1);
        }
    }

    fn transmit(&mut self, frames: &[(Header, &[u8])], counters: &Counters) -> Result<usize, Errno> {
        let outgoing = |(header, payload)| MessageParts { name: &[], control: &[], header, payload };
        let chunks = frames.chunks(BATCH).map(|chunk| {
            let messages: ArrayVec<_, BATCH> =
                chunk.iter().map(|(header, payload)| outgoing((header, payload))).collect();
            send_all(&self.socket, &messages, counters)
        });
        chunks.sum()
    }

    fn link_changed(&mut self) {
        let _ = rustix::net::sockopt::socket_error(&self.socket);
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.socket.as_fd()]
    }
}
