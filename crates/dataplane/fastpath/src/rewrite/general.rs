//! The headers of packets of any kind.

use std::num::NonZeroU8;

use causeway_dataplane::Exit;
use causeway_packet::rewrite::{decrement_hop_limit, set_ecn};
use causeway_packet::{FrameMut, Meta};

use crate::enforce::matched::{MatchedPacket, Verdict};
use crate::program::{CompiledSend, Route, Tunnel};
use crate::topology_index::TopologyIndex;

impl MatchedPacket<'_> {
    /// Writes the headers for transmission.
    #[inline]
    pub(crate) fn send(
        &self,
        send: &CompiledSend,
        (teid, hops): (u32, Option<NonZeroU8>),
        topology_index: &TopologyIndex,
        frame: &mut FrameMut<'_>,
    ) -> Verdict {
        if !(frame.trim_front(self.start.into()) && frame.resize(self.user.len as usize)) {
            return Verdict::SlowPath;
        }
        if let Some(ecn) = self.ecn {
            // It is an IP packet.
            let _ = set_ecn(frame.data(), ecn);
        }
        if send.is_routed && topology_index.decrement_ttl {
            // The Hop Limit is at least two.
            let _ = decrement_hop_limit(frame.data());
        }
        match &send.route {
            Route::Network(network) => {
                frame.set_meta(Meta::Ip);
                Verdict::Sent(Exit::Network(*network))
            }
            Route::Tunnel(tunnel) => self.wrap(tunnel, (teid, hops), topology_index, frame),
        }
    }

    #[inline]
    fn wrap(
        &self,
        tunnel: &Tunnel,
        (teid, hops): (u32, Option<NonZeroU8>),
        topology_index: &TopologyIndex,
        frame: &mut FrameMut<'_>,
    ) -> Verdict {
        let header_len = usize::from(tunnel.header_len);
        let Some(template) = tunnel.header.get(..header_len) else { return Verdict::SlowPath };
        // The headroom of a batch's frames has capacity for any header.
        let Some(header) = frame.prepend(header_len) else { return Verdict::SlowPath };
        header.copy_from_slice(template);
        let length = (header_len - 8 + self.user.len as usize) as u16;
        if let Some([_, _, hi, lo, a, b, c, d]) = header.first_chunk_mut() {
            [*hi, *lo] = length.to_be_bytes();
            [*a, *b, *c, *d] = teid.to_be_bytes();
        }
        let tos = tunnel.tos | self.user.tos & 0x03;
        if let Some(local) = topology_index.local_addr(tunnel.local) {
            frame.set_meta(Meta::Gtpu { local, peer: tunnel.peer, tos, hops });
        }
        Verdict::Sent(Exit::Tunnel { local: tunnel.local })
    }
}
