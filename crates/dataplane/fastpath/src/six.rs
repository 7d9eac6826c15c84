//! IPv6 packets in the second look at a batch: what is read of one, and which course it is for, where that is as simple as for most.
//! Everything else goes the way of [`crate::work`].

use causeway_dataplane::DropReason;
use causeway_packet::MAX_IPV6_EXTENSIONS;
use causeway_ports::{BATCH, Batch};
use causeway_types::Qfi;

use crate::choose::{DOWNLINK, UPLINK};
use crate::engine::FastPath;
use crate::filters::{Block, Comparing, Gist};
use crate::guess::{Guess, NO_STEP};
use crate::heads::{Place, ecn};
use crate::key::Key;
use crate::own::MayBeV6;
use crate::plain::{Fork, Plains, flaw};

/// An IPv6 header.
const HEADER: usize = 40;
/// Its source and its destination.
pub(crate) const SOURCE: usize = 8;
pub(crate) const TARGET: usize = 24;

/// What a packet turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Read {
    /// It has been read.
    Six,
    /// It is not well-formed.
    Broken,
    /// It is to be looked at otherwise.
    Other,
}

/// What is behind the extension headers of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Chain {
    /// This protocol, from there on.
    Ends(u8, usize),
    Broken,
    /// There is a Fragment header.
    Fragmented,
}

impl Chain {
    /// Of a packet of a header at least.
    #[inline(always)]
    fn of(packet: &[u8]) -> Self {
        const HOP_BY_HOP: u8 = 0;
        let (mut kind, mut at) = (packet[6], HEADER);
        for position in 0..=MAX_IPV6_EXTENSIONS {
            match kind {
                HOP_BY_HOP if position > 0 => return Self::Broken,
                HOP_BY_HOP | 43 | 60 => {}
                44 => return Self::Fragmented,
                _ => return Self::Ends(kind, at),
            }
            let Some(&[next, units]) = packet.get(at..).and_then(<[u8]>::first_chunk) else {
                return Self::Broken;
            };
            kind = next;
            at += usize::from(units) * 8 + 8;
            if at > packet.len() {
                return Self::Broken;
            }
        }
        // More than anybody has to read.
        Self::Broken
    }
}

/// Reads a packet that lies there in a frame.
#[inline(always)]
pub(crate) fn read<const WAY: bool>(
    plains: &mut Plains,
    index: usize,
    (frame, place): (&[u8], Place),
    own: MayBeV6,
) -> Read {
    let at = index % BATCH;
    let Some(message) = frame.get(place.start as usize..place.end as usize) else { return Read::Other };
    let Some(head) = message.first_chunk::<HEADER>() else { return Read::Other };
    let payload = usize::from(u16::from_be_bytes([head[4], head[5]]));
    let Some(packet) = message.get(..HEADER + payload).filter(|_| payload > 0) else { return Read::Other };
    let tos = head[0] << 4 | head[1] >> 4;
    if WAY == UPLINK && ecn::changes(place.outer, u32::from(tos & 0x03)) {
        return Read::Other;
    }
    let (protocol, behind) = match Chain::of(packet) {
        Chain::Ends(protocol, behind) => (protocol, behind),
        // What the outer header says of congestion may be for whatever it is.
        Chain::Broken if WAY == UPLINK && place.outer & 0x01 != 0 => return Read::Other,
        Chain::Broken => return Read::Broken,
        Chain::Fragmented => return Read::Other,
    };
    let half = |from: usize| head[from..].first_chunk().map_or(0, |octets| u64::from_be_bytes(*octets));
    let ports = match (protocol, packet.get(behind..).and_then(<[u8]>::first_chunk)) {
        (6 | 17 | 33 | 132 | 136, Some(ports)) => Some(u32::from_be_bytes(*ports)),
        _ => None,
    };
    let (source, target) = ((half(SOURCE), half(SOURCE + 8)), (half(TARGET), half(TARGET + 8)));
    let (local, remote, ports) = match WAY {
        UPLINK => (source.0, target.0, ports),
        _ => (target.0, source.0, ports.map(|ports| ports.rotate_left(16))),
    };
    let gist = Gist::v6((remote >> 32) as u32, ports, protocol, tos);
    let gist = place.qfi.map_or(gist, |qfi| gist.with_qfi(Qfi::from_low_bits(qfi)));
    let far = if WAY == UPLINK { target } else { source };
    let flaws = (flaw::OURS * u8::from(own.has(far)))
        | (flaw::LAST_HOP * u8::from(head[7] <= 1))
        | (flaw::LINK * u8::from(is_of_link(source) || is_of_link(target)));
    (plains.words[at], plains.ports[at], plains.remotes[at]) = gist.with_ue(false, true).parts();
    (plains.prefixes[at], plains.far_prefixes[at]) = (local, remote);
    (plains.lens[at], plains.starts[at]) = (packet.len() as u32, place.start);
    plains.flaws[at] = flaws.into();
    plains.hops[at] = u32::from_le_bytes([head[4], head[5], head[6], head[7].wrapping_sub(1)]);
    plains.send(index, Fork::Six);
    Read::Six
}

/// Link-local, unspecified, or a group, given both halves of an address.
const fn is_of_link((upper, lower): (u64, u64)) -> bool {
    upper >> 54 == 0x3fa || upper >> 56 == 0xff || (upper | lower) == 0
}

/// The same, given the upper half alone.
const fn may_be_of_link(upper: u64) -> bool {
    is_of_link((upper, 0))
}

/// Chooses the rules of half a batch once more: [`Guess::choose`].
pub(crate) struct Choosing<'a, const FROM: usize> {
    pub(crate) plains: &'a mut Plains,
    pub(crate) guess: &'a Guess,
}

impl<const FROM: usize> Comparing for Choosing<'_, FROM> {
    #[inline(always)]
    fn run(self, _: impl Fn(&Block, Gist) -> u16) {
        self.guess.choose::<FROM>(self.plains);
    }
}

impl FastPath {
    /// Finds the lines of the packets of a data network, and fetches them. What leads there has been fetched.
    #[inline(never)]
    pub(crate) fn seek_sixes(&self, network: u16, plains: &mut Plains) {
        for at in 0..plains.len() {
            if plains.forks[at] == Fork::Six {
                let key = Key::Ipv6(network, plains.prefixes[at]);
                // There is never a line of anybody in the first place.
                plains.lines[at] = self.table.approach(key).unwrap_or(0);
            }
        }
    }

    /// The second stage for a packet that [`read`] has read. [`Fork::Six`]: it is not as simple as that.
    #[inline(always)]
    pub(crate) fn choose_six<const WAY: bool>(
        &mut self,
        batch: &Batch,
        plains: &Plains,
        index: usize,
    ) -> Fork {
        let at = index % BATCH;
        let Some(line) = self.table.line(plains.lines[at]) else { return Fork::Six };
        if WAY == UPLINK {
            let id = u64::from(plains.places[at]) << 32 | u64::from(plains.keys[at]);
            if line.id() != id {
                return if self.table.has_far_tunnels() { Fork::Six } else { Fork::Unknown };
            }
        } else if plains.lines[at] == 0 {
            let is_unknown = self.is_for_nobody::<WAY>((batch, plains), index);
            return if is_unknown { Fork::Drop(DropReason::UnknownUe) } else { Fork::Ask };
        } else if line.prefix != plains.prefixes[at] || line.place != plains.places[at] {
            return Fork::Six;
        }
        let Some(head) = self.programs.head(line.own_program()) else { return Fork::Six };
        let guessed = self.guess.set(&self.sets);
        if head.quick != guessed {
            self.met.note(head.quick);
        }
        if head.quick != guessed || !self.guess.is_for_v6() {
            return Fork::Six;
        }
        let is_ue = |prefix| line.prefix != 0 && prefix == line.prefix;
        let (is_local, is_remote) = (is_ue(plains.prefixes[at]), is_ue(plains.far_prefixes[at]));
        let stays = || may_be_of_link(plains.prefixes[at]) && may_be_of_link(plains.far_prefixes[at]);
        // A UE that does not know its prefix yet writes from link to link.
        if !is_local && (head.has_more || stays()) {
            return Fork::Ask;
        }
        let step = if is_local && !is_remote {
            plains.steps[at]
        } else {
            self.guess.step(plains.gist(at).without_ue().with_ue(is_remote, is_local))
        };
        match (step < NO_STEP, is_local) {
            (true, true) => Fork::Course(head.first + step),
            _ if !head.is_final => Fork::Ask,
            (true, false) if WAY == DOWNLINK => Fork::Ask,
            (true, false) => Fork::Drop(DropReason::SpoofedSource),
            (false, _) => Fork::Drop(DropReason::NoMatchingPdr),
        }
    }
}

#[cfg(test)]
mod tests;
