//! The metadata of a received message.

use std::net::SocketAddr;

use causeway_packet::Meta;

use super::address;
use super::ancillary::Ancillary;
use crate::sys::mmsg::MessageMeta;
use crate::{Counter, Counters};

/// The addresses and metadata of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MessageInfo {
    pub(super) meta: Meta,
    /// Octets of each datagram but the last, where the message contains several.
    pub(super) segment: Option<usize>,
}

/// Reads the metadata of the messages of one socket.
pub(super) struct MessageParser {
    local: SocketAddr,
    /// The last count of overruns from the kernel. It wraps.
    overruns: u32,
}

impl MessageParser {
    /// For a socket that is bound to this address.
    pub(super) const fn new(local: SocketAddr) -> Self {
        Self { local, overruns: 0 }
    }

    /// Reads the metadata of a message.
    ///
    /// # Errors
    /// The counter of the reason why the message is not usable.
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

    /// Counts the losses up to this total. A message contains the total of its arrival, which may be less than is
    /// known.
    pub(super) fn record_overruns(&mut self, total: u32, counters: &Counters) {
        let more = total.wrapping_sub(self.overruns);
        if more.cast_signed() > 0 {
            counters.add(Counter::RxOverrun, u64::from(more));
            self.overruns = total;
        }
    }

    /// Octets of each datagram of a message with several.
    pub(super) fn segment(message_meta: &MessageMeta) -> Option<usize> {
        segment(&Ancillary::parse(message_meta.control()))
    }
}

fn segment(ancillary: &Ancillary) -> Option<usize> {
    ancillary.segment.filter(|segment| *segment > 0).map(usize::from)
}
