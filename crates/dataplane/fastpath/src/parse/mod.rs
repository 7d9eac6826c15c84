//! The first stage: parse. It reads the headers of the packets of a batch, and changes nothing.
//!
//! Common packets (IPv4 without options, alone or behind a common GTP-U header) are parsed half a batch at a time by
//! [`headers`]. Where a half batch has others, [`unusual`] parses it again, and [`ipv6`] its IPv6 packets. What remains
//! is parsed one packet at a time, by [`g_pdu`] and [`user_header`].

pub(crate) mod address_filter;
mod fields;
pub(crate) mod g_pdu;
mod headers;
pub(crate) mod ipv6;
pub(crate) mod unusual;
pub(crate) mod user_header;

#[cfg(test)]
pub(crate) use headers::has_valid_checksum;
pub(crate) use headers::{BatchHeaders, HeaderReading, MESSAGE_HEAD_LEN, USER_HEAD_LEN, ecn};
pub(crate) use unusual::{SkipFirstParse, UserPacketOffset};

use causeway_packet::{Batch, Meta};

use crate::batch::state::{BatchScratch, HALF_BATCH, UPLINK};
use crate::engine::FastPath;
use crate::table::key::FlowKey;

impl FastPath {
    /// Parses half a batch, from the packet `FROM` on. `network`: the data network of packets without a tunnel.
    #[inline(always)]
    pub(crate) fn parse_half<const IS_UPLINK: bool, const FROM: usize>(
        &self,
        network: u16,
        batch: &Batch,
        BatchScratch { headers, state }: &mut BatchScratch,
    ) {
        let indices = FROM..FROM + HALF_BATCH;
        if IS_UPLINK == UPLINK {
            for (index, (meta, len, head)) in indices.zip(batch.frame_heads::<MESSAGE_HEAD_LEN>(FROM)) {
                if let (Some(head), Some((scope, ecn))) = (head, self.key_scope(meta)) {
                    headers.push_message(index, head, len, (scope, ecn));
                }
            }
        } else {
            let scope = FlowKey::Ipv4(network, 0).scope();
            for (index, (_, len, head)) in indices.zip(batch.frame_heads::<USER_HEAD_LEN>(FROM)) {
                if let Some(head) = head {
                    headers.push_packet(index, head, len, scope);
                }
            }
        }
        let compare = self.sets.compare();
        if state.expects_unusual::<IS_UPLINK>() {
            compare.run(SkipFirstParse::<IS_UPLINK, FROM> { headers, state });
        } else {
            compare.run(HeaderReading::<IS_UPLINK, FROM> {
                headers,
                state,
                prediction: &self.prediction,
                blocked: self.topology_index.blocked_v4,
            });
        }
    }

    /// The scope of the keys of messages with this metadata, and the ECN of their outer header.
    #[inline(always)]
    pub(crate) fn key_scope(&self, meta: &Meta) -> Option<(u32, u32)> {
        let Meta::Gtpu { local, tos, .. } = meta else { return None };
        let local = self.topology_index.local(local)?;
        Some((FlowKey::Tunnel(0, local).scope(), u32::from(tos & 0x03)))
    }
}

#[cfg(test)]
mod tests;
