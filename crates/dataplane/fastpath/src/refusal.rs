//! Packets that go no further, and whose senders may be told why. They are told by the slow room, so often and no more: beyond
//! that such a packet is dropped here, without the slow room.

use std::net::IpAddr;

use causeway_dataplane::DropReason;
use causeway_packet::UserPacket;
use causeway_packet::icmp::{IcmpError, may_reply};
use causeway_ports::{Batch, Meta};
use causeway_reference::Reference;
use causeway_types::{Teid, Time};

use crate::deed::{Ready, Verdict};
use crate::engine::FastPath;
use crate::surroundings::Surroundings;

/// Knows whether the sender of a packet is told that it is dropped.
pub(crate) struct Teller<'a> {
    pub(crate) slow: &'a mut Reference,
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) now: Time,
}

impl Teller<'_> {
    /// The slow room may send an ICMP error about a packet in this frame.
    #[cold]
    pub(crate) fn may_tell(&mut self, ready: &Ready<'_>, error: IcmpError, frame: &[u8]) -> bool {
        let user = ready.user;
        self.surroundings.has_gateway_for(user.is_v6)
            && self.slow.may_tell_sender(user.src_addr(), self.now)
            && frame
                .get(ready.start.into()..)
                .and_then(|packet| UserPacket::parse(packet).ok())
                .is_some_and(|packet| may_reply(error, &packet).is_ok())
    }
}

/// A peer, and a sender of user packets, that are told nothing of the packets of this batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mute {
    peer: Option<IpAddr>,
    sender: Option<IpAddr>,
}

impl Mute {
    /// It is this peer.
    #[inline]
    pub(crate) fn is(&self, peer: IpAddr) -> bool {
        self.peer == Some(peer)
    }
}

/// Peers with IPv4 addresses that are told nothing for a while, as they have been told enough; each at a place of its own, or of others,
/// too.
#[derive(Debug)]
pub(crate) struct Silence([(u32, Time); SILENT]);

/// How many are remembered: a power of two.
const SILENT: usize = 256;

impl Silence {
    pub(crate) const fn new() -> Self {
        Self([(0, Time::from_nanos(0)); SILENT])
    }

    /// The peer is told nothing at this time.
    #[inline]
    pub(crate) fn is_on(&self, peer: IpAddr, now: Time) -> bool {
        let IpAddr::V4(peer) = peer else { return false };
        let (of, until) = self.0[place(peer.to_bits())];
        of == peer.to_bits() && now < until
    }

    fn note(&mut self, peer: IpAddr, until: Time) {
        if let IpAddr::V4(peer) = peer {
            self.0[place(peer.to_bits())] = (peer.to_bits(), until);
        }
    }
}

/// Neighbours have different ones.
const fn place(peer: u32) -> usize {
    (peer ^ peer >> 8 ^ peer >> 16) as usize % SILENT
}

impl FastPath {
    /// The sender of an IPv4 packet may be told that it goes no further, as far as the limits allow. Once it may not, that remains so
    /// for the batch.
    #[inline]
    pub(crate) fn may_tell(&mut self, now: Time, sender: IpAddr, mute: &mut Mute) -> bool {
        if !self.surroundings.has_gateway_for(false) || mute.sender == Some(sender) {
            return false;
        }
        let may_tell = self.slow.may_tell_sender(sender, now);
        if !may_tell {
            mute.sender = Some(sender);
        }
        may_tell
    }

    /// A packet for a tunnel that no line has: it is dropped, or the slow room tells the peer.
    #[inline(never)]
    pub(crate) fn unknown_tunnel(
        &mut self,
        now: Time,
        batch: &Batch,
        (index, reason): (usize, DropReason),
        mute: &mut Mute,
    ) -> Verdict {
        let (Some(Meta::Gtpu { local, .. }), Some(packet)) = (batch.meta(index), batch.data(index)) else {
            return Verdict::Ask;
        };
        let Some(octets) = packet.get(4..).and_then(<[u8]>::first_chunk) else { return Verdict::Ask };
        // There is no tunnel with TEID zero, and nothing is said of it.
        let Some(teid) = Teid::new(u32::from_be_bytes(*octets)) else {
            return Verdict::Dropped(DropReason::UnknownTeid);
        };
        if self.table.is_complete() && !self.has_tunnel(teid, *local) {
            self.untold(now, batch, (index, reason), mute)
        } else {
            Verdict::Ask
        }
    }

    /// A packet that is dropped, unless its peer is told why, which the slow room does.
    #[inline]
    pub(crate) fn untold(
        &mut self,
        now: Time,
        batch: &Batch,
        (index, reason): (usize, DropReason),
        mute: &mut Mute,
    ) -> Verdict {
        match batch.meta(index) {
            Some(Meta::Gtpu { peer, .. }) if self.is_mute(now, peer.ip(), mute) => Verdict::Dropped(reason),
            _ => Verdict::Ask,
        }
    }

    /// The peer is told nothing now. Once it is so, it remains so for the batch: the clock stands.
    fn is_mute(&mut self, now: Time, peer: IpAddr, mute: &mut Mute) -> bool {
        if mute.is(peer) {
            return true;
        }
        let until = self.slow.silent_until(peer, now);
        until.into_iter().for_each(|until| self.silence.note(peer, until));
        let is_mute = until.is_some() || !self.slow.may_signal(peer, now);
        if is_mute {
            mute.peer = Some(peer);
        }
        is_mute
    }
}
