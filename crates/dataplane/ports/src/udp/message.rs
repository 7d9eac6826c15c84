//! What a received message tells beside its octets.

use std::net::SocketAddr;

use super::address;
use super::ancillary::Ancillary;
use crate::sys::mmsg::MessageMeta;
use crate::{Counter, Counters, Meta};

/// Whence and how a message came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MessageInfo {
    pub(super) meta: Meta,
    /// Octets of each datagram but the last, where the message is several.
    pub(super) segment: Option<usize>,
}

/// Reads envelopes of one socket.
pub(super) struct MessageParser {
    local: SocketAddr,
    /// The count of overruns that the kernel told last. It wraps.
    overruns: u32,
}

impl MessageParser {
    /// For a socket that is bound there.
    pub(super) const fn new(local: SocketAddr) -> Self {
        Self { local, overruns: 0 }
    }

    /// Reads one envelope.
    ///
    /// # Errors
    /// The counter of the reason why the message is of no use.
    pub(super) fn read(
        &mut self,
        message_meta: &MessageMeta,
        counters: &Counters,
    ) -> Result<MessageInfo, Counter> {
        let ancillary = Ancillary::parse(message_meta.control());
        if let Some(total) = ancillary.overruns.filter(|total| *total != self.overruns) {
            self.record_overruns(total, counters);
        }
        let peer = address::parse(message_meta.name()).ok_or(Counter::RxMalformed)?;
        if message_meta.truncated {
            return Err(Counter::RxTruncated);
        }
        let local = ancillary.local.unwrap_or(self.local.ip());
        let meta = Meta::Gtpu { local, peer, tos: ancillary.tos.unwrap_or(0), hops: ancillary.hops };
        Ok(MessageInfo { meta, segment: segment(&ancillary) })
    }

    /// Counts what was lost until there were so many. A message tells what there was when it came, which may be less than is known.
    pub(super) fn record_overruns(&mut self, total: u32, counters: &Counters) {
        let more = total.wrapping_sub(self.overruns);
        if more.cast_signed() > 0 {
            counters.add(Counter::RxOverrun, u64::from(more));
            self.overruns = total;
        }
    }

    /// Octets of each datagram of a message, where it is several.
    pub(super) fn segment(message_meta: &MessageMeta) -> Option<usize> {
        segment(&Ancillary::parse(message_meta.control()))
    }
}

fn segment(ancillary: &Ancillary) -> Option<usize> {
    ancillary.segment.filter(|segment| *segment > 0).map(usize::from)
}
