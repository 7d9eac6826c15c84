//! The rate limit of ICMP errors and Error Indications. The slow path sends them, up to the limit; beyond it, the
//! packets are dropped here, without the slow path.

use std::net::IpAddr;

use causeway_dataplane::DropReason;
use causeway_packet::icmp::{IcmpError, may_reply};
use causeway_packet::{Batch, Meta, UserPacket};
use causeway_slowpath::SlowPath;
use causeway_types::{Teid, Time};

use crate::enforce::matched::{MatchedPacket, Verdict};
use crate::engine::FastPath;
use crate::topology_index::TopologyIndex;

/// Decides whether the sender of a dropped packet is sent an ICMP error.
pub(crate) struct IcmpErrorLimit<'a> {
    pub(crate) slow_path: &'a mut SlowPath,
    pub(crate) topology_index: &'a TopologyIndex,
    pub(crate) now: Time,
}

impl IcmpErrorLimit<'_> {
    /// Whether the slow path may send an ICMP error about a packet in this frame.
    #[cold]
    pub(crate) fn may_send_icmp_error(
        &mut self,
        matched: &MatchedPacket<'_>,
        error: IcmpError,
        frame: &[u8],
    ) -> bool {
        let user = matched.user;
        self.topology_index.has_gateway_for(user.is_v6)
            && self.slow_path.may_send_icmp_error(user.src_addr(), self.now)
            && frame
                .get(matched.start.into()..)
                .and_then(|packet| UserPacket::parse(packet).ok())
                .is_some_and(|packet| may_reply(error, &packet).is_ok())
    }
}

/// A peer, and a sender of user packets, that are sent no errors about packets of this batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BatchSuppression {
    peer: Option<IpAddr>,
    sender: Option<IpAddr>,
}

impl BatchSuppression {
    /// Whether it is this peer.
    #[inline]
    pub(crate) fn contains_peer(&self, peer: IpAddr) -> bool {
        self.peer == Some(peer)
    }
}

/// Peers with IPv4 addresses that are sent no Error Indications for a while, since they have reached the limit. Peers
/// may share a slot.
#[derive(Debug)]
pub(crate) struct SuppressedPeers([(u32, Time); MAX_SUPPRESSED]);

/// The number of slots: a power of two.
const MAX_SUPPRESSED: usize = 256;

impl SuppressedPeers {
    pub(crate) const fn new() -> Self {
        Self([(0, Time::from_nanos(0)); MAX_SUPPRESSED])
    }

    /// Whether the peer is suppressed at this time.
    #[inline]
    pub(crate) fn is_suppressed(&self, peer: IpAddr, now: Time) -> bool {
        let IpAddr::V4(peer) = peer else { return false };
        let (of, until) = self.0[slot(peer.to_bits())];
        of == peer.to_bits() && now < until
    }

    fn suppress(&mut self, peer: IpAddr, until: Time) {
        if let IpAddr::V4(peer) = peer {
            self.0[slot(peer.to_bits())] = (peer.to_bits(), until);
        }
    }
}

/// Adjacent addresses have different slots.
const fn slot(peer: u32) -> usize {
    (peer ^ peer >> 8 ^ peer >> 16) as usize % MAX_SUPPRESSED
}

impl FastPath {
    /// Whether the sender of an IPv4 packet may be sent an ICMP error, within the limits. A refusal holds for the whole
    /// batch.
    #[inline]
    pub(crate) fn may_send_icmp_error(
        &mut self,
        now: Time,
        sender: IpAddr,
        suppression: &mut BatchSuppression,
    ) -> bool {
        if !self.topology_index.has_gateway_for(false) || suppression.sender == Some(sender) {
            return false;
        }
        let is_allowed = self.slow_path.may_send_icmp_error(sender, now);
        if !is_allowed {
            suppression.sender = Some(sender);
        }
        is_allowed
    }

    /// A packet for a tunnel without a flow entry: it is dropped, or the slow path sends an Error Indication.
    #[inline(never)]
    pub(crate) fn unknown_tunnel(
        &mut self,
        now: Time,
        batch: &Batch,
        (index, reason): (usize, DropReason),
        suppression: &mut BatchSuppression,
    ) -> Verdict {
        let (Some(Meta::Gtpu { local, .. }), Some(packet)) = (batch.meta(index), batch.data(index)) else {
            return Verdict::SlowPath;
        };
        let Some(octets) = packet.get(4..).and_then(<[u8]>::first_chunk) else { return Verdict::SlowPath };
        // TEID zero is no tunnel, and gets no Error Indication.
        let Some(teid) = Teid::new(u32::from_be_bytes(*octets)) else {
            return Verdict::Dropped(DropReason::UnknownTeid);
        };
        if self.table.is_complete() && !self.has_tunnel(teid, *local) {
            self.drop_or_notify_peer(now, batch, (index, reason), suppression)
        } else {
            Verdict::SlowPath
        }
    }

    /// A packet that is dropped, unless the slow path sends an Error Indication to its peer.
    #[inline]
    pub(crate) fn drop_or_notify_peer(
        &mut self,
        now: Time,
        batch: &Batch,
        (index, reason): (usize, DropReason),
        suppression: &mut BatchSuppression,
    ) -> Verdict {
        match batch.meta(index) {
            Some(Meta::Gtpu { peer, .. }) if self.is_suppressed(now, peer.ip(), suppression) => {
                Verdict::Dropped(reason)
            }
            _ => Verdict::SlowPath,
        }
    }

    /// Whether the peer is suppressed now. The answer holds for the batch, whose time is constant.
    fn is_suppressed(&mut self, now: Time, peer: IpAddr, suppression: &mut BatchSuppression) -> bool {
        if suppression.contains_peer(peer) {
            return true;
        }
        let until = self.slow_path.suppressed_until(peer, now);
        until.into_iter().for_each(|until| self.suppressed_peers.suppress(peer, until));
        let is_suppressed = until.is_some() || !self.slow_path.may_send_signalling(peer, now);
        if is_suppressed {
            suppression.peer = Some(peer);
        }
        is_suppressed
    }
}
