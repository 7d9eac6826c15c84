//! One interface of a capture file.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;

use causeway_packet::{BuildError, Frame, Meta};

use super::Capture;
use crate::outer::{self, GTPU_PORT};

/// The direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passage {
    /// Received.
    In,
    /// Sent.
    Out,
}

impl Passage {
    /// The direction bits of the flags option of pcapng.
    pub const fn flags(self) -> u32 {
        match self {
            Self::In => 1,
            Self::Out => 2,
        }
    }

    /// The direction in that option, if it has one.
    pub(super) const fn of_flags(flags: u32) -> Option<Self> {
        match flags & 3 {
            1 => Some(Self::In),
            2 => Some(Self::Out),
            _ => None,
        }
    }
}

/// The IP and UDP headers of a GTP-U message with this [`Meta`], with the local port 2152. Other frames have none.
///
/// # Errors
/// The addresses are of two families, or the message is too long.
pub fn outer_headers(passage: Passage, meta: Meta, message: &[u8]) -> Result<Vec<u8>, BuildError> {
    let Meta::Gtpu { local, peer, tos, hops } = meta else { return Ok(Vec::new()) };
    let (src, dst) = ends(passage, local, peer);
    outer::wrap(src, dst, (tos, hops), 0, message).map(|headers| headers.to_vec())
}

/// The source and the destination of a GTP-U message.
fn ends(passage: Passage, local: IpAddr, peer: SocketAddr) -> (SocketAddr, SocketAddr) {
    let local = if local.is_unspecified() { outer::unspecified(peer.ip()) } else { local };
    let local = SocketAddr::new(local, GTPU_PORT);
    match passage {
        Passage::In => (peer, local),
        Passage::Out => (local, peer),
    }
}

/// Records packets under the name of one interface. Cheap when recording is off.
#[derive(Clone)]
pub struct Tap {
    capture: Capture,
    interface: u32,
}

impl Tap {
    pub(super) const fn new(capture: Capture, interface: u32) -> Self {
        Self { capture, interface }
    }

    /// The file of this interface.
    pub const fn capture(&self) -> &Capture {
        &self.capture
    }

    /// Records a frame. A GTP-U datagram gets IP and UDP headers built from its [`Meta`], with the local port 2152.
    pub fn record(&self, passage: Passage, frame: Frame<'_>) {
        match frame.meta {
            Meta::Ip if self.capture.is_enabled() => {
                self.capture.record(self.interface, passage, frame.data, &[]);
            }
            Meta::Ip | Meta::Ethernet => {}
            Meta::Gtpu { local, peer, tos, hops } => {
                self.record_outer(passage, ends(passage, local, peer), (tos, hops), frame.data);
            }
        }
    }

    /// Records the payload of a UDP datagram, for example a PFCP message, with IP and UDP headers.
    pub fn record_udp(&self, passage: Passage, src: SocketAddr, dst: SocketAddr, tos: u8, payload: &[u8]) {
        self.record_outer(passage, (src, dst), (tos, None), payload);
    }

    fn record_outer(
        &self,
        passage: Passage,
        (src, dst): (SocketAddr, SocketAddr),
        outer: (u8, Option<NonZeroU8>),
        payload: &[u8],
    ) {
        if !self.capture.is_enabled() {
            return;
        }
        match outer::wrap(src, dst, outer, 0, payload) {
            Ok(header) => self.capture.record(self.interface, passage, &header, payload),
            Err(_) => self.capture.count_missed(),
        }
    }
}
