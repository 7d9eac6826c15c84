//! What is read of plain packets: the first octets of all packets of a batch, and then what they say, of all at once.

use causeway_ports::BATCH;

use crate::choose::UPLINK;
use crate::filters::{Block, Comparing, Gist};
use crate::guess::Guess;
use crate::own::MayBeV4;
use crate::plain::{NOWHERE, PART, Plains, flaw};

mod mending;
mod words;

use mending::Places;
pub(crate) use mending::{Mending, Place, Placing, Skipping};
pub(crate) use words::lose_hop;
use words::{Tunnel, User};

/// Octets that are looked at of a message: a GTP-U header with a PDU Session Container, an IPv4 header, and the ports.
pub(crate) const MESSAGE: usize = 40;
/// Octets that are looked at of a user packet.
pub(crate) const USER: usize = 24;

/// Half a word of each packet. The octets come from the lowest bits on.
type Halves = [u32; BATCH];

/// Words that are looked at: the GTP-U header in two words, then the IPv4 header and the ports in three.
const WORDS: usize = 5;

/// The first octets of the packets of a batch.
#[derive(Debug)]
pub(crate) struct Heads {
    words: [[u64; BATCH]; WORDS],
    /// The lower halves of the words, and the upper ones.
    low: [Halves; WORDS],
    high: [Halves; WORDS],
    /// Octets of the frames; zero for those that are not looked at.
    lens: [u32; BATCH],
    places: [u32; BATCH],
    /// ECN of the outer headers.
    ecns: [u32; BATCH],
    /// For a second look.
    places_in_frames: Places,
}

impl Heads {
    /// Of no packet.
    pub(crate) const fn new() -> Self {
        Self {
            words: [[0; BATCH]; WORDS],
            low: [[0; BATCH]; WORDS],
            high: [[0; BATCH]; WORDS],
            lens: [0; BATCH],
            places: [0; BATCH],
            ecns: [0; BATCH],
            places_in_frames: Places::new(),
        }
    }

    /// Forgets all packets.
    pub(crate) const fn clear(&mut self) {
        self.lens = [0; BATCH];
    }

    /// Takes in a message of a frame of `len` octets. `place`: that of its key, `ecn`: that of its outer header.
    #[inline(always)]
    pub(crate) fn take_message(
        &mut self,
        index: usize,
        head: &[u8; MESSAGE],
        len: usize,
        (place, ecn): (u32, u32),
    ) {
        let index = index % BATCH;
        let (&[first, second, a, b, c], _) = head.as_chunks::<8>() else { return };
        let is_extended = head[0] & 0x04 != 0;
        let [a, b, c] = if is_extended { [a, b, c] } else { [second, a, b] };
        self.words[0][index] = u64::from_le_bytes(first);
        self.words[1][index] = u64::from_le_bytes(second);
        self.ecns[index] = ecn;
        self.take_user(index, [a, b, c], len, place);
    }

    /// Takes in a packet of a frame of `len` octets.
    #[inline(always)]
    pub(crate) fn take_packet(&mut self, index: usize, head: &[u8; USER], len: usize, place: u32) {
        let (&[a, b, c], _) = head.as_chunks::<8>() else { return };
        self.take_user(index % BATCH, [a, b, c], len, place);
    }

    /// Divides the words of [`PART`] packets into halves.
    #[inline(always)]
    fn split<const WAY: bool, const FROM: usize>(&mut self) {
        let Self { words, low, high, .. } = self;
        for word in (if WAY == UPLINK { 0 } else { 2 })..WORDS {
            for i in FROM..FROM + PART {
                low[word][i] = words[word][i] as u32;
                high[word][i] = (words[word][i] >> 32) as u32;
            }
        }
    }

    #[inline(always)]
    fn take_user(&mut self, index: usize, [a, b, c]: [[u8; 8]; 3], len: usize, place: u32) {
        self.words[2][index] = u64::from_le_bytes(a);
        self.words[3][index] = u64::from_le_bytes(b);
        self.words[4][index] = u64::from_le_bytes(c);
        // Batches hold frames of some thousand octets.
        self.lens[index] = len as u32;
        self.places[index] = place;
    }
}

/// Finds out what the heads of [`PART`] packets of one direction say, from the packet `FROM` of the batch on.
pub(crate) struct Reading<'a, const WAY: bool, const FROM: usize> {
    pub(crate) heads: &'a mut Heads,
    pub(crate) plains: &'a mut Plains,
    pub(crate) guess: &'a Guess,
    /// What may be an address of ours.
    pub(crate) own: MayBeV4,
}

impl<const WAY: bool, const FROM: usize> Comparing for Reading<'_, WAY, FROM> {
    /// Plain loops over plain arrays: only so does the compiler see the vectors.
    #[inline(always)]
    fn run(self, _: impl Fn(&Block, Gist) -> u16) {
        let Self { heads, plains, guess, own } = self;
        heads.split::<WAY, FROM>();
        let Heads { low, high, lens, places, ecns, .. } = heads;
        for i in FROM..FROM + PART {
            let tunnel = Tunnel { a0: low[0][i], a1: low[1][i], b1: high[1][i] };
            let user = User { a2: low[2][i], b2: high[2][i], a3: low[3][i], b3: high[3][i], a4: low[4][i] };
            let (source, target) = (user.b3.swap_bytes(), user.a4.swap_bytes());
            let ports = high[4][i].swap_bytes();
            let (local, remote, ports) = match WAY {
                UPLINK => (source, target, ports),
                _ => (target, source, ports.rotate_left(16)),
            };
            let gist = Gist::v4(remote, ports, user.protocol() as u8, user.tos()).ports_if(user.has_ports());
            let (gist, start, end, is_read) = match WAY {
                UPLINK => {
                    let is_plain = tunnel.is_plain() & !ecn::changes(ecns[i], user.tos() as u32 & 0x03);
                    (tunnel.mark(gist), tunnel.start(), tunnel.end(), is_plain)
                }
                _ => (gist, 0, lens[i], true),
            };
            let fits = (start + user.len() <= end) & (end <= lens[i]);
            let is_plain = is_read & fits & user.is_plain();
            let is_quick = is_plain & (local != 0) & (local != remote);
            plains.keys[i] = if WAY == UPLINK { high[0][i].swap_bytes() } else { target };
            plains.places[i] = places[i];
            plains.is_plain[i] = u32::from(is_plain);
            plains.is_quick[i] = u32::from(is_quick);
            (plains.locals[i], plains.lens[i], plains.starts[i]) = (local, user.len(), start);
            (plains.words[i], plains.ports[i], plains.remotes[i]) = gist.with_ue(false, true).parts();
            plains.flaws[i] = user.flaws() | (flaw::OURS as u32 * own.has(remote) as u32);
            plains.hops[i] = lose_hop(user.a3);
        }
        for i in FROM..FROM + PART {
            let id = u64::from(plains.places[i]) << 32 | u64::from(plains.keys[i]);
            plains.ids[i] = if plains.is_quick[i] != 0 { id } else { NOWHERE };
        }
        guess.choose::<FROM>(plains);
    }
}

/// Congestion that an outer header has met goes on in the inner one (RFC 6040 figure 4).
pub(crate) mod ecn {
    const CAPABLE_1: u32 = 1;
    const CAPABLE_0: u32 = 2;
    const CONGESTED: u32 = 3;

    /// The inner field becomes another one, or the packet is dropped.
    #[inline(always)]
    pub(crate) const fn changes(outer: u32, inner: u32) -> bool {
        ((outer == CAPABLE_1) & (inner == CAPABLE_0)) | ((outer == CONGESTED) & (inner != CONGESTED))
    }

    /// The packet is dropped: it cannot say that it has met congestion.
    pub(crate) const fn drops(outer: u32, inner: u32) -> bool {
        outer == CONGESTED && inner == 0
    }
}

/// The checksum of a header is right.
#[cfg(test)]
pub(crate) fn sums_up(header: &[u8; 20]) -> bool {
    let words: Vec<_> = header.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let &[a2, b2, a3, b3, a4] = words.as_slice() else { return false };
    User { a2, b2, a3, b3, a4 }.sums_up_with(0)
}

#[cfg(test)]
mod tests;
