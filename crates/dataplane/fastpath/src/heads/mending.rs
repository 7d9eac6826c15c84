//! A second look at a half batch in which not all packets are plain at the first: at IPv4 packets with options, in tunnels with
//! sequence numbers or other extension headers, with marks of congestion outside, and at what is no IP packet.
//!
//! Where a packet begins and ends is found one by one where it is unusual; what it says is read of all at once again.

use causeway_ports::BATCH;
use causeway_types::Qfi;

use super::words::{OPTIONAL_END, Tunnel, User, lose_hop};
use super::{Halves, Heads, USER, WORDS, ecn};
use crate::choose::UPLINK;
use crate::filters::{Block, Comparing, Gist};
use crate::guess::Guess;
use crate::own::MayBeV4;
use crate::plain::{NOWHERE, PART, Plains, flaw};
use crate::tunnelled::Tunnelled;

/// Octets of an IPv4 header without options.
const HEADER: u32 = 20;
/// There is a QFI.
const HAS_QFI: u32 = 0x100;

/// Where user packets lie, and what came with them.
#[derive(Debug)]
pub(crate) struct Places {
    /// Where they begin in their frames.
    starts: Halves,
    /// Where their messages end; zero for what is no such message.
    ends: Halves,
    /// Their QFIs, with [`HAS_QFI`].
    qfis: Halves,
    /// Bits of [`flaw`] that come from the tunnel.
    flaws: Halves,
    /// Sums of the words of IPv4 options.
    options: Halves,
    /// How many octets later they begin than where the words of [`Heads`] are from.
    shifted: Halves,
    /// Not zero: it is to be looked at one by one.
    unusual: Halves,
}

impl Places {
    pub(crate) const fn new() -> Self {
        const NOTHING: Halves = [0; BATCH];
        Self {
            starts: NOTHING,
            ends: NOTHING,
            qfis: NOTHING,
            flaws: NOTHING,
            options: NOTHING,
            shifted: NOTHING,
            unusual: NOTHING,
        }
    }
}

/// Where an IPv6 packet lies in its frame, and what came with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) start: u32,
    /// Where what it is in ends.
    pub(crate) end: u32,
    pub(crate) qfi: Option<u8>,
    /// ECN of the outer header.
    pub(crate) outer: u32,
}

impl Heads {
    /// Where a packet lies, if it is IPv6 and nothing unusual came with it.
    #[inline(always)]
    pub(crate) fn place_of_v6(&self, index: usize) -> Option<Place> {
        let at = index % BATCH;
        let places = &self.places_in_frames;
        let (start, end, qfi) = (places.starts[at], places.ends[at], places.qfis[at]);
        let is_v6 = self.low[2][at] >> 4 & 0x0f == 6 && end != 0 && places.flaws[at] == 0;
        let qfi = (qfi != 0).then_some(qfi as u8);
        is_v6.then_some(Place { start, end, qfi, outer: self.ecns[at] })
    }

    /// A packet is to be looked at one by one: [`Heads::move_to`], [`Heads::look_at_options`].
    #[inline(always)]
    pub(crate) const fn is_unusual(&self, index: usize) -> bool {
        self.places_in_frames.unusual[index % BATCH] != 0
    }

    /// All packets from `FROM` on and before `TO` are IPv6, and nothing unusual came with them.
    #[inline(always)]
    pub(crate) fn are_v6<const FROM: usize, const TO: usize>(&self, plains: &Plains) -> bool {
        let mut others = 0;
        for i in FROM..TO {
            let places = &self.places_in_frames;
            let is_v6 = (self.low[2][i] >> 4 & 0x0f == 6) & (places.ends[i] != 0) & (places.flaws[i] == 0);
            others |= u32::from(!is_v6) & u32::from((i as u32) < plains.len() as u32);
        }
        others == 0
    }

    /// The user packet of a message has been found.
    #[inline(always)]
    pub(crate) const fn has_place(&self, index: usize) -> bool {
        self.places_in_frames.ends[index % BATCH] != 0
    }

    /// The user packet of a message lies there.
    #[inline(always)]
    pub(crate) fn move_to(&mut self, index: usize, message: &[u8], tunnelled: &Tunnelled) {
        let at = index % BATCH;
        let places = &mut self.places_in_frames;
        (places.starts[at], places.ends[at]) = (tunnelled.start.into(), tunnelled.end.into());
        places.qfis[at] = tunnelled.qfi.map_or(0, |qfi| HAS_QFI | u32::from(qfi.value()));
        let carries = flaw::CARRIES * u8::from(!tunnelled.is_plain);
        places.flaws[at] = if tunnelled.is_strange { flaw::STRANGE } else { carries }.into();
        self.read_at(at, message.get(tunnelled.start.into()..).unwrap_or_default());
    }

    /// Reads a packet again that lies elsewhere in its frame than it did at the first look.
    #[inline(always)]
    pub(crate) fn move_back(&mut self, index: usize, frame: &[u8]) {
        let at = index % BATCH;
        if self.places_in_frames.shifted[at] != 0 {
            let start = self.places_in_frames.starts[at] as usize;
            self.read_at(at, frame.get(start..).unwrap_or_default());
        }
    }

    #[inline(always)]
    fn read_at(&mut self, at: usize, user: &[u8]) {
        let mut short = [0; USER];
        let head = user.first_chunk().unwrap_or_else(|| {
            short.iter_mut().zip(user).for_each(|(octet, of)| *octet = *of);
            &short
        });
        for (word, halves) in (2..WORDS).zip(head.as_chunks::<8>().0) {
            let both = u64::from_le_bytes(*halves);
            (self.low[word][at], self.high[word][at]) = (both as u32, (both >> 32) as u32);
        }
    }

    /// Finds the ports behind the options of an IPv4 header, if it has some, and sums them up.
    #[inline(always)]
    pub(crate) fn look_at_options(&mut self, index: usize, frame: &[u8]) {
        let at = index % BATCH;
        let first = self.low[2][at] & 0xff;
        let places = &mut self.places_in_frames;
        let (start, end) = (places.starts[at] as usize, places.ends[at] as usize);
        if first <= 0x45 || first > 0x4f {
            return;
        }
        let Some(user) = frame.get(start..end) else { return };
        let header_len = (first as usize & 0x0f) * 4;
        let Some((header, behind)) = user.split_at_checked(header_len) else { return };
        let options = header.get(HEADER as usize..).unwrap_or_default().as_chunks::<4>().0;
        places.options[at] = options.iter().map(|word| User::sum(u32::from_le_bytes(*word))).sum();
        if let Some(ports) = behind.first_chunk() {
            self.high[4][at] = u32::from_le_bytes(*ports);
        }
    }
}

/// Instead of the first look at half a batch, where the second one is needed anyway.
pub(crate) struct Skipping<'a, const WAY: bool, const FROM: usize> {
    pub(crate) heads: &'a mut Heads,
    pub(crate) plains: &'a mut Plains,
}

impl<const WAY: bool, const FROM: usize> Comparing for Skipping<'_, WAY, FROM> {
    #[inline(always)]
    fn run(self, _: impl Fn(&Block, Gist) -> u16) {
        let Self { heads, plains } = self;
        heads.split::<WAY, FROM>();
        for i in FROM..FROM + PART {
            let key = if WAY == UPLINK { heads.high[0][i] } else { heads.low[4][i] };
            plains.keys[i] = key.swap_bytes();
            plains.places[i] = heads.places[i];
            plains.is_plain[i] = 0;
        }
        for i in FROM..FROM + PART {
            plains.ids[i] = NOWHERE;
        }
    }
}

/// Finds out where the packets of half a batch lie as far as that can be seen at a glance, and which are unusual.
pub(crate) struct Placing<'a, const WAY: bool, const FROM: usize> {
    pub(crate) heads: &'a mut Heads,
}

impl<const WAY: bool, const FROM: usize> Comparing for Placing<'_, WAY, FROM> {
    #[inline(always)]
    fn run(self, _: impl Fn(&Block, Gist) -> u16) {
        let Heads { low, high, lens, places_in_frames, .. } = self.heads;
        let Places { starts, ends, qfis, flaws, options, shifted, unusual } = places_in_frames;
        for i in FROM..FROM + PART {
            let (start, end, qfi, is_usual) = match WAY {
                UPLINK => {
                    let tunnel = Tunnel { a0: low[0][i], a1: low[1][i], b1: high[1][i] };
                    let (kind, shift) = tunnel.one_more(low[2][i]);
                    let has_more = (kind != 0) & (high[0][i] != 0);
                    let (start, end) = (tunnel.start() + shift, tunnel.end());
                    let qfi = if tunnel.has_qfi() { HAS_QFI | tunnel.b1 >> 16 & 0x3f } else { 0 };
                    let is_usual = (tunnel.is_plain() | has_more) & (start <= end) & (end <= lens[i]);
                    let of_header = if kind >= OPTIONAL_END { flaw::STRANGE } else { flaw::CARRIES };
                    flaws[i] = if has_more { of_header.into() } else { 0 };
                    shifted[i] = shift;
                    (start, end, qfi, is_usual)
                }
                _ => {
                    (flaws[i], shifted[i]) = (0, 0);
                    (0, lens[i], 0, true)
                }
            };
            let first = low[2][i] & 0xff;
            let has_options = (first > 0x45) & (first <= 0x4f);
            starts[i] = start;
            ends[i] = if is_usual { end } else { 0 };
            (qfis[i], options[i]) = (qfi, 0);
            unusual[i] = u32::from(!is_usual | has_options) | shifted[i];
        }
    }
}

/// Finds out what the heads of half a batch say, given where the packets lie.
pub(crate) struct Mending<'a, const WAY: bool, const FROM: usize> {
    pub(crate) heads: &'a Heads,
    pub(crate) plains: &'a mut Plains,
    pub(crate) guess: &'a Guess,
    /// What may be an address of ours.
    pub(crate) own: MayBeV4,
}

impl<const WAY: bool, const FROM: usize> Comparing for Mending<'_, WAY, FROM> {
    /// Plain loops over plain arrays, as in [`super::Reading`].
    #[inline(always)]
    fn run(self, _: impl Fn(&Block, Gist) -> u16) {
        let Self { heads: Heads { low, high, ecns, places_in_frames, .. }, plains, guess, own } = self;
        let Places { starts, ends, qfis, flaws, options, .. } = places_in_frames;
        for i in FROM..FROM + PART {
            let user = User { a2: low[2][i], b2: high[2][i], a3: low[3][i], b3: high[3][i], a4: low[4][i] };
            let (source, target) = (user.b3.swap_bytes(), user.a4.swap_bytes());
            let ports = high[4][i].swap_bytes();
            let (local, remote, ports, outer) = match WAY {
                UPLINK => (source, target, ports, ecns[i]),
                _ => (target, source, ports.rotate_left(16), 0),
            };
            let inner = user.tos() as u32 & 0x03;
            let is_doomed = ecn::drops(outer, inner);
            let is_marked = ecn::changes(outer, inner) & !is_doomed;
            let tos = u32::from(user.tos()) & !0x03 | if is_marked { outer } else { inner };
            let gist = Gist::v4(remote, ports, user.protocol() as u8, tos as u8).ports_if(user.has_ports());
            let with_qfi = gist.with_qfi(Qfi::from_low_bits(qfis[i] as u8));
            let gist = if qfis[i] != 0 { with_qfi } else { gist };
            let room = ends[i].wrapping_sub(starts[i]);
            let is_there = (WAY != UPLINK) | (ends[i] != 0);
            let (version, header_len) = (user.a2 >> 4 & 0x0f, (user.a2 & 0x0f) << 2);
            let is_well_formed =
                (header_len >= HEADER) & (room >= HEADER) & (user.len() >= header_len) & (user.len() <= room);
            let is_plain = is_there & (version == 4) & is_well_formed & user.has_all_behind(header_len);
            let is_other = (version != 4) & (version != 6);
            let is_broken = (room == 0) | (version == 4) & !is_well_formed | is_other;
            // What the outer header says of congestion may be for whatever it is.
            let is_broken = is_there & is_broken & (outer & 0x01 == 0);
            let lost = flaw::DOOMED as u32 * is_doomed as u32;
            let is_ours = own.has(remote);
            let found = user.flaws_with(options[i]) | flaws[i] | lost | (flaw::OURS as u32 * is_ours as u32);
            let found = found | (flaw::CONGESTED as u32 * is_marked as u32);
            let found = if is_broken { flaw::BROKEN as u32 } else { found };
            // Nobody looks at what is behind a header that is not understood.
            let is_strange = is_there & (flaws[i] == flaw::STRANGE as u32);
            let found = if is_strange { flaw::STRANGE as u32 } else { found };
            let is_lost = found & flaw::LOST as u32 != 0;
            plains.is_plain[i] = u32::from(is_plain | is_broken | is_strange);
            plains.is_quick[i] = u32::from(is_plain & !is_lost & (local != 0) & (local != remote));
            (plains.locals[i], plains.lens[i], plains.starts[i]) = (local, user.len(), starts[i]);
            (plains.words[i], plains.ports[i], plains.remotes[i]) = gist.with_ue(false, true).parts();
            plains.flaws[i] = found;
            plains.hops[i] = lose_hop(user.a3);
        }
        for i in FROM..FROM + PART {
            let id = u64::from(plains.places[i]) << 32 | u64::from(plains.keys[i]);
            plains.ids[i] = if plains.is_quick[i] != 0 { id } else { NOWHERE };
        }
        guess.choose::<FROM>(plains);
    }
}
